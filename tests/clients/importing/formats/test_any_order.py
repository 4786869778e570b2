"""Talks cut over sessions with copies become their tree, in whatever order they come."""

import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forklore
from tests.clients.cli.running import Forklore
from tests.clients.importing.formats.writing import FORMATS, paths, talk
from tests.service.domain.builders import examples

DATABASES = ("opencode", "goose", "llm")
"""All their sessions are in one file."""


@pytest.fixture(scope="module")
def new_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Forklore]]:
    """Make a user of a store, who runs command lines."""
    folder, home = tmp_path_factory.mktemp("data"), str(tmp_path_factory.mktemp("home"))
    numbers = count()

    def made() -> Forklore:
        options = ("--data", str(folder), "--user", f"ann-{next(numbers)}")
        return Forklore(options, {"XDG_CONFIG_HOME": home, "PAGER": ""})

    with forklore.Forklore.local(user="nobody", data=folder):
        yield made


def branches(run: Forklore) -> list[tuple[str, list[str]]]:
    """Return the texts of all branches of the only tree that the user has, with their sessions."""
    rows = [json.loads(line) for line in run("ls --all --json").lines]
    assert len([json.loads(line) for line in run("ls --mode roots --json").lines]) == 1
    logs = [[json.loads(line) for line in run(f"log {row['id']} --json").lines] for row in rows]
    texts = ([entry["content"][0]["text"] for entry in reversed(log)] for log in logs)
    return sorted(zip((row["tags"].get("session", "") for row in rows), texts, strict=True))


@pytest.mark.parametrize("name", FORMATS)
@examples(4)
@given(data=st.data())
def test_sessions_with_copies_become_their_tree(
    name: str, data: st.DataObject, new_user: Callable[[], Forklore]
) -> None:
    back = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    told = talk(None, 0, *(max(1, at - by) for at, by in enumerate(back, start=1)))
    ways = [*paths(told)]
    cut = st.tuples(st.sampled_from(ways), st.integers(2, 8)).map(lambda one: one[0][: one[1]])
    ways += data.draw(st.lists(cut, max_size=2))  # forks in which nothing was said
    ways = data.draw(st.permutations(ways))
    run = new_user()
    with tempfile.TemporaryDirectory() as folder:
        sessions = {f"{at:04}": way for at, way in enumerate(ways)}
        one_by_one = name not in DATABASES and data.draw(st.booleans())
        for of in [{session: way} for session, way in sessions.items()] if one_by_one else [sessions]:
            place = Path(folder) / next(iter(of))
            FORMATS[name].write(place, of)
            assert run(f"import {place}").code == 0
        again = run(f"import {folder}")

        expected = [(session, [one.text for one in way]) for session, way in sessions.items()]
        assert branches(run) == sorted(expected)
        assert f"{again.err.split(' entries, ')[1].split(' of them')[0]}" in again.err.split(" entries")[0]

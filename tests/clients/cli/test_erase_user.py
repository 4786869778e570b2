"""`forklore erase-user`, at a local server with an admin."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore.cli.entries import ERASED
from forklore.cli.exits import REFUSED, USAGE
from tests.clients.cli.running import Forklore
from tools.harness.local_server import local_server


@pytest.fixture(scope="module")
def at() -> Iterator[str]:
    """The address of a server whose admin is adam."""
    with local_server(FORKLORE_ADMINS="adam", FORKLORE_DELETE_WAIT_SECONDS="0") as address:
        yield address


def run_as(at: str, user: str) -> Forklore:
    return Forklore(("--url", at, "--token", user))


def test_an_admin_erases_a_user_and_the_others_see_it(at: str, tmp_path: Path) -> None:
    ann, carol, adam = (run_as(at, user) for user in ("ann", "carol", "adam"))
    shared = ann("say trip 'who knows a hotel?' --json")
    conversation_id = json.loads(shared.out)["conversationId"]
    assert ann("share trip carol writer").code == 0
    assert carol(f"say {conversation_id} 'my secret'").code == 0

    begun = adam("erase-user carol --yes --justification ticket --json")

    assert begun.code == 0, begun.err
    found = json.loads(begun.out)
    assert (found["state"], found["entries"], found["memberships"]) == ("done", 1, 1)
    log = ann("log trip").out
    assert ERASED in log
    assert "my secret" not in log
    assert "carol" not in log
    assert found["pseudonym"] in log
    assert ann("say trip 'after it'").code == 0
    assert ann(f"export trip -o {tmp_path}/trip.jsonl").code == 0
    taken = run_as(at, "bo")(f"import {tmp_path}/trip.jsonl")
    assert taken.code == 0, taken.err
    assert taken.err.splitlines()[0].endswith("1 tree, 2 entries")
    assert "left out: entry whose author was erased: 1" in taken.err
    again = adam(f"erase-user --show {found['id']}")
    assert "entries erased" in again.out
    assert "done" in again.out


def test_erasing_needs_a_role_a_user_and_a_yes(at: str) -> None:
    ann, adam = run_as(at, "ann"), run_as(at, "adam")

    assert ann("erase-user carol --yes").code == REFUSED
    assert adam("erase-user").code == USAGE
    assert adam("erase-user carol --show 019a5c23-1a20-7c4e-9b37-0f1e2d3c4b5a").code == USAGE
    unasked = adam("erase-user carol")
    assert (unasked.code, "--yes" in unasked.err) == (USAGE, True)

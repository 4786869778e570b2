"""What is exported and imported is what it was."""

import json
import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from forklore_local.porting.new_ids import NewIds
from forklore_local.porting.scope import Choice, Scope
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, held, imported, lines_of
from tests.service.model.history import MOVES
from tests.service.model.services import InProcess
from tests.service.reliability.histories import new_world
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import ABANDONED_SECONDS, ROOT_CALLER, settle
from tests.support.tables import Store, fresh_store

STEPS = 80
DELETIONS = 10
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OF_ORIGINALS = {"copiedFromConversationId", "copiedFromEntryId", "content"}


def test_a_table_with_every_kind_of_item_comes_back(store: Store, tmp_path: Path) -> None:
    world.build(store)
    settle(store, in_seconds=ABANDONED_SECONDS)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    told = exported(store, first)

    with fresh_store("other") as other:
        done = imported(other, first, threads=4)
        assert_intact(other, settled=True)
        again = imported(other, first)
        exported(other, second)

        assert held(other) == held(store)
    assert (done.made, done.there, done.refused, done.lost_links) == (told.trees, 0, [], 0)
    assert (again.made, again.there) == (0, told.trees)
    assert list(lines_of(second))[1:-1] == list(lines_of(first))[1:-1]
    assert first.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("part", range(2))
def test_a_random_history_comes_back_and_is_answered_for_as_before(
    tmp_path: Path, part: int, record_property: Callable[[str, object], None]
) -> None:
    """The oracle of the first table knows all answers of the second one."""
    seed = int(os.environ.get("FORKLORE_TEST_SEED") or secrets.randbits(32))
    record_property("seed", seed)
    random = Random(f"{seed} {part}")
    with new_world(None, random, bits=seed + part) as first, fresh_store("other") as other:
        first.history.begin()
        for move in random.choices(list(MOVES), list(MOVES.values()), k=STEPS):
            first.history.move(move)
        exported(first.store, tmp_path / "amid.jsonl")
        for _ in range(DELETIONS):
            first.history.go_on_deleting()  # the oracle hears of it
        settle(first.store, in_seconds=ABANDONED_SECONDS)
        exported(first.store, tmp_path / "settled.jsonl")
        imported(other, tmp_path / "settled.jsonl")
        assert_intact(other, settled=True)
        assert held(other) == held(first.store)
        first.history.both.services = [InProcess(Process(other))]
        first.history.reading.read_back()
    with fresh_store("other") as other:
        imported(other, tmp_path / "amid.jsonl")
        assert_intact(other, settled=True)


def test_new_ids_are_given_wherever_an_id_stands(store: Store, tmp_path: Path) -> None:
    """The old file, with each id replaced, has the lines of the new one. A user was erased."""
    world.build(store)
    world.say(Process(store), world.ROOT, "words of eve", by=world.EVE)
    erased = Process(store).ask("adminEraseUser", ROOT_CALLER, userId="eve/#")
    assert erased.status < 300, erased
    settle(store, in_seconds=ABANDONED_SECONDS)
    old, new, beside = (tmp_path / name for name in ("old.jsonl", "new.jsonl", "beside.jsonl"))
    exported(store, old)
    assert b'"erased":true' in old.read_bytes()
    ids = NewIds(b"a seed")
    before = held(store)

    imported(store, old, ids)
    imported(store, old, ids)

    assert_intact(store, settled=True)
    after = held(store)
    assert {key: after[key] for key in before} == before
    with fresh_store("other") as other:
        imported(other, old, ids)
        assert_intact(other, settled=True)
        exported(other, new)
        conversations = _conversations(old)
        expected = [_with_new_ids(line, ids, conversations) for line in _items(old)]
        assert _spelled(_items(new)) == _spelled(expected)
    exported(store, beside)
    assert {*_conversations(beside)} == {*_conversations(old), *_conversations(new)}


def _items(path: Path) -> list[dict[str, object]]:
    """Return the lines between the header, which has an id of its own, and the total.

    They have no checksums.
    """
    lines = [json.loads(line) for line in lines_of(path)]
    return [
        {name: value for name, value in line.items() if name != "sha256"}
        for line in lines
        if line["type"] not in ("header", "total")
    ]


def _conversations(path: Path) -> set[str]:
    """Return the ids of all that is no entry."""
    lines = [json.loads(line) for line in lines_of(path)]
    kinds = ("tree", "conversation", "removed", "transfer")
    named = {line["forkedAtConversationId"] for line in lines if "forkedAtConversationId" in line}
    return named | {line["id"] for line in lines if line["type"] in kinds}


def _with_new_ids(value: object, ids: NewIds, conversations: set[str]) -> object:
    """Return JSON in which each id of a conversation or an entry is a new one."""
    match value:
        case dict():
            return {
                name: inner if name in OF_ORIGINALS else _with_new_ids(inner, ids, conversations)
                for name, inner in value.items()
            }
        case list():
            return [_with_new_ids(inner, ids, conversations) for inner in value]
        case str() if _ID.fullmatch(value):
            return ids.conversation(value) if value in conversations else ids.entry(value)  # type: ignore[arg-type]
    return value


def _spelled(lines: Sequence[object]) -> list[str]:
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


@pytest.mark.parametrize(
    ("choice", "trees"),
    [
        (Choice(Scope.TREE, world.FORK), {world.ROOT}),
        (Choice(Scope.TREE, world.CHILD), {world.CHILD}),
        (Choice(Scope.OWNER, "bob"), {world.HANDED, world.PLAIN}),
        (Choice(Scope.OWNER, "nobody"), set()),
    ],
)
def test_one_tree_or_those_of_a_user(store: Store, tmp_path: Path, choice: Choice, trees: set[str]) -> None:
    """Bob is a member of other trees, too. A child without its parent is none any more."""
    world.build(store)
    settle(store, in_seconds=ABANDONED_SECONDS)
    exported(store, tmp_path / "some.jsonl", choice)

    with fresh_store("other") as other:
        done = imported(other, tmp_path / "some.jsonl")
        assert_intact(other, settled=True)
        made = {key.partition for key in other.contents() if key.sort == "GROUP"}

    assert made == trees
    assert done.lost_links == (choice.named == world.CHILD)

"""What is exported and imported is what it was."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

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
from tools.catalogue import PHOTO

STEPS = 80
DELETIONS = 10


def test_a_table_with_every_kind_of_item_comes_back(store: Store, tmp_path: Path) -> None:
    world.build(store)
    world.say(Process(store), world.ROOT, "a\u2028b\n", indexedContent="spoken \\ words")
    world.say(Process(store), world.ROOT, "words of eve", by=world.EVE)
    photo = Process(store).ask("uploadAttachment", world.ANN, **PHOTO).id
    seen: dict[str, Any] = {
        "contentType": "history",
        "content": [{"text": "look", "attachments": [{"id": photo}]}],
    }
    for of in (world.ROOT, world.ROOT, world.CHILD):
        assert Process(store).ask("appendEntry", world.ANN, conversationId=of, **seen).status == 201
    erased = Process(store).ask("adminEraseUser", ROOT_CALLER, userId="eve/#")
    assert erased.status < 300, erased
    settle(store, in_seconds=ABANDONED_SECONDS)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    told = exported(store, first)
    assert b'"erased":true' in first.read_bytes()

    with fresh_store("other") as other:
        done = imported(other, first, threads=4)
        assert_intact(other, settled=True)
        again = imported(other, first)
        exported(other, second)

        assert held(other) == held(store)
        assert dict(other.objects.all()) == {photo: PHOTO["size"]}
    assert (done.made, done.there, done.refused, done.lost_links) == (told.trees, 0, [], 0)
    assert (again.made, again.there) == (0, told.trees)
    assert list(lines_of(second))[1:-1] == list(lines_of(first))[1:-1]
    assert first.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("part", range(2))
def test_a_random_history_comes_back_and_is_answered_for_as_before(
    tmp_path: Path, part: int, record_property: Callable[[str, object], None]
) -> None:
    """The oracle of the first table knows what the second one answers."""
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
        oracle = first.history.both.oracle
        oracle.logs.clear()  # no answer in progress is exported, and no upload that no entry names yet
        oracle.files = {name: file for name, file in oracle.files.items() if file.was_named}
        first.history.reading.read_back()
    with fresh_store("other") as other:
        imported(other, tmp_path / "amid.jsonl")
        assert_intact(other, settled=True)


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


def test_an_offer_made_from_a_branch_that_is_gone_comes_back(store: Store, tmp_path: Path) -> None:
    """The id of the branch is blocked there, too: the offer names it."""
    process = Process(store)
    said = world.say(process, world.ROOT, "one")
    for operation, given in (
        ("forkConversation", {"conversationId": world.ROOT, "id": world.FORK, "atEntryId": said}),
        ("shareConversation", {"conversationId": world.ROOT, "userId": "bob", "accessLevel": "reader"}),
        ("requestTransfer", {"conversationId": world.FORK, "newOwnerUserId": "bob"}),
        ("deleteConversation", {"conversationId": world.FORK, "scope": "branch"}),
    ):
        answer = process.ask(operation, world.ANN, **given)
        assert answer.status < 300, answer
    settle(store)
    exported(store, tmp_path / "tree.jsonl")

    with fresh_store("other") as other:
        imported(other, tmp_path / "tree.jsonl")
        assert_intact(other, settled=True)
        taken = Process(other).ask("createConversation", world.ANN, id=world.FORK)

    assert taken.status == 409

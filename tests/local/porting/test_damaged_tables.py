"""Exports of tables in which a tree cannot be read."""

from collections.abc import Callable
from pathlib import Path
from random import random

import pytest

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting.failures import UnreadableError
from forklore_local.porting.scope import Choice, Scope
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, held, imported
from tests.service.reliability.service import Process
from tests.support.tables import Store, fresh_store


def _without(store: Store, key: Key, attribute: str) -> None:
    store.put({name: value for name, value in store.item(key).items() if name != attribute})


def _of_root(store: Store, kind: Kind) -> list[Key]:
    return [key for key in store.contents() if kind_of(key) is kind and world.ROOT in key.partition]


def _cut_body(store: Store) -> None:
    for key in _of_root(store, Kind.ENTRY):
        store.change(key, body={"B": b"\x78\x00"})


def _lose_chunks(store: Store) -> None:
    store.delete(*_of_root(store, Kind.BLOB))


def _too_large_a_number(store: Store) -> None:
    """What a request could bring once, and no import takes."""
    for key in _of_root(store, Kind.ENTRY):
        if "body" in store.item(key):
            store.change(key, body={"B": b"[1e400]"})


def _name_an_attachment(store: Store) -> None:
    """One that is not there."""
    for key in _of_root(store, Kind.ENTRY):
        store.change(key, files={"S": f'[["{world.ROOT}","cat.png","image/png",3]]'})


def _cut_path(store: Store) -> None:
    store.change(keys.path(world.ROOT, world.FORK), path={"B": b"\x00"})


DAMAGES: list[Callable[[Store], None]] = [
    lambda store: _without(store, keys.head(world.ROOT, world.ROOT), "changedAt"),
    lambda store: _without(store, keys.group(world.ROOT), "owner"),
    lambda store: store.delete(keys.head(world.ROOT, world.FORK)),
    _cut_body,
    _cut_path,
    _lose_chunks,
    _too_large_a_number,
    _name_an_attachment,
    lambda store: store.change(keys.conversation(world.ROOT, world.ROOT), metadata={"S": "[]"}),
    lambda store: store.change(keys.group(world.ROOT), usedAt={"S": "zzz"}),
]


@pytest.fixture
def trees(store: Store) -> Store:
    """A table with a tree of two branches, and another tree after it."""
    process = Process(store)
    said = world.say(process, world.ROOT, "one")
    process.ask(
        "forkConversation",
        world.ANN,
        conversationId=world.ROOT,
        id=world.FORK,
        atEntryId=said,
        position="after",
    )
    noise = "".join(f"{random():.17f}" for _ in range(25_000))  # too long for one item
    world.say(process, world.FORK, noise)
    world.say(process, world.PLAIN, "fine")
    return store


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_tree_is_named_or_left_out(
    trees: Store, tmp_path: Path, damage: Callable[[Store], None]
) -> None:
    damage(trees)
    path = tmp_path / "all.jsonl"

    with pytest.raises(UnreadableError, match=world.ROOT):
        exported(trees, path)
    with pytest.raises(UnreadableError, match=world.ROOT):
        exported(trees, tmp_path / "one.jsonl", Choice(Scope.TREE, world.ROOT), skip_damaged=True)
    done = exported(trees, path, skip_damaged=True)

    assert (done.trees, done.left_out, [*done.damaged]) == (1, 0, [world.ROOT])
    assert not (tmp_path / "one.jsonl").exists()
    with fresh_store("other") as other:
        assert imported(other, path).made == 1
        assert {key.partition for key in held(other) if kind_of(key) is Kind.GROUP} == {world.PLAIN}

"""What the service does with a tree that an import is making."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting import making
from forklore_local.porting.failures import RefusedError
from forklore_local.porting.making import LEASE_SECONDS
from forklore_service.domain.model import Entry
from forklore_service.events.changes import Change
from forklore_service.events.from_changes import NewEntries, events_of
from forklore_service.usecases.background import sweeper
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, held, imported, lines_of
from tests.service.reliability.faults import WRITE, Call, Fault, Killed
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import later, settle
from tests.support.mailbox import Mailbox
from tests.support.tables import Store, fresh_store


@pytest.fixture
def file(store: Store, tmp_path: Path) -> Path:
    """The export of a tree with a fork and a removed branch that others show."""
    process = Process(store)
    said = world.say(process, world.ROOT, "one")
    world.say(process, world.ROOT, "two")
    lasts = list[str]()
    for fork in (world.FORK, world.TWIG):
        process.ask("forkConversation", world.ANN, conversationId=world.ROOT, id=fork, atEntryId=said)
        lasts.append(world.say(process, fork, "in the fork"))
    process.ask(
        "forkConversation",
        world.ANN,
        conversationId=world.TWIG,
        id=world.BLANK,
        atEntryId=lasts[1],
        position="after",
    )
    process.ask("deleteConversation", world.ANN, conversationId=world.TWIG, scope="branch")
    settle(store)
    exported(store, tmp_path / "tree.jsonl")
    return tmp_path / "tree.jsonl"


@pytest.fixture
def half(file: Path) -> Iterator[Store]:
    """A table with a tree to which only the last step is missing."""
    with fresh_store("other") as other:
        with pytest.raises(Killed):
            imported(Process(other, _at_the_end, in_order=True).table, file)
        yield other


def _at_the_end(call: Call) -> Fault | None:
    """Kill the process before the transaction that makes the tree live."""
    parts = call.body.get("TransactItems", []) if call.operation == WRITE else []
    is_last = any("SET" in part.get("Update", {}).get("UpdateExpression", "") for part in parts)
    return Fault.KILL if is_last else None


def test_nobody_sees_it_and_nobody_goes_on_with_it(half: Store, file: Path, store: Store) -> None:
    process = Process(half)
    asked = [
        process.ask("getConversation", world.ANN, conversationId=world.FORK),
        process.ask("createConversation", world.ANN, id=world.ROOT),
        process.ask("copyConversation", world.ANN, conversationId=world.FORK, id=world.ROOT),
    ]
    copied = world.say(process, world.PLAIN, "to copy")
    taken = process.ask("copyConversation", world.ANN, conversationId=world.PLAIN, id=world.ROOT)
    settle(half)

    assert copied
    assert [answer.status for answer in asked] == [404, 409, 404]
    assert taken.status == 409
    assert_intact(half)
    assert imported(half, file).made == 1
    assert_intact(half, settled=True)
    assert held(half).items() >= held(store).items()


def test_the_sweep_leaves_it_alone_until_its_lease_is_over(half: Store, file: Path, store: Store) -> None:
    sweeper.sweep(Process(half, clock=later(LEASE_SECONDS - 60)).table, Mailbox().queue)
    assert world.ROOT in {key.partition for key in half.contents()}

    settle(half, in_seconds=LEASE_SECONDS + 60)

    assert not [key for key in half.contents() if key.partition in (world.ROOT, f"PTR#{world.FORK}")]
    assert_intact(half, settled=True)
    assert imported(half, file).made == 1
    assert held(half) == held(store)


def test_who_was_held_up_does_not_go_on_with_what_another_begins_again(
    file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the held up import had written is gone, so its later entries would leave a gap."""
    monkeypatch.setattr(making, "PARTS_MAX", 1)  # each entry in a step of its own
    begun_again = list[int]()
    with fresh_store("other") as other:

        def begin_again() -> None:
            settle(other, in_seconds=LEASE_SECONDS + 60)
            assert not _entries(other)
            with pytest.raises(Killed):
                imported(Process(other, _AtEntry(2, Fault.KILL), in_order=True).table, file)
            begun_again.append(_entries(other))

        held_up = _AtEntry(3, None, do=begin_again)
        done = imported(Process(other, held_up, in_order=True).table, file)

        assert begun_again == [1]
        assert (done.made, done.there) == (0, 0)
        assert "was given up; try again" in done.refused[0]
        assert _entries(other) == 1
        assert imported(other, file).made == 1
        assert imported(other, file).there == 1
        assert_intact(other, settled=True)
        assert held(other) == held(store)


def _entries(store: Store) -> int:
    return sum(kind_of(key) is Kind.ENTRY for key in store.contents())


@dataclass
class _AtEntry:
    """Does something before the transaction that puts an entry. number: of the entry, from 1."""

    number: int
    fault: Fault | None
    do: Callable[[], object] = lambda: None
    _seen: int = 0

    def __call__(self, call: Call) -> Fault | None:
        parts = call.body.get("TransactItems", []) if call.operation == WRITE else []
        if not any("contentType" in part.get("Put", {}).get("Item", {}) for part in parts):
            return None
        self._seen += 1
        if self._seen != self.number:
            return None
        self.do()
        return self.fault


def test_another_file_with_the_tree_waits(half: Store, file: Path, store: Store, tmp_path: Path) -> None:
    exported(store, tmp_path / "second.jsonl")

    with pytest.raises(RefusedError, match="in use"):
        imported(half, tmp_path / "second.jsonl")


def test_an_import_makes_no_events(file: Path) -> None:
    """What would be told, if a service had written the items, is not."""
    with fresh_store("other") as other:
        imported(other, file)
        made = [
            event
            for key, item in other.contents().items()
            for event in events_of(Change(key, None, item, "2026-01-01T00:00:00.000Z"), _Look())
        ]
        assert made == []
    assert any(b"GONE#" in line for line in lines_of(file))


class _Look:
    """Sees nothing: it is not asked."""

    def head(self, group_id: str, conversation_id: str) -> None:
        raise AssertionError

    def entries(self, appended: NewEntries, *, limit: int) -> list[Entry]:
        raise AssertionError

"""Who sees a note on an entry, and what it goes with."""

from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller
from forklore_service.domain.notes import Note
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.limits import NOTES_PER_ENTRY_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.people import notes
from forklore_service.usecases.people.notes import NoteRequest
from forklore_service.usecases.shared.idempotency import IdempotentReplay
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BOB,
    EVE,
    FORK,
    PLANNER,
    ROOT,
    TWIG,
    fork,
    idempotency_key,
    read,
    say,
    thought,
)
from tests.service.usecases.deletion.test_trash import delete, restore
from tests.service.usecases.members import MANAGER, READER, WRITER, share
from tests.service.usecases.people.test_erasing import erased
from tests.support.mailbox import Mailbox, run_prune
from tests.support.tables import Store, WrongClock


def note(
    table: Table, entry_id: str, text: str | None = None, of: str = ROOT, *, by: Caller = ANN, **what: Any
) -> Note:
    return notes.add_note(table, caller=by, request=NoteRequest(of, entry_id, text, **what))


def listed(
    table: Table,
    of: str = ROOT,
    entry_id: str | None = None,
    *,
    by: Caller = ANN,
    limit: int = 200,
    all_forks: bool = False,
) -> list[Note]:
    """Return all notes of a conversation or an entry, read in pages."""
    rows: list[Note] = []
    after = None
    while True:
        page = notes.list_notes(
            table,
            caller=by,
            conversation_id=of,
            entry_id=entry_id,
            all_forks=all_forks,
            after=after,
            limit=limit,
        )
        assert len(page.rows) <= limit
        assert page.resume is None or len(page.rows) == limit
        rows += page.rows
        after = page.resume
        if after is None:
            return rows


def said(table: Table, of: str = ROOT, **what: Any) -> list[str | None]:
    return [one.text for one in listed(table, of, **what)]


def remove(table: Table, one: Note, of: str = ROOT, *, by: Caller = ANN) -> None:
    notes.delete_note(
        table, caller=by, conversation_id=of, entry_id=one.ref.entry_id, note_id=one.ref.note_id
    )


def three_branches(table: Table) -> dict[str, EntryId]:
    """Make a root a, b; a fork of it after a with c; and a fork of that after c with d."""
    [a], [b] = say(table, ROOT, "a"), say(table, ROOT, "b")
    fork(table, ROOT, FORK, a, AFTER)
    [c] = say(table, FORK, "c")
    fork(table, FORK, TWIG, c, AFTER)
    [d] = say(table, TWIG, "d")
    return {"a": a, "b": b, "c": c, "d": d}


@pytest.mark.parametrize("limit", [1, 2, 200])
def test_a_branch_shows_the_notes_on_what_it_shows_in_the_order_of_the_entries(
    table: Table, limit: int
) -> None:
    entries = three_branches(table)
    for name, of in (("d", TWIG), ("c", FORK), ("b", ROOT), ("a", TWIG), ("a", ROOT)):
        note(table, entries[name], f"on {name}", of)

    assert said(table, ROOT, limit=limit) == ["on a", "on a", "on b"]
    assert said(table, FORK, limit=limit) == ["on a", "on a", "on c"]
    assert said(table, TWIG, limit=limit) == ["on a", "on a", "on c", "on d"]
    assert said(table, TWIG, entry_id=entries["a"], limit=limit) == ["on a", "on a"]


@pytest.mark.parametrize("limit", [1, 2, 200])
def test_a_tree_has_the_notes_on_all_that_one_of_its_branches_shows(table: Table, limit: int) -> None:
    entries, queue = three_branches(table), Mailbox().queue
    [late] = say(table, FORK, "late")
    for entry_id, text, of in (
        (entries["d"], "on d", TWIG),
        (entries["c"], "on c", FORK),
        (late, "on what goes", FORK),
        (entries["b"], "on b", ROOT),
        (entries["a"], "on a", TWIG),
    ):
        note(table, entry_id, text, of)
    before = said(table, TWIG, all_forks=True, limit=limit)
    remove_branch(table, queue, caller=ANN, conversation_id=FORK, wait_s=0)

    listing = said(table, ROOT, all_forks=True, limit=limit)
    run_prune(table, queue, ROOT, FORK, wait_s=0)

    assert said(table, ROOT, entry_id=entries["d"], all_forks=True, limit=limit) == ["on d"]
    for hidden in (late, "none"):
        with pytest.raises(NotFoundError):
            listed(table, ROOT, hidden, all_forks=True)
    assert ROOT < FORK < TWIG
    assert before == ["on a", "on b", "on c", "on what goes", "on d"]
    assert listing == said(table, ROOT, all_forks=True, limit=limit) == ["on a", "on b", "on c", "on d"]


def test_notes_on_an_entry_stand_as_they_were_written_whatever_the_clocks_say(store: Store) -> None:
    [a] = say(store.process(), ROOT, "a")
    behind = store.process(clock=WrongClock(-60_000))
    for text in ("one", "two", "three"):
        note(store.process(), a, text)
        note(behind, a, f"after {text}")

    assert said(behind) == ["one", "after one", "two", "after two", "three", "after three"]


def test_it_is_in_no_history(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    note(table, a, "a note", score=0.1)

    assert read(table) == ["a"]
    assert [(one.text, one.score) for one in listed(table)] == [("a note", 0.1)]


def test_context_and_what_is_not_shown_has_none(table: Table) -> None:
    entries = three_branches(table)
    [of_planner] = say(table, ROOT, thought("x"), by=PLANNER)
    for entry_id in (entries["c"], of_planner, "none"):
        with pytest.raises(NotFoundError):
            note(table, entry_id, "no")
        with pytest.raises(NotFoundError):
            listed(table, entry_id=entry_id)


def test_writers_write_readers_read_and_whoever_has_written_deletes(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    share(table, "bob", WRITER)
    of_ann, of_bob = note(table, a, "of Ann"), note(table, a, "of Bob", by=BOB)
    share(table, "eve", READER)
    with pytest.raises(ForbiddenError):
        note(table, a, "of Eve", by=EVE)
    assert said(table, by=EVE) == ["of Ann", "of Bob"]
    for one, by in ((of_ann, BOB), (of_bob, EVE)):
        with pytest.raises(ForbiddenError):
            remove(table, one, by=by)

    remove(table, of_bob, by=BOB)
    remove(table, of_ann)
    with pytest.raises(NotFoundError):
        remove(table, of_ann)
    assert said(table) == []


def test_a_manager_deletes_the_notes_of_others(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    share(table, "bob", MANAGER)
    remove(table, note(table, a, "of Ann"), by=BOB)

    assert said(table) == []


def test_a_pin_is_shown_by_every_branch_that_shows_the_entry(table: Table) -> None:
    entries = three_branches(table)
    for name, of in (("c", TWIG), ("a", FORK)):
        note(table, entries[name], of=of, pinned=True)
    note(table, entries["b"], "no pin")

    def pinned(of: str) -> list[str]:
        return [one.ref.entry_id for one in listed(table, of) if one.pinned]

    assert pinned(ROOT) == [entries["a"]]
    assert pinned(FORK) == pinned(TWIG) == [entries["a"], entries["c"]]


def test_what_is_pinned_already_keeps_its_pin(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    share(table, "bob", WRITER)
    for number in range(NOTES_PER_ENTRY_MAX - 1):
        note(table, a, score=number)
    pin = note(table, a, pinned=True)

    assert note(table, a, pinned=True, by=BOB) == pin
    assert note(table, a, pinned=True, by=BOB, idempotency_key=idempotency_key(by=BOB)) == pin
    with pytest.raises(IdempotentReplay):
        note(table, a, pinned=True, by=BOB, idempotency_key=idempotency_key(by=BOB))
    assert sum(one.pinned for one in listed(table)) == 1


def test_every_writer_takes_a_pin_away_and_readers_only_their_own(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    for user, level in (("bob", WRITER), ("eve", READER)):
        share(table, user, level)
    with pytest.raises(ForbiddenError):
        note(table, a, pinned=True, by=EVE)
    pin = note(table, a, pinned=True)
    with pytest.raises(ForbiddenError):
        remove(table, pin, by=EVE)

    remove(table, pin, by=BOB)
    assert listed(table) == []


def test_an_entry_has_so_many_notes_and_no_more(table: Table) -> None:
    [a], [b] = say(table, ROOT, "a"), say(table, ROOT, "b")
    first, *_ = (note(table, a, score=number) for number in range(NOTES_PER_ENTRY_MAX))
    with pytest.raises(ConflictError) as refused:
        note(table, a, "one more")
    assert refused.value.details["reason"] == "too_many_notes"
    note(table, b, "on another")

    remove(table, first)
    assert note(table, a, "one more").text == "one more"


def test_what_is_sent_again_makes_one_note(table: Table) -> None:
    [a] = say(table, ROOT, "a")
    note(table, a, "once", idempotency_key=idempotency_key())
    with pytest.raises(IdempotentReplay):
        note(table, a, "once", idempotency_key=idempotency_key())

    assert said(table) == ["once"]


def test_what_is_pruned_takes_its_notes_along_and_what_others_show_keeps_them(
    table: Table, store: Store
) -> None:
    entries = three_branches(table)
    [e] = say(table, FORK, "e")
    note(table, entries["c"], "on c", FORK)
    note(table, e, "on e", FORK)
    queue = Mailbox().queue
    remove_branch(table, queue, caller=ANN, conversation_id=FORK, wait_s=0)
    run_prune(table, queue, ROOT, FORK, wait_s=0)

    assert said(table, TWIG) == ["on c"]
    assert sum(key.sort.startswith("NOTE#") for key in store.contents()) == 1
    assert check(store.contents().values(), now_s=table.now_s()) == []
    remove_branch(table, queue, caller=ANN, conversation_id=TWIG, wait_s=0)
    for branch in (TWIG, FORK):
        run_prune(table, queue, ROOT, branch, wait_s=0)
    assert not any(key.sort.startswith("NOTE#") for key in store.contents())


def test_they_come_back_with_the_tree(table: Table, store: Store) -> None:
    [a] = say(table, ROOT, "a")
    note(table, a, "kept")
    delete(store)
    restore(store)

    assert said(table) == ["kept"]


def test_an_erasure_deletes_the_notes_of_the_user_and_no_others(table: Table, store: Store) -> None:
    [a] = say(table, ROOT, "a")
    share(table, "bob", WRITER)
    [b] = say(table, ROOT, "b", by=BOB)
    note(table, a, "of Bob", by=BOB, idempotency_key=idempotency_key(by=BOB))
    note(table, b, "of Ann on Bob")
    erased(store, "bob")

    assert said(table) == ["of Ann on Bob"]
    assert not any("of Bob" in str(item) for item in store.contents().values())

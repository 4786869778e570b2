"""A reader of pages misses no entry, although a read may show a later entry before an earlier one.

Source: read-committed isolation of Query (DynamoDB developer guide, transactions).
"""

from collections.abc import Callable
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, Channel
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import fork_lists
from forklore_service.usecases.reading.entries import EntryPage
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    CODER,
    FORK,
    PLANNER,
    ROOT,
    append,
    conversation,
    fork,
    page,
    read,
    said,
    say,
    texts,
    thought,
)
from tests.service.usecases.shared.test_half_visible import ALWAYS, sees_late, without
from tests.service.usecases.writing.test_context import note, sync
from tests.support.tables import Store
from tools.harness.wire import Request, Wire

NOWHERE = 3
"""A walk ends after this many pages in a row that bring no progress."""


def _ids(some: EntryPage) -> list[EntryId]:
    return [entry.entry_id for entry in some.entries]


def forward(table: Table, where: str, by: Caller, channel: Channel | None, limit: int) -> list[EntryId]:
    """Read to the end, as a client does that follows a conversation."""
    found: list[EntryId] = []
    stuck = 0
    while stuck < NOWHERE:
        after = found[-1] if found else None
        try:
            got = page(table, where, by=by, after=after, limit=limit, channel=channel, epoch="all")
        except UnavailableError:
            stuck += 1
            continue
        found += _ids(got)
        stuck = 0 if got.entries else stuck + 1
        if got.after is None:
            return found
    return found


def backward(table: Table, where: str, by: Caller, channel: Channel | None, limit: int) -> list[EntryId]:
    """Read from the end back to the beginning."""
    found: list[EntryId] = []
    before: EntryId | None = None
    stuck = 0
    while stuck < NOWHERE:
        is_tail = before is None
        try:
            got = page(
                table, where, by=by, before=before, tail=is_tail, limit=limit, channel=channel, epoch="all"
            )
        except UnavailableError:
            stuck += 1
            continue
        found = _ids(got) + found
        stuck = 0 if got.entries else stuck + 1
        if got.before is None:
            return found
        before = got.before
    return found


def following(table: Table, where: str, by: Caller, channel: Channel | None, limit: int) -> list[EntryId]:
    """Read the last page, and then forward. Return all entries from the first one that was read."""
    try:
        first = page(table, where, by=by, tail=True, limit=limit, channel=channel, epoch="all")
    except UnavailableError:
        return []
    found = _ids(first)
    while found:
        more = page(table, where, by=by, after=found[-1], limit=limit, channel=channel, epoch="all")
        if not more.entries:
            break
        found += _ids(more)
    return found


def one_by_one(table: Table) -> str:
    for text in "abcdef":
        say(table, ROOT, text)
    return ROOT


def in_batches(table: Table) -> str:
    append(table, ROOT, "a", "b", "c")
    append(table, ROOT, "d", "e", "f")
    return ROOT


def in_two_channels(table: Table) -> str:
    for text in "abc":
        append(table, ROOT, said(text), thought(text), by=PLANNER)
        append(table, ROOT, thought(text), by=PLANNER)
    return ROOT


def in_a_fork(table: Table) -> str:
    """A fork that inherits three entries. More entries follow after its fork point."""
    entries = [say(table, ROOT, text)[0] for text in "abcd"]
    fork(table, ROOT, FORK, entries[3])
    for text in "xy":
        say(table, FORK, text)
    return FORK


def in_a_fork_at_the_head(table: Table) -> str:
    append(table, ROOT, said("a"), thought("b"), said("c"), thought("d"), by=PLANNER)
    fork(table, ROOT, FORK, by=PLANNER)
    say(table, FORK, "x", by=PLANNER)
    return FORK


def in_a_fork_of_a_fork(table: Table) -> str:
    entries = [say(table, ROOT, text)[0] for text in "abc"]
    fork(table, ROOT, FORK, entries[1], AFTER)
    (own,) = say(table, FORK, "x")
    fork(table, FORK, conversation(30), own, AFTER)
    say(table, conversation(30), "y")
    return conversation(30)


SCENES = [one_by_one, in_batches, in_two_channels, in_a_fork, in_a_fork_at_the_head, in_a_fork_of_a_fork]
READERS = {
    "a user": (ANN, None),
    "history": (PLANNER, Channel.HISTORY),
    "context": (PLANNER, Channel.CONTEXT),
}


@pytest.mark.long
@pytest.mark.failure("late-visible-entry")
@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("scene", SCENES)
def test_no_reader_misses_an_entry_that_is_shown_late(
    store: Store, scene: Callable[[Table], str], who: str, limit: int
) -> None:
    where = scene(store.process())
    by, channel = READERS[who]
    whole = forward(store.process(), where, by, channel, 50)

    for at, hidden in enumerate(whole):
        late = without(keys.entry(ROOT, hidden))
        for walk in (forward, backward):
            shortly, for_now = store.process(), store.process()
            sees_late(shortly, late, times=1)
            assert walk(shortly, where, by, channel, limit) == whole
            sees_late(for_now, late, times=ALWAYS)
            walked = walk(for_now, where, by, channel, limit)
            assert walked == (whole[:at] if walk is forward else whole[at + 1 :])
        tailing = store.process()
        sees_late(tailing, late, times=ALWAYS)
        followed = following(tailing, where, by, channel, limit)
        assert hidden not in followed
        assert followed == [] or followed == whole[at + 1 :][-limit:]


@pytest.mark.failure("late-visible-entry")
def test_a_view_up_to_an_entry_and_the_whole_tree_end_before_a_late_entry(store: Store) -> None:
    where = in_a_fork(store.process())
    whole = forward(store.process(), where, ANN, None, 50)

    for at, hidden in enumerate(whole[:-1]):
        process = store.process()
        sees_late(process, without(keys.entry(ROOT, hidden)), times=ALWAYS)
        if at == 0:
            with pytest.raises(UnavailableError):
                page(process, where, up_to=whole[-1])
            with pytest.raises(UnavailableError):
                page(process, where, all_forks=True)
        else:
            assert _ids(page(process, where, up_to=whole[-1])) == whole[:at]
            cut = page(process, where, all_forks=True)
            assert hidden not in _ids(cut)
            assert cut.after is not None
            assert cut.after < hidden


@pytest.mark.failure("late-visible-entry")
def test_backward_pages_end_before_a_late_entry(store: Store) -> None:
    where = one_by_one(store.process())
    whole = _ids(page(store.process(), where, all_forks=True))
    _, b, c, d = say(store.process(), conversation(31), "a", "b", "c", "d")

    late = store.process()
    sees_late(late, without(keys.entry(conversation(31), b)), times=ALWAYS)
    cut = page(late, conversation(31), before=c, up_to=d)
    assert (_ids(cut), cut.before) == ([], c)
    for hidden in whole[:-1]:
        process = store.process()
        sees_late(process, without(keys.entry(ROOT, hidden)), times=ALWAYS)
        before = whole[-1]
        while before > hidden:
            got = page(process, where, all_forks=True, before=before, limit=1)
            assert hidden not in _ids(got)
            if got.before is None or got.before == before:
                break
            before = got.before
        assert before > hidden


@pytest.mark.failure("late-visible-entry")
def test_an_inherited_context_with_a_late_entry_is_not_taken_as_complete(store: Store) -> None:
    table = store.process()
    note(table, ROOT, "c1", by=PLANNER)
    hidden = note(table, ROOT, "c2", by=PLANNER)
    append(table, ROOT, "said")
    fork(table)
    note(table, FORK, "of another", by=CODER)
    late = without(keys.entry(ROOT, hidden))

    for epoch in ("latest", "all", 1):
        process = store.process()
        sees_late(process, late, times=ALWAYS)
        got = page(process, FORK, by=PLANNER, channel=Channel.CONTEXT, epoch=epoch)
        assert texts(got.entries) == ["c1"]
        assert got.after == got.entries[-1].entry_id
        with pytest.raises(UnavailableError):
            page(process, FORK, by=PLANNER, channel=Channel.CONTEXT, epoch=epoch, tail=True)

    process = store.process()
    sees_late(process, late, times=3)
    sync(process, "c1", "c2", "c3", to=FORK)
    assert read(store.process(), FORK, by=PLANNER, channel=Channel.CONTEXT)[-1] == "c3"
    assert len(read(store.process(), FORK, by=PLANNER, channel=Channel.CONTEXT)) == 3


@pytest.mark.failure("late-visible-entry")
def test_an_agent_sees_its_context_of_other_forks_of_the_tree(store: Store) -> None:
    table = store.process()
    append(table, ROOT, "a")
    fork(table)
    note(table, FORK, "c1", by=PLANNER)

    for epoch in ("latest", "all", 1):
        shown = read(table, by=PLANNER, all_forks=True, channel=Channel.CONTEXT, epoch=epoch)
        assert shown == ["c1"]


@pytest.mark.failure("late-visible-entry")
def test_a_view_up_to_an_entry_newer_than_the_read_head_shows_its_context(store: Store) -> None:
    table = store.process()
    append(table, ROOT, "a", by=PLANNER)
    earlier = store.item(keys.head(ROOT, ROOT))
    c, d = say(table, ROOT, thought("c"), said("d"), by=PLANNER)
    process = store.process()

    def show_late(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "BatchGetItem":
            for item in answer["Responses"]["forklore"]:
                if items.key(item) == keys.head(ROOT, ROOT):
                    item.clear()
                    item.update(earlier)

    Wire.of(process).after(show_late)

    assert c in _ids(page(process, by=PLANNER, up_to=d))


@pytest.mark.failure("late-visible-entry")
@pytest.mark.parametrize("late", [keys.conversation(ROOT, FORK), keys.head(ROOT, FORK)])
def test_a_fork_that_is_shown_late_is_not_left_out_of_the_list(store: Store, late: Key) -> None:
    table = store.process()
    append(table, ROOT, "a")
    fork(table)
    process, hidden = store.process(), list[int]()

    def hide(request: Request, answer: dict[str, Any]) -> None:
        if request.operation in ("BatchGetItem", "Query") and len(hidden) < 2:
            held = answer["Items"] if "Items" in answer else answer["Responses"]["forklore"]
            shown = [item for item in held if items.key(item) != late]
            hidden.extend([1] * (len(held) - len(shown)))
            held[:] = shown

    Wire.of(process).after(hide)
    got = fork_lists.list_forks(process, caller=ANN, conversation_id=ROOT, after=None, limit=20)

    assert hidden == [1, 1]
    assert [one.conversation_id for one, _ in got.conversations] == [ROOT, FORK]


@pytest.mark.failure("late-visible-entry")
def test_a_first_context_entry_is_not_skipped_although_its_ctx_is_shown_late(store: Store) -> None:
    append(store.process(), ROOT, said("a"), thought("b"), by=PLANNER)
    say(store.process(), ROOT, "c")
    process = store.process()

    def hide(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "BatchGetItem":
            held = answer["Responses"]["forklore"]
            held[:] = [item for item in held if not item["SK"]["S"].startswith("CTX#")]

    Wire.of(process).after(hide)

    assert read(process, by=PLANNER) == ["a", "b", "c"]


@pytest.mark.failure("late-visible-entry")
def test_a_complete_page_needs_no_further_read(store: Store) -> None:
    where = in_batches(store.process())
    process = store.process()
    wire = Wire.of(process)

    page(process, where)

    assert wire.operations == ["BatchGetItem", "Query"]

"""A reader who goes on page by page misses no entry, although a read may show a later one before it.

Source: read-committed isolation of Query (DynamoDB developer guide, transactions).
"""

from collections.abc import Callable
from typing import Any

import pytest

from forklore.domain import keys
from forklore.domain.ids import EntryId
from forklore.domain.model import Caller, Channel
from forklore.errors import UnavailableError
from forklore.storage.table import Table
from forklore.usecases.entries import EntryPage
from tests.support.tables import Request, Store, Wire
from tests.usecases.builders import (
    AFTER,
    ANN,
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
    thought,
)
from tests.usecases.test_half_visible import ALWAYS, sees_late, without

Walk = Callable[[Table, str, Caller, Channel | None, int], list[EntryId]]
NOWHERE = 3
"""Pages in a row that bring a reader nowhere: then a walk gives up."""


def _ids(some: EntryPage) -> list[EntryId]:
    return [entry.entry_id for entry in some.entries]


def forward(table: Table, where: str, by: Caller, channel: Channel | None, limit: int) -> list[EntryId]:
    """Read to the end, as somebody does who follows a conversation."""
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
    """Read the last page, and on from there: nothing after the first entry that was read is missed."""
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
    """A fork that shows three entries of others, at an entry that has others after it."""
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


@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("scene", SCENES)
def test_an_entry_that_shows_late_is_missed_by_nobody(
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


def test_the_view_up_to_an_entry_and_the_whole_tree_end_before_what_shows_late(store: Store) -> None:
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


def test_a_first_context_is_not_passed_although_its_ctx_shows_late(store: Store) -> None:
    append(store.process(), ROOT, said("a"), thought("b"), by=PLANNER)
    say(store.process(), ROOT, "c")
    process = store.process()

    def hide(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "BatchGetItem":
            held = answer["Responses"]["forklore"]
            held[:] = [item for item in held if not item["SK"]["S"].startswith("CTX#")]

    Wire.of(process).after(hide)

    assert read(process, by=PLANNER) == ["a", "b", "c"]


def test_a_whole_page_costs_no_read_more(store: Store) -> None:
    where = in_batches(store.process())
    process = store.process()
    wire = Wire.of(process)

    page(process, where)

    assert wire.operations == ["BatchGetItem", "Query"]

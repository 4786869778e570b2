"""Turns: an answer and the context that goes with it stay together at every fork."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.model import Caller, Description, ForkPosition, StartedBy, Words
from forklore_service.errors import ConflictError, ForbiddenError, PayloadTooLargeError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.appended import Appended
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing.append import append_turn
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BLANK,
    BOB,
    CODER,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    H,
    conversation,
    create,
    fork,
    large,
    page,
    read,
    said,
    say,
    show,
    texts,
    thought,
    turn,
)
from tests.service.usecases.writing.test_context import known, sync, told
from tests.support.samples import drawn
from tests.support.tables import Store
from tools.harness.wire import Wire

WRITE = "TransactWriteItems"
BOBS_PLANNER = Caller("bob", "planner")


def heard(table: Table, conversation_id: str, *, up_to: EntryId | None = None) -> list[str]:
    """Return the texts of the history."""
    return read(table, conversation_id, channel=H, up_to=up_to)


def done(appended: Appended) -> tuple[int | None, str | None, bool]:
    """Return what became of the context: epoch, what was written, whether the epoch is new."""
    synced = appended.synced
    assert synced is not None
    return synced.epoch, synced.entry.content if synced.entry else None, synced.epoch_incremented


# The case that started turns: a chat whose agent keeps the messages as its context

Save = Callable[[Table, str, str, Sequence[str]], EntryId]
"""Appends a message with the agent's context after it, and returns the message's id."""


def by_context(table: Table, to: str, text: str, context: Sequence[str]) -> EntryId:
    return turn(table, to, text, context=context).entries[0].entry_id


def context_after(table: Table, to: str, text: str, context: Sequence[str]) -> EntryId:
    return say(table, to, said(text), thought(context[-1]), by=PLANNER)[0]


def context_before(table: Table, to: str, text: str, context: Sequence[str]) -> EntryId:
    return say(table, to, thought(context[-1]), said(text), by=PLANNER)[1]


def in_two_entries(table: Table, to: str, text: str, context: Sequence[str]) -> EntryId:
    """Save a context entry on either side of the message. Only the one after it says something."""
    empty = Draft.of(C, "application/json", text_of([]))
    return say(table, to, empty, said(text), thought(context[-1]), by=PLANNER)[1]


SAVES: dict[str, Save] = {
    "context": by_context,
    "an entry after": context_after,
    "an entry before": context_before,
    "entries on both sides": in_two_entries,
}


@pytest.mark.failure("split-turn")
@pytest.mark.parametrize("saves", drawn(list(SAVES), 2))
@pytest.mark.parametrize("cold", [True, False], ids=["cold", "warm"])
def test_each_fork_of_a_chat_has_the_context_that_its_history_says(
    store: Store, table: Table, saves: str, cold: bool
) -> None:
    told_so_far: list[str] = []
    ids: list[EntryId] = []
    for text in ("question", "answer", "next question", "next answer"):
        told_so_far.append(text)
        mine = store.process() if cold else table
        ids.append(SAVES[saves](mine, ROOT, text, told_so_far))

    for at, anchor in enumerate(ids):
        for number, position in enumerate((BEFORE, AFTER)):
            fork_id = conversation(100 + 2 * at + number)
            fork(table, ROOT, fork_id, anchor, position)
            expected = told_so_far[: at + number]
            mine = store.process() if cold else table
            assert heard(mine, fork_id) == known(mine, fork_id) == expected
            again = [*expected, "another"]
            SAVES[saves](mine, fork_id, "another", again)
            assert heard(mine, fork_id) == known(mine, fork_id) == again
        assert heard(table, ROOT, up_to=anchor) == known(table, up_to=anchor) == told_so_far[: at + 1]
    assert heard(table, ROOT) == known(table) == told_so_far


# What an append with context writes


def test_the_context_is_synced_after_the_entries_in_one_transaction(store: Store, table: Table) -> None:
    create(table)
    wire = Wire.of(table)
    before = wire.operations.count(WRITE)

    first = turn(table, ROOT, "a", "b", context=["a", "b"])
    more = turn(table, ROOT, "c", context=["a", "b", "c"])
    same = turn(table, ROOT, "d", context=["a", "b", "c"])
    other = turn(table, ROOT, "e", context=["all"])

    assert wire.operations.count(WRITE) - before == 4
    assert [texts(one.entries) for one in (first, more, same, other)] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert done(first) == (1, '["a","b"]', False)
    assert done(more) == (1, '["c"]', False)
    assert done(same) == (1, None, False)
    assert done(other) == (2, '["all"]', True)
    assert done(turn(table, ROOT, "f", context=[])) == (3, "[]", True)
    assert heard(table, ROOT) == ["a", "b", "c", "d", "e", "f"]
    assert show(table).head.metrics.entries == 10


def test_only_the_last_entry_of_a_batch_has_the_context_in_its_turn(table: Table) -> None:
    made = turn(table, ROOT, "a", "b", context=["a", "b"])
    assert made.synced is not None
    assert made.synced.entry is not None
    one, two, context = made.entries[0], made.entries[1], made.synced.entry

    assert one.turn is None
    assert (two.begins, two.ends) == (two.entry_id, context.entry_id)
    assert two.turn == context.turn
    fork(table, anchor=two.entry_id)
    fork(table, ROOT, TWIG, one.entry_id, AFTER)
    fork(table, ROOT, OTHER, two.entry_id, AFTER)
    assert (heard(table, FORK), known(table, FORK)) == (["a"], [])
    assert (heard(table, TWIG), known(table, TWIG)) == (["a"], [])
    assert (heard(table, OTHER), known(table, OTHER)) == (["a", "b"], ["a", "b"])


def test_a_fork_before_the_first_turn_of_a_conversation_inherits_nothing_of_it(table: Table) -> None:
    made = say(table, ROOT, thought("a"), "a", by=PLANNER)
    fork(table, anchor=made[1])
    own = say(table, FORK, thought("b"), "b", thought("c"), by=PLANNER)
    fork(table, FORK, TWIG, own[1])
    fork(table, FORK, OTHER, own[1], AFTER)

    assert read(table, FORK, by=PLANNER) == ["b", "b", "c"]
    assert read(table, TWIG, by=PLANNER) == []
    assert read(table, OTHER, by=PLANNER) == ["b", "b", "c"]
    assert show(table, TWIG).head.lasts.last is None


def test_metrics_title_and_preview_are_those_of_the_entries(table: Table) -> None:
    turn(table, ROOT, "hello", context=["hello"])

    shown = show(table, by=PLANNER)
    assert (shown.conversation.title, shown.head.preview) == (Words("hello", "ann"), Words("hello", "ann"))
    assert (shown.head.history, shown.head.context) == (1, 1)
    assert shown.conversation.client_id == "planner"


# Where it may be appended


def test_an_append_with_context_creates_a_root_a_child_and_a_fork(store: Store, table: Table) -> None:
    root = turn(table, ROOT, "a", context=["a"])
    anchor = root.entries[0].entry_id
    at = {position: Fork(ROOT, anchor, position) for position in (BEFORE, AFTER)}

    child = turn(table, conversation(10), "b", context=["b"], start=StartedBy(ROOT, anchor))
    before = turn(table, conversation(11), "b", context=["b"], fork=at[BEFORE])
    after = turn(table, conversation(12), "b", context=["a", "b"], fork=at[AFTER])
    same = turn(table, conversation(13), "b", context=["a"], fork=at[AFTER])
    other = turn(table, conversation(14), "b", context=["c"], fork=at[AFTER])
    head = turn(table, conversation(15), "b", context=["a", "b"], fork=Fork(ROOT, None, AFTER))
    blank = turn(table, conversation(16), "b", context=[], fork=Fork(ROOT, None, BLANK))

    assert done(root) == done(turn(table, OTHER, "a", context=["a"])) == (1, '["a"]', True)
    assert done(child) == done(before) == (1, '["b"]', True)
    assert done(after) == done(head) == (1, '["b"]', False)
    assert done(same) == (1, None, False)
    assert done(other) == (2, '["c"]', True)
    assert done(blank) == (None, None, False)
    histories = [heard(table, conversation(10 + n)) for n in range(7)]
    assert histories == [["b"], ["b"], ["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"], ["b"]]
    contexts = [known(store.process(), conversation(10 + n)) for n in range(7)]
    assert contexts == [["b"], ["b"], ["a", "b"], ["a"], ["c"], ["a", "b"], []]
    assert (
        show(table, conversation(15), by=PLANNER).conversation.fork_point
        == show(table, conversation(12), by=PLANNER).conversation.fork_point
    )


def test_an_empty_context_with_entries_creates_the_conversation_without_context(table: Table) -> None:
    assert done(turn(table, ROOT, "a", context=[])) == (None, None, False)
    assert heard(table, ROOT) == ["a"]


def test_a_context_in_a_fork_is_decided_on_what_the_fork_inherits(store: Store, table: Table) -> None:
    anchors = [turn(table, ROOT, text, context=["a", "b"][: at + 1]) for at, text in enumerate("ab")]
    fork(table, anchor=anchors[1].entries[0].entry_id)
    cold = store.process()

    assert done(turn(cold, FORK, "x", context=["a", "x"])) == (1, '["x"]', False)
    assert done(turn(cold, FORK, "y", context=["a", "x"])) == (1, None, False)
    assert known(table, FORK) == ["a", "x"]
    assert known(table) == ["a", "b"]


def test_a_plain_user_and_another_client_may_not_append_with_context(store: Store, table: Table) -> None:
    create(table, by=PLANNER)
    store.add_member(ROOT, "bob", AccessLevel.WRITER)

    for caller in (ANN, BOB, CODER):
        with store.refuses(ForbiddenError):
            turn(table, ROOT, "a", context=["a"], by=caller)
        with store.refuses(ForbiddenError):
            turn(table, ROOT, "a", context=[], by=caller)
    places: list[dict[str, Any]] = [{}, {"fork": Fork(ROOT, None, AFTER)}, {"start": StartedBy(ROOT, None)}]
    for where in places:
        with store.refuses(ForbiddenError):
            turn(table, OTHER, "a", context=["a"], by=ANN, **where)
    assert done(turn(table, ROOT, "a", context=["a"], by=BOBS_PLANNER)) == (1, '["a"]', False)


def test_a_context_and_entries_that_no_answer_could_hold_are_413(store: Store, table: Table) -> None:
    half = large(2_400_000)
    with store.refuses(PayloadTooLargeError):
        turn(table, ROOT, half, half, context=["x" * 300_000])


# Forks at a context entry


def test_an_agent_forks_at_its_own_context_which_stands_for_its_turn(table: Table) -> None:
    create(table)
    alone = sync(table, "zero").entry
    made = turn(table, ROOT, "a", context=["zero", "a"])
    say(table, ROOT, "b")
    assert alone is not None
    assert made.synced is not None
    assert made.synced.entry is not None
    within = made.synced.entry.entry_id

    expected: list[tuple[EntryId, ForkPosition, list[str], list[Any]]] = [
        (alone.entry_id, BEFORE, [], []),
        (alone.entry_id, AFTER, [], ["zero"]),
        (within, BEFORE, [], ["zero"]),
        (within, AFTER, ["a"], ["zero", "a"]),
    ]
    for number, (anchor, position, history, context) in enumerate(expected):
        fork_id = conversation(10 + number)
        details = fork(table, ROOT, fork_id, anchor, position, by=PLANNER)
        assert (heard(table, fork_id), known(table, fork_id)) == (history, context)
        assert details.head.preview == (Words(history[-1], "ann") if history else None)


# upToEntryId and cursors


def test_the_view_up_to_an_entry_shows_its_whole_turn(table: Table) -> None:
    made = say(table, ROOT, "a", thought("1"), "b", thought("2"), thought("3"), by=PLANNER)
    say(table, ROOT, "c")
    wholes = [["a", "1"], ["a", "1"], *[["a", "1", "b", "2", "3"]] * 3]

    for at, (entry_id, whole) in enumerate(zip(made, wholes, strict=True)):
        assert read(table, ROOT, by=PLANNER, up_to=entry_id) == whole
        assert read(table, ROOT, by=PLANNER, up_to=entry_id, tail=True) == whole
        assert read(table, ROOT, by=PLANNER, up_to=entry_id, after=made[0]) == whole[1:]
        assert read(table, ROOT, by=PLANNER, up_to=entry_id, all_forks=True) == whole
        assert known(table, ROOT, up_to=entry_id) == [one for one in whole if one.isdigit()], at


# Creation: how the conversation is described, and where it forks


@pytest.mark.parametrize("kind", ["root", "fork", "child"])
def test_an_append_describes_the_conversation_that_it_creates_and_no_other(table: Table, kind: str) -> None:
    create(table)
    say(table, ROOT, "of the root")
    where: dict[str, dict[str, Any]] = {
        "root": {},
        "fork": {"fork": Fork(ROOT, None, AFTER)},
        "child": {"start": StartedBy(ROOT, None)},
    }
    described = Description("Lisbon", {"kind": "travel"}, '{"n": 1}')
    for text, again in (("hello", described), ("more", Description("Rome", {}, "{}"))):
        request = Append(OTHER, [said(text)], described=again, **where[kind])
        append_turn(table, caller=ANN, request=request)

    made = show(table, OTHER)
    assert made.conversation.described == Description("Lisbon", {"kind": "travel"}, '{"n": 1}')
    assert (made.head.untitled, made.head.preview) == (False, Words("more", "ann"))


def test_a_fork_by_appending_is_before_or_after_its_entry_or_at_the_head(store: Store, table: Table) -> None:
    first, _last = say(table, ROOT, "a", "b")
    places = {
        10: (Fork(ROOT, first, BEFORE), []),
        11: (Fork(ROOT, first, AFTER), ["a"]),
        12: (Fork(ROOT, None, AFTER), ["a", "b"]),
        13: (Fork(ROOT, None, BLANK), []),
    }
    for number, (where, inherited) in places.items():
        for text in ("x", "y"):  # a repeated request names the fork that exists
            append_turn(table, caller=ANN, request=Append(conversation(number), [said(text)], fork=where))
        assert heard(table, conversation(number)) == [*inherited, "x", "y"]
    for number, (where, _) in places.items():
        for other in places.keys() - {number}:
            # The head is after some entry, or blank: the source may have been empty.
            if (number, other) not in {(12, 11), (12, 13)}:
                request = Append(conversation(other), [said("z")], fork=where)
                with store.refuses(ConflictError):
                    append_turn(table, caller=ANN, request=request)


def test_a_fork_at_the_head_of_nothing_is_blank(table: Table) -> None:
    create(table)
    for text in ("x", "y"):
        request = Append(FORK, [said(text)], fork=Fork(ROOT, None, AFTER))
        append_turn(table, caller=ANN, request=request)

    assert heard(table, FORK) == ["x", "y"]
    point = show(table, FORK).conversation.fork_point
    assert point is not None
    assert point.position is BLANK


# Races


def test_a_turn_whose_context_another_thread_changes_is_decided_again(store: Store, table: Table) -> None:
    """The cache knows the thread's entries, so only the condition on the context tells."""
    create(table)
    sync(table, "a")
    reads = [0]

    def after(request: Any, _answer: Any) -> None:
        reads[0] += request.operation == "BatchGetItem"
        if request.operation == "BatchGetItem" and reads[0] == 1:
            sync(table, "b")

    Wire.of(table).after(after)
    made = turn(table, ROOT, "x", context=["a"])

    assert done(made) == (3, '["a"]', True)
    assert known(store.process()) == ["a"]


def test_a_turn_beside_appends_of_history_does_not_read_again(store: Store, table: Table) -> None:
    create(table)
    sync(table, "a")
    wire = Wire.of(table)
    for nth in range(1, 4):
        wire.just_before(WRITE, lambda: say(store.process(), ROOT, "r"), nth=nth)
    first = len(wire.operations)

    made = turn(table, ROOT, "x", context=["a", "b"])

    assert done(made) == (1, '["b"]', False)

    assert wire.operations[first:] == ["BatchGetItem", *[WRITE] * 4]


def test_the_stored_turn_is_read_as_it_was_written(store: Store, table: Table) -> None:
    made = turn(table, ROOT, "a", context=["a"])
    assert made.synced is not None
    assert made.synced.entry is not None

    shown = page(store.process(), by=PLANNER).entries

    assert shown == [*made.entries, made.synced.entry]
    assert told(made.synced) == (1, '["a"]')
    assert keys.entry(ROOT, shown[0].entry_id) in store.contents()

"""Answers that are written piece by piece: who is first of two that race."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import SILENT_SECONDS
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Entry
from forklore_service.errors import ForbiddenError, ForkloreError, NotFoundError
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.requests import Fork
from tests.service.usecases.builders import (
    AFTER,
    BOB,
    FORK,
    ROOT,
    TWIG,
    A,
    B,
    begin,
    conflict,
    conversation,
    drop,
    finish,
    fork,
    idempotency_key,
    log,
    page,
    read,
    show,
    shown,
    standing,
    stop,
    write,
)
from tests.service.usecases.members import remove
from tests.support.tables import Standing, Store
from tools.harness.wire import Request, Wire


def at_once(table: Table, operation: str, act: Callable[[], object], *, nth: int = 1) -> None:
    """Let another process act just before a request of this one is sent."""
    Wire.of(table).just_before(operation, act, nth=nth)


PUT, TRANSACT = "PutItem", "TransactWriteItems"


def test_a_stop_comes_before_a_part_or_after_it(
    store: Store, table: Table, other: Table, asked: EntryId
) -> None:
    begin(table)
    at_once(table, PUT, lambda: stop(other))
    assert conflict(lambda: write(table, 0)) == {"reason": "answer_stopped", "position": 1}
    drop(table)
    begin(table, B)
    at_once(table, PUT, lambda: write(other, 0, to=B))
    assert stop(table, B).last.position == 2
    assert (log(store, A), log(store, B)) == (["begin", "stop", "end"], ["begin", "data", "stop"])


def test_nothing_comes_after_the_end_of_an_answer(
    store: Store, table: Table, other: Table, asked: EntryId
) -> None:
    begin(table)
    at_once(table, PUT, lambda: finish(other))
    assert conflict(lambda: write(table, 0))["reason"] == "answer_over"
    begin(table, B)
    at_once(table, PUT, lambda: drop(other, B))
    assert conflict(lambda: stop(table, B)) == {"reason": "answer_over"}
    assert (log(store, A), log(store, B)) == (["begin", "end"], ["begin", "end"])


def test_a_part_that_comes_before_the_end_is_kept(
    store: Store, table: Table, other: Table, asked: EntryId
) -> None:
    begin(table)
    at_once(table, TRANSACT, lambda: write(other, 0))
    finish(table)
    assert log(store) == ["begin", "data", "end"]


@pytest.mark.failure("two-at-one-answer")
def test_of_two_who_finish_one_does(table: Table, other: Table, asked: EntryId) -> None:
    begin(table)
    at_once(table, TRANSACT, lambda: finish(other, "First."))
    told = conflict(lambda: finish(table, "Second."))

    assert (told["reason"], read(table)) == ("answer_over", ["Why?", "First."])
    assert told["entryId"] == show(table).head.last
    begin(table, B)
    at_once(table, TRANSACT, lambda: finish(other, "First.", answer_id=B))
    forked = Fork(ROOT, asked, AFTER)
    assert conflict(lambda: finish(table, answer_id=B, to=FORK, forked=forked))["reason"] == "answer_over"
    with pytest.raises(NotFoundError):
        show(table, FORK)


def test_who_finishes_and_who_takes_over_do_not_both(
    store: Store, table: Table, other: Table, clock: Standing, asked: EntryId
) -> None:
    begin(table)
    clock.now_s += SILENT_SECONDS
    at_once(table, TRANSACT, lambda: begin(other, B, by=BOB))
    assert conflict(lambda: finish(table)) == {"reason": "answer_over", "nextAnswerId": B}
    assert (read(table), standing(table)) == (["Why?"], (B, "open"))
    clock.now_s += SILENT_SECONDS
    third = conversation(72)
    at_once(table, TRANSACT, lambda: finish(other, answer_id=B, by=BOB))
    begin(table, third)
    assert (log(store, B), standing(table)) == (["begin", "end"], (third, "open"))


def test_who_was_silent_and_writes_again_keeps_the_answer(
    store: Store, table: Table, other: Table, clock: Standing, asked: EntryId
) -> None:
    begin(other)
    clock.now_s += SILENT_SECONDS
    at_once(table, TRANSACT, lambda: write(other, 0))
    assert conflict(lambda: begin(table, B, by=BOB))["reason"] == "answer_in_progress"
    at_once(table, TRANSACT, lambda: write(other, 1))
    clock.now_s += SILENT_SECONDS
    assert conflict(lambda: finish(table, by=BOB))["reason"] == "answer_in_progress"
    assert log(store) == ["begin", "data", "data"]


def test_of_two_who_begin_one_does(store: Store, table: Table, other: Table, asked: EntryId) -> None:
    at_once(table, TRANSACT, lambda: begin(other, B, by=BOB))
    assert conflict(lambda: begin(table))["answerId"] == B
    assert log(store, A) == []


@pytest.mark.failure("late-visible-entry")
def test_a_reader_who_goes_on_misses_no_part(table: Table, other: Table, asked: EntryId) -> None:
    """A Query may show a later part, and one before it not yet."""
    begin(other)
    for after in range(3):
        write(other, after, f'["{after}"]')
    late = [keys.part(ROOT, A, 2)]

    def show_late(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "Query":
            answer["Items"] = [item for item in answer["Items"] if items.key(item) not in late]

    Wire.of(table).after(show_late)
    first = shown(table)
    late.clear()
    rest = shown(table, after=first.last.position)

    assert [part.content for part in (*first.parts, *rest.parts)] == ['["0"]', '["1"]', '["2"]']


def test_an_answer_is_shown_until_its_entry_is(table: Table, other: Table, asked: EntryId) -> None:
    """HEAD is read before the end of the log, so the answer is not ended yet."""
    for reading in (lambda: show(table), lambda: page(table)):
        answer_id = other.mint_conversation()
        begin(other, answer_id)
        at_once(table, "Query", lambda of=answer_id: finish(other, answer_id=of))  # type: ignore[misc]
        shown_one = reading()
        assert shown_one.answering is not None
        assert (shown_one.answering.answer.answer_id, shown_one.answering.state) == (answer_id, "open")


def test_who_drops_what_is_just_begun_lets_no_head_name_it(
    store: Store, table: Table, other: Table, asked: EntryId
) -> None:
    at_once(table, "Query", lambda: begin(other))
    drop(table)
    assert (log(store), show(table).head.answer) == (["begin", "end"], None)


def test_a_part_follows_one_that_has_just_been_written(table: Table, other: Table, asked: EntryId) -> None:
    begin(other)
    at_once(table, "Query", lambda: write(other, 0))
    assert write(table, 1) == 2


FINISHES: dict[str, Callable[[Table], object]] = {
    "an append": lambda table: finish(table, by=BOB, to=FORK),
    "an append elsewhere": lambda table: finish(table, by=BOB, to=ROOT),
    "a fork": lambda table: finish(table, by=BOB, to=TWIG, forked=Fork(ROOT, None, AFTER)),
    "a drop": lambda table: drop(table, by=BOB, of=FORK),
}


@pytest.mark.parametrize("gone", ["branch", "member"])
@pytest.mark.parametrize("act", FINISHES.values(), ids=FINISHES)
def test_an_answer_does_not_end_where_its_conversation_or_the_right_to_write_has_just_gone(
    store: Store, table: Table, other: Table, asked: EntryId, act: Callable[[Table], object], gone: str
) -> None:
    made = fork(table, ROOT, FORK, asked, AFTER).conversation
    begin(table, of=FORK, by=BOB)
    tree = keys.tree_row(ROOT, made.created_at, FORK)
    at_once(
        table,
        TRANSACT,
        (lambda: remove(other, "bob"))
        if gone == "member"
        else (lambda: store.delete(keys.head(ROOT, FORK), keys.conversation(ROOT, FORK), tree)),
    )

    with pytest.raises(ForkloreError) as raised:
        act(table)

    assert raised.type is (ForbiddenError if gone == "member" else NotFoundError)
    assert log(store) == ["begin"]


def test_what_was_written_and_not_answered_is_known_again(store: Store, table: Table, asked: EntryId) -> None:
    lost: set[str] = set()

    def lose(request: Request, _answer: object) -> None:
        if request.operation in (PUT, TRANSACT) and request.operation not in lost:
            lost.add(request.operation)
            raise ReadTimeoutError(endpoint_url="")

    wire = Wire.of(table)
    wire.after(lose)
    for act in (begin, lambda table: write(table, 0), finish):
        lost.clear()
        act(table)
        assert lost
    begin(table, B)
    lost.clear()
    stop(table, B)
    drop(table, B)

    assert (log(store, A), log(store, B)) == (["begin", "data", "end"], ["begin", "stop", "end"])
    assert read(table) == ["Why?", "Because."]


@pytest.mark.parametrize("forked", [None, Fork(ROOT, None, AFTER)], ids=["an append", "a fork"])
def test_a_finish_that_is_repeated_beside_itself_is_answered_once(
    table: Table, other: Table, asked: EntryId, forked: Fork | None
) -> None:
    begin(table)

    def act(on: Table) -> Entry:
        return finish(on, to=FORK if forked else ROOT, forked=forked, key=idempotency_key())

    first: list[Entry] = []
    at_once(table, "Query", lambda: first.append(act(other)))
    assert [act(table)] == first

"""Answers that are written piece by piece: who may what, and who is first of two that race."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore_service.api.answers import fork as fork_answer
from forklore_service.domain import answer_logs, keys
from forklore_service.domain.answer_logs import (
    KEPT_SECONDS,
    PART_BYTES_MAX,
    SILENT_SECONDS,
    WRITTEN_SECONDS_MAX,
)
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Entry
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    PayloadTooLargeError,
    ValidationError,
)
from forklore_service.limits import escaped_size
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.answers.reading import Answer, get_answer
from forklore_service.usecases.answers.writing import (
    Beginning,
    append_part,
    begin_answer,
    drop_answer,
    stop_answer,
)
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.reading.conversation_lists import ListRequest, list_conversations
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BOB,
    EVE,
    FORK,
    OTHER,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    page,
    read,
    said,
    say,
    show,
)
from tests.service.usecases.members import READER, WRITER, remove, share, update
from tests.support.mailbox import Mailbox
from tests.support.tables import Standing, Store
from tools.harness.wire import Request, Wire

NOW_S = 1_772_356_500
A, B = conversation(70), conversation(71)


@pytest.fixture
def clock() -> Standing:
    return Standing(NOW_S)


@pytest.fixture
def table(store: Store, clock: Standing) -> Table:
    """The real Table, whose clock stands still."""
    return store.process(clock=clock)


@pytest.fixture
def asked(table: Table) -> EntryId:
    """A question of Ann's, in a tree in which Bob may write."""
    (question,) = say(table, ROOT, "Why?")
    share(table, "bob", WRITER)
    return question


def begin(
    table: Table,
    answer_id: str = A,
    *,
    by: Caller = ANN,
    of: str = ROOT,
    idempotency_key: IdempotencyKey | None = None,
    after: EntryId | None = None,
    after_key: str | None = None,
    if_match: EntryId | None = None,
) -> Answer:
    request = Beginning(of, answer_id, after, after_key, if_match=if_match)
    return begin_answer(table, caller=by, request=request, idempotency_key=idempotency_key)


def write(
    table: Table, after: int, text: str = '["x"]', *, by: Caller = ANN, of: str = ROOT, to: str = A
) -> int:
    return append_part(table, caller=by, conversation_id=of, answer_id=to, after=after, content=text)


def stop(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT) -> Answer:
    return stop_answer(table, caller=by, conversation_id=of, answer_id=answer_id)


def drop(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT) -> None:
    drop_answer(table, caller=by, conversation_id=of, answer_id=answer_id)


def shown(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT, after: int = 0) -> Answer:
    return get_answer(table, caller=by, conversation_id=of, answer_id=answer_id, after=after)


def finish(
    table: Table,
    text: str = "Because.",
    *,
    answer_id: str = A,
    by: Caller = ANN,
    to: str = ROOT,
    forked: Fork | None = None,
    if_match: EntryId | None = None,
    key: IdempotencyKey | None = None,
) -> Entry:
    request = Append(
        to, [said(text)], fork=forked, if_match=if_match, finishes=answer_id, idempotency_key=key
    )
    return append_entries(table, caller=by, request=request)[-1]


def conflict(act: Callable[[], object]) -> dict[str, object]:
    """Return what the conflict of an action says, without its message."""
    with pytest.raises(ConflictError) as raised:
        act()
    return {name: held for name, held in raised.value.details.items() if name != "message"}


def standing(table: Table, of: str = ROOT) -> tuple[str, str | None] | None:
    """Return the answer that a conversation shows, and its state."""
    found = show(table, of).answering
    return None if found is None else (found.answer.answer_id, found.state)


def log(store: Store, answer_id: str = A) -> list[str]:
    """Return the kinds of the parts of a log, in order."""
    partition = keys.part(ROOT, answer_id, 0).partition
    return [item["kind"]["S"] for key, item in sorted(store.contents().items()) if key.partition == partition]


# What one after the other does


def test_an_answer_is_begun_written_read_and_finished(store: Store, table: Table, asked: EntryId) -> None:
    begun = begin(table, by=BOB)
    assert (begun.state, begun.begin.after, begun.begin.user_id) == ("open", asked, "bob")
    assert [write(table, 0, '["Be"]', by=BOB), write(table, 1, '["cause"]', by=BOB)] == [1, 2]

    read_on = shown(table, after=1)
    assert [(part.position, part.content) for part in read_on.parts] == [(2, '["cause"]')]
    assert (read_on.last.position, read_on.state, standing(table)) == (2, "open", (A, "open"))

    entry = finish(table, by=BOB)
    done = shown(table)
    assert done.state == "finished"
    assert done.last.entry == (ROOT, entry.entry_id)
    assert [part.position for part in done.parts] == [1, 2]
    assert (read(table), standing(table)) == (["Why?", "Because."], None)
    assert log(store) == ["begin", "data", "data", "end"]


def test_the_end_of_a_view_shows_the_answer_and_no_other_page_does(table: Table, asked: EntryId) -> None:
    say(table, ROOT, "Well?")
    begin(table)

    assert page(table).answering == page(table, tail=True).answering == page(table, after=asked).answering
    assert page(table).answering == show(table).answering != None  # noqa: E711 (a value)
    assert page(table, limit=1).answering is None
    assert page(table, up_to=asked).answering is None
    assert page(table, all_forks=True).answering is None


def test_the_same_part_again_is_the_same_and_another_is_stale(
    store: Store, table: Table, asked: EntryId
) -> None:
    begin(table)
    write(table, 0, '["a"]')
    write(table, 1, '["b"]')

    with store.unchanged():
        assert write(table, 0, '["a"]') == 1
        assert conflict(lambda: write(table, 0, '["b"]')) == {"reason": "stale", "position": 2}
        assert conflict(lambda: write(table, 3)) == {"reason": "stale", "position": 2}
    stop(table)
    assert write(table, 1, '["b"]') == 2
    assert conflict(lambda: write(table, 1, "[]")) == {"reason": "answer_stopped", "position": 3}


def test_a_conversation_has_one_answer_at_a_time(table: Table, asked: EntryId) -> None:
    begin(table)

    expected = {"reason": "answer_in_progress", "answerId": A, "state": "open"}
    assert conflict(lambda: begin(table, B, by=BOB)) == expected
    assert conflict(lambda: begin(table)) == expected
    drop(table)
    assert conflict(lambda: begin(table)) == {"reason": "id_in_use"}
    assert begin(table, B, by=BOB).state == "open"


def test_a_silent_answer_is_sealed_by_the_next_one(
    store: Store, table: Table, clock: Standing, asked: EntryId
) -> None:
    begin(table)
    clock.now_s += SILENT_SECONDS - 1
    write(table, 0, "[]")
    clock.now_s += SILENT_SECONDS - 1
    assert conflict(lambda: begin(table, B, by=BOB))["state"] == "open"
    clock.now_s += 1
    assert (shown(table).state, standing(table)) == ("silent", (A, "silent"))
    assert conflict(lambda: begin(table, A)) == {"reason": "id_in_use"}

    begin(table, B, by=BOB)

    assert (log(store, A), shown(table, A).state) == (["begin", "data", "end"], "dropped")
    assert standing(table) == (B, "open")
    for act in (lambda: write(table, 1), lambda: stop(table), lambda: finish(table)):
        assert conflict(act) == {"reason": "answer_over"}


def test_a_stopped_answer_waits_for_its_end(
    store: Store, table: Table, clock: Standing, asked: EntryId
) -> None:
    begin(table, by=BOB)
    assert (stop(table).state, stop(table).last.position) == ("stopped", 1)
    assert conflict(lambda: write(table, 0, by=BOB)) == {"reason": "answer_stopped", "position": 1}
    assert conflict(lambda: begin(table, B))["state"] == "stopped"

    entry = finish(table)  # it is Bob's, but it was stopped
    assert conflict(lambda: stop(table)) == {
        "reason": "answer_over",
        "entryId": entry.entry_id,
        "conversationId": ROOT,
    }
    begin(table, B, by=BOB)
    stop(table, B)
    clock.now_s += SILENT_SECONDS
    third, fourth = conversation(72), conversation(73)
    begin(table, third)
    assert log(store, B) == ["begin", "stop", "end"]
    clock.now_s += SILENT_SECONDS
    stop(table, third)
    begin(table, fourth)  # it was silent already, so nothing waits for its end
    assert log(store, third) == ["begin", "stop", "end"]


def test_a_dropped_answer_ends_without_an_entry(store: Store, table: Table, asked: EntryId) -> None:
    begin(table, by=BOB)
    drop(table)
    drop(table)

    assert (log(store), shown(table).state, standing(table)) == (["begin", "end"], "dropped", None)
    assert conflict(lambda: write(table, 0, by=BOB)) == {"reason": "answer_over"}
    begin(table, B)
    entry = finish(table, answer_id=B)
    assert conflict(lambda: drop(table, B))["entryId"] == entry.entry_id


def test_another_writer_finishes_only_what_is_silent_or_stopped(
    table: Table, clock: Standing, asked: EntryId
) -> None:
    begin(table, by=BOB)
    expected = {"reason": "answer_in_progress", "answerId": A, "state": "open"}
    assert conflict(lambda: finish(table)) == expected
    assert read(table) == ["Why?"]
    clock.now_s += SILENT_SECONDS
    finish(table)
    assert shown(table).state == "finished"


def test_an_append_beside_an_open_answer_leaves_it_as_it_is(table: Table, asked: EntryId) -> None:
    begin(table)
    say(table, ROOT, "Hurry!")
    write(table, 0)

    assert (standing(table), shown(table).begin.after) == ((A, "open"), asked)
    with pytest.raises(ConflictError):
        finish(table, if_match=asked)
    finish(table)
    assert read(table) == ["Why?", "Hurry!", "Because."]


def test_a_regeneration_begins_at_the_question_and_finishes_into_a_fork(table: Table, asked: EntryId) -> None:
    (wrong,) = say(table, ROOT, "No.")
    begin(table, after=asked)

    entry = finish(table, to=FORK, forked=Fork(ROOT, wrong, BEFORE))

    assert (read(table), read(table, FORK)) == (["Why?", "No."], ["Why?", "Because."])
    assert (shown(table).last.entry, standing(table), standing(table, FORK)) == (
        (FORK, entry.entry_id),
        None,
        None,
    )
    # The same, in a fork that exists, in one at the head, and of another conversation.
    begin(table, B)
    finish(table, answer_id=B, to=FORK)
    third = conversation(73)
    begin(table, third)
    last = show(table).head.last
    finish(table, answer_id=third, to=TWIG, forked=Fork(ROOT, None, AFTER), if_match=last)
    fourth = conversation(74)
    begin(table, fourth)
    finish(table, answer_id=fourth, to=OTHER, forked=Fork(FORK, None, AFTER))
    assert [standing(table, one) for one in (ROOT, FORK, TWIG, OTHER)] == [None] * 4
    assert {shown(table, one).state for one in (B, third, fourth)} == {"finished"}


def test_an_answer_follows_an_entry_that_its_conversation_shows(table: Table, asked: EntryId) -> None:
    append(table, ROOT, said("How?", key="how"))
    assert begin(table, A, after_key="how").begin.after == show(table).head.last
    drop(table)
    fork(table, ROOT, FORK, asked, AFTER)
    (elsewhere,) = say(table, FORK, "Where?")

    for wrong in ({"after": elsewhere}, {"after_key": "where"}, {"of": TWIG}):
        with pytest.raises(NotFoundError):
            begin(table, B, **wrong)
    with pytest.raises(ConflictError):
        begin(table, B, if_match=asked)
    create(table, OTHER)
    assert begin(table, B, of=OTHER).begin.after is None


def test_a_log_belongs_to_the_conversation_in_which_it_was_begun(table: Table, asked: EntryId) -> None:
    fork(table)
    begin(table)
    acts: list[Callable[[], object]] = [
        lambda: shown(table, of=FORK),
        lambda: write(table, 0, of=FORK),
        lambda: write(table, 5, of=FORK),
        lambda: stop(table, of=FORK),
        lambda: drop(table, of=FORK),
        lambda: shown(table, B),
        lambda: write(table, 0, to=B),
        lambda: stop(table, B),
        lambda: drop(table, B),
        lambda: finish(table, answer_id=B),
        lambda: finish(table, answer_id="x#1"),
        lambda: finish(table, answer_id=A, to=OTHER),
    ]
    for act in acts:
        with pytest.raises(NotFoundError):
            act()
    with pytest.raises(ValidationError):
        shown(table, after=1)


def test_who_may_do_what(table: Table, asked: EntryId) -> None:
    share(table, "rea", READER)
    begin(table, by=BOB)
    writes: list[Callable[[Caller], object]] = [
        lambda by: begin(table, B, by=by),
        lambda by: write(table, 0, by=by),
        lambda by: stop(table, by=by),
        lambda by: drop(table, by=by),
        lambda by: finish(table, by=by),
    ]
    for act in writes:
        for by in (Caller("rea"), EVE):
            with pytest.raises(ForbiddenError):
                act(by)
    with pytest.raises(ForbiddenError):
        shown(table, by=EVE)
    assert shown(table, by=Caller("rea")).state == "open"
    with pytest.raises(ForbiddenError):
        write(table, 0)  # Ann owns the tree, but the answer is Bob's


@pytest.mark.parametrize("take", [lambda t: remove(t, "bob"), lambda t: update(t, "bob", READER)])
def test_who_was_removed_writes_no_more(
    table: Table, asked: EntryId, take: Callable[[Table], object]
) -> None:
    begin(table, by=BOB)
    write(table, 0, by=BOB)
    take(table)

    for act in (lambda: write(table, 1, by=BOB), lambda: finish(table, by=BOB)):
        with pytest.raises(ForbiddenError):
            act()
    stop(table)
    finish(table)


def test_a_log_takes_so_much_and_no_more(store: Store, table: Table, clock: Standing, asked: EntryId) -> None:
    begin(table)
    most = '["' + "x" * (PART_BYTES_MAX - 6) + '"]'
    assert escaped_size(most) == PART_BYTES_MAX
    assert write(table, 0, most) == 1
    with store.refuses(PayloadTooLargeError):
        write(table, 1, most.replace("x", "xx", 1))
    place = keys.part(ROOT, A, 1)
    store.change(place, size=items.number(answer_logs.LOG_BYTES_MAX - 7))
    assert conflict(lambda: write(table, 1, '["xx"]')) == {"reason": "answer_full"}
    assert write(table, 1, '["x"]') == 2
    last = keys.part(ROOT, A, answer_logs.PARTS_MAX)
    store.put(store.item(place) | items.key_of(last) | {"size": items.number(9)})
    assert conflict(lambda: write(table, answer_logs.PARTS_MAX)) == {"reason": "answer_full"}
    clock.now_s += WRITTEN_SECONDS_MAX
    assert conflict(lambda: write(table, 2, "[]")) == {"reason": "answer_full"}
    assert write(table, 1, '["x"]') == 2  # it was in time, and is sent again
    assert conflict(lambda: write(table, 1, '["y"]'))["reason"] == "stale"
    finish(table)


def test_a_log_is_gone_after_a_day(store: Store, table: Table, clock: Standing, asked: EntryId) -> None:
    begin(table)
    write(table, 0)
    clock.now_s += KEPT_SECONDS
    assert standing(table) == (A, "silent")
    clock.now_s += 1

    assert standing(table) is None
    for act in (lambda: shown(table), lambda: write(table, 1), lambda: finish(table)):
        with pytest.raises(NotFoundError):
            act()
    begin(table, B)


def test_no_list_shows_an_answer_whose_log_is_gone(table: Table, clock: Standing, asked: EntryId) -> None:
    """HEAD names it for ever, if nobody ends it."""
    begin(table)

    def shown_in_lists() -> list[str | None]:
        of_list = list_conversations(table, caller=ANN, request=ListRequest()).rows[0].answering
        forks = list_forks(table, caller=ANN, conversation_id=ROOT, after=None, limit=1).conversations
        of_fork = fork_answer(*forks[0], is_current=True, now_s=table.now_s()).get("answering")
        return [of_list and of_list.answer.answer_id, of_fork and of_fork["answerId"]]

    clock.now_s += KEPT_SECONDS
    assert shown_in_lists() == [A, A]
    clock.now_s += 1
    assert shown_in_lists() == [None, None]
    assert show(table).head.answer is not None


def test_an_id_is_used_again_after_a_day_whatever_is_left_of_the_old_log(
    store: Store, table: Table, clock: Standing, asked: EntryId
) -> None:
    """The database deletes what has expired days later, and not in order."""
    begin(table)
    for after in range(4):
        write(table, after)
    clock.now_s += KEPT_SECONDS + 1
    store.delete(keys.part(ROOT, A, 0))

    begin(table)
    write(table, 0, '["new"]')
    assert [part.content for part in shown(table).parts] == ['["new"]']
    assert standing(table) == (A, "open")
    assert conflict(lambda: begin(table, B, by=BOB))["reason"] == "answer_in_progress"
    finish(table)
    assert conflict(lambda: drop(table))["reason"] == "answer_over"


def test_a_finished_answer_can_be_read_for_a_day(table: Table, clock: Standing, asked: EntryId) -> None:
    begin(table)
    write(table, 0)
    finish(table)
    clock.now_s += KEPT_SECONDS
    assert [part.position for part in shown(table).parts] == [1]
    clock.now_s += 1
    with pytest.raises(NotFoundError):
        shown(table)
    assert read(table) == ["Why?", "Because."]


def test_a_conversation_that_does_not_exist_has_no_last_entry_first_and_no_answer_then(
    table: Table, asked: EntryId
) -> None:
    with pytest.raises(ConflictError):
        finish(table, to=OTHER, if_match=asked)
    with pytest.raises(NotFoundError):
        finish(table, to=OTHER)


def test_a_producer_that_was_restarted_goes_on_where_its_log_ends(
    table: Table, other: Table, asked: EntryId
) -> None:
    begin(table)
    write(table, 0, '["a"]')
    write(other, shown(other).last.position, '["b"]')
    assert [part.content for part in shown(table).parts] == ['["a"]', '["b"]']


def test_text_that_is_cut_anywhere_comes_back_as_it_was_sent(table: Table, asked: EntryId) -> None:
    """A letter and its accent, and what makes up one emoji, are in parts of their own."""
    pieces = ["e", "\u0301", "\U0001f469", "\u200d", "\U0001f680", "\u0000", "\ufeff", ""]
    begin(table)
    for after, piece in enumerate(pieces):
        write(table, after, json.dumps([piece]))
    assert [json.loads(part.content) for part in shown(table).parts] == [[piece] for piece in pieces]


def test_an_answer_of_many_pages_is_read_whole(table: Table, asked: EntryId) -> None:
    """DynamoDB reads 1 MB at once. What is written at random is not packed."""
    random = Random(1)
    pieces = [f'["{random.randbytes(15_000).hex()}"]' for _ in range(80)]
    begin(table)
    for after, piece in enumerate(pieces):
        write(table, after, piece)

    seen: list[Request] = []
    Wire.of(table).before(seen.append)
    assert [part.content for part in shown(table).parts] == pieces
    assert sum(request.operation == "Query" for request in seen) > 1


ENDS: dict[str, tuple[Callable[[Table], object], type[ForkloreError]]] = {
    "the member": (lambda table: remove(table, "bob"), ForbiddenError),
    "the tree": (
        lambda table: delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=ROOT),
        NotFoundError,
    ),
}


@pytest.mark.parametrize("gone", ENDS)
def test_a_reader_reads_on_until_something_is_gone(
    table: Table, other: Table, asked: EntryId, gone: str
) -> None:
    begin(table)
    write(table, 0)
    write(table, 1)
    assert [part.position for part in shown(other, by=BOB, after=1).parts] == [2]
    end, error = ENDS[gone]
    end(table)
    with pytest.raises(ForkloreError) as raised:
        shown(other, by=BOB, after=2)
    assert raised.type is error


# What two at once do


def at_once(table: Table, operation: str, act: Callable[[], object], *, nth: int = 1) -> None:
    """Let another process act just before a request of this one is sent."""
    Wire.of(table).just_before(operation, act, nth=nth)


@pytest.fixture
def other(store: Store, clock: Standing) -> Table:
    return store.process(clock=clock)


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
    assert conflict(lambda: finish(table)) == {"reason": "answer_over"}
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
    tree = keys.tree(ROOT, made.created_at, FORK)
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


def test_a_finish_with_a_key_is_answered_again(table: Table, asked: EntryId) -> None:
    begin(table)
    entry = finish(table, key=idempotency_key())
    assert finish(table, key=idempotency_key()) == entry
    forked = Fork(ROOT, asked, AFTER)
    begin(table, B)
    entry = finish(table, answer_id=B, to=FORK, forked=forked, key=idempotency_key("fork"))
    assert finish(table, answer_id=B, to=FORK, forked=forked, key=idempotency_key("fork")) == entry


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


def test_errors_say_nothing_to_who_is_no_member(table: Table, asked: EntryId) -> None:
    begin(table)
    finish(table)
    with pytest.raises(ForkloreError) as raised:
        finish(table, by=EVE)
    assert raised.type is ForbiddenError
    with pytest.raises(ForbiddenError):
        finish(table, by=EVE, answer_id=B)

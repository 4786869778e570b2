"""Answers that are written piece by piece: who may what, one after the other."""

import json
from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from forklore_service.api.answers import fork as fork_answer
from forklore_service.domain import answer_logs, ids, keys
from forklore_service.domain.answer_logs import (
    KEPT_SECONDS,
    PART_BYTES_MAX,
    SILENT_SECONDS,
    WRITTEN_SECONDS_MAX,
)
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller
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
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.reading.conversation_lists import ListRequest, list_conversations
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.shared.answer_logs import AnswerRef, delete_log
from forklore_service.usecases.shared.requests import Fork
from tests.service.usecases.answers.conftest import NOW_S
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
    A,
    B,
    append,
    begin,
    conflict,
    conversation,
    create,
    drop,
    finish,
    fork,
    idempotency_key,
    log,
    page,
    read,
    said,
    say,
    show,
    shown,
    standing,
    stop,
    write,
)
from tests.service.usecases.members import READER, WRITER, remove, share, update
from tests.support.mailbox import Mailbox
from tests.support.tables import Standing, Store
from tools.harness.wire import Request, Wire

PLANNER, PLANNER_OF_BOB = Caller("ann", "planner"), Caller("bob", "planner")


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


def in_progress(by: Caller = ANN, state: str = "open") -> dict[str, object]:
    """Return what the conflict with an answer says."""
    client = {"clientId": by.client_id} if by.client_id else {}
    told = {"reason": "answer_in_progress", "answerId": A, "state": state, "userId": by.user_id}
    return {**told, **client, "since": ids.timestamp(NOW_S * 1000)}


def test_a_conversation_has_one_answer_at_a_time(table: Table, asked: EntryId) -> None:
    begin(table)

    assert conflict(lambda: begin(table, B, by=BOB)) == in_progress()
    assert conflict(lambda: begin(table, take_over=False)) == in_progress()
    assert conflict(lambda: begin(table)) == {"reason": "id_in_use"}
    drop(table)
    assert conflict(lambda: begin(table)) == {"reason": "id_in_use"}
    assert begin(table, B, by=BOB).state == "open"


@pytest.mark.parametrize("is_stopped", [False, True])
@pytest.mark.parametrize("by", [BOB, PLANNER, PLANNER_OF_BOB], ids=str)
def test_an_answer_of_the_same_user_and_client_is_taken_over_at_once_and_no_other_one(
    store: Store, table: Table, asked: EntryId, by: Caller, is_stopped: bool
) -> None:
    begin(table, by=by)
    write(table, 0, by=by)
    if is_stopped:
        stop(table)
    state = "stopped" if is_stopped else "open"
    for other in {ANN, BOB, PLANNER, PLANNER_OF_BOB} - {by}:
        assert conflict(partial(begin, table, B, by=other)) == in_progress(by, state)

    assert begin(table, B, by=by).state == "open"

    assert log(store)[-1] == "end"
    assert standing(table) == (B, "open")
    assert conflict(lambda: write(table, 1, by=by)) == {"reason": "answer_over", "nextAnswerId": B}


def test_any_answer_is_taken_over_if_that_is_asked_for(store: Store, table: Table, asked: EntryId) -> None:
    begin(table, by=PLANNER)
    share(table, "rea", READER)
    with pytest.raises(ForbiddenError):
        begin(table, B, by=Caller("rea"), take_over=True)

    begin(table, B, by=BOB, take_over=True)

    assert (log(store), standing(table)) == (["begin", "end"], (B, "open"))
    third = conversation(72)
    begin(table, third, take_over=True)
    drop(table, third)
    begin(table, conversation(73), take_over=True)  # there is none to take over


TAKES: dict[str, Callable[[Table], object]] = {
    "is no member": lambda table: remove(table, "bob"),
    "may only read": lambda table: update(table, "bob", READER),
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_an_answer_whose_writer_may_write_no_more_is_in_nobodys_way(
    store: Store, table: Table, asked: EntryId, take: Callable[[Table], object]
) -> None:
    begin(table, by=BOB)
    write(table, 0, by=BOB)
    take(table)

    begin(table, B, take_over=False)

    assert (log(store), standing(table)) == (["begin", "data", "end"], (B, "open"))
    drop(table, B)
    share_again = update if take is TAKES["may only read"] else share
    share_again(table, "bob", WRITER)
    third = conversation(72)
    begin(table, third, by=BOB)
    take(table)
    finish(table, answer_id=third)
    assert read(table) == ["Why?", "Because."]


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
        assert conflict(act) == {"reason": "answer_over", "nextAnswerId": B}


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
    assert conflict(lambda: finish(table)) == in_progress(BOB)
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
        lambda: shown(table, of=TWIG),
        lambda: write(table, 0, of=TWIG),
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
    assert write(table, answer_logs.PARTS_MAX, "[]") == answer_logs.PARTS_MAX + 1
    store.change(place, size=items.number(answer_logs.LOG_BYTES_MAX))
    assert write(table, 2, "[]") == 3
    signs = keys.part(ROOT, A, answer_logs.SIGNS_MAX)
    store.put(store.item(place) | items.key_of(signs))
    assert conflict(lambda: write(table, answer_logs.SIGNS_MAX, "[]")) == {"reason": "answer_full"}
    clock.now_s += WRITTEN_SECONDS_MAX
    assert conflict(lambda: write(table, 3, "[]")) == {"reason": "answer_full"}
    assert write(table, 1, '["x"]') == 2  # it was in time, and is sent again
    assert conflict(lambda: write(table, 1, '["y"]'))["reason"] == "stale"
    finish(table)


def test_a_begun_answer_finds_room_and_none_is_begun_where_it_would_not(
    store: Store, table: Table, asked: EntryId
) -> None:
    table.entries_max = 2

    begin(table)
    say(table, ROOT, "Well?")
    finish(table)
    with store.unchanged():
        assert conflict(lambda: begin(table, B)) == {"reason": "conversation_full", "entriesMax": 2}


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


def test_a_list_names_the_answers_of_the_conversations_that_one_sees_and_of_no_others(
    table: Table, asked: EntryId
) -> None:
    for conversation_id, by in ((OTHER, ANN), (TWIG, ANN), (FORK, EVE)):
        create(table, conversation_id, by=by)
    begin(table, by=BOB)
    begin(table, B, of=TWIG)
    begin(table, conversation(72), of=FORK, by=EVE)

    def listed(by: Caller) -> dict[str, str | None]:
        rows = list_conversations(table, caller=by, request=ListRequest()).rows
        found = {row.conversation.conversation_id: row.answering for row in rows}
        return {one: answering and answering.answer.answer_id for one, answering in found.items()}

    assert listed(ANN) == {ROOT: A, OTHER: None, TWIG: B}
    assert listed(BOB) == {ROOT: A}
    remove(table, "bob")
    assert listed(BOB) == {}


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


@pytest.mark.parametrize("gone", ["branch", "entry", "erased", "taken over"])
def test_the_words_of_an_answer_are_gone_with_what_it_has_become(
    store: Store, table: Table, asked: EntryId, gone: str
) -> None:
    begin(table, by=BOB, after=asked)
    write(table, 0, '["SECRET"]', by=BOB)
    if gone == "taken over":
        begin(table, B, take_over=True)
    else:
        stop(table)
        entry = finish(table, "SECRET", to=FORK, forked=Fork(ROOT, asked, AFTER))
        assert [part.content for part in shown(table).parts] == ['["SECRET"]']
        place = keys.entry(ROOT, entry.entry_id)
        match gone:
            case "branch":
                remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=FORK)
            case "entry":
                store.delete(place)
            case _:
                store.change(place, erased={"BOOL": True})

    found = shown(table)
    assert (found.state, found.parts) == ("dropped" if gone == "taken over" else "finished", [])
    assert found.last.position == (2 if gone == "taken over" else 3)


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_answer_that_is_being_deleted_is_not_there(
    store: Store, table: Table, asked: EntryId, after: int
) -> None:
    begin(table)
    for at in range(3):
        write(table, at)
    late = store.process()
    Wire.of(late).just_before("Query", lambda: delete_log(table, AnswerRef(ROOT, A)))

    with pytest.raises(NotFoundError):
        shown(late, after=after)


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


def test_a_finish_with_a_key_is_answered_again(table: Table, asked: EntryId) -> None:
    begin(table)
    entry = finish(table, key=idempotency_key())
    assert finish(table, key=idempotency_key()) == entry
    forked = Fork(ROOT, asked, AFTER)
    begin(table, B)
    entry = finish(table, answer_id=B, to=FORK, forked=forked, key=idempotency_key("fork"))
    assert finish(table, answer_id=B, to=FORK, forked=forked, key=idempotency_key("fork")) == entry


def test_errors_say_nothing_to_who_is_no_member(table: Table, asked: EntryId) -> None:
    begin(table)
    finish(table)
    with pytest.raises(ForkloreError) as raised:
        finish(table, by=EVE)
    assert raised.type is ForbiddenError
    with pytest.raises(ForbiddenError):
        finish(table, by=EVE, answer_id=B)

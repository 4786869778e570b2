"""When a call is sent again: the core is driven by hand, with a clock of the test's own."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from forklore.client.calls import Call, RawAnswer, Shape, TransportError
from forklore.client.errors import NoAnswerError
from forklore.client.generated.operations import SHAPES
from forklore.client.retrying import PAUSE_FIRST_S, PAUSE_MAX_S, Options, Outcome, Send, Sleep, attempts

ID = "00000000-0000-4000-8000-000000000001"
READ, WRITE = "getConversation", "appendEntry"
DELETE = "deleteConversation"
LOST = TransportError("the connection was reset")
OK = RawAnswer(200, "{}")
USUAL = Options()
NOT_SENT = TransportError("no connection", may_have_arrived=False)
ONCE_ONLY = Call.of(Shape(name="onceOnly", method="PATCH", path="/once"), {})
"""A POST that takes no key. The service has none."""
NOT_FOUND = RawAnswer(404, json.dumps({"code": "not_found", "details": {"message": "no conversation"}}))


@dataclass
class Run:
    """One run of the core. sent: the calls; slept: the pauses, in seconds."""

    answer: RawAnswer | None = None
    error: NoAnswerError | None = None
    sent: list[Send] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)


def longest(_low: float, high: float) -> float:
    return high


def run(
    call: Call,
    *outcomes: Outcome,
    options: Options = USUAL,
    jitter: Callable[[float, float], float] = longest,
    takes_s: float = 0.0,
) -> Run:
    """Drive the core. Each sending takes `takes_s`; the last outcome repeats."""
    done, clock = Run(), [100.0]
    left = list(outcomes)
    steps = attempts(call, options, now=lambda: clock[0], jitter=jitter)
    resumed: Outcome = None
    try:
        while True:
            step = steps.send(resumed)
            assert len(done.sent) < 1000, "it never ends"
            if isinstance(step, Sleep):
                done.slept.append(step.seconds)
                clock[0] += step.seconds
                resumed = None
            else:
                done.sent.append(step)
                clock[0] += min(takes_s, step.timeout_s)
                resumed = left.pop(0) if len(left) > 1 else left[0]
    except StopIteration as stop:
        done.answer = stop.value
    except NoAnswerError as error:
        done.error = error
    return done


def a_call(name: str = READ, **more: Any) -> Call:
    return Call.of(SHAPES[name], {"conversationId": ID}, **more)


@pytest.mark.parametrize("name", [READ, WRITE, DELETE, "searchConversations", "setName"])
def test_only_these_statuses_are_sent_again(name: str) -> None:
    done = {status: run(a_call(name), RawAnswer(status, ""), OK) for status in range(200, 600)}

    again = {429, 500, 502, 503, 504}
    assert {status for status, one in done.items() if len(one.sent) > 1} == again
    told = {status: (one.answer.status, one.answer.attempts) for status, one in done.items() if one.answer}
    assert told == {status: (200, 2) if status in again else (status, 1) for status in range(200, 600)}


@pytest.mark.parametrize("status", [409, 412, 413, 422])
def test_a_conflict_is_never_sent_again_also_after_a_lost_answer(status: int) -> None:
    done = run(a_call(WRITE), LOST, RawAnswer(status, "", retry_after_s=1), OK)

    assert done.answer
    assert (done.answer.status, done.answer.attempts) == (status, 2)


def test_a_lost_answer_is_sent_again_with_the_same_call_and_key() -> None:
    call = a_call(WRITE)
    done = run(call, LOST, LOST, RawAnswer(503, ""), OK)

    assert len(done.sent) == 4
    assert all(one.call is call for one in done.sent)
    assert call.idempotency_key


def test_pauses_grow_to_a_bound_and_have_full_jitter() -> None:
    options = Options(deadline_s=60.0)
    bounds: list[tuple[float, float]] = []

    def noted(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    done = run(a_call(), LOST, options=options, jitter=noted)

    assert {low for low, _ in bounds} == {0.0}
    highs = [high for _, high in bounds]
    assert highs[0] == 2 * PAUSE_FIRST_S
    assert highs == sorted(highs)
    assert max(highs) == PAUSE_MAX_S
    assert done.slept == highs[: len(done.slept)]
    assert run(a_call(), LOST, OK, jitter=lambda low, _: low).slept == [0.0]


def test_the_usual_jitter_is_random_and_within_its_bounds() -> None:
    pauses = []
    for _ in range(50):
        steps = attempts(a_call(), Options())
        next(steps)
        step = steps.send(LOST)
        assert isinstance(step, Sleep)
        pauses.append(step.seconds)

    assert all(0 <= one <= 2 * PAUSE_FIRST_S for one in pauses)
    assert len(set(pauses)) > 40


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_is_not_shorter_than_the_service_asks_for(status: int) -> None:
    done = run(a_call(), RawAnswer(status, "", retry_after_s=7.0), OK, jitter=lambda low, _: low)

    assert done.slept == [7.0]
    assert run(a_call(), RawAnswer(status, "", retry_after_s=7.0), OK).slept == [7.0 + 2 * PAUSE_FIRST_S]


def test_a_pause_that_would_pass_the_deadline_is_not_made() -> None:
    asked = RawAnswer(503, "", retry_after_s=20.0)
    done = run(a_call(), asked, OK, options=Options(deadline_s=20.0))

    assert (done.slept, len(done.sent)) == ([], 1)
    assert done.answer
    assert done.answer.status == 503


def test_no_sending_waits_longer_than_its_timeout_or_than_what_is_left() -> None:
    options = Options(timeout_s=8.0, deadline_s=20.0)
    done = run(a_call(), LOST, options=options, takes_s=100.0, jitter=lambda *_: 1.0)

    assert [one.timeout_s for one in done.sent] == [8.0, 8.0, 2.0]
    assert sum(done.slept) + 18.0 <= 20.0
    assert done.error


def test_no_sending_waits_longer_than_the_budget_of_all_calls() -> None:
    done = run(
        a_call(), LOST, options=Options(timeout_s=8.0, end_s=110.0), takes_s=100.0, jitter=lambda *_: 1.0
    )

    assert [one.timeout_s for one in done.sent] == [8.0, 1.0]
    assert (done.slept, done.error is None) == ([1.0], False)
    assert 0 < Options().ending(20.0).wait_s <= 14
    assert Options().ending(20.0).ending(80.0).end_s < Options().ending(50.0).end_s
    assert Options().ending(2.0).ending(80.0).timeout_s == Options().timeout_s


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_call_is_sent_again_at_most_so_often(retries: int) -> None:
    done = run(a_call(), LOST, options=Options(retries_max=retries))

    assert len(done.sent) == 1 + retries
    assert done.error
    assert done.error.attempts == 1 + retries


def test_without_any_answer_the_error_says_so_and_has_the_key() -> None:
    call = a_call(WRITE, idempotency_key="mine")
    done = run(call, LOST, options=Options(retries_max=2))

    assert done.error
    assert str(done.error) == "appendEntry was sent 3 times and has no answer: the connection was reset"
    assert (done.error.idempotency_key, done.error.status, done.error.__cause__) == ("mine", None, LOST)


def test_an_answer_is_returned_rather_than_an_earlier_loss() -> None:
    done = run(a_call(), LOST, RawAnswer(503, "busy"), options=Options(retries_max=1))

    assert done.answer
    assert (done.answer.status, done.answer.text, done.answer.attempts) == (503, "busy", 2)


def test_without_time_nothing_is_sent() -> None:
    done = run(a_call(), OK, options=Options(deadline_s=0.0))

    assert (done.sent, done.slept) == ([], [])
    assert done.error
    assert done.error.attempts == 0


@pytest.mark.parametrize(
    "other", [RawAnswer(404, '{"message":"Not Found"}'), RawAnswer(404, "<html>"), RawAnswer(404, "[]")]
)
def test_a_404_that_is_not_the_services_own_is_no_success(other: RawAnswer) -> None:
    done = run(a_call(DELETE), LOST, other)

    assert done.answer
    assert done.answer.status == 404


def test_a_first_delete_that_finds_nothing_and_a_repeated_read_that_does_are_errors() -> None:
    for done in (run(a_call(DELETE), NOT_FOUND), run(a_call(READ), LOST, NOT_FOUND)):
        assert done.answer
        assert done.answer.status == 404


@pytest.mark.parametrize(
    ("outcomes", "sent"),
    [
        ([LOST], 1),
        *(([RawAnswer(status, "")], 1) for status in (500, 502, 503, 504)),
        ([RawAnswer(429, "")], 2),
        ([NOT_SENT], 2),
        ([NOT_SENT, RawAnswer(429, ""), NOT_SENT, LOST], 4),
        ([RawAnswer(429, ""), RawAnswer(503, "")], 2),
    ],
)
def test_a_call_that_must_not_happen_twice_is_sent_again_only_if_it_did_not_happen(
    outcomes: list[Outcome], sent: int
) -> None:
    for call in (ONCE_ONLY, a_call("updateMembership"), a_call("updateConversation")):
        assert len(run(call, *outcomes, OK).sent) == sent


@pytest.mark.parametrize(
    ("call", "outcome", "is_told"),
    [(ONCE_ONLY, LOST, True), (ONCE_ONLY, NOT_SENT, False), (a_call(WRITE), LOST, False)],
)
def test_who_must_not_repeat_a_call_without_a_look_is_told_so(
    call: Call, outcome: Outcome, is_told: bool
) -> None:
    done = run(call, outcome, options=Options(retries_max=0))

    assert done.error
    assert str(done.error).endswith("look before you repeat it") == is_told


def test_a_patch_with_if_match_is_sent_again_as_it_cannot_undo_what_came_between() -> None:
    done = run(
        a_call("updateConversation", if_match="2026-03-01T09:15:00.000Z"), LOST, RawAnswer(503, ""), OK
    )

    assert done.answer
    assert (done.answer.status, done.answer.attempts) == (200, 3)

from collections.abc import Callable
from email.utils import formatdate
from random import Random
from typing import Any

import pytest

from forklore_service.domain import ids
from forklore_service.domain.clock_offset import OFFSET_MAX_MS
from forklore_service.errors import UnavailableError
from forklore_service.storage.clock import Clock, system_ms
from forklore_service.storage.connection import Connection, Deadline
from forklore_service.storage.items import text
from tests.support.tables import Store
from tools.harness.tables import NAME
from tools.harness.wire import Request, Wire, failure

NOW_MS = 1_772_356_500_000
MINUTE_MS = 60_000


class Hands:
    """A clock whose machine time is set by hand, and the true time."""

    def __init__(self, off_ms: int = 0) -> None:
        self.true_ms, self.off_ms = NOW_MS, off_ms
        self.clock = Clock(lambda: self.true_ms + self.off_ms)

    def ask(self, *, there_ms: int = 5, back_ms: int = 5) -> None:
        """Let an answer arrive. Its `Date` is the true time at the server."""
        sent_ms = self.clock.own_ms()
        self.true_ms += there_ms
        date = formatdate(self.true_ms // 1000, usegmt=True)
        self.true_ms += back_ms
        self.clock.learn(date, sent_ms=sent_ms)

    @property
    def error_ms(self) -> int:
        return self.clock.corrected_ms() - self.true_ms


def test_before_any_answer_the_machine_time_is_used() -> None:
    hands = Hands(off_ms=5 * MINUTE_MS)

    assert hands.clock.corrected_ms() == NOW_MS + 5 * MINUTE_MS
    assert hands.clock.minting_ms() == NOW_MS + 5 * MINUTE_MS


@pytest.mark.parametrize("off_ms", [0, 400, -400, 5 * MINUTE_MS, -5 * MINUTE_MS])
def test_one_answer_corrects_the_clock_to_about_a_second(off_ms: int) -> None:
    hands = Hands(off_ms)
    hands.ask()

    assert abs(hands.error_ms) <= 1_010
    assert abs(hands.clock.minting_ms() - hands.true_ms) <= 1_010


@pytest.mark.parametrize("off_ms", [5 * MINUTE_MS, -5 * MINUTE_MS])
def test_more_answers_never_make_the_correction_worse(off_ms: int) -> None:
    hands, random, errors = Hands(off_ms), Random(1), []
    for _ in range(100):
        hands.true_ms += random.randrange(3_000)
        hands.ask(there_ms=random.randrange(50), back_ms=random.randrange(50))
        errors.append(abs(hands.error_ms))

    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 100


def test_a_clock_that_is_right_is_left_alone() -> None:
    hands = Hands()
    for step_ms in (0, 300, 700, 999):
        hands.true_ms += step_ms
        hands.ask()

        assert hands.clock.offset_ms == 0


def test_a_slow_answer_does_not_move_a_clock_that_may_be_right() -> None:
    hands = Hands()
    hands.ask(there_ms=4_000, back_ms=4_000)

    assert hands.clock.offset_ms == 0


@pytest.mark.failure("wrong-clock")
@pytest.mark.parametrize("step_ms", [5 * MINUTE_MS, -5 * MINUTE_MS])
def test_a_clock_that_steps_is_corrected_by_the_next_answer(step_ms: int) -> None:
    hands = Hands()
    hands.ask()
    hands.off_ms += step_ms
    hands.ask()

    assert abs(hands.error_ms) <= 1_010


@pytest.mark.parametrize("off_ms", [11 * MINUTE_MS, -11 * MINUTE_MS, 65 * 365 * 24 * 60 * MINUTE_MS])
def test_a_clock_more_than_ten_minutes_off_makes_no_ids_until_it_is_corrected(off_ms: int) -> None:
    hands = Hands(off_ms)
    hands.ask()

    with pytest.raises(UnavailableError):
        hands.clock.minting_ms()
    assert abs(hands.error_ms) <= 1_010  # This is enough to decide what has expired.

    hands.off_ms = 0
    hands.ask()
    assert abs(hands.clock.minting_ms() - hands.true_ms) <= 1_010


@pytest.mark.parametrize("sign", [1, -1])
def test_ten_minutes_off_is_just_allowed(sign: int) -> None:
    hands = Hands(sign * (OFFSET_MAX_MS - 2_000))
    hands.ask()

    assert abs(hands.clock.minting_ms() - hands.true_ms) <= 1_010


def test_an_answer_without_a_date_teaches_nothing() -> None:
    hands = Hands(off_ms=5 * MINUTE_MS)
    hands.clock.learn(None, sent_ms=0)

    assert hands.error_ms == 5 * MINUTE_MS


def test_the_machines_own_time_is_that_of_new_ids() -> None:
    assert ids.timestamp(system_ms()) > "2026-01-01T00:00:00.000Z"


KEY = {"PK": text("none"), "SK": text("none")}


def refused(connection: Connection) -> None:
    with pytest.raises(connection.client.exceptions.ResourceNotFoundException):
        connection.call("batch_get_item", Deadline.after(9), RequestItems={"none": {"Keys": [KEY]}})


def answered(connection: Connection) -> None:
    connection.call("batch_get_item", Deadline.after(9), RequestItems={NAME: {"Keys": [KEY]}})


@pytest.mark.parametrize("call", [answered, refused])
def test_every_answer_of_dynamodb_corrects_the_clock_also_an_error(
    store: Store, call: Callable[[Connection], None]
) -> None:
    clock = Clock(lambda: system_ms() - 5 * MINUTE_MS)

    call(Connection(store.new_client(), NAME, clock))

    assert abs(clock.corrected_ms() - system_ms()) <= 2_000


def test_failed_attempts_do_not_make_the_correction_less_exact(store: Store) -> None:
    hands = Hands(5 * MINUTE_MS)
    client = store.new_client()
    wire = Wire(client)

    def pause(_seconds: float) -> None:
        hands.true_ms += 60_000

    def date(_request: Request, answer: dict[str, Any]) -> None:
        dated = formatdate(hands.true_ms // 1000, usegmt=True)
        answer["ResponseMetadata"]["HTTPHeaders"]["date"] = dated

    wire.after(date)
    wire.before(lambda request: failure("ThrottlingException") if request.number < 4 else None)
    answered(Connection(client, NAME, hands.clock, sleep=pause))

    assert len(wire.requests) == 4
    assert abs(hands.error_ms) <= 1_010

"""When a call is sent again: a generator that says what to do, and does no I/O itself.

It yields Send, and is resumed with the answer or with the TransportError, or any other error is
thrown into it; or it yields Sleep. What it returns is the last answer. The drivers in
`calling.py` do what it says.
"""

import math
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from secrets import SystemRandom
from typing import cast

from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.errors import ApiError, InputError, NoAnswerError
from forklore.client.generated.limits import WAIT_SECONDS_MAX

_JITTER = SystemRandom().uniform
PAUSE_FIRST_S, PAUSE_MAX_S = 0.1, 5.0
TIMEOUT_S, DEADLINE_S = 30.0, 60.0
SECONDS_MAX = 86_400
IN_TIME_S = 5
"""How long before the end of its time a request is held no longer."""
RETRIED = frozenset({429, 500, 502, 503, 504})
REFUSED = 429
"""The retried status that says that nothing has happened. A 503 may come after the work."""
GONE, NO_CONTENT = 404, 204
NOT_FOUND = "not_found"
"""The service's code of a 404."""
DONE_OR_NOT = "; it may have been done: look before you repeat it"
"""What is said of a call that is not sent again, because it could undo what others have done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long a call may take.

    timeout_s: of one sending. deadline_s: of all of them, with their pauses. retries_max: how often
    a call is sent again at the most; None: as often as the deadline allows. end_s: when every call
    ends, as `time.monotonic` tells it.
    """

    timeout_s: float = TIMEOUT_S
    deadline_s: float = DEADLINE_S
    retries_max: int | None = None
    end_s: float = math.inf

    def __post_init__(self) -> None:
        """Raises InputError for what is no time or number."""
        _check_seconds("timeout", self.timeout_s)
        _check_seconds("deadline", self.deadline_s)
        retries: object = self.retries_max
        if retries is not None and (isinstance(retries, bool) or not isinstance(retries, int) or retries < 0):
            raise InputError("retries is a whole number from 0 on, or None", details={"field": "retries"})

    def within(self, seconds: float) -> "Options":
        """Return the same for calls that take at most so long."""
        timeout_s, deadline_s = min(self.timeout_s, seconds), min(self.deadline_s, seconds)
        return replace(self, timeout_s=timeout_s, deadline_s=deadline_s)

    def ending(self, seconds: float) -> "Options":
        """Return the same for calls that have so many seconds together, from now on.

        A time that ends earlier stays. Raises InputError for what is no time.
        """
        _check_seconds("budget", seconds)
        return replace(self, end_s=min(self.end_s, time.monotonic() + seconds))

    @property
    def left_s(self) -> float:
        """How long all calls together may still take."""
        return max(0.0, self.end_s - time.monotonic())

    @property
    def sending_s(self) -> float:
        """How long one sending that begins now may take."""
        return min(self.timeout_s, self.left_s)

    @property
    def wait_s(self) -> int:
        """How long the service may hold a request, so that its answer comes in time."""
        longest = min(self.deadline_s, self.sending_s)
        return max(0, min(WAIT_SECONDS_MAX, int(longest) - IN_TIME_S))


def _check_seconds(field: str, seconds: object) -> None:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (is_number and 0 <= cast("float", seconds) <= SECONDS_MAX):
        raise InputError(f"{field} is 0 to {SECONDS_MAX:,} seconds", details={"field": field})


@dataclass(frozen=True, slots=True)
class Send:
    """Send the call. timeout_s: how long to wait for the answer."""

    call: Call
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


Outcome = RawAnswer | TransportError | None
"""What a generator is resumed with: what became of Send; None after Sleep, and at first."""
Steps = Generator[Send | Sleep, Outcome, RawAnswer]


def attempts(
    call: Call,
    options: Options,
    *,
    now: Callable[[], float] = time.monotonic,
    jitter: Callable[[float, float], float] = _JITTER,
) -> Steps:
    """Send `call` until there is an answer that another sending would not change.

    Sent again are: lost connections and answers, 429, 500 and 502 to 504, after a pause with full
    jitter, not shorter than the service's `Retry-After`. A call that must not happen twice, such as
    a PATCH without If-Match or the removal of a member, is sent again only if it did not happen:
    after 429, or if there was no connection. A DELETE that is sent again, because the first one may
    have arrived, and finds nothing has succeeded.
    Raises NoAnswerError if no answer came at all. An error that is thrown into it ends it: that of
    the transport gets the key; another one, such as of a function for the token, is a NoAnswerError
    if an earlier sending may have arrived.
    """
    give_up_at = min(now() + options.deadline_s, options.end_s)
    last: Outcome = None
    sent, may_have_arrived = 0, False
    while True:
        seconds_left = give_up_at - now()
        if seconds_left > 0:
            sent += 1
            try:
                outcome = yield Send(call, min(options.timeout_s, seconds_left))
            except ApiError as error:
                error.attempts, error.idempotency_key = sent, call.idempotency_key
                raise
            except Exception as error:
                if not may_have_arrived:
                    raise
                raise _no_answer(call, sent - 1, type(error).__name__, may_have_arrived) from error
            assert outcome is not None
            last = outcome
            if may_have_arrived and call.shape.method == "DELETE" and _finds_nothing(last):
                return RawAnswer(NO_CONTENT, "", attempts=sent)
            may_have_arrived |= _may_have_arrived(last)
            if not _is_worth_repeating(call, last):
                break
        pause_s = _pause_s(sent, last, jitter)
        if now() + pause_s >= give_up_at or (options.retries_max is not None and sent > options.retries_max):
            break
        yield Sleep(pause_s)
    if not isinstance(last, RawAnswer):
        raise _no_answer(call, sent, last or "there was no time to send it", may_have_arrived) from last
    return replace(last, attempts=sent, idempotency_key=call.idempotency_key)


def _no_answer(call: Call, sent: int, why: object, may_have_arrived: bool) -> NoAnswerError:
    times = "once" if sent == 1 else f"{sent} times"
    said = f"{call.shape.name} was sent {times} and has no answer: {why}"
    if may_have_arrived and not call.may_be_repeated:
        said += DONE_OR_NOT
    return NoAnswerError(said, idempotency_key=call.idempotency_key, attempts=sent)


def _may_have_arrived(outcome: RawAnswer | TransportError) -> bool:
    """Return whether the service may have carried the call out."""
    if isinstance(outcome, TransportError):
        return outcome.may_have_arrived
    return outcome.status != REFUSED


def _finds_nothing(outcome: RawAnswer | TransportError) -> bool:
    """Return whether the service itself says so. Others on the way have a 404 of their own."""
    if not isinstance(outcome, RawAnswer) or outcome.status != GONE:
        return False
    try:
        said = outcome.value()
    except ValueError:
        return False
    return isinstance(said, Mapping) and said.get("code") == NOT_FOUND


def _is_worth_repeating(call: Call, outcome: RawAnswer | TransportError) -> bool:
    has_failed = isinstance(outcome, TransportError) or outcome.status in RETRIED
    return has_failed and (call.may_be_repeated or not _may_have_arrived(outcome))


def _pause_s(sent: int, outcome: Outcome, jitter: Callable[[float, float], float]) -> float:
    longest = min(PAUSE_MAX_S, PAUSE_FIRST_S * 2 ** min(sent, 10))
    asked = outcome.retry_after_s if isinstance(outcome, RawAnswer) else None
    return (asked or 0.0) + jitter(0.0, longest)

"""Runs an operation with one fault at one of its calls: for the check `call-faults`."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from forklore_service.storage.connection import ATTEMPTS_MAX, CONFLICTS_MAX
from tests.service.reliability.comparing import seen
from tests.service.reliability.faults import READS, WRITE, Call, Choose, Fault, Killed, at, lasting
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import ABANDONED_SECONDS, KEY, Operation, World, settle
from tests.support.tables import Store
from tools.harness.service import Answer

ACCEPTED, UNAVAILABLE = 202, 503
ASKED_AGAIN = (ACCEPTED, UNAVAILABLE)
"""Answers after which a caller may repeat the request: its effect is absent or unknown."""


@dataclass(frozen=True)
class Outcome:
    """The result of an operation, in comparable form. answer: unchanged. calls: those it made."""

    told: list[str]
    contents: list[str]
    answer: Answer
    calls: list[Call]


def contents_of(store: Store) -> list[str]:
    return seen([], store.contents().values())[1]


def nothing(_call: Call) -> None:
    """Choose no fault."""


def outages_of(call: Call) -> list[Fault]:
    """Return faults that hit all attempts of a call: one without an effect, and one with an effect.

    One fault of each kind is enough, because a process cannot distinguish more. A caller who asks a
    new process finds the same table as after a killed process.
    """
    if call.operation in READS:
        return [Fault.THROTTLE]
    return [Fault.CONFLICT if call.operation == WRITE else Fault.THROTTLE, Fault.AFTER]


@dataclass
class Crashes:
    """Runs one operation on a world with faults."""

    operation: Operation
    world: World
    endpoint: Endpoint

    @cached_property
    def faultless(self) -> Outcome:
        """The outcome of the operation without a fault."""
        with self.world.copy(self.endpoint) as store:
            process, answer = self.attempt(store, nothing)
            assert answer is not None
            assert answer.status < 300, answer
            calls = process.faults.calls
            assert not self.operation.is_read or {call.operation for call in calls} <= READS, calls
            settle(store, in_seconds=self.world.later_s)
            return Outcome(*seen([answer], store.contents().values()), answer, calls)

    def attempt(self, store: Store, choose: Choose) -> tuple[Process, Answer | None]:
        """Run the operation in a new process. The answer is None if the process was killed."""
        process = self.operation.process(store, choose, in_order=True)
        try:
            return process, self._run(process)
        except Killed:
            return process, None

    def _run(self, process: Process) -> Answer:
        return self.operation.run(process, self.world, KEY if self.operation.takes_key else None)

    def points(self) -> Iterator[tuple[int, Fault, bool]]:
        """Yield the number of each call with each possible fault, and whether the fault lasts."""
        for call in self.faultless.calls:
            for fault in Fault:
                if fault.concerns(call):
                    yield call.number, fault, False
            for fault in outages_of(call):
                yield call.number, fault, True

    def recovers(self, number: int, fault: Fault, lasts: bool = False) -> bool:
        """Assert that the operation takes effect once and answers so, although a call fails.

        lasts: whether all attempts of the call fail, until the caller gets an answer and repeats
        the request to the same process. A caller without an answer repeats it to a new process.
        Returns False if the fault could not happen.
        """
        with self._store() as store:
            process, answer = self.attempt(store, lasting(number, fault) if lasts else at(number, fault))
            injected = len(process.faults.injected)
            if not injected:
                assert fault.is_page, (number, fault)
                return False
            hold(injected == (_attempts_max(fault) if lasts else 1), number, fault, f"{injected} attempts")
            if not self.operation.is_read:
                assert_intact(store)
            is_again = answer is None or (lasts and answer.status in ASKED_AGAIN)
            if answer is None:
                _, answer = self.attempt(store, nothing)
            elif is_again:
                process.faults.begin(nothing)
                answer = self._run(process)
            assert answer is not None
            if self.operation.is_read:
                hold(answer == self.faultless.answer, number, fault, lasts, answer)
                return True
            settle(store, in_seconds=self.world.later_s)
            told, contents = seen([answer], store.contents().values())
            is_repeated = is_again and answer.status == self.operation.repeated
            hold(is_repeated or told == self.faultless.told, number, fault, lasts, told)
            hold(contents == self.faultless.contents, number, fault, lasts)
            assert_intact(store, settled=True)
        return True

    def abandoned(self, calls: Sequence[Call]) -> int:
        """Assert that after a kill and a sweep, the operation is done completely or not at all.

        The process is killed after each of these calls in turn, and the request is not repeated.
        Returns how many calls were tried.
        """
        with self.world.copy(self.endpoint) as store:
            untouched = self._swept(store)
        with self.world.copy(self.endpoint) as store:
            self.attempt(store, nothing)
            done = self._swept(store)
        is_done = []
        for call in calls:
            with self.world.copy(self.endpoint) as store:
                _, answer = self.attempt(store, at(call.number, Fault.KILL_AFTER))
                assert answer is None
                left = self._swept(store)
                hold(left in (untouched, done), call)
                is_done.append(left == done)
        hold(is_done == sorted(is_done), "a later kill undid what an earlier one left done")
        return len(is_done)

    def _swept(self, store: Store) -> list[str]:
        settle(store, in_seconds=max(ABANDONED_SECONDS, self.world.later_s))
        assert_intact(store, settled=True)
        return contents_of(store)

    def _store(self) -> AbstractContextManager[Store]:
        """Return a table with the world. An operation that may change it gets its own copy."""
        if not self.operation.is_read:
            return self.world.copy(self.endpoint)
        return nullcontext(self.world.shared(self.endpoint))


def _attempts_max(fault: Fault) -> int:
    """Return how many attempts a call has while the fault lasts."""
    return CONFLICTS_MAX if fault is Fault.CONFLICT else ATTEMPTS_MAX

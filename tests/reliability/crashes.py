"""One operation with one fault at one of its calls, and what must be true then: the check `call-faults`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from forklore.storage.connection import ATTEMPTS_MAX, CONFLICTS_MAX
from tests.reliability.comparing import seen
from tests.reliability.faults import READS, WRITE, Call, Choose, Fault, Killed, at, lasting
from tests.reliability.intact import assert_intact
from tests.reliability.service import Process
from tests.reliability.violation import hold
from tests.reliability.world import ABANDONED_SECONDS, KEY, Operation, World, settle
from tests.support.tables import Store
from tools.harness.service import Answer

ACCEPTED, UNAVAILABLE = 202, 503
ASKED_AGAIN = (ACCEPTED, UNAVAILABLE)
"""After these a caller may send the same request again: it is not done yet, or perhaps not."""


@dataclass(frozen=True)
class Outcome:
    """What an operation told and left, in comparable words. answer: as it was. calls: those that it made."""

    told: list[str]
    contents: list[str]
    answer: Answer
    calls: list[Call]


def contents_of(store: Store) -> list[str]:
    return seen([], store.contents().values())[1]


def nothing(_call: Call) -> None:
    """Choose no fault."""


def outages_of(call: Call) -> list[Fault]:
    """Return the ways for all attempts of a call to go wrong: none is done, or all are and nobody is told.

    One way for each: the process tells them apart no more than that, and a caller who asks a new process
    finds the table as a killed one leaves it.
    """
    if call.operation in READS:
        return [Fault.THROTTLE]
    return [Fault.CONFLICT if call.operation == WRITE else Fault.THROTTLE, Fault.AFTER]


@dataclass
class Crashes:
    """An operation on a world at an endpoint."""

    operation: Operation
    world: World
    endpoint: str

    @cached_property
    def faultless(self) -> Outcome:
        """What the operation tells and leaves without a fault."""
        with self.world.copy(self.endpoint) as store:
            process, answer = self.attempt(store, nothing)
            assert answer is not None
            assert answer.status < 300, answer
            calls = process.faults.calls
            assert not self.operation.is_read or {call.operation for call in calls} <= READS, calls
            settle(store, in_seconds=self.world.later_s)
            return Outcome(*seen([answer], store.contents().values()), answer, calls)

    def attempt(self, store: Store, choose: Choose) -> tuple[Process, Answer | None]:
        """Run the operation in a process of its own; None when that did not live to answer."""
        process = self.operation.process(store, choose, in_order=True)
        try:
            return process, self._run(process)
        except Killed:
            return process, None

    def _run(self, process: Process) -> Answer:
        return self.operation.run(process, self.world, KEY if self.operation.takes_key else None)

    def points(self) -> Iterator[tuple[int, Fault, bool]]:
        """Yield each call by its number with each fault that can befall it, and whether that lasts."""
        for call in self.faultless.calls:
            for fault in Fault:
                if fault.concerns(call):
                    yield call.number, fault, False
            for fault in outages_of(call):
                yield call.number, fault, True

    def recovers(self, number: int, fault: Fault, lasts: bool = False) -> bool:
        """Hold that the operation has its effect once, and tells of it, though a call goes wrong.

        lasts: whether all its attempts do, until the caller is told so and asks the same process again. One
        who is told nothing asks another one. False: there was no place for the fault.
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

    def abandoned(self) -> int:
        """Hold that what a killed process leaves is all or nothing once it is swept; return how many places.

        It is killed after each of its calls, and nobody sends the request again.
        """
        with self.world.copy(self.endpoint) as store:
            untouched = self._swept(store)
        with self.world.copy(self.endpoint) as store:
            self.attempt(store, nothing)
            done = self._swept(store)
        is_done = []
        for call in self.faultless.calls:
            with self.world.copy(self.endpoint) as store:
                _, answer = self.attempt(store, at(call.number, Fault.KILL_AFTER))
                assert answer is None
                left = self._swept(store)
                hold(left in (untouched, done), call)
                is_done.append(left == done)
        hold(is_done == sorted(is_done), "done, and then undone")
        return len(is_done)

    def _swept(self, store: Store) -> list[str]:
        settle(store, in_seconds=ABANDONED_SECONDS)
        assert_intact(store, settled=True)
        return contents_of(store)

    def _store(self) -> AbstractContextManager[Store]:
        """Return a table that holds the world: one of its own for what may change it."""
        if not self.operation.is_read:
            return self.world.copy(self.endpoint)
        return nullcontext(self.world.shared(self.endpoint))


def _attempts_max(fault: Fault) -> int:
    """Return how often a call is tried while the fault lasts."""
    return CONFLICTS_MAX if fault is Fault.CONFLICT else ATTEMPTS_MAX

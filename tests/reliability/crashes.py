"""One operation with one fault at one of its calls, and what must be true of it then (reliability, C2)."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from tests.reliability.comparing import seen
from tests.reliability.faults import READS, Call, Choose, Fault, Killed, Rewrite, at
from tests.reliability.intact import assert_intact
from tests.reliability.service import Answer, Process
from tests.reliability.violation import hold
from tests.reliability.world import ABANDONED_SECONDS, KEY, Operation, World, settle
from tests.support.tables import Store

UNAVAILABLE = 503


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


@dataclass
class Crashes:
    """An operation on a world at an endpoint. rewrite: changes what its processes send."""

    operation: Operation
    world: World
    endpoint: str
    rewrite: Rewrite | None = None

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
        process = self.operation.process(store, choose, in_order=True, rewrite=self.rewrite)
        key = KEY if self.operation.takes_key else None
        try:
            return process, self.operation.run(process, self.world, key)
        except Killed:
            return process, None

    def points(self) -> Iterator[tuple[int, Fault]]:
        """Yield each call by its number with each fault that can befall it."""
        for call in self.faultless.calls:
            for fault in Fault:
                if fault.concerns(call):
                    yield call.number, fault

    def recovers(self, number: int, fault: Fault) -> bool:
        """Hold that the operation has its effect once, and tells of it, though a call goes wrong.

        After a 503, or no answer at all, the request is sent again. False: there was no place for the fault.
        """
        with self._store() as store:
            process, answer = self.attempt(store, at(number, fault))
            if not process.faults.injected:
                assert fault is Fault.EMPTY_PAGE, (number, fault)
                return False
            if not self.operation.is_read:
                assert_intact(store)
            is_again = answer is None or answer.status == UNAVAILABLE
            if is_again:
                _, answer = self.attempt(store, nothing)
                assert answer is not None
            assert answer is not None
            if self.operation.is_read:
                hold(answer == self.faultless.answer, number, fault, answer)
                return True
            settle(store, in_seconds=self.world.later_s)
            told, contents = seen([answer], store.contents().values())
            is_repeated = is_again and answer.status == self.operation.repeated
            hold(is_repeated or told == self.faultless.told, number, fault, told)
            hold(contents == self.faultless.contents, number, fault)
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

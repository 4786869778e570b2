"""Two requests at the same time, and what must be true of them (reliability, C4).

They must come out as if one had been made after the other: all answers and the table, once all work is done,
are as in one of the orders. And the invariants hold as soon as both are answered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import permutations

from tests.reliability.comparing import seen
from tests.reliability.crashes import UNAVAILABLE, nothing
from tests.reliability.faults import Choose, Rewrite
from tests.reliability.intact import assert_intact
from tests.reliability.schedules import explore
from tests.reliability.service import Answer, Process
from tests.reliability.violation import hold
from tests.reliability.world import Operation, World, built, settle
from tests.support.tables import Store

ONE, OTHER_ONE = "one", "other"
Outcome = tuple[list[str], list[str]]
"""All answers, and the table when all work is done; in comparable words."""


Actor = tuple[Operation, ...]
"""Requests that one caller makes, each after the answer to the one before."""


@dataclass(frozen=True)
class Pair:
    """Two callers at the same time.

    key: the Idempotency-Key of all they send; None: without. also: statuses of their first requests that may
    come, too, though they do not when the requests are made in turn. is_endless: whether there are more
    schedules than can be tried.
    """

    one: Actor
    other: Actor
    key: str | None = None
    also: tuple[tuple[int, int], ...] = ()
    is_endless: bool = False

    @property
    def of(self) -> Callable[[str], World]:
        """What builds the world of both."""
        [of] = {operation.of for operation in (*self.one, *self.other)}
        return of

    def orders(self) -> Iterator[tuple[str, ...]]:
        """Yield every order of the requests, as the names of those whose turn it is."""
        names = (ONE,) * len(self.one) + (OTHER_ONE,) * len(self.other)
        yield from sorted(set(permutations(names)))


@dataclass
class Race:
    """A pair at an endpoint. rewrite: changes what their processes send."""

    pair: Pair
    endpoint: str
    rewrite: Rewrite | None = None

    @property
    def world(self) -> World:
        return built(self.pair.of, self.endpoint)

    @cached_property
    def in_turn(self) -> list[Outcome]:
        """The outcomes of the requests when each is made after the answer to the one before."""
        return [self._in_turn(order) for order in self.pair.orders()]

    @property
    def is_same_alone(self) -> bool:
        """Whether a caller's first request comes to the same with what is sent in place of its calls."""
        return any(self._alone(name, self.rewrite) == self._alone(name, None) for name in (ONE, OTHER_ONE))

    def _alone(self, name: str, rewrite: Rewrite | None) -> Outcome:
        with self.world.copy(self.endpoint) as store:
            caller = self._callers(store, rewrite)[name]
            caller.ask_next()
            return seen(caller.answers, store.contents().values())

    def _in_turn(self, order: Iterable[str]) -> Outcome:
        with self.world.copy(self.endpoint) as store:
            callers = self._callers(store, None)
            for name in order:
                callers[name].ask_next()
            return self._outcome(callers, store)

    def run(self, *, switches_max: int | None = None) -> int:
        """Hold every schedule to the outcome of one of the orders; return how many there are.

        switches_max: how often one of the two must wait who could go on; None: in all orders.
        """
        made: list[tuple[Store, Mapping[str, _Caller]]] = []

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            with self.world.copy(self.endpoint) as store:
                callers = self._callers(store, self.rewrite)
                made[:] = [(store, callers)]
                yield {name: caller.ask_all for name, caller in callers.items()}

        schedules = 0
        for _ in explore(callers, switches_max=switches_max):
            [(store, asked)] = made
            assert_intact(store)
            outcome = self._outcome(asked, store)
            if (asked[ONE].answers[0].status, asked[OTHER_ONE].answers[0].status) in self.pair.also:
                hold(outcome[1] in [contents for _, contents in self.in_turn], outcome[0])
            else:
                hold(outcome in self.in_turn, outcome[0])
            schedules += 1
        return schedules

    def _callers(self, store: Store, rewrite: Rewrite | None) -> "dict[str, _Caller]":
        pair = self.pair

        def caller(actor: Actor) -> _Caller:
            process = actor[0].process(store, nothing, in_order=True, rewrite=rewrite)
            return _Caller(process, [partial(one.run, process, self.world, pair.key) for one in actor])

        return {ONE: caller(pair.one), OTHER_ONE: caller(pair.other)}

    def _outcome(self, callers: "Mapping[str, _Caller]", store: Store) -> Outcome:
        for caller in callers.values():
            caller.ask_again()
        settle(store, in_seconds=self.world.later_s)
        assert_intact(store, settled=True)
        return seen([*callers[ONE].answers, *callers[OTHER_ONE].answers], store.contents().values())


@dataclass
class _Caller:
    """One who makes requests of a process. answers: to those that were made."""

    process: Process
    requests: list[Callable[[], Answer]]
    answers: list[Answer] = field(default_factory=list)

    def ask_next(self) -> None:
        self.answers.append(self.requests[len(self.answers)]())

    def ask_again(self) -> None:
        """Make those requests again that were told to come back, now that nobody is in the way."""
        self.process.faults.choose = nothing
        for at, answer in enumerate(self.answers):
            if answer.status == UNAVAILABLE:
                self.answers[at] = self.requests[at]()

    def ask_all(self, choose: Choose) -> None:
        """Make all requests. choose: is told of each call before it is made."""
        self.process.faults.choose = choose
        for _ in self.requests:
            self.ask_next()

"""Two simultaneous requests and their permitted outcomes: for the check `orders-of-two`.

The outcome must be as if the requests were made one after the other: all answers, and the table
after all jobs are done, equal those of one order. If a request was answered before the other began,
it must be the first in that order. The invariants of docs/architecture.md must hold as soon as both
are answered.

Source: M. Herlihy, J. Wing, "Linearizability: A Correctness Condition for Concurrent Objects"
(1990).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations, permutations, product

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import PartKind
from forklore_service.domain.keys import Key
from forklore_service.storage.connection import Item
from tests.service.reliability.comparing import seen
from tests.service.reliability.crashes import UNAVAILABLE, nothing
from tests.service.reliability.faults import Call, Choose, Fault, Rewrite
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.schedules import commute, explore
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import Operation, World, built, settle
from tests.support.tables import Store
from tools.harness.service import Answer

ONE, OTHER_ONE = "one", "other"
Outcome = tuple[list[str], list[str]]
"""All answers, and the table after all jobs are done, in comparable form."""


Actor = tuple[Operation, ...]
"""Requests of one caller, each sent after the answer to the previous one."""
Asked = tuple[str, int]
"""A request: the name of its caller, and its index among the requests of this caller."""
Order = tuple[str, ...]
"""An order of the requests, as the sequence of their callers' names."""
Trace = list[tuple[Asked, Call]]
"""The calls of all requests, in the order in which they happened."""


@dataclass(frozen=True)
class Pair:
    """Two simultaneous callers.

    key: the Idempotency-Key of all their requests; None for none. also: sequences of statuses,
    those of `one` first, that are permitted although no order of the requests gives them.
    is_endless: whether there are too many schedules to try them all. gone: words that nothing may
    hold once all jobs are done, whatever else the outcome is; for work of many transactions.
    """

    one: Actor
    other: Actor
    key: str | None = None
    also: tuple[tuple[int, ...], ...] = ()
    is_endless: bool = False
    gone: str = ""

    @property
    def of(self) -> Callable[[Endpoint], World]:
        """The function that builds the world of both callers."""
        [of] = {operation.of for operation in (*self.one, *self.other)}
        return of

    def orders(self) -> Iterator[Order]:
        """Yield every order of the requests."""
        names = (ONE,) * len(self.one) + (OTHER_ONE,) * len(self.other)
        yield from sorted(set(permutations(names)))


@dataclass
class Race:
    """Runs a pair at an endpoint. rewrite: changes the calls that their processes send."""

    pair: Pair
    endpoint: Endpoint
    rewrite: Rewrite | None = None

    @property
    def world(self) -> World:
        return built(self.pair.of, self.endpoint)

    @cached_property
    def in_turn(self) -> dict[Order, Outcome]:
        """The outcome of each order, if each request waits for the previous answer."""
        return {order: self._in_turn(order) for order in self.pair.orders()}

    @property
    def is_same_alone(self) -> bool:
        """Whether one caller's first request, made alone, has the same outcome with `rewrite`."""
        return any(self._alone(name, self.rewrite) == self._alone(name, None) for name in (ONE, OTHER_ONE))

    def _alone(self, name: str, rewrite: Rewrite | None) -> Outcome:
        with self.world.copy(self.endpoint) as store:
            caller = self.callers(store, rewrite)[name]
            caller.ask_next()
            return seen(caller.answers, store.contents().values())

    def _in_turn(self, order: Order) -> Outcome:
        with self.world.copy(self.endpoint) as store:
            callers = self.callers(store, None)
            for name in order:
                callers[name].ask_next()
            return self._outcome(callers, store)

    def run(self, *, switches_max: int | None = None) -> int:
        """Assert that each schedule has the outcome of a possible order; return how many there are.

        switches_max: how often a caller may be paused although it could continue. None: no limit,
        so that every order of the calls is tried.
        """
        made: list[tuple[Store, Mapping[str, Caller], Trace]] = []

        @contextmanager
        def callers() -> Iterator[Mapping[str, Callable[[Choose], None]]]:
            with self.world.copy(self.endpoint) as store:
                callers = self.callers(store, self.rewrite)
                trace: Trace = []
                made[:] = [(store, callers, trace)]
                yield {name: partial(caller.ask_all, name, trace) for name, caller in callers.items()}

        schedules = 0
        for _ in explore(callers, switches_max=switches_max):
            [(store, asked, trace)] = made
            self.judge(asked, store, partial(_is_first, trace=trace))
            schedules += 1
        return schedules

    def judge(
        self, asked: "Mapping[str, Caller]", store: Store, is_first: Callable[[Asked, Asked], bool]
    ) -> None:
        """Assert that a run, whose requests are all answered, has the outcome of a possible order.

        is_first: whether a request had its answer before another one began.
        """
        assert_intact(store)
        answered = {(name, at) for name, caller in asked.items() for at in caller.answered}
        outcome = self._outcome(asked, store)
        if self.pair.gone:
            hold(not any(self.pair.gone in held for held in outcome[1]), outcome)
            return
        fitting = [self.in_turn[order] for order in self._fitting(answered, is_first)]
        statuses = tuple(one.status for name in (ONE, OTHER_ONE) for one in asked[name].answers)
        if statuses in self.pair.also:
            hold(outcome[1] in [contents for _, contents in fitting], outcome[0])
        else:
            hold(outcome in fitting, outcome[0])

    def _fitting(self, answered: Iterable[Asked], is_first: Callable[[Asked, Asked], bool]) -> list[Order]:
        """Return the orders in which no request comes after one that began after its answer."""
        requests = [
            *product([ONE], range(len(self.pair.one))),
            *product([OTHER_ONE], range(len(self.pair.other))),
        ]
        first = {(a, b) for a, b in product(requests, requests) if a in answered and is_first(a, b)}
        orders = [order for order in self.pair.orders() if first.isdisjoint(_turned_round(order))]
        assert orders, "two requests each come before the other"
        return orders

    def callers(self, store: Store, rewrite: Rewrite | None) -> "dict[str, Caller]":
        pair = self.pair

        def caller(actor: Actor) -> Caller:
            process = actor[0].process(store, nothing, in_order=True, rewrite=rewrite)
            return Caller(process, [partial(one.run, process, self.world, pair.key) for one in actor])

        return {ONE: caller(pair.one), OTHER_ONE: caller(pair.other)}

    def _outcome(self, callers: "Mapping[str, Caller]", store: Store) -> Outcome:
        for caller in callers.values():
            caller.ask_again()
        settle(store, in_seconds=self.world.later_s)
        assert_intact(store, settled=True)
        return seen([*callers[ONE].answers, *callers[OTHER_ONE].answers], _lasting(store.contents()))


def _lasting(contents: Mapping[Key, Item]) -> list[Item]:
    """Return all items but the words of answers whose conversations are gone.

    If an answer ends while its conversation is deleted, its log may go but for its end, as one that
    is still written does, or stay until it expires, as one that has ended before.
    """

    def is_lasting(key: Key, item: Item) -> bool:
        if not keys.is_part(key) or item["kind"]["S"] == PartKind.END:
            return True
        return keys.head(key.partition.split("#")[1], item["conversation"]["S"]) in contents

    return [item for key, item in contents.items() if is_lasting(key, item)]


@dataclass
class Caller:
    """A caller with its process. answers: the answers so far."""

    process: Process
    requests: list[Callable[[], Answer]]
    answers: list[Answer] = field(default_factory=list)

    @property
    def answered(self) -> list[int]:
        """The indexes of the requests that have a final answer, which is any except 503."""
        return [at for at, answer in enumerate(self.answers) if answer.status != UNAVAILABLE]

    def ask_next(self) -> None:
        self.answers.append(self.requests[len(self.answers)]())

    def ask_again(self) -> None:
        """Repeat the requests that got 503, now that the other caller has finished."""
        self.process.faults.choose = nothing
        for at, answer in enumerate(self.answers):
            if answer.status == UNAVAILABLE:
                self.answers[at] = self.requests[at]()

    def ask_all(self, name: str, trace: Trace, choose: Choose) -> None:
        """Make all requests. trace: records their calls. choose: is called before each call."""

        def note(call: Call) -> Fault | None:
            fault = choose(call)
            trace.append(((name, len(self.answers)), call))
            return fault

        self.process.faults.choose = note
        self.ask_rest()

    def ask_rest(self) -> None:
        """Make the requests that are left."""
        while len(self.answers) < len(self.requests):
            self.ask_next()


def _is_first(one: Asked, other: Asked, trace: Trace) -> bool:
    """Tell whether all calls of one request were made before those of the other.

    Calls that commute count as made in either order, because one run stands for all the runs that
    differ only in their order.
    """
    return _can_precede(one, other, trace) and not _can_precede(other, one, trace)


def _can_precede(one: Asked, other: Asked, trace: Trace) -> bool:
    """Tell whether `one` can come before `other`.

    This is so if neither `one` nor an earlier request of its caller had to wait for a call of
    `other` or of a later request of its caller.
    """
    return one[0] != other[0] and not any(
        before[0] == other[0]
        and before[1] >= other[1]
        and after[0] == one[0]
        and after[1] <= one[1]
        and not commute(call, waiting)
        for (before, call), (after, waiting) in combinations(trace, 2)
    )


def _turned_round(order: Order) -> set[tuple[Asked, Asked]]:
    """Return all pairs of requests in an order, the later request first."""
    asked = [(name, order[:at].count(name)) for at, name in enumerate(order)]
    return {(later, earlier) for earlier, later in combinations(asked, 2)}

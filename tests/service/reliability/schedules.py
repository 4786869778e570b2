"""Every order in which the DynamoDB calls of two requests can happen.

Each caller runs in its own thread and stops before each call. One waiting thread at a time may
continue. Which one it is, is a decision, and the decisions determine the run. The search changes
the last decision first and goes back from there, until every decision has been made in every way.
Two calls that commute (two reads, or calls on different items) need not be tried in both orders. A
caller whose call would only repeat another run sleeps until a call that does not commute with it.

Source: P. Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems": sleep
sets.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from forklore_service.domain import keys
from tests.service.reliability.faults import READS, WRITE, Call, Choose, Fault

WAIT_SECONDS_MAX = 60.0

T = TypeVar("T")
Place = tuple[str | None, str | None]
"""A partition key and a sort key; None means any."""


class Turns:
    """Lets only one of several threads at a time make its next call."""

    def __init__(self, names: Sequence[str]) -> None:
        self._running = set(names)
        self._waiting: dict[str, Call] = {}
        self._turn: str | None = None
        self._changed = threading.Condition()

    def take(self, name: str, call: Call) -> Fault | None:
        """Wait until `name` may make the call."""
        with self._changed:
            self._waiting[name] = call
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._turn == name, WAIT_SECONDS_MAX), f"{name} never ran"
            self._turn = None
            del self._waiting[name]
        return None

    def end(self, name: str) -> None:
        """Say that `name` makes no more calls."""
        with self._changed:
            self._running.discard(name)
            self._changed.notify_all()

    def next_calls(self) -> dict[str, Call]:
        """Wait until no thread runs; return the waiting calls by name. Empty if all have ended."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._turn is None and set(self._waiting) == self._running, WAIT_SECONDS_MAX
            ), "a thread neither calls nor ends"
            return dict(self._waiting)

    def give(self, name: str) -> None:
        with self._changed:
            self._turn = name
            self._changed.notify_all()


@dataclass
class _Decision:
    """A point where more than one caller may continue.

    runner: the caller that made the previous call. switches: how often, so far, the runner was
    paused although it could continue; at most `switches_max`. asleep: callers whose next call would
    only repeat another run.
    """

    calls: Mapping[str, Call]
    runner: str
    switches: int
    switches_max: int | None
    asleep: dict[str, Call]
    chosen: str = ""
    tried: dict[str, Call] = field(default_factory=dict)

    def choose(self) -> bool:
        """Choose a caller not yet chosen here, the runner first. Returns False if none is left."""
        out = {*self.asleep, *self.tried}
        if self.switches == self.switches_max and self.runner in self.calls:
            out |= self.calls.keys() - {self.runner}
        left = sorted(self.calls.keys() - out, key=lambda name: (name != self.runner, name))
        self.chosen = left[0] if left else ""
        return bool(left)

    def next(self, calls: Mapping[str, Call]) -> "_Decision":
        """Return the decision that follows the chosen one."""
        chosen = self.calls[self.chosen]
        is_switch = self.chosen != self.runner and self.runner in self.calls
        # If switches are limited, the other order may be the only one within the limit.
        can_sleep = {} if self.switches_max is not None else {**self.asleep, **self.tried}
        asleep = {n: call for n, call in can_sleep.items() if n != self.chosen and commute(call, chosen)}
        return _Decision(calls, self.chosen, self.switches + is_switch, self.switches_max, asleep)


Actors = Callable[[], AbstractContextManager[Mapping[str, Callable[[Choose], T]]]]
"""Makes new actors on a new table for each run. An actor is given a choice of faults."""


def explore(actors: Actors[T], *, switches_max: int | None = None) -> Iterator[dict[str, T]]:
    """Yield what the actors return, for every order of their calls.

    switches_max: how often an actor may be paused although it could continue. None: no limit.
    """
    decisions: list[_Decision] = []
    while True:
        with suppress(_Redundant), actors() as made:
            yield _run(made, _decide(decisions, switches_max))
        while decisions:
            last = decisions[-1]
            last.tried[last.chosen] = last.calls[last.chosen]
            if last.choose():
                break
            decisions.pop()
        if not decisions:
            return


def follow(actors: Actors[T], steps: Sequence[tuple[str, int | None]]) -> dict[str, T]:
    """Return what the actors return in one order of their calls.

    steps: (name, n) lets an actor continue until just before its (n + 1)th write in this step. None
    lets it continue to its end.
    """
    left = list(steps)
    writes: Counter[str] = Counter()

    def decide(calls: Mapping[str, Call]) -> str:
        while True:
            name, stop = left[0]
            is_writing = name in calls and calls[name].operation == WRITE
            if name not in calls or (is_writing and writes[name] == stop):
                left.pop(0)
                continue
            writes[name] += is_writing
            return name

    with actors() as made:
        return _run(made, decide)


class _Redundant(Exception):
    """A run that would only repeat another one."""


def _decide(decisions: list[_Decision], switches_max: int | None) -> Callable[[Mapping[str, Call]], str]:
    """Return a function that repeats the given decisions, then adds new ones.

    It raises _Redundant if the run would only repeat another one.
    """
    depth = 0

    def decide(calls: Mapping[str, Call]) -> str:
        nonlocal depth
        if depth == len(decisions):
            first = _Decision(calls, "", 0, switches_max, {})
            decision = decisions[-1].next(calls) if decisions else first
            if not decision.choose():
                raise _Redundant
            decisions.append(decision)
        decision = decisions[depth]
        assert _kinds(calls) == _kinds(decision.calls), "the same decisions led to another run"
        depth += 1
        return decision.chosen

    return decide


def _kinds(calls: Mapping[str, Call]) -> dict[str, str]:
    return {name: call.operation for name, call in calls.items()}


def _run(
    actors: Mapping[str, Callable[[Choose], T]], decide: Callable[[Mapping[str, Call]], str]
) -> dict[str, T]:
    """Return what the actors return. decide: chooses the next actor from the waiting calls.

    Raises _Redundant, once all have ended, if `decide` does.
    """
    turns = Turns(list(actors))
    redundant: _Redundant | None = None
    with ThreadPoolExecutor(len(actors)) as threads:
        running = {name: threads.submit(_act, turns, name, actor) for name, actor in actors.items()}
        while calls := turns.next_calls():
            try:
                turn = min(calls) if redundant else decide(calls)
            except _Redundant as found:
                turn, redundant = min(calls), found
            turns.give(turn)
        if redundant:
            raise redundant
        return {name: future.result() for name, future in running.items()}


def _act(turns: Turns, name: str, actor: Callable[[Choose], T]) -> T:
    try:
        return actor(lambda call: turns.take(name, call))
    finally:
        turns.end(name)


def commute(one: Call, other: Call) -> bool:
    """Tell whether two calls have the same effects and answers in either order."""
    if one.operation in READS and other.operation in READS:
        return True
    return not any(_meet(a, b) for a in _places(one) for b in _places(other))


def _meet(one: Place, other: Place) -> bool:
    return all(a == b or None in (a, b) for a, b in zip(one, other, strict=True))


def _places(call: Call) -> list[Place]:
    """Return the items that a call reads or writes."""
    match call.operation:
        case "Query":
            if call.body.get("IndexName") == "allTrees":
                return [(None, keys.group("").sort)]
            return [(call.body["ExpressionAttributeValues"][":p"]["S"], None)]
        case "Scan":
            return [(None, None)]
        case "BatchGetItem":
            return [_place(key) for asked in call.body["RequestItems"].values() for key in asked["Keys"]]
        case "TransactWriteItems":
            parts = [part for write in call.body["TransactItems"] for part in write.values()]
            return [_place(part["Key"] if "Key" in part else part["Item"]) for part in parts]
        case "UpdateItem":
            return [_place(call.body["Key"])]
        case "PutItem":
            return [_place(call.body["Item"])]
        case "BatchWriteItem":
            requests = [request for asked in call.body["RequestItems"].values() for request in asked]
            return [_place(request["DeleteRequest"]["Key"]) for request in requests]
    raise AssertionError(f"which items does {call.operation} touch?")


def _place(key: Mapping[str, Any]) -> Place:
    return key["PK"]["S"], key["SK"]["S"]

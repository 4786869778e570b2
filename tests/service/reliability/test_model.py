"""The whole service agrees with the oracle on random requests, and its stored data is intact."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.service.model.history import MOVES
from tests.service.reliability.figures import Measure
from tests.service.reliability.histories import CLOCKS_MS, new_world
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint
from tests.service.reliability.world import settle
from tools.harness.service import OPERATIONS

STEPS = 40
AHEAD_SECONDS = 2 * max(CLOCKS_MS) // 1000
"""How far the clock of the last worker is ahead: it is behind none of the processes."""
SEEDS = st.integers(0, 2**32 - 1)
LARGE = 10_000
"""The number of steps of a run that is long enough to reach every case."""
NEVER_REFUSED = {"checkHealth", "listConversations", "listTransfers"}
SELDOM_ASKED = {name for name in OPERATIONS if name.startswith("adminList")}
REFUSED = OPERATIONS.keys() - NEVER_REFUSED - SELDOM_ASKED
"""The operations that a large run must also see refused."""
ALL_STATUSES = {200, 201, 202, 204, 400, 403, 404, 409, 422, 501}


class Model(RuleBasedStateMachine):
    """A history of requests to two processes whose clocks are 10 minutes apart, on a new table."""

    endpoint: Endpoint
    measure: Measure
    asked: Counter[tuple[str, int]]

    def __init__(self) -> None:
        super().__init__()
        self._with = ExitStack()
        self._random = Random()
        self._world = self._with.enter_context(new_world(self.endpoint, self._random, bits=self.measure.seed))
        self._history = self._world.history
        self._is_sound = True

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self._go(f"begin {seed}", self._history.begin)

    def make(self, name: str, seed: int) -> None:
        """Make one step of the history. The seed determines its choices."""
        self.measure.count(steps=1)
        self._go(f"{name} {seed}", lambda: self._history.move(name))

    def teardown(self) -> None:
        """Read everything back. Check the stored data before and after the last jobs are done.

        Then erase a user, and do it again. At last all that is in the trash comes back.
        """
        with self._with:
            if not self._is_sound:
                return
            self._history.reading.read_back()
            self.asked.update(self._history.both.asked)
            assert_intact(self._world.store)
            settle(self._world.store, in_seconds=AHEAD_SECONDS)
            assert_intact(self._world.store, settled=True)
            self._history.erase()
            settle(self._world.store, in_seconds=AHEAD_SECONDS)
            assert_intact(self._world.store, settled=True)
            self._history.reading.read_back()
            self._history.restore_all()
            assert_intact(self._world.store, settled=True)
            self._history.reading.read_back()
            self.measure.count(examples=1, requests=self._history.both.requests)

    def _go(self, seed: str, act: Callable[[], None]) -> None:
        self._is_sound = False
        self._random.seed(seed)
        act()
        self._is_sound = True


def _rule(name: str) -> Any:
    """Return the rule for one kind of step.

    All rules have the same name, because Hypothesis turns rules off by name, which would leave too
    few rules in an example.
    """

    def move(self: Model, move: str, seed: int) -> None:
        self.make(move, seed)

    return rule(move=st.just(name), seed=SEEDS)(move)


def test_every_request_is_answered_as_the_oracle_says(
    endpoint: Endpoint, measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hypothesis has a rule for every operation. Several users and clients take part.

    Hypothesis chooses all rules equally often and prefers the first ones. So the more likely steps
    have more rules, and these come first.
    """
    asked: Counter[tuple[str, int]] = Counter()
    likely_first = sorted(MOVES, key=lambda name: -MOVES[name])
    names = [name for name in likely_first for _ in range(MOVES[name])]
    rules = {f"rule_{number:03}": _rule(name) for number, name in enumerate(names)}
    machine = type("Machine", (Model,), {"endpoint": endpoint, "measure": measure, "asked": asked, **rules})
    steps = measure.goal(ci=1_000, gate=10_000)
    try:
        run_state_machine_as_test(
            seed(measure.seed)(machine),
            settings=settings(
                max_examples=-(-steps * 6 // (5 * STEPS)),  # some examples are shorter
                stateful_step_count=1 + STEPS,
                database=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        with capsys.disabled():
            print("", *_table(asked), sep="\n")  # noqa: T201
    assert measure.counts["steps"] >= steps
    if steps >= LARGE:
        assert {status for _, status in asked} == ALL_STATUSES
        assert {name for name, status in asked if status < 300} == set(OPERATIONS)
        assert {name for name, status in asked if status >= 400} >= REFUSED


def _table(asked: Counter[tuple[str, int]]) -> list[str]:
    """Return a line for each operation: how many requests got each status."""
    by_name = {
        name: sorted((s, n) for (of, s), n in asked.items() if of == name) for name, _ in sorted(asked)
    }
    return [f"{name}: {', '.join(f'{s} x {n:,}' for s, n in told)}" for name, told in by_name.items()]

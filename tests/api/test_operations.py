"""Every operation is in the table of those that are run with faults."""

from types import SimpleNamespace
from typing import Any

from forklore.api import operations
from tests.reliability.world import OPERATIONS

UNSTORED = {"checkHealth"}
"""The operations that ask nothing of the table, so that nothing can fail."""


def test_every_operation_is_run_with_faults_and_crashes() -> None:
    asked: set[str] = set()

    def ask(name: str, /, *_caller: Any, **_given: Any) -> None:
        asked.add(name)

    process: Any = SimpleNamespace(ask=ask, last=None)
    world: Any = SimpleNamespace(made={})
    for operation in OPERATIONS.values():
        if not operation.run.__qualname__.startswith("work."):  # that is no request
            operation.run(process, world, None)

    assert {one.name for one in operations.ALL} - asked == UNSTORED, "see tests/reliability/world.py"

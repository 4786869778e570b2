"""Every operation is in the tables of those that are run with faults, and read page by page."""

from types import SimpleNamespace
from typing import Any

from forklore_service.api import operations
from tests.service.reliability.test_between_pages import LISTS
from tests.service.reliability.world import OPERATIONS

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

    assert {one.name for one in operations.ALL} - asked == UNSTORED, "see tests/service/reliability/world.py"


def test_every_list_of_a_conversation_is_read_while_its_tree_is_deleted() -> None:
    lists = {
        one.name
        for one in operations.ALL
        if "afterCursor" in one.query_names and "conversationId" in one.path_names and one.role is None
    }

    assert {name for name, _, _ in LISTS.values()} == lists, (
        "see tests/service/reliability/test_between_pages.py"
    )

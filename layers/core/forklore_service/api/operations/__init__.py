"""The table of all operations: routes of the HTTP API, and names for direct invocation."""

from collections.abc import Iterator
from importlib import import_module

from forklore_service.api.operation import Operation

_ROOMS = (
    "conversations",
    "entries",
    "answer_logs",
    "copying",
    "search",
    "sharing",
    "names",
    "attachments",
    "admin",
)
"""The modules that have OPERATIONS. The first ones are those that most programs use."""


def each_operation() -> Iterator[Operation]:
    """Yield all operations. A module is imported when its operations are reached."""
    for room in _ROOMS:
        yield from import_module(f"{__name__}.{room}").OPERATIONS


def __getattr__(name: str) -> tuple[Operation, ...]:
    """Return ALL operations, or all ROUTES, which hold second routes of some operations as well.

    They are imported on the first use: a function of the HTTP API needs only its own.
    """
    if name not in ("ALL", "ROUTES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forklore_service.api.operations import attachments, sharing

    every = tuple(each_operation())
    return every if name == "ALL" else (*every, *sharing.BY_PATH, *attachments.SECOND)

"""The table of all operations: routes of the HTTP API, and names for direct invocation."""

from functools import cache
from importlib import import_module
from typing import Any

from forklore_service.api.operation import Operation

_MODULES = (
    *("conversations", "entries", "answer_logs", "copying", "search", "sharing", "linked", "notes"),
    *("names", "attachments", "admin"),
)
"""The modules with `OPERATIONS`. The last one builds on the others, and takes the longest."""


def named(name: str) -> Operation | None:
    """Return the operation with this name; None if there is none.

    No module behind its own is imported: a process of one command needs few operations.
    """
    return next((one[name] for module in _MODULES if name in (one := _by_name(module))), None)


def __getattr__(name: str) -> tuple[Operation, ...]:
    """Return ALL operations, or all ROUTES, which hold second routes of some operations as well.

    They are imported on the first use: a function of the HTTP API needs only its own.
    """
    if name not in ("ALL", "ROUTES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    every = tuple(one for module in _MODULES for one in _module(module).OPERATIONS)
    if name == "ALL":
        return every
    return (*every, *_module("sharing").BY_PATH, *_module("attachments").CONTENT_ROUTES)


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


@cache
def _by_name(module: str) -> dict[str, Operation]:
    return {operation.name: operation for operation in _module(module).OPERATIONS}

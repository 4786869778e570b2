"""All operations: the routes of the HTTP API and what direct invocation can ask for."""

from forklore.api.operation import Operation


def __getattr__(name: str) -> tuple[Operation, ...]:
    """Return ALL operations, or all ROUTES of the HTTP API, some of which are a second form of an operation.

    They are loaded when they are asked for: a function of the HTTP API serves its own.
    """
    if name not in ("ALL", "ROUTES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forklore.api.operations import admin, conversations, entries, sharing

    every = (
        *conversations.OPERATIONS,
        *entries.OPERATIONS,
        *sharing.OPERATIONS,
        *admin.OPERATIONS,
    )
    return every if name == "ALL" else (*every, *sharing.BY_PATH)

"""All operations: the routes of the HTTP API and what direct invocation can ask for."""

from forklore.edge.operation import Operation


def __getattr__(name: str) -> tuple[Operation, ...]:
    """Return ALL operations, loaded when they are asked for: a function of the HTTP API serves its own."""
    if name != "ALL":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forklore.edge.operations import admin, conversations, entries, sharing

    return (
        *conversations.OPERATIONS,
        *entries.OPERATIONS,
        *sharing.OPERATIONS,
        *admin.OPERATIONS,
    )

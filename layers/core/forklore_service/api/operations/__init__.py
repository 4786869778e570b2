"""The table of all operations: routes of the HTTP API, and names for direct invocation."""

from forklore_service.api.operation import Operation


def __getattr__(name: str) -> tuple[Operation, ...]:
    """Return ALL operations, or all ROUTES, which hold second routes of some operations as well.

    They are imported on the first use: a function of the HTTP API needs only its own.
    """
    if name not in ("ALL", "ROUTES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forklore_service.api.operations import (
        admin,
        answer_logs,
        attachments,
        conversations,
        copying,
        entries,
        names,
        search,
        sharing,
    )

    every = (
        *conversations.OPERATIONS,
        *entries.OPERATIONS,
        *answer_logs.OPERATIONS,
        *copying.OPERATIONS,
        *search.OPERATIONS,
        *sharing.OPERATIONS,
        *names.OPERATIONS,
        *attachments.OPERATIONS,
        *admin.OPERATIONS,
    )
    return every if name == "ALL" else (*every, *sharing.BY_PATH, *attachments.CONTENT_ROUTES)

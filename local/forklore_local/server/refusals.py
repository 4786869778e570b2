"""Which errors an operation can answer: the codes of each status, its headers and details."""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore_service import errors
from forklore_service.api import operations
from forklore_service.api.operation import Operation
from forklore_service.errors import ForkloreError

ALWAYS = frozenset({400, 405, 500, 503})
"""Statuses that every route can answer."""
HEADERS: Mapping[int, tuple[str, str]] = {
    401: ("WWW-Authenticate", "`Bearer`"),
    405: ("Allow", "The methods of the path."),
    429: ("Retry-After", "Seconds until the next minute, when the user may try again."),
    503: ("Retry-After", "Seconds after which to try again, with the same Idempotency-Key."),
}
"""The header that an error of a status has, with its description."""
MEMBERS: Mapping[str, Any] = {
    "lastEntryId": {"type": ["string", "null"], "description": "The view's last history entry."},
    "latestEpoch": {"type": "integer", "minimum": 1, "description": "The client's latest epoch in the view."},
    "existingTransferId": {"type": "string", "description": "The pending transfer."},
    "availableTypes": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The types of search that there are.",
    },
    "retryAfterSeconds": {"type": "integer", "description": "Seconds until the user may try again."},
    "allow": {"type": "string", "description": "The methods of the path."},
}
"""Members of `details` that some errors have."""


def every_error() -> list[type[ForkloreError]]:
    """Return one error class for each code that a caller can get, sorted by status, then code."""
    found = {kind.code: kind for kind in sorted(_kinds(ForkloreError), key=lambda kind: kind.__name__)}
    return sorted(found.values(), key=lambda kind: (kind.status, kind.code))


def _kinds(kind: type[ForkloreError]) -> Iterator[type[ForkloreError]]:
    yield kind
    for more in kind.__subclasses__():
        yield from _kinds(more)


def statuses_of(operation: Operation) -> list[int]:
    """Return the statuses of all errors that the operation can answer, in ascending order."""
    found = {*ALWAYS, *operation.errors}
    if not operation.is_public:
        found.add(401)
    if operation.is_limited:
        found.add(429)
    if operation.body is not None:
        found |= {413, 415}
    if operation.takes_idempotency_key:
        found.add(422)
    return sorted(found)


def codes_of(operation: Operation, status: int) -> list[str]:
    """Return the codes that an error of this status can have."""
    return sorted(kind.code for kind in every_error() if kind.status == status and _can(operation, kind))


def _can(operation: Operation, kind: type[ForkloreError]) -> bool:
    if kind is errors.InvalidCursorError:
        models = (operation.query, operation.body)
        return any("after_cursor" in model.model_fields for model in models if model is not None)
    return kind in operation.own_errors or not any(kind in one.own_errors for one in operations.ALL)

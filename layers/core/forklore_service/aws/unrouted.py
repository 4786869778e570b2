"""HTTP requests that match no route of the function: 404, 405, or a browser's preflight."""

import re

from forklore_service.api import operations
from forklore_service.aws.http_events import HttpEvent
from forklore_service.errors import ForkloreError, MethodNotAllowedError, NotFoundError

OPTIONS = "OPTIONS"
_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
_HINTS = (
    (
        re.compile("/v1/conversations/[^/]+/entries(/.*)?"),
        "entries are append-only: none is changed or deleted; to edit one, fork the conversation at it",
    ),
    (
        re.compile("/v1/conversations/[^/]+/memberships/.*"),
        "no such route; name the member in the query, percent-encoded: …/memberships?userId=",
    ),
)
"""Paths that callers may try to change, each with a message that says what to do instead."""


def methods_of(path: str) -> list[str]:
    """Return the methods of a path, sorted; empty if no route has the path.

    If several paths of operations fit, the closest one counts: `…/search` and not `…/{name}`.
    OPTIONS belongs to every path. API Gateway may send a browser's preflight to the `$default`
    route, and then adds the CORS headers to the response.
    """
    paths = {operation.path for operation in operations.ROUTES if fits(operation.path, path)}
    closest = {one for one in paths if not any(is_closer(other, one) for other in paths)}
    methods = {operation.method for operation in operations.ROUTES if operation.path in closest}
    return sorted({*methods, OPTIONS}) if methods else []


def error_of(event: HttpEvent, allowed: list[str]) -> ForkloreError:
    """Return the error for a request that is not a preflight. allowed: the methods of its path."""
    method = event.method
    hints = [hint for path, hint in _HINTS if method in _CHANGES and path.fullmatch(event.path)]
    if not allowed or method in allowed:
        return NotFoundError(*(hints or ["no such route"]))
    return MethodNotAllowedError(*(hints or [f"{method} is not for this path"]), allow=", ".join(allowed))


def is_closer(one: str, other: str) -> bool:
    """Tell whether each path that fits `one` fits `other`, too, but not the other way round.

    >>> is_closer("/v1/conversations/search", "/v1/conversations/{conversationId}")
    True
    """
    return one != other and fits(other, one)


def fits(pattern: str, path: str) -> bool:
    """Tell whether `path` fits an operation's path. Each name in braces is one segment."""
    return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern)), path) is not None

"""Who is calling, as the authorizer has found out. Nothing else in a request names an identity."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from forklore.domain.model import Caller
from forklore.errors import UnauthorizedError

USER_BYTES_MAX = 255


def caller_of(event: Mapping[str, Any]) -> Caller:
    """Return the caller that the authorizer put into the event's request context.

    Its context is {"userId": str, "clientId": str or null, "roles": [str]}; without a user, or without any
    context, the credentials were missing or bad. Raises UnauthorizedError then: it fails closed.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    context = authorizer.get("lambda") or {}
    user_id, client_id = context.get("userId"), context.get("clientId")
    if not is_user_id(user_id) or not (client_id is None or (isinstance(client_id, str) and client_id)):
        raise UnauthorizedError
    return Caller(user_id, client_id, frozenset(context.get("roles") or ()))


def is_user_id(value: object) -> TypeGuard[str]:
    """Tell whether `value` is non-blank text of at most 255 bytes without control characters."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return False
    return size <= USER_BYTES_MAX and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in value)

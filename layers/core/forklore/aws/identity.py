"""Who is calling: as the authorizer has found out, or as whoever may invoke a function directly says."""

from collections.abc import Mapping
from typing import Any

from forklore.domain.model import Caller
from forklore.domain.users import ROLES, is_user_id
from forklore.errors import UnauthorizedError, UnavailableError

KEYS_AFTER_SECONDS = 5
"""When the authorizer asks the issuer again (`forklore.credentials.kept_keys`)."""
_NAMED = {"userId", "clientId", "roles"}


def caller_of(event: Mapping[str, Any]) -> Caller:
    """Return the caller that the authorizer put into the event's request context.

    Its context is {"userId": str, "clientId": str or null, "roles": [str]}; without a user, or without any
    context, the credentials were missing or bad. Raises UnauthorizedError then: it fails closed.
    Raises UnavailableError for {"unavailable": true}: the issuer's keys could not be had.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    context = authorizer.get("lambda") or {}
    if context.get("unavailable") is True:
        raise UnavailableError(
            "credentials cannot be checked at the moment", retry_after_s=KEYS_AFTER_SECONDS
        )
    return _caller(context)


def caller_named(caller: object) -> Caller:
    """Return the caller that a direct invocation names; its members are those of the authorizer's context.

    Raises UnauthorizedError for anything else, also for a member or a role that does not exist.
    """
    if not isinstance(caller, Mapping) or not set(caller) <= _NAMED:
        raise UnauthorizedError
    named = _caller(caller)
    if not named.roles <= ROLES:
        raise UnauthorizedError
    return named


def _caller(context: Mapping[str, Any]) -> Caller:
    user_id, client_id, roles = context.get("userId"), context.get("clientId"), context.get("roles")
    if not is_user_id(user_id) or not (client_id is None or is_user_id(client_id)):
        raise UnauthorizedError
    if not isinstance(roles, list | None) or not all(isinstance(role, str) for role in roles or ()):
        raise UnauthorizedError
    return Caller(user_id, client_id, frozenset(roles or ()))

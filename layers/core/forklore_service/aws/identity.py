"""The caller of a request: the one that the authorizer found, or that a direct invocation names."""

from collections.abc import Mapping
from typing import Any

from forklore_service.domain.model import Caller
from forklore_service.domain.users import ROLES, is_user_id
from forklore_service.errors import UnauthorizedError, UnavailableError

KEYS_AFTER_SECONDS = 5
"""After this time the authorizer asks for the keys again (`credentials.published_keys`)."""
_FIELDS = {"userId", "clientId", "roles"}


def caller_of(context: Mapping[str, Any]) -> Caller:
    """Return the caller in the context that the authorizer returned.

    context: {"userId": str, "clientId": str or null, "roles": [str]}.
    Raises UnauthorizedError for a context without a user: the credentials were missing or bad.
    Raises UnavailableError for {"unavailable": true}: the issuer's keys were not available.
    """
    if context.get("unavailable") is True:
        raise UnavailableError(
            "credentials cannot be checked at the moment", retry_after_s=KEYS_AFTER_SECONDS
        )
    return _caller(context)


def caller_named(caller: object) -> Caller:
    """Return the caller of a direct invocation. Its fields are those of the authorizer's context.

    Raises UnauthorizedError for anything else, and for an unknown field or role.
    """
    if not isinstance(caller, Mapping) or not set(caller) <= _FIELDS:
        raise UnauthorizedError
    named = _caller(caller)
    if not named.roles <= ROLES:
        raise UnauthorizedError
    return named


def _caller(fields: Mapping[str, Any]) -> Caller:
    user_id, client_id, roles = fields.get("userId"), fields.get("clientId"), fields.get("roles")
    if not is_user_id(user_id) or not (client_id is None or is_user_id(client_id)):
        raise UnauthorizedError
    if not isinstance(roles, list | None) or not all(isinstance(role, str) for role in roles or ()):
        raise UnauthorizedError
    return Caller(user_id, client_id, frozenset(roles or ()))

"""API Gateway's Lambda authorizer: finds the caller in the headers of a request.

It allows every request, because API Gateway would refuse one with an error of another shape. The
functions behind it answer 401 or 503.
"""

import os
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from forklore_service.credentials import roles
from forklore_service.credentials.api_keys import client_of
from forklore_service.credentials.fetching import fetch
from forklore_service.credentials.headers import API_KEY, AUTHORIZATION, bearer_token, one_header
from forklore_service.credentials.published_keys import KeptKeys, published_keys
from forklore_service.credentials.settings import AuthorizerSettings
from forklore_service.credentials.tokens import FindKey, read_claims
from forklore_service.domain.model import Caller
from forklore_service.domain.users import is_user_id
from forklore_service.errors import UnauthorizedError, UnavailableError


class Authorizer(NamedTuple):
    """Finds callers by the settings of a deployment. find_key: finds one of the issuer's keys."""

    settings: AuthorizerSettings
    find_key: FindKey

    def context_of(self, event: object) -> dict[str, Any]:
        """Return the context about the caller, which API Gateway passes on to the functions.

        event: a Lambda authorizer's, payload format 2.0; only its headers are read.
        The context is {"userId": str, "roles": [str]}, and "clientId" with a good API key. It is {}
        if any credential is missing or bad, and {"unavailable": True} without the issuer's keys.
        """
        headers = event.get("headers") if isinstance(event, Mapping) else None
        try:
            return _context(self._caller(headers if isinstance(headers, Mapping) else {}))
        except UnauthorizedError:
            return {}
        except UnavailableError:
            return {"unavailable": True}

    def _caller(self, headers: Mapping[object, object]) -> Caller:
        settings = self.settings
        token = bearer_token(one_header(headers, AUTHORIZATION))
        client_id = client_of(one_header(headers, API_KEY), settings.clients)
        claims = read_claims(token, settings.expected, self.find_key)
        user_id = claims.get(settings.user_id_claim)
        if not is_user_id(user_id):
            raise UnauthorizedError
        named = roles.roles_of_user(user_id, settings.patterns)
        if settings.roles_claim is not None:
            named |= roles.roles_of_claim(claims.get(settings.roles_claim))
        return Caller(user_id, client_id, roles.with_implied(named))


def _context(caller: Caller) -> dict[str, Any]:
    client = {} if caller.client_id is None else {"clientId": caller.client_id}
    return {"userId": caller.user_id, **client, "roles": sorted(caller.roles)}


def make_authorizer(
    settings: AuthorizerSettings,
    *,
    fetch: Callable[[str], bytes] = fetch,
    now: Callable[[], float] = time.time,
) -> Authorizer:
    """Return the authorizer for these settings.

    fetch: gets the issuer's documents. now: returns the time in seconds.
    """
    given, expected = settings.issuer_keys, settings.expected
    if given is not None:
        return Authorizer(settings, lambda kid, algorithm: given.get((kid, algorithm)))
    kept = KeptKeys(lambda: published_keys(expected.issuer, expected.algorithms, fetch), now=now)
    return Authorizer(settings, kept.find)


@cache
def open_authorizer() -> Authorizer:
    """Return this process's authorizer.

    Raises RuntimeError for a wrong setting, with a message that says what to set.
    """
    return make_authorizer(AuthorizerSettings.from_environment(os.environ))

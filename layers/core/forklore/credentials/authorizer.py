"""From the headers of a request to who is calling: the answer of API Gateway's Lambda authorizer.

It refuses nobody, since an HTTP API could not say why in our own words: the edge answers 401 or 503.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forklore.credentials import roles
from forklore.credentials.api_keys import client_of
from forklore.credentials.discovery import published_keys
from forklore.credentials.fetching import fetch
from forklore.credentials.headers import API_KEY, AUTHORIZATION, bearer_token, one_header
from forklore.credentials.kept_keys import KeptKeys
from forklore.credentials.settings import AuthorizerSettings
from forklore.credentials.tokens import FindKey, read_claims
from forklore.domain.model import Caller
from forklore.domain.users import is_user_id
from forklore.errors import UnauthorizedError, UnavailableError


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Says who is calling, by what a deployment has set. find_key: among the issuer's keys."""

    settings: AuthorizerSettings
    find_key: FindKey

    def context_of(self, event: object) -> dict[str, Any]:
        """Return what the functions are told of a request's caller.

        event: a Lambda authorizer's, payload format 2.0; only its headers are looked at.
        {"userId": str, "roles": [str]}, with "clientId" where a good API key came along; {} for credentials
        that are missing, or bad in any part; {"unavailable": True} where the issuer's keys cannot be had.
        """
        headers = event.get("headers") if isinstance(event, Mapping) else None
        try:
            return _shown(self._caller(headers if isinstance(headers, Mapping) else {}))
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


def _shown(caller: Caller) -> dict[str, Any]:
    client = {} if caller.client_id is None else {"clientId": caller.client_id}
    return {"userId": caller.user_id, **client, "roles": sorted(caller.roles)}


def make_authorizer(
    settings: AuthorizerSettings,
    *,
    fetch: Callable[[str], bytes] = fetch,
    now: Callable[[], float] = time.time,
) -> Authorizer:
    """Return the authorizer for these settings.

    fetch: how to get the issuer's documents. now: the time in seconds, for how long its keys are kept.
    """
    given, expected = settings.issuer_keys, settings.expected
    if given is not None:
        return Authorizer(settings, lambda kid, algorithm: given.get((kid, algorithm)))
    kept = KeptKeys(lambda: published_keys(expected.issuer, expected.algorithms, fetch), now=now)
    return Authorizer(settings, kept.find)


@cache
def open_authorizer() -> Authorizer:
    """Return this process's authorizer. Raises RuntimeError, which says what to set, for a bad setting."""
    return make_authorizer(AuthorizerSettings.from_environment(os.environ))

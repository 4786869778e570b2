"""The local authorizer: the bearer token is the user id. This is never deployed.

The result has the shape of the deployed authorizer's context. Neither authorizer refuses a request:
the function answers 401. API keys and roles work as in the deployed authorizer, except that the
keys are set in clear text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypedDict

from forklore_local.server.asgi import Headers, Response, header_text
from forklore_service.credentials import roles
from forklore_service.credentials.api_keys import client_of, hash_of
from forklore_service.credentials.headers import bearer_token
from forklore_service.domain.users import is_user_id, read_list
from forklore_service.errors import UnauthorizedError

UNAUTHORIZED_HINT = (
    "; on this local server the token is the user id, such as 'Authorization: Bearer alice', and X-API-Key, "
    "if there is one, is a key of FORKLORE_API_KEYS, by default 'local-key', or of the option --client"
)
DEFAULT_API_KEYS = "local=local-key"


def hinted(response: Response) -> Response:
    """Return an answer; a 401 of forklore also says what credentials look like here."""
    if response.status != HTTPStatus.UNAUTHORIZED:
        return response
    try:
        error = json.loads(response.body)
        error["details"]["message"] += UNAUTHORIZED_HINT
    except (ValueError, KeyError, TypeError):  # not an error of forklore
        return response
    return Response(response.status, response.headers, json.dumps(error, ensure_ascii=False).encode())


class Identity(TypedDict):
    """The authorizer's context. If any part of the credentials is bad: None, None and no roles."""

    userId: str | None
    clientId: str | None
    roles: list[str]


@dataclass(frozen=True)
class LocalAuthorizer:
    """The configured callers: client ids by the hash of their key, user-id patterns by role."""

    clients: Mapping[str, str]
    patterns: roles.Patterns

    def __call__(self, headers: Headers) -> Identity:
        """Return who the caller is. A key without a user and an unknown key give nobody."""
        tokens = [value for name, value in headers if name.lower() == b"authorization"]
        keys = [value for name, value in headers if name.lower() == b"x-api-key"]
        try:
            user_id = _user_id(header_text(tokens[0])) if len(tokens) == 1 else None
            client_id = client_of(header_text(b",".join(keys)) if keys else None, self.clients)
        except UnauthorizedError:
            user_id = client_id = None
        if user_id is None:
            return Identity(userId=None, clientId=None, roles=[])
        named = roles.with_implied(roles.roles_of_user(user_id, self.patterns))
        return Identity(userId=user_id, clientId=client_id, roles=sorted(named))

    def is_known(self, headers: Headers) -> bool:
        """Tell whether a request says who calls."""
        return self(headers)["userId"] is not None


def read_authorizer(environ: Mapping[str, str], clients: Sequence[str] = ()) -> LocalAuthorizer:
    """Return the authorizer that FORKLORE_API_KEYS, _ADMINS, _AUDITORS and _INDEXERS describe.

    clients: more pairs `client=key`. Raises ValueError as `clients_by_hash` does.
    """
    return LocalAuthorizer(clients_by_hash(environ, clients), roles.read_patterns(environ))


def clients_by_hash(environ: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """Return the client ids that FORKLORE_API_KEYS names, by the hash of their key.

    more: pairs of the option --client. Raises ValueError if the setting is not
    `client=key,client=key`, or if a key comes twice. The message does not hold the key.
    """
    clients: dict[str, str] = {}
    named = read_list(environ.get("FORKLORE_API_KEYS", DEFAULT_API_KEYS))
    pairs = [(f"FORKLORE_API_KEYS: pair {number}", pair) for number, pair in enumerate(named, 1)]
    pairs += [(f"--client number {number}", pair) for number, pair in enumerate(more, 1)]
    for place, pair in pairs:
        client_id, _, key = pair.partition("=")  # a key may hold `=`, a client here may not
        if not is_user_id(client_id) or not key:
            raise ValueError(f"{place} is not client=key")
        if hash_of(key) in clients:
            raise ValueError(f"{place} has the key of another one")
        clients[hash_of(key)] = client_id
    return clients


def _user_id(authorization: str) -> str | None:
    """Return the user id in `Bearer <user id>`, or None if it is not valid.

    Raises UnauthorizedError for anything else.
    """
    user_id = bearer_token(authorization).strip(" \t")
    return user_id if is_user_id(user_id) else None

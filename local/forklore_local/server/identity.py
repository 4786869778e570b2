"""The local authorizers. One verifies tokens as the deployed one does, one by a file of users.

Without either, the bearer token is the user id: that is for a developer's own machine.

The result has the shape of the deployed authorizer's context. No authorizer refuses a request: the
function answers 401. API keys and roles work as in the deployed authorizer, except that the keys
are set in clear text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from forklore_local.server.asgi import Headers, Response, header_text
from forklore_service.credentials import roles
from forklore_service.credentials.api_keys import client_of, hash_of
from forklore_service.credentials.headers import bearer_token
from forklore_service.domain.users import is_user_id, read_list
from forklore_service.errors import UnauthorizedError, UnavailableError

if TYPE_CHECKING:
    from forklore_service.credentials.authorizer import Authorizer

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


Identity = Mapping[str, Any]
"""The authorizer's context: {"userId", "clientId", "roles"}; no user if any credential is bad."""
NOBODY: Identity = {"userId": None, "clientId": None, "roles": []}


def named_user(token: str) -> str | None:
    """Return the user whom a token names: it is the id. None if it cannot be one."""
    return token if is_user_id(token) else None


@dataclass(frozen=True)
class LocalAuthorizer:
    """The configured callers: client ids by the hash of their key, user-id patterns by role.

    user_of: returns whose token it is, None for nobody's. Raises UnavailableError.
    """

    clients: Mapping[str, str]
    patterns: roles.Patterns
    user_of: Callable[[str], str | None] = named_user

    def __call__(self, headers: Headers) -> Identity:
        """Return who the caller is. A key without a user and an unknown key give nobody."""
        tokens, keys = _values(headers, b"authorization"), _values(headers, b"x-api-key")
        try:
            token = bearer_token(header_text(tokens[0])).strip(" \t") if len(tokens) == 1 else None
            client_id = client_of(header_text(b",".join(keys)) if keys else None, self.clients)
            user_id = self.user_of(token) if token else None
        except UnauthorizedError:
            return NOBODY
        except UnavailableError:
            return {"unavailable": True}
        if user_id is None:
            return NOBODY
        named = roles.with_implied(roles.roles_of_user(user_id, self.patterns))
        return {"userId": user_id, "clientId": client_id, "roles": sorted(named)}


@dataclass(frozen=True)
class IssuerAuthorizer:
    """Verifies the tokens of an issuer by the code that is deployed.

    It may fetch the issuer's keys, so it is asked in a thread.
    """

    verify: "Authorizer"

    def __call__(self, headers: Headers) -> Identity:
        """Return who the caller is."""
        names = (b"authorization", b"x-api-key")
        values = {name.decode(): _values(headers, name) for name in names}
        joined = {name: header_text(b",".join(held)) for name, held in values.items() if held}
        return self.verify.context_of({"headers": joined})

    def after(self, before: "IssuerAuthorizer") -> "IssuerAuthorizer":
        """Return this with the keys that were found before, if they are of the same issuer."""
        mine, others = self.verify.settings, before.verify.settings
        is_same = mine.issuer_keys == others.issuer_keys and (
            mine.expected._replace(audiences=()) == others.expected._replace(audiences=())
        )
        return IssuerAuthorizer(self.verify._replace(find_key=before.verify.find_key)) if is_same else self


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def read_authorizer(
    environ: Mapping[str, str],
    clients: Sequence[str] = (),
    user_of: Callable[[str], str | None] = named_user,
) -> LocalAuthorizer:
    """Return the authorizer that FORKLORE_API_KEYS, _ADMINS, _AUDITORS and _INDEXERS describe.

    clients: more pairs `client=key`. user_of: as of LocalAuthorizer. Raises ValueError as
    `clients_by_hash` does.
    """
    default = DEFAULT_API_KEYS if user_of is named_user else ""
    return LocalAuthorizer(clients_by_hash(environ, clients, default), roles.read_patterns(environ), user_of)


def read_issuer(
    environ: Mapping[str, str],
    clients: Sequence[str] = (),
    *,
    fetch: Callable[[str], bytes] | None = None,
) -> IssuerAuthorizer:
    """Return the authorizer that the settings of a deployed one describe. It also has clear keys.

    fetch: as of `make_authorizer`. Raises ValueError with a text that says what to set.
    """
    # What reads signatures takes 20 MB, which a server without an issuer does without.
    from forklore_service.credentials import fetching
    from forklore_service.credentials.authorizer import make_authorizer
    from forklore_service.credentials.settings import AuthorizerSettings

    try:
        settings = AuthorizerSettings.from_environment(environ)
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    known = clients_by_hash(environ, clients, "")
    return IssuerAuthorizer(
        make_authorizer(
            settings._replace(clients={**settings.clients, **known}), fetch=fetch or fetching.fetch
        )
    )


def clients_by_hash(
    environ: Mapping[str, str], more: Sequence[str] = (), default: str = DEFAULT_API_KEYS
) -> dict[str, str]:
    """Return the client ids that FORKLORE_API_KEYS names, by the hash of their key.

    more: pairs of the option --client. default: the setting where there is none.
    Raises ValueError if the setting is not `client=key,client=key`, or if a key comes twice. The
    message does not hold the key.
    """
    clients: dict[str, str] = {}
    named = read_list(environ.get("FORKLORE_API_KEYS", default))
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

"""Who is calling, on a developer's machine: the bearer token is the user id. Never deployed.

The answer has the shape of the deployed authorizer's context and refuses nobody: the edge writes the 401.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from local_server.asgi import Headers, header_text

USER_ID_BYTES_MAX = 255
DEFAULT_API_KEYS = "local-key=local"
ROLES = {"admin": "FORKLORE_ADMINS", "auditor": "FORKLORE_AUDITORS", "indexer": "FORKLORE_INDEXERS"}


class Identity(TypedDict):
    """The authorizer's context. Unless the credentials are good as a whole: None, None and no roles."""

    userId: str | None
    clientId: str | None
    roles: list[str]


@dataclass(frozen=True)
class LocalAuthorizer:
    """The configured callers: client ids by the SHA-256 of their key, user-id patterns by role."""

    clients: Mapping[bytes, str]
    patterns: Mapping[str, list[re.Pattern[str]]]

    def __call__(self, headers: Headers) -> Identity:
        """Return who the caller is. A key without a user, or an unknown key, is nobody."""
        tokens = [value for name, value in headers if name.lower() == b"authorization"]
        keys = [value for name, value in headers if name.lower() == b"x-api-key"]
        user_id = _user_id(header_text(tokens[0])) if len(tokens) == 1 else None
        client_id = self.clients.get(hashlib.sha256(b",".join(keys)).digest())
        if user_id is None or (keys and client_id is None):
            return Identity(userId=None, clientId=None, roles=[])
        return Identity(userId=user_id, clientId=client_id if keys else None, roles=self._roles(user_id))

    def _roles(self, user_id: str) -> list[str]:
        matching = {role for role in ROLES if any(one.fullmatch(user_id) for one in self.patterns[role])}
        return sorted(matching | ({"auditor"} if "admin" in matching else set()))


def read_authorizer(environ: Mapping[str, str]) -> LocalAuthorizer:
    """Return the authorizer that FORKLORE_API_KEYS, _ADMINS, _AUDITORS and _INDEXERS describe.

    Raises ValueError, without the key, if FORKLORE_API_KEYS is not `key=client,key=client`.
    """
    clients = {}
    for number, pair in enumerate(_list(environ.get("FORKLORE_API_KEYS", DEFAULT_API_KEYS)), 1):
        key, _, client_id = pair.rpartition("=")  # a key may end in `=`
        if not key or not client_id:
            raise ValueError(f"FORKLORE_API_KEYS: pair {number} is not key=client")
        clients[hashlib.sha256(key.encode()).digest()] = client_id
    patterns = {
        role: [_pattern(text) for text in _list(environ.get(name, ""))] for role, name in ROLES.items()
    }
    return LocalAuthorizer(clients, patterns)


def _user_id(authorization: str) -> str | None:
    """Return the user id in `Bearer <user id>`, None if the header is malformed or the id not valid."""
    scheme, _, token = authorization.partition(" ")
    user_id = token.strip(" \t")
    if scheme.lower() != "bearer" or not user_id.strip() or len(user_id.encode()) > USER_ID_BYTES_MAX:
        return None
    return None if any(unicodedata.category(char) == "Cc" for char in user_id) else user_id


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern in which `*` is any text, also none, and everything else is itself."""
    return re.compile(".*".join(re.escape(part) for part in text.split("*")))

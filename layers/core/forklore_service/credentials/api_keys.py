"""API keys. A key names a client, which is the calling app. The deployment knows only hashes."""

import hashlib
import re
from collections.abc import Mapping

from forklore_service.domain.users import is_user_id, read_list
from forklore_service.errors import UnauthorizedError

KEY_CHARACTERS_MAX = 1024
_HASH = re.compile(r"[0-9a-f]{64}")


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key's UTF-8 text, in lower-case hexadecimal digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def client_of(key: str | None, clients: Mapping[str, str]) -> str | None:
    """Return the client that a key names, None without a key.

    clients: client ids by the hash of their key. Raises UnauthorizedError for an unknown key.
    """
    if key is None:
        return None
    client_id = clients.get(hash_of(key)) if 0 < len(key) <= KEY_CHARACTERS_MAX else None
    if client_id is None:
        raise UnauthorizedError
    return client_id


def read_clients(text: str) -> dict[str, str]:
    """Return client ids by hash, from `client=<hash>,client=<hash>`.

    A client may have several keys. Raises ValueError for a malformed pair or a repeated hash; its
    message shows nothing of the text.

    >>> read_clients("app=" + hash_of("secret")) == {hash_of("secret"): "app"}
    True
    """
    clients: dict[str, str] = {}
    for number, pair in enumerate(read_list(text), 1):
        client_id, _, hashed = pair.rpartition("=")
        hashed = hashed.lower()
        if not is_user_id(client_id) or not _HASH.fullmatch(hashed):
            raise ValueError(f"pair {number} is not a client, `=` and the 64 hexadecimal digits of a SHA-256")
        if hashed in clients:
            raise ValueError(f"pair {number} has the hash of another one")
        clients[hashed] = client_id
    return clients

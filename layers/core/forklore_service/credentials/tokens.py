"""Bearer tokens: JSON Web Tokens that the issuer has signed.

Sources: RFC 7515 and RFC 7519; RFC 8725 for what to refuse.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import jwt

from forklore_service.credentials.issuer_keys import Key, is_key_id
from forklore_service.errors import UnauthorizedError

TOKEN_CHARACTERS_MAX = 8192
LEEWAY_SECONDS = 30
"""The tolerated difference between the issuer's clock and this one."""
REFUSED_HEADERS = frozenset({"jwk", "jku", "x5c", "x5u", "crit", "b64"})
"""Headers that would supply a key or change what is signed."""
TYPES = frozenset({"jwt", "at+jwt"})
TIMES = ("exp", "nbf", "iat")
_PARTS = re.compile(r"([\w-]+)\.([\w-]+)\.([\w-]+)", re.ASCII)

FindKey = Callable[[str, str], Key | None]
"""Returns the issuer's key for a key id and an algorithm, None if the issuer has none."""


class Expected(NamedTuple):
    """What a good token must say. audiences: one of them is enough."""

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]


def read_claims(token: str, expected: Expected, find_key: FindKey) -> Mapping[str, Any]:
    """Check a token's signature and times, and return its claims.

    Raises UnauthorizedError for any fault of the token, and the exceptions of `find_key`.
    """
    key = find_key(*_key_named(token, expected.algorithms))
    if key is None:
        raise UnauthorizedError
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=list(expected.algorithms),
            issuer=expected.issuer,
            audience=list(expected.audiences),
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "aud", "exp"], "verify_sub": False, "verify_jti": False},
        )
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        raise UnauthorizedError from None
    if not all(_is_number(claims[name]) for name in TIMES if name in claims):
        raise UnauthorizedError
    return claims


def _key_named(token: str, algorithms: Collection[str]) -> tuple[str, str]:
    """Return the key id and the algorithm that a token's header names.

    Raises UnauthorizedError for a token of another form or with an unsafe header.
    """
    parts = _PARTS.fullmatch(token) if len(token) <= TOKEN_CHARACTERS_MAX else None
    if parts is None:
        raise UnauthorizedError
    head, payload, _ = [_decoded(part) for part in parts.groups()]
    header = _json_object(head)
    _json_object(payload)  # PyJWT accepts any UTF, and the last of two claims with one name
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if (
        not REFUSED_HEADERS.isdisjoint(header)
        or not (isinstance(algorithm, str) and algorithm in algorithms)
        or not is_key_id(kid)
        or not (isinstance(kind, str) and kind.lower().removeprefix("application/") in TYPES)
    ):
        raise UnauthorizedError
    return kid, algorithm


def _decoded(part: str) -> bytes:
    """Return the bytes of a part. Only one spelling is accepted (RFC 7515, section 2)."""
    try:
        decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise UnauthorizedError from None
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != part.encode():
        raise UnauthorizedError
    return decoded


def _json_object(text: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises UnauthorizedError for anything else, and for a repeated name."""
    try:
        found = json.loads(text.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise UnauthorizedError from None
    if not isinstance(found, dict):
        raise UnauthorizedError
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name is repeated")
    return fields


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

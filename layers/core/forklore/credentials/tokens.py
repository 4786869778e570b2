"""Bearer tokens: JSON Web Tokens that the issuer has signed (RFC 7515, 7519; 8725 for what to refuse)."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from forklore.credentials.issuer_keys import Key, is_key_id
from forklore.errors import UnauthorizedError

TOKEN_CHARACTERS_MAX = 8192
LEEWAY_SECONDS = 30
"""How far the issuer's clock and this one may differ."""
REFUSED_HEADERS = frozenset({"jwk", "jku", "x5c", "x5u", "crit", "b64"})
"""What would bring a key along, or change what is signed."""
TYPES = frozenset({"jwt", "at+jwt"})
TIMES = ("exp", "nbf", "iat")
_PARTS = re.compile(r"([\w-]+)\.([\w-]+)\.([\w-]+)", re.ASCII)

FindKey = Callable[[str, str], Key | None]
"""From a key's id and an algorithm to the issuer's key, None if the issuer has none."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a good token says. audiences: one of them is enough."""

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]


def read_claims(token: str, expected: Expected, find_key: FindKey) -> Mapping[str, Any]:
    """Return what a token claims, its signature and its times checked.

    Raises UnauthorizedError for whatever is wrong with it, UnavailableError if `find_key` does.
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

    Raises UnauthorizedError for a token of another form, or with a header that is not to be trusted.
    """
    parts = _PARTS.fullmatch(token) if len(token) <= TOKEN_CHARACTERS_MAX else None
    if parts is None:
        raise UnauthorizedError
    head, payload, _ = [_decoded(part) for part in parts.groups()]
    header = _members(head)
    _members(payload)  # PyJWT takes any UTF, and the last of two claims of one name
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
    """Return the bytes of a part; there is only one spelling of them (RFC 7515, section 2)."""
    try:
        decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise UnauthorizedError from None
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != part.encode():
        raise UnauthorizedError
    return decoded


def _members(text: bytes) -> dict[str, Any]:
    """Return the members of a JSON object. Raises UnauthorizedError for all else, and a member twice."""
    try:
        pairs = json.loads(text.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise UnauthorizedError from None
    if not isinstance(pairs, dict):
        raise UnauthorizedError
    return pairs


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is there twice")
    return members


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

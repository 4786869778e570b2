"""An issuer's key set (RFC 7517): from JSON text to the keys that a token may be checked with."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

import jwt
from cryptography.exceptions import UnsupportedAlgorithm

from forklore.domain.users import has_controls

KEYS_MAX = 50
KID_CHARACTERS_MAX = 256
RSA_BITS_MIN = 2048
"""Source: RFC 7518, sections 3.3 and 3.5."""
FITTING: Mapping[tuple[str, str | None], tuple[str, ...]] = {
    ("RSA", None): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""By type and curve of a key, the algorithms it is for: all of them asymmetric."""
ALGORITHMS = frozenset(name for names in FITTING.values() for name in names)

Key = jwt.PyJWK
KeySet = Mapping[tuple[str, str], Key]
"""The usable keys, by key id and algorithm."""


def is_key_id(value: object) -> TypeGuard[str]:
    """Tell whether `value` is text of 1 to 256 characters without control characters."""
    return isinstance(value, str) and 0 < len(value) <= KID_CHARACTERS_MAX and not has_controls(value)


def read_key_set(text: str | bytes, algorithms: Collection[str]) -> KeySet:
    """Return the keys that are for signatures by one of `algorithms`. A key that is not usable is left out.

    Raises ValueError, which shows nothing of the text, for what is no key set, a set of more than 50 keys,
    and one without a usable key.
    """
    keys: dict[tuple[str, str], Key] = {}
    for member in _members(text):
        for algorithm in algorithms:
            key = _usable_key(member, algorithm)
            if key is not None:
                keys.setdefault((member["kid"], algorithm), key)
    if not keys:
        raise ValueError("the key set holds no usable key")
    return MappingProxyType(keys)


def _members(text: str | bytes) -> list[Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the key set is no JSON") from None
    members = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list):
        raise ValueError('the key set has no list of "keys"')
    if len(members) > KEYS_MAX:
        raise ValueError(f"the key set has more than {KEYS_MAX} keys")
    return members


def _usable_key(member: Any, algorithm: str) -> Key | None:
    """Return a key of the set, None if it is not a public key for signatures by `algorithm`."""
    if not isinstance(member, dict) or not _is_for(member, algorithm):
        return None
    try:
        key = jwt.PyJWK(member, algorithm)
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    return None if member["kty"] == "RSA" and key.key.key_size < RSA_BITS_MIN else key


def _is_for(member: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve, purposes = member.get("kty"), member.get("crv"), member.get("key_ops", ["verify"])
    return (
        is_key_id(member.get("kid"))
        and "d" not in member  # a private key, and no longer anybody's secret
        and isinstance(kind, str)
        and isinstance(curve, str | None)
        and algorithm in FITTING.get((kind, curve), ())
        and member.get("alg", algorithm) == algorithm
        and member.get("use", "sig") == "sig"
        and isinstance(purposes, list)
        and "verify" in purposes
    )

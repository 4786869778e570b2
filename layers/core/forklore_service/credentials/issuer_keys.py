"""An issuer's key set (RFC 7517): reads JSON text into the keys that check tokens."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

import jwt
from cryptography.exceptions import UnsupportedAlgorithm

from forklore_service.domain.users import has_controls

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
"""The algorithms for each type and curve of a key. All are asymmetric."""
ALGORITHMS = frozenset(name for names in FITTING.values() for name in names)

Key = jwt.PyJWK
KeySet = Mapping[tuple[str, str], Key]
"""The usable keys, by key id and algorithm."""


def is_key_id(value: object) -> TypeGuard[str]:
    """Tell whether `value` is text of 1 to 256 characters without control characters."""
    return isinstance(value, str) and 0 < len(value) <= KID_CHARACTERS_MAX and not has_controls(value)


def read_key_set(text: str | bytes, algorithms: Collection[str]) -> KeySet:
    """Return the usable keys for signatures by one of `algorithms`.

    Raises ValueError for a text that is not a key set, for more than 50 keys, and for a set without
    a usable key. The message shows nothing of the text.
    """
    keys: dict[tuple[str, str], Key] = {}
    for fields in _key_list(text):
        for algorithm in algorithms:
            key = _usable_key(fields, algorithm)
            if key is not None:
                keys.setdefault((fields["kid"], algorithm), key)
    if not keys:
        raise ValueError("the key set holds no usable key")
    return MappingProxyType(keys)


def _key_list(text: str | bytes) -> list[Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the key set is no JSON") from None
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise ValueError('the key set has no list of "keys"')
    if len(keys) > KEYS_MAX:
        raise ValueError(f"the key set has more than {KEYS_MAX} keys")
    return keys


def _usable_key(fields: Any, algorithm: str) -> Key | None:
    """Return a key of the set, None if it is not a public key for signatures by `algorithm`."""
    if not isinstance(fields, dict) or not _is_for(fields, algorithm):
        return None
    try:
        key = jwt.PyJWK(fields, algorithm)
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    return None if fields["kty"] == "RSA" and key.key.key_size < RSA_BITS_MIN else key


def _is_for(fields: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve, purposes = fields.get("kty"), fields.get("crv"), fields.get("key_ops", ["verify"])
    return (
        is_key_id(fields.get("kid"))
        and "d" not in fields  # a private key, which is not secret any more
        and isinstance(kind, str)
        and isinstance(curve, str | None)
        and algorithm in FITTING.get((kind, curve), ())
        and fields.get("alg", algorithm) == algorithm
        and fields.get("use", "sig") == "sig"
        and isinstance(purposes, list)
        and "verify" in purposes
    )

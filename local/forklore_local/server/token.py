"""An issuer of tokens, only for `sam local` and for tests.

`python -m forklore_local.server.token USER` prints a token. It signs with a key of its
own, which is in the file KEY_FILE. A deployment trusts it only if its FORKLORE_ISSUER and
FORKLORE_ISSUER_KEYS say so. `--keys` prints what to set.
"""

import argparse
import base64
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from forklore_local.server import places
from forklore_local.server.log import end_with_reader
from forklore_service.domain.users import is_user_id

KEY_FILE = places.cache() / "development-issuer.pem"
ISSUER, AUDIENCE, KEY_ID, ALGORITHM = "https://development.invalid", "forklore", "development", "ES256"
"""No issuer on the internet can have a name that ends in `.invalid` (RFC 2606)."""
HOURS = 12.0


def development_key(file: Path = KEY_FILE) -> ec.EllipticCurvePrivateKey:
    """Return the key in `file`. A missing file is made, readable by its owner only.

    Raises OSError, and ValueError if the file holds something else.
    """
    if not file.exists():
        made = ec.generate_private_key(ec.SECP256R1())
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key = load_pem_private_key(file.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{file} holds another kind of key")
    return key


def key_set(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    """Return the public part as a key set (RFC 7517)."""
    numbers = key.public_key().public_numbers()
    x, y = (base64.urlsafe_b64encode(n.to_bytes(32)).decode().rstrip("=") for n in (numbers.x, numbers.y))
    return {
        "keys": [{"kty": "EC", "crv": "P-256", "kid": KEY_ID, "use": "sig", "alg": ALGORITHM, "x": x, "y": y}]
    }


def make_token(
    user_id: str, key: ec.EllipticCurvePrivateKey, *, issuer: str, audience: str, hours: float, now: float
) -> str:
    """Return a token of a user. now: seconds since 1970."""
    claims: Mapping[str, Any] = {
        "iss": issuer,
        "aud": audience,
        "sub": user_id,
        "iat": int(now),
        "exp": int(now + hours * 3600),
    }
    return jwt.encode(dict(claims), key, algorithm=ALGORITHM, headers={"kid": KEY_ID})


def main(arguments: Sequence[str] | None = None, *, file: Path = KEY_FILE) -> int:
    """Print a token, or several as `user=token,…`, or the key set.

    Exits with 2 for bad arguments.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.keys == bool(chosen.users) or not all(is_user_id(user) for user in chosen.users):
        parser.error("name users, or ask for --keys")
    key = development_key(file)
    if chosen.keys:
        print(json.dumps(key_set(key), separators=(",", ":")))
        return 0
    tokens = {
        user: make_token(
            user, key, issuer=chosen.issuer, audience=chosen.audience, hours=chosen.hours, now=time.time()
        )
        for user in chosen.users
    }
    several = ",".join(f"{user}={token}" for user, token in tokens.items())
    print(several if len(tokens) > 1 else tokens[chosen.users[0]])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m forklore_local.server.token",
        description="Print a development token. Several users make the text for FORKLORE_TEST_TOKENS.",
        epilog=f"Trust it by FORKLORE_ISSUER={ISSUER}, FORKLORE_AUDIENCE={AUDIENCE} and, from --keys, "
        "FORKLORE_ISSUER_KEYS; never where anybody's data is.",
    )
    parser.add_argument("users", nargs="*", metavar="USER", help="a user's id")
    parser.add_argument("--keys", action="store_true", help="print the key set instead")
    parser.add_argument("--issuer", default=ISSUER, help=f"the claim iss ({ISSUER})")
    parser.add_argument("--audience", default=AUDIENCE, help=f"the claim aud ({AUDIENCE})")
    parser.add_argument("--hours", default=HOURS, type=float, help=f"how long it is good ({HOURS:.0f})")
    return parser


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())

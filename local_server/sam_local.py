"""`python -m local_server.sam_local FILE [USER…]`: what `sam local` needs, and a token for each user.

The functions run in containers, with the deployed authorizer. So there is an issuer, whose key is forgotten
at once, and a table in the DynamoDB Local at FORKLORE_DYNAMODB_ENDPOINT, which they reach by another name.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from local_server.embedded import ENDPOINT, TABLE, DatabaseError, open_database
from local_server.template import read_template

TEMPLATE = Path(__file__).parents[1] / "template.yaml"
DEFAULT_ENDPOINT = "http://127.0.0.1:8000"
ISSUER, AUDIENCE, ALGORITHM, KEY_ID = "https://issuer.invalid/", "forklore", "ES256", "local"
CLIENT, API_KEY = "local", "local-key"
API_ID = "1234567890"
"""What `sam local` calls every API (samcli's RequestContextV2)."""
TOKEN_SECONDS = 24 * 3600


def main(file: str, users: Sequence[str]) -> int:
    """Write the settings to `file` and print the tokens; return 1 if there is no DynamoDB."""
    endpoint = os.environ.setdefault(ENDPOINT, DEFAULT_ENDPOINT)
    try:
        open_database(read_template(TEMPLATE).table)
    except DatabaseError as error:
        print(f"{error}\nStart DynamoDB Local, or name another with {ENDPOINT}.", file=sys.stderr)
        return 1
    key = ec.generate_private_key(ec.SECP256R1())
    Path(file).write_text(json.dumps(settings(key, table=os.environ[TABLE], endpoint=endpoint), indent=2))
    print("\n".join(headers(key, users, now_s=int(time.time()))))
    return 0


def headers(key: ec.EllipticCurvePrivateKey, users: Sequence[str], *, now_s: int) -> list[str]:
    """Return a header for each user, and the one of an agent, each with a comment that says whose it is."""
    return [
        *(f"Authorization: Bearer {token(key, user, now_s=now_s)}   # {user}" for user in users),
        f"X-API-Key: {API_KEY}   # an agent, beside a user's",
    ]


def settings(key: ec.EllipticCurvePrivateKey, *, table: str, endpoint: str) -> dict[str, dict[str, str]]:
    """Return the file that `sam local --env-vars` reads. It sets nothing that the template does not name."""
    public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    port = urlsplit(endpoint).port or 80
    return {
        "Parameters": {
            "FORKLORE_API": API_ID,
            "FORKLORE_TABLE": table,
            "FORKLORE_QUEUE": "",
            "FORKLORE_DYNAMODB_ENDPOINT": f"http://host.docker.internal:{port}",
            "FORKLORE_ISSUER": ISSUER,
            "FORKLORE_AUDIENCE": AUDIENCE,
            "FORKLORE_ISSUER_KEYS": json.dumps(
                {"keys": [{**public, "kid": KEY_ID, "alg": ALGORITHM, "use": "sig"}]}
            ),
            "FORKLORE_API_KEY_HASHES": f"{CLIENT}={hashlib.sha256(API_KEY.encode()).hexdigest()}",
            "FORKLORE_ADMINS": "adam",
        }
    }


def token(key: ec.EllipticCurvePrivateKey, user: str, *, now_s: int) -> str:
    """Return a token that says it is `user` for a day."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "iat": now_s, "exp": now_s + TOKEN_SECONDS}
    return jwt.encode(claims, key, algorithm=ALGORITHM, headers={"kid": KEY_ID})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] or ["alice", "bob", "adam"]))

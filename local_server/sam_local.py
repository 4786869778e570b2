"""`python -m local_server.sam_local FILE`: what `sam local` needs to know, and the table that it uses.

Its containers run the deployed authorizer, which is told of the development issuer (`local_server.token`).
They reach the DynamoDB Local at FORKLORE_DYNAMODB_ENDPOINT by another name than this machine does.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from local_server.embedded import ENDPOINT, TABLE, DatabaseError, open_database
from local_server.template import read_template
from local_server.token import AUDIENCE, ISSUER, development_key, key_set

TEMPLATE = Path(__file__).parents[1] / "template.yaml"
DEFAULT_ENDPOINT = "http://127.0.0.1:8000"
CLIENT, API_KEY = "local", "local-key"
ADMIN = "adam"
API_ID = "1234567890"
"""What `sam local` calls every API (samcli's RequestContextV2)."""


def main(file: str) -> int:
    """Make the table and write the settings to `file`; return 1 if there is no DynamoDB."""
    endpoint = os.environ.setdefault(ENDPOINT, DEFAULT_ENDPOINT)
    try:
        open_database(read_template(TEMPLATE).table)
    except DatabaseError as error:
        print(f"{error}\nStart DynamoDB Local, or name another with {ENDPOINT}.", file=sys.stderr)
        return 1
    told = settings(key_set(development_key()), table=os.environ[TABLE], endpoint=endpoint)
    Path(file).write_text(json.dumps(told, indent=2), encoding="utf-8")
    return 0


def settings(keys: Mapping[str, Any], *, table: str, endpoint: str) -> dict[str, dict[str, str]]:
    """Return the file that `sam local --env-vars` reads. keys: the issuer's."""
    return {
        "Parameters": {
            "FORKLORE_API": API_ID,
            "FORKLORE_TABLE": table,
            "FORKLORE_QUEUE": "",
            "FORKLORE_DYNAMODB_ENDPOINT": f"http://host.docker.internal:{urlsplit(endpoint).port or 80}",
            "FORKLORE_ISSUER": ISSUER,
            "FORKLORE_AUDIENCE": AUDIENCE,
            "FORKLORE_ISSUER_KEYS": json.dumps(keys),
            "FORKLORE_API_KEY_HASHES": f"{CLIENT}={hashlib.sha256(API_KEY.encode()).hexdigest()}",
            "FORKLORE_ADMINS": ADMIN,
        }
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

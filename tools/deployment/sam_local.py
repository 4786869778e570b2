"""Write the settings of `sam local` and make its table.

Run it as `python -m tools.deployment.sam_local FILE`.

The containers of `sam local` run the deployed authorizer, with the development issuer of
`forklore_local.server.token`. They reach the DynamoDB at FORKLORE_DYNAMODB_ENDPOINT by another name
than this machine does. API keys and roles are set as for the local server, by FORKLORE_API_KEYS,
_ADMINS, _AUDITORS and _INDEXERS.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forklore_local.server.identity import clients_by_hash
from forklore_local.server.payload import API_ID
from forklore_local.server.store import ENDPOINT, TABLE, DatabaseError, open_table_at, set_environment
from forklore_local.server.token import AUDIENCE, ISSUER, development_key, key_set
from forklore_service.credentials import roles

DEFAULT_ENDPOINT = "http://127.0.0.1:8000"


def main(file: str) -> int:
    """Make the table and write the settings to `file`. Return the exit code.

    The exit code is 1 without a DynamoDB or for a bad setting.
    """
    os.environ.setdefault(ENDPOINT, DEFAULT_ENDPOINT)
    try:
        set_environment()
        open_table_at(os.environ[ENDPOINT])
        told = settings(key_set(development_key()), os.environ)
    except DatabaseError as error:
        print(f"{error}\nStart DynamoDB Local, or name another with {ENDPOINT}.", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"sam_local: {error}", file=sys.stderr)
        return 1
    Path(file).write_text(json.dumps(told, indent=2), encoding="utf-8")
    return 0


def settings(keys: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the file that `sam local --env-vars` reads. keys: the issuer's.

    Raises ValueError, without the key, for API keys that are not `client=key,client=key`.
    """
    hashes = [f"{client_id}={hashed}" for hashed, client_id in clients_by_hash(environ).items()]
    port = urlsplit(environ[ENDPOINT]).port or 80
    return {
        "Parameters": {
            "FORKLORE_API": API_ID,
            "FORKLORE_TABLE": environ[TABLE],
            "FORKLORE_QUEUE": "",
            "FORKLORE_DYNAMODB_ENDPOINT": f"http://host.docker.internal:{port}",
            "FORKLORE_ISSUER": ISSUER,
            "FORKLORE_AUDIENCE": AUDIENCE,
            "FORKLORE_ISSUER_KEYS": json.dumps(keys),
            "FORKLORE_API_KEY_HASHES": ",".join(hashes),
            **{name: environ.get(name, "") for name in roles.SETTINGS.values()},
        }
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

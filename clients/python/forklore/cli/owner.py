"""Who uses which store: the same whenever this user runs a command again."""

import base64
import binascii
import hashlib
import json
from contextlib import suppress
from pathlib import Path

from forklore.cli.settings import InProcess, OnLambda, OverHttp, Target
from forklore.client import jsontext

DATABASE = "forklore.db"


def owner_of(target: Target) -> str:
    """Return a name of the user that does not change when the token is renewed.

    >>> owner_of(OverHttp("http://127.0.0.1:8080", "ann"))
    'ann'
    """
    match target:
        case OverHttp(token=token):
            return _user_of(token or "")
        case OnLambda(user=user) | InProcess(user=user):
            return user


def agent_of(target: Target) -> str | None:
    """Return what tells an agent from others: its name, or over HTTP its key. None: no agent.

    Only agents have a context to write.
    """
    return (target.client_key if isinstance(target, OverHttp) else target.client) or None


def store_of(target: Target, agent: str | None) -> str:
    """Return a digest of a service or a folder, and of who uses it."""
    store: list[object] = [type(target).__name__, owner_of(target), agent]
    if isinstance(target, InProcess):
        store.append(str(Path(target.data).resolve()) if target.data else "")
        with suppress(OSError):  # another folder of the same name is another store
            store.append((Path(target.data or "") / DATABASE).stat().st_ino)
    else:
        store.append(getattr(target, "url", None) or getattr(target, "function", None))
    return hashlib.sha256(jsontext.write(store).encode()).hexdigest()[:16]


def _user_of(token: str) -> str:
    """Return the `sub` of a JSON Web Token, which is not checked here; any other token as it is."""
    parts = token.split(".")
    if len(parts) != 3:
        return token
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return token
    subject = claims.get("sub") if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and subject else token

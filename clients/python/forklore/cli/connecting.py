"""From settings to a client. What a client needs is imported here, when one is made."""

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forklore.cli.exits import SettingsError
from forklore.cli.settings import (
    InProcess,
    OnLambda,
    OverHttp,
    Target,
    file_path,
    profiles_of,
    started_by,
    target_of,
)
from forklore.client.errors import NoAnswerError
from forklore.extras import from_extra

if TYPE_CHECKING:
    from forklore.client.calls import Call, RawAnswer
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.client.transports import Transport


RETRIES = 4
"""Somebody waits: without a service the command ends after about two seconds."""


class _OnThisMachine:
    """A transport to a server of this machine. If nothing listens there, it is not sent again."""

    def __init__(self, inner: "Transport") -> None:
        self._inner = inner

    def send(self, call: "Call", timeout_s: float) -> "RawAnswer":
        """Send once. Raises NoAnswerError if there is no connection."""
        from forklore.client.calls import TransportError

        try:
            return self._inner.send(call, timeout_s)
        except TransportError as error:
            if error.may_have_arrived:
                raise
            raise NoAnswerError(f"there is no server: {error}") from error

    def located(self, url: str) -> str:
        """Return where bytes are, as the transport to the server does."""
        return self._inner.located(url)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def chosen(options: Mapping[str, str], environment: Mapping[str, str]) -> Target:
    """Return the service that options, environment and profile file name. Raises SettingsError."""
    path = file_path(environment, Path("~").expanduser())
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the profile file {path} cannot be read: {error}") from error
    return target_of(options, environment, profiles_of(text), login=_login())


def connected(target: Target, *, makes: bool) -> "Forklore":
    """Return a client of a service. makes: a folder of data that does not exist is made.

    Raises SettingsError if it is not to be made, InputError for what cannot be one, and SystemExit
    if its extra is not installed.
    """
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.client.opening import over_http

    match target:
        case OverHttp(url, token, client_key):
            transport = over_http(url, token, client_key, None)
            here = started_by(url) is not None
            made = Forklore._over(_OnThisMachine(transport) if here else transport, None)
            return made.with_options(retries=RETRIES)
        case OnLambda(function, user, client):
            with from_extra("lambda"):
                made = Forklore.on_lambda(function, user=user, client=client)
            return made.with_options(retries=RETRIES)
        case InProcess(data, user, client):
            if data is not None and not makes and not Path(data).exists():
                raise SettingsError(f"there is no folder {data}: `say` and `import` make one")
            with from_extra("local"):
                from forklore.client.transports.in_process import installed_model

                return Forklore.local(user=user, client=client, data=data, recall=installed_model())


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a user without a name
        return "me"

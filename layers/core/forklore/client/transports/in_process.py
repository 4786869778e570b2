"""Calls to the service in this process. It needs the extra `local`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from forklore.client.calls import Call, RawAnswer
from forklore.client.errors import InputError, UnavailableError
from forklore.client.transports.direct import Identity, input_text

if TYPE_CHECKING:
    from forklore.domain.model import Caller
    from forklore.embedded.service import EmbeddedService


class InProcessTransport:
    """Sends calls to a service. Threads may share it.

    service: closed with the transport that was made by `open`, and by no other one.
    """

    def __init__(self, service: "EmbeddedService", identity: Identity, *, owns: bool = False) -> None:
        self._service = service
        self._caller = _caller(identity)
        self._owns = owns

    @classmethod
    def open(cls, data: str | Path | None, identity: Identity) -> "InProcessTransport":
        """Return the transport to a service that keeps its data in a folder.

        data: the folder, which is made if it is missing; None: everything is forgotten at the end.
        Raises InputError if the folder cannot be used.
        """
        from forklore.extras import needing

        _caller(identity)  # a wrong one is refused before anything is opened
        with needing("local"):
            from forklore.embedded.folder import DataError
            from forklore.embedded.service import EmbeddedService
        try:
            service = EmbeddedService.open(None if data is None else Path(data))
        except DataError as error:
            raise InputError(str(error), details={"field": "data"}) from error
        return cls(service, identity, owns=True)

    def acting_as(self, identity: Identity) -> "InProcessTransport":
        """Return a transport to the same service for another caller."""
        return InProcessTransport(self._service, identity)

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Run the call. timeout_s: not used; the service has a time of its own for each request.

        Raises UnavailableError if the service answers no call any more, such as when its disk is
        full: it would be in vain to try again.
        """
        if self._service.refusal is not None:
            raise UnavailableError(self._service.refusal, code="unavailable")
        response = self._service.call(call.shape.name, json.loads(input_text(call)), self._caller)
        return RawAnswer(response.status, response.text)

    def close(self) -> None:
        """Stop the service, if it was opened here. What runs in the background is left complete."""
        if self._owns:
            self._service.close()


class AsyncInProcessTransport:
    """The same for asyncio and trio: each call runs in a thread."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner

    def acting_as(self, identity: Identity) -> "AsyncInProcessTransport":
        """Return a transport to the same service for another caller."""
        return AsyncInProcessTransport(self._inner.acting_as(identity))

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Run the call."""
        import anyio.to_thread

        return await anyio.to_thread.run_sync(self._inner.send, call, timeout_s)

    async def aclose(self) -> None:
        """Stop the service, if it was opened here."""
        import anyio.to_thread

        await anyio.to_thread.run_sync(self._inner.close)


def _caller(identity: Identity) -> "Caller":
    """Return the caller. Raises InputError for what is no name of a user, a client or a role."""
    from forklore.domain.model import Caller
    from forklore.domain.users import ROLES, is_user_id

    for field, named in (("user", identity.user), ("client", identity.client)):
        if not is_user_id(named) and not (field == "client" and named is None):
            raise InputError(f"{field} cannot be {named!r}", details={"field": field})
    if not ROLES.issuperset(identity.roles):
        raise InputError(f"roles are {', '.join(sorted(ROLES))}", details={"field": "roles"})
    return Caller(identity.user, identity.client, frozenset(identity.roles))

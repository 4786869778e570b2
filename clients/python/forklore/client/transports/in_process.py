"""Calls to the service in this process. It needs the extra `local`."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from forklore.client.calls import Call, RawAnswer
from forklore.client.errors import InputError, UnavailableError
from forklore.client.transports.direct import Identity

if TYPE_CHECKING:
    from forklore_local.in_process.callers import Caller
    from forklore_local.in_process.service import EmbeddedService

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float] | None]]
"""Returns a vector of each text, all of one length; None of a text that it refuses."""
Model: TypeAlias = Embed | Literal["wordllama"]
"""What makes vectors of texts: a function, or the model that the extra `recall` installs."""
LOOK_SECONDS = 0.02
"""How often a call that waits looks for a commit."""


def installed_model() -> Model | None:
    """Return the model of the extra `recall`, if it is installed.

    Raises MissingExtraError without the extra `local`.
    """
    from forklore.extras import needing

    with needing("local"):
        from forklore_local.in_process.models import is_installed
    return "wordllama" if is_installed() else None


class InProcessTransport:
    """Sends calls to a service. Threads may share it.

    service: closed with the transport that was made by `open`, and by no other one.
    """

    def __init__(self, service: "EmbeddedService", identity: Identity, *, owns: bool = False) -> None:
        self._service = service
        self._caller = _caller(identity)
        self._owns = owns

    @classmethod
    def open(
        cls, data: str | Path | None, identity: Identity, recall: Model | None = None
    ) -> "InProcessTransport":
        """Return the transport to a service that keeps its data in a folder.

        data: the folder, which is made if it is missing; None: everything is forgotten at the end.
        recall: makes vectors of texts, by which a search finds what is meant; None: words do.
        Raises InputError if the folder cannot be used, or there is no such model.
        """
        from forklore.extras import needing

        _caller(identity)  # a wrong one is refused before anything is opened
        if data == "":
            raise InputError("data names a folder; None keeps nothing", details={"field": "data"})
        with needing("local"):
            from forklore_local.in_process.folder import DataError
            from forklore_local.in_process.service import EmbeddedService

            if find_spec("pydantic") is None:  # the first call imports it
                raise ModuleNotFoundError("No module named 'pydantic'", name="pydantic")
        try:
            service = EmbeddedService.open(None if data is None else Path(data), recall=recall)
        except DataError as error:
            raise InputError(str(error), details={"field": "data"}) from error
        return cls(service, identity, owns=True)

    def acting_as(self, identity: Identity) -> "InProcessTransport":
        """Return a transport to the same service for another caller."""
        return InProcessTransport(self._service, identity)

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Run the call. timeout_s: not used; the service has a time of its own for each request.

        Raises what `ask` raises.
        """
        held = _Held(lambda: self, call)
        while (answer := held.answer()) is None:
            time.sleep(LOOK_SECONDS)
        return answer

    def located(self, url: str) -> str:
        """Return where bytes are: in a file of this machine."""
        return url

    def moment(self) -> int | None:
        """Return a number that is another one after each commit."""
        return self._service.moment()

    def is_news(self, answer: RawAnswer, after: str | None) -> bool:
        """Tell whether an answer has something new. after: of the call's query."""
        return self._service.is_news(answer.status, answer.text, after)

    def ask(self, call: Call) -> RawAnswer:
        """Run the call once.

        Raises UnavailableError if the service answers no call any more, such as when its disk is
        full: it would be in vain to try again. Raises InputError as HTTP does for what is too long
        or cannot be written as JSON.
        """
        if self._service.refusal is not None:
            raise UnavailableError(self._service.refusal, code="unavailable")
        query, body = call.query(), call.body_text() if call.shape.has_body else None
        try:
            response = self._service.call(
                call.shape.name,
                self._caller,
                path=call.path,
                query=query,
                body=body,
                idempotency_key=call.idempotency_key,
                if_match=call.if_match_header,
                if_none_match=call.if_none_match,
            )
        except RuntimeError as error:
            if self._service.refusal is None:
                raise
            raise UnavailableError(self._service.refusal, code="unavailable") from error
        etag = f'"{response.tag}"' if response.tag else None
        return RawAnswer(response.status, response.text, etag=etag, ask_again_ms=response.ask_again_ms)

    def close(self) -> None:
        """Stop the service, if it was opened here. What runs in the background is left complete."""
        if self._owns:
            self._service.close()


class _Held:
    """A call that is not answered while its answer is no news.

    transport: returns the one that asks. Where the call has no `wait`, the first answer is given.
    """

    def __init__(self, transport: Callable[[], InProcessTransport], call: Call) -> None:
        self._transport, self._call = transport, call
        query = call.query()
        wait, self._after = query.get("wait", "0"), query.get("after")
        self._wait_s = int(wait) if wait.isdecimal() else 0
        self._give_up_at = time.monotonic() + self._wait_s
        self._seen: int | None = None
        self._last: RawAnswer | None = None

    def answer(self) -> RawAnswer | None:
        """Return the answer; None to be called again after LOOK_SECONDS.

        The service is asked anew only after a commit. Raises what `InProcessTransport.ask` raises.
        """
        transport = self._transport()
        if not self._wait_s:
            return transport.ask(self._call)
        moment = transport.moment()
        if self._last is None or moment != self._seen:
            self._seen, self._last = moment, transport.ask(self._call)
        if not transport.is_news(self._last, self._after) and time.monotonic() < self._give_up_at:
            return None
        return self._last if self._last.ask_again_ms is None else replace(self._last, ask_again_ms=0)


class AsyncInProcessTransport:
    """The same for asyncio and trio: each call runs in a thread.

    The service is opened by the first call of any copy, in the thread of that call.
    """

    def __init__(self, opening: "_Opening", identity: Identity, *, owns: bool = False) -> None:
        _caller(identity)
        self._opening = opening
        self._identity = identity
        self._owns = owns

    @classmethod
    def open(
        cls, data: str | Path | None, identity: Identity, recall: Model | None = None
    ) -> "AsyncInProcessTransport":
        """Return the transport to a service that keeps its data in a folder.

        data, recall: as for InProcessTransport. Raises InputError for what is no caller. A folder
        that cannot be used is told by the first call.
        """
        return cls(_Opening(data, identity, recall), identity, owns=True)

    def acting_as(self, identity: Identity) -> "AsyncInProcessTransport":
        """Return a transport to the same service for another caller."""
        return AsyncInProcessTransport(self._opening, identity)

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Run the call. Raises InputError also if the folder cannot be used."""
        import anyio
        import anyio.to_thread

        held = _Held(lambda: self._opening.transport().acting_as(self._identity), call)
        while (answer := await anyio.to_thread.run_sync(held.answer)) is None:  # noqa: ASYNC110 (no signal of other processes)
            await anyio.sleep(LOOK_SECONDS)
        return answer

    def located(self, url: str) -> str:
        """Return where bytes are: in a file of this machine."""
        return url

    def blocking(self) -> "_Late":
        """Return the same transport for threads."""
        return _Late(self._opening, self._identity)

    async def aclose(self) -> None:
        """Stop the service, if it was opened here. A cancelled task stops it as well."""
        import anyio
        import anyio.to_thread

        if self._owns:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._opening.close)


class _Opening:
    """A service that is opened when it is first needed. Threads may share it."""

    def __init__(self, data: str | Path | None, identity: Identity, recall: Model | None) -> None:
        self._data, self._identity, self._recall = data, identity, recall
        self._lock = threading.Lock()
        self._opened: InProcessTransport | None = None
        self._is_closed = False

    def transport(self) -> InProcessTransport:
        """Return the transport that owns the service. Raises InputError, UnavailableError."""
        with self._lock:
            if self._opened is None:
                if self._is_closed:
                    raise UnavailableError("the service is closed", code="unavailable")
                self._opened = InProcessTransport.open(self._data, self._identity, self._recall)
            return self._opened

    def close(self) -> None:
        """Stop the service. One that was not opened is opened no more."""
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()


class _Late:
    """Sends calls to a service that the first one opens."""

    def __init__(self, opening: _Opening, identity: Identity) -> None:
        self._opening, self._identity = opening, identity

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Run the call. Raises InputError also if the folder cannot be used."""
        return self._opening.transport().acting_as(self._identity).send(call, timeout_s)

    def located(self, url: str) -> str:
        """Return where bytes are: in a file of this machine."""
        return url

    def close(self) -> None:
        """Leave the service open."""


def _caller(identity: Identity) -> "Caller":
    """Return the caller. Raises InputError for what is no name of a user, a client or a role."""
    from forklore_local.in_process.callers import CallerError, make_caller

    try:
        return make_caller(identity.user, identity.client, identity.roles)
    except CallerError as error:
        raise InputError(str(error), details={"field": error.field}) from error

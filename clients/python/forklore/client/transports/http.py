"""Calls over HTTP, by httpx2. This module is imported when a client for an address is made."""

import math
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import quote

import anyio
import httpx2

from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.errors import InputError
from forklore.client.transports.addresses import LOOPBACK, located
from forklore.client.transports.places import PerLoop, PerProcess, closed

CONNECT_SECONDS = 5.0
RETRY_AFTER_MAX_S = 30.0
PORT_MAX = 65_535
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""The errors after which the service has seen nothing of a call."""
Credential = str | Callable[[], str] | None
"""A text, or what returns one for each sending, such as a token that is renewed."""
AsyncCredential = str | Callable[[], str | Awaitable[str]] | None
"""The same for asyncio and trio, where it can also be awaited for."""


class HttpTransport:
    """Sends calls to an address. Threads may share it.

    client: a client of httpx2 to use; it is not closed here. None: one is made.
    """

    def __init__(
        self, url: str, *, token: Credential, client_key: Credential, client: httpx2.Client | None = None
    ) -> None:
        self._base = base_of(url)
        self._credentials = (token, client_key)
        how = _how(self._base) if client is None else {}
        self._clients = PerProcess(lambda: httpx2.Client(**how), client)

    def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without a whole answer."""
        client = self._clients.client()
        token, client_key = map(_called, self._credentials)
        arguments = request_of(call, self._base, headers_of(call, token, client_key))
        give_up_at = time.monotonic() + timeout_s
        try:
            with client.stream(**arguments, timeout=_timeout(timeout_s)) as response:
                return answer_of(response, _read(response, give_up_at, timeout_s))
        except TransportError:
            raise
        except Exception as error:
            raise _failure(error, is_closed=client.is_closed) from error

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return located(url, self._base)

    def close(self) -> None:
        """Close the connections."""
        if (client := self._clients.close()) is not None:
            client.close()


class AsyncHttpTransport:
    """The same for asyncio and trio."""

    def __init__(
        self,
        url: str,
        *,
        token: AsyncCredential,
        client_key: AsyncCredential,
        client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._base = base_of(url)
        self._credentials = (token, client_key)
        self._owned = client is None
        how = _how(self._base)
        self._clients = PerLoop(lambda: httpx2.AsyncClient(**how), client)
        self._lock = Lock()
        self._blocking: HttpTransport | None = None

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        """Send once. Raises TransportError without a whole answer."""
        client = await self._clients.client()
        token, client_key = [await _awaited(_called(one)) for one in self._credentials]
        arguments = request_of(call, self._base, headers_of(call, token, client_key))
        try:
            with anyio.move_on_after(timeout_s):
                response = await client.request(**arguments, timeout=_timeout(timeout_s))
                return answer_of(response, response.content)
        except TransportError:
            raise
        except Exception as error:
            raise _failure(error, is_closed=client.is_closed) from error
        raise TransportError(f"no whole answer within {timeout_s:g} s")

    def located(self, url: str) -> str:
        """Return where bytes are. Raises UnexpectedAnswerError for what is not safe."""
        return located(url, self._base)

    def blocking(self) -> HttpTransport:
        """Return a transport for threads to the same address. It is closed with this one.

        Raises InputError if a client of httpx2 was given.
        """
        if not self._owned:
            raise InputError("this call needs a Forklore: no thread can use the client given as `http`")
        token, client_key = self._credentials
        with self._lock:
            if self._blocking is None:
                self._blocking = HttpTransport(self._base, token=token, client_key=client_key)  # type: ignore[arg-type]
                if self._clients.is_closed:
                    self._blocking.close()
            return self._blocking

    async def aclose(self) -> None:
        """Close the connections. Those of another event loop are closed when it ends."""
        await self._clients.aclose()
        with self._lock:
            if self._blocking is not None:
                self._blocking.close()


def base_of(url: str) -> str:
    """Return the address without a slash at its end. Raises InputError for what is no address.

    >>> base_of("http://127.0.0.1:8080/")
    'http://127.0.0.1:8080'
    """
    if any(mark in str(url) for mark in "@?#"):  # what is beside it may be a secret
        said = "an address holds no password, query or fragment: give `token`"
        raise InputError(said, details={"field": "url"})
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise InputError(f"{url!r} is no address: {error}", details={"field": "url"}) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(f"{url!r} is no http:// or https:// address", details={"field": "url"})
    if (parsed.port or 0) > PORT_MAX or ("%" in parsed.host and ":" not in parsed.host):
        raise InputError(f"{url!r} is no address: its host or its port is none", details={"field": "url"})
    return url.rstrip("/")


def headers_of(call: Call, token: object, client_key: object) -> dict[str, bytes]:
    """Return the headers of a call, in UTF-8.

    Raises InputError for a credential that no header can hold. The text does not show it.
    """
    named = {
        "Authorization": _bearer(token),
        "X-API-Key": _text("client_key", client_key),
        "Idempotency-Key": call.idempotency_key,
        "If-Match": call.if_match_header,
        "If-None-Match": call.if_none_match,
        "Content-Type": "application/json" if call.shape.has_body else None,
        "User-Agent": "forklore",
    }
    return {name: _in_header(name, value) for name, value in named.items() if value is not None}


def request_of(call: Call, base: str, headers: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the arguments of httpx2's `request`. Raises InputError for what cannot be sent."""
    path = call.shape.path
    for name, held in call.path.items():
        path = path.replace(f"{{{name}}}", quote(held, safe=""))
    arguments = {"method": call.shape.method, "url": f"{base}{path}", "params": call.query()}
    body = {"content": call.body_text().encode()} if call.shape.has_body else {}
    return {**arguments, "headers": dict(headers), **body}


def answer_of(response: httpx2.Response, content: bytes) -> RawAnswer:
    """Return an answer as plain values. Raises TransportError if its text is not UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise TransportError("the answer is no text") from error
    headers = response.headers
    return RawAnswer(
        response.status_code,
        text,
        request_id=headers.get("x-request-id") or headers.get("apigw-requestid"),
        retry_after_s=retry_after_s(headers.get("retry-after")),
        etag=headers.get("etag"),
        ask_again_ms=int(pace) if (pace := headers.get("forklore-ask-again-ms", "")).isdecimal() else None,
    )


def _read(response: httpx2.Response, give_up_at: float, timeout_s: float) -> bytes:
    parts = []
    for part in response.iter_bytes():
        parts.append(part)
        if time.monotonic() > give_up_at:
            raise TransportError(f"no whole answer within {timeout_s:g} s")
    return b"".join(parts)


def retry_after_s(header: str | None) -> float | None:
    """Return how many seconds a Retry-After asks for, at most RETRY_AFTER_MAX_S; else None.

    >>> retry_after_s("3"), retry_after_s("9999"), retry_after_s("soon"), retry_after_s(None)
    (3.0, 30.0, None, None)
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_S) if math.isfinite(seconds) else None


def _in_header(name: str, value: str) -> bytes:
    try:
        if value.isprintable() and value == value.strip():
            return value.encode()
    except UnicodeEncodeError:
        pass
    raise InputError(f"the header {name} cannot hold this: a control character, or a space at an end")


def _bearer(token: object) -> str | None:
    """Return the header's value; for an empty token one that no header can hold."""
    text = _text("token", token)
    return None if text is None else f"Bearer {text}"


def _text(field: str, credential: object) -> str | None:
    if not isinstance(credential, str | None):
        raise InputError(f"{field} is text, or a function that returns it", details={"field": field})
    return credential


def _called(credential: object) -> object:
    return credential() if callable(credential) else credential


async def _awaited(credential: object) -> object:
    return await credential if isinstance(credential, Awaitable) else credential


def _failure(error: Exception, *, is_closed: bool) -> Exception:
    """Return what an error of a sending stands for.

    One that nobody knows may come after the work.
    """
    if isinstance(error, httpx2.InvalidURL | UnicodeError):
        return InputError(f"this address cannot be sent to: {_said(error)}")
    if is_closed and isinstance(error, RuntimeError):
        return closed()
    return TransportError(_said(error), may_have_arrived=not isinstance(error, NOT_SENT))


def _how(base: str) -> dict[str, Any]:
    """Return how clients are made. They share what is read of the disk: the certificates.

    No proxy of the environment leads to this machine. Its certificates count here, too.
    """
    return {"trust_env": _host(base) not in LOOPBACK, "verify": _Certificates(ssl.PROTOCOL_TLS_CLIENT)}


class _Certificates(ssl.SSLContext):
    """The context of httpx2, made by the first connection that needs one: reading all certificates
    takes longer than most calls over plain HTTP."""

    _protocols: Sequence[str] = ()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        made: ssl.SSLContext = httpx2.create_ssl_context()
        if self._protocols:
            made.set_alpn_protocols([*self._protocols])
        return made

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        self._protocols = tuple(alpn_protocols)
        if "_context" in vars(self):
            self._context.set_alpn_protocols([*self._protocols])

    def wrap_socket(self, *given: Any, **more: Any) -> ssl.SSLSocket:
        return self._context.wrap_socket(*given, **more)

    def wrap_bio(self, *given: Any, **more: Any) -> ssl.SSLObject:
        return self._context.wrap_bio(*given, **more)


def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


def _host(base: str) -> str:
    host: str = httpx2.URL(base).host
    return host


def _said(error: Exception) -> str:
    """Return what went wrong on one line. It holds no header and no body."""
    kind = type(error).__name__
    if isinstance(error, httpx2.LocalProtocolError):  # its text may show a header
        return kind
    return f"{kind} {' '.join(str(error).split())}".rstrip()[:300]

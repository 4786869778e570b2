"""One GET over https, bounded in bytes and in time, without redirects and without a proxy."""

import http.client
import io
import queue
import re
import socket
import ssl
import threading
import time
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

FETCH_SECONDS = 2.0
"""The authorizer's function has time for two fetches and the start of a process."""
BODY_BYTES_MAX = 256 * 1024
HEAD_BYTES_MAX = 64 * 1024
HTTPS_PORT = 443
_PRINTABLE = re.compile(r"[!-~]+")


def is_https_url(url: object) -> bool:
    """Tell whether `url` is https with a host, and without user, password and fragment."""
    return _split(url) is not None


def _split(url: object) -> SplitResult | None:
    if not isinstance(url, str) or not _PRINTABLE.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable and "@" not in parts.netloc and "#" not in url else None


def fetch(url: str, *, seconds: float = FETCH_SECONDS, tls: ssl.SSLContext | None = None) -> bytes:
    """Send a GET and return the body of a 200 response.

    seconds: the limit for everything, also for a body that comes slowly. tls: None for the
    machine's own certificates.
    Raises OSError for an error of the network or of TLS and after the limit. Raises ValueError for
    a response that is not HTTP, not 200 or too long, and for a URL that `is_https_url` refuses.
    """
    parts = _split(url)
    if parts is None or parts.hostname is None:
        raise ValueError("no URL to fetch")
    deadline = time.monotonic() + seconds
    tls = tls or ssl.create_default_context()
    with (
        _connect(parts.hostname, parts.port or HTTPS_PORT, deadline) as plain,
        _encrypted(plain, tls, parts.hostname, deadline) as connection,
    ):
        connection.settimeout(_left(deadline))
        connection.sendall(_request(parts))
        answer = http.client.HTTPResponse(cast(socket.socket, _Incoming(connection, deadline)), method="GET")
        try:
            answer.begin()
            body = answer.read(BODY_BYTES_MAX + 1)
        except http.client.HTTPException:
            raise ValueError("the answer is no HTTP") from None
        if answer.status != http.HTTPStatus.OK or len(body) > BODY_BYTES_MAX:
            raise ValueError("the answer is not 200, or too long")
        return body


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """Return a connection to the first of the host's addresses that answers."""
    refused = OSError("the host has no address")
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            refused = error
    raise refused


def _addresses(host: str, port: int, deadline: float) -> list[Any]:
    """Return the host's addresses.

    A look-up cannot be stopped, so it runs in a thread, and the wait for it ends at the deadline.
    """
    found: queue.SimpleQueue[list[Any] | OSError | ValueError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            found.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        addresses = found.get(timeout=_left(deadline))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(addresses, Exception):
        raise addresses
    return addresses


def _encrypted(plain: socket.socket, tls: ssl.SSLContext, host: str, deadline: float) -> ssl.SSLSocket:
    plain.settimeout(_left(deadline))
    return tls.wrap_socket(plain, server_hostname=host)


def _request(parts: SplitResult) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "User-Agent: forklore",
        "Accept: application/json, */*;q=0.1",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def _left(deadline: float) -> float:
    """Return the seconds until the deadline. Raises TimeoutError after the deadline."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Incoming(io.RawIOBase):
    """The bytes from a connection until a deadline. It is all of a socket that HTTPResponse uses.

    It bounds the bytes, because HTTPResponse never stops reading after a chunk size of -1.
    """

    def __init__(self, connection: ssl.SSLSocket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._bytes_left = HEAD_BYTES_MAX + 2 * BODY_BYTES_MAX  # chunks may add a byte to each byte

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_left(self._deadline))
        received = self._connection.recv_into(buffer)
        self._bytes_left -= received
        if self._bytes_left < 0:
            raise OSError("the answer does not end")
        return received

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

"""One bounded GET by https: no redirects, no proxy, so many bytes at most, never after a deadline."""

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
"""Two fetches and the start of a process fit into the time of the authorizer's function."""
BODY_BYTES_MAX = 256 * 1024
HEAD_BYTES_MAX = 64 * 1024
HTTPS_PORT = 443
_PRINTABLE = re.compile(r"[!-~]+")


def is_https_url(url: object) -> bool:
    """Tell whether `url` is https with a host, and perhaps a port; without user, password or fragment."""
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
    """Return the body of the answer to a GET, if its status is 200.

    seconds: for all of it, however slowly the bytes drip; a slower one is an OSError. tls: by default the
    machine's own certificates.
    Raises OSError for what the network or TLS does not do; ValueError for what is no HTTP, for another
    status, for a body that is too long, and for a URL that `is_https_url` refuses.
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
    """Return a connection to the first of the host's addresses that answers. Raises OSError."""
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
    """Return the host's addresses, looked up in a thread: nothing but waiting no longer ends a look-up.

    Raises OSError, and ValueError for what can be no host's name.
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
    """Return the seconds until the deadline. Raises TimeoutError after it."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Incoming(io.RawIOBase):
    """What comes from a connection until a deadline; as much of a socket as HTTPResponse needs.

    It is bounded here, as HTTPResponse reads on and on where a chunk says that it has -1 bytes.
    """

    def __init__(self, connection: ssl.SSLSocket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._bytes_left = HEAD_BYTES_MAX + 2 * BODY_BYTES_MAX  # each byte of a body may be a chunk, in part

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

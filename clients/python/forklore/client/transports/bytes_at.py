"""Bytes at an address that the service names: of a file here, or over HTTP, by httpx2.

The address is a credential. So a request holds nothing else of one, follows no redirect, and is not
sent by a client of httpx2, which would log the address.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import getproxies, proxy_bypass, url2pathname

import httpx2

from forklore.client.transports.addresses import LOOPBACK

CONNECT_SECONDS = 5.0
PIECE_BYTES = 256 * 1024
PARTIAL = 206
"""The status of an answer with the part that was asked for."""


class CutOffError(Exception):
    """The bytes may not have arrived, or not all came. The text says why, without the address."""


def put(
    method: str, address: str, headers: Mapping[str, str], pieces: Iterable[bytes], timeout_s: float
) -> None:
    """Send bytes once. Raises CutOffError."""
    if address.startswith("file:"):
        with _failing(OSError), os.fdopen(_new_file(address), "wb") as file:
            file.writelines(pieces)
        return
    with _answered(method, address, headers, timeout_s, pieces) as answer:
        if not answer.is_success:
            raise CutOffError(f"status {answer.status_code}")


def pieces_at(address: str, start: int, timeout_s: float) -> Iterator[bytes]:
    """Yield the bytes from a place on. Raises CutOffError."""
    if address.startswith("file:"):
        with _failing(OSError), Path(_path_of(address)).open("rb") as file:
            file.seek(start)
            while piece := file.read(PIECE_BYTES):
                yield piece
        return
    part = {"Range": f"bytes={start}-"} if start else {}
    with _answered("GET", address, part, timeout_s) as answer:
        if not answer.is_success or (start and answer.status_code != PARTIAL):
            raise CutOffError(f"status {answer.status_code}")
        yield from answer.iter_raw()


@contextmanager
def _answered(
    method: str,
    address: str,
    headers: Mapping[str, str],
    timeout_s: float,
    content: Iterable[bytes] | None = None,
) -> Iterator[httpx2.Response]:
    url = httpx2.URL(address)
    is_here = url.host in LOOPBACK
    proxy = None if is_here or proxy_bypass(url.host) else getproxies().get(url.scheme)
    timeout = httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_SECONDS))
    request = httpx2.Request(
        method, url, headers=headers, content=content, extensions={"timeout": timeout.as_dict()}
    )
    verify = httpx2.create_ssl_context()
    with _failing(httpx2.TransportError), httpx2.HTTPTransport(verify=verify, proxy=proxy) as transport:
        answer = transport.handle_request(request)
        answer.request = request
        try:
            yield answer
        finally:
            answer.close()


@contextmanager
def _failing(kind: type[OSError] | type[httpx2.TransportError]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise CutOffError(said or type(error).__name__) from error


def _new_file(address: str) -> int:
    return os.open(_path_of(address), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def _path_of(address: str) -> str:
    return url2pathname(address.removeprefix("file://"))

"""A forwarder in this process, requests to it byte for byte, and stages that behave oddly."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from forklore.cli.exploring.deployment import Stage
from forklore.cli.exploring.forwarder import Forwarder

WAIT_S = 60


@dataclass(frozen=True)
class Answer:
    """What came back. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def forwarder(url: str, files_at: str | None = None) -> Iterator[Forwarder]:
    """Serve the page of a stage. files_at: the origin of the bytes of attachments."""
    stage = Stage(url)
    with Forwarder(stage, files_at=files_at) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            stage.close()


def ask(
    server: Forwarder, method: str, target: str, body: bytes | None = None, /, **headers: str | None
) -> Answer:
    """Send a request as the page does. headers: `_` is for `-`; None leaves a usual one out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=WAIT_S)
    own = {"Host": f"127.0.0.1:{server.server_port}", "Sec-Fetch-Site": "same-origin"}
    named = own | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in named.items():
            if value is not None:
                connection.putheader(name, value.encode())
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        found = connection.getresponse()
        return Answer(found.status, {n.lower(): v for n, v in found.getheaders()}, found.read())
    finally:
        connection.close()


def exchange(server: Forwarder, request: bytes) -> bytes:
    """Send bytes; return all that comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=WAIT_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


Seen = list[tuple[str, str, dict[str, str], bytes]]
"""Method, target, headers and body of each request that a stage got."""


@contextmanager
def odd_stage(answers: Callable[[BaseHTTPRequestHandler], None], port: int = 0) -> Iterator[tuple[str, Seen]]:
    """A server that answers as no stage of forklore does: its address, and what it got.

    port: where it listens; 0 takes a free one.
    """
    seen: Seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            named = {name.lower(): value for name, value in self.headers.items()}
            seen.append((self.command, self.path, named, body))
            answers(self)

        do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


def answering(
    status: int, body: bytes = b"{}", /, **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    """Return what answers always the same. headers: `_` is for `-`."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return answer

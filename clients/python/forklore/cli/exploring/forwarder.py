"""The server of `forklore explore`: it serves the page and sends what it asks to the stage.

It listens on 127.0.0.1 only. It writes no log: a request holds tokens and conversations.
"""

import os
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from forklore.cli.exits import CommandError
from forklore.cli.exploring import rules
from forklore.cli.exploring.deployment import Stage, message
from forklore_local.server import page
from forklore_local.server.asgi import Response
from forklore_local.server.callers import Callers, Headers, Refusal

HOST = "127.0.0.1"
CALLERS = Callers()
BODY_BYTES_MAX = 10 * 1024 * 1024
"""What API Gateway takes. The stage refuses what is too large for its functions."""
UNREAD_BYTES_MAX = 100 * 1024 * 1024
"""How much of a body that is too large is read, so that the browser sees the refusal."""
PART_BYTES = 64 * 1024
CONNECTIONS_MAX = 64
IDLE_SECONDS = 120
SAFE = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of what is not the page: a browser shows it as text at most."""


class Forwarder(ThreadingHTTPServer):
    """Serves until `shutdown`.

    port: where to listen; 0 takes a free one. files_at: the origin of the bytes of attachments.
    Raises CommandError if the port is in use.
    """

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere another program could take the port
    request_queue_size = CONNECTIONS_MAX

    def __init__(self, stage: Stage, port: int = 0, files_at: str | None = None) -> None:
        self.stage = stage
        self.files = page.find_files()
        self.policy = page.policy_with(files_at) if files_at else page.POLICY
        self.id = secrets.token_hex(16)
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = str(error).partition(" (while")[0]
            raise CommandError(f"cannot listen on {HOST} port {port}: {reason}") from error

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/"

    def server_bind(self) -> None:
        """Bind as usual, without a question to DNS for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread. One that is too many is closed."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except Exception:  # no thread could be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing: the browser has closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: Forwarder
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # so that every answer has headers
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1

    def _serve(self) -> None:
        """Answer one request."""
        if not rules.are_headers(self.headers):
            self._refuse(Refusal(400, "A header has no name that a header can have."))
            return
        headers: dict[str, list[str]] = {}
        for name, value in self.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        refusal = CALLERS.refusal(headers)
        if refusal is not None:
            self._refuse(refusal)
            return
        length = rules.body_length(headers, bytes_max=BODY_BYTES_MAX)
        if isinstance(length, Refusal):
            self._skip(headers)
            self._refuse(length)
            return
        body = self.rfile.read(length)
        if len(body) < length:  # the browser has left: what it wanted to say is not known
            self.close_connection = True
            return
        self._send(self._answer(headers, body))

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = do_PUT = do_OPTIONS = _serve  # noqa: N815

    def _answer(self, headers: Headers, body: bytes) -> Response:
        try:
            return self._found(headers, body)
        except Exception as error:  # noqa: BLE001 (the last resort)
            return message(500, f"An error of forklore: {type(error).__name__}.")

    def _found(self, headers: Headers, body: bytes) -> Response:
        if self.path.startswith(rules.API):
            refusal = rules.refusal_of_call(self.command, self.path, headers)
            if refusal is not None:
                return _refused(refusal)
            return self.server.stage.ask(self.command, self.path, rules.headers_to_send(headers), body)
        known, encodings = (", ".join(headers.get(name, ())) for name in ("if-none-match", "accept-encoding"))
        path = self.path.partition("?")[0]
        served = page.answer(
            self.server.files, path, known=known, encodings=encodings, policy=self.server.policy
        )
        if served is None:
            return message(404, "There is nothing at this address.")
        if self.command not in ("GET", "HEAD"):
            return message(405, "The page can only be read.")
        return served

    def _skip(self, headers: Headers) -> None:
        """Read a body that is too large and forget it."""
        left = rules.body_length(headers, bytes_max=UNREAD_BYTES_MAX)
        while isinstance(left, int) and left > 0:
            part = self.rfile.read(min(left, PART_BYTES))
            if not part:
                return
            left -= len(part)

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse, and close the connection: it may hold more of the request."""
        self.close_connection = True
        self._send(_refused(refusal))

    def _send(self, answer: Response) -> None:
        """Send an answer."""
        self.send_response(answer.status)
        names = {name.lower() for name, _ in answer.headers}
        safe = [(name, value) for name, value in SAFE if name.lower() not in names]
        for name, value in (*answer.headers, *safe):
            self.send_header(name, value)
        self.send_header("Forklore-Server", self.server.id)
        self.send_header("Forklore-Stage", self.server.stage.base)
        if self.close_connection:
            self.send_header("Connection", "close")
        has_body = answer.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
        if has_body:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if has_body and self.command != "HEAD":
            self.wfile.write(answer.body)
        self.wfile.flush()

    def send_error(self, code: int, *_said: object, **_more: object) -> None:
        """Refuse what is no request, without its text."""
        self._refuse(Refusal(code, f"This is no request: {HTTPStatus(code).phrase}."))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name there)
        """Write no log."""

    def version_string(self) -> str:
        """Return the header Server."""
        return "forklore"


def _refused(refusal: Refusal) -> Response:
    answer = message(refusal.status, refusal.message)
    if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers.append(("Allow", ", ".join(rules.METHODS)))
    return answer

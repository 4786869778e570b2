"""A proxy between a client and the real local server, that plants faults by a seed."""

import http.client
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from random import Random
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 1.0
"""What clients of the proxy wait for an answer. Slow answers take longer."""
SLOW_SECONDS = TIMEOUT_SECONDS + 0.3
IDLE_SECONDS_MAX = 30.0
WAIT_SECONDS = 0.05
"""What a Retry-After of the proxy asks for."""
FAULTS = {
    "no_fault": 60,
    "reset_before": 5,
    "reset_after": 8,
    "closed_before": 3,
    "answer_lost": 6,
    "truncated": 6,
    "busy": 3,
    "busy_after": 3,
    "busy_with_wait": 3,
    "too_many": 2,
    "html_before": 3,
    "html_after": 3,
    "slow_answer": 1,
    "late_request": 1,
}
"""How often each fault is planted, of all together. `after`: when the service has done the work."""
SENT_ON = {"no_fault", "reset_after", "answer_lost", "truncated", "html_after", "slow_answer"}
SENT_ON |= {"busy_after", "late_request"}


class Proxy(ThreadingTCPServer):
    """Sends requests on to `address`, and plants faults: first each once. planted: how often."""

    allow_reuse_address = True
    daemon_threads = False  # the end waits for requests that are late
    request_queue_size = 64

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = urlsplit(address).netloc
        self.planted: Counter[str] = Counter()
        self.underway = 0
        self._random, self._lock = Random(seed), threading.Lock()
        self._first = self._random.sample(list(FAULTS), len(FAULTS))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fault(self) -> str:
        """Return the fault of the next request."""
        with self._lock:
            drawn = self._random.choices(list(FAULTS), list(FAULTS.values()))
            fault = self._first.pop() if self._first else drawn[0]
            self.planted[fault] += 1
            return fault

    def wait_until_idle(self) -> None:
        """Wait until every request has been answered, also those whose client has given up."""
        give_up_at = time.monotonic() + IDLE_SECONDS_MAX
        while self.underway and time.monotonic() < give_up_at:
            time.sleep(0.02)
        assert not self.underway

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as under way inside this context."""
        with self._lock:
            self.underway += 1
        try:
            yield
        finally:
            with self._lock:
                self.underway -= 1

    def shutdown_request(self, request: Any) -> None:
        """Close the connection without a word, so that a reset is one."""
        self.close_request(request)


@contextmanager
def proxy(address: str, seed: int, kind: type[Proxy] = Proxy) -> Iterator[Proxy]:
    """Run a proxy. At the end it waits for all that is under way; close the clients before."""
    with kind(address, seed) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    server: Proxy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.pass_on
        raise AttributeError(name)

    def pass_on(self) -> None:
        """Answer a request of any method, with or without the service."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.fault()
        with self.server.request():
            self._run(fault, body)

    def _run(self, fault: str, body: bytes) -> None:
        if fault == "late_request" and self.command != "POST":
            fault = "no_fault"  # without a key a late request is as new
        if fault == "late_request":
            time.sleep(SLOW_SECONDS)
        status, headers, answer = self._ask(body) if fault in SENT_ON else (0, {}, b"")
        if fault == "slow_answer":
            time.sleep(SLOW_SECONDS)
        match fault:
            case "no_fault" | "slow_answer" | "late_request":
                self._answer(status, answer, headers)
            case "reset_before" | "reset_after":
                self._end(reset=True)
            case "closed_before" | "answer_lost":
                self._end()
            case "truncated":
                self._answer(status, answer[: len(answer) // 2], headers, length=max(len(answer), 1))
                self._end()
            case "busy" | "busy_after":
                self._answer(503, b'{"message":"Service Unavailable"}')
            case "busy_with_wait":
                self._answer(503, b"", {"Retry-After": str(WAIT_SECONDS)})
            case "too_many":
                self._answer(429, b'{"message":"Too Many Requests"}')
            case "html_before" | "html_after":
                self._answer(502 if fault == "html_before" else 504, b"<html><h1>Bad Gateway</h1></html>")

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.server.address, timeout=30)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            kept = ("content-type", "retry-after", "x-request-id")
            headers = {name: value for name, value in answer.getheaders() if name.lower() in kept}
            return answer.status, headers, answer.read()
        finally:
            connection.close()

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, length: int | None = None
    ) -> None:
        try:
            self.send_response_only(status if length is None or status != 204 else 200)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if status != 204 or length is not None:
                self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the client has given up
            self.close_connection = True

    def _end(self, *, reset: bool = False) -> None:
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:  # the client has closed the connection
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Be silent."""

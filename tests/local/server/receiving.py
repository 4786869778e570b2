"""Receivers of events for tests: a webhook that can be taken away, and functions."""

import http.server
import json
import threading
import time
from collections.abc import Callable
from typing import Any


class Webhook:
    """A webhook on this machine. taken: the events it has answered with 200, in their order.

    answer: returns the status for an event; it may take its time. It is called by several threads.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], int] = lambda _: 200, *, port: int = 0) -> None:
        self.taken: list[dict[str, Any]] = []
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._changed = threading.Condition()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with owner._changed:
                    owner.seen.append(event)
                    owner.headers.append({"path": self.path, **self.headers})
                    owner._changed.notify_all()
                status = answer(event)
                with owner._changed:
                    if status == 200:
                        owner.taken.append(event)
                    owner._changed.notify_all()
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def wait_for(self, count: int, *, seen: bool = False, seconds: float = 60) -> list[dict[str, Any]]:
        """Wait until so many events were taken (or only seen), and return them."""
        events = self.seen if seen else self.taken
        with self._changed:
            assert self._changed.wait_for(lambda: len(events) >= count, seconds), f"{len(events)} of {count}"
            return list(events)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    give_up_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up_at, "it does not come"
        time.sleep(0.02)

"""The receivers of events: a webhook, and a function in a process of its own."""

import contextlib
import http.client
import json
import re
import ssl
import subprocess  # nosec B404 # our own module
import sys
import threading
from collections.abc import Mapping
from os import pathsep
from typing import IO
from urllib.parse import SplitResult, urlsplit

from forklore_local.server.delivery import NotTakenError, Receiver
from forklore_local.server.places import PACKAGES

WEBHOOK_SECONDS = 60.0
"""How long a webhook may take for one step of the exchange, such as its answer."""
CALL_SECONDS = 900.0
"""How long a function may run: as long as one on Lambda. Then its process is ended."""
START_SECONDS = 60.0
ENDED = "its process has ended"
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_PRINTABLE = re.compile(r"[!-~]+")


def open_receiver(named: str, environment: Mapping[str, str]) -> Receiver:
    """Return the receiver that `--on-event` names: a URL, or `module:function`.

    environment: what a function's process has. Raises ValueError, with a line for people, for what
    is neither, and for a function that cannot be imported.
    """
    if re.match(r"https?://", named, re.IGNORECASE):
        return Webhook(named)
    if _FUNCTION.fullmatch(named):
        return FunctionProcess(named, environment)
    raise ValueError("--on-event takes an http or https URL, or a function as module:function")


class Webhook:
    """Posts events to a URL as JSON. An answer of 2xx takes the event; a redirect does not."""

    def __init__(self, url: str) -> None:
        """Raises ValueError for a URL that cannot be used."""
        self._to = _split(url)
        self._tls = ssl.create_default_context() if self._to.scheme == "https" else None

    @property
    def name(self) -> str:
        return f"{self._to.scheme}://{self._to.netloc}"  # the path may hold a secret

    def send(self, event: str) -> None:
        path = (self._to.path or "/") + (f"?{self._to.query}" if self._to.query else "")
        connection = self._connection()
        try:
            headers = {"Content-Type": "application/json", "User-Agent": "forklore", "Connection": "close"}
            connection.request("POST", path, event.encode(), headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise NotTakenError(type(error).__name__) from None
        finally:
            connection.close()
        if not 200 <= status <= 299:
            raise NotTakenError(f"status {status}")

    def close(self) -> None:
        """Leave what is being sent to its thread."""

    def _connection(self) -> http.client.HTTPConnection:
        host, port = str(self._to.hostname), self._to.port
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, timeout=WEBHOOK_SECONDS, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=WEBHOOK_SECONDS)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")  # as the socket does: refuses "a..b"
        is_usable = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        is_usable = False
    if not is_usable or not _PRINTABLE.fullmatch(url) or "#" in url:
        raise ValueError("the URL of --on-event has a host, and neither user, password, blanks nor #")
    return urlsplit(url)


class FunctionProcess:
    """Calls a function in a process of its own, `forklore_local.server.calling`.

    There it has the user's own environment and AWS settings, and the server goes on if it hangs or
    ends. A process that has ended is started again by the next event.
    """

    def __init__(self, named: str, environment: Mapping[str, str]) -> None:
        """Raises ValueError if the function cannot be imported."""
        self._named = named
        paths = [str(PACKAGES), *filter(None, [environment.get("PYTHONPATH")])]
        self._environment = {**environment, "PYTHONPATH": pathsep.join(paths)}
        self._lock = threading.Lock()
        self._is_closed = False
        self._process = _Called(named, self._environment)
        try:
            self._process.wait_until_ready()
        except NotTakenError as error:
            raise ValueError(f"--on-event {named}: {error}") from None

    @property
    def name(self) -> str:
        return self._named

    def send(self, event: str) -> None:
        with self._lock:
            if self._is_closed:
                raise NotTakenError("the server stops")
            if self._process.has_ended:
                self._process.end()
                self._process = _Called(self._named, self._environment)
            process = self._process
        process.wait_until_ready()
        process.call(event)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        self._process.end()


class _Call:
    """A call that waits for its answer: None, or why it failed."""

    def __init__(self) -> None:
        self.is_answered = threading.Event()
        self.failure: str | None = None

    def answer(self, failure: str | None) -> None:
        self.failure = failure
        self.is_answered.set()


class _Called:
    """A running process. It takes lines of JSON, and answers each with one, in any order."""

    def __init__(self, named: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # nosec B603 # our own module
            [sys.executable, "-m", "forklore_local.server.calling", named],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            text=True,
            start_new_session=True,  # Ctrl+C must not end it in the middle of a call
        )
        self._lock = threading.Lock()
        self._ready = _Call()
        self._calls: dict[int, _Call] = {0: self._ready}
        self._next = 1
        self._is_over = False
        threading.Thread(target=self._read, name="forklore-answers", daemon=True).start()

    def wait_until_ready(self) -> None:
        """Wait until the function is imported. Raises NotTakenError if it cannot be."""
        in_time = self._ready.is_answered.wait(START_SECONDS)
        if not in_time or self._ready.failure is not None:
            self.end()
            raise NotTakenError(self._ready.failure or "its module takes too long to import")

    @property
    def has_ended(self) -> bool:
        """Whether the process answers no more calls."""
        return self._is_over or self._process.poll() is not None

    def call(self, event: str) -> None:
        """Call the function with an event. Raises NotTakenError."""
        call = _Call()
        with self._lock:
            if self._is_over:
                raise NotTakenError(ENDED)
            number, self._next = self._next, self._next + 1
            self._calls[number] = call
            try:
                print(f'{{"call":{number},"event":{event}}}', file=self._in, flush=True)
            except (OSError, ValueError):  # the process has ended, or `end` has closed its input
                self._calls.pop(number, None)
                raise NotTakenError(ENDED) from None
        if not call.is_answered.wait(CALL_SECONDS):
            self.end()
            raise NotTakenError(f"it ran for {CALL_SECONDS:.0f} s")
        if call.failure is not None:
            raise NotTakenError(call.failure)

    def end(self) -> None:
        """End the process. It comes first: closing its input waits for who is writing to it."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self._in.close()

    @property
    def _in(self) -> IO[str]:
        assert self._process.stdin
        return self._process.stdin

    def _read(self) -> None:
        """Answer the calls, and at the end of the process those that are left."""
        assert self._process.stdout
        with self._process.stdout as answers:
            for line in answers:
                answered = json.loads(line)
                call = self._calls.pop(answered["call"], None)
                if call is not None:
                    call.answer(answered.get("failure"))
        with self._lock:
            self._is_over = True  # what is written from now on is read by nobody
            left, self._calls = list(self._calls.values()), {}
        for call in left:
            call.answer(ENDED)

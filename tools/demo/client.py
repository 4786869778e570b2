"""The routes of the HTTP API that the demo calls, over httpx. Threads may share a client."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

ATTEMPTS_MAX = 6  # of one request, the first included
RETRY_AFTER_S = 1.0  # when a 503 does not say, and after a broken connection
RETRY_AFTER_MAX_S = 30.0
PAGES_MAX = 100_000  # of one list; a server whose list never ends is an error
PAGE_DEFAULT = 50  # entries, when a request names no limit
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
RETRIED_STATUSES = (429, 503)
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


class ClientError(Exception):
    """A request failed. The message is one line, for people."""


class UnreachableError(ClientError):
    """There was no answer, or every attempt was answered with "try again"."""


class RefusedError(ClientError):
    """The server answered with an error."""


class MalformedAnswerError(ClientError):
    """The server answered with success, but not in the shape of docs/openapi.json."""


class StoppedError(ClientError):
    """Another thread has called stop()."""


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """The fields of an entry that are compared."""

    entry_id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class SeenFork:
    """A row of a fork list. The forked_at fields of the root are None."""

    conversation_id: str
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_position: str | None


class Client:
    """A user's calls to one server.

    user: the bearer token; on the local server that is the user id itself.
    transport, wait: for tests. wait: pauses for some seconds; returns True if stop() was called.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str,
        transport: httpx.BaseTransport | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {user}"},
            timeout=TIMEOUT,
            transport=transport,
            trust_env=httpx.URL(url).host not in LOOPBACK,  # no proxy to this machine
        )
        self._url = url
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._lock = threading.Lock()
        self._requests = 0
        self._retries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.close()

    @property
    def requests(self) -> int:
        """Return how many requests were sent, retries included."""
        return self._requests

    @property
    def retries(self) -> int:
        """Return how many of the requests repeated an earlier one."""
        return self._retries

    def stop(self) -> None:
        """Make every further request of every thread raise StoppedError, and end the waits."""
        self._stopped.set()

    def check_health(self) -> None:
        """Check that the server answers. Raises UnreachableError or RefusedError if it does not."""
        self._send("GET", "/v1/health")

    def append(
        self,
        conversation_id: str,
        *,
        role: str,
        text: str,
        key: str,
        fork_of: str | None = None,
        fork_before: str | None = None,
    ) -> str:
        """Append one history entry and return its id.

        The conversation is created if it does not exist.

        key: the Idempotency-Key, the same for every retry of this append. fork_of, fork_before: the
        conversation to fork and its first entry not inherited; both or neither. Raises
        UnreachableError, RefusedError or MalformedAnswerError.
        """
        body: dict[str, object] = {
            "channel": "history",
            "contentType": "history",
            "content": [{"role": role, "text": text}],
        }
        if fork_of is not None:
            body |= {"forkedAtConversationId": fork_of, "forkedAtEntryId": fork_before}
        answer = self._send(
            "POST",
            f"/v1/conversations/{conversation_id}/entries",
            body=body,
            headers={"Idempotency-Key": key},
        )
        with _expected_shape("the answer to an append"):
            return _text(answer["id"])

    def read_forward(self, conversation_id: str, *, limit: int | None = None) -> list[SeenEntry]:
        """Return the whole view of a conversation, oldest first, by `afterCursor` pages.

        limit: entries of a page; None: the server's default.
        Raises UnreachableError, RefusedError or MalformedAnswerError.
        """
        path = f"/v1/conversations/{conversation_id}/entries"
        seen: list[SeenEntry] = []
        for page in self._pages(path, _limit(limit), "afterCursor"):
            seen += _entries_of(page, limit)
        return seen

    def read_backward(self, conversation_id: str, *, limit: int | None = None) -> list[SeenEntry]:
        """Return the same as read_forward, read from the end by `beforeCursor` pages."""
        path = f"/v1/conversations/{conversation_id}/entries"
        tail_first = self._pages(path, _limit(limit), "beforeCursor", first={"tail": "true"})
        pages = [_entries_of(page, limit) for page in tail_first]
        return [entry for entries in reversed(pages) for entry in entries]

    def list_forks(self, conversation_id: str) -> list[SeenFork]:
        """Return every conversation of the tree, in the server's order.

        Raises UnreachableError, RefusedError or MalformedAnswerError.
        """
        seen: list[SeenFork] = []
        for page in self._pages(f"/v1/conversations/{conversation_id}/forks", {}, "afterCursor"):
            with _expected_shape("a fork list"):
                seen += [
                    SeenFork(
                        _text(fork["conversationId"]),
                        fork.get("forkedAtConversationId"),
                        fork.get("forkedAtEntryId"),
                        fork.get("forkedAtPosition"),
                    )
                    for fork in page["data"]
                ]
        return seen

    def _pages(
        self, path: str, params: dict[str, str], cursor: str, *, first: dict[str, str] | None = None
    ) -> Iterator[Any]:
        """Yield the pages of a list until the field `cursor` is null.

        first: for the first request only.
        """
        extra = first or {}
        followed: set[str] = set()
        for _ in range(PAGES_MAX):
            page = self._send("GET", path, params=params | extra)
            yield page
            with _expected_shape("a list"):
                following = page[cursor]
                if following is None:
                    return
                extra = {cursor: _text(following)}
            if following in followed:
                raise MalformedAnswerError(f"GET {path}: the {cursor} {following} came twice")
            followed.add(following)
        raise MalformedAnswerError(f"GET {path}: no end after {PAGES_MAX} pages")

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Return the JSON of a successful answer. Makes up to ATTEMPTS_MAX attempts."""
        trouble = ""
        for attempt in range(ATTEMPTS_MAX):
            if self._stopped.is_set():
                raise StoppedError("stopped")
            self._count(retry=attempt > 0)
            pause_s = RETRY_AFTER_S
            try:
                response = self._http.request(method, path, params=params, json=body, headers=headers)
            except (
                httpx.ConnectError,
                httpx.ConnectTimeout,
                httpx.UnsupportedProtocol,
                httpx.ProxyError,
            ) as error:
                raise UnreachableError(f"no server at {self._url}: {_line(str(error))}") from error
            except httpx.RequestError as error:  # all requests here may be repeated
                trouble = f"{type(error).__name__} {_line(str(error))}".rstrip()
            else:
                if response.status_code not in RETRIED_STATUSES:
                    return _body_of(response)
                trouble = str(response.status_code)
                pause_s = retry_after_s(response.headers.get("Retry-After"))
            if attempt + 1 < ATTEMPTS_MAX:
                self._wait(pause_s)
        raise UnreachableError(f"{method} {path}: gave up after {ATTEMPTS_MAX} attempts, the last: {trouble}")

    def _count(self, *, retry: bool) -> None:
        with self._lock:
            self._requests += 1
            self._retries += retry


def retry_after_s(header: str | None) -> float:
    """Return how many seconds to wait, at most RETRY_AFTER_MAX_S.

    It is RETRY_AFTER_S if the header does not give seconds.

    >>> retry_after_s("3"), retry_after_s("9999"), retry_after_s("Wed, 21 Oct 2026 07:28:00 GMT")
    (3.0, 30.0, 1.0)
    """
    if header is None or not (header.isascii() and header.isdigit()):
        return RETRY_AFTER_S
    return min(float(header), RETRY_AFTER_MAX_S)


def _body_of(response: httpx.Response) -> Any:
    """Return the JSON of a 2xx.

    Raises RefusedError, with the server's message, for any other status.
    """
    request = f"{response.request.method} {response.request.url.path}"
    try:
        body = response.json()
    except ValueError as error:
        if response.is_success:
            raise MalformedAnswerError(f"{request}: {response.status_code} without JSON") from error
        body = None
    if response.is_success:
        return body
    said = body if isinstance(body, dict) else {}
    details = said.get("details")
    words = [
        said.get("code"),
        said.get("error"),
        details.get("message") if isinstance(details, dict) else None,
    ]
    reason = ": ".join(dict.fromkeys(str(word) for word in words if word)) or response.reason_phrase
    raise RefusedError(f"{request}: {response.status_code} {_line(reason)}")


def _entries_of(page: Any, limit: int | None) -> list[SeenEntry]:
    with _expected_shape("a page of entries"):
        entries = [
            SeenEntry(_text(entry["id"]), _text(content["role"]), _text(content["text"]))
            for entry in page["data"]
            for content in entry["content"]
        ]
    if len(entries) > (limit or PAGE_DEFAULT):
        raise MalformedAnswerError(f"a page of {len(entries)} entries, limit {limit or PAGE_DEFAULT}")
    return entries


@contextmanager
def _expected_shape(what: str) -> Iterator[None]:
    """Turn the errors of reading an unexpected shape into MalformedAnswerError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise MalformedAnswerError(f"{what} is not as docs/openapi.json says: {error!r}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _limit(limit: int | None) -> dict[str, str]:
    return {} if limit is None else {"limit": str(limit)}


def _line(text: str) -> str:
    """Return the text on one line, at most 300 characters of it."""
    return " ".join(text.split())[:300]

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tools.demo.client import (
    ATTEMPTS_MAX,
    Client,
    MalformedAnswerError,
    RefusedError,
    SeenEntry,
    SeenFork,
    StoppedError,
    UnreachableError,
    retry_after_s,
)

Handler = Callable[[httpx.Request], httpx.Response]


class Wire:
    """Gives a client the scripted answers, repeats the last one, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        self.client = Client(
            "http://test/stage", user="ann", transport=httpx.MockTransport(self._answer), wait=self._wait
        )
        self._answers = list(answers)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False

    def append(self) -> str:
        with self.client:
            return self.client.append("c1", role="USER", text="hi 🍅", key="k1")

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def created(entry_id: str = "e1") -> httpx.Response:
    return httpx.Response(201, json={"id": entry_id})


def busy(retry_after: str | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx.Response(503, headers=headers, json={"code": "unavailable"})


def page(*texts: str, **cursors: str) -> httpx.Response:
    data = [{"id": text, "content": [{"role": "USER", "text": text}]} for text in texts]
    return httpx.Response(200, json={"data": data, "afterCursor": None, "beforeCursor": None} | cursors)


def entries(*texts: str) -> list[SeenEntry]:
    return [SeenEntry(text, "USER", text) for text in texts]


def test_an_append_names_the_caller_the_key_and_the_entry() -> None:
    wire = Wire(created())

    assert wire.append() == "e1"
    (request,) = wire.requests
    assert (request.method, str(request.url)) == ("POST", "http://test/stage/v1/conversations/c1/entries")
    assert request.headers["Authorization"] == "Bearer ann"
    assert request.headers["Idempotency-Key"] == "k1"
    assert wire.bodies() == [
        {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi 🍅"}]}
    ]


def test_an_append_that_forks_names_the_source_and_the_first_entry_not_inherited() -> None:
    wire = Wire(created())

    wire.client.append("c1", role="AI", text="x", key="k1", fork_of="c0", fork_before="e0")

    assert wire.bodies()[0]["forkedAtConversationId"] == "c0"
    assert wire.bodies()[0]["forkedAtEntryId"] == "e0"


def test_a_503_is_repeated_with_the_same_key_after_the_pause_that_it_names() -> None:
    wire = Wire(busy("3"), busy(), created())

    assert wire.append() == "e1"
    assert wire.waits == [3.0, 1.0]
    assert {(request.headers["Idempotency-Key"], request.content) for request in wire.requests} == {
        ("k1", wire.requests[0].content)
    }
    assert (wire.client.requests, wire.client.retries) == (3, 2)


def test_a_503_that_does_not_end_is_given_up() -> None:
    wire = Wire(busy("0"))

    with pytest.raises(UnreachableError, match="gave up after 6 attempts, the last: 503"):
        wire.append()
    assert len(wire.requests) == ATTEMPTS_MAX
    assert len(wire.waits) == ATTEMPTS_MAX - 1


def test_a_connection_that_breaks_half_way_is_tried_again_with_the_same_key() -> None:
    wire = Wire(httpx.ReadError("reset"), httpx.RemoteProtocolError("closed"), created())

    assert wire.append() == "e1"
    assert [request.headers["Idempotency-Key"] for request in wire.requests] == ["k1"] * 3


def test_a_server_that_is_not_there_is_not_tried_again() -> None:
    wire = Wire(httpx.ConnectError("refused"))

    with pytest.raises(UnreachableError, match="no server at http://test/stage: refused"):
        wire.append()
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("7", 7.0), ("100000", 30.0), (None, 1.0), ("soon", 1.0), ("-5", 1.0), ("²", 1.0)],
)
def test_a_pause_is_bounded_whatever_the_header_says(header: str | None, seconds: float) -> None:
    assert retry_after_s(header) == seconds


def test_a_refusal_says_what_the_server_said_and_is_not_repeated() -> None:
    error = {
        "code": "validation_error",
        "error": "validation failed",
        "details": {"message": "text is too long"},
    }
    wire = Wire(httpx.Response(400, json=error))

    with pytest.raises(RefusedError) as caught:
        wire.append()
    assert str(caught.value) == (
        "POST /stage/v1/conversations/c1/entries: 400 validation_error: validation failed: text is too long"
    )
    assert len(wire.requests) == 1


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"message": "Bad Gateway"}'])
def test_an_error_in_another_shape_is_a_refusal_too(content: bytes) -> None:
    with pytest.raises(RefusedError, match="502 Bad Gateway"):
        Wire(httpx.Response(502, content=content)).append()


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b'{"id": 5}', b"null"])
def test_a_success_in_another_shape_is_a_malformed_answer(content: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        Wire(httpx.Response(201, content=content)).append()


def test_reading_forward_follows_the_cursor_through_short_and_empty_pages() -> None:
    wire = Wire(page("a", "b", afterCursor="b"), page(afterCursor="x"), page("c", afterCursor="c"), page())

    assert wire.client.read_forward("c1", limit=2) == entries("a", "b", "c")
    assert [dict(request.url.params) for request in wire.requests] == [
        {"limit": "2"},
        {"limit": "2", "afterCursor": "b"},
        {"limit": "2", "afterCursor": "x"},
        {"limit": "2", "afterCursor": "c"},
    ]


def test_reading_forward_without_a_limit_asks_for_none() -> None:
    wire = Wire(page("a", beforeCursor="a"))

    assert wire.client.read_forward("c1") == entries("a")
    assert [dict(request.url.params) for request in wire.requests] == [{}]


def test_reading_backward_starts_at_the_tail_and_puts_the_pages_in_order() -> None:
    wire = Wire(
        page("d", "e", beforeCursor="d", afterCursor="e"), page("b", "c", beforeCursor="b"), page("a")
    )

    assert wire.client.read_backward("c1", limit=2) == entries("a", "b", "c", "d", "e")
    assert [dict(request.url.params) for request in wire.requests] == [
        {"limit": "2", "tail": "true"},
        {"limit": "2", "beforeCursor": "d"},
        {"limit": "2", "beforeCursor": "b"},
    ]


def test_a_cursor_that_comes_twice_does_not_read_for_ever() -> None:
    with pytest.raises(MalformedAnswerError, match="came twice"):
        Wire(page("a", afterCursor="a")).client.read_forward("c1")


def test_a_page_longer_than_its_limit_is_a_malformed_answer() -> None:
    with pytest.raises(MalformedAnswerError, match="a page of 3 entries, limit 2"):
        Wire(page("a", "b", "c")).client.read_forward("c1", limit=2)
    with pytest.raises(MalformedAnswerError, match="a page of 51 entries, limit 50"):
        Wire(page(*(["a"] * 51))).client.read_forward("c1")


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {"data": []},
        {"data": None, "afterCursor": None},
        {"data": [], "afterCursor": 5},
        {"data": [{"id": "e1"}], "afterCursor": None},
        {"data": [{"id": "e1", "content": [{"role": "USER"}]}], "afterCursor": None},
    ],
)
def test_a_list_in_another_shape_is_a_malformed_answer(body: object) -> None:
    with pytest.raises(MalformedAnswerError):
        Wire(httpx.Response(200, json=body)).client.read_forward("c1")


def test_the_fork_list_has_all_pages() -> None:
    fork = {"forkedAtConversationId": "c0", "forkedAtEntryId": "e1", "forkedAtPosition": "before"}
    wire = Wire(
        httpx.Response(200, json={"data": [{"conversationId": "c0", "title": "x"}], "afterCursor": "c0"}),
        httpx.Response(200, json={"data": [{"conversationId": "c1"} | fork], "afterCursor": None}),
    )

    assert wire.client.list_forks("c0") == [
        SeenFork("c0", None, None, None),
        SeenFork("c1", "c0", "e1", "before"),
    ]
    assert [dict(request.url.params) for request in wire.requests] == [{}, {"afterCursor": "c0"}]


def test_after_stop_nothing_more_is_sent() -> None:
    wire = Wire(created())
    wire.client.stop()

    with pytest.raises(StoppedError):
        wire.append()
    assert wire.requests == []


def test_stop_ends_a_pause() -> None:
    stoppers: list[threading.Timer] = []

    def answer(request: httpx.Request) -> httpx.Response:
        stoppers.append(threading.Timer(0.05, client.stop))
        stoppers[0].start()
        return busy("30")

    with Client("http://test", user="ann", transport=httpx.MockTransport(answer)) as client:
        started = time.monotonic()
        with pytest.raises(StoppedError):
            client.check_health()
        assert time.monotonic() - started < 20
    (stopper,) = stoppers
    stopper.join()


@pytest.fixture
def scripted_server() -> Iterator[tuple[str, list[str]]]:
    """Run a server that is busy once and then accepts every append; yield the keys it gets."""
    keys: list[str] = []

    class IdempotencyKey(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Idempotency-Key"])
            body = json.dumps({"id": "e1"}).encode()
            self.send_response(503 if len(keys) == 1 else 201)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), IdempotencyKey) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", keys
        server.shutdown()
        thread.join()


def test_a_503_is_repeated_over_a_real_socket(scripted_server: tuple[str, list[str]]) -> None:
    url, keys = scripted_server

    with Client(url, user="ann") as client:
        assert client.append("c1", role="USER", text="hi", key="k1") == "e1"
    assert keys == ["k1", "k1"]

"""What both readers of HTTP/1.1 do alike: httptools, as it is used here, and h11."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn

from forklore_local.server.protocol import HEAD_BYTES_MAX, READS_HTTP
from forklore_local.server.server import _listen

HOST = b"Host: 127.0.0.1\r\n"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"
AGAIN = b"GET /again HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
ASKS_FOR_ANOTHER = b"POST /one HTTP/1.1\r\n" + HOST + UPGRADE + b"Content-Length: 4\r\n\r\nbody"
SECONDS_MAX = 20.0


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    told = json.dumps({"path": scope["path"], "headers": headers, "body": body.decode()}).encode()
    length = [(b"content-length", str(len(told)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture(scope="module", params=["h11", READS_HTTP], ids=["h11", "ours"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that says what it has read."""
    settings: dict[str, Any] = {"http": request.param, "ws": "none", "lifespan": "off", "log_config": None}
    server = uvicorn.Server(uvicorn.Config(echo, log_level="critical", **settings))
    listener = _listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(SECONDS_MAX)


def sent(port: int, *pieces: bytes) -> bytes:
    """Return what is answered until the connection is closed."""
    answered = b""
    with socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(ConnectionError):  # it was closed before all was sent
            for number, piece in enumerate(pieces):
                time.sleep(0.02 if number else 0)
                connection.sendall(piece)
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                answered += piece
    return answered


def bodies(answered: bytes) -> list[Any]:
    """Return what was read, of each answer."""
    lines = answered.replace(b"HTTP/1.1", b"\r\nHTTP/1.1").split(b"\r\n")
    return [json.loads(line) for line in lines if line.startswith(b"{")]


@pytest.mark.parametrize("at", [0, 3, 60, len(ASKS_FOR_ANOTHER) - 6, len(ASKS_FOR_ANOTHER) - 2])
def test_a_request_that_asks_for_another_protocol_is_read_with_its_body(port: int, at: int) -> None:
    pieces = [ASKS_FOR_ANOTHER[:at], ASKS_FOR_ANOTHER[at:]] if at else [ASKS_FOR_ANOTHER]

    read = bodies(sent(port, *pieces, AGAIN))

    assert [(one["path"], one["body"]) for one in read] == [("/one", "body"), ("/again", "")]


def test_one_behind_another_is_never_read_twice(port: int) -> None:
    first = b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n"

    read = bodies(sent(port, first + ASKS_FOR_ANOTHER, AGAIN))

    paths = [one["path"] for one in read]
    assert len(paths) == len(set(paths))


def test_a_header_behind_the_body_is_left_out(port: int) -> None:
    chunked = b"POST /one HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n"

    [read, _] = bodies(sent(port, chunked, b"Authorization: Bearer eve\r\n\r\n", AGAIN))

    assert (read["body"], "authorization" in read["headers"]) == ("body", False)


def test_blanks_around_a_value_are_none_of_it(port: int) -> None:
    [read] = bodies(sent(port, AGAIN[:-2] + b"If-Match: \t a b \t \r\n\r\n"))

    assert read["headers"]["if-match"] == "a b"


def test_a_target_that_names_a_host_is_no_path(port: int) -> None:
    [read] = bodies(sent(port, AGAIN.replace(b"/again", b"http://other/again?a=b")))

    assert read["path"] == "http://other/again"


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\n" + HOST + b"X: ",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX: ",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n4;x=",
    ],
    ids=["head", "trailer", "size of a chunk"],
)
def test_what_does_not_end_is_refused(port: int, begun: bytes) -> None:
    pieces = [b"x" * (HEAD_BYTES_MAX // 4)] * 12

    assert sent(port, begun, *pieces).startswith(b"HTTP/1.1 400 ")


def test_a_long_body_in_pieces_is_read_whole(port: int) -> None:
    head = b"POST /one HTTP/1.1\r\n" + HOST + b"Content-Length: 300000\r\n\r\n"

    [read, _] = bodies(sent(port, head, *[b"x" * 100_000] * 3, AGAIN))

    assert read["body"] == "x" * 300_000

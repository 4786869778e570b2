"""The transport over HTTP, against a server that shows what it got."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from forklore import (
    AsyncForklore,
    Forklore,
    InputError,
    NoAnswerError,
    UnexpectedAnswerError,
)
from forklore.client.calls import Call, RawAnswer, TransportError
from forklore.client.generated.operations import SHAPES
from forklore.client.transports.http import AsyncHttpTransport, HttpTransport, retry_after_s
from tests.clients.python.ways import MODES
from tests.service.credentials.publisher import certified

ID = "00000000-0000-4000-8000-000000000001"
SECRET = "a-secret-token"


class Shows(BaseHTTPRequestHandler):
    """Answers with what it got. `/slow` in the path: a byte at a time."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, Any]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.show
        raise AttributeError(name)

    def show(self) -> None:
        """Answer a request of any method."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = [(name.lower(), value.encode("latin-1").decode()) for name, value in self.headers.items()]
        shown = {"method": self.command, "path": self.path, "headers": dict(headers), "body": body.decode()}
        self.seen.append(shown)
        if "slow" in self.path:
            self._trickle()
        elif "elsewhere" in self.path:
            self._answer(302, b"", Location="/v1/other")
        elif "latin" in self.path:
            self._answer(200, b'"\xe9"')
        elif "busy" in self.path:
            self._answer(503, b"busy", **{"Retry-After": "2", "apigw-requestid": "of the gateway"})
        else:
            self._answer(200, json.dumps(shown).encode(), **{"X-Request-Id": "of the service"})

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.close_connection = True
        stop: threading.Event = self.server.stop  # type: ignore[attr-defined]
        try:
            while not stop.wait(0.02):
                self.wfile.write(b" ")
                self.wfile.flush()
        except OSError:
            pass

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Be silent."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shows)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.stop = threading.Event()  # type: ignore[attr-defined]
    Shows.seen = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"https://localhost:{server.server_port}" if tls else f"http://127.0.0.1:{server.server_port}"
    server.stop.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


def sent(transport: HttpTransport, operation: str, **given: Any) -> RawAnswer:
    return transport.send(Call.of(SHAPES[operation], given), 5.0)


def shown(answer: RawAnswer) -> dict[str, Any]:
    value: dict[str, Any] = answer.value()
    return value


def opened(address: str, **more: Any) -> HttpTransport:
    return HttpTransport(address, **{"token": SECRET, "client_key": None, **more})


def test_a_call_has_credentials_a_key_and_a_body(address: str) -> None:
    transport = opened(address, client_key="key=of=agent")
    call = Call.of(
        SHAPES["appendEntry"],
        {"conversationId": ID, "contentType": "x", "content": ["é"]},
        idempotency_key="k",
        if_match=ID,
    )
    answer = transport.send(call, 5.0)
    seen = shown(answer)

    assert (seen["method"], seen["path"]) == ("POST", f"/v1/conversations/{ID}/entries")
    assert seen["body"] == '{"contentType":"x","content":["é"]}'
    expected = {
        "authorization": f"Bearer {SECRET}",
        "x-api-key": "key=of=agent",
        "idempotency-key": "k",
        "if-match": f'"{ID}"',
        "content-type": "application/json",
        "user-agent": "forklore",
    }
    assert expected.items() <= seen["headers"].items()
    assert answer.request_id == "of the service"
    transport.close()


def test_a_call_without_credentials_and_body_has_no_header_for_them(address: str) -> None:
    transport = opened(address, token=None)
    seen = shown(sent(transport, "getConversation", conversationId=ID))

    assert {"authorization", "x-api-key", "idempotency-key", "if-match", "content-type"}.isdisjoint(
        seen["headers"]
    )
    assert seen["body"] == ""
    transport.close()


def test_what_stands_in_the_query_is_quoted(address: str) -> None:
    transport = opened(f"{address}/base/")
    seen = shown(
        sent(
            transport,
            "listEntries",
            conversationId=ID,
            tail=True,
            own=False,
            limit=5,
            afterCursor="a+b&c=d é",
        )
    )

    path, _, query = seen["path"].partition("?")
    assert path == f"/base/v1/conversations/{ID}/entries"
    assert httpx2.QueryParams(query).multi_items() == [
        ("afterCursor", "a+b&c=d é"),
        ("limit", "5"),
        ("own", "false"),
        ("tail", "true"),
    ]
    transport.close()


def test_credentials_may_be_functions_which_are_asked_for_each_sending(address: str) -> None:
    tokens = iter(["first", "second"])
    transport = opened(address, token=lambda: next(tokens), client_key=lambda: "key")

    seen = [shown(sent(transport, "checkHealth"))["headers"] for _ in range(2)]
    assert [one["authorization"] for one in seen] == ["Bearer first", "Bearer second"]
    assert [one["x-api-key"] for one in seen] == ["key", "key"]
    transport.close()


@pytest.mark.parametrize("trusts", [True, False])
@pytest.mark.parametrize("is_async", [False, True])
def test_https_is_checked_by_the_certificates_which_the_first_connection_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_async: bool, trusts: bool
) -> None:
    server, _ = certified(tmp_path)
    read: list[ssl.SSLContext] = []
    original = httpx2.create_ssl_context
    if trusts:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))

    def create() -> ssl.SSLContext:
        read.append(original())
        return read[-1]

    async def sent_so(address: str) -> RawAnswer:
        transport = AsyncHttpTransport(address, token=SECRET, client_key=None)
        assert not read
        try:
            return await transport.send(Call.of(SHAPES["checkHealth"], {}), 5.0)
        finally:
            await transport.aclose()

    monkeypatch.setattr(httpx2, "create_ssl_context", create)

    def sent_now(address: str) -> RawAnswer:
        transport = opened(address)
        assert not read
        try:
            return sent(transport, "checkHealth")
        finally:
            transport.close()

    with serving(server) as address:
        ask = partial(anyio.run, sent_so, address) if is_async else partial(sent_now, address)
        if trusts:
            assert shown(ask())["path"] == "/v1/health"
        else:
            with pytest.raises(TransportError, match=r"(?i)certificate"):
                ask()
    assert len(read) == 1


def test_a_credential_may_have_letters_beyond_ascii(address: str) -> None:
    transport = opened(address, token="zoë", client_key="ключ")

    headers = shown(sent(transport, "checkHealth"))["headers"]
    assert (headers["authorization"], headers["x-api-key"]) == ("Bearer zoë", "ключ")
    transport.close()


@pytest.mark.parametrize(
    "secret", ["secret\n", "secret ", " secret\x00", "secret\r\nX: y", "", "\ud800secret"]
)
def test_a_credential_that_no_header_can_hold_is_refused_without_being_shown(
    address: str, secret: str
) -> None:
    transport = opened(address, token=secret)
    with pytest.raises(InputError, match="the header Authorization") as caught:
        sent(transport, "checkHealth")

    assert "secret" not in f"{caught.value!r} {caught.value}"
    transport.close()


def test_a_token_is_in_no_error_and_in_no_repr(address: str) -> None:
    client = Forklore("http://127.0.0.1:9", token=SECRET, client_key=SECRET, retries=0)
    with pytest.raises(NoAnswerError) as caught:
        client.api.check_health()

    held = [caught.value, caught.value.__cause__, client, client.api, client.named("x"), client._transport]
    assert not [one for one in held if SECRET in repr(one) or SECRET in str(one)]
    client.close()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080", "ftp://h", "http://", "https:///v1", "http://[::1", None, 5]
)
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(InputError) as caught:
        Forklore(url)
    assert caught.value.field == "url"
    with pytest.raises(InputError):
        AsyncForklore(url)


@pytest.mark.parametrize("url", ["http://h/?a=b", "http://h?", "http://h/#x", f"http://ann:{SECRET}@h"])
def test_an_address_holds_nothing_more(url: str) -> None:
    with pytest.raises(InputError) as caught:
        Forklore(url)
    assert SECRET not in str(caught.value)


def test_no_proxy_of_the_environment_is_used_for_this_machine(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    for transport in (opened(address), opened(address.replace("127.0.0.1", "localhost"))):
        assert sent(transport, "checkHealth").status == 200
        transport.close()
    with pytest.raises(TransportError):
        sent(opened("http://forklore.invalid"), "checkHealth")


def test_a_redirect_is_not_followed_so_no_credential_goes_elsewhere(address: str) -> None:
    transport = opened(address)
    before = len(Shows.seen)
    answer = sent(transport, "getConversation", conversationId="elsewhere")

    assert answer.status == 302
    assert len(Shows.seen) == before + 1
    transport.close()


def test_an_answer_has_the_wait_and_the_request_id_of_a_gateway(address: str) -> None:
    transport = opened(address)
    answer = sent(transport, "getConversation", conversationId="busy")

    assert answer == RawAnswer(503, "busy", request_id="of the gateway", retry_after_s=2.0)
    transport.close()


def test_an_answer_that_is_no_text_is_no_answer(address: str) -> None:
    transport = opened(address)
    with pytest.raises(TransportError, match="no text"):
        sent(transport, "getConversation", conversationId="latin")
    transport.close()


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_that_trickles_in_ends_with_the_timeout(address: str, mode: str) -> None:
    call = Call.of(SHAPES["getConversation"], {"conversationId": "slow"})

    async def send() -> None:
        transport = AsyncHttpTransport(address, token=None, client_key=None)
        try:
            await transport.send(call, 0.2)
        finally:
            await transport.aclose()

    ask: Callable[[], Any] = (
        partial(opened(address).send, call, 0.2) if mode == "sync" else partial(anyio.run, send, backend=mode)
    )
    with pytest.raises(TransportError, match=r"within 0\.2 s|timed out"):  # if one part took as long
        ask()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_call_leaves_the_client_usable(address: str, backend: str) -> None:
    async def use() -> int:
        async with AsyncForklore(address, token="ann") as client:
            for _ in range(3):
                with anyio.move_on_after(0.1) as scope:
                    await client.call("getConversation", {"conversationId": "slow"})
                assert scope.cancelled_caught
            return (await client.call("checkHealth")).status

    assert anyio.run(use, backend=backend) == 200


def test_an_answer_of_another_service_is_told_from_forklores(address: str) -> None:
    with Forklore(address) as client, pytest.raises(UnexpectedAnswerError, match="no id"):
        client.api.get_conversation(ID)


def test_a_client_of_the_callers_own_is_used_and_not_closed(address: str) -> None:
    http = httpx2.Client(headers={"X-Mine": "yes"})
    with Forklore(address, http=http) as client:
        assert client.call("checkHealth").value()["headers"]["x-mine"] == "yes"

    assert not http.is_closed
    http.close()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("9999", 30.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2999 07:28:00 GMT", 30.0),
        ("Wed, 21 Oct 2999 07:28:00 -0000", None),
        ("1 2", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_date_and_has_a_bound(
    header: str | None, seconds: float | None
) -> None:
    assert retry_after_s(header) == seconds

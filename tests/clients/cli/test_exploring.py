"""The small server of `forklore explore`: the page, the way to the stage, and who may use it."""

import contextlib
import gzip
import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from unittest import mock

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from forklore.cli.exits import CommandError
from forklore.cli.exploring import deployment, rules
from forklore.cli.exploring import forwarder as forwarding
from forklore.cli.exploring.deployment import Stage
from forklore.cli.exploring.forwarder import BODY_BYTES_MAX, CONNECTIONS_MAX, UNREAD_BYTES_MAX, Forwarder
from forklore.client.errors import InputError
from forklore_local.server import cors
from forklore_local.server.page import answer, find_files
from tests.clients.cli.exploring import WAIT_S, answering, ask, exchange, forwarder, odd_stage

JSON = "application/json"
ANN = {"Authorization": "Bearer ann", "Content_Type": JSON}


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[Forwarder]:
    """The page of a real local server, as if that were a stage."""
    with forwarder(url) as started:
        yield started


def test_the_page_and_each_of_its_files_are_served_as_by_the_local_server(server: Forwarder) -> None:
    for path, file in find_files().items():
        found = ask(server, "GET", path)
        assert found.status == 200, path
        assert path == "/" or found.body == file.read_bytes(), path
        assert found.headers["content-security-policy"].startswith("default-src 'self';")
        head = ask(server, "HEAD", path)
        assert (head.status, head.body) == (200, b"")
        if path == "/":
            served = answer(find_files(), "/")
            assert served is not None
            assert found.body == served.body
            assert found.headers["cache-control"] == "no-cache"
            assert ask(server, "GET", path, If_None_Match=found.headers["etag"]).status == 304
        else:
            assert "immutable" in found.headers["cache-control"]
        if path.endswith(".js"):
            small = ask(server, "GET", path, Accept_Encoding="gzip")
            assert (small.headers["content-encoding"], gzip.decompress(small.body)) == ("gzip", found.body)


def test_the_page_of_a_stage_gets_the_bytes_of_attachments_from_the_origin_that_was_named(url: str) -> None:
    with forwarder(url, files_at="https://files.example.com") as server:
        found = ask(server, "GET", "/").headers["content-security-policy"]

    assert found == (
        "default-src 'self'; media-src 'self' https://files.example.com; "
        "connect-src 'self' https://files.example.com; img-src 'self' data: blob: https://files.example.com; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    )


def test_a_conversation_is_made_read_changed_and_deleted_through_it(server: Forwarder) -> None:
    made = ask(server, "POST", "/v1/conversations", b'{"title":"Hello"}', **ANN, Idempotency_Key="k-1")
    again = ask(server, "POST", "/v1/conversations", b'{"title":"Hello"}', **ANN, Idempotency_Key="k-1")
    path = f"/v1/conversations/{made.json['id']}"

    assert (made.status, again.json) == (201, made.json)
    assert made.headers["content-type"].startswith(JSON)
    assert made.headers["cache-control"] == "no-store"
    assert made.headers["x-request-id"]
    assert ask(server, "PATCH", path, '{"title":"Köln"}'.encode(), **ANN).status == 200
    assert ask(server, "GET", f"{path}?", **ANN).json["title"] == "Köln"
    gone = ask(server, "DELETE", path, **ANN)
    assert (gone.status, gone.body) == (204, b"")
    missing = ask(server, "GET", path, **ANN, X_Request_Id="asked-for-it")
    assert (missing.status, missing.headers["x-request-id"]) == (404, "asked-for-it")


def test_nobody_is_known_without_a_token_because_none_is_added(server: Forwarder) -> None:
    assert ask(server, "GET", "/v1/conversations").status == 401


def test_each_answer_names_this_start_of_the_server_and_the_stage(server: Forwarder, url: str) -> None:
    asked = [ask(server, "HEAD", "/"), ask(server, "GET", "/v1/health"), ask(server, "GET", "/none")]
    asked.append(ask(server, "GET", "/", Host="evil.example"))

    assert {found.headers["forklore-server"] for found in asked} == {server.id}
    assert {found.headers["forklore-stage"] for found in asked} == {url}
    with forwarder(url) as other:
        assert ask(other, "HEAD", "/").headers["forklore-server"] != server.id


def test_it_listens_on_this_machine_only(server: Forwarder) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "", None),
    ],
)
@pytest.mark.parametrize("path", ["/", "/v1/health"])
def test_a_request_for_another_host_is_refused(server: Forwarder, host: str | None, path: str) -> None:
    sent = host and host.format(port=server.server_port)
    found = ask(server, "GET", path, Host=sent)

    assert found.status == 421
    assert found.headers["connection"] == "close"


def test_two_hosts_are_refused(server: Forwarder) -> None:
    own = f"Host: 127.0.0.1:{server.server_port}\r\n".encode()
    assert exchange(server, b"GET / HTTP/1.1\r\n" + own + own + b"\r\n").startswith(b"HTTP/1.1 421 ")


def test_localhost_is_its_name_as_well(server: Forwarder) -> None:
    host = f"LocalHost:{server.server_port}"
    origin = f"http://localhost:{server.server_port}"

    assert ask(server, "GET", "/", Host=host).status == 200
    assert ask(server, "GET", "/v1/health", Host=host, Origin=origin).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Origin": "http://127.0.0.1:{port}"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": ""},
    ],
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_call_of_another_page_never_reaches_the_stage(method: str, headers: dict[str, str]) -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        sent = {name: value.format(port=server.server_port) for name, value in headers.items()}
        found = ask(server, method, "/v1/conversations", b"{}", **sent)

    assert found.status == 403
    assert re.fullmatch("Only (the page of this|pages of this machine).*", found.json["message"])
    assert [name for name in found.headers if name.startswith("access-control")] == []
    assert seen == []


def test_a_call_of_the_page_or_of_a_program_reaches_the_stage(server: Forwarder) -> None:
    own = f"http://127.0.0.1:{server.server_port}"

    assert ask(server, "GET", "/v1/health", Origin=own).status == 200
    assert ask(server, "GET", "/v1/health", Sec_Fetch_Site=None).status == 200


def test_two_origins_are_refused(server: Forwarder) -> None:
    own = f"127.0.0.1:{server.server_port}"
    origins = f"Origin: http://{own}\r\nOrigin: http://evil.example\r\n"
    request = f"GET /v1/health HTTP/1.1\r\nHost: {own}\r\n{origins}Connection: close\r\n\r\n"

    assert exchange(server, request.encode()).startswith(b"HTTP/1.1 403 ")


def test_only_named_headers_go_to_the_stage_and_their_bytes_are_kept() -> None:
    kept = {
        "authorization": "Bearer zoë",
        "x-api-key": "k",
        "content-type": JSON,
        "accept": JSON,
        "idempotency-key": "i",
        "if-match": '"e"',
        "x-request-id": "r",
    }
    dropped = {
        "cookie": "a=b",
        "x-forwarded-for": "1.2.3.4",
        "forwarded": "for=x",
        "user-agent": "me",
        "referer": "http://x",
        "range": "bytes=0-",
        "te": "trailers",
        "accept-language": "de",
        "proxy-authorization": "Basic x",
        "x-amzn-oidc-data": "x",
        "upgrade": "h2c",
    }
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        assert ask(server, "POST", "/v1/x", b"\x00\xff", **kept, **dropped).status == 200

    [(method, target, headers, body)] = seen
    assert (method, target, body) == ("POST", "/v1/x", b"\x00\xff")
    assert headers.pop("authorization").encode("latin-1").decode() == "Bearer zoë"
    assert headers.pop("user-agent") == "forklore"
    assert headers.pop("host") == url.removeprefix("http://")
    assert set(headers) == (set(kept) - {"authorization"}) | {
        *("content-length", "accept-encoding", "connection"),
    }
    assert {name: value for name, value in headers.items() if name in kept} == {
        name: value for name, value in kept.items() if name != "authorization"
    }


def test_only_named_headers_come_back() -> None:
    kept = {
        "Content_Type": JSON,
        "X_Request_Id": "r",
        "Retry_After": "3",
        "WWW_Authenticate": "Bearer",
        "Allow": "GET",
        "Cache_Control": "no-store",
    }
    dropped = {
        "Set_Cookie": "a=b",
        "Access_Control_Allow_Origin": "*",
        "Location": "http://x",
        "X_Other": "x",
        "Content_Security_Policy": "default-src *",
        "Strict_Transport_Security": "max-age=9",
    }
    with odd_stage(answering(429, **kept, **dropped)) as (url, _), forwarder(url) as server:
        found = ask(server, "GET", "/v1/x")

    got = dict(found.headers)
    for name, value in kept.items():
        assert got.pop(name.lower().replace("_", "-")) == value
    assert found.status == 429
    assert got.pop("content-security-policy") == "default-src 'none'; frame-ancestors 'none'"
    assert got.pop("x-content-type-options") == "nosniff"
    assert set(got) == {"server", "date", "content-length", "forklore-server", "forklore-stage"}


def test_every_method_and_header_of_cors_is_let_through() -> None:
    """A page that works on another port of this machine works here, too."""
    assert set(rules.METHODS) == set(cors.METHODS)
    assert set(cors.HEADERS) <= set(rules.SENT)
    assert set(cors.EXPOSED) <= set(rules.RETURNED)


def test_the_gateways_request_id_is_shown_where_the_service_has_none() -> None:
    with odd_stage(answering(500, Apigw_Requestid="gw=")) as (url, _), forwarder(url) as server:
        assert ask(server, "GET", "/v1/x").headers["x-request-id"] == "gw="


def test_no_cookie_is_kept_for_the_next_person() -> None:
    with odd_stage(answering(200, Set_Cookie="who=ann; Path=/")) as (url, seen), forwarder(url) as server:
        ask(server, "GET", "/v1/x")
        ask(server, "GET", "/v1/x")

    assert ["cookie" in headers for _, _, headers, _ in seen] == [False, False]


@pytest.mark.parametrize("base", ["", "/a/b%20c"])
@pytest.mark.parametrize(
    "target",
    [
        "/v1/conversations?limit=20&afterCursor=a%2Fb%3D",
        "/v1/conversations/a%20b%2Fc%25/entries",
        "/v1/memberships?userId=a+b%2Bc%C3%AB",
        "/v1/x?",
        "/v1/x??a=b",
        "/v1//x/",
        "/v1/x;y=1@:!$&'()*,~",
        "/v1/...",
    ],
)
def test_the_path_of_the_stage_is_kept_and_the_target_arrives_as_it_was_sent(base: str, target: str) -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(f"{url}{base}/") as server:
        assert ask(server, "GET", target).status == 200

    assert [path for _, path, _, _ in seen] == [f"{base}{target}"]


@pytest.mark.parametrize(
    "target",
    [
        *("/v1/../admin", "/v1/x/..", "/v1/./x", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1/%2e"),
        *("/v1/x#y", "/v1/\\..\\x", "/v1/\xff", "/v1/\x7f"),
    ],
)
def test_a_target_that_leads_elsewhere_is_refused(target: str) -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        own = f"Host: 127.0.0.1:{server.server_port}\r\nConnection: close\r\n\r\n".encode()
        found = exchange(server, f"GET {target} HTTP/1.1\r\n".encode("latin-1") + own)

    assert found.startswith(b"HTTP/1.1 400 ")
    assert seen == []


@pytest.mark.parametrize(
    "target",
    [
        *("/docs", "/v1", "/V1/health", "/v2/x", "/web/../../errors.py", "/web/%2e%2e/page.py", "/web/"),
        *("http://evil.example/v1/x", "//evil.example/v1/x", "*"),
    ],
)
def test_nothing_else_is_there(target: str) -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        found = ask(server, "GET", target)

    assert (found.status, found.json) == (404, {"message": "There is nothing at this address."})
    assert seen == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_another_method_is_refused(server: Forwarder, method: str) -> None:
    found = ask(server, method, "/v1/conversations", **ANN)

    assert (found.status, found.headers["allow"]) == (405, "GET, POST, PUT, PATCH, DELETE")
    assert ask(server, "POST", "/", b"").status == 405
    assert ask(server, "TRACE", "/v1/health").status == 501


def test_a_header_that_comes_twice_or_in_lines_is_refused() -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        begin = f"GET /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nConnection: close\r\n"
        twice = "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"
        folded = "Authorization: Bearer a\r\n b\r\n\r\n"
        found = [exchange(server, f"{begin}{more}".encode()) for more in (twice, folded)]

    assert [one[:13] for one in found] == [b"HTTP/1.1 400 "] * 2
    assert seen == []


@pytest.mark.parametrize(
    ("framing", "status"),
    [
        ("Transfer-Encoding: chunked\r\n", 411),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", 411),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 2\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 0x2\r\n", 400),
        ("Content-Length: \u0662\r\n", 400),
        ("Content-Length: 9999999999999999\r\n", 400),
        ("Content-Length : 2\r\n", 400),
        ("Content-Length\t: 2\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("no colon\r\nContent-Length: 2\r\n", 400),
    ],
)
def test_a_body_of_unclear_length_is_refused_and_the_connection_closed(framing: str, status: int) -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        request = f"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n{framing}\r\n"
        found = exchange(server, request.encode() + b"{}GET /v1/y HTTP/1.1\r\n\r\n")

    assert found.startswith(f"HTTP/1.1 {status} ".encode())
    assert found.count(b"HTTP/1.1 ") == 1
    assert seen == []


def test_half_a_body_is_not_sent_on() -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        request = (
            f"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nContent-Length: 9\r\n\r\n{{}}"
        )
        assert exchange(server, request.encode()) == b""

    assert seen == []


def test_a_large_body_and_a_large_answer_arrive_whole() -> None:
    large = bytes(range(256)) * (6 * 4096)
    with odd_stage(answering(200, large)) as (url, seen), forwarder(url) as server:
        found = ask(server, "POST", "/v1/x", large)

    assert len(large) == 6 * 1024 * 1024
    assert found.body == large
    assert seen[0][3] == large


def test_a_body_of_the_largest_length_arrives_and_a_longer_one_is_413() -> None:
    with odd_stage(answering(200)) as (url, seen), forwarder(url) as server:
        assert ask(server, "POST", "/v1/x", b"x" * BODY_BYTES_MAX).status == 200
        found = ask(server, "POST", "/v1/x", b"x" * (BODY_BYTES_MAX + 1))
        endless = f"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        endless += f"Content-Length: {UNREAD_BYTES_MAX + 1}\r\n\r\n"
        refused = exchange(server, endless.encode())

    assert found.status == 413
    assert "10,485,760 bytes" in found.json["message"]
    assert refused.startswith(b"HTTP/1.1 413 ")
    assert len(seen) == 1


def test_an_answer_without_end_is_cut_off() -> None:
    long = b"x" * (deployment.ANSWER_BYTES_MAX + 1)
    with odd_stage(answering(200, long)) as (url, _), forwarder(url) as server:
        found = ask(server, "GET", "/v1/x")

    assert (found.status, found.json) == (502, {"message": "The answer of 127.0.0.1 is too long."})


@pytest.mark.parametrize("status", [301, 308])
def test_a_redirect_is_not_followed_and_not_handed_on(status: int) -> None:
    with (
        odd_stage(answering(200)) as (elsewhere, seen),
        odd_stage(answering(status, Location=f"{elsewhere}/v1/x")) as (url, _),
        forwarder(url) as server,
    ):
        found = ask(server, "GET", "/v1/x", Authorization="Bearer secret")

    assert found.status == 502
    assert found.json["message"] == "127.0.0.1 answers with a redirect, which is not followed."
    assert "location" not in found.headers
    assert seen == []


def test_an_answer_of_html_stays_text(server: Forwarder) -> None:
    html = b"<script>alert(1)</script>"
    with odd_stage(answering(200, html, Content_Type="text/html")) as (url, _), forwarder(url) as started:
        found = ask(started, "GET", "/v1/x")

    assert found.body == html
    assert found.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_a_stage_that_is_not_there_is_502_with_a_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with forwarder(f"http://127.0.0.1:{unused.getsockname()[1]}") as server:
            found = ask(server, "GET", "/v1/x", Authorization="Bearer secret")

    assert found.status == 502
    assert found.json == {"message": "There is no answer from 127.0.0.1 (ConnectError)."}


def test_a_stage_that_says_nothing_is_504_and_one_that_stops_in_the_middle_is_502() -> None:
    def silent(_: BaseHTTPRequestHandler) -> None:
        time.sleep(1)

    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    with (
        mock.patch.object(deployment, "ANSWER_SECONDS", 0.2),
        odd_stage(silent) as (url, _),
        forwarder(url) as server,
    ):
        late = ask(server, "GET", "/v1/x")
    with odd_stage(half) as (url, _), forwarder(url) as server:
        cut = ask(server, "GET", "/v1/x")

    assert (late.status, late.json) == (
        504,
        {"message": "There is no whole answer from 127.0.0.1 within 0.2 s."},
    )
    assert cut.status == 502


def test_a_stage_that_answers_byte_for_byte_without_end_is_504() -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(20):
            handler.wfile.write(b"x")
            time.sleep(0.05)
        handler.close_connection = True

    with (
        mock.patch.object(deployment, "ANSWER_SECONDS", 0.2),
        odd_stage(trickle) as (url, _),
        forwarder(url) as server,
    ):
        assert ask(server, "GET", "/v1/x").status == 504


def test_a_stage_that_speaks_no_http_is_502() -> None:
    def nonsense(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"nonsense\r\n\r\n")
        handler.close_connection = True

    with odd_stage(nonsense) as (url, _), forwarder(url) as server:
        found = ask(server, "GET", "/v1/x")

    assert (found.status, "RemoteProtocolError" in found.json["message"]) == (502, True)


def test_a_stage_whose_certificate_nobody_signed_is_502_and_gets_no_token(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_certificate(tmp_path / "own.pem"))
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            taken, _ = listener.accept()
            with contextlib.suppress(ssl.SSLError), context.wrap_socket(taken, server_side=True) as safe:
                got.append(safe.recv(10_000))

        thread = threading.Thread(target=take)
        thread.start()
        with forwarder(f"https://127.0.0.1:{listener.getsockname()[1]}") as started:
            found = ask(started, "GET", "/v1/x", Authorization="Bearer s3cret")
        thread.join()

    assert (found.status, found.json) == (
        502,
        {"message": "There is no answer from 127.0.0.1 (ConnectError)."},
    )
    assert b"".join(got) == b""


def own_certificate(path: Path) -> Path:
    """Write a certificate for 127.0.0.1 that is signed by its own key, with the key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def test_calls_run_at_the_same_time_on_few_connections() -> None:
    together = threading.Barrier(6, timeout=WAIT_S)

    def wait(handler: BaseHTTPRequestHandler) -> None:
        together.wait()
        answering(200)(handler)

    with odd_stage(wait) as (url, _), forwarder(url) as server, ThreadPoolExecutor(6) as threads:
        calls = [threads.submit(ask, server, "GET", "/v1/x") for _ in range(6)]
        assert [call.result().status for call in calls] == [200] * 6


def test_a_connection_serves_many_requests(server: Forwarder) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=WAIT_S)
    for path in ("/", "/v1/health", "/none", "/v1/health"):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (404 if path == "/none" else 200, True)
    assert connection.sock is not None
    connection.close()


def test_connections_have_a_bound_and_the_next_one_after_it_works(url: str) -> None:
    with forwarder(url) as server:
        address = ("127.0.0.1", server.server_port)
        opened = [socket.create_connection(address, timeout=WAIT_S) for _ in range(CONNECTIONS_MAX + 1)]
        assert opened[-1].recv(1) == b""
        for one in opened:
            one.close()
        give_up_at = time.monotonic() + WAIT_S
        while True:
            try:
                assert ask(server, "GET", "/v1/health").status == 200
                break
            except OSError:
                assert time.monotonic() < give_up_at
                time.sleep(0.05)


def test_a_connection_for_which_no_thread_starts_takes_no_place(server: Forwarder) -> None:
    address = ("127.0.0.1", server.server_port)
    with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
        for _ in range(CONNECTIONS_MAX):
            with socket.create_connection(address, timeout=WAIT_S) as refused:
                assert refused.recv(1) == b""

    assert ask(server, "GET", "/v1/health").status == 200


def test_an_idle_connection_is_closed(url: str) -> None:
    with mock.patch.object(forwarding._Handler, "timeout", 0.1), forwarder(url) as server:
        assert server.url.startswith("http://127.0.0.1:")
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=WAIT_S) as idle:
            assert idle.recv(1) == b""


def test_nothing_is_logged_whatever_is_asked(server: Forwarder, capfd: pytest.CaptureFixture[str]) -> None:
    ask(server, "POST", "/v1/s3cret?s3cret", b"s3cret", Authorization="Bearer s3cret")
    exchange(server, b"s3cret\r\n\r\n")
    exchange(server, b"GET /v1/s3cret HTTP/9.9 s3cret\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.server_port)) as leaving:
        leaving.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    time.sleep(0.2)

    assert capfd.readouterr() == ("", "")


def test_what_is_no_request_is_refused_without_its_text(server: Forwarder) -> None:
    for request in (b"s3cret\r\n\r\n", b"GET /s3cret HTTP/x\r\n\r\n", b"GET /" + b"s3cret" * 10_923):
        found = exchange(server, request)
        assert found.split(b" ")[1][:1] in (b"4", b"5"), found[:100]
        assert b"s3cret" not in found
        assert b"<" not in found


def test_an_error_of_forklore_is_a_500_of_one_sentence(server: Forwarder) -> None:
    with mock.patch.object(Stage, "ask", side_effect=ZeroDivisionError("s3cret")):
        found = ask(server, "GET", "/v1/x")

    assert (found.status, found.json) == (500, {"message": "An error of forklore: ZeroDivisionError."})


def test_a_port_in_use_is_an_error_of_one_line(server: Forwarder) -> None:
    with pytest.raises(CommandError, match=rf"cannot listen on 127\.0\.0\.1 port {server.server_port}: "):
        Forwarder(server.stage, server.server_port)
    with pytest.raises(CommandError, match=r"cannot listen on 127\.0\.0\.1 port 99999: "):
        Forwarder(server.stage, 99_999)


@pytest.mark.parametrize(
    "address", ["http://example.com", "http://10.0.0.1:8080", "http://localhost.evil.example"]
)
def test_an_address_that_is_not_encrypted_is_refused_unless_it_is_this_machine(address: str) -> None:
    with pytest.raises(CommandError, match="without encryption: give an https:// address"):
        Stage(address)


@pytest.mark.parametrize("address", ["ftp://h", "http://ann:s3cret@h", "https://h?x", "h", "https://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError) as refused:
        Stage(address)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("address", ["https://h", "https://h/prod/", "http://localhost:1", "http://[::1]:1"])
def test_a_safe_address_is_taken(address: str) -> None:
    made = Stage(address)
    made.close()

    assert made.base == address.rstrip("/")


@pytest.mark.parametrize("proxy", ["socks5://ann:s3cret@h:1", "ftp://ann:s3cret@h:1", "http://h:s3cret"])
def test_a_proxy_that_cannot_be_used_is_an_error_of_one_line(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    with pytest.raises(CommandError, match="proxy that HTTPS_PROXY or ALL_PROXY names") as refused:
        Stage("https://example.com")

    assert "s3cret" not in str(refused.value)


def test_the_message_is_json_for_any_host() -> None:
    assert json.loads(deployment.message(502, 'a "quote" \n ë').body) == {"message": 'a "quote" \n ë'}

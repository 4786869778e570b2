"""Whom the servers of this machine answer: both of them, byte for byte over a socket."""

import json
import socket
import uuid
from collections.abc import Iterator

import httpx
import pytest

from forklore_local.server.callers import Callers
from tests.clients.cli.exploring import forwarder
from tests.local.server.test_server import running
from tools.harness.local_server import local_server

PORT_OF_NOBODY = "8080"


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    with local_server() as url:
        yield url


@pytest.fixture(scope="module", params=["local server", "explorer"])
def port(request: pytest.FixtureRequest, local: str) -> Iterator[int]:
    """Where a server listens. The explorer's stage is the local server."""
    if request.param == "local server":
        yield int(local.rsplit(":", 1)[1])
    else:
        with forwarder(local) as explorer:
            yield explorer.server_port


def ask(
    port: int, *headers: str, line: str = "POST /v1/conversations HTTP/1.1", user: str = "ann"
) -> tuple[int, bytes]:
    """Send a request that makes a conversation, if somebody runs it; return status and answer."""
    lines = [line, *headers, f"Authorization: Bearer {user}", "Content-Type: application/json"]
    lines += ["Content-Length: 2", "Connection: close", "", "{}"]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"access-control-" not in head.lower() or b"201" in head.partition(b"\r\n")[0]
    return int(head.split()[1]), body


@pytest.fixture
def user(local: str) -> Iterator[str]:
    """A user who has made nothing when the test is over."""
    name = uuid.uuid4().hex
    yield name
    found = httpx.get(f"{local}/v1/conversations", headers={"Authorization": f"Bearer {name}"})
    assert found.json()["data"] == []


STRANGE = [
    *("evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "localhost.evil.example", "", "x"),
    *("evil.example.", "localhost.", "localhost.:8080", "127.0.0.1.", "user@127.0.0.1:8080", "[::2]:8080"),
    *("127.0.0.1,evil.example", "127.0.0.1:8080:8080", "127.0.0.1:", "127.0.0.1:x", "127.0.0.2", "0.0.0.0"),
    *("2130706433", "127.1", "::1", "[::1", "[::1]evil.example", "[::1].evil.example:1", "http://localhost"),
    *("localhost/evil.example", "evil.example/localhost", "192.168.0.1:8080"),
]


@pytest.mark.parametrize("host", STRANGE)
def test_a_request_by_another_name_is_refused_and_not_run(port: int, user: str, host: str) -> None:
    for line in ("POST /v1/conversations HTTP/1.1", "GET / HTTP/1.1", "GET /docs HTTP/1.1"):
        assert ask(port, f"Host: {host}", line=line, user=user)[0] == 421


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("Host: localhost", "Host: localhost"),
        ("Host: localhost", "Host: evil.example"),
        ("Host: evil.example", "Host: localhost"),
    ],
)
def test_a_request_without_one_name_is_refused_and_not_run(
    port: int, user: str, hosts: tuple[str, ...], version: str
) -> None:
    line = f"POST /v1/conversations HTTP/{version}"

    assert ask(port, *hosts, line=line, user=user)[0] in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
@pytest.mark.parametrize("named", ["localhost", "evil.example"])
def test_a_target_that_names_a_host_itself_leads_nowhere(port: int, user: str, host: str, named: str) -> None:
    line = f"POST http://{named}/v1/conversations HTTP/1.1"

    assert ask(port, f"Host: {host}", line=line, user=user)[0] == (421 if host == "evil.example" else 404)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "127.0.0.1", "[::1]", "LocalHost:1", "localhost:65535", f"127.0.0.1:{PORT_OF_NOBODY}"),
        f"[::1]:{PORT_OF_NOBODY}",
    ],
)
def test_each_name_of_this_machine_is_answered_at_any_port(port: int, host: str) -> None:
    assert ask(port, f"Host: {host}")[0] == 201
    assert ask(port, f"Host: {host}", f"Origin: http://{host.lower()}")[0] == 201


@pytest.mark.parametrize(
    "origins",
    [
        *(("null",), ("",), ("*",), ("https://evil.example",), ("http://evil.example:8080",)),
        *(("http://localhost.evil.example",), ("http://localhost@evil.example",), ("http://localhost.",)),
        *(("localhost",), ("//localhost",), ("file://",), ("chrome-extension://localhost",)),
        *(("http://localhost http://evil.example",), ("http://localhost", "https://evil.example")),
        *(("http://localhost", "http://localhost"), ("http://localhost/",), ("http://127.0.0.2",)),
    ],
)
def test_a_request_of_another_page_is_refused_and_not_run(
    port: int, user: str, origins: tuple[str, ...]
) -> None:
    headers = [f"Origin: {origin}" for origin in origins]

    assert ask(port, "Host: localhost", *headers, user=user)[0] == 403


def test_the_host_that_is_listened_on_and_those_of_the_option_are_answered_too() -> None:
    options = ["--host", "127.0.0.2", "--allow-host", "Box.local", "--allow-host", "fd00:0::1"]
    with running(*options, "--port", "0", last_line="Ctrl+C") as server:
        for named, status in {
            **dict.fromkeys(["127.0.0.2", "box.local", "[fd00::1]", "localhost"], 201),
            **dict.fromkeys(["box", "evil.example", "fd00::1"], 421),
        }.items():
            headers = {"Host": f"{named}:{PORT_OF_NOBODY}", "Authorization": "Bearer ann"}
            found = httpx.post(f"{server.url}/v1/conversations", headers=headers, json={})
            assert found.status_code == status, named
            headers["Host"], origin = "localhost", f"https://{named}:{PORT_OF_NOBODY}"
            headers["Origin"] = origin
            found = httpx.post(f"{server.url}/v1/conversations", headers=headers, json={})
            assert found.status_code == (status if status == 201 else 403), named
            assert found.headers.get("access-control-allow-origin") == (origin if status == 201 else None)


def test_the_refusal_names_the_option(local: str) -> None:
    status, body = ask(int(local.rsplit(":", 1)[1]), "Host: box")

    assert status == 421
    assert json.loads(body)["message"] == (
        "This server answers only if it is called 127.0.0.1, [::1], localhost."
        " The option --allow-host names others."
    )


@pytest.mark.parametrize("name", ["box:8080", "http://box", "*", "box/", "", "[::1]:80", "cafe:8080"])
def test_a_name_of_the_option_has_no_port_and_no_pattern(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Callers([name])

"""The gateway as an ASGI application, in process, on the sample project."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from forklore_local.server.answered import with_lines
from forklore_local.server.asgi import App
from forklore_local.server.gateway import Gateway
from forklore_local.server.identity import read_authorizer
from forklore_local.server.log import show_lines_of
from tests.local.server.project import import_project


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    functions = import_project(tmp_path, monkeypatch)
    return with_lines(Gateway(functions, authorize=read_authorizer({})))


@pytest.fixture(params=[True, False], ids=["verbose", "usual"])
def verbose(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether all lines are shown. They go to standard error, as JSON."""
    logger = logging.getLogger("forklore")
    before = logger.level, logger.propagate, [*logger.handlers]
    show_lines_of(logger, verbose=request.param, form="json")
    yield request.param
    logger.level, logger.propagate, logger.handlers = before


def ask(gateway: App, *requests: tuple[str, str], **options: Any) -> list[httpx.Response]:
    """Send the requests at the same time and return their answers in order."""

    async def send() -> list[httpx.Response]:
        transport = httpx.ASGITransport(gateway)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.request(*one, **options) for one in requests))

    return asyncio.run(send())


def test_the_authorizers_context_and_the_path_parameters_reach_the_handler(gateway: App) -> None:
    headers = {"Authorization": "Bearer alice", "X-API-Key": "local-key"}
    [response] = ask(gateway, ("GET", "/echo/a%40b"), headers=headers)

    event = response.json()
    assert event["requestContext"]["authorizer"] == {
        "lambda": {"userId": "alice", "clientId": "local", "roles": []}
    }
    assert (event["routeKey"], event["pathParameters"]) == ("ANY /echo/{name}", {"name": "a@b"})
    assert event["requestContext"]["requestId"] == response.headers["apigw-requestid"]


def test_bad_credentials_are_passed_to_the_function_and_not_refused(gateway: App) -> None:
    headers = {"Authorization": "Bearer alice", "X-API-Key": "wrong"}
    [response] = ask(gateway, ("GET", "/echo/a"), headers=headers)

    assert response.status_code == 200
    assert response.json()["requestContext"]["authorizer"]["lambda"]["userId"] is None


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/nowhere", 404, "Not Found"),
        ("/echo/a%2Fb", 404, "Not Found"),
        ("/echo/a%252Fb", 404, "Not Found"),
        ("/echo/100%25done", 400, "Bad Request"),
        ("/odd/fail", 500, "Internal Server Error"),
        ("/odd/exit", 500, "Internal Server Error"),
        ("/odd/decimal", 500, "Internal Server Error"),
        ("/odd/status", 500, "Internal Server Error"),
        ("/odd/large", 500, "Internal Server Error"),
    ],
)
def test_errors_have_the_same_text_as_those_of_api_gateway(
    gateway: App, path: str, status: int, message: str
) -> None:
    [response] = ask(gateway, ("GET", path))

    assert (response.status_code, response.text) == (status, f'{{"message":"{message}"}}')
    assert response.headers["content-type"] == "application/json"


def test_an_answer_just_below_the_limit_arrives(gateway: App) -> None:
    [response] = ask(gateway, ("GET", "/odd/nearly-large"))

    assert (response.status_code, len(response.content)) == (200, 6_200_000)


def test_the_log_shows_frames_and_types_and_nothing_of_the_request(
    verbose: bool, gateway: App, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {"Authorization": "Bearer token-of-alice", "X-Other": "a-header"}
    ask(gateway, ("GET", "/odd/fail?q=a-query"), headers=headers)

    log = capsys.readouterr()
    assert log.out == ""
    failed, answered = map(json.loads, log.err.splitlines())
    assert (failed["level"], failed["message"], failed["function"]) == ("ERROR", "failed", "Odd")
    assert (failed["route"], failed["reason"][:6]) == ("GET /odd/{what}", "raised")
    assert "in fail\n" in failed["frames"]
    assert failed["frames"].index("RuntimeError\n") < failed["frames"].index("KeyError\n")
    assert (answered["level"], answered["message"], answered["status"]) == ("ERROR", "answered", 500)
    assert (answered["method"], answered["route"]) == ("GET", "GET /odd/{what}")
    for secret in ("token-of-alice", "a-header", "a-query", "RuntimeError:", "KeyError:"):
        assert secret not in log.err


@pytest.mark.parametrize("size", [6_300_000, 10 * 1024 * 1024 + 1])
def test_a_body_over_a_limit_is_413(gateway: App, size: int) -> None:
    [response] = ask(gateway, ("POST", "/v1/conversations"), content=b"x" * size)

    assert (response.status_code, response.text) == (413, '{"message":"Request Entity Too Large"}')


def test_a_request_that_breaks_off_does_not_reach_the_handler(
    verbose: bool, gateway: App, capsys: pytest.CaptureFixture[str]
) -> None:
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    assert post(gateway, messages) == 400
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [(line["level"], line["route"], line["status"]) for line in lines]
    assert told == ([("INFO", "POST /v1/conversations", 400)] if verbose else [])


def test_an_endless_body_is_read_only_up_to_the_limit(gateway: App) -> None:
    megabyte = {"type": "http.request", "body": bytes(1024 * 1024), "more_body": True}
    messages = [megabyte] * 20

    assert post(gateway, messages) == 413
    assert len(messages) == 9


def post(gateway: App, messages: list[dict[str, Any]]) -> int:
    """Send a request whose body is these ASGI messages; return the status. Empties the list."""
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "http_version": "1.1",
        "scheme": "http",
        "raw_path": b"/v1/conversations",
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8080),
    }

    async def run() -> None:
        await gateway(scope, receive, send)

    asyncio.run(run())
    status: int = sent[0]["status"]
    return status


def test_handlers_run_in_parallel(gateway: App) -> None:
    responses = ask(gateway, ("GET", "/odd/together"), ("GET", "/odd/together"))

    assert [response.text for response in responses] == ["true", "true"]


def test_a_handler_sees_its_functions_timeout(gateway: App) -> None:
    [response] = ask(gateway, ("GET", "/odd/remaining"))

    assert 28_000 < response.json() <= 29_000


def test_the_gateways_own_timeout_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = import_project(tmp_path, monkeypatch)
    impatient = Gateway(functions, authorize=read_authorizer({}), timeout_seconds=0.2)
    [response] = ask(impatient, ("GET", "/odd/sleep"))

    assert (response.status_code, response.text) == (503, '{"message":"Service Unavailable"}')


def test_a_function_that_passes_its_own_timeout_is_500(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = import_project(tmp_path, monkeypatch)
    path = tmp_path / "sample_functions" / "echo" / "app.py"
    path.write_text(path.read_text().replace("sleep(600)", "sleep(1.3)"))
    gateway = Gateway(functions, authorize=read_authorizer({}))
    [response] = ask(gateway, ("POST", "/v1/conversations"), content=b"sleep")

    assert (response.status_code, response.text) == (500, '{"message":"Internal Server Error"}')


def test_a_204_has_no_body(gateway: App) -> None:
    [response] = ask(gateway, ("GET", "/odd/empty"))

    assert (response.status_code, response.content) == (204, b"")
    assert "content-length" not in response.headers


def test_a_handler_that_cannot_be_imported_fails_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = import_project(tmp_path, monkeypatch)
    (tmp_path / "sample_functions" / "odd" / "app.py").write_text("handle = None\n")

    with pytest.raises(AttributeError, match="handler"):
        Gateway(functions, authorize=read_authorizer({}))

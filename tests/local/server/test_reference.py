import asyncio
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from forklore_local.server.asgi import Receive, Response, Scope, Send, send_response
from forklore_local.server.page import POLICY, SAFE
from forklore_local.server.reference import with_reference


async def behind(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_response(send, Response(418, [], b"behind"))


def ask(
    path: str, *, method: str = "GET", document: Mapping[str, Any] = MappingProxyType({})
) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(with_reference(behind, lambda: document))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path)

    return asyncio.run(send())


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_the_page_loads_only_files_of_this_server(path: str) -> None:
    page = ask(path)

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'url: "/openapi.json"' in ask("/docs/page.js").text
    links = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert len(links) == 4
    for link in links:
        assert ask(link).status_code == 200, link


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/docs/swagger-ui.css", "/openapi.json"])
def test_it_has_the_headers_of_the_explorer_and_knows_no_user(path: str) -> None:
    answer = ask(path, document={})

    assert answer.headers["content-security-policy"].startswith(POLICY)
    assert dict(SAFE).items() <= answer.headers.items()
    assert "preauthorize" not in answer.text
    assert not re.search(r"<script>|<style>| style=", ask("/docs").text)


def test_the_bundled_swagger_ui_is_one_that_reads_openapi_3_1() -> None:
    script = ask("/docs/swagger-ui-bundle.js")

    assert script.headers["content-type"].startswith("text/javascript")
    found = re.search(r'PACKAGE_VERSION:"(\d+)\.', script.text)
    assert found
    assert int(found[1]) >= 5


def test_the_server_serves_the_given_document() -> None:
    response = ask("/openapi.json", document={"openapi": "3.1.0", "title": "é"})

    assert (response.status_code, response.json()) == (200, {"openapi": "3.1.0", "title": "é"})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/conversations"),
        ("GET", "/docs/../__init__.py"),
        ("GET", "/docs/%2e%2e/__init__.py"),
        ("GET", "/docs/swagger-ui.js"),
        ("GET", "/swagger-ui.css"),
        ("POST", "/docs"),
    ],
)
def test_everything_else_goes_to_the_gateway(method: str, path: str) -> None:
    assert ask(path, method=method).status_code == 418

"""The tools as a Lambda function behind the HTTP API: an event in, an answer out.

FORKLORE_URL is the address of the API that the tools call. The function has no rights of its own.
It also tells where a client gets a token: at FORKLORE_ISSUER (RFC 9728).
"""

import base64
import json
import os
from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import Any

import anyio

from forklore.mcp.http import PATH, RETRY_SECONDS, App, make_app

METADATA = f"/.well-known/oauth-protected-resource{PATH}"
"""The path of what says where to get a token: RFC 9728, section 3.1."""


def handler(event: Any, context: Any) -> dict[str, Any]:  # noqa: ARG001
    """Answer a request that API Gateway hands on in payload format 2.0."""
    if not isinstance(event, dict) or event.get("version") != "2.0":
        return _refusal(400)
    if event["rawPath"] == METADATA:
        return _metadata()
    caller = (event["requestContext"].get("authorizer") or {}).get("lambda") or {}
    if caller.get("unavailable") is True:
        return _refusal(503, **{"retry-after": str(RETRY_SECONDS)})
    if not caller.get("userId"):  # the authorizer refuses no request
        where = f'Bearer resource_metadata="{os.environ["FORKLORE_URL"]}{METADATA}"'
        return _refusal(401, **{"www-authenticate": where})
    return anyio.run(_answer, _app(), event)


def _refusal(status: int, **headers: str) -> dict[str, Any]:
    return {"statusCode": status, "headers": headers, "body": ""}


def _metadata() -> dict[str, Any]:
    said = {
        "resource": os.environ["FORKLORE_URL"] + PATH,
        "authorization_servers": [os.environ["FORKLORE_ISSUER"]],
        "bearer_methods_supported": ["header"],
    }
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(said)}


@cache
def _app() -> App:
    return make_app(os.environ["FORKLORE_URL"])


async def _answer(app: App, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an app answers to the request of an event."""
    text = event.get("body") or ""
    body = base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()
    scope = {
        "type": "http",
        "method": event["requestContext"]["http"]["method"],
        "path": event["rawPath"],
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in event["headers"].items()],
    }
    left = [{"type": "http.request", "body": body}]
    answer: dict[str, Any] = {"body": ""}

    async def receive() -> MutableMapping[str, Any]:
        if not left:
            await anyio.sleep_forever()  # who calls does not hang up
        return left.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer["statusCode"] = message["status"]
            answer["headers"] = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answer["body"] += message.get("body", b"").decode()

    await app(scope, receive, send)
    return answer

"""Requests to the functions of this process, in the form that API Gateway gives them.

The routes are those of the template. The authorizer is the local one.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from forklore_local.server.asgi import Scope
from forklore_local.server.identity import read_authorizer
from forklore_local.server.invocation import LambdaContext, invoke, load_handler
from forklore_local.server.payload import build_event, read_answer
from forklore_local.server.routing import Function, Routes
from forklore_local.server.store import set_environment
from forklore_service.aws.wiring import Given, give, open_table
from tools.deployment.template import Template, read_template
from tools.harness.tables import Store, fresh_store

PROJECT = Path(__file__).parents[2]
AGENTS = {"local": "local-key", "planner": "key-of-planner", "coder": "key-of-coder"}
"""The clients that the local authorizer knows, each with its API key."""

Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """An answer to a caller. headers: names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        """The error's code; None if the answer is not an error."""
        code: str | None = self.json.get("code")
        return code


def credentials(user: str | None, agent: str | None = None) -> list[tuple[str, str]]:
    """Return the headers of a user and an agent. user None: no user. agent None: no agent."""
    bearer = [("Authorization", f"Bearer {user}")] if user is not None else []
    return bearer + ([("X-API-Key", AGENTS[agent])] if agent else [])


class Gateway:
    """Sends requests to the handlers that `template` names, in the calling thread."""

    def __init__(self, template: Template, **roles: str) -> None:
        """roles: user ids by the authorizer's own setting, such as FORKLORE_ADMINS."""
        self.template = template
        self._functions, self._routes = template.functions, Routes(template.functions)
        self._handlers = {function.name: load_handler(function) for function in template.functions}
        keys = ",".join(f"{client}={key}" for client, key in AGENTS.items())
        self._authorize = read_authorizer({"FORKLORE_API_KEYS": keys, **roles})

    def event(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", headers: Pairs = ()
    ) -> tuple[Function, dict[str, Any]]:
        """Return the event of a request, and the function it goes to.

        path, query: percent-encoded.
        """
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers]
        scope: Scope = {
            "method": method,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": pairs,
            "client": ("127.0.0.1", 50_000),
            "server": ("localhost", 8080),
            "scheme": "http",
            "http_version": "1.1",
        }
        match = self._routes.find(method=method, raw_path=path)
        assert match is not None, "the template has a $default route"
        authorizer = self._authorize(scope["headers"])
        return match.function, build_event(
            scope, body, match=match, authorizer=authorizer, request_id="JKJaXmPLvHcESHA="
        )

    def invoke(self, function: Function, event: dict[str, Any]) -> Answer:
        """Return the function's answer to an event."""
        response = read_answer(invoke(function, self._handlers[function.name], event))
        return Answer(response.status, dict(response.headers), response.body.decode())

    def handle(
        self, function: Function, event: dict[str, Any], context: LambdaContext | None = None
    ) -> Answer:
        """Return the function's answer to an event that is not converted to JSON and back."""
        response = read_answer(self._handlers[function.name](event, context or LambdaContext(function)))
        return Answer(response.status, dict(response.headers), response.body.decode())

    def raw(self, function: Function, event: Any) -> Any:
        """Return the function's answer to any event, as Lambda gets it."""
        return invoke(function, self._handlers[function.name], event)

    def deliver(self, event: dict[str, Any]) -> Answer:
        """Return the answer to an event. Its routeKey says which function gets it."""
        key = event["routeKey"]
        [function] = [f for f in self._functions if key in [route.key for route in f.routes]]
        return self.invoke(function, event)

    def send(
        self,
        method: str,
        path: str,
        *,
        user: str | None = "ann",
        agent: str | None = None,
        query: str = "",
        body: Any = None,
        headers: Pairs = (),
    ) -> Answer:
        """Send a request.

        body: bytes or text as they are, anything else as JSON, None for no body.
        """
        function, event = self.event(
            method,
            path,
            query=query,
            body=_bytes(body),
            headers=[*credentials(user, agent), *_typed(headers, body)],
        )
        return self.invoke(function, event)


def _typed(headers: Pairs, body: Any) -> Pairs:
    """Return the headers, with a content type if there is a body and the headers have none."""
    given = list(headers)
    if body is None or any(name.lower() == "content-type" for name, _ in given):
        return given
    return [("Content-Type", "application/json"), *given]


def _bytes(body: Any) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode()
        case _:
            return json.dumps(body).encode()


@contextmanager
def given(what: Given) -> Iterator[None]:
    """Let the handlers open their table and queue again, by this and by the environment."""
    before = give(what)
    try:
        yield
    finally:
        give(before)


@contextmanager
def table_in_memory() -> Iterator[Template]:
    """Give the handlers of this process an empty table in memory; yield the template."""
    with store_in_memory():
        yield read_template(PROJECT / "template.yaml")


@contextmanager
def store_in_memory() -> Iterator[Store]:
    """Give the handlers of this process an empty table in memory, and yield that."""
    with mock.patch.dict(os.environ), fresh_store() as store:
        for name in list(os.environ):
            if name.startswith(("AWS_", "FORKLORE_")):
                del os.environ[name]
        set_environment()
        with given(Given(store.new_client, objects=store.objects)):
            yield store


def stored() -> list[str]:
    """Return every item of the table as text, in a fixed order."""
    client, start, found = open_table().connection.client, dict[str, Any](), list[str]()
    while True:
        page = client.scan(TableName=os.environ["FORKLORE_TABLE"], ConsistentRead=True, **start)
        found += [repr(sorted(item.items())) for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return sorted(found)
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

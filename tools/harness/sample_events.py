"""Sample events: the files of events/, and what API Gateway makes of an operation's sample request.

python -m tools.harness.sample_events listForks

prints one. The requests are those of the catalogue.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from forklore_service.api import operations
from forklore_service.api.operation import Operation
from tools.catalogue import NAMES, NOTHING, Step, card_of
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Gateway, credentials

EVENTS = PROJECT / "events"
PLAIN = [("host", "localhost:8080"), ("accept", "*/*"), ("user-agent", "curl/8.5.0")]
MOMENT = {"requestId": "6JgFue9ak502KVw=", "time": "07/Nov/2025:10:30:00 +0000", "timeEpoch": 1762511400000}
"""What would differ each time."""
ROUTES = {operation.name: operation for operation in operations.ROUTES}
HEADERS = {"idempotencyKey": "Idempotency-Key", "ifMatch": "If-Match"}


@cache
def gateway() -> Gateway:
    """Return a gateway that makes events. Nothing is sent to its functions."""
    return Gateway(read_template(PROJECT / "template.yaml"), FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")


def sample_event(name: str) -> dict[str, Any]:
    """Return the sample event of a route, or of a function without a route."""
    file = EVENTS / f"{name}.json"
    if file.exists():
        event: dict[str, Any] = json.loads(file.read_text())
        return event
    things = dict.fromkeys(("first", "second", "noted"), NOTHING)
    things |= dict.fromkeys(("transfer", "erasure", "answer", "photo", "link", "note"), NAMES["fresh"])
    things["secret"] = "A" * 43
    step = card_of(name).sample.named(NAMES | things)
    return event_of(replace(step, operation=name))


def event_of(step: Step) -> dict[str, Any]:
    """Return the event that API Gateway makes of a step."""
    request = request_of(ROUTES[step.operation], step.given)
    body = b"" if request["body"] is None else json.dumps(request["body"]).encode()
    headers = [*PLAIN, *credentials(step.user, step.agent), *request["headers"]]
    headers += [("content-type", "application/json")] if body else []
    _, event = gateway().event(
        request["method"],
        request["path"],
        query=request["query"],
        body=body,
        headers=[*headers, ("content-length", str(len(body)))],
    )
    return event | {"requestContext": event["requestContext"] | MOMENT}


def request_of(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of the HTTP request for an operation: method, path, query, body, headers."""
    rest, path = dict(given), operation.path
    for name in operation.path_names:
        path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
    headers = [(HEADERS[name], str(rest.pop(name))) for name in HEADERS if name in rest]
    known = [name for name in rest if operation.body is None or name in operation.query_names]
    query = {name: spelled(rest.pop(name)) for name in known}
    return {
        "method": operation.method,
        "path": path,
        "query": urlencode(query),
        "body": None if operation.body is None else rest,
        "headers": [(name, f'"{text}"' if name == "If-Match" else text) for name, text in headers],
    }


def spelled(value: Any) -> str:
    """Return a value of a query parameter as a URL has it."""
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    print(json.dumps(sample_event(sys.argv[1]), ensure_ascii=False, indent=2))

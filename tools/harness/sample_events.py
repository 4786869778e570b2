"""Sample events: the files of events/, and what API Gateway makes of each route's sample request.

python -m tools.harness.sample_events listForks

prints one. The requests are those of the OpenAPI document (forklore_local/server/requests.json).
"""

import json
import sys
from functools import cache
from typing import Any

from forklore_local.server.examples import requests
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Gateway

EVENTS = PROJECT / "events"
PLAIN = {"host": "localhost:8080", "accept": "*/*", "user-agent": "curl/8.5.0"}
MOMENT = {"requestId": "6JgFue9ak502KVw=", "time": "07/Nov/2025:10:30:00 +0000", "timeEpoch": 1762511400000}
"""What would differ each time."""


@cache
def _gateway() -> Gateway:
    return Gateway(read_template(PROJECT / "template.yaml"), FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")


def sample_event(name: str) -> dict[str, Any]:
    """Return the sample event of an operation, or of a function without a route."""
    return _event_of_request(name) if name in requests() else _of_file(name)


def _of_file(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def _event_of_request(name: str) -> dict[str, Any]:
    """Return the event that API Gateway makes of an operation's sample request."""
    sample = requests()[name]
    method, _, target = sample["request"].partition(" ")
    path, _, query = target.partition("?")
    body = json.dumps(sample["body"], ensure_ascii=False).encode() if "body" in sample else b""
    headers = PLAIN | ({"authorization": f"Bearer {sample['user']}"} if "user" in sample else {})
    headers |= sample.get("headers", {})
    headers |= ({"content-type": "application/json"} if body else {}) | {"content-length": str(len(body))}
    _, event = _gateway().event(method, path, query=query, body=body, headers=headers.items())
    return event | {"requestContext": event["requestContext"] | MOMENT}


if __name__ == "__main__":
    print(json.dumps(sample_event(sys.argv[1]), ensure_ascii=False, indent=2))

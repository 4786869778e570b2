"""Write the sample event of a route as the local server makes it, so that nobody has to spell it.

`python -m tests.functions.write_event NAME METHOD PATH [USER] [BODY]` writes a new one. The
path may have a query. `python -m tests.functions.write_event NAME` writes one anew after its query,
path or body was changed by hand.
"""

import json
import sys
from typing import Any

from tests.functions.story import EVENTS, read_event
from tools.harness.gateway import Gateway, credentials, table_in_memory

Event = dict[str, Any]

MOMENT = {"requestId": "6JgFue9ak502KVw=", "time": "07/Nov/2025:10:30:00 +0000", "timeEpoch": 1762511400000}
"""What would differ each time."""
PLAIN = {"host": "localhost:8080", "accept": "*/*", "user-agent": "curl/8.5.0"}
BY_CLIENT = {"content-length", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"}
"""The headers that follow from the request."""


def event_of(
    gateway: Gateway, method: str, path: str, query: str, body: str, headers: dict[str, str]
) -> Event:
    """Return the event of a request. headers: without those that follow from it."""
    sent = [*headers.items(), ("content-length", str(len(body.encode())))]
    _, event = gateway.event(method, path, query=query, body=body.encode(), headers=sent)
    return event | {"requestContext": event["requestContext"] | MOMENT}


def anew(gateway: Gateway, event: Event) -> Event:
    """Return a sample event as its method, path, query, body and headers make it."""
    headers = {name: text for name, text in event["headers"].items() if name not in BY_CLIENT}
    method = event["requestContext"]["http"]["method"]
    made = event_of(
        gateway, method, event["rawPath"], event["rawQueryString"], event.get("body", ""), headers
    )
    return made | {"requestContext": made["requestContext"] | moment_of(event)}


def moment_of(event: Event) -> Event:
    """Return what two events of one request differ in."""
    return {name: event["requestContext"][name] for name in MOMENT}


def new(gateway: Gateway, method: str, path: str, user: str = "alice", body: str = "") -> Event:
    """Return the sample event of a request. path: perhaps with a query."""
    path, _, query = path.partition("?")
    typed = {"content-type": "application/json"} if body else {}
    headers = {**PLAIN, **{name.lower(): text for name, text in credentials(user)}, **typed}
    return event_of(gateway, method, path, query, body, headers)


def main(name: str, *request: str) -> None:
    roles = {"FORKLORE_ADMINS": "adam", "FORKLORE_AUDITORS": "aude"}
    with table_in_memory() as template:
        gateway = Gateway(template, **roles)
        event = new(gateway, *request) if request else anew(gateway, read_event(name))
    (EVENTS / f"{name}.json").write_text(json.dumps(event, ensure_ascii=False, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

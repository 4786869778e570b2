"""Administration: what auditors see, the order of checks, and the audit line of each request."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from forklore_service.api import operations
from forklore_service.domain import ids
from forklore_service.domain.users import AUDITOR
from forklore_service.storage.clock import system_ms
from tests.service.aws.errors import (
    CURSOR,
    FORBIDDEN,
    NOT_FOUND,
    UNAUTHORIZED,
    VALIDATION,
    assert_refused,
    bad,
)
from tests.service.aws.world import (
    BOUND,
    FORK,
    FRESH,
    NOTED,
    PLAIN,
    ROOT,
    SAID,
    Ask,
    World,
    append,
    conversations,
    entries,
    show,
)
from tests.support.lines import Lines
from tools.catalogue import PHOTO
from tools.harness.gateway import Gateway, table_in_memory

ADMIN = "/v1/admin/conversations"
CHILD = "00000000-0000-4000-8000-0000000000c1"
ROUTES = [operation for operation in operations.ALL if operation.role is not None]
NEEDED = {
    "adminCompareConversations": f"&with={FORK}",
    "adminLookUpEntry": "&key=k",
    "adminListNames": "&userId=ann",
    "adminListTrash": "&userId=ann",
    "adminListAttachments": "&userId=ann",
    "adminLookUpName": "&userId=ann&name=trip",
    "adminDeleteName": "&userId=ann&name=trip",
}
"""The parameters that some operations need."""
BODIES = {"adminSearchConversations": {"query": "x"}, "adminEraseUser": {"userId": "zed"}}
"""The bodies that some operations need."""


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """The functions, for users who include an auditor, an admin and an indexer."""
    roles = {"FORKLORE_ADMINS": "adam", "FORKLORE_AUDITORS": "aude", "FORKLORE_INDEXERS": "ines"}
    with table_in_memory() as template:
        yield Gateway(template, **roles)


@pytest.fixture(scope="module")
def open_world(gateway: Gateway) -> World:
    world = World(gateway)
    world.send(append({**NOTED, "epoch": 6}, agent="planner"))
    world.send(append({**NOTED, "epoch": 1}, agent="coder"))
    started = append({**SAID, "startedByConversationId": ROOT}, to=CHILD, agent="planner")
    assert world.send(started).status == 201
    assert world.send(append({**SAID, "key": "k"})).status == 201
    assert world.send(Ask("POST", "/v1/names", {"name": "trip", "conversationId": ROOT})).status == 200
    world.made["answer"] = world.send(Ask("POST", f"/v1/conversations/{ROOT}/answers")).json["id"]
    world.made["photo"] = world.send(Ask("POST", "/v1/attachments", PHOTO)).json["id"]
    return world


def ask(
    rest: str = "", query: Any = "", *, method: str = "GET", user: str | None = "aude", **more: Any
) -> Ask:
    """Return an administration request. The auditor sends it unless `user` says otherwise."""
    query = query if isinstance(query, str) else urlencode(query)
    return Ask(method, ADMIN + rest, query=query, user=user, **more)


def of(conversation: str, what: str = "", query: Any = "", **more: Any) -> Ask:
    return ask(f"/{conversation}{what}", query, **more)


def walk(world: World, first: Ask, *, back: bool = False) -> list[Any]:
    """Return all items of a list, in its order. Reads it page by page."""
    found: list[Any] = []
    asked, name = first, "beforeCursor" if back else "afterCursor"
    while True:
        page = world.send(asked).json
        found = page["data"] + found if back else found + page["data"]
        if page[name] is None:
            return found
        first_query = first.query.replace("tail=true&", "")
        asked = replace(first, query=f"{first_query}&{name}={page[name]}")


def ids_of(listed: list[Any]) -> list[str]:
    return [one["id"] for one in listed]


# What is shown


@pytest.mark.parametrize("limit", [1, 3, 1000])
@pytest.mark.parametrize("all_forks", [True, False])
@pytest.mark.parametrize("back", [True, False])
def test_entries_are_those_of_all_clients_and_epochs(
    world: World, limit: int, all_forks: bool, back: bool
) -> None:
    rest = f"limit={limit}{'&forks=all' if all_forks else ''}"
    query = f"tail=true&{rest}" if back else rest
    shown = walk(world, of(ROOT, "/entries", query), back=back)
    contexts = [(e.get("clientId"), e["epoch"]) for e in shown if e["channel"] == "context"]
    history = [e for e in shown if e["channel"] == "history"]

    assert contexts == [("planner", 5), ("planner", 6), ("coder", 1)]
    assert history == world.send(entries("limit=1000" + ("&forks=all" if all_forks else ""))).json["data"]
    assert ids_of(shown) == sorted(ids_of(shown))
    only = walk(world, of(ROOT, "/entries", f"channel=context&{query}"), back=back)
    assert [(e.get("clientId"), e["epoch"]) for e in only] == contexts


def test_a_child_in_the_list_is_the_same_as_the_child_alone(world: World) -> None:
    child = world.send(of(CHILD)).json

    assert child["clientId"] == "planner"
    assert world.send(of(ROOT, "/children")).json["data"] == [child]


def test_an_agents_key_changes_nothing(world: World) -> None:
    for asked in (of(ROOT, "/entries"), of(BOUND), ask(query="mode=all")):
        assert world.send(replace(asked, agent="coder")).json == world.send(asked).json


# What is refused, and the order of checks


REFUSED = [
    bad("no user, a bad limit", ask(query="limit=0", user=None), UNAUTHORIZED),
    bad("no role, a bad limit", ask(query="limit=0", user="ann")),
    bad("no role, an unknown parameter", of(FRESH, query="x=1", user="ann")),
    bad("no role, an unknown conversation", of(FRESH, user="ann"), FORBIDDEN),
    bad("no role, text that is not an id", of("x", user="ann"), FORBIDDEN),
    bad("no role, a bad cursor of entries", of(ROOT, "/entries", "afterCursor=x", user="ann"), FORBIDDEN),
    bad("no role, a bad cursor", ask(query="afterCursor=x", user="ann"), FORBIDDEN),
    bad("the owner", of(ROOT, user="ann"), FORBIDDEN),
    bad("another role", of(ROOT, user="ines"), FORBIDDEN),
    bad("an auditor's DELETE of an unknown conversation", of(FRESH, method="DELETE"), FORBIDDEN),
    bad("an unknown conversation", of(FRESH), NOT_FOUND),
    bad("text that is not an id", of("x"), NOT_FOUND),
    bad("an epoch", of(ROOT, "/entries", "channel=context&epoch=all")),
    bad("a title query", ask(query="query=x")),
    bad("a blank user", ask(query="userId=+")),
    bad("a user with a control character", ask(query="userId=a%00")),
    bad("a long justification", of(ROOT, query={"justification": "x" * 1001})),
    bad("a justification twice", of(ROOT, query="justification=a&justification=b")),
    bad("two cursors", of(ROOT, "/entries", "tail=true&afterCursor=x")),
    bad("a user's own cursor", ask(query="afterCursor=<conversations>"), CURSOR),
    bad("a cursor of anything", ask(query="afterCursor=x"), CURSOR),
    bad("a foreign entry's cursor", of(ROOT, "/entries", "afterCursor=<foreign>"), CURSOR),
    bad("an unknown parameter", ask(method="POST", body={}), (405, "method_not_allowed")),
    bad("a change", of(ROOT, method="PATCH", body={"title": "x"}), (405, "method_not_allowed")),
    bad(
        "an append", of(ROOT, "/entries", method="POST", body=PLAIN, user="adam"), (405, "method_not_allowed")
    ),
]


@pytest.mark.parametrize(("asked", "expected"), REFUSED)
def test_a_request_is_refused_with_the_first_error_in_the_order_of_checks(
    world: World, lines: Lines, asked: Ask, expected: tuple[int, str]
) -> None:
    assert_refused(world.send(asked), expected)
    assert [line["status"] for line in audit(lines)] == ([] if expected[0] == 405 else [expected[0]])


def test_a_role_gives_no_access_through_the_other_routes(world: World) -> None:
    for asked in (show(ROOT, user="adam"), entries(user="adam"), show(ROOT, user="aude")):
        assert_refused(world.send(asked), FORBIDDEN)
    assert world.send(conversations("mode=all&ancestry=all", user="adam")).json["data"] == []


# Justifications


def test_a_deployment_can_require_a_justification(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKLORE_JUSTIFICATION_REQUIRED", "true")
    for operation in ROUTES:
        path = operation.path.format(
            conversationId=ROOT,
            entryId="<first>",
            erasureId="<erasure>",
            answerId="<answer>",
            attachmentId="<photo>",
            linkId=ROOT,
            noteId=ROOT,
        )
        body = BODIES.get(operation.name)
        needed = NEEDED.get(operation.name, "")
        asked = Ask(operation.method, path, body, query=needed, user="aude")
        justified = replace(asked, query="justification=x" + needed)
        for query in ("", "justification=", "justification=%20%09"):
            answer = world.send(replace(asked, query=query + needed))
            assert_refused(answer, VALIDATION)
            assert answer.json["details"]["field"] == "justification"
        if operation.is_read and operation.role == AUDITOR:
            assert world.send(justified).status == 200
        else:
            assert_refused(world.send(justified), FORBIDDEN)
        assert_refused(world.send(replace(asked, user="ann")), VALIDATION)
        assert_refused(world.send(replace(justified, user="ann")), FORBIDDEN)
    assert world.send(show(ROOT)).status == 200


# The audit log


def audit(lines: Lines) -> list[dict[str, Any]]:
    """Return the lines of the audit log, without the fields that every log line has."""
    assert {(line["logger"], line["level"]) for line in lines.named("audit")} <= {
        ("forklore.audit", "WARNING")
    }
    assert all(text.isprintable() for text in lines.texts)
    of_lines = ("timestamp", "level", "logger", "message")
    return [{name: line[name] for name in line if name not in of_lines} for line in lines.named("audit")]


@pytest.mark.parametrize("operation", ROUTES, ids=lambda operation: operation.name)
@pytest.mark.parametrize("user", ["aude", "ann", None])
def test_each_request_writes_one_line_also_when_it_is_refused(
    world: World, lines: Lines, operation: Any, user: str | None
) -> None:
    path = operation.path.format(
        conversationId=FRESH,
        entryId="<first>",
        **dict.fromkeys(("erasureId", "answerId", "attachmentId", "linkId", "noteId"), ROOT),
    )
    asked = Ask(operation.method, path, query="justification=a+ticket", user=user)
    answer = world.send(asked)
    [line] = audit(lines)

    expected = {
        "xRequestId": answer.headers["x-request-id"],
        "what": operation.name,
        "who": user,
        "clientId": None,
        "roles": ["auditor"] if user == "aude" else [],
        "conversationId": FRESH if FRESH in path else None,
        "userId": None,
        "justification": "a ticket",
        "status": answer.status,
    } | ({"justification": None} if user is None else {})
    assert ids.timestamp(ids.milliseconds(line.pop("time"))) <= ids.timestamp(system_ms())
    assert line == {name: held for name, held in expected.items() if held is not None}


def test_the_line_names_the_user_asked_for_and_the_agent(world: World, lines: Lines) -> None:
    world.send(ask(query={"userId": "ann", "justification": "line\nfeed \u2028\x1b[31m é"}, agent="coder"))
    [line] = audit(lines)

    assert (line["userId"], line["who"], line["clientId"]) == ("ann", "aude", "coder")
    assert line["justification"] == "line\\u000afeed \\u2028\\u001b[31m é"
    assert "conversationId" not in line


def test_a_request_outside_administration_writes_no_audit_line(world: World, lines: Lines) -> None:
    world.send(show(ROOT, user="adam"))
    world.send(conversations(user="aude"))

    assert audit(lines) == []


@pytest.mark.parametrize("roles", [None, [], ["Admin"], ["admins"], ["indexer"]])
def test_without_a_role_that_forklore_knows_administration_is_refused(
    gateway: Gateway, world: World, lines: Lines, roles: Any
) -> None:
    function, event = gateway.event("GET", ADMIN, headers=[("Authorization", "Bearer aude")])
    event["requestContext"]["authorizer"]["lambda"]["roles"] = roles

    assert gateway.invoke(function, event).status == 403
    assert [(line["status"], line["roles"]) for line in audit(lines)] == [(403, roles or [])]


def test_an_admin_needs_no_second_role(gateway: Gateway, world: World) -> None:
    function, event = gateway.event("GET", ADMIN, headers=[("Authorization", "Bearer adam")])
    event["requestContext"]["authorizer"]["lambda"]["roles"] = ["admin"]

    assert gateway.invoke(function, event).status == 200

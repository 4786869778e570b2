"""Events that do not come from an HTTP API, given to the functions that serve one."""

import json
from typing import Any

import pytest

from forklore_local.server.payload import API_ID
from forklore_service.credentials.published_keys import RETRY_SECONDS
from tests.service.aws.world import CONVERSATIONS, ROOT, World
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Gateway, stored

SERVED = [f for f in read_template(PROJECT / "template.yaml").functions if f.routes]
FUNCTIONS = [f for f in SERVED if f.name != "McpFunction"]
[TOOLS] = [f for f in SERVED if f not in FUNCTIONS]
"""The function whose errors are those of another protocol."""


def changed(event: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the event with the value at a dotted path replaced. The value `...` removes it."""
    copy: dict[str, Any] = json.loads(json.dumps(event))
    *parents, name = path.split(".")
    part = copy
    for parent in parents:
        part = part[parent]
    if value is ...:
        del part[name]
    else:
        part[name] = value
    return copy


ALIEN: dict[str, Any] = {
    "nothing": {},
    "null": None,
    "a list": [],
    "text": "GET /v1/conversations",
    "a direct invocation": {"operation": "listConversations", "caller": {"userId": "ann"}, "input": {}},
    "a REST API's": {"resource": "/v1/conversations", "httpMethod": "GET", "requestContext": {"stage": "x"}},
    "a queue's": {"Records": [{"body": "{}", "eventSource": "aws:sqs"}]},
    "EventBridge's": {"detail-type": "x", "source": "y", "detail": {}},
}
WRONG_PARTS = [
    ("version", "1.0"),
    ("version", ...),
    ("requestContext.apiId", ...),
    ("requestContext.apiId", [API_ID]),
    ("requestContext.apiId", "a1b2c3d4e5"),
    ("requestContext.apiId", int(API_ID)),
    ("routeKey", ...),
    ("routeKey", ["GET /v1/conversations"]),
    ("requestContext", ...),
    ("requestContext", "x"),
    ("requestContext.stage", ...),
    ("requestContext.stage", 5),
    ("requestContext.http", ...),
    ("requestContext.http.method", ...),
    ("requestContext.http.method", 5),
    ("requestContext.http.path", None),
    ("requestContext.authorizer", "ann"),
    ("requestContext.authorizer.lambda", "ann"),
    ("headers", "x"),
    ("headers", {"a": 1}),
    ("pathParameters", ["x"]),
    ("pathParameters", {"conversationId": 5}),
    ("rawQueryString", {"a": "b"}),
    ("body", {"title": "x"}),
]
NOBODY = [
    ("requestContext.authorizer", ...),
    ("requestContext.authorizer", None),
    ("requestContext.authorizer", {"jwt": {"claims": {"sub": "ann"}}}),
    ("requestContext.authorizer.lambda", None),
    ("requestContext.authorizer.lambda", {"unavailable": False}),
    ("requestContext.authorizer.lambda", {"unavailable": "true"}),
    ("requestContext.authorizer.lambda.userId", 5),
    ("requestContext.authorizer.lambda.userId", ""),
    ("requestContext.authorizer.lambda.userId", "an\nn"),
    ("requestContext.authorizer.lambda.clientId", ["planner"]),
    ("requestContext.authorizer.lambda.clientId", " "),
    ("requestContext.authorizer.lambda.roles", "admin"),
    ("requestContext.authorizer.lambda.roles", [["admin"]]),
]


def assert_refused(answer: Any, status: int) -> None:
    assert answer["statusCode"] == status
    assert set(json.loads(answer["body"])) == {"code", "error", "requestId", "details"}
    assert answer["headers"]["X-Request-Id"] == json.loads(answer["body"])["requestId"]


@pytest.mark.failure("forged-event")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
@pytest.mark.parametrize("event", ALIEN.values(), ids=list(ALIEN))
def test_an_event_of_something_else_is_refused(gateway: Gateway, function: Any, event: Any) -> None:
    before = stored()

    assert_refused(gateway.raw(function, event), 400)
    assert stored() == before


@pytest.mark.failure("forged-event")
@pytest.mark.parametrize("event", ALIEN.values(), ids=list(ALIEN))
def test_the_tools_refuse_an_event_of_something_else(gateway: Gateway, event: Any) -> None:
    assert gateway.raw(TOOLS, event) == {"statusCode": 400, "headers": {}, "body": ""}


@pytest.mark.failure("forged-event")
@pytest.mark.parametrize(("path", "value"), WRONG_PARTS, ids=lambda part: ascii(part)[:40])
def test_an_event_with_a_part_of_another_shape_is_refused(gateway: Gateway, path: str, value: Any) -> None:
    function, event = gateway.event("GET", CONVERSATIONS, headers=[("Authorization", "Bearer ann")])

    assert gateway.raw(function, event)["statusCode"] == 200
    assert_refused(gateway.raw(function, changed(event | {"pathParameters": {}}, path, value)), 400)


@pytest.mark.failure("missing-identity")
@pytest.mark.parametrize(("path", "value"), NOBODY, ids=lambda part: ascii(part)[:40])
def test_an_event_without_a_good_caller_is_401(gateway: Gateway, path: str, value: Any) -> None:
    """There is no default identity."""
    function, event = gateway.event("GET", CONVERSATIONS, headers=[("Authorization", "Bearer ann")])

    assert_refused(gateway.raw(function, changed(event, path, value)), 401)


def test_a_known_route_without_its_path_parameters_causes_no_500(open_world: World, gateway: Gateway) -> None:
    function, event = gateway.event(
        "GET", f"{CONVERSATIONS}/{ROOT}", headers=[("Authorization", "Bearer ann")]
    )
    answer = gateway.raw(function, changed(event, "pathParameters", ...))

    assert_refused(answer, 400)


@pytest.mark.parametrize("more", [{}, {"userId": "ann", "roles": ["admin"]}], ids=["alone", "with a user"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_if_credentials_cannot_be_checked_the_answer_is_503(
    gateway: Gateway, function: Any, more: dict[str, Any]
) -> None:
    method, path = next((r.method, r.path) for r in function.routes if r.path not in ("", "/v1/health"))
    before = stored()
    _, event = gateway.event(method, path.replace("{conversationId}", ROOT))
    event["requestContext"]["authorizer"] = {"lambda": {"unavailable": True, **more}}
    answer = gateway.raw(function, event)

    assert_refused(answer, 503)
    assert answer["headers"]["Retry-After"] == str(RETRY_SECONDS), (
        "earlier than forklore asks the issuer again"
    )
    assert stored() == before


def test_health_needs_no_credentials_that_can_be_checked(gateway: Gateway) -> None:
    function, event = gateway.event("GET", "/v1/health")
    event["requestContext"]["authorizer"] = {"lambda": {"unavailable": True}}

    assert gateway.raw(function, event)["statusCode"] == 200


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FORKLORE_API", ""),
        ("FORKLORE_API", None),
        ("FORKLORE_TABLE", None),
        ("FORKLORE_JUSTIFICATION_REQUIRED", "perhaps"),
        ("FORKLORE_DELETE_WAIT_SECONDS", "soon"),
    ],
)
def test_a_function_with_a_wrong_setting_refuses_requests_and_says_what_to_set(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    function, event = gateway.event("GET", "/v1/health")
    monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name)

    with pytest.raises(RuntimeError, match=f"set {name}"):
        gateway.handle(function, event)


def test_the_tools_answer_503_if_credentials_cannot_be_checked(gateway: Gateway) -> None:
    _, event = gateway.event("POST", "/mcp")
    event["requestContext"]["authorizer"] = {"lambda": {"unavailable": True, "userId": "ann"}}

    told = {"retry-after": str(RETRY_SECONDS)}
    assert gateway.raw(TOOLS, event) == {"statusCode": 503, "headers": told, "body": ""}

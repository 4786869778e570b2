"""The routes of template.yaml, the operations, and what each function serves."""

from collections import Counter

import pytest

from forklore_local.server.routing import Function
from forklore_service.api import operations
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, Answer, Gateway
from tools.harness.sample_events import sample_event

CALLED = [one for one in read_template(PROJECT / "template.yaml").functions if one.routes]
FUNCTIONS = [one for one in CALLED if one.name != "McpFunction"]
DEFAULT = "$default"
BY_ROUTE = {f"{operation.method} {operation.path}": operation for operation in operations.ROUTES}


def keys_of(function: Function) -> list[str]:
    return [route.key for route in function.routes]


def test_the_template_has_exactly_the_routes_of_the_operations() -> None:
    routes = Counter(key for function in FUNCTIONS for key in keys_of(function))

    assert routes == Counter([*BY_ROUTE, DEFAULT])


def test_no_two_operations_share_a_name_or_a_route() -> None:
    assert len({operation.name for operation in operations.ROUTES}) == len(BY_ROUTE) == len(operations.ROUTES)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
@pytest.mark.parametrize("key", BY_ROUTE)
def test_a_function_serves_the_routes_that_the_template_gives_it_and_no_others(
    gateway: Gateway, told: dict[str, Answer], function: Function, key: str
) -> None:
    again = gateway.invoke(function, sample_event(BY_ROUTE[key].name))
    refused = again.status == 404 and again.json["details"]["message"].startswith("no such route")

    assert refused == (key not in keys_of(function)), again.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("GET", "/", 404), ("DELETE", "/v1/conversations", 405)],
)
def test_a_request_without_a_route_reaches_a_function_that_refuses_it(
    gateway: Gateway, method: str, path: str, status: int
) -> None:
    function, event = gateway.event(method, path)

    assert event["routeKey"] == DEFAULT
    assert gateway.invoke(function, event).status == status

"""Every operation by HTTP and by direct invocation: the same status and the same body."""

import json
from typing import Any

import pytest

from forklore_service.api import operations
from tests.service.aws.direct import Direct
from tests.service.aws.story import Ask, tell
from tools.catalogue import STORY, Step
from tools.harness.gateway import Gateway, table_in_memory
from tools.harness.sample_events import request_of, spelled

BY_NAME = {operation.name: operation for operation in operations.ALL}
Told = list[tuple[Step, int, Any]]
"""Each step, with the status and the body that it was answered with."""


def by_http(gateway: Gateway) -> Ask:
    """Return a function that sends a step as an HTTP request."""

    def ask(step: Step) -> tuple[int, Any]:
        request = request_of(BY_NAME[step.operation], step.given)
        answer = gateway.send(**request, user=step.user, agent=step.agent)
        return answer.status, json.loads(answer.text) if answer.text else None

    return ask


def directly(direct: Direct, *, as_text: bool = False) -> Ask:
    """Return a function that sends a step as a direct invocation."""

    def ask(step: Step) -> tuple[int, Any]:
        caller = {"userId": step.user, "clientId": step.agent, "roles": step.roles}
        request = {"operation": step.operation, "caller": caller, "input": step.given}
        if not as_text:
            answer = direct.send(request)
            assert set(answer) == {"status", "body"}
            return answer["status"], answer["body"]
        answer = direct.send({**request, "bodyJson": True})
        assert set(answer) == {"status", "bodyJson"}
        return answer["status"], answer["bodyJson"] and json.loads(answer["bodyJson"])

    return ask


def query_as_text(ask: Ask) -> Ask:
    """Return `ask`, but with query parameters as text, as a URL has them."""

    def asking(step: Step) -> tuple[int, Any]:
        operation = BY_NAME[step.operation]
        given = {
            name: held if name in operation.path_names or operation.body else spelled(held)
            for name, held in step.given.items()
        }
        return ask(Step(step.operation, given, step.user, step.agent))

    return asking


def test_the_story_uses_every_operation() -> None:
    assert {step.operation for step in STORY} == set(BY_NAME)


@pytest.fixture(scope="module")
def http() -> Told:
    """The story, told by HTTP."""
    with table_in_memory() as template:
        return tell(by_http(Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")))


@pytest.mark.parametrize("way", ["direct", "text", "strings"])
def test_every_operation_answers_the_same_by_http_and_by_direct_invocation(
    monkeypatch: pytest.MonkeyPatch, http: Told, way: str
) -> None:
    with table_in_memory() as template:
        monkeypatch.setenv("FORKLORE_DIRECT_ROLES", "allowed")
        direct = directly(Direct(template), as_text=way == "text")
        told = tell(query_as_text(direct) if way == "strings" else direct)

    for (step, status, body), (_, direct_status, direct_body) in zip(http, told, strict=True):
        assert (direct_status, direct_body) == (status, body), step
    good = {step.operation for step, status, _ in http if status < 400}
    assert good == set(BY_NAME)
    assert all(status != 500 for _, status, _ in http)

"""The examples of the OpenAPI document work on an empty server, as Swagger UI sends them."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from forklore_local.server import guide
from tools.harness.gateway import PROJECT, Answer, Gateway, table_in_memory

DOCUMENT: Any = json.loads((PROJECT / "docs" / "openapi.json").read_text(encoding="utf-8"))
OPERATIONS = {
    one["operationId"]: (method.upper(), path, one)
    for path, methods in DOCUMENT["paths"].items()
    for method, one in methods.items()
}
STEPS = re.findall(r"^\d+\. \[\w+\]\(#/(\w+)/(\w+)\)", DOCUMENT["info"]["description"], re.MULTILINE)
"""The tag and the operation that each step of the introduction links to."""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with table_in_memory() as template:
        yield Gateway(template)


def filled_in(parameter: Any) -> Any:
    """Return the value that the page sends for an unedited parameter. None: it sends none."""
    return parameter.get("example", parameter["schema"].get("default"))


def execute(gateway: Gateway, name: str, *, agent: str | None = None) -> Answer:
    """Send an operation's request as the page does if the user edits nothing."""
    method, path, described = OPERATIONS[name]
    sent: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}}
    for parameter in described["parameters"]:
        value = filled_in(parameter)
        if value is not None:
            sent[parameter["in"]][parameter["name"]] = value if isinstance(value, str) else json.dumps(value)
    headers, body = list(sent["header"].items()), None
    if "requestBody" in described:
        body = json.dumps(described["requestBody"]["content"]["application/json"]["example"]).encode()
        headers.append(("Content-Type", "application/json"))
    return gateway.send(
        method,
        path.format(**sent["path"]),
        user="alice",
        agent=agent,
        query=urlencode(sent["query"]),
        body=body,
        headers=headers,
    )


def test_the_first_steps_work_in_their_order_with_nothing_edited(gateway: Gateway) -> None:
    answers = {name: execute(gateway, name) for _, name in STEPS}

    assert {name: answer.status for name, answer in answers.items() if answer.status >= 300} == {}
    created, appended = answers["createConversation"].json, answers["appendEntry"].json
    assert answers["listEntries"].json["data"] == [appended]
    assert [fork["conversationId"] for fork in answers["listForks"].json["data"]] == [
        created["id"],
        answers["forkConversation"].json["id"],
    ]
    assert len(answers["listConversations"].json["data"]) == 1
    assert [member["userId"] for member in answers["listMemberships"].json["data"]] == ["alice", "bob"]
    assert len(answers["listTransfers"].json["data"]) == 1


def test_an_agents_context_can_be_synced_after_the_first_step(gateway: Gateway) -> None:
    assert execute(gateway, "createConversation").status == 201

    synced = execute(gateway, "syncContext", agent="local")

    assert (synced.status, synced.json["epoch"]) == (200, 1), synced.text
    assert len(execute(gateway, "listEntries", agent="local").json["data"]) == 1


def test_the_steps_link_to_the_headline_operations() -> None:
    assert [name for _, name in STEPS] == list(guide.FIRST_STEPS)
    assert {"createConversation", "appendEntry", "listEntries", "forkConversation", "listForks"} < {
        name for _, name in STEPS
    }
    for tag, name in STEPS:
        assert OPERATIONS[name][2]["tags"] == [tag]


@pytest.mark.parametrize("name", OPERATIONS)
def test_optional_parameters_are_not_filled_in(name: str) -> None:
    for parameter in OPERATIONS[name][2]["parameters"]:
        assert ("example" in parameter) == parameter["required"], parameter["name"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_more_than_its_summary(name: str) -> None:
    described = OPERATIONS[name][2]

    assert described["description"], "write one below the summary, in the docstring of its function"
    assert described["description"] != described["summary"]


def test_a_user_can_sign_in_on_the_page() -> None:
    assert "user" in DOCUMENT["components"]["securitySchemes"]

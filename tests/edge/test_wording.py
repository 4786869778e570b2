"""What callers are told: which names there are, how others are spelled here, and no word of Python."""

import json
import re
from typing import Any

import pytest

from forklore.edge import operations
from forklore.edge.operation import Operation
from tests.edge.direct import Direct
from tests.edge.gateway import Gateway
from tests.edge.test_direct import JUNK
from tests.edge.world import CONVERSATIONS, PLAIN, ROOT, SAID, Ask, World, append, entries, path_of

PYTHON = re.compile(
    r"(?i:input should|validation error|value error|pydantic|python|instance|extra inputs|field required"
    r"|\b(str|dict|dictionary|list|tuple|int|integer|float|bool|boolean)\b)"
    r"|\b(None|True|False|NoneType|Mapping)\b|[a-z]_[a-z]"
)
"""Words that a caller of an API of JSON has no use for."""
MESSAGE = '"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi"}]'
HI = {"role": "user", "content": "hi"}


@pytest.fixture(scope="module")
def direct(gateway: Gateway, open_world: World) -> Direct:
    return Direct(gateway.template)


def told(world: World, ask: Ask, status: int = 400) -> tuple[str, str | None]:
    answer = world.send(ask)
    assert answer.status == status, answer.text
    return answer.json["details"]["message"], answer.json["details"].get("field")


def members(operation: Operation) -> list[str]:
    models = [operation.query, *([operation.body] if operation.body else [])]
    schemas = [model.model_json_schema() for model in models]
    every = [part for schema in schemas for part in (schema, *schema.get("$defs", {}).values())]
    return sorted({*operation.path_names, *(name for one in every for name in one.get("properties", {}))})


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_what_is_told_of_junk_in_any_field_is_in_the_words_of_json(
    direct: Direct, operation: Operation
) -> None:
    path = dict.fromkeys(operation.path_names, ROOT)
    good = {"contentType": "x", "content": [], "accessLevel": "reader", "userId": "x", "atEntryId": "x"}
    junk: list[Any] = [*JUNK, "x" * 1001, -1, 10**30, {"a" * 70: "b"}, {"a": "b" * 300}, [[]] * 1001]
    found = []
    for name in [*members(operation), "surplus"]:
        for value in junk:
            known = {key: held for key, held in good.items() if key in members(operation)}
            answer = direct.ask(operation.name, {**path, **known, name: value}, agent="planner")
            if answer["status"] == 400:
                found.append(answer["body"]["details"]["message"])
        for text in ({"usage": {name: "x"}}, {"entries": [{name: 5}]}, {"usage": {"inputTokens": value}}):
            answer = direct.ask(operation.name, {**path, **text}, agent="planner")
            if answer["status"] == 400:
                found.append(answer["body"]["details"]["message"])

    assert found
    shown = {re.sub(r"'[^']*'", "", message) for message in found}
    assert not [message for message in shown if PYTHON.search(message)]
    assert all(message for message in shown)


def test_an_unknown_name_is_told_which_there_are(world: World) -> None:
    message, field = told(world, append({**PLAIN, "canary": 1}))
    assert field == "canary"
    assert message.startswith("'canary' is unknown here; there are ")
    assert {"channel", "contentType", "content", "usage", "forkedAtEntryId"} <= set(
        re.findall(r"\w+", message)
    )
    message, field = told(world, Ask("GET", CONVERSATIONS, query="canary=1"))
    assert (message, field) == (
        "'canary' is unknown here; there are mode, ancestry, query, limit, afterCursor",
        "canary",
    )
    message, field = told(world, Ask("GET", path_of(ROOT), query="canary=1"))
    assert (message, field) == ("'canary' is unknown here; nothing is taken", "canary")
    message, field = told(world, append({**PLAIN, "usage": {"tokens": 1}}))
    assert "inputTokens, outputTokens, cachedInputTokens, costUsd" in message


@pytest.mark.parametrize(
    ("given", "field", "spelled"),
    [
        ({"content_type": "x", "content": []}, "content_type", "contentType"),
        ({**PLAIN, "agent_id": "x"}, "agent_id", "agentId"),
        ({**PLAIN, "ContentType": "x"}, "ContentType", "contentType"),
        ({**PLAIN, "forked-at-entry-id": "x"}, "forked-at-entry-id", "forkedAtEntryId"),
        ({"entries": [{"content_type": "x", "content": []}]}, "entries.0.content_type", "contentType"),
    ],
)
def test_another_spelling_of_a_name_is_told_how_it_is_spelled(
    world: World, given: Any, field: str, spelled: str
) -> None:
    assert told(world, append(given)) == (f"is spelled {spelled}", field)


@pytest.mark.parametrize("query", ["after_cursor=x", "up_to_entry_id=x", "AllForks=true"])
def test_another_spelling_of_a_parameter_is_told_too(world: World, query: str) -> None:
    assert told(world, entries(query))[0].startswith("is spelled ")


@pytest.mark.parametrize(
    "given",
    [
        HI,
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "text": "hi"},
        {"messages": [HI]},
        {"messages": [HI], "model": "m"},
        {"messages": []},
        {"entries": [HI]},
        {"entries": [{**SAID, **HI}]},
    ],
)
def test_messages_of_other_apis_are_told_what_a_message_is_here(world: World, given: Any) -> None:
    message, _ = told(world, append(given))

    assert MESSAGE in message
    assert message.count("{") == message.count("}"), "the example is whole"


def test_the_examples_in_messages_are_good_requests(open_world: World) -> None:
    for given in (HI, {"messages": [HI]}):
        message = open_world.send(append(given)).json["details"]["message"]
        assert open_world.send(append(json.loads(message.partition(": ")[2]))).status == 201


def test_a_message_that_says_its_text_as_content_is_told_of_text(world: World) -> None:
    message, field = told(world, append({**SAID, "content": [{"role": "user", "content": "hi"}]}))

    assert field == "content[0]"
    assert '[{"role": "USER", "text": "hi"}]' in message


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize(("rest", "status"), [("", 405), ("/<first>", 404), ("/x", 404)])
def test_changing_an_entry_is_told_that_forks_are_for_that(
    world: World, method: str, rest: str, status: int
) -> None:
    message, _ = told(world, Ask(method, f"{path_of(ROOT)}/entries{rest}", {}), status)

    assert "append-only" in message
    assert "fork" in message


def test_reading_one_entry_is_just_no_route(world: World) -> None:
    assert told(world, Ask("GET", f"{path_of(ROOT)}/entries/<first>"), 404)[0] == "no such route"

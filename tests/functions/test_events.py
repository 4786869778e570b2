"""The sample events: one for each route. Sent in the order of the story, they all succeed."""

import json
from decimal import Decimal
from typing import Any

import pytest

from forklore.api import operations
from tests.aws.gateway import Answer, Gateway
from tests.functions.story import AUTHORIZER, DIRECT, EVENTS, JOBS, STORY, read_event

BY_NAME = {operation.name: operation for operation in operations.ROUTES}
MADE_ANEW = {"requestId", "time", "timeEpoch"}
"""The fields that differ between two events of one request."""


def without_the_moment(event: dict[str, Any]) -> dict[str, Any]:
    context = {name: held for name, held in event["requestContext"].items() if name not in MADE_ANEW}
    return event | {"requestContext": context}


def test_every_route_has_a_sample_event_and_every_sample_event_is_in_the_story() -> None:
    others = {f"{name}.json" for name in (*JOBS, *DIRECT, AUTHORIZER)}
    files = {path.name for path in EVENTS.iterdir()} - others

    assert files == {f"{name}.json" for name in BY_NAME} == {f"{name}.json" for name in STORY}


@pytest.mark.parametrize("name", STORY)
def test_a_sample_event_gets_the_status_and_the_result_of_its_operation(
    told: dict[str, Answer], name: str
) -> None:
    answer = told[name]

    assert (answer.status, STORY[name]) == (BY_NAME[name].status, BY_NAME[name].status), answer.text
    result = BY_NAME[name].result
    if result is None:
        assert answer.text == ""
    else:
        result.model_validate_json(answer.text, strict=True)


@pytest.mark.parametrize("name", STORY)
def test_a_sample_event_equals_the_event_that_the_local_server_builds(gateway: Gateway, name: str) -> None:
    event = read_event(name)
    _, made = gateway.event(
        event["requestContext"]["http"]["method"],
        event["rawPath"],
        query=event["rawQueryString"],
        body=event.get("body", "").encode(),
        headers=[(key, text) for key, text in event["headers"].items() if not key.startswith("x-forwarded")],
    )

    assert without_the_moment(event) == without_the_moment(made)


def test_the_story_ends_with_a_conversation_and_its_fork(told: dict[str, Answer]) -> None:
    created, appended, forked = (
        told[name].json for name in ("createConversation", "appendEntry", "forkConversation")
    )
    entry = {name: appended[name] for name in ("id", "userId", "clientId", "agentId", "content", "usage")}
    metrics = {"entries": 1, "inputTokens": 12, "outputTokens": 0, "cachedInputTokens": 0, "costUsd": 0.00036}

    assert entry == {
        "id": appended["id"],
        "userId": "alice",
        "clientId": "local",
        "agentId": "travel-planner",
        "content": [{"role": "USER", "text": "Where should we stay for two nights?"}],
        "usage": {"inputTokens": 12, "costUsd": 0.00036},
    }
    assert told["listEntries"].json == {"data": [appended], "afterCursor": None, "beforeCursor": None}
    assert told["updateConversation"].json == created | {
        "title": "Two nights in Lisbon",
        "tags": {"topic": "travel", "city": "Lisbon"},
        "updatedAt": told["updateConversation"].json["updatedAt"],
        "lastMessagePreview": "Where should we stay for two nights?",
        "metrics": metrics,
    }
    assert forked["forkedAtConversationId"] == created["id"]
    assert (forked["forkedAtEntryId"], forked["forkedAtPosition"]) == (appended["id"], "after")
    assert forked["metrics"] == metrics
    assert [fork["conversationId"] for fork in told["listForks"].json["data"]] == [
        created["id"],
        forked["id"],
    ]
    assert told["getConversation"].json == forked
    assert told["listConversations"].json == {
        "data": [forked, told["updateConversation"].json],
        "afterCursor": None,
    }


def test_numbers_of_the_story_keep_their_spelling(told: dict[str, Answer]) -> None:
    sent = json.loads(read_event("createConversation")["body"], parse_float=Decimal)
    shown = json.loads(told["createConversation"].text, parse_float=Decimal)

    assert str(sent["metadata"]) == str(shown["metadata"]) == "{'budgetEur': Decimal('450.0'), 'nights': 2}"

"""The sample events: one for each route. Sent in the order of the story, they all succeed."""

import json
from decimal import Decimal

import pytest

from forklore.api import operations
from tests.functions import write_event
from tests.functions.story import AUTHORIZER, DIRECT, EVENTS, JOBS, STORY, read_event
from tools.harness.gateway import Answer, Gateway

BY_NAME = {operation.name: operation for operation in operations.ROUTES}


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
def test_a_sample_event_is_what_the_local_server_makes_of_its_request(gateway: Gateway, name: str) -> None:
    """After a change: python -m tests.functions.write_event NAME."""
    event = read_event(name)

    assert event == write_event.anew(gateway, event)


@pytest.mark.parametrize("name", ["listForks", "updateMembership", "adminListConversations"])
def test_a_sample_event_can_be_made_of_its_request_alone(gateway: Gateway, name: str) -> None:
    event = read_event(name)
    path, user = f"{event['rawPath']}?{event['rawQueryString']}", event["headers"]["authorization"][7:]
    method = event["requestContext"]["http"]["method"]
    made = write_event.new(gateway, method, path, user, event.get("body", ""))

    assert made | {"requestContext": made["requestContext"] | write_event.moment_of(event)} == event


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
    assert told["listEntries"].json == {
        "data": [appended],
        "afterCursor": None,
        "beforeCursor": None,
        "alternativesAtEnd": [],
    }
    assert told["getEntry"].json == appended
    assert told["compareConversations"].json == {
        "base": {"entryId": appended["id"]},
        "branches": [
            {"conversationId": one["id"], "data": [], "afterCursor": None} for one in (created, forked)
        ],
    }
    assert told["listAncestors"].json == {
        "data": [{"conversationId": created["id"], "title": told["updateConversation"].json["title"]}]
    }
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

"""Each route has a sample request. Sent in the order of the story, they all succeed."""

import json
from decimal import Decimal

import pytest

from forklore_service.api import operations
from tests.functions.story import STORY
from tools.harness.gateway import Answer
from tools.harness.sample_events import EVENTS, MOMENT, sample_event

BY_NAME = {operation.name: operation for operation in operations.ROUTES}


def test_every_route_has_a_sample_request() -> None:
    assert sorted(STORY) == sorted(BY_NAME)


@pytest.mark.parametrize("name", STORY)
def test_a_sample_event_gets_the_status_and_the_result_of_its_operation(
    told: dict[str, Answer], name: str
) -> None:
    answer = told[name]

    assert answer.status == BY_NAME[name].status, answer.text
    result = BY_NAME[name].result
    if result is None:
        assert answer.text == ""
    else:
        result.model_validate_json(answer.text, strict=True)


@pytest.mark.parametrize("name", ["getConversation", "appendEntry", "forkConversation"])
def test_the_event_in_a_file_is_what_the_local_server_makes_of_its_request(name: str) -> None:
    event = json.loads((EVENTS / f"{name}.json").read_text())
    moment = {part: event["requestContext"][part] for part in MOMENT}
    made = sample_event(name)

    assert event == made | {"requestContext": made["requestContext"] | moment}


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
    sent = json.loads(sample_event("createConversation")["body"], parse_float=Decimal)
    shown = json.loads(told["createConversation"].text, parse_float=Decimal)

    assert str(sent["metadata"]) == str(shown["metadata"]) == "{'budgetEur': Decimal('450.0'), 'nights': 2}"

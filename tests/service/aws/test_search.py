"""The search over HTTP: what a hit shows, what is kept of it, and what the audit log says."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forklore_service.aws.wiring import open_table
from tests.service.aws.world import (
    FORK,
    ROOT,
    SEARCH,
    Ask,
    World,
    entries,
    find,
)
from tests.support.lines import Lines
from tools.harness.gateway import Gateway, table_in_memory

ADMIN = SEARCH.replace("/v1/", "/v1/admin/")


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """The functions, for users who include an auditor."""
    with table_in_memory() as template:
        yield Gateway(template, FORKLORE_AUDITORS="aude")


@pytest.fixture(scope="module")
def world(gateway: Gateway) -> World:
    return World(gateway)


def ids_of(page: Any) -> list[str]:
    return [hit["entryId"] for hit in page["data"]]


def test_a_hit_shows_the_conversation_and_the_entry(world: World) -> None:
    page = world.send(find({"query": "HELLO"})).json
    shown = {entry["id"]: entry for entry in world.send(entries("allForks=true")).json["data"]}

    assert ids_of(page) == world.named(["<of fork>", "<first>"])
    assert page["afterCursor"] is None
    for hit, conversation, title in zip(page["data"], (FORK, ROOT), (None, "of Ann"), strict=True):
        entry = shown[hit["entryId"]]
        assert hit == {
            "conversationId": conversation,
            "conversationTitle": title or hit["conversationTitle"],
            "entryId": entry["id"],
            "createdAt": entry["createdAt"],
            "line": {"role": "USER", "text": "hello"},
            "highlights": ["hello"],
            "score": 0.47,
            "entry": entry,
        }


def test_without_entries_no_content_is_sent(world: World) -> None:
    answer = world.send(find({"query": "hello", "includeEntry": False}))

    assert all("entry" not in hit for hit in answer.json["data"])
    assert "contentType" not in answer.text


def test_a_search_goes_on_with_its_cursor(world: World) -> None:
    whole = ids_of(world.send(find({"query": "hello"})).json)
    found, cursor = [], None
    for _ in range(len(whole) + 1):
        page = world.send(find({"query": "Hello", "limit": 1, "afterCursor": cursor})).json
        found += ids_of(page)
        cursor = page["afterCursor"]
        if cursor is None:
            break

    assert found == whole
    assert cursor is None


def test_semantic_search_is_refused_with_the_types_that_there_are(world: World) -> None:
    error = world.send(find({"query": "x", "searchType": "semantic"}))

    assert (error.status, error.code) == (501, "search_type_unavailable")
    assert error.json["details"]["availableTypes"] == ["fulltext"]
    assert error.json["error"] == "Not Implemented"


def test_an_idempotency_key_is_ignored_and_nothing_is_kept(world: World) -> None:
    once = [("Idempotency-Key", "of a search")]
    before = open_table().connection.client.scan(TableName="forklore", Select="COUNT")["Count"]
    answers = [world.send(find({"query": query}, headers=once)) for query in ("hello", "other")]
    after = open_table().connection.client.scan(TableName="forklore", Select="COUNT")["Count"]

    assert [answer.status for answer in answers] == [200, 200]
    assert before == after


def test_the_audit_line_names_the_user_and_not_the_query(world: World, lines: Lines) -> None:
    body = {"query": "somewhere", "userId": "bob"}
    world.send(Ask("POST", ADMIN, body, query="justification=ticket+4711", user="aude"))
    [line] = lines.named("audit")

    assert (line["what"], line["who"], line["userId"]) == ("adminSearchConversations", "aude", "bob")
    assert (line["justification"], line["status"]) == ("ticket 4711", 200)
    assert "somewhere" not in json.dumps(line)

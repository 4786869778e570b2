"""The words of error messages: they list valid names, correct spellings, and avoid Python."""

import gc
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from forklore_service.api import operations
from forklore_service.api.conversation_requests import ListConversations
from forklore_service.api.operation import Operation
from forklore_service.api.wording import InnerError
from tests.service.api.samples import names_of
from tests.service.aws.direct import Direct
from tests.service.aws.world import (
    CONVERSATIONS,
    FOREIGN,
    FRESH,
    PLAIN,
    ROOT,
    SAID,
    TRANSFERS,
    USED_KEY,
    Ask,
    World,
    append,
    create,
    entries,
    path_of,
    tags,
)
from tests.service.reliability.figures import Measure
from tools.harness.gateway import Gateway, Pairs

PYTHON = re.compile(
    r"(?i:input should|validation error|value error|pydantic|python|instance|extra inputs|field required"
    r"|\b(str|dict|dictionary|list|tuple|int|integer|float|bool|boolean)\b)"
    r"|\b(None|True|False|NoneType|Mapping)\b|[a-z]_[a-z]"
)
"""Words of Python. Callers of a JSON API should not see them."""
MESSAGE = '"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hi"}]'
JUNK = [None, True, 5, 1.5, "x", "\u0000", [], [5], {}, {"x": [None]}]
"""Values that each field gets in turn."""
HI = {"role": "user", "content": "hi"}
ASKED = 60
"""Requests to each operation in `make test`. `make test-reliability` sends all."""
DELETING = {"deleteConversation", "adminDeleteConversation"}
"""The operations that are asked about an unused id, because a null `scope` is valid."""


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


@pytest.mark.parametrize(
    "asked", [ASKED, pytest.param(None, marks=pytest.mark.long)], ids=["some junk", "all junk"]
)
@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_an_error_about_junk_in_any_field_uses_the_words_of_json(
    direct: Direct, operation: Operation, asked: int | None, measure: Measure
) -> None:
    path = dict.fromkeys(operation.path_names, ROOT)
    good = {"contentType": "x", "content": [], "accessLevel": "reader", "userId": "x", "atEntryId": "x"}
    junk: list[Any] = [*JUNK, "x" * 1001, -1, 10**30, {"a" * 70: "b"}, {"a": "b" * 300}, [[]] * 1001]
    names = [*members(operation), "surplus"]
    known = {key: held for key, held in good.items() if key in names}
    asks = [{**known, name: value} for name in names for value in junk]
    asks += [text for name in names for text in ({"usage": {name: "x"}}, {"entries": [{name: 5}]})]
    asks += [{"usage": {"inputTokens": value}} for value in junk]
    asks = asks if asked is None else measure.random.sample(asks, min(asked, len(asks)))
    found = []
    for ask in asks:
        given = {**path, **ask}
        if operation.name in DELETING and given.get("conversationId") == ROOT:
            given["conversationId"] = FRESH
        answer = direct.ask(operation.name, given, agent="planner")
        assert answer["status"] != 500, given
        if answer["status"] == 400:
            found.append(answer["body"]["details"]["message"])
    measure.count(requests=len(asks))

    assert found
    shown = {re.sub(r"""'[^']*'|"(?:[^"\\]|\\.)*["…]""", "", message) for message in found}
    assert not [message for message in shown if PYTHON.search(message)]
    assert all(message for message in shown)


def test_the_error_for_an_unknown_name_lists_the_known_ones(world: World) -> None:
    message, field = told(world, append({**PLAIN, "canary": 1}))
    assert field == "canary"
    assert message.startswith('"canary" is unknown; known here: ')
    assert {"channel", "contentType", "content", "usage", "forkedAtEntryId", "entries"} <= set(
        re.findall(r"\w+", message)
    )
    by_name = Ask("POST", "/v1/names/entries", {**PLAIN, "n" * 100: 1})
    assert told(world, by_name)[0].endswith(", entries"), "the list is cut off"
    message, field = told(world, Ask("GET", CONVERSATIONS, query="canary=1"))
    assert (message, field) == (
        f'"canary" is unknown; known here: {", ".join(names_of(ListConversations))}',
        "canary",
    )
    message, field = told(world, Ask("GET", f"{path_of(ROOT)}/ancestors", query="canary=1"))
    assert (message, field) == ('"canary" is unknown; this operation takes no other parameters', "canary")
    message, field = told(world, Ask("POST", f"{TRANSFERS}/x/accept", {"canary": 1}))
    assert (message, field) == ('"canary" is unknown; this operation takes no fields in its body', "canary")
    message, field = told(world, Ask("DELETE", f"{path_of(ROOT)}/memberships/bob", query="userId=bob"))
    assert (message, field) == ("the path names the member already", "userId")
    assert told(world, append({**PLAIN, "usage": {"tokens": 1}})) == (
        '"tokens" is unknown; known here: inputTokens, outputTokens, cachedInputTokens, costUsd',
        "usage.tokens",
    )


def test_an_error_in_usage_names_its_member_once(world: World) -> None:
    told_of = told(world, append({**PLAIN, "usage": {"inputTokens": "1"}}))
    assert told_of == ("must be a whole number", "usage.inputTokens")


def test_an_error_shows_an_unknown_name_as_json(world: World) -> None:
    message, _ = told(world, append({**PLAIN, 'it\'s "é"\n': 1}))
    assert message.startswith('"it\'s \\"é\\"\\n" is unknown; ')


def test_an_error_about_a_number_says_what_is_counted(world: World) -> None:
    assert told(world, append({"entries": []}))[0] == "the number of its elements must be at least 1"
    assert (
        told(world, append({"entries": [PLAIN] * 51}))[0] == "the number of its elements must be at most 50"
    )
    assert told(world, create({"tags": tags(51)}))[0] == "the number of its members must be at most 50"


def test_an_error_about_a_tag_shows_its_whole_name(world: World) -> None:
    assert told(world, create({"tags": {"a b": "x"}}))[1] == "tags.a b"


@pytest.mark.parametrize("method", ["DELETE", "GET"])
def test_a_body_is_refused_if_the_operation_takes_none(world: World, method: str) -> None:
    """A DELETE of one member with a body that names another member would be ambiguous."""
    of_member = f"{path_of(ROOT)}/memberships", "userId=bob" if method == "DELETE" else ""
    for path, query in (of_member, (path_of(ROOT), "")):
        told_of = told(world, Ask(method, path, {"userId": "zoe"}, query=query))
        assert told_of == ('"userId" is unknown; this operation takes no fields in its body', "userId")


@pytest.mark.parametrize("body", ["", " \r\n", "{}", " { } "])
@pytest.mark.parametrize("headers", [(), (("Content-Type", "application/json"),)])
def test_an_empty_body_is_allowed_with_any_request(world: World, body: str, headers: Pairs) -> None:
    """Some HTTP clients send one with every request, or only the media type."""
    assert world.send(Ask("GET", path_of(ROOT), body, headers=headers)).status == 200
    assert world.send(Ask("DELETE", path_of(FRESH), body, headers=headers)).status == 404


def test_a_media_type_without_a_body_is_ignored_if_the_operation_takes_no_body(world: World) -> None:
    ask = Ask("DELETE", path_of(FRESH), "", headers=[("Content-Type", "text/plain")])
    assert world.send(ask).status == 404


def test_the_error_for_a_conflict_of_lineage_says_how_to_make_the_fork_or_child(world: World) -> None:
    for lineage, kind in (("forkedAt", "fork"), ("startedBy", "child")):
        message, _ = told(world, append({**PLAIN, f"{lineage}ConversationId": FOREIGN}), 409)
        assert message == (
            f"the conversation exists and is not that {kind}: append to a new id to make it, "
            f"or leave out {lineage}… to append here"
        )


def test_the_error_for_a_used_key_says_that_another_request_used_it(world: World) -> None:
    ask = create({"title": "another"}, headers=[("Idempotency-Key", USED_KEY)])
    assert told(world, ask, 422)[0] == "this Idempotency-Key was used with another request"


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
def test_the_error_for_a_misspelled_name_shows_the_correct_spelling(
    world: World, given: Any, field: str, spelled: str
) -> None:
    assert told(world, append(given)) == (f"is spelled {spelled}", field)


@pytest.mark.parametrize("query", ["after_cursor=x", "up_to_entry_id=x", "AllForks=true"])
def test_the_error_for_a_misspelled_parameter_shows_the_correct_spelling(world: World, query: str) -> None:
    assert told(world, entries(query))[0].startswith("is spelled ")


@pytest.mark.parametrize(
    "given",
    [
        HI,
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "text": "hi"},
        {"messages": [HI]},
        {"messages": [HI], "model": "m"},
        {"model": "gpt-4o", "messages": [HI]},
        {"model": "gpt-4o", "agent_id": "x", "messages": [HI]},
        {"messages": []},
        {"entries": [HI]},
        {"entries": [{**SAID, **HI}]},
    ],
)
def test_the_error_for_a_message_of_another_api_shows_a_message_of_this_api(world: World, given: Any) -> None:
    message, _ = told(world, append(given))

    assert MESSAGE in message
    assert message.count("{") == message.count("}"), "the example is cut off"


def test_a_misspelled_name_is_reported_before_an_unknown_one(world: World) -> None:
    assert told(world, append({"model": "m", "agent_id": "x"})) == ("is spelled agentId", "agent_id")
    assert told(world, append({"model": "m", "stream": True}))[1] == "model"


def test_the_examples_in_error_messages_are_valid_requests(open_world: World) -> None:
    for given in (HI, {"messages": [HI]}):
        message = open_world.send(append(given)).json["details"]["message"]
        assert open_world.send(append(json.loads(message.partition(": ")[2]))).status == 201
    others: list[Any] = [HI, {"model": "m", "messages": [HI]}, {"entries": [SAID]}]
    for given in others:
        sync = Ask("POST", f"{path_of(ROOT)}/entries/sync", given, agent="planner")
        message, _ = told(open_world, sync)
        told_of = json.loads(message.partition(": ")[2])
        assert open_world.send(replace(sync, body=told_of)).status in (200, 201)


def test_the_error_for_a_message_with_content_shows_a_message_with_text(world: World) -> None:
    message, field = told(world, append({**SAID, "content": [{"role": "user", "content": "hi"}]}))

    assert field == "content[0]"
    assert '[{"role": "USER", "text": "hi"}]' in message


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize(("rest", "status"), [("", 405), ("/<first>", 405), ("/x", 405)])
def test_the_error_for_changing_an_entry_says_to_fork_instead(
    world: World, method: str, rest: str, status: int
) -> None:
    message, _ = told(world, Ask(method, f"{path_of(ROOT)}/entries{rest}", {}), status)

    assert "append-only" in message
    assert "fork" in message


def test_the_error_for_reading_a_part_of_an_entry_is_no_such_route(world: World) -> None:
    assert told(world, Ask("GET", f"{path_of(ROOT)}/entries/<first>/content"), 404)[0] == "no such route"


def test_what_was_refused_is_forgotten(direct: Direct) -> None:
    """pydantic keeps the errors of our validators where the garbage collector does not look."""

    def kept() -> int:
        gc.collect()
        return sum(isinstance(one, InnerError) for one in gc.get_objects())

    before = kept()
    for _ in range(10):
        direct.ask("appendEntry", {"conversationId": ROOT, "nobody": 1})

    assert kept() <= before + 1

"""Calls: what is refused before anything is sent, and the keys of what is sent."""

import re
from typing import Any

import pytest

from forklore.client.calls import Call
from forklore.client.errors import InputError, TooLargeError
from forklore.client.generated import limits
from forklore.client.generated.operations import SHAPES

ID = "00000000-0000-4000-8000-000000000001"
APPEND = SHAPES["appendEntry"]


def refused(name: str, given: dict[str, Any], **more: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        Call.of(SHAPES[name], given, **more)
    return caught.value


def test_the_figures_are_those_of_the_service() -> None:
    assert APPEND.lengths_max["entries"] == limits.APPEND_ENTRIES_MAX == 50


def test_whatever_takes_a_key_gets_one_of_its_own() -> None:
    takes_none = {shape.name for shape in SHAPES.values() if shape.method == "POST" and not shape.takes_key}
    assert takes_none == {
        *("searchConversations", "adminSearchConversations"),
        *("appendToAnswer", "stopAnswer", "uploadAttachment"),
        *("restoreConversation", "adminRestoreConversation"),
    }
    for shape in SHAPES.values():
        given = dict.fromkeys(shape.path_names, ID)
        first, second = Call.of(shape, given), Call.of(shape, given)

        assert (first.idempotency_key is not None) == shape.takes_key
        if first.idempotency_key is not None:
            assert first.idempotency_key != second.idempotency_key
            assert re.fullmatch(r"[\w-]{32}", first.idempotency_key)
        if shape.takes_if_match:
            assert Call.of(shape, given, if_match="x").may_be_repeated


def test_what_may_undo_a_change_of_another_is_not_repeated_unless_a_condition_prevents_it() -> None:
    calls = [Call.of(shape, dict.fromkeys(shape.path_names, ID)) for shape in SHAPES.values()]
    once = {call.shape.name for call in calls if not call.may_be_repeated}

    assert once == {
        *("updateConversation", "updateMembership", "removeMembership"),
        *("archiveConversation", "unarchiveConversation", "deleteName", "adminDeleteName"),
        *("pinConversation", "unpinConversation"),
    }
    for name in ("deleteName", "adminDeleteName"):
        assert Call.of(SHAPES[name], {"name": "trip", "expectRevision": 3}).may_be_repeated


@pytest.mark.parametrize("key", ["k", "k" * 255, "with space", '"quoted"'])
def test_a_key_of_the_callers_own_is_kept(key: str) -> None:
    assert Call.of(APPEND, {"conversationId": ID}, idempotency_key=key).idempotency_key == key


@pytest.mark.parametrize("key", ["", "k" * 256, "zoë", "a\nb", " k", "k "], ids=repr)
def test_a_key_that_the_service_cannot_take_is_refused(key: str) -> None:
    error = refused("appendEntry", {"conversationId": ID}, idempotency_key=key)

    assert error.field == "idempotency_key"
    assert "1 to 255" in str(error)


def test_a_key_and_an_if_match_are_refused_where_they_have_no_meaning() -> None:
    assert refused("listForks", {"conversationId": ID}, idempotency_key="k").field == "idempotency_key"
    assert refused("searchConversations", {"query": "x"}, idempotency_key="k").field == "idempotency_key"
    assert refused("createConversation", {}, if_match=ID).field == "if_match"
    assert refused("getConversation", {"conversationId": ID}, if_match=ID).field == "if_match"


@pytest.mark.parametrize("given", [ID, f'"{ID}"'])
def test_an_if_match_may_have_its_quotes(given: str) -> None:
    assert Call.of(APPEND, {"conversationId": ID}, if_match=given).if_match == ID


@pytest.mark.parametrize("given", [None, "", ".", "..", 5, ["a"], "a/b", "é", "x" * 101, "a\n"])
def test_a_path_without_an_id_is_refused(given: Any) -> None:
    assert refused("getConversation", {"conversationId": given}).field == "conversationId"
    assert refused("getConversation", {}).field == "conversationId"


@pytest.mark.parametrize(
    ("operation", "given", "limit"),
    [
        ("createConversation", {"title": "x" * 501}, "title has at most 500 characters, not 501"),
        ("appendEntry", {"entries": [{}] * 51}, "entries has at most 50 elements, not 51"),
        ("appendEntry", {"content": [1] * 1001}, "content has at most 1,000 elements, not 1,001"),
        ("appendEntry", {"entries": [{}, {"key": "k" * 129}]}, "key has at most 128 characters, not 129"),
        ("searchConversations", {"query": "x" * 501}, "query has at most 500 characters, not 501"),
    ],
)
def test_a_limit_is_named_before_anything_is_sent(operation: str, given: dict[str, Any], limit: str) -> None:
    shape = SHAPES[operation]
    error = refused(operation, {**dict.fromkeys(shape.path_names, ID), **given})

    assert limit in str(error)
    assert error.field is not None
    assert error.status is None


def test_what_just_fits_is_not_refused() -> None:
    entries = [{"key": "k" * 128, "content": [1] * 1000}] * 50
    assert Call.of(APPEND, {"conversationId": ID, "entries": entries}).given["entries"] == entries
    assert len(Call.of(SHAPES["createConversation"], {"title": "é" * 500}).given["title"]) == 500


def test_a_body_that_is_too_long_is_refused_with_its_length() -> None:
    fits = "x" * (limits.BODY_CHARACTERS_MAX - len('{"content":[""]}'))
    assert Call.of(APPEND, {"conversationId": ID, "content": [fits]}).body_text()

    with pytest.raises(TooLargeError, match=r"at most 5,500,000 characters, not 5,500,001"):
        Call.of(APPEND, {"conversationId": ID, "content": [fits + "x"]}).body_text()


def test_path_and_query_are_not_in_the_body() -> None:
    call = Call.of(
        SHAPES["updateMembership"], {"conversationId": ID, "userId": "bob", "accessLevel": "reader"}
    )

    assert call.body_text() == '{"accessLevel":"reader"}'
    assert call.shape.in_query(call.given) == ["userId"]


def test_without_a_body_unknown_names_go_into_the_query_where_the_service_refuses_them() -> None:
    call = Call.of(SHAPES["listForks"], {"conversationId": ID, "unknown": 1})

    assert call.shape.in_query(call.given) == ["unknown"]


def test_a_call_stays_the_same_when_its_arguments_change() -> None:
    memory = [{"said": ["hello"]}]
    call = Call.of(SHAPES["syncContext"], {"conversationId": ID, "contentType": "c", "content": memory})
    before = call.body_text()
    memory[0]["said"].append("again")
    memory.append({})

    assert call.body_text() == before

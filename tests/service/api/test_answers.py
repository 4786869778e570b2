"""The JSON of answers: ordinary values, content as it was sent, costs without rounding."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.api import answer_models, answers
from forklore_service.api.entry_requests import usage_of
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import AnswerState, Standing
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import JsonText, read_value, to_json
from forklore_service.domain.model import (
    Answering,
    Attached,
    Channel,
    Conversation,
    Description,
    Entry,
    EntryRef,
    ForkPoint,
    ForkPosition,
    Head,
    Json,
    Metrics,
    StartedBy,
    TokenUsage,
    Words,
)
from forklore_service.domain.tree import BranchTip
from forklore_service.limits import KEY_CHARACTERS_MAX, escaped_size
from forklore_service.usecases.shared.drafts import answer_bytes
from forklore_service.usecases.shared.loading import ConversationDetails
from tests.service.api import samples
from tests.service.aws.world import conversation_id
from tests.service.domain.builders import examples, filled

ORDINARY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
TEXTS = (str, str | None, Json, Json | None)
FEW_BYTES = {"conversation_id", "key"}
"""Texts that are so short that their bytes are counted with the names of the members."""
ROOT, FORK = conversation_id(1), conversation_id(2)
ENTRY = EntryId("019ca8ad-fa20-7000-8000-000000000005")
AT = "2026-03-01T09:15:00.000Z"


@given(value=ORDINARY)
@examples(300)
def test_ordinary_values_are_written_as_json_dumps_writes_them(value: Any) -> None:
    text = to_json(value)

    assert json.loads(text) == value
    assert json.dumps(json.loads(text)) == json.dumps(value)


@pytest.mark.parametrize(
    "value",
    [{}, [], [[]], {"a": {}}, "", None, True, 0, -1, 1.5, 'é \u2028 "\\\n', {"a b": [1, None, "x"]}, (1, 2)],
)
def test_json_is_written_without_spaces_and_without_escaped_letters(value: Any) -> None:
    assert to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("text", ["1.0", "-0", "1e400", ' { "a" :\n[ ] } ', '"\\u00e9"', "no JSON"])
def test_text_that_was_sent_is_copied_as_it_is(text: str) -> None:
    kept = JsonText(text, "the text is not parsed")

    assert to_json(kept) == text
    assert to_json({"a": [kept, {"b": kept}]}) == f'{{"a":[{text},{{"b":{text}}}]}}'


def shown(conversation: Conversation | None = None, **head: Any) -> ConversationDetails:
    plain = Conversation(conversation_id=ROOT, group_id="the-tree", created_at=AT, client_id="planner")
    return ConversationDetails(
        conversation or plain, Head(owner="ann", changed_at=AT, **head), AccessLevel.WRITER, "ann", True
    )


@given(nano=st.one_of(st.integers(0, 10**12), st.integers(0, 10**30)))
@examples(300)
def test_a_cost_is_written_exactly_in_plain_digits(nano: int) -> None:
    metrics = Metrics(usage=TokenUsage(cost_nano_usd=nano))
    text = to_json(answers.conversation(shown(metrics=metrics)))
    [cost] = re.findall(r'"costUsd":([^}]*)}', text)

    assert JSON_NUMBER.fullmatch(cost)
    assert "e" not in cost.lower()
    assert Fraction(cost) * 10**9 == nano


@pytest.mark.parametrize(
    ("nano", "cost"),
    [
        (0, "0"),
        (1, "0.000000001"),
        (10**9, "1"),
        (10**10, "10"),
        (100_000_000, "0.1"),
        (10**18 + 1, "1000000000.000000001"),
    ],
)
def test_a_cost_shows_as_many_digits_as_it_needs(nano: int, cost: str) -> None:
    answer = answers.conversation(shown(metrics=Metrics(usage=TokenUsage(cost_nano_usd=nano))))

    assert to_json(answer["metrics"]["costUsd"]) == cost


@pytest.mark.parametrize(
    ("cost", "nano"), [(0.1 * 3, 300_000_000), ("0.0000000006", 1), ("1e-300", 0), ("1000000000", 10**18)]
)
def test_a_cost_counts_in_whole_billionths_of_a_dollar(cost: object, nano: int) -> None:
    text = f'{{"costUsd":{cost}}}'
    assert usage_of(JsonText(text, read_value(text))).cost_nano_usd == nano


def test_a_conversation_omits_absent_values_its_tree_and_its_client() -> None:
    text = to_json(answers.conversation(shown()))

    answer_models.Conversation.model_validate_json(text, strict=True)
    assert json.loads(text).keys() == set(answer_models.Conversation.model_json_schema()["required"])


def test_a_conversation_shows_every_value_that_it_can_have() -> None:
    conversation = filled(
        Conversation(
            conversation_id=FORK,
            group_id="the-tree",
            created_at=AT,
            described=Description(title="é", tags={"a": "b"}, metadata='{"n": 1.0}'),
            agent_id="helper",
            client_id="planner",
            fork_point=ForkPoint(ROOT, ENTRY, ForkPosition.BEFORE),
            started_by=StartedBy(ROOT, ENTRY),
        )
    )
    metrics = Metrics(3, TokenUsage(1, 2, 3, 1_500_000_000))
    details = shown(conversation, preview=Words("hello", "ann"), metrics=metrics, history=2)._replace(
        is_archived=True,
        is_pinned=True,
        answering=Standing(Answering(ENTRY, None, "bob", AT), AnswerState.SILENT),
        branches=2,
    )
    text = to_json(answers.conversation(details))

    answer_models.Conversation.model_validate_json(text, strict=True)
    assert set(json.loads(text)) == set(samples.names_of(answer_models.Conversation))
    assert "the-tree" not in text
    assert "planner" not in text
    assert '"metadata":{"n": 1.0},' in text
    assert (
        json.loads(text).items()
        >= {
            "id": FORK,
            "title": "é",
            "ownerUserId": "ann",
            "accessLevel": "writer",
            "archived": True,
            "pinned": True,
            "isCurrent": True,
            "agentId": "helper",
            "tags": {"a": "b"},
            "metadata": {"n": 1.0},
            "createdAt": AT,
            "updatedAt": AT,
            "lastMessagePreview": "hello",
            "historyEntries": 2,
            "forkedAtConversationId": ROOT,
            "forkedAtEntryId": ENTRY,
            "forkedAtPosition": "before",
            "startedByConversationId": ROOT,
            "startedByEntryId": ENTRY,
            "answering": {
                "answerId": ENTRY,
                "afterEntryId": None,
                "userId": "bob",
                "since": AT,
                "state": "silent",
            },
            "metrics": {
                "entries": 3,
                "inputTokens": 1,
                "outputTokens": 2,
                "cachedInputTokens": 3,
                "costUsd": 1.5,
            },
        }.items()
    )


def test_a_fork_without_an_entry_shows_none() -> None:
    blank = Conversation(
        conversation_id=FORK,
        group_id=ROOT,
        created_at=AT,
        fork_point=ForkPoint(ROOT, None, ForkPosition.BLANK),
    )

    assert answers.fork(blank, BranchTip(), is_current=False, now_s=0) == {
        "conversationId": FORK,
        "title": None,
        "tags": {},
        "metadata": JsonText("{}", None),
        "forkedAtConversationId": ROOT,
        "forkedAtPosition": "blank",
        "lastEntryId": None,
        "isCurrent": False,
        "createdAt": AT,
    }


def entry(**more: Any) -> Entry:
    return Entry(
        entry_id=ENTRY,
        conversation_id=ROOT,
        user_id="ann",
        channel=Channel.HISTORY,
        content_type="text/plain",
        content='[ "a" ]',
        **more,
    )


def test_an_entry_omits_absent_values() -> None:
    assert to_json(answers.entry(entry())) == (
        f'{{"id":"{ENTRY}","conversationId":"{ROOT}","parentId":null,"userId":"ann","channel":"history",'
        f'"contentType":"text/plain","content":[ "a" ],"createdAt":"{AT}"}}'
    )


def test_an_entry_shows_every_value_that_it_can_have() -> None:
    text = to_json(
        answers.entry(
            filled(
                entry(
                    client_id="planner",
                    agent_id="helper",
                    epoch=7,
                    key="message 17",
                    usage='{"costUsd":1.50}',
                    merged_from=EntryRef(FORK, ENTRY),
                    copied_from=EntryRef(FORK, ENTRY),
                    attachments=(Attached(ROOT, "cat.png", "image/png", 3, "https://x", AT),),
                    is_erased=True,
                )
            )
        )
    )

    answer_models.Entry.model_validate_json(text, strict=True)
    assert set(json.loads(text)) == set(samples.names_of(answer_models.Entry))
    assert '"usage":{"costUsd":1.50}' in text
    assert (
        json.loads(text).items()
        >= {
            "id": ENTRY,
            "conversationId": ROOT,
            "userId": "ann",
            "clientId": "planner",
            "agentId": "helper",
            "channel": "history",
            "epoch": 7,
            "key": "message 17",
            "contentType": "text/plain",
            "content": ["a"],
            "erased": True,
            "usage": {"costUsd": 1.5},
            "mergedFromConversationId": FORK,
            "mergedUpToEntryId": ENTRY,
            "copiedFromConversationId": FORK,
            "copiedFromEntryId": ENTRY,
            "createdAt": AT,
        }.items()
    )


@pytest.mark.parametrize("name", [name for name, held in Entry.__annotations__.items() if held in TEXTS])
def test_the_size_of_an_entry_counts_every_long_text_that_its_answer_shows(name: str) -> None:
    def sizes(text: str) -> tuple[int, int]:
        changed: dict[str, Any] = {name: text}
        one = entry()._replace(**changed)
        return escaped_size(to_json(answers.entry(one))), answer_bytes(one)

    short, long = '["é"]', f'["é{"😀" * KEY_CHARACTERS_MAX}"]'
    shown, counted = (after - before for before, after in zip(sizes(short), sizes(long), strict=True))
    assert counted >= shown or name in FEW_BYTES

from typing import Any

import pytest

from forklore_service.domain import content
from forklore_service.errors import ValidationError

HELLO = {"role": "USER", "text": "hello"}


def refusal(content_type: str, value: Any) -> str | None:
    """Return the field that a refusal names; None if the content is valid for history."""
    try:
        content.check_history(content_type, value)
    except ValidationError as error:
        return str(error.details["field"])
    return None


def message(**parts: Any) -> list[Any]:
    return [{"role": "USER", **parts}]


@pytest.mark.parametrize(
    "content_type",
    ["history", "history/tool", "history/a/b", "history/é", "history/x y", "History", "HISTORY/x"],
)
def test_the_content_type_of_history_is_history_or_history_with_a_subtype(content_type: str) -> None:
    assert refusal(content_type, [HELLO]) is None


@pytest.mark.parametrize(
    "content_type",
    [
        *("", "history/", "history//", "/history", "HISTORY/", "historyx", "history x"),
        *(" history", "history ", "text/plain", "application/json", "context", "histor"),
    ],
)
def test_history_has_no_other_content_type(content_type: str) -> None:
    assert refusal(content_type, [HELLO]) == "contentType"


@pytest.mark.parametrize(
    "value",
    [None, {}, HELLO, "x", 1, True, [], [HELLO, HELLO], [None], ["hello"], [1], [[HELLO]]],
    ids=repr,
)
def test_history_content_is_an_array_of_exactly_one_object(value: Any) -> None:
    assert refusal("history", value) == "content"


@pytest.mark.parametrize("role", ["USER", "AI", "SYSTEM", "TOOL", "user", "Ai", "sYSTEM", "tool", None])
def test_a_message_has_one_of_four_roles_in_upper_or_lower_case(role: str) -> None:
    assert refusal("history", [{"role": role, "text": "hello"}]) is None


@pytest.mark.parametrize(
    "role",
    ["", "assistant", "ASSISTANT", "USER ", "a\u0131", "\u017fystem", 0, False, True, ["USER"], {"USER": 1}],
    ids=repr,
)
def test_a_message_has_no_other_role(role: Any) -> None:
    assert refusal("history", [{"role": role, "text": "hello"}]) == "content[0].role"


def test_a_message_needs_no_role() -> None:
    assert refusal("history", [{"text": "hello"}]) is None


@pytest.mark.parametrize(
    ("content_type", "is_history"),
    [
        *[
            (kind, True)
            for kind in ("history", "HISTORY", "History/X", "history/x", "history/x/y", "history/ ")
        ],
        *[
            (kind, False)
            for kind in ("", "history/", "history//", "historic", "HISTORY/", "a/history", " history")
        ],
    ],
)
def test_is_history_is_decided_by_the_content_type(content_type: str, is_history: bool) -> None:
    assert content.is_history_type(content_type) == is_history
    assert (refusal(content_type, [HELLO]) is None) == is_history


@pytest.mark.parametrize(
    "parts",
    [
        {"text": "hello"},
        {"text": ""},
        {"events": []},
        {"events": [1, None, {"any": "thing"}]},
        {"attachments": []},
        {"text": "hello", "events": [], "attachments": []},
        {"text": None, "events": []},
        {"events": None, "text": "hello"},
        {"attachments": None, "text": "hello"},
        {"text": "hello", "further": {"members": ["are", "kept"]}},
        {"content": [{}]},
        {"text": "hello", "content": "of any form"},
        {"attachments": [{"attachmentId": "a1"}]},
        {"attachments": [{"attachmentId": "a1", "href": None}]},
        {"attachments": [{"href": "https://x", "contentType": "image/png"}]},
        {"attachments": [{"href": "https://x", "contentType": "image/png", "attachmentId": None, "name": 1}]},
        {"attachments": [{"href": "h", "contentType": "c", "attachmentId": "a1"}, {"attachmentId": "a2"}]},
    ],
    ids=repr,
)
def test_a_message_has_text_events_attachments_or_parts_and_any_other_member(parts: dict[str, Any]) -> None:
    assert refusal("history", message(**parts)) is None


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({}, "content[0]"),
        ({"text": None}, "content[0]"),
        ({"text": None, "events": None, "attachments": None}, "content[0]"),
        ({"Text": "hello"}, "content[0]"),
        ({"content": []}, "content[0]"),
        ({"content": "hello"}, "content[0]"),
        ({"content": {"text": "hello"}}, "content[0]"),
        ({"content": [{"text": "hello"}, "again"]}, "content[0]"),
        ({"text": 1, "content": [{}]}, "content[0].text"),
        ({"text": 1}, "content[0].text"),
        ({"text": ["hello"]}, "content[0].text"),
        ({"text": False, "events": []}, "content[0].text"),
        ({"events": {}}, "content[0].events"),
        ({"events": "x", "text": "hello"}, "content[0].events"),
        ({"attachments": {}}, "content[0].attachments"),
        ({"attachments": "x", "text": "hello"}, "content[0].attachments"),
        ({"attachments": ["x"]}, "content[0].attachments[0]"),
        ({"attachments": [None]}, "content[0].attachments[0]"),
        ({"attachments": [{}]}, "content[0].attachments[0]"),
        ({"attachments": [{"href": None, "attachmentId": None}]}, "content[0].attachments[0]"),
        ({"attachments": [{"attachmentId": "a1"}, {"name": "x"}]}, "content[0].attachments[1]"),
        ({"attachments": [{"attachmentId": ""}]}, "content[0].attachments[0].attachmentId"),
        ({"attachments": [{"attachmentId": 7}]}, "content[0].attachments[0].attachmentId"),
        ({"attachments": [{"href": "", "contentType": "c"}]}, "content[0].attachments[0].href"),
        ({"attachments": [{"href": 7, "contentType": "c"}]}, "content[0].attachments[0].href"),
        ({"attachments": [{"href": "h"}]}, "content[0].attachments[0].contentType"),
        ({"attachments": [{"href": "h", "contentType": None}]}, "content[0].attachments[0].contentType"),
        ({"attachments": [{"href": "h", "contentType": ""}]}, "content[0].attachments[0].contentType"),
        ({"attachments": [{"href": "h", "contentType": 7}]}, "content[0].attachments[0].contentType"),
        (
            {"attachments": [{"href": "h", "attachmentId": "a1"}]},
            "content[0].attachments[0].contentType",
        ),
        (
            {"attachments": [{"href": "h", "contentType": "c", "attachmentId": 7}]},
            "content[0].attachments[0].attachmentId",
        ),
    ],
    ids=repr,
)
def test_a_refusal_names_the_part_of_the_message_that_is_wrong(parts: dict[str, Any], field: str) -> None:
    assert refusal("history", message(**parts)) == field


@pytest.mark.parametrize(
    "value", [[], [None], ["anything", 1, {}, []], [0] * 1_000], ids=["0", "1", "4", "1000"]
)
def test_opaque_content_is_any_array_of_up_to_a_thousand_elements(value: list[Any]) -> None:
    content.check_elements(value)


@pytest.mark.parametrize(
    "value", [None, {}, "x", 1, (), [0] * 1_001], ids=["null", "{}", "x", "1", "()", "1001"]
)
def test_other_opaque_content_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        content.check_elements(value)
    assert refused.value.details["field"] == "content"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([HELLO], "hello"),
        ([{"text": " "}], " "),
        ([{"text": "first"}, {"text": "second"}], "first"),
        ([{"text": ""}], None),
        ([{"text": None}], None),
        ([{"text": 7}], None),
        ([{"text": ["hello"]}], None),
        ([{"content": [{"text": "one"}, {"image": "x"}, {"text": "two"}, {"text": 3}]}], "one\ntwo"),
        ([{"text": "", "content": [{"text": "one"}]}], "one"),
        ([{"text": "hello", "content": [{"text": "one"}]}], "hello"),
        ([{"content": [{"text": ""}]}], None),
        ([{"content": [{"text": "one"}, "two"]}], None),
        ([{"content": "hello"}], None),
        ([{}], None),
        ([{}, {"text": "second"}], None),
        (["hello"], None),
        ([], None),
        ({"text": "hello"}, None),
        ("hello", None),
        (None, None),
    ],
    ids=repr,
)
def test_the_text_of_a_history_entry_is_that_of_its_first_element(value: Any, text: str | None) -> None:
    assert content.history_text(value) == text


def test_a_line_has_the_first_words_of_all_texts() -> None:
    assert content.line_of([{"text": " \n a"}, "b\t c", 5, {"content": [{"text": "d"}]}]).text == "a b c d"
    assert (
        content.line_of([{"text": " " * 1_000 + "\N{GRINNING FACE}" * 101}]).text == "\N{GRINNING FACE}" * 100
    )
    assert content.line_of([{"text": " \n"}]).text is None


@pytest.mark.parametrize(
    "value", [[], [None], [[{"role": "USER", "text": "x"}]], {"text": "x"}, None], ids=repr
)
def test_the_line_of_what_is_no_message_says_nothing(value: Any) -> None:
    assert content.line_of(value) == content.Line(holds=[])


@pytest.mark.parametrize(
    ("message", "tool", "has_failed"),
    [
        ({"events": [{"type": "note", "name": "x"}, {"type": "tool_call", "name": "pay"}]}, "pay", False),
        ({"events": [{"type": "function_call", "name": "pay"}, {"type": "tool", "name": "b"}]}, "pay", False),
        ({"content": [{"type": "tool-call", "toolName": "pay"}]}, "pay", False),
        ({"content": [{"type": "tool_result", "is_error": True}]}, None, True),
        ({"events": [{"type": "tool", "name": "p" * 41, "isError": True}]}, "p" * 40, True),
        ({"events": [{"type": "tool", "name": 5, "isError": False}]}, None, False),
        ({"events": [{"type": "note", "isError": True}, "tool", {"type": 5}, {}]}, None, False),
        ({"events": "tool", "content": "tool"}, None, False),
        ({"message": {"parts": [{"type": "tool-pay", "state": "output-error"}]}}, "pay", True),
        ({"message": {"parts": [{"type": "tool-pay", "state": "output-available"}]}}, "pay", False),
        ({"message": {"parts": [{"part_kind": "tool-return", "tool_name": "pay"}]}}, "pay", False),
        ({"message": {"parts": [{"part_kind": "retry-prompt", "tool_name": "pay"}]}}, "pay", True),
        ({"message": {"parts": [{"part_kind": "retry-prompt"}]}}, None, False),
        ({"lines": [{"message": {"content": [{"type": "tool_result", "is_error": True}]}}]}, None, True),
        ({"strands": {"content": [{"toolUse": {"name": "pay"}}]}}, "pay", False),
        ({"strands": {"content": [{"toolResult": {"status": "error"}}]}}, None, True),
        ({"toolResult": "error", "status": "error"}, None, False),
        ({"events": [{"type": "function_call", "name": "pay", "outcome": "failed"}]}, "pay", True),
    ],
)
def test_a_line_names_the_first_tool_and_says_whether_one_failed(
    message: dict[str, Any], tool: str | None, has_failed: bool
) -> None:
    line = content.line_of([{"role": "TOOL", **message}])
    assert (line.role, line.tool, line.has_failed) == ("TOOL", tool, has_failed)


@pytest.mark.parametrize(
    ("source", "said_at"),
    [
        ({"createdAt": "2019-03-01T09:15:00.000Z"}, "2019-03-01T09:15:00.000Z"),
        ({"createdAt": "2019-02-30T09:15:00.000Z"}, None),
        ({"createdAt": "2019-03-01T09:15:00+00:00"}, None),
        ({"createdAt": "2019-03-01T09:15:00.0000"}, None),
        ({"createdAt": "0001-01-01T00:00:01+1010"}, None),
        ({"createdAt": "0001-01-01T00:00:00.000Z"}, "0001-01-01T00:00:00.000Z"),
        ({"createdAt": "9999-12-31T23:59:59.999Z"}, "9999-12-31T23:59:59.999Z"),
        ({"createdAt": "9999-12-31T24:00:00.000Z"}, None),
        ({"createdAt": 1_551_431_700}, None),
        ("2019-03-01T09:15:00.000Z", None),
        (None, None),
    ],
    ids=repr,
)
def test_a_line_says_when_a_message_was_said_elsewhere(source: Any, said_at: str | None) -> None:
    assert content.line_of([{"role": "AI", "text": "x", "source": source}]).said_at == said_at


def test_a_line_says_what_a_message_holds_beside_role_and_text() -> None:
    message = {"role": "AI", "text": "x", "events": [1], "attachments": [], "data": {"a": 1}, "more": None}
    assert content.line_of([message]).holds == ["data", "events"]
    assert content.line_of([{**message, "strands": {"a": 1}}]).holds == ["data", "events", "other"]


LETTERS = "Ab9+/=_-" * 30


@pytest.mark.parametrize(
    ("held", "searched"),
    [
        (LETTERS[:200], [LETTERS[:200]]),
        (LETTERS[:201], []),
        (f"a tea {LETTERS} for two", ["a tea ", " for two"]),
        (f'{{"image": "{LETTERS}"}}', ['{"image": "', '"}']),
        ("\u00e9" * 300, ["\u00e9" * 300]),
        ("data:image/png;base64,dGVh", []),
        ("DATA:image/svg+xml,<svg>a tea</svg>", []),
        ("data: a tea, for two", ["data: a tea, for two"]),
        ("\u00e9" + LETTERS, ["\u00e9"]),
        ("the data:text/plain,tea", ["the data:text/plain,tea"]),
    ],
)
def test_data_in_an_event_is_not_searched(held: str, searched: list[str]) -> None:
    assert content.searched_texts([{"events": [{"type": "x", "held": [held]}]}]) == searched


def test_what_tools_were_given_and_returned_is_searched_wherever_it_stands() -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "rain"}]}
    message = {"role": "assistant", "parts": [{"type": "tool-look", "input": {"city": "Lisbon"}}, result]}
    held = {"text": "I look.", "content": [result], "message": message, "data": ["passed over"]}
    assert content.searched_texts([held, {"toolUse": {"name": "b"}}]) == [
        "I look.",
        "rain",
        "Lisbon",
        "rain",
        "b",
    ]


def test_a_long_word_in_a_text_is_searched() -> None:
    assert content.searched_texts([{"text": LETTERS}]) == [LETTERS]


def test_titles_and_previews_have_the_lengths_of_the_api() -> None:
    assert (content.TITLE_CHARACTERS, content.PREVIEW_CHARACTERS) == (40, 100)

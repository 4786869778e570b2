"""Exports of chat programs, and lists of messages: what the round trips do not hold."""

import io
import json
from typing import Any

import pytest

from forklore.importing.files import read_stream
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.plan_trees import plan_tree
from tests.clients.importing.service import Service

Raw = dict[str, Any]


def read(*rows: Any) -> list[ForeignTree]:
    found = read_stream(io.BytesIO("\n".join(map(json.dumps, rows)).encode()), ImportReport())
    return [tree for tree in found if isinstance(tree, ForeignTree)]


def told(tree: ForeignTree) -> list[tuple[str, str, int | None]]:
    return [(one.role, one.text, one.parent) for one in tree.messages]


def test_tools_and_thoughts_of_messages_are_parts_in_their_order() -> None:
    [tree] = read(
        {
            "system": "Be brief",
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "Rain?"}, {"type": "image_url", "image_url": {}}],
                },
                {
                    "role": "assistant",
                    "content": "I look.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [{"id": "c", "function": {"name": "sky", "arguments": '{"d": 1}'}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "wet"},
            ],
        }
    )

    assert told(tree) == [
        ("SYSTEM", "Be brief", None),
        ("USER", "Rain?", 0),
        ("AI", "I look.", 1),
        ("TOOL", "", 2),
    ]
    assert tree.messages[2].content["events"] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "textAt": [0, 7]},
        {"type": "tool_use", "id": "c", "name": "sky", "input": {"d": 1}},
    ]
    assert tree.messages[3].content["events"] == [
        {"type": "tool_result", "tool_use_id": "c", "name": "sky", "content": "wet"}
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        [{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}],
        [[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]],
    ],
)
def test_messages_stand_alone_on_lines_in_lists_or_as_in_sharegpt(rows: list[Any]) -> None:
    [tree] = read(*rows)

    assert told(tree) == [("USER", "a", None), ("AI", "b", 0)]
    assert read(*rows)[0].tree_id == tree.tree_id
    assert "source" not in tree.messages[0].content


@pytest.mark.parametrize("named", [{}, {"id": "x"}])
def test_each_line_with_a_list_is_a_conversation_of_its_own(named: Raw) -> None:
    said = {"role": "user", "content": "a"}
    lists = [[said, {"role": "assistant", "content": text}] for text in "ab"]

    first, second = read(*({"messages": messages} | named for messages in lists))

    assert second.tree_id == f"{first.tree_id}~2"


def test_a_list_that_has_grown_keeps_the_ids_of_what_it_had() -> None:
    said = [{"role": role, "content": text} for role in ("system", "user", "assistant") for text in "ab"]

    [before], [after], [other] = read(said[:4]), read(said), read([*said[:3], said[4]])

    assert (before.tree_id, before.messages[:3]) == (after.tree_id, after.messages[:3])
    assert before.messages[3].message_id == after.messages[3].message_id != other.messages[3].message_id


def test_swipes_are_branches_and_the_chat_goes_on_after_the_one_that_was_chosen() -> None:
    [tree] = read(
        {"user_name": "Ann", "character_name": "Oak", "create_date": "2024-05-01@10h00m00s"},
        {"name": "Ann", "is_user": True, "mes": "Hi", "send_date": "May 1, 2024 10:00am"},
        {"name": "Oak", "is_user": False, "mes": "Two", "swipes": ["One", "Two"], "swipe_id": 1},
        {"name": "Ann", "is_user": True, "mes": "Go on"},
    )

    assert told(tree) == [("USER", "Hi", None), ("AI", "Two", 0), ("USER", "Go on", 1), ("AI", "One", 0)]
    assert (tree.current, tree.title, tree.messages[0].said_at) == (2, "Oak", "2024-05-01T10:00:00.000Z")


def test_without_a_swipe_id_the_swipe_with_the_messages_text_was_chosen() -> None:
    [tree] = read(
        {"is_user": True, "mes": "Hi", "send_date": "2026-09-01 @18h 00m 00s 000ms"},
        {"is_user": False, "mes": "Two", "swipes": ["One", "Two"], "send_date": 1_714_557_900_000},
    )

    assert told(tree) == [("USER", "Hi", None), ("AI", "Two", 0), ("AI", "One", 0)]
    assert [one.said_at for one in tree.messages[:2]] == [
        "2026-09-01T18:00:00.000Z",
        "2024-05-01T10:05:00.000Z",
    ]


def test_swipes_keep_their_ids_when_another_one_is_added_and_chosen() -> None:
    rows: list[Raw] = [
        {"is_user": False, "mes": "One", "swipes": ["One", "Two"], "swipe_id": 0},
        {"is_user": True, "mes": "Go on"},
    ]

    [before] = read(*rows)
    [after] = read(rows[0] | {"mes": "New", "swipes": ["One", "Two", "New"], "swipe_id": 2}, rows[1])

    known = {one.text: one.message_id for one in before.messages}
    later = {one.text: one.message_id for one in after.messages}
    assert [text for text in known if known[text] == later[text]] == ["One", "Two"]
    assert later.keys() - known.keys() == {"New"}


def test_what_stands_in_the_place_of_deleted_messages_is_another_message() -> None:
    asked: Raw = {"is_user": True, "mes": "Rain?"}

    [before] = read(asked, {"is_user": False, "mes": "No."}, {"is_user": True, "mes": "Sure?"})
    [after] = read(asked, {"is_user": False, "mes": "Yes."}, {"is_user": True, "mes": "Sure?"})

    known = {one.message_id: one.text for one in before.messages}
    assert [known.get(one.message_id) for one in after.messages] == ["Rain?", None, None]
    assert [one.earlier_keys for one in after.messages] == [("0.0",), ("1.0",), ("2.0",)]


def test_a_text_that_was_edited_stands_beside_its_swipes() -> None:
    [tree] = read({"is_user": False, "mes": "Edited", "swipes": ["One", "Two"], "swipe_id": 0})

    assert [(one.text, one.parent) for one in tree.messages] == [
        *(("Edited", None), ("One", None), ("Two", None)),
    ]
    assert len({one.message_id for one in tree.messages}) == 3


def test_messages_of_librechat_that_stand_alone_are_those_of_their_conversations() -> None:
    rows = [
        {"messageId": "q", "conversationId": "t", "isCreatedByUser": True, "text": "Hi"},
        {
            "messageId": "x",
            "conversationId": "other",
            "isCreatedByUser": True,
            "text": "Ho",
            "createdAt": {"$date": "2026-01-01T00:00:00Z"},
        },
        {
            "messageId": "a",
            "conversationId": "t",
            "parentMessageId": "q",
            "isCreatedByUser": False,
            "text": "Hello",
        },
    ]

    first, second = read(*rows)

    assert (first.tree_id, told(first)) == ("t", [("USER", "Hi", None), ("AI", "Hello", 0)])
    assert (second.tree_id, told(second)) == ("other", [("USER", "Ho", None)])
    assert second.messages[0].said_at == "2026-01-01T00:00:00.000Z"


def test_parts_of_librechat_and_files_are_kept() -> None:
    call = {"id": "c", "name": "sky", "args": '{"d": 1}', "output": "wet"}
    parts = [
        {"type": "think", "think": "Hm."},
        {"type": "tool_call", "tool_call": call},
        {"type": "text", "text": {"value": "Wet."}},
    ]
    files = [{"file_id": "f", "filename": "a.txt", "text": "words"}]
    said = {"messageId": "m", "isCreatedByUser": False, "content": parts, "files": files}

    [tree] = read({"conversationId": "t", "messages": [said]})

    [message] = tree.messages
    assert message.text == "Wet."
    assert [event["type"] for event in message.content["events"]] == [
        *("thinking", "tool_use", "tool_result", "text", "extracted_text"),
    ]
    assert message.content["attachments"] == [
        {"attachmentId": "f", "name": "a.txt", "source": {"file_id": "f", "filename": "a.txt"}}
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "think", "think": "Hm."}], "Wet."),
        (["Wet."], ""),
        ([{"type": "text", "text": "Wet."}], "x"),
    ],
)
def test_the_text_of_librechat_is_taken_where_its_content_has_none(content: list[Any], text: str) -> None:
    said = {"messageId": "m", "isCreatedByUser": False, "content": content, "text": text}

    [tree] = read({"conversationId": "t", "messages": [said]})

    assert tree.messages[0].text == "Wet."


def test_an_answer_of_open_webui_may_be_an_error_or_an_output_alone() -> None:
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Wet."}]}]
    said = [
        {"role": "assistant", "content": "", "error": {"content": "refused"}},
        {"role": "assistant", "content": "", "output": output},
    ]

    [tree] = read({"id": "t", "chat": {"messages": said}})

    assert tree.messages[0].content["events"] == [{"type": "error", "error": {"content": "refused"}}]
    assert tree.messages[1].text == "Wet."


def test_a_chat_of_open_webui_may_be_archived_older_and_have_files() -> None:
    file = {"id": "f", "name": "a.txt", "file": {"data": {"content": "words"}}}
    said = {"role": "user", "content": "Read", "files": [file], "sources": [{"url": "u"}]}

    [tree] = read(
        {
            "id": "t",
            "archived": True,
            "chat": {"title": "T", "messages": [said, {"role": "assistant", "content": "Yes"}]},
        }
    )

    [alone] = read({"title": "T", "history": {"messages": {"q": {"role": "user", "content": "Hi"}}}})

    assert told(alone) == [("USER", "Hi", None)]
    assert (tree.is_archived, tree.title) == (True, "T")
    assert told(tree) == [("USER", "Read", None), ("AI", "Yes", 0)]
    assert tree.messages[0].content["events"][0]["text"] == "words"
    assert tree.messages[0].content["source"] == {"sources": [{"url": "u"}]}


@pytest.mark.parametrize(("content", "text"), [("<details>Hm</details>\n255", "255"), ("256", "256")])
def test_an_output_of_open_webui_says_what_the_content_shows_unless_that_was_edited(
    content: str, text: str
) -> None:
    output = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "15 * 17"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "255"}]},
    ]
    message = {"id": "a", "role": "assistant", "content": content, "output": output}
    [tree] = read({"id": "c", "chat": {"history": {"messages": {"a": message}, "currentId": "a"}}})

    [answer] = tree.messages
    assert answer.text == text
    thoughts = [event["thinking"] for event in answer.content.get("events", ()) if "thinking" in event]
    assert thoughts == ([] if text == "256" else ["15 * 17"])
    assert answer.content["source"]["output"] == output


def test_what_the_output_of_open_webui_does_not_say_stays() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    called = {"id": "c", "function": {"name": "sky", "arguments": "{}"}}
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Yes"}, image],
        "reasoning_content": "Hm",
        "tool_calls": [called],
        "output": [
            {"type": "reasoning", "summary": [{"text": "Hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Yes"}]},
        ],
    }

    [tree] = read({"id": "t", "chat": {"messages": [answer]}})

    [message] = tree.messages
    events = [event for event in message.content["events"] if event["type"] != "text"]
    assert message.text == "Yes"
    assert sorted(event["type"] for event in events) == ["image_url", "thinking", "tool_use"]


def test_the_result_of_a_call_in_one_item_is_kept() -> None:
    item = {"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}", "output": "wet", "call_id": "c"}

    [tree] = read({"messages": [{"role": "user", "content": "Rain?"}, item]})

    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "wet", "name": "look"}
    assert tree.messages[1].content["events"] == [use, result]


def test_a_list_may_hold_records_that_are_no_messages() -> None:
    said = {"role": "user", "content": "Rain?"}

    for rows in (
        [{"type": "item_reference", "id": "r"}, said],
        [said, {"type": "item_reference", "id": "r"}],
    ):
        [tree] = read({"messages": rows})
        assert told(tree) == [("USER", "Rain?", None)]


def test_what_is_no_text_and_no_object_in_the_place_of_one_is_kept_or_counted() -> None:
    report = ImportReport()
    nodes = {"a": {"id": "a", "role": "user", "content": "Rain?"}, "b": None}
    rows: list[Any] = [
        {"id": "o", "chat": {"history": {"messages": nodes}}},
        {"name": "Bo", "is_user": False, "mes": "Hi", "swipes": ["Hi", None], "swipe_id": 0},
        {"messages": [{"role": "user", "content": ["Rain?", 5, None]}]},
        {"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "content": ["Rain?", 5]}]},
    ]

    trees = [tree for row in rows for tree in read_stream(io.BytesIO(json.dumps(row).encode()), report)]

    assert report.lines() == ["not a message: 2 (b, swipe 1 of message 0)"]
    for tree in trees[2:]:
        assert isinstance(tree, ForeignTree)
        said = tree.messages[0].content
        assert (said["text"], said["events"][1]) == ("Rain?", {"type": "value", "value": 5})


def test_the_results_that_an_api_lets_the_user_say_are_a_tools() -> None:
    use, result = (
        {"type": "tool_use", "id": "c", "name": "look"},
        {"type": "tool_result", "tool_use_id": "c"},
    )
    rows = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{**result, "content": "wet"}]},
        {"role": "user", "content": [{**result, "content": "dry"}, {"type": "text", "text": "And?"}]},
    ]

    [tree] = read({"messages": rows})

    assert [one.role for one in tree.messages] == ["AI", "TOOL", "USER"]
    assert tree.messages[1].content["events"][0]["name"] == "look"


def test_the_first_member_that_is_a_time_tells_when_and_the_others_are_kept() -> None:
    said = {"role": "user", "content": "Rain?", "created_at": "noon", "timestamp": 1_700_000_000, "date": "x"}

    [tree] = read({"messages": [said]})

    at = {"createdAt": "2023-11-14T22:13:20.000Z"}
    assert tree.messages[0].content["source"] == {**at, "created_at": "noon", "date": "x"}


def test_a_number_is_an_id_and_the_other_ids_are_told() -> None:
    rows = [
        {"id": number, "custom_id": "x", "messages": [{"role": "user", "content": "Hi"}]}
        for number in (17, 18)
    ]

    trees = read(*rows)

    assert [(tree.tree_id, tree.metadata) for tree in trees] == [
        ("17", {"custom_id": "x"}),
        ("18", {"custom_id": "x"}),
    ]
    assert read(*rows[1:])[0].tree_id == "18"
    [numbered] = read({"messages": [{"id": 5, "role": "user", "content": "Hi"}]})
    assert numbered.messages[0].content["source"] == {"id": 5}


def test_what_is_said_beside_the_usual_members_is_kept_or_counted() -> None:
    report = ImportReport()
    rows = [
        {"role": "user", "content": {"text": "Rain?"}, "timestamp": "at noon"},
        {"type": "function_call", "name": "sky"},
        "soup",
    ]
    [tree] = read_stream(io.BytesIO(json.dumps({"messages": rows}).encode()), report, given="messages")
    assert isinstance(tree, ForeignTree)
    [message] = tree.messages

    assert (message.text, message.content["source"]) == ("Rain?", {"time": "at noon"})
    assert report.lines() == [
        "record that is no message: 1 (function_call, 2 of line 1)",
        "not a message: 1 (message 3 of line 1)",
    ]


def test_the_notes_on_parts_of_librechat_are_kept() -> None:
    notes = [{"type": "file_citation", "file": "f"}]
    content = [
        {"type": "text", "text": {"value": "Wet.", "annotations": notes}},
        {"type": "tool_call", "tool_call": {"id": "c", "name": "sky", "args": {}, "progress": 1}},
    ]
    [tree] = read({"messageId": "m", "conversationId": "c", "isCreatedByUser": False, "content": content})

    events = tree.messages[0].content["events"]
    assert (tree.messages[0].text, events[0]["annotations"], events[1]["progress"]) == ("Wet.", notes, 1)


def test_a_nested_export_of_librechat_has_a_tree_of_messages() -> None:
    def message(name: str, *children: Raw) -> Raw:
        about = {"messageId": name, "conversationId": "c", "isCreatedByUser": True, "text": name}
        return {**about, "children": list(children)}

    tree = [message("a", message("b"), message("d"))]
    [found] = read({"conversationId": "c", "endpoint": "openAI", "title": "T", "messagesTree": tree})

    assert (found.source, found.title) == ("librechat", "T")
    assert told(found) == [("USER", "a", None), ("USER", "b", 0), ("USER", "d", 0)]


def test_the_items_of_openais_responses_are_messages_calls_and_results() -> None:
    url = {"type": "url_citation", "url": "https://example.org"}
    said = {"type": "output_text", "text": "Wet.", "annotations": [url]}
    rows: list[Raw] = [
        {"role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"at": "Rome"}'},
        {"type": "function_call_output", "call_id": "c", "output": "wet"},
        {"type": "web_search_call", "id": "w", "action": {"query": "Rome"}},
        {"type": "message", "role": "assistant", "content": [said]},
    ]

    trees = [*read(*rows), *read(rows), *read({"messages": rows})]

    for tree in trees:
        assert [one.role for one in tree.messages] == ["USER", "AI", "AI", "TOOL", "AI", "AI"]
        assert [one.text for one in tree.messages] == ["Rain?", "", "", "", "", "Wet."]
        assert not any("author" in one.content.get("source", {}) for one in tree.messages)
        assert [one.content.get("events") for one in tree.messages[1:]] == [
            [{"type": "thinking", "thinking": "hm"}],
            [{"type": "tool_use", "id": "c", "name": "look", "input": {"at": "Rome"}}],
            [{"type": "tool_result", "tool_use_id": "c", "content": "wet", "name": "look"}],
            [{"type": "tool_use", "id": "w", "name": "web_search", "input": {"query": "Rome"}}],
            [{"type": "text", "annotations": [url], "textAt": [0, 4]}],
        ]


def test_calls_and_observations_of_sharegpt_are_those_of_tools() -> None:
    said = [
        ("human", "Rain?"),
        ("function_call", '{"name": "look", "arguments": {"at": "Rome"}}'),
        ("observation", "wet"),
        ("function_call", "no object"),
    ]

    [tree] = read({"conversations": [{"from": who, "value": text} for who, text in said]})

    assert [one.role for one in tree.messages] == ["USER", "AI", "TOOL", "AI"]
    assert tree.messages[1].content["events"] == [
        {"type": "tool_use", "name": "look", "input": {"at": "Rome"}}
    ]
    assert tree.messages[2].content["events"][0]["content"] == "wet"
    assert tree.messages[3].text == "no object"


def test_a_message_of_open_webui_hangs_on_the_one_that_names_it_and_a_text_needs_no_type() -> None:
    nodes: Raw = {
        "a": {"role": "user", "content": [{"text": "Rain?"}], "childrenIds": ["b", "c"]},
        "b": {"role": "assistant", "content": "Yes", "timestamp": 1},
        "c": {"role": "assistant", "content": "No", "timestamp": 2},
    }

    [tree] = read({"id": "t", "chat": {"history": {"messages": nodes, "currentId": "b"}}})

    assert told(tree) == [("USER", "Rain?", None), ("AI", "Yes", 0), ("AI", "No", 0)]
    assert tree.current == 1


def test_a_newer_chat_of_sillytavern_names_its_character_in_its_messages_only() -> None:
    header = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}
    said = {"name": "Oak", "is_user": False, "send_date": "2026-08-31 @00h00m01s"}

    [one] = read(header, {**said, "mes": "Hi"})
    [other] = read(header, {**said, "mes": "Hello"})

    assert (one.title, one.created_at) == ("Oak", "2026-08-31T00:00:01.000Z")
    assert one.tree_id != other.tree_id


def test_a_conversation_is_not_called_after_the_systems_words(service: Service) -> None:
    [tree] = read({"system": "Be brief", "messages": [{"role": "user", "content": "Rain in\nRome?"}]})

    loading = service.load(plan_tree(tree, owner=service.user, report=ImportReport()))

    told = service.ask("getConversation", conversationId=loading.conversation_id(0))
    assert told["title"] == "Rain in Rome?"


def test_a_message_is_the_same_in_a_branch_of_sillytavern_that_names_other_branches() -> None:
    def said(*names: str) -> Raw:
        return {"name": "Mole", "is_user": False, "mes": "Hi", "extra": {"branches": [*names], "api": "x"}}

    header = {"user_name": "Ann", "character_name": "Mole", "chat_metadata": {}}
    [one], [other] = (read(header, said(*names)) for names in (["Branch #1"], ["Branch #1", "Branch #2"]))

    assert one.messages[0].content == other.messages[0].content
    assert one.messages[0].content["source"]["extra"] == {"api": "x"}

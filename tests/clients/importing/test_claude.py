import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from forklore.importing.file_records import records_of
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.formats.claude import NO_PARENT
from forklore.importing.readers import importers
from forklore_service.domain.content import check_history
from tests.service.domain.builders import examples

Raw = dict[str, Any]
trees_of = importers()["claude"].trees


def said(uuid: str, text: str, **fields: Any) -> Raw:
    """Return a message; of the human, if its text ends with a question mark."""
    sender = "human" if text.endswith("?") else "assistant"
    return {"uuid": uuid, "sender": sender, "text": text, "content": [], **fields}


def read(*messages: Any, report: ImportReport | None = None, **fields: Any) -> ForeignTree:
    row = {"uuid": "c", "name": " A  chat ", "chat_messages": list(messages), **fields}
    (tree,) = trees_of(records_of(io.BytesIO(json.dumps([row]).encode())), report or ImportReport())
    for message in tree.messages:
        check_history("history", [message.content])
    return tree


def shape(tree: ForeignTree) -> list[tuple[str, int | None]]:
    return [(message.message_id, message.parent) for message in tree.messages]


def test_an_older_export_is_one_line() -> None:
    tree = read(said("1", "Fish?"), said("2", "Danio."), said("3", "Why?"), created_at="2024-05-01T10:00:00Z")

    assert shape(tree) == [("1", None), ("2", 0), ("3", 1)]
    assert [message.role for message in tree.messages] == ["USER", "AI", "USER"]
    assert (tree.source, tree.tree_id, tree.title) == ("claude", "c", "A chat")
    assert tree.created_at == "2024-05-01T10:00:00.000Z"


def test_an_attachment_that_is_too_large_is_left_out_and_counted_and_the_words_stay() -> None:
    report = ImportReport()
    files = [
        {"file_name": name, "extracted_content": "x" * size}
        for name, size in [("small", 5), ("large", 2_400_000), ("larger", 3_000_000), ("medium", 99_000)]
    ]

    tree = read(said("1", "Fish?"), said("2", "Danio.", attachments=files), report=report)

    assert [message.text for message in tree.messages] == ["Fish?", "Danio."]
    stored = tree.messages[1].content
    assert [one["attachmentId"] for one in stored["attachments"]] == ["small", "large", "larger", "medium"]
    assert [event.get("name") for event in stored["events"]] == ["small", "large", "medium"]
    assert report.lines() == ["part of a message, such as an attachment, too large: 1 (2)"]


def test_a_part_that_nests_too_deep_is_left_out_and_the_words_stay() -> None:
    report = ImportReport()
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]
    blocks = [{"type": "tool_use", "input": deep}, {"type": "tool_use", "input": "y"}]

    tree = read(said("1", "Fish?", content=blocks, odd=deep), report=report)

    assert tree.messages[0].content == {
        "role": "USER",
        "text": "Fish?",
        "events": [blocks[1], {"type": "text", "textAt": [0, 5]}],
    }
    assert report.lines() == ["part of a message nested too deep: 2 (1, 1)"]


def test_messages_that_name_their_parents_are_a_tree_with_its_current_branch() -> None:
    report = ImportReport()
    tree = read(
        said("1", "Fish?", parent_message_uuid=NO_PARENT),
        said("2", "Danio.", parent_message_uuid="1"),
        said("3", "Guppy.", parent_message_uuid="1"),
        said("4", "Why?", parent_message_uuid="2"),
        said("5", "Cats?", parent_message_uuid=None),
        report=report,
        current_leaf_message_uuid="3",
    )

    assert shape(tree) == [("1", None), ("2", 0), ("4", 1), ("3", 0), ("5", None)]
    assert tree.current == 3
    assert report.lines() == []


def test_where_no_leaf_is_named_the_newest_one_is_current() -> None:
    tree = read(
        said("1", "Rome?", parent_message_uuid=NO_PARENT, created_at="2025-03-01T10:00:00Z"),
        said("2", "Oslo?", parent_message_uuid=NO_PARENT, created_at="2025-03-01T10:05:00Z"),
        said("3", "Rome.", parent_message_uuid="1", created_at="2025-03-01T10:01:00Z"),
        said("4", "Oslo.", parent_message_uuid="2", created_at="2025-03-01T10:06:00Z"),
    )

    assert tree.messages[tree.current or 0].message_id == "4"


def test_messages_of_which_none_names_a_parent_follow_each_other() -> None:
    tree = read(*(said(one, f"{one}?", parent_message_uuid=None) for one in "123"))

    assert shape(tree) == [("1", None), ("2", 0), ("3", 1)]


def test_the_blocks_of_the_content_are_events_in_their_order_and_their_texts_the_text() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me see.", "citations": []},
        {"type": "tool_use", "name": "search", "input": {"q": "fish"}},
        {"type": "text", "text": "A danio 🐟.", "citations": [{"url": "u"}]},
    ]

    (message,) = read(said("1", "flat", content=blocks, created_at="2024-01-01T00:00:00Z", index=3)).messages

    assert message.content == {
        "role": "AI",
        "text": "Let me see.\n\nA danio 🐟.",
        "events": [
            blocks[0],
            {"type": "text", "textAt": [0, 11]},
            blocks[2],
            {"type": "text", "citations": [{"url": "u"}], "textAt": [13, 24]},
        ],
        "source": {"createdAt": "2024-01-01T00:00:00.000Z", "metadata": {"index": 3, "text": "flat"}},
    }


def test_files_are_named_and_counted_unless_their_text_is_there() -> None:
    report = ImportReport()
    attachments = [{"file_name": "a.txt", "extracted_content": "words"}]
    files = [{"file_uuid": "f", "file_name": "b.png"}, {}]

    (message,) = read(said("1", "", attachments=attachments, files=files), report=report).messages

    assert message.content["attachments"] == [
        {"attachmentId": "a.txt", "source": {"file_name": "a.txt"}},
        {"attachmentId": "f", "name": "b.png", "source": files[0]},
        {"attachmentId": "file"},
    ]
    assert message.content["events"] == [{"type": "extracted_text", "name": "a.txt", "text": "words"}]
    assert report.lines() == ["attachment without its file: 2 (1, 1)"]


def test_empty_doubled_and_strange_messages_are_reported() -> None:
    report = ImportReport()

    tree = read(said("1", "a?"), said("2", " "), 5, said("1", "b"), said("3", "c"), report=report)

    assert shape(tree) == [("1", None), ("3", 0)]
    assert report.lines() == [
        "not a message: 2 (message 3, 1, which is there twice)",
        "empty message: 1 (2)",
    ]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["1", "2", "text", "human", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["uuid", "sender", "text", "content", "type", "files", "parent_message_uuid"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=15,
)


@examples(300)
@given(st.lists(JUNK, max_size=6), JUNK)
def test_junk_never_breaks_the_reader(messages: list[Any], other: Any) -> None:
    rows = [other, {"uuid": other, "name": other, "chat_messages": messages}]

    for tree in trees_of(records_of(io.BytesIO(json.dumps(rows).encode())), ImportReport()):
        for message in tree.messages:
            check_history("history", [message.content])


def test_a_text_beside_the_blocks_stays_if_it_says_more() -> None:
    blocks = [{"type": "text", "text": "One."}, {"type": "tool_use", "name": "sky"}]
    unsupported = "```\nThis block is not supported on your current device yet.\n```"
    tree = read(
        said("a", f"One.\n\n{unsupported}", content=blocks), said("b", "One. And more.", content=blocks)
    )

    sources = [message.content.get("source", {}).get("metadata", {}) for message in tree.messages]
    assert [source.get("text") for source in sources] == [None, "One. And more."]


def test_a_file_that_repeats_the_name_of_an_attachment_is_there_once() -> None:
    report = ImportReport()
    attached = [{"file_name": "a.md", "file_size": 9, "extracted_content": "# A"}]
    [message] = read(
        said("a", "See.", attachments=attached, files=[{"file_name": "a.md"}, {"file_name": "b.png"}]),
        report=report,
    ).messages

    assert [one["attachmentId"] for one in message.content["attachments"]] == ["a.md", "b.png"]
    assert report.lines() == ["attachment without its file: 1 (a)"]

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.importing.file_records import records_of
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.plan_trees import plan_tree
from forklore.importing.readers import importers
from forklore_service.domain.content import check_history
from tests.clients.importing.service import Service
from tests.service.domain.builders import examples

Raw = dict[str, Any]
trees_of = importers()["chatgpt"].trees


def message(text: str | None = None, *, role: str = "user", **fields: Any) -> Raw:
    """Return a message of text; `content`, `metadata` and the others can be given."""
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, "recipient": "all", **fields}


def node(parent: str | None, said: Raw | None, *children: str) -> Raw:
    return {"parent": parent, "children": list(children), "message": said}


def read(mapping: Raw, report: ImportReport | None = None, **fields: Any) -> ForeignTree:
    """Return the tree of one conversation."""
    conversation = {"conversation_id": "c", "title": "T", "mapping": mapping, **fields}
    text = json.dumps([conversation])
    (tree,) = trees_of(records_of(io.BytesIO(text.encode())), report or ImportReport())
    return tree


def element(said: Raw, report: ImportReport | None = None) -> Raw:
    """Return what is stored for a message; the service must take it."""
    (only,) = read({"n": node(None, said)}, report).messages
    check_history("history", [only.content])
    return only.content


def said_to(end: int) -> Raw:
    """Return the place of a text that is all of an element's."""
    return {"type": "text", "textAt": [0, end]}


def shape(tree: ForeignTree) -> list[tuple[str, int | None]]:
    return [(said.message_id, said.parent) for said in tree.messages]


EXPORT = {
    "root": node(None, None, "sys"),
    "sys": node("root", message("", role="system"), "q", "q2"),
    "q": node("sys", message("Fish?", create_time=1700000000.25), "a", "a2"),
    "a": node("q", message("Zebra danio.", role="assistant", metadata={"model_slug": "m"}), "q3"),
    "a2": node("q", message("Guppy.", role="assistant")),
    "q2": node("sys", message("Cats?")),
    "q3": node("a", message("Why?")),
}


def test_all_branches_are_kept_and_the_nodes_without_words_are_not() -> None:
    report = ImportReport()

    tree = read(EXPORT, report, current_node="a2", create_time=1700000000)

    assert shape(tree) == [("q", None), ("a", 0), ("q3", 1), ("a2", 0), ("q2", None)]
    assert (tree.source, tree.tree_id, tree.title, tree.current) == ("chatgpt", "c", "T", 3)
    assert tree.created_at == "2023-11-14T22:13:20.000Z"
    assert report.lines() == ["empty message: 1 (sys)"]
    assert [said.content for said in tree.messages[:2]] == [
        {"role": "USER", "text": "Fish?", "source": {"createdAt": "2023-11-14T22:13:20.250Z"}},
        {"role": "AI", "text": "Zebra danio.", "source": {"metadata": {"model_slug": "m"}}},
    ]


def test_an_export_is_imported_with_its_current_branch(service: Service) -> None:
    tree = read(EXPORT, current_node="a2")

    loading = service.load(plan_tree(tree, owner=service.user, report=ImportReport()))

    ids = [loading.conversation_id(number) for number in range(3)]
    assert [service.texts(conversation_id) for conversation_id in ids] == [
        ["Fish?", "Zebra danio.", "Why?"],
        ["Fish?", "Guppy."],
        ["Cats?"],
    ]
    assert [row["conversationId"] for row in service.forks(ids[0]) if row["isCurrent"]] == [ids[1]]
    root = service.ask("getConversation", conversationId=ids[0])
    assert (root["title"], root["tags"]) == ("T", {"source": "chatgpt"})
    source = root["metadata"]["source"]
    assert (source["format"], source["id"], source["entries"]) == ("chatgpt", "c", 3)


def test_hidden_messages_are_left_out_and_their_replies_move_up() -> None:
    report, hidden = ImportReport(), {"is_visually_hidden_from_conversation": True}
    mapping = {
        "a": node(None, message("You are", role="system", metadata=hidden), "b"),
        "b": node("a", message(content={"content_type": "user_editable_context", "user_profile": "x"}), "c"),
        "c": node("b", message("hi"), "d"),
        "d": node("c", message("ping", role="tool", metadata=hidden), "e"),
        "e": node("d", message("hello", role="assistant")),
    }

    assert shape(read(mapping, report, current_node="d")) == [("c", None), ("e", 0)]
    assert report.lines() == ["hidden message: 3 (a, b, d)"]
    assert read(mapping, current_node="d").current == 0


def test_cycles_lost_parents_and_strange_nodes_are_reported() -> None:
    report = ImportReport()
    mapping = {
        "a": node("c", message("1")),
        "b": node("a", message("2")),
        "c": node("b", message("3")),
        "d": node("gone", message("4")),
        "e": node("d", {"content": "text"}),
        "f": "strange",
        "g": node("g", message("5")),
        "h": node(None, message("6")),
        "i": node(None, message("7"), "h"),
    }

    tree = read(mapping, report)

    assert shape(tree) == [("i", None), ("h", 0), ("a", None), ("b", 2), ("c", 3), ("d", None), ("g", None)]
    assert sorted(report.lines()) == [
        "cycle cut: 2 (a, g)",
        "message whose parent is not in the file: 1 (d)",
        "not a message: 1 (e)",
    ]


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        (
            {"content_type": "code", "language": "python", "text": "1+1"},
            {"text": "1+1", "events": [said_to(3), {"type": "code", "language": "python"}]},
        ),
        ({"content_type": "execution_output", "text": "2"}, {"text": "2"}),
        (
            {"content_type": "tether_quote", "url": "u", "text": "said"},
            {"text": "said", "events": [said_to(4), {"type": "tether_quote", "url": "u"}]},
        ),
        (
            {"content_type": "tether_browsing_display", "result": "page", "summary": None},
            {"text": "page"},
        ),
        (
            {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
            {"events": [{"type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}]},
        ),
        (
            {"content_type": "reasoning_recap", "content": "Thought for 5s"},
            {"events": [{"type": "reasoning_recap", "content": "Thought for 5s"}]},
        ),
        ({"content_type": "new_thing", "deep": [1.5]}, {"events": [{"type": "new_thing", "deep": [1.5]}]}),
        (
            {"content_type": "multimodal_text", "parts": [{"asset_pointer": "file://1", "width": 2}, "look"]},
            {
                "text": "look",
                "attachments": [
                    {"attachmentId": "file://1", "source": {"asset_pointer": "file://1", "width": 2}}
                ],
            },
        ),
        (
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "audio_transcription", "text": "hi"}, {"odd": 1}],
            },
            {"text": "hi", "events": [said_to(2), {"type": "multimodal_text", "parts": [{"odd": 1}]}]},
        ),
        ({"content_type": "text", "parts": ["a", "", "b"]}, {"text": "a\nb"}),
    ],
)
def test_each_type_of_content_has_its_place(content: Raw, stored: Raw) -> None:
    assert element(message(content=content)) == {"role": "USER", **stored}


def test_files_beside_the_text_are_named_and_counted() -> None:
    report = ImportReport()
    files = [{"id": "f1", "name": "a.pdf", "mimeType": "application/pdf"}, {"size": 3}]

    stored = element(message("read", metadata={"attachments": files, "request_id": "r"}), report)

    assert stored["attachments"] == [{"attachmentId": "f1", "name": "a.pdf", "source": files[0]}]
    assert stored["source"] == {"metadata": {"request_id": "r"}}
    assert report.lines() == ["attachment without its file: 1 (n)"]


def test_what_is_sent_to_a_tool_is_a_call_and_what_the_tool_says_its_result() -> None:
    asked = message(
        role="assistant",
        recipient="mail",
        content={"content_type": "code", "language": "json", "text": '{"q": 1}'},
    )
    code = message("print(1)", role="assistant", recipient="python")
    answered = message("2", author={"role": "tool", "name": "python", "metadata": {}}, recipient="assistant")
    browsed = {"content_type": "tether_browsing_display", "result": "", "summary": "Ferns"}

    assert element(asked)["events"] == [
        {"type": "tool_use", "name": "mail", "input": {"q": 1}, "language": "json"}
    ]
    assert element(code)["events"] == [{"type": "tool_use", "name": "python", "input": "print(1)"}]
    assert element(answered) == {
        "role": "TOOL",
        "events": [{"type": "tool_result", "name": "python", "content": "2"}],
        "source": {"author": {"role": "tool", "name": "python"}, "recipient": "assistant"},
    }
    assert element(message(author={"role": "tool", "name": "browser"}, content=browsed))["events"] == [
        {
            "type": "tool_result",
            "name": "browser",
            "content": "Ferns",
            "content_type": "tether_browsing_display",
        }
    ]


def test_what_a_message_tells_of_itself_is_in_its_source() -> None:
    stored = element(
        message("q", status="finished_successfully", end_turn=False, weight=1.0, update_time=None)
    )

    assert stored["source"] == {"status": "finished_successfully", "end_turn": False, "weight": 1.0}


def test_without_a_current_node_the_newest_leaf_is_current() -> None:
    mapping = {
        "q": node(None, message("q"), "a", "b", "c"),
        "a": node("q", message("1", role="assistant", create_time=3)),
        "b": node("q", message("2", role="assistant", create_time=9)),
        "c": node("q", message("3", role="assistant", create_time=5)),
    }

    assert read(mapping, current_node=None).current == 2
    assert read(mapping, current_node="a").current == 1


def test_half_a_surrogate_pair_is_replaced_and_reported() -> None:
    report = ImportReport()
    said = message("so \ud83c", metadata={"\ud83c": ["\udc00"]})
    mapping = {"a": node(None, message("ok"), "b"), "b": node("a", said)}

    tree = read(mapping, report, title="\ud83c x")

    assert shape(tree) == [("a", None), ("b", 0)]
    assert tree.messages[1].text == "so \ufffd"
    assert tree.messages[1].content["source"]["metadata"] == {"\ufffd": ["\ufffd"]}
    assert report.lines() == ["half a surrogate pair replaced: 1 (b)"]


def test_nesting_that_the_service_does_not_take_is_left_out_and_reported() -> None:
    report = ImportReport()
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]
    mapping = {
        "a": node(None, message("ok"), "b"),
        "b": node("a", message(content={"content_type": "x", "y": deep})),
    }

    assert shape(read(mapping, report)) == [("a", None)]
    assert report.lines() == ["message nested too deep: 1 (b)"]


def test_what_is_no_conversation_is_reported_and_the_rest_is_read() -> None:
    report = ImportReport()
    rows = [
        7,
        {"id": "x"},
        {"id": "y", "mapping": {}},
        {"id": "z", "mapping": {"a": node(None, message("1"))}},
    ]

    found = list(trees_of(records_of(io.BytesIO(json.dumps(rows).encode())), report))

    assert [tree.tree_id for tree in found] == ["z"]
    assert report.lines() == ["not a conversation with messages: 3 (element 1, x, y)"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["n0", "n1", "n2", "text", "user", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["parent", "children", "message", "content", "parts", "content_type", "author"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@examples(300)
@given(st.dictionaries(st.sampled_from(["n0", "n1", "n2", "n3"]), JUNK), JUNK, JUNK)
def test_junk_never_breaks_the_reader(mapping: Raw, current: Any, title: Any) -> None:
    conversation = {"id": "c", "mapping": mapping, "current_node": current, "title": title}
    text = json.dumps([conversation]).replace("NaN", "1").replace("Infinity", "2")

    for tree in trees_of(records_of(io.BytesIO(text.encode())), ImportReport()):
        for said in tree.messages:
            check_history("history", [said.content])


@examples(200)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(
            st.tuples(st.none() | st.integers(0, n), st.sampled_from(["text", "", None])),
            min_size=n,
            max_size=n,
        )
    )
)
def test_every_message_with_words_is_kept_below_its_nearest_kept_ancestor(
    nodes: list[tuple[int | None, str | None]],
) -> None:
    mapping = {
        f"n{number}": node(None if parent is None else f"n{parent}", None if text is None else message(text))
        for number, (parent, text) in enumerate(nodes)
    }

    tree = read(mapping) if any(text for _, text in nodes) else None

    kept = {f"n{number}" for number, (_, text) in enumerate(nodes) if text}
    assert {said.message_id for said in tree.messages} == kept if tree else not kept
    for index, said in enumerate(tree.messages if tree else ()):
        assert said.parent is None or said.parent < index
        if said.parent is not None and tree is not None:
            wanted = tree.messages[said.parent].message_id
            at: int | None = nodes[int(said.message_id[1:])][0]
            while at is not None and not nodes[at][1]:
                at = nodes[at][0]
            assert wanted == f"n{at}"

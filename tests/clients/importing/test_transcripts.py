"""Transcripts of agents: Claude Code and Codex."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.files import read_file, read_stream
from forklore.importing.foreign_trees import ForeignTree, ImportReport, Link, MalformedFileError, Reason
from forklore.importing.plan_trees import plan_tree
from tests.clients.importing.service import Service

Raw = dict[str, Any]


def read(*rows: Raw, report: ImportReport | None = None) -> ForeignTree:
    text = "\n".join(map(json.dumps, rows)).encode()
    [tree] = read_stream(io.BytesIO(text), report or ImportReport())
    assert isinstance(tree, ForeignTree)
    return tree


def row(uuid: str, above: str | None, kind: str = "user", content: Any = "x", **more: Any) -> Raw:
    """Return a row of Claude Code. more: id, of the message of the model, and other members."""
    message = {"role": kind, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return {"sessionId": "s", "uuid": uuid, "parentUuid": above, "type": kind, "message": message, **more}


def call(name: str, **given: Any) -> list[Raw]:
    return [{"type": "tool_use", "id": name, "name": "Task", "input": given}]


def result(of: str) -> list[Raw]:
    return [{"type": "tool_result", "tool_use_id": of, "content": "done"}]


def shape(tree: Any) -> list[tuple[str, str | None]]:
    ids = [message.message_id for message in tree.messages]
    return [
        (message.message_id, None if message.parent is None else ids[message.parent])
        for message in tree.messages
    ]


def test_the_tokens_of_a_message_that_is_in_pieces_count_once() -> None:
    rows = [
        row("u", None),
        row("a1", "u", "assistant", [{"type": "text", "text": "I look."}], id="m"),
        row("a2", "a1", "assistant", call("t1"), id="m"),
        row("stop", "a1", content="[interrupted]"),  # so they are two messages here
        row("b", "stop", "assistant", [{"type": "text", "text": "Done."}], id="n"),
    ]
    for one in rows:
        if one["type"] == "assistant":
            one["message"]["usage"] = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}
    plan = plan_tree(read(*rows), owner="ann", report=ImportReport())

    usages = [entry.body.get("usage") for one in plan.conversations for entry in one.entries]
    whole = {"inputTokens": 7, "outputTokens": 5, "cachedInputTokens": 4}
    assert len(usages) == 5
    assert [one for one in usages if one] == [whole, whole]


def test_rows_of_one_message_are_one_and_the_results_of_its_calls_follow_it() -> None:
    tree = read(
        row("u", None),
        row("a1", "u", "assistant", [{"type": "text", "text": "I look."}], id="m"),
        row("a2", "a1", "assistant", call("t1"), id="m"),
        row("r1", "a2", content=result("t1")),
        row("a3", "a2", "assistant", call("t2"), id="m"),
        row("r2", "a3", content=result("t2")),
        row("b", "r2", "assistant", [{"type": "text", "text": "Done."}], id="n"),
    )

    assert shape(tree) == [("u", None), ("a1", "u"), ("r1", "a1"), ("r2", "r1"), ("b", "r2")]
    assert [event["type"] for event in tree.messages[1].content["events"]] == ["text", "tool_use", "tool_use"]
    assert [one.role for one in tree.messages] == ["USER", "AI", "TOOL", "TOOL", "AI"]
    assert tree.messages[2].content["events"][0]["name"] == "Task"


def test_rows_of_one_message_stay_apart_where_something_forks_between_them() -> None:
    tree = read(
        row("u", None),
        row("a1", "u", "assistant", "I look.", id="m"),
        row("a2", "a1", "assistant", call("t"), id="m"),
        row("v", "a1"),
    )

    assert shape(tree) == [("u", None), ("a1", "u"), ("a2", "a1"), ("v", "a1")]


def test_a_sidechain_is_a_child_of_the_call_that_started_it(service: Service) -> None:
    tree = read(
        {"type": "summary", "summary": "Search", "leafUuid": "u"},
        row("u", None),
        row("a", "u", "assistant", call("t", prompt="Find it"), id="m"),
        row("s1", None, content="Find it", isSidechain=True, timestamp="2025-10-01T09:00:00Z"),
        row("s2", "s1", "assistant", "Found.", isSidechain=True, timestamp="2025-10-01T09:00:01Z"),
        row("r", "a", content=result("t")),
    )

    assert [(one.message_id, one.is_child) for one in tree.messages] == [
        *(("u", False), ("a", False), ("s1", True), ("s2", False), ("r", False)),
    ]
    assert tree.messages[tree.current or 0].message_id == "r"
    loading = service.load(plan_tree(tree, owner=service.user, report=ImportReport()))
    main, child = (loading.conversation_id(number) for number in (0, 1))
    assert [row["key"] for row in service.view(main)] == ["u", "a", "r"]
    assert service.texts(child) == ["Find it", "Found."]
    told = service.ask("getConversation", conversationId=child)
    assert (told["title"], service.ask("getConversation", conversationId=main)["title"]) == (
        "Find it",
        "Search",
    )
    call_id = service.view(main)[1]["id"]
    assert (told["startedByConversationId"], told["startedByEntryId"]) == (main, call_id)


def test_the_sidechains_of_a_folder_are_children_of_their_sessions(tmp_path: Path) -> None:
    main = [row("u", None), row("a", "u", "assistant", call("t", prompt="Find it"))]
    side = [row("s1", None, content="Find it", isSidechain=True, agentId="x")]
    for name, rows in {"s.jsonl": main, "agent-x.jsonl": side, "s/subagents/agent-y.jsonl": side}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        named = [{**one, "uuid": f"{one['uuid']}{name[-7]}"} if rows is side else one for one in rows]
        path.write_text("\n".join(map(json.dumps, named)))

    [tree] = read_file(tmp_path, ImportReport())
    [alone] = read_file(tmp_path / "agent-x.jsonl", ImportReport())

    assert shape(tree) == [("u", None), ("a", "u"), ("s1x", "a"), ("s1y", "a")]
    assert (tree.tree_id, alone.tree_id) == ("s", "s/x")


def test_rows_of_which_none_names_another_follow_each_other() -> None:
    rows = [
        row("u", None),
        row("a", None, "assistant", call("t")),
        row("r", None, "tool_result", result("t")),
    ]

    tree = read(*rows)

    assert shape(tree) == [("u", None), ("a", "u"), ("r", "a")]
    assert tree.messages[2].role == "TOOL"


def test_a_last_line_that_is_half_written_is_left_out_and_told() -> None:
    text, report = f"{json.dumps(row('u', None))}\n{json.dumps(row('v', 'u'))}", ImportReport()

    [tree] = read_stream(io.BytesIO(text[:-9].encode()), report)

    assert shape(tree) == [("u", None)]
    assert report.counts == {Reason.UNFINISHED: 1}


def test_a_broken_line_between_others_is_left_out_of_a_session_and_told() -> None:
    said, after, report = json.dumps(row("u", None)), json.dumps(row("v", "u")), ImportReport()
    text = f"{said}\n{after[:-9]}{after}\n\ud800\n{after}\n"

    [tree] = read_stream(io.BytesIO(text.encode(errors="surrogatepass")), report)

    assert shape(tree) == [("u", None), ("v", "u")]
    assert report.counts == {Reason.BROKEN: 2}
    with pytest.raises(MalformedFileError, match=r"^line 2: not JSON"):
        [*read_stream(io.BytesIO(b'{"is_user": true, "mes": "Rain?"}\n{"is_user"\n{}'), report)]


@pytest.mark.parametrize(
    "lines",
    [
        [
            {"type": "session_meta", "payload": {"id": "s"}},
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Rain?"}},
        ],
        [{"messages": [{"role": "user", "content": "Rain?"}]}],
        [{"name": "ann", "is_user": True, "mes": "Rain?"}],
    ],
)
def test_what_stands_before_a_half_written_line_is_imported_in_each_format(lines: list[Raw]) -> None:
    text, report = "\n".join([*map(json.dumps, lines), '{"type": "m']), ImportReport()

    [tree] = read_stream(io.BytesIO(text.encode()), report)

    assert isinstance(tree, ForeignTree)
    assert [one.text for one in tree.messages] == ["Rain?"]
    assert report.counts == {Reason.UNFINISHED: 1}


def test_a_row_that_is_there_twice_is_counted_if_it_says_something_else() -> None:
    report = ImportReport()

    tree = read(row("u", None), row("u", None), row("u", None, content="y"), report=report)

    assert [one.text for one in tree.messages] == ["x"]
    assert report.counts == {Reason.NOT_A_MESSAGE: 1}


def test_a_compacted_session_goes_on_and_what_is_no_message_is_counted() -> None:
    report = ImportReport()

    tree = read(
        {"type": "summary", "summary": "Mend it", "leafUuid": "v"},
        {"type": "summary", "summary": "Another", "leafUuid": "elsewhere"},
        {"type": "file-history-snapshot", "sessionId": "s"},
        row("u", None),
        row("meta", "u", isMeta=True),
        {"sessionId": "s", "uuid": "p", "parentUuid": "meta", "type": "progress", "data": {}},
        {
            "sessionId": "s",
            "uuid": "c",
            "parentUuid": None,
            "logicalParentUuid": "p",
            "type": "system",
            "content": "Conversation compacted",
        },
        row("v", "c", isCompactSummary=True, content="So far: x"),
        report=report,
    )

    assert shape(tree) == [("u", None), ("c", "u"), ("v", "c")]
    assert (tree.title, tree.messages[1].role) == ("Mend it", "SYSTEM")
    assert [one.is_summary for one in tree.messages] == [False, False, True]
    assert sorted(report.lines()) == [
        "hidden message: 1 (meta)",
        "record that is no message: 3 (file-history-snapshot in line 3, summary of another session, p)",
    ]


def test_messages_that_a_compaction_has_kept_follow_it_and_what_was_before_stays_above() -> None:
    boundary: Raw = {"sessionId": "s", "type": "system", "content": "Conversation compacted"}
    rows = [
        row("u", None),
        row("a", "u", "assistant"),
        {**boundary, "uuid": "c", "parentUuid": None, "logicalParentUuid": "kept"},
        row("sum", "c", isCompactSummary=True),
        row("kept", "sum", "assistant"),
        {**boundary, "uuid": "d", "parentUuid": None, "logicalParentUuid": "elsewhere"},
        row("w", "d"),
    ]
    report = ImportReport()

    tree = read(*rows, report=report)

    assert [message_id for message_id, _ in shape(tree)] == ["u", "a", "c", "sum", "kept", "d", "w"]
    assert [one.parent for one in tree.messages] == [None, *range(6)]
    assert report.lines() == []


def test_a_sidechain_that_was_compacted_goes_on_in_itself() -> None:
    side: Raw = {"isSidechain": True, "agentId": "g"}
    boundary: Raw = {"sessionId": "s", "type": "system", "content": "Conversation compacted"}
    report = ImportReport()

    tree = read(
        row("u", None),
        row("a", "u", "assistant", call("t", prompt="Look")),
        row("s", None, content="Look", **side),
        row("other", None, content="Look", isSidechain=True, agentId="h"),
        row("v", "a"),
        {**boundary, "uuid": "c", "parentUuid": None, "logicalParentUuid": "kept", **side},
        row("sum", "c", isCompactSummary=True, **side),
        row("kept", "sum", "assistant", **side),
        report=report,
    )

    assert ("c", "s") in shape(tree)
    assert [one.message_id for one in tree.messages if one.is_child] == ["s", "other"]
    assert ("v", "a") in shape(tree)
    assert report.lines() == []


@pytest.mark.parametrize("order", [1, -1])
def test_the_title_that_the_user_gave_wins(order: int) -> None:
    titles: list[Raw] = [
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "s"},
        {"type": "ai-title", "aiTitle": "Robot", "sessionId": "s"},
    ]

    assert read(row("u", None), *titles[::order]).title == "Mine"


def test_a_summary_with_a_message_is_one_and_a_sidechain_without_its_beginning_a_child() -> None:
    report = ImportReport()

    tree = read(
        row("u", None),
        row("a", "u", "assistant", call("t", prompt="Look")),
        row("s", "lost", isSidechain=True, timestamp="2026-01-01T00:00:00Z"),
        row("v", "a", "summary", "So far"),
        report=report,
    )

    assert shape(tree) == [("u", None), ("a", "u"), ("s", "a"), ("v", "a")]
    assert [one.is_child for one in tree.messages] == [False, False, True, False]
    assert (tree.current, report.lines()) == (3, [])


def test_a_session_that_goes_on_after_another_one_of_the_file_follows_it() -> None:
    rows = [
        row("u", None),
        row("a", "u", "assistant"),
        row("b", "u", "assistant"),
        row("v", "a", sessionId="t"),
        row("w", "v", sessionId="r"),
    ]
    report = ImportReport()

    trees = [
        tree
        for tree in read_stream(io.BytesIO("\n".join(map(json.dumps, rows)).encode()), report)
        if isinstance(tree, ForeignTree)
    ]

    assert [shape(tree) for tree in trees] == [
        [("u", None), ("a", "u"), ("b", "u")],
        [("v", None)],
        [("w", None)],
    ]
    assert [tree.origin for tree in trees] == [
        None,
        Link(session="s", message="a"),
        Link(session="t", message="v"),
    ]
    assert report.lines() == []


def test_a_rollout_of_codex_has_thoughts_calls_results_and_compactions() -> None:
    report = ImportReport()

    def item(kind: str, **fields: Any) -> Raw:
        return {
            "timestamp": "2025-10-01T09:00:00Z",
            "type": "response_item",
            "payload": {"type": kind, **fields},
        }

    tree = read(
        {"timestamp": "2025-10-01T09:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/p"}},
        item("message", role="user", content=[{"type": "input_text", "text": "<environment_context>"}]),
        item("message", role="user", content=[{"type": "input_text", "text": "List"}]),
        item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], encrypted_content="e"),
        item("function_call", name="shell", arguments='{"c": 1}', call_id="c1"),
        item("function_call_output", call_id="c1", output="a b"),
        {"timestamp": "2025-10-01T09:00:00Z", "type": "compacted", "payload": {"message": "So far: x"}},
        item("ghost_snapshot"),
        report=report,
    )

    assert [(one.role, one.text, one.content.get("events")) for one in tree.messages] == [
        ("USER", "List", None),
        ("AI", "", [{"type": "thinking", "thinking": "Hm."}]),
        ("AI", "", [{"type": "tool_use", "id": "c1", "name": "shell", "input": {"c": 1}}]),
        ("TOOL", "", [{"type": "tool_result", "tool_use_id": "c1", "content": "a b", "name": "shell"}]),
        ("SYSTEM", "So far: x", None),
    ]
    assert tree.messages[1].content["source"]["encrypted_content"] == "e"
    assert [one.is_summary for one in tree.messages] == [False] * 4 + [True]
    assert sorted(report.lines()) == [
        "hidden message: 1 (1)",
        "record that is no message: 1 (ghost_snapshot in line 8)",
    ]


@pytest.mark.parametrize(
    ("history", "text", "begins"),
    [
        (
            [("user", "Mine"), ("user", "<environment_context>"), ("assistant", "Yours")],
            "Mine\n\nYours",
            True,
        ),
        ([], "[compacted]", False),
    ],
)
def test_a_compaction_of_codex_without_its_summary_begins_with_what_was_kept_of_the_messages(
    history: list[tuple[str, str]], text: str, begins: bool
) -> None:
    kept = [
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": said}]}
        for role, said in history
    ]
    compaction = {"type": "compaction", "encrypted_content": "e"}
    payload = {"message": "", "replacement_history": [*kept, compaction]}

    [message] = read({"type": "compacted", "payload": payload}).messages

    assert (message.text, message.is_summary) == (text, begins)
    assert compaction in message.content["source"]["replacement_history"]


@pytest.mark.parametrize("more", [{}, {"cwd": "/p"}])
def test_an_older_rollout_has_the_items_as_they_are(more: Raw) -> None:
    tree = read(
        {"id": "x", "timestamp": "2025-05-01T09:00:00Z", "instructions": None, **more},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List"}]},
    )

    assert (tree.tree_id, [one.text for one in tree.messages]) == ("x", ["List"])


def test_a_rollout_may_begin_with_an_id_and_a_time_alone_and_have_the_times_in_its_items() -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List"}]}
    at = "2025-05-01T09:00:00Z"

    old = read({"id": "x", "timestamp": at}, said)
    new = read(
        {"type": "session_meta", "payload": {"id": "y", "timestamp": at}},
        {"type": "response_item", "payload": {**said, "timestamp": at}},
    )

    assert (old.source, old.tree_id) == ("codex", "x")
    assert (new.source, new.messages[0].said_at) == ("codex", "2025-05-01T09:00:00.000Z")


def test_a_rollout_that_names_a_session_again_goes_on() -> None:
    def said(text: str) -> Raw:
        content = [{"type": "input_text", "text": text}]
        return {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}

    report = ImportReport()

    tree = read(
        {"type": "session_meta", "payload": {"id": "x"}},
        said("one"),
        {"type": "session_meta", "payload": {"id": "y"}},
        said("two"),
        report=report,
    )

    assert (tree.tree_id, [one.text for one in tree.messages]) == ("x", ["one", "two"])
    assert [one.parent for one in tree.messages] == [None, 0]
    assert [one.earlier_keys for one in tree.messages] == [("1",), ("2",)]
    assert report.lines() == ["record that is no message: 1 (session_meta in line 3)"]


def test_the_words_beside_a_hidden_part_of_codex_stay() -> None:
    parts = [{"text": "<environment_context>x"}, {"text": "Rain?"}]
    report = ImportReport()
    tree = read(
        {"id": "s", "timestamp": "2025-01-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": parts},
        {"type": "message", "role": "user", "content": parts[:1]},
        report=report,
    )

    assert [message.text for message in tree.messages] == ["Rain?"]
    assert report.counts == {Reason.HIDDEN: 2}

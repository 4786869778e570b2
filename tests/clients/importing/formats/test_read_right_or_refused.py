"""What looks like something else is read as what it is, or refused by its name."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.foreign_trees import ImportReport, MalformedFileError, UnknownFormatError
from tests.clients.importing.formats.shapes import branches, said, tree_of, trees_of


def written(folder: Path, value: Any) -> Path:
    path = folder / "file.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def made(folder: Path, *statements: str) -> Path:
    path = folder / "file.db"
    with closing(sqlite3.connect(path)) as database:
        for one in statements:
            database.execute(one)
        database.commit()
    return path


def test_branches_of_an_advanced_session_are_no_line(tmp_path: Path) -> None:
    items = ["Ask", "Answer", "Wrong", "Right"]
    roles = ["user", "assistant", "user", "user"]
    rows = [json.dumps({"role": role, "content": text}) for role, text in zip(roles, items, strict=True)]
    listed = [("main", 1), ("main", 2), ("main", 3), ("other", 1), ("other", 2), ("other", 4)]
    path = made(
        tmp_path,
        "CREATE TABLE agent_sessions (session_id)",
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id, message_data, created_at)",
        "CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id, message_id, branch_id,"
        " sequence_number)",
        *(f"INSERT INTO agent_messages VALUES ({at}, 's', '{row}', 9)" for at, row in enumerate(rows, 1)),
        *(f"INSERT INTO message_structure VALUES (NULL, 's', {of}, '{name}', 0)" for name, of in listed),
    )
    tree = tree_of(path)

    assert (tree.source, tree.tree_id) == ("openai-agents", "s")
    assert branches(tree) == [
        ["user: Ask", "assistant: Answer", "user: Right"],
        ["user: Ask", "assistant: Answer", "user: Wrong"],
    ]


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("turns (session_id, user_message, assistant_response)", "Copilot CLI's index"),
        ("sessions (session_id, messages_path)", "Cline's list of sessions"),
    ],
)
def test_an_index_of_sessions_is_refused_by_its_name(table: str, name: str, tmp_path: Path) -> None:
    path = made(tmp_path, f"CREATE TABLE {table}", "CREATE TABLE checkpoints (id, session_id)")

    with pytest.raises(UnknownFormatError, match=f"^looks like {name}: import its folder "):
        trees_of(path)


def test_a_history_of_aider_and_a_session_of_vibe_are_refused_by_name(tmp_path: Path) -> None:
    history = tmp_path / ".aider.chat.history.md"
    history.write_text("\n# aider chat started at 2026-11-28 17:00:00\n\n#### Hello\n", encoding="utf-8")

    with pytest.raises(UnknownFormatError, match=r"^looks like a history of Aider: not supported"):
        trees_of(history)
    folder = tmp_path / "vibe"
    entry: dict[str, Any] = {
        "id": "e",
        "type": "message",
        "sessionId": "s",
        "generationStatus": "completed",
        "turnId": "t",
    }
    entry |= {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    (folder / "chunks").mkdir(parents=True)
    (folder / "chunks/a.json").write_text(json.dumps([{"agent_types": []}]), encoding="utf-8")
    (folder / "chunks/b.json").write_text(json.dumps([entry]), encoding="utf-8")
    with pytest.raises(MalformedFileError, match=r"looks like a session of Mistral Vibe: not supported"):
        trees_of(folder)


def webui(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "parent": parent, "role": role, "content": text, "type": "text", **more}


def test_two_answers_of_llama_cpp_are_branches(tmp_path: Path) -> None:
    messages = [
        webui("r", None, "system", "", type="root"),
        webui("q", "r", "user", "Boil?"),
        webui("a", "q", "assistant", "Yes."),
        webui("b", "q", "assistant", "No.", thinking="Hm."),
    ]
    conversation = {"id": "c", "name": "Kettle", "currNode": "b", "lastModified": 1788000000000}
    tree = tree_of(written(tmp_path, [{"conv": conversation, "messages": messages}]))

    assert (tree.source, tree.tree_id, tree.title) == ("llama-webui", "c", "Kettle")
    assert branches(tree) == [
        ["user: Boil?", "thought: Hm.", "assistant: No."],
        ["user: Boil?", "assistant: Yes."],
    ]


def test_a_list_whose_messages_name_their_parents_is_a_tree(tmp_path: Path) -> None:
    messages = [
        {"id": 1, "role": "user", "content": "Boil?"},
        {"id": 2, "role": "assistant", "content": "Yes.", "parentId": 1},
        {"id": 3, "role": "assistant", "content": "No.", "parentId": 1},
    ]

    assert branches(tree_of(written(tmp_path, messages))) == [
        ["user: Boil?", "assistant: No."],
        ["user: Boil?", "assistant: Yes."],
    ]


def test_threads_in_one_list_are_conversations(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Boil?", "threadId": "a"},
        {"role": "user", "content": "Rain?", "threadId": "b"},
        {"role": "assistant", "content": "Yes.", "threadId": "a"},
    ]
    trees = trees_of(written(tmp_path, {"id": "x", "messages": messages}))

    assert [(tree.tree_id, branches(tree)) for tree in trees] == [
        ("a", [["user: Boil?", "assistant: Yes."]]),
        ("b", [["user: Rain?"]]),
    ]


def test_messages_of_claude_are_in_the_order_of_the_talk(tmp_path: Path) -> None:
    said_at = [
        ("assistant", "Yes.", 1),
        ("human", "Boil?", 1),
        ("assistant", "Tea.", 3),
        ("human", "And?", 2),
    ]
    messages = [
        {"uuid": text, "sender": by, "text": text, "created_at": f"2026-01-01T00:00:0{at}Z"}
        for by, text, at in said_at
    ]
    tree = tree_of(written(tmp_path, [{"uuid": "c", "chat_messages": messages}]))

    assert branches(tree) == [["user: Boil?", "assistant: Yes.", "user: And?", "assistant: Tea."]]


def test_files_of_a_chatgpt_export_have_the_names_that_stand_beside_it(tmp_path: Path) -> None:
    picture, voice = "file_00000000cccc", "file_00000000bbbb"
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": f"sediment://{picture}"},
        {
            "content_type": "real_time_user_audio_video_asset_pointer",
            "frames_asset_pointers": [],
            "audio_asset_pointer": {"asset_pointer": f"sediment://{voice}", "format": "wav"},
        },
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    message = {"author": {"role": "user"}, "content": content, "create_time": 1}
    mapping: dict[str, Any] = {"m": {"id": "m", "message": message, "parent": None, "children": []}}
    names = {f"{picture}.dat": "user-x/tile.png", f"{voice}.dat": "voice.wav"}
    archive, report = tmp_path / "export.zip", ImportReport()
    with zipfile.ZipFile(archive, "w") as writing:
        writing.writestr("conversations-000.json", json.dumps([{"id": "c", "mapping": mapping}]))
        writing.writestr("conversation_asset_file_names.json", json.dumps(names))
        for name in names:
            writing.writestr(name, b"RIFF")
    [message_read] = tree_of(archive, report).messages

    assert said(message_read) == ["file tile.png", "file voice.wav"]
    assert not report.lines()

"""`forklore import`: its options, what it says, and its exit codes."""

import gc
import json
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import forklore
from forklore.cli.import_reporting import Reporter
from forklore.cli.owner import agent_of, owner_of
from forklore.cli.settings import InProcess, OnLambda, OverHttp
from forklore.client.errors import NoAnswerError
from forklore.client.transports.in_process import InProcessTransport
from forklore.importing import file_records, plan_trees
from forklore.importing.carrying_out import _Crew
from forklore.importing.plan import Plan
from tests.clients.cli.running import Forklore
from tests.clients.importing.builders import SOUP, answer, ask, line_of

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4iLCJleHAiOjE3MDAwMDAwMDB9.c2lnbg"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trees.jsonl"
    path.write_bytes(line_of(SOUP, tree_id="soup") + line_of(ask("hello", answer("hi")), tree_id="second"))
    return path


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def said(text: str) -> dict[str, Any]:
    """Return a message of a Claude export."""
    return {"uuid": f"id of {text}", "sender": "human", "text": text}


def test_a_row_for_each_tree_and_a_report_for_the_file(run: Forklore, file: Path) -> None:
    export = file.with_name("conversations.json")
    export.write_text(json.dumps([{"uuid": "c", "name": "Why", "chat_messages": [said("q"), said("")]}]))

    found = run(f"import {file} {export}")

    rows = [line.split("\t") for line in found.lines]
    assert [row[1:] for row in rows] == [["11", "soup"], ["2", "second"], ["1", "Why"]]
    assert found.err.splitlines() == [
        f"{file}: 2 trees, 13 entries",
        f"{export}: 1 tree, 1 entry",
        "  left out: empty message: 1 (id of)",
    ]
    assert found.code == 0
    assert [len(run(f"branch {row[0]}").lines) for row in rows] == [5, 1, 1]
    assert run(f"log {rows[1][0]} --oneline --reverse").out.count("\n") == 2


def test_another_import_stands_beside_the_first(run: Forklore, file: Path) -> None:
    first, second, third = (run(f"import {file} {more}") for more in ("", "--again x", "--again x"))

    assert second.out != first.out
    assert second.out == third.out
    assert len(run("ls --all").lines) == 12


def test_json_has_a_line_for_each_tree_and_one_for_the_file(run: Forklore, file: Path) -> None:
    found = run(f"import {file} --json")

    trees = objects(found.out)
    last = trees.pop()
    told = {"type": "file", "file": str(file), "problem": None}
    assert last == {**told, "leftOut": [], "notReadAgain": 0}
    assert [
        {name: held for name, held in tree.items() if name not in ("conversationId", "file")}
        for tree in trees
    ] == [
        {
            "type": "tree",
            "treeId": name,
            "conversations": conversations,
            "entries": entries,
            "found": 0,
            "missing": 0,
            "problems": [],
        }
        for name, conversations, entries in (("soup", 5, 11), ("second", 1, 2))
    ]
    assert found.err == ""


def test_a_dry_run_sends_nothing(run: Forklore, file: Path) -> None:
    found = run(f"import {file} --dry-run")

    assert found.lines == ["5\t11\tsoup", "1\t2\tsecond"]
    assert found.err == f"{file}: 2 trees, 13 entries to import\n"
    assert run("ls --all").out == ""


def test_a_name_points_to_the_branch_that_is_current(run: Forklore, file: Path) -> None:
    assert run(f"import {file} --name soup").code == 2
    assert run("ls --all").out == ""

    found = run(f"import {file} --name soup --limit-trees 1")

    assert found.code == 0
    assert run.id_of("soup") == found.lines[0].split("\t")[0]
    assert run(f"import {file} --name soup --limit-trees 1").code == 0


def test_a_name_that_is_in_use_is_refused_before_anything_is_sent(run: Forklore, file: Path) -> None:
    run("say soup hello")

    found = run(f"import {file} --name soup --limit-trees 1")

    assert (found.code, found.err) == (4, "forklore: the name soup is in use\n")
    assert len(run("ls --all").lines) == 1


def test_a_damaged_file_ends_at_its_place_and_the_others_are_imported(run: Forklore, file: Path) -> None:
    damaged = file.with_name("damaged.jsonl")
    damaged.write_bytes(line_of(ask("before"), tree_id="before") + b'{"prompt": 5}\n')

    found = run(f"import {damaged} {file.with_name('nothing')} {file}")

    assert found.code == 2
    assert [line.split("\t")[2] for line in found.lines] == ["before", "soup", "second"]
    assert f"forklore: {damaged}: line 2: no message under 'prompt'" in found.err
    assert f"{file.with_name('nothing')}: No such file or directory" in found.err


def test_a_tree_that_cannot_be_imported_does_not_stop_the_others(run: Forklore, file: Path) -> None:
    first = run(f"import {file}").lines[0].split("\t")[0]
    assert run(f"branch {first} -d --yes").code == 0

    found = run(f"import {file}")

    assert found.code == 1
    assert [line.split("\t")[2] for line in found.lines] == ["second"]
    assert re.search(r"tree soup: [0-9a-f-]{36} was imported before, and deleted since", found.err)


@pytest.mark.parametrize(
    ("target", "owner", "agent"),
    [
        (OverHttp("http://127.0.0.1:8080", "ann"), "ann", None),
        (OverHttp("https://example.test", JWT, "key"), "ann", "key"),
        (OverHttp("https://example.test", "a.b.c"), "a.b.c", None),
        (OverHttp("https://example.test"), "", None),
        (OnLambda("f", "ann", "planner"), "ann", "planner"),
        (InProcess(None, "ann"), "ann", None),
    ],
)
def test_a_user_is_named_alike_by_every_way(target: Any, owner: str, agent: str | None) -> None:
    assert (owner_of(target), agent_of(target)) == (owner, agent)


def test_a_second_import_says_what_was_there_before(run: Forklore, file: Path) -> None:
    run(f"import {file} --limit-trees 1")

    assert run(f"import {file}").err == f"{file}: 2 trees, 13 entries, 11 of them from an earlier import\n"
    found = objects(run(f"import {file} --json").out)
    assert [row["found"] for row in found[:-1]] == [11, 2]
    assert len(run("ls --all").lines) == 5 + 1


def test_ctrl_c_counts_what_was_sent_and_says_how_to_go_on(run: Forklore, file: Path) -> None:
    real = _Crew.wait
    calls = iter(range(100))

    def wait(crew: _Crew) -> Any:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return real(crew)

    with mock.patch.object(_Crew, "wait", wait):
        found = run(f"import {file} --parallel 1 --limit-trees 1")

    counted = re.search(r": 0 trees, (\d+) entr\w+; 1 tree unfinished", found.err)
    assert counted is not None, found.err
    assert 0 < int(counted[1]) <= 11
    assert found.code == 130
    assert "interrupted; the same command goes on where it stopped" in found.err
    assert run(f"import {file}").code == 0
    assert len(run("ls --all").lines) == 6


def test_standard_input_and_pipes_are_read_once(run: Forklore, file: Path, tmp_path: Path) -> None:
    given = file.read_bytes()
    found = run("import - --name soup --limit-trees 1", stdin=given)

    assert (found.code, found.err) == (0, "standard input: 1 tree, 11 entries\n")
    assert run.id_of("soup") == found.lines[0].split("\t")[0]
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=[given])
    writer.start()
    again = run(f"import {fifo} --name soup --limit-trees 1 --json")
    writer.join()
    assert again.code == 0
    assert [row["file"] for row in objects(again.out)] == [str(fifo)] * 2


def test_no_tree_is_kept_after_it_has_ended(run: Forklore, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(line_of(ask(f"t{number}"), tree_id=f"t{number}") for number in range(60)))
    told = most = 0
    real = Reporter.add

    def add(telling: Reporter, tree: Any) -> None:
        nonlocal told, most
        real(telling, tree)
        del tree
        told += 1
        if told % 20 == 0:  # a look takes a second where many objects are alive
            gc.collect()
            most = max(most, sum(isinstance(one, Plan) for one in gc.get_objects()))

    with mock.patch.object(Reporter, "add", add):
        found = run(f"import {path} --parallel 1")

    assert [line.split("\t")[2] for line in found.lines] == [f"t{number}" for number in range(60)]
    assert most < 10


def test_an_imported_tree_is_found_by_its_title_and_sorted_by_its_time(run: Forklore, tmp_path: Path) -> None:
    def told(number: int, above: int | None) -> dict[str, Any]:
        parent = None if above is None else f"m{above}"
        return {**said(f"text {number}"), "uuid": f"m{number}", "parent_message_uuid": parent}

    forked = [told(0, None), told(1, 0), told(2, 0)]
    export = tmp_path / "conversations.json"
    export.write_text(
        json.dumps(
            [
                {
                    "uuid": "a",
                    "name": "Holiday",
                    "created_at": "2024-05-01T10:00:00Z",
                    "chat_messages": forked,
                },
                {"uuid": "b", "created_at": "2025-05-01T10:00:00Z", "chat_messages": [told(0, None)]},
                {"uuid": "c", "created_at": "2023-05-01T10:00:00Z", "chat_messages": forked},
            ]
        )
    )
    assert run(f"import {export} --parallel 1").code == 0
    run("say today hello")

    for mode in ("latest-fork", "current", "roots"):
        assert {line.split("\t")[4] for line in run(f"ls --mode {mode}").lines} == {
            "Holiday",
            "text 0",
            "hello",
        }
        assert len(run(f"ls holi --mode {mode}").lines) == 1
    assert [line.split("\t")[4] for line in run("ls --all holi").lines] == ["Holiday", "Holiday"]
    sorted_ = [line.split("\t") for line in run("ls --by-origin").lines]
    assert [row[4] for row in sorted_] == ["hello", "text 0", "Holiday", "text 0"]
    assert [row[2] for row in sorted_[1:]] == [f"{year}-05-01 10:00:00" for year in (2025, 2024, 2023)]
    assert run("ls --by-origin -n 1").lines[0].endswith("\thello")
    assert run("ls --names --by-origin").code == 2


def node(parent: str | None, role: str, text: str, at: float, **fields: Any) -> dict[str, Any]:
    """Return a node of a ChatGPT export."""
    content = {"content_type": "text", "parts": [text]}
    said = {"author": {"role": role}, "content": content, "create_time": at, **fields}
    return {"parent": parent, "message": said}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Two conversations of 2023 and one of 2024, which is archived and forks."""
    mapping = {
        "q": node(None, "user", "Ferns?", 1_700_000_000),
        "a": node("q", "assistant", "Green.", 1_700_000_060),
    }
    forked = {
        "q": node(None, "user", "Moss?", 1_710_000_000),
        "t": node("q", "assistant", '{"find": "moss"}', 1_710_000_005, recipient="herbarium"),
        "r": node("t", "tool", "4 sheets", 1_710_000_006),
        "a": node("r", "assistant", "Soft.", 1_710_000_010),
        "b": node("q", "assistant", "Old.", 1_710_000_001),
    }
    path = tmp_path / "conversations.json"
    rows = [
        {"id": "moss", "title": "Moss", "mapping": forked, "create_time": 1_710_000_000, "is_archived": True},
        {"id": "ferns", "title": "Ferns", "mapping": mapping, "create_time": 1_700_000_000},
        {"id": "later", "title": "Later", "mapping": {"q": node(None, "user", "Hi", 1_705_000_000)}},
    ]
    path.write_text(json.dumps(rows))
    return path


def test_what_is_shown_is_when_it_was_said(run: Forklore, export: Path) -> None:
    run("say here hello")
    run(f"import {export}")

    rows = [line.split("\t") for line in run("ls --archived include").lines]
    assert [(row[4], row[2][:10]) for row in rows[1:]] == [
        ("Moss", "2024-03-09"),
        ("Later", "2024-01-11"),
        ("Ferns", "2023-11-14"),
    ]
    assert rows[0][4] == "hello"
    assert "2023-11-14 22:14:20 UTC" in run(f"log {rows[3][1]} -n 1").out
    shown = run(f"show {rows[3][1]}").out
    assert "created\t2023-11-14 22:13:20" in shown
    assert "updated\t2023-11-14 22:14:20" in shown
    assert "created\t2023-11-14 22:14:20" in run(f"show {rows[3][1]} -1").out

    run(f"say {rows[3][1]} more")
    assert [line.split("\t")[4] for line in run("ls").lines] == ["Ferns", "hello", "Later"]


def test_what_is_archived_there_is_archived_and_stays_as_the_user_has_it_since(
    run: Forklore, export: Path
) -> None:
    run(f"import {export}")

    [row] = run("ls --archived only").lines
    assert row.split("\t")[3:] == ["owner, archived", "Moss"]
    run(f"unarchive {row.split(chr(9))[1]}")
    export.write_text(export.read_text().replace("Soft.", "Soft!"))
    assert run(f"import {export}").code == 0
    assert run("ls --archived only").lines == []


def test_calls_and_results_of_tools_are_told_apart_from_words_and_are_found(
    run: Forklore, export: Path
) -> None:
    current = run(f"import {export}").lines[0].split("\t")[0]

    shown = [line.split(" ", 1)[1] for line in run(f"log {current} --oneline --reverse").lines]
    assert shown == [
        "user Moss?",
        'ai [calls herbarium {"find":"moss"}]',
        "tool [tool returned 4 sheets]",
        "ai Soft.",
    ]
    assert len(run("grep 4 sheets").lines) == 1


def test_the_text_of_a_file_is_found_and_its_name_is_shown(run: Forklore, export: Path) -> None:
    file = {"file_name": "herbs.txt", "extracted_content": "4 sheets of moss"}
    export.write_text(json.dumps([{"uuid": "t", "chat_messages": [said("Read") | {"attachments": [file]}]}]))

    [row] = run(f"import {export}").lines

    assert len(run("grep 4 sheets").lines) == 1
    assert "herbs.txt" in run(f"log {row.split()[0]}").out


def test_an_import_of_what_has_not_changed_only_lists_what_is_there(run: Forklore, export: Path) -> None:
    first = run(f"import {export}").lines
    sent: list[str] = []
    send = InProcessTransport.send

    def noting(self: InProcessTransport, call: Any, timeout_s: float) -> Any:
        sent.append(call.shape.name)
        return send(self, call, timeout_s)

    with mock.patch.object(InProcessTransport, "send", noting):
        again = run(f"import {export}")
    assert (again.lines, again.code) == (first, 0)
    assert again.err.splitlines() == [
        f"{export}: 3 trees, 8 entries, 8 of them from an earlier import",
        "  not read again, as unchanged: 2 trees",
    ]
    assert objects(run(f"import {export} --json").out)[-1]["notReadAgain"] == 2
    assert set(sent) == {"listConversations"}


def test_conversations_without_an_id_stay_apart_also_where_others_are_not_read_again(
    run: Forklore, export: Path
) -> None:
    def talk(*texts: str) -> dict[str, Any]:
        return {"chat_messages": [{"sender": "human", "text": text} for text in texts]}

    rows = [talk("first"), talk("Hi", "one"), talk("Hi", "two"), talk("Hi", "three")]
    export.write_text(json.dumps(rows))
    assert "4 trees, 7 entries\n" in run(f"import {export}").err

    rows[2]["chat_messages"].append({"sender": "human", "text": "more"})
    export.write_text(json.dumps(rows))

    told = run(f"import {export}").err
    assert "4 trees, 8 entries, 7 of them from an earlier import\n" in told
    assert "not read again, as unchanged: 2 trees" in told
    assert "changed" not in told.replace("unchanged", "")


def row_of(uuid: str, above: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of a session of Claude Code."""
    named = {"sessionId": "s", "uuid": uuid, "parentUuid": above, "type": "user"}
    return {**named, "message": {"role": "user", "content": f"text {uuid}"}, **more}


@pytest.fixture
def session(tmp_path: Path) -> Callable[..., Path]:
    """Write a session that was compacted at `b`, up to a row."""

    def write(last: str) -> Path:
        path, above = tmp_path / "session.jsonl", [None, *"abcd"]
        rows = [
            row_of(one, above[at], **({"isCompactSummary": True} if one == "b" else {}))
            for at, one in enumerate("abcde")
        ]
        path.write_text("\n".join(json.dumps(row) for row in rows if row["uuid"] <= last))
        return path

    return write


def acting(run: Forklore, client: str) -> Forklore:
    return replace(run, options=(*run.options, "--client", client))


def shown(run: Forklore, conversation: str, *more: str) -> str:
    """Return the last letters of the entries that a conversation shows."""
    return "".join(line[-1] for line in run(f"log {conversation} --oneline --reverse {' '.join(more)}").lines)


def test_an_agent_that_imports_a_compacted_session_remembers_the_summary(
    run: Forklore, session: Callable[..., Path]
) -> None:
    path, agent = session("c"), acting(run, "planner")

    [told] = agent(f"import {path}").lines

    assert agent(f"import {path}").err == f"{path}: 1 tree, 5 entries, 5 of them from an earlier import\n"
    one = told.split("\t")[0]
    assert (shown(agent, one), shown(agent, one, "--context")) == ("abc", "bc")
    assert "3 entries" in run(f"import {path} --again user").err


@pytest.mark.parametrize("importers", [["", "planner"], ["planner", "", "planner"], ["", "", "planner"]])
def test_an_agent_remembers_also_what_its_user_has_imported(
    run: Forklore, session: Callable[..., Path], importers: list[str]
) -> None:
    for one, last in zip(importers, "cde", strict=False):
        found = (acting(run, one) if one else run)(f"import {session(last)}")
        assert (found.code, "left out" in found.err) == (0, False)

    agent, [row] = acting(run, "planner"), run("ls --all").lines
    history, one = "abcde"[: len(importers) + 2], row.split("\t")[1]
    assert (shown(agent, one), shown(agent, one, "--context")) == (history, history[1:])


def test_an_agent_that_imports_what_its_user_has_is_told_apart_where_nothing_has_changed(
    run: Forklore, session: Callable[..., Path]
) -> None:
    path, agent = session("c"), acting(run, "planner")
    one = run(f"import {path}").lines[0].split("\t")[0]

    assert "5 entries, 3 of them from an earlier import" in agent(f"import {path}").err
    assert shown(agent, one, "--context") == "bc"


def test_a_conversation_tells_how_many_entries_imports_gave_it_whoever_imports(
    run: Forklore, session: Callable[..., Path]
) -> None:
    other, planner = acting(run, "other"), acting(run, "planner")
    steps = [
        (other, "a", 1),
        (planner, "c", 3),
        (run, "c", 3),
        (other, "c", 5),
        (run, "d", 6),
        (other, "d", 7),
    ]

    for agent, last, entries in steps:
        assert agent(f"import {session(last)}").code == 0
        [row] = objects(run("ls --all --json").out)
        assert row["metadata"]["source"]["entries"] == row["metrics"]["entries"] == entries


def test_what_an_agent_imports_of_another_agents_session_is_the_history_and_it_says_so(
    run: Forklore, session: Callable[..., Path]
) -> None:
    one = acting(run, "other")(f"import {session('a')}").lines[0].split("\t")[0]
    agent, path = acting(run, "planner"), session("c")

    told = [agent(f"import {path}") for _ in range(2)]

    assert [found.code for found in told] == [0, 0]
    left_out = "  left out: entry of an agent's context: 2 (context b, context c)"
    assert [found.err.splitlines()[1:] for found in told] == [[left_out]] * 2
    assert shown(agent, one) == "abc"
    assert len(run("ls --all").lines) == 1


def test_a_newer_export_adds_what_is_new_and_is_then_known(run: Forklore, export: Path) -> None:
    run(f"import {export}")
    rows = json.loads(export.read_text())
    rows[1]["mapping"]["c"] = node("a", "user", "Why?", 1_700_000_100)
    export.write_text(json.dumps(rows))

    assert "9 entries, 8 of them" in run(f"import {export}").err
    assert "9 entries, 9 of them" in run(f"import {export}").err
    assert [line.split("\t")[2] for line in run("ls").lines][-1] == "2023-11-14 22:15:00"


def test_a_message_that_says_something_else_by_now_is_a_branch(run: Forklore, export: Path) -> None:
    ferns = run(f"import {export}").lines[1].split("\t")[0]
    rows = json.loads(export.read_text())
    before = json.dumps(rows)
    rows[1]["mapping"]["a"] = node("q", "assistant", "Green!", 1_700_000_060)
    after = json.dumps(rows)
    export.write_text(after)

    found = run(f"import {export}")
    assert (found.code, "left out" in found.err) == (0, False)
    assert "3 trees, 8 entries, 7 of them from an earlier import" in found.err
    for text in (before, after, before):
        export.write_text(text)
        assert "3 trees, 8 entries, 8 of them" in run(f"import {export}").err
    current = found.lines[1].split("\t")[0]
    assert [run(f"log {one} -n 1").lines[-1].strip() for one in (ferns, current)] == ["Green.", "Green!"]
    assert len(run(f"branch {ferns}").lines) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda row: row["mapping"]["a"]["message"].update(create_time=1_700_000_061), "message changed"),
        (lambda row: row["mapping"]["a"]["message"]["author"].update(role="user"), "message changed"),
        (lambda row: row["mapping"]["a"]["message"].update(metadata={"odd": 1}), "message changed"),
        (lambda row: row.update(title="Fern"), "other title than here, which was kept: 1 (Fern)"),
    ],
)
def test_whatever_is_not_kept_of_a_newer_export_is_told(
    run: Forklore, export: Path, change: Callable[[Any], None], told: str
) -> None:
    run(f"import {export}")
    rows = json.loads(export.read_text())
    change(rows[1])
    export.write_text(json.dumps(rows))

    for _ in range(2):
        assert f"  left out: {told}" in run(f"import {export}").err


@pytest.mark.parametrize("before", ["appendEntry", "updateConversation"])
def test_metadata_that_is_set_during_an_import_stays(
    run: Forklore, folder: Path, export: Path, before: str
) -> None:
    ferns = run(f"import {export}").lines[1].split("\t")[0]
    rows = json.loads(export.read_text())
    rows[1]["mapping"]["c"] = node("a", "user", "Why?", 1_700_000_100)
    export.write_text(json.dumps(rows))
    send = InProcessTransport.send
    others: list[Any] = []

    with forklore.Forklore.local(user=run.options[-1], data=folder) as client:

        def sending(self: InProcessTransport, call: Any, timeout_s: float) -> Any:
            if call.shape.name == before and not others:
                others.append(call)
                held = client.api.get_conversation(ferns).metadata
                client.api.update_conversation(ferns, metadata={**held, "mine": True})
            return send(self, call, timeout_s)

        with mock.patch.object(InProcessTransport, "send", sending):
            run(f"import {export}")
        assert others
        run(f"import {export}")
        metadata = client.api.get_conversation(ferns).metadata
    assert (metadata["mine"], metadata["source"]["entries"]) == (True, 3)


def test_what_others_have_imported_and_shared_is_imported_by_each(run: Forklore, export: Path) -> None:
    bob = replace(run, options=(*run.options[:-1], f"bob-{run.options[-1]}"))
    for line in run(f"import {export}").lines:
        run(f"share {line.split(chr(9))[0]} {bob.options[-1]} reader")

    assert bob(f"import {export}").err == f"{export}: 3 trees, 8 entries\n"
    held = [line.split("\t")[3] for line in bob("ls --all --archived include").lines]
    assert Counter(held) == {"owner": 2, "owner, archived": 2, "reader": 4}


def test_unchanged_trees_before_a_broken_one_are_told(run: Forklore, export: Path) -> None:
    run(f"import {export}")
    export.write_text(export.read_text()[:-1] + ", nonsense]")

    found = run(f"import {export}")

    assert (len(found.lines), found.code) == (3, 2)
    assert "3 trees, 8 entries, 8 of them from an earlier import" in found.err


def test_no_more_trees_are_looked_at_than_are_wanted(run: Forklore, export: Path) -> None:
    run(f"import {export}")
    rows = json.loads(export.read_text())
    export.write_text(json.dumps([*rows, "nonsense"])[:-2])

    found = run(f"import {export} --limit-trees 2")

    assert (len(found.lines), found.code) == (2, 0)


def test_of_an_archive_that_has_not_changed_one_conversation_is_read(run: Forklore, export: Path) -> None:
    run(f"import {export}")
    with mock.patch.object(file_records, "_parse", wraps=file_records._parse) as parse:
        assert run(f"import {export}").code == 0
        assert parse.call_count == 1

        with mock.patch.object(plan_trees, "READ_AS", 0):
            again = run(f"import {export}").err
        assert again == f"{export}: 3 trees, 8 entries, 8 of them from an earlier import\n"
        assert parse.call_count == 4


def test_a_tree_that_lacks_something_is_not_taken_for_unchanged(run: Forklore, export: Path) -> None:
    moss, ferns, _ = [line.split("\t")[0] for line in run(f"import {export}").lines]
    [other] = [line.split("\t")[1] for line in run(f"branch {moss}").lines if moss not in line]
    run(f"branch -d {other} --yes")
    run(f"rm {ferns} --yes")

    told = run(f"import {export}").err

    assert told.count("was imported before, and deleted since") == 2


def test_an_import_that_was_ended_at_any_request_is_whole_after_the_next(
    run: Forklore, home: Path, tmp_path: Path, export: Path
) -> None:
    """Also if the user has said as much meanwhile as is missing of a conversation."""
    rows = json.loads(export.read_text())
    line = {f"m{at}": node(f"m{at - 1}", "user", f"line {at}", 1_705_000_000) for at in range(1, 45)}
    rows[2]["mapping"] = {"m0": node(None, "user", "line 0", 1_705_000_000), **line}
    export.write_text(json.dumps(rows))

    def shown(one: Forklore) -> tuple[int, int]:
        return len(one("grep e").lines), len(one("ls --archived only").lines)

    later = run(f"import {export}").lines[2].split("\t")[0]
    for requests in count():
        one = Forklore((*run.options[:1], str(tmp_path / f"{requests}"), *run.options[2:]), run.variables)
        with mock.patch.object(InProcessTransport, "send", ending_after(requests)):
            is_whole = one(f"import {export} --parallel 1").code == 0
        one(f"say {later} hm")
        for _ in range(2):
            assert "3 trees, 52 entries" in one(f"import {export}").err
        assert shown(one) == shown(run)
        if is_whole:
            return


def ending_after(requests: int) -> Callable[[InProcessTransport, Any, float], Any]:
    """Return what sends so many calls and no more."""
    send, left = InProcessTransport.send, requests

    def sending(self: InProcessTransport, call: Any, timeout_s: float) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise NoAnswerError("gone")
        return send(self, call, timeout_s)

    return sending


def test_a_switch_of_the_user_stays(run: Forklore, export: Path) -> None:
    current = run(f"import {export}").lines[0].split("\t")[0]
    [other] = [line.split("\t")[1] for line in run(f"branch {current}").lines if current not in line]
    run(f"switch {other}")

    run(f"import {export}")

    marked = [line for line in run(f"branch {current}").lines if line.startswith("*")]
    assert [other in line for line in marked] == [True]


def test_a_refused_import_makes_no_folder(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"prompt": "x"}')
    fresh = Forklore(("--data", str(tmp_path / "new")), {"XDG_CONFIG_HOME": str(home)})

    found = fresh(f"import {path}")

    assert found.code == 2
    assert "no format that is known; --format forces one of: chatgpt, claude" in found.err
    assert not (tmp_path / "new").exists()
    assert fresh(f"import {path} --format nothing").code == 2


def test_a_database_of_a_framework_needs_its_adapter(run: Forklore, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE agent_sessions (session_id TEXT)")
        database.commit()

    found = run(f"import {path}")

    assert (found.code, found.err) == (
        2,
        "forklore: agents is not installed: pip install 'forklore[openai-agents]'\n",
    )

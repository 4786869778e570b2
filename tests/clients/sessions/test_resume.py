"""`forklore resume`: a branch is written for a program, which starts with it, and comes back.

Here a few lines of shell stand where the program would start. `make programs` runs the real ones.
"""

import json
import os
import re
import shutil
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forklore.client.parts import Part
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.openhands import written
from forklore.exporting.programs.talks import Talk
from tests.clients.cli.running import Forklore

PROGRAMS = Path(__file__).parents[1] / "importing/programs"

WRITTEN = (
    "claude-code",
    "codex",
    "continue",
    "copilot-cli",
    "gemini-cli",
    "goose",
    "llm",
    "opencode",
    "openhands",
    "pi",
    "qwen-code",
)


@pytest.fixture
def trip(run: Forklore) -> str:
    """A conversation that came from no program, and its id."""
    for line in ("say trip 'Two nights in Lisbon?'", "say trip --as ai 'Casa do Jardim.'"):
        assert run(line).code == 0
    return run.id_of("trip")


def installed(home: Path, name: str, script: str) -> dict[str, str]:
    """Put a program into a folder of its own, and return the environment that finds it."""
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def text_of(file: Path) -> str:
    """Return the text of a session that was written: of all its files, or of its database."""
    if file.suffix == ".db":
        with closing(sqlite3.connect(file)) as database:
            return "\n".join(database.iterdump())
    return "".join(one.read_text() for one in [file, *sorted(file.parent.glob("events/*"))])


@pytest.mark.parametrize("program", WRITTEN)
def test_a_branch_is_written_for_each_program(
    run: Forklore, home: Path, logs: Path, trip: str, program: str
) -> None:
    told = json.loads(run(f"resume trip --in {program} --folder '{home}' --print --json").out)

    text = text_of(Path(told["file"]))
    assert told["program"] == program
    assert text.index("Two nights in Lisbon?") < text.index("Casa do Jardim.")
    assert not told["isOwn"]
    assert not told["leftOut"]
    assert trip.replace("-", "")[:12] in text.replace("-", "")  # Qwen Code takes no version 7


def test_the_command_is_printed_as_one_types_it(run: Forklore, home: Path, trip: str) -> None:
    ran = run(f"resume trip --in claude --folder '{home}' --print")

    assert ran.lines == [f"cd '{home}'" if " " in str(home) else f"cd {home}", f"claude --resume {trip}"]
    assert not run("ls --names").out.count("claude")


def row_said(session: str, before: str, text: str) -> str:
    """Return a line of Claude Code with what a user says after a row."""
    row: dict[str, object] = {"type": "user", "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, text))}
    row |= {"sessionId": session, "parentUuid": before, "timestamp": "2026-11-28T12:00:00.000Z"}
    row |= {"isSidechain": False, "message": {"role": "user", "content": text}}
    return json.dumps(row)


def said_in_claude(run: Forklore, home: Path, trip: str, text: str) -> Path:
    """Say something in the session that forklore has written for Claude Code; return its file."""
    told = json.loads(run(f"resume trip --in claude --folder '{home}' --print --json").out)
    file = Path(told["file"])
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    last = [row["uuid"] for row in rows if "uuid" in row][-1]
    with file.open("a") as stream:
        stream.write(row_said(trip, last, text) + "\n")
    return file


def test_what_is_said_in_the_program_comes_back_into_the_conversation(
    run: Forklore, home: Path, trip: str
) -> None:
    before = len(run("ls --json").lines)
    row = row_said(trip, "LAST", "Three nights in Porto?")
    session = f'"$HOME"/.claude/projects/*/{trip}.jsonl'
    last = 'grep -o \'"uuid":"[^"]*\' $f | tail -n 1 | cut -d \'"\' -f 4'
    script = f"f=$(echo {session}); last=$({last}); echo '{row}' | sed \"s/LAST/$last/\" >> $f"
    variables = installed(home, "claude", script)

    ran = run(f"resume trip --in claude-code --folder '{home}'", variables)

    assert ran.code == 0, ran.err
    assert run("log trip --oneline").out.count("Three nights in Porto?") == 1
    assert run("log trip --oneline").out.count("Casa do Jardim.") == 1
    assert "1 new message" in ran.err
    assert len(run("ls --json").lines) == before  # the other sessions are left to `collect`


def test_what_was_said_since_comes_in_before_it_is_written_over(run: Forklore, home: Path, trip: str) -> None:
    said_in_claude(run, home, trip, "Three nights in Porto?")

    ran = run(f"resume trip --in claude --folder '{home}' --print --json")

    assert run("log trip --oneline").out.count("Three nights in Porto?") == 1
    assert Path(json.loads(ran.out)["file"]).read_text().count("Three nights in Porto?") == 1


def test_where_both_went_on_what_was_said_in_the_program_is_a_fork(
    run: Forklore, home: Path, trip: str
) -> None:
    said_in_claude(run, home, trip, "Three nights in Porto?")
    run("say trip 'Four nights in Faro?'")

    run(f"resume {trip} --in claude --folder '{home}' --print")

    assert "Porto" not in run(f"log {trip} --oneline").out
    assert len(run("grep Porto --json").lines) == 1
    assert "Faro" in next((home / ".claude").rglob(f"{trip}.jsonl")).read_text()


def test_an_interruption_ends_the_program_and_not_what_waits_for_it(
    run: Forklore, home: Path, trip: str
) -> None:
    row = row_said(trip, "", "Stop.")
    said = f"f=$(echo \"$HOME\"/.claude/projects/*/{trip}.jsonl); echo '{row}' >> $f"
    variables = installed(home, "claude", f"{said}; kill -INT $PPID $$")

    ran = run(f"resume trip --in claude --folder '{home}'", variables)

    assert ran.code == 130
    assert "1 new message" in ran.err


def test_a_program_that_tells_no_id_of_what_it_has_taken_is_not_started(
    run: Forklore, home: Path, trip: str
) -> None:
    variables = installed(home, "goose", f'echo "no id"; touch "{home}/$2"')

    ran = run(f"resume trip --in goose --folder '{home}'", variables)

    assert ran.code == 2
    assert "goose session import has told no id of the session that it made: no id" in ran.err
    assert (home / "import").exists()
    assert not (home / "--resume").exists()


def test_a_program_that_keeps_the_id_of_what_it_takes_need_not_tell_it(
    run: Forklore, home: Path, trip: str
) -> None:
    ran = run(f"resume trip --in opencode --folder '{home}'", installed(home, "opencode", "true"))

    assert ran.code == 0, ran.err


HARBOUR = {
    "id": "harbour",
    "title": "Boats",
    "messages": [
        {"role": "user", "content": "How many boats?"},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "The pier.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
                {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Two."},
        {"role": "tool", "tool_call_id": "call_2", "content": "None."},
        {"role": "assistant", "content": "Two boats."},
    ],
}
SAID = "And at noon?"
AT = "2026-11-28T12:00:00.000Z"
NEW = "00000000-0000-4000-8000-000000000001"


def with_line(text: str, row: dict[str, object]) -> str:
    """Return a session in JSON Lines in which something was said."""
    return f"{text}{json.dumps(row)}\n"


def last_in(text: str, name: str) -> object:
    return [row[name] for row in map(json.loads, text.splitlines()) if name in row][-1]


def in_continue(text: str) -> str:
    """Return what `cn --fork` makes of a session: the same items in one of another id."""
    session = json.loads(text)
    items = [*session["history"], {"message": {"role": "user", "content": SAID}, "contextItems": []}]
    items = [{**one, "editorState": one["message"]["content"]} for one in items]
    return json.dumps({**session, "sessionId": NEW, "title": "Untitled Session", "history": items})


def in_goose(text: str) -> str:
    """Return a session as Goose exports it: under another id, with other times."""
    session = json.loads(text)
    said = {"id": f"msg_{NEW}", "role": "user", "created": 1, "content": [{"type": "text", "text": SAID}]}
    messages = [{**one, "created": 1} for one in [*session["conversation"], said]]
    return json.dumps({**session, "id": "20261128_1", "name": "CLI Session", "conversation": messages})


def in_opencode(text: str) -> str:
    """Return a session as opencode exports it."""
    session = json.loads(text)
    about = {"id": "msg_1", "sessionID": session["info"]["id"], "role": "user"}
    told = {"info": {**about, "time": {"created": 1_800_000_000_000}}}
    said = {"id": "prt_1", "sessionID": about["sessionID"], "messageID": "msg_1", "type": "text"}
    return json.dumps(
        {**session, "messages": [*session["messages"], {**told, "parts": [{**said, "text": SAID}]}]}
    )


GOES_ON: dict[str, Callable[[str], str]] = {
    "claude-code": lambda text: (
        text + row_said(str(last_in(text, "sessionId")), str(last_in(text, "uuid")), SAID) + "\n"
    ),
    "codex": lambda text: with_line(
        text,
        {
            "type": "response_item",
            "timestamp": AT,
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": SAID}],
            },
        },
    ),
    "continue": in_continue,
    "copilot-cli": lambda text: with_line(
        text,
        {
            "type": "user.message",
            "id": NEW,
            "timestamp": AT,
            "parentId": last_in(text, "id"),
            "data": {"content": SAID},
        },
    ),
    "gemini-cli": lambda text: with_line(
        text, {"id": NEW, "timestamp": AT, "type": "user", "content": [{"text": SAID}]}
    ),
    "goose": in_goose,
    "opencode": in_opencode,
    "pi": lambda text: with_line(
        text,
        {
            "type": "message",
            "id": "a1b2c3d4",
            "parentId": last_in(text, "id"),
            "timestamp": AT,
            "message": {"role": "user", "content": SAID, "timestamp": 1},
        },
    ),
    "qwen-code": lambda text: with_line(
        text,
        {
            **{name: last_in(text, name) for name in ("sessionId", "cwd", "version")},
            "uuid": NEW,
            "parentUuid": last_in(text, "uuid"),
            "timestamp": AT,
            "type": "user",
            "message": {"role": "user", "parts": [{"text": SAID}]},
        },
    ),
}


def in_llm(logs: Path) -> None:
    """Say something as llm does: a message of its own hash behind the thread's last one."""
    with closing(sqlite3.connect(logs)) as database, database:
        database.execute("INSERT INTO messages SELECT 'b2:1', tip_message_hash, 'user', NULL FROM threads")
        database.execute("UPDATE threads SET tip_message_hash = 'b2:1'")
        database.execute(
            "INSERT INTO parts (message_hash, position, type, text) VALUES ('b2:1', 0, 'text', ?)", [SAID]
        )


def in_openhands(state: Path) -> None:
    """Say something as OpenHands does: an event behind the last one."""
    events = sorted(state.parent.glob("events/*"))
    told = {"id": NEW, "timestamp": AT, "source": "user", "parent_id": events[-1].stem[12:]}
    message = {"llm_message": {"role": "user", "content": [{"type": "text", "text": SAID}]}}
    row = {**told, **message, "kind": "MessageEvent"}
    (state.parent / f"events/event-{len(events):05}-{NEW}.json").write_text(json.dumps(row))


GOES_ON_THERE = {"llm": in_llm, "openhands": in_openhands}


@pytest.mark.parametrize("program", [*GOES_ON, *GOES_ON_THERE])
def test_what_is_said_in_any_program_comes_back_behind_the_branch(
    run: Forklore, home: Path, logs: Path, tmp_path: Path, program: str
) -> None:
    with closing(sqlite3.connect(logs)) as database, database:
        for table in ("messages", "parts", "threads", "turns", "turn_search"):
            database.execute(f"DELETE FROM {table}")
    source = tmp_path / "harbour.json"
    source.write_text(json.dumps(HARBOUR))
    run(f"import '{source}'")
    [row] = [json.loads(line) for line in run("ls --json").lines]
    told = json.loads(run(f"resume {row['id']} --in {program} --folder '{home}' --print --json").out)
    written = Path(told["file"])
    back = tmp_path / "back"
    if program in GOES_ON_THERE:
        shutil.copytree(written.parent, back)
        GOES_ON_THERE[program](back / written.name)
    else:
        back.mkdir()
        (back / written.name).write_text(GOES_ON[program](written.read_text()))

    ran = run(f"collect --in '{back}' --program {program}")

    assert "1 session read, 1 new message\n" in ran.err
    [after] = [json.loads(line) for line in run("ls --json --all").lines]
    assert after["id"] == row["id"]
    said = [json.loads(line)["content"][0].get("text") for line in run(f"log {row['id']} --json").lines]
    assert said[:2] == [SAID, "Two boats."]
    assert len(said) == len(HARBOUR["messages"]) + 1
    assert "0 new messages" in run(f"collect --in '{back}' --program {program} --all").err


def test_the_branch_that_was_left_is_summed_up_again_in_pi(run: Forklore, home: Path, tmp_path: Path) -> None:
    rows: list[Any] = [
        {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": str(home)},
        *(
            {
                "type": "message",
                "id": f"0000000{at}",
                "parentId": above,
                "timestamp": AT,
                "message": {"role": "user", "content": f"Part {at}"},
            }
            for at, above in ((1, None), (2, "00000001"))
        ),
        {
            "type": "branch_summary",
            "id": "00000003",
            "parentId": "00000001",
            "timestamp": AT,
            "fromId": "00000002",
            "summary": "Two was tried.",
        },
    ]
    source = tmp_path / "pi.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(f"import '{source}'")
    shown = json.loads(run("ls --json").lines[0])["id"]

    told = json.loads(run(f"resume {shown} --in pi --folder '{home}' --print --json").out)

    [summary] = [
        row
        for row in map(json.loads, Path(told["file"]).read_text().splitlines())
        if row["type"] == "branch_summary"
    ]
    assert summary["summary"] == "Two was tried."
    assert not told["leftOut"]


def test_a_program_that_is_not_installed_is_told_with_how_to_get_it(
    run: Forklore, home: Path, trip: str
) -> None:
    ran = run(f"resume {trip} --in pi --folder '{home}'", {"PATH": str(home)})

    assert ran.code == 2
    assert "pi is not installed: npm install" in ran.err


def test_a_conversation_that_came_from_no_program_needs_one(run: Forklore, trip: str) -> None:
    assert "name one with --in" in run(f"resume {trip} --print").err


def test_a_program_that_takes_none_from_outside_is_told(run: Forklore, trip: str) -> None:
    ran = run(f"resume {trip} --in cline --print")

    assert ran.code == 2
    assert "these do: claude-code" in ran.err


def test_an_older_entry_is_gone_on_from_in_a_fork(run: Forklore, home: Path, trip: str) -> None:
    ran = run(f"resume trip --at -2 --in codex --folder '{home}' --print --json")
    told = json.loads(ran.out)

    text = Path(told["file"]).read_text()
    assert "Two nights in Lisbon?" in text
    assert "Casa do Jardim." not in text
    assert trip not in text


OWN = {
    "claude-code": (
        *("1e81f08c-890a-4df2-ac0e-6ac0acabc102", "31d5490f-1f10-438e-9045-74f46fe5ca83"),
        *("8f692a3e-591f-4577-8a72-bffcb46b965d", "d0ca51fa-4bc3-4c28-8494-097af0700bdf"),
    ),
    "codex": ("01a223aa-4306-7393-884c-f802ecac37ba", "01a223aa-9315-7db2-8e16-0936be205237"),
    "copilot-cli": ("345102ca-6e2b-40c3-b600-f3ec6548bfd0", "c8796b9b-b353-4cb8-82af-6e08a630ea37"),
}
"""The sessions with which a program itself goes on; of Codex not the part that was rewound."""


@pytest.mark.parametrize("program", OWN)
def test_a_session_that_has_not_changed_is_resumed_as_its_own(
    run: Forklore, home: Path, program: str
) -> None:
    shutil.copytree(PROGRAMS / "copilot", home / ".copilot")
    run(f"collect --program {program}")
    rows = [json.loads(line) for line in run("ls --all --json").lines]

    told = [json.loads(run(f"resume {row['id']} --folder '{home}' --print --json").out) for row in rows]

    commands = [one["commands"][-1][-1].removeprefix("--resume=") for one in told if one["isOwn"]]
    assert sorted(commands) == [*OWN[program]]
    assert all(Path(one["file"]).is_file() for one in told)


def test_what_stood_in_the_place_of_a_session_is_kept_aside(run: Forklore, home: Path, trip: str) -> None:
    command = f"resume trip --in claude --folder '{home}' --print --json"
    file = Path(json.loads(run(command).out)["file"])
    file.write_text(file.read_text() + '{"type":"custom-title","customTitle":"Mine"}\n')

    run(command)

    kept = [path.read_text() for path in (home / ".local/state/forklore").rglob(f"{trip}.*.jsonl")]
    assert len(kept) == 1
    assert "Mine" in kept[0]
    assert "Mine" not in file.read_text()


STEPS: list[dict[str, Any]] = [
    {"role": "user", "content": "step-1"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "step-2"}},
            {"type": "tool_result", "tool_use_id": "call_1", "content": "step-3"},
            {"type": "text", "text": "step-4"},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "step-5"},
            {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw"},
        ],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "call_2", "name": "look", "input": {"at": "step-6"}}],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "step-8"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "step-7"},
        ],
    },
]


@pytest.mark.parametrize("program", ["llm", "openhands"])
def test_a_result_follows_its_call_wherever_it_stands_in_an_entry(
    run: Forklore, home: Path, logs: Path, tmp_path: Path, program: str
) -> None:
    with closing(sqlite3.connect(logs)) as database, database:
        for table in ("messages", "parts", "threads", "turns", "turn_search"):
            database.execute(f"DELETE FROM {table}")
    source = tmp_path / "steps.json"
    source.write_text(json.dumps({"id": "steps", "messages": STEPS}))
    run(f"import '{source}'")
    [row] = [json.loads(line) for line in run("ls --json").lines]

    told = json.loads(run(f"resume {row['id']} --in {program} --folder '{home}' --print --json").out)

    written = Path(told["file"])
    if program == "llm":
        with closing(sqlite3.connect(written)) as database:
            texts = [str(one) for one in database.execute("SELECT text, payload FROM parts ORDER BY id")]
    else:
        texts = [one.read_text() for one in sorted(written.parent.glob("events/*"))]
    assert re.findall(r"step-\d", "".join(texts)) == [f"step-{at}" for at in range(1, 9)]
    assert told["leftOut"]["files"] == 1
    assert "UklGRg" not in "".join(texts)
    assert "0 new messages" in run(f"collect --program {program} --all").err


@pytest.mark.parametrize(
    ("program", "session", "is_first"),
    [
        ("claude-code", "d0ca51fa-4bc3-4c28-8494-097af0700bdf", True),  # summarised from a place on
        ("claude-code", "31d5490f-1f10-438e-9045-74f46fe5ca83", False),  # up to a place
        ("codex", "01a223aa-4306-7393-884c-f802ecac37ba", True),  # kept of an earlier part
    ],
)
def test_what_a_summary_has_kept_is_written_on_its_side(
    run: Forklore, home: Path, program: str, session: str, is_first: bool
) -> None:
    run(f"collect --program {program}")
    rows = [json.loads(line) for line in run(f"ls --all --tag session:{session} --json").lines]
    shown = next(row["id"] for row in rows if row["isCurrent"])

    told = json.loads(run(f"resume {shown} --in qwen --folder '{home}' --print --json").out)

    [history] = [
        row["systemPayload"]["compressedHistory"]
        for row in map(json.loads, Path(told["file"]).read_text().splitlines())
        if row["type"] == "system"
    ]
    texts = [one["parts"][0].get("text", "") for one in history]
    at = next(at for at, text in enumerate(texts) if "The harbour is twelve metres deep." in text)
    assert at == (len(texts) - 1 if is_first else 0)
    assert len(texts) > 1


def test_from_claude_code_to_codex_and_back_nothing_is_lost_and_nothing_is_twice(
    run: Forklore, home: Path
) -> None:
    shutil.rmtree(home / ".codex")
    run("collect --program claude-code")
    session = "8f692a3e-591f-4577-8a72-bffcb46b965d"
    [shown] = [
        row["id"]
        for row in map(json.loads, run(f"ls --all --tag session:{session} --json").lines)
        if row["isCurrent"]
    ]

    def said() -> list[Any]:
        return [json.loads(line)["content"] for line in run(f"log {shown} --reverse -n 1000 --json").lines]

    def goes_on(program: str) -> None:
        told = json.loads(run(f"resume {shown} --in {program} --folder '{home}' --print --json").out)
        file = Path(told["file"])
        file.write_text(GOES_ON[program](file.read_text()))
        assert "1 new message\n" in run(f"collect --program {program}").err

    before, count = said(), len(run("ls --all --json").lines)
    goes_on("codex")
    assert said()[:-1] == before
    assert run(f"resume {shown} --at -2 --in codex --folder '{home}' --print").code == 0
    goes_on("claude-code")

    *still, one, other = said()
    assert still == before
    assert [part[0]["text"] for part in (one, other)] == [SAID, SAID]
    assert len(run("ls --all --json").lines) == count + 1


@pytest.mark.parametrize(("program", "models"), [("codex", {None}), ("claude-code", {"claude-opus-5-5"})])
def test_claude_code_is_told_the_models_that_it_knows(
    run: Forklore, home: Path, program: str, models: set[str | None]
) -> None:
    run(f"collect --program {program}")
    shown = next(row["id"] for row in map(json.loads, run("ls --all --json").lines) if row["isCurrent"])
    run(f"say {shown} 'Go on.'")  # so it is no more as the program has it

    told = json.loads(run(f"resume {shown} --in claude-code --folder '{home}' --print --json").out)

    rows = map(json.loads, Path(told["file"]).read_text().splitlines())
    assert {row["message"].get("model") for row in rows if row["type"] == "assistant"} == models


def test_a_call_of_a_tool_keeps_its_space_in_codex(run: Forklore, home: Path) -> None:
    run("collect --program codex")
    rows = [json.loads(line) for line in run("ls --all --json").lines]
    shown = next(row["id"] for row in rows if row["isCurrent"])
    run(f"say {shown} 'Go on.'")  # so it is no more as the program has it

    told = json.loads(run(f"resume {shown} --folder '{home}' --print --json").out)

    items = [row["payload"] for row in map(json.loads, Path(told["file"]).read_text().splitlines())]
    calls = {(item.get("namespace"), item["name"]) for item in items if item.get("type") == "function_call"}
    assert ("multi_agent_v1", "spawn_agent") in calls
    assert (None, "exec_command") in calls


def test_a_thread_of_llm_goes_on_behind_its_own_messages_and_is_gone_when_llm_has_lost_it(
    run: Forklore, home: Path, logs: Path
) -> None:
    run("collect --program llm")
    [shown] = [row["id"] for row in map(json.loads, run("ls --all --json").lines) if row["isCurrent"]]
    command = f"resume {shown} --folder '{home}' --print --json"

    own = json.loads(run(command).out)
    run(f"say {shown} 'And at noon?'")
    told = json.loads(run(command).out)

    assert (own["isOwn"], told["isOwn"]) == (True, False)
    with closing(sqlite3.connect(logs)) as database:
        new = "SELECT count(*) FROM messages WHERE provider_metadata IS NOT NULL"
        assert database.execute(new).fetchone() == (1,)
        of_it = "SELECT count(*), max(model) FROM turns WHERE thread_id = ?"
        assert database.execute(of_it, [shown]).fetchone() == (7, "stand-in")
        with database:
            database.execute("DELETE FROM threads WHERE id = ?", [own["commands"][0][-1]])
    assert "0 new messages" in run("collect --program llm --all").err


def test_a_session_that_is_gone_from_its_database_is_written_anew(
    run: Forklore, home: Path, logs: Path
) -> None:
    run("collect --program llm")
    [shown] = [row["id"] for row in map(json.loads, run("ls --all --json").lines) if row["isCurrent"]]
    with closing(sqlite3.connect(logs)) as database, database:
        database.execute("DELETE FROM threads")

    assert not json.loads(run(f"resume {shown} --folder '{home}' --print --json").out)["isOwn"]


@pytest.mark.parametrize("made", [None, "CREATE TABLE log (id)"])
def test_a_database_that_takes_no_session_is_told(
    run: Forklore, home: Path, trip: str, made: str | None
) -> None:
    logs = home / ".config/io.datasette.llm/logs.db"
    logs.parent.mkdir(parents=True)
    if made:
        with closing(sqlite3.connect(logs)) as database:
            database.execute(made)

    ran = run(f"resume {trip} --in llm --folder '{home}' --print")

    assert ran.code == 2
    assert ("has no database" in ran.err) is (made is None)
    assert logs.exists() is bool(made)


def test_a_folder_of_a_session_is_written_whole_and_what_stood_there_is_kept_aside(
    run: Forklore, home: Path, trip: str
) -> None:
    command = f"resume trip --in openhands --folder '{home}' --print --json"
    state = Path(json.loads(run(command).out)["file"])
    in_openhands(state)

    run(command)
    run("say trip 'One more.'")
    run(command)

    assert run("log trip --oneline").out.count(SAID) == 1
    numbers = [one.name[6:11] for one in sorted(state.parent.glob("events/*"))]
    assert numbers == [f"{at:05}" for at in range(5)]
    assert len([*(home / ".local/state/forklore").rglob("base_state.json")]) == 2


def test_what_is_said_after_an_older_entry_comes_back_into_the_fork_that_resume_has_made(
    run: Forklore, home: Path, trip: str
) -> None:
    shutil.rmtree(home / ".claude")
    ran = run(f"resume trip --at -2 --in claude --folder '{home}' --print --json")
    fork = ran.err.rpartition("goes on in a fork: ")[2].split()[0]
    file = Path(json.loads(ran.out)["file"])
    file.write_text(GOES_ON["claude-code"](file.read_text()))

    run("collect --program claude-code")

    assert run(f"log {fork} --oneline").out.count(SAID) == 1
    assert len(run("ls --all --json").lines) == 2


def test_a_thread_of_llm_that_has_no_messages_of_its_own_comes_back_into_its_fork(
    run: Forklore, home: Path, logs: Path
) -> None:
    run("collect --program llm")
    [shown] = [row["id"] for row in map(json.loads, run("ls --all --json").lines) if row["isCurrent"]]
    ran = run(f"resume {shown} --at -3 --folder '{home}' --print --json")
    fork = ran.err.rpartition("goes on in a fork: ")[2].split()[0]
    with closing(sqlite3.connect(logs)) as database, database:
        new = "INSERT INTO messages SELECT 'b2:1', tip_message_hash, 'user', NULL FROM threads WHERE id = ?"
        database.execute(new, [fork])
        database.execute("UPDATE threads SET tip_message_hash = 'b2:1' WHERE id = ?", [fork])
        said = "INSERT INTO parts (message_hash, position, type, text) VALUES ('b2:1', 0, 'text', ?)"
        database.execute(said, [SAID])
    before = len(run("ls --all --json").lines)

    run("collect --program llm")

    assert run(f"log {fork} --oneline").out.count(SAID) == 1
    assert len(run("ls --all --json").lines) == before


@pytest.mark.parametrize(
    ("program", "told"),
    [("pi", r'"firstKeptEntryId":"([\w-]+)"'), ("opencode", r'"tail_start_id":"msg_(\w+)"'), ("copilot", "")],
)
def test_what_a_summary_has_kept_begins_where_it_does_or_is_told_to_be_left_out(
    run: Forklore, home: Path, program: str, told: str
) -> None:
    run("collect --program claude-code")
    session = "31d5490f-1f10-438e-9045-74f46fe5ca83"  # summarised up to a place: what follows it is kept
    rows = [json.loads(line) for line in run(f"ls --all --tag session:{session} --json").lines]
    shown = next(row["id"] for row in rows if row["isCurrent"])

    made = json.loads(run(f"resume {shown} --in {program} --folder '{home}' --print --json").out)

    entries = [json.loads(line) for line in run(f"log {shown} --reverse -n 1000 --json").lines]
    sources = [one["content"][0].get("source", {}) for one in entries]
    [kept] = [source["kept"] for source in sources if source.get("isSummary")]
    first = next(one for one in entries if one["key"] == kept[0])
    begins = re.findall(told, Path(made["file"]).read_text()) if told else []
    assert [one.replace("-", "") for one in begins] == [first["id"].replace("-", "")] * len(begins)
    assert bool(begins) is ("messages that a summary has kept" not in made["leftOut"])


def test_openhands_gets_no_empty_message_in_place_of_a_call_without_a_result() -> None:
    call = {"type": "tool_use", "id": "c", "name": "bash", "input": {}}
    asked: Part = {"type": "text", "text": "Look."}
    first, second, session = (f"01a223bb-6459-7{number:03}-8fab-c49cc746d100" for number in range(3))
    turns = [Turn(first, "user", "", [asked]), Turn(second, "assistant", "", [call])]
    talk = Talk(session, None, Path("/home/ann"), Path("/nowhere"), turns)

    events = [json.loads(one) for one in written(talk).beside.values()]

    assert [one["kind"] for one in events] == ["SystemPromptEvent", "MessageEvent"]
    assert talk.left_out == {"calls without a result": 1}

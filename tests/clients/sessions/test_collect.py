"""`forklore sessions` and `forklore collect`, on sessions that real programs wrote."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from forklore.cli.commands.collect import _followed
from forklore.client.errors import NoAnswerError
from forklore.importing.unpacking import zstd_module
from forklore.sessions.programs import NAMES, PROGRAMS
from tests.clients.cli.running import Forklore, Ran
from tests.clients.importing.formats.shapes import database_of
from tests.clients.importing.stores import rows as stored
from tests.clients.sessions.conftest import FIXTURES
from tools.harness.local_server import local_server


def brought(ran: Ran) -> dict[str, int]:
    """Return how many messages of each program a run has brought."""
    assert ran.code == 0, ran.err
    messages: dict[str, int] = json.loads(ran.out)["messages"]
    return {name: count for name, count in messages.items() if count}


def test_sessions_lists_what_programs_keep_and_writes_nothing(run: Forklore, home: Path) -> None:
    before = sorted(home.rglob("*"))

    rows = [json.loads(line) for line in run("sessions --json").lines]

    assert {row["program"] for row in rows} == {"claude-code", "codex"}
    assert all(row["messages"] and row["branches"] and row["title"] for row in rows)
    assert sorted(home.rglob("*")) == before
    assert not run("ls").lines


def test_sessions_shows_one_program_and_so_many_as_asked_for(run: Forklore) -> None:
    rows = [json.loads(line) for line in run("sessions --program codex -n 1 --json").lines]

    assert [row["program"] for row in rows] == ["codex"]


def test_a_program_that_there_is_not_is_refused_with_those_that_there_are(run: Forklore) -> None:
    ran = run("collect --program cursor")

    assert ran.code == 2
    assert "no program 'cursor'" in ran.err
    assert "claude-code" in ran.err


def test_where_no_program_keeps_anything_no_session_is_found(run: Forklore, home: Path) -> None:
    shutil.rmtree(home)

    ran = run("collect")

    assert (ran.code, ran.err) == (0, "no session was found\n")
    assert not home.exists()


def test_a_file_that_has_not_changed_is_not_read_again(run: Forklore, home: Path) -> None:
    first = brought(run("collect --json"))
    unchanged = run("collect")
    session = next((home / ".codex").rglob("rollout-*.jsonl"))
    session.touch()

    assert set(first) == {"claude-code", "codex"}
    assert "nothing has changed" in unchanged.err
    again = json.loads(run("collect --json").out)
    assert again["sessions"] == {"codex": 1}
    assert not brought(run("collect --all --json"))


@pytest.mark.parametrize("where", ["", "--in '{home}'"])
def test_a_file_that_may_not_be_read_is_told_and_comes_when_it_may(
    run: Forklore, home: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, opens = next((home / ".codex").rglob("rollout-*.jsonl")), Path.open

    def opened(path: Path, *given: Any, **more: Any) -> Any:  # a test that root runs may read all
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return opens(path, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", opened)
        ran = run(f"collect {where.format(home=home)}")
    assert ran.code == 1
    assert f"not brought: {closed}: Permission denied" in ran.err

    assert brought(run(f"collect --json {where.format(home=home)}")).keys() == {"codex"}


def test_what_a_program_adds_comes_with_the_next_run_and_a_half_written_line_later(
    run: Forklore, home: Path
) -> None:
    run("collect")
    session = max((home / ".claude").rglob("projects/*/*.jsonl"), key=lambda one: one.stat().st_size)
    rows = [json.loads(line) for line in session.read_text().splitlines()]
    last = next(row for row in reversed(rows) if row.get("type") == "assistant")
    new = {**last, "type": "user", "uuid": "0" * 8 + "-0000-4000-8000-000000000001"}
    new |= {"parentUuid": last["uuid"], "message": {"role": "user", "content": "And at noon?"}}
    line = json.dumps(new) + "\n"

    with session.open("a") as stream:
        stream.write(line[:40])
    assert not brought(run("collect --json"))
    with session.open("a") as stream:
        stream.write(line[40:])
    assert brought(run("collect --json")) == {"claude-code": 1}


def test_only_what_has_changed_since_is_collected(run: Forklore, home: Path) -> None:
    for path in home.rglob("*.*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    newest = next((home / ".codex").rglob("rollout-*.jsonl"))
    os.utime(newest)

    assert json.loads(run("collect --since 1h --json").out)["sessions"] == {"codex": 1}


def test_a_time_that_is_none_is_refused(run: Forklore) -> None:
    ran = run("collect --since yesterday")

    assert ran.code == 2
    assert "--since is a time" in ran.err


def test_sessions_are_found_in_any_folder_by_their_content(run: Forklore, home: Path) -> None:
    moved = home / "from another machine"
    (home / ".codex").rename(moved)

    rows = [json.loads(line) for line in run(f"sessions --in '{moved}' --json").lines]

    assert {row["program"] for row in rows} == {"codex"}


def test_a_watch_waits_for_a_service_that_is_away() -> None:
    said: list[str] = []
    runs = iter([NoAnswerError("there is no server"), NoAnswerError("none"), None, KeyboardInterrupt()])

    def once(*, quiet: bool) -> int:
        error = next(runs)
        if error is not None:
            raise error
        return 0

    assert _followed(once, said.append, wait_s=0) == 130
    assert said == ["there is no server; goes on when it answers"]


def test_a_server_that_has_forgotten_all_gets_it_again(run: Forklore, home: Path) -> None:
    state = home / ".local/state/forklore"
    with local_server() as url:
        Forklore(("--url", url, "--token", "ann"), run.variables)("collect")
        [first] = state.glob("collected-*.json")

    with local_server() as url:
        there = Forklore(("--url", url, "--token", "ann"), run.variables)
        brought(there("collect --json"))
        assert not json.loads(there("collect --json").out)["sessions"]
        [second] = {*state.glob("collected-*.json")} - {first}
        first.replace(second)  # as if the first server had been at this address
        assert set(json.loads(there("collect --json").out)["sessions"]) == {"claude-code", "codex"}


def test_another_store_gets_all_of_it(run: Forklore, home: Path) -> None:
    run("collect")
    other = Forklore(("--data", str(home / "other"), "--user", "ann"), run.variables)

    assert set(brought(other("collect --json"))) == {"claude-code", "codex"}
    assert "nothing has changed" in other("collect").err


def test_a_session_that_a_program_has_only_begun_is_no_failure(run: Forklore, home: Path) -> None:
    chats = home / ".gemini/tmp/harbour/chats"
    chats.mkdir(parents=True)
    head = {"sessionId": "0001", "projectHash": "f", "startTime": "2026-11-28T12:00:00.000Z", "kind": "main"}
    (chats / "session-2026-11-28T12-00-0001.jsonl").write_text(json.dumps(head) + "\n")

    ran = run("collect --program gemini")

    assert ran.code == 0
    assert "not brought" not in ran.err
    assert "not read" not in run("sessions --program gemini").err


def test_sessions_that_codex_has_packed_are_the_same_sessions(run: Forklore, home: Path) -> None:
    rollouts = [*(home / ".codex").rglob("rollout-*.jsonl")]
    pack = zstd_module().compress

    def pack_all() -> None:
        for path in rollouts:
            path.with_name(f"{path.name}.zst").write_bytes(pack(path.read_bytes()))
            path.unlink()

    trees = run("collect --program codex --json")
    pack_all()
    again = run("collect --program codex --json")
    listed = [json.loads(line) for line in run("sessions --program codex --json").lines]
    elsewhere = Forklore(("--data", str(home / "other"), "--user", "ann"), run.variables)
    in_folder = elsewhere(f"collect --in '{home / '.codex'}' --json")

    assert brought(trees) == brought(in_folder)
    assert not brought(again)
    assert len(listed) == len(rollouts)
    assert len(run("ls").lines) == len(elsewhere("ls").lines)


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini-cli", "pi", "qwen-code"])
def test_every_session_that_a_program_has_written_is_looked_for(program: str) -> None:
    folder = FIXTURES / program

    assert {*NAMES[program].files(folder)} == {*folder.rglob("*.jsonl")}


@pytest.mark.parametrize("program", ["claude-code", "gemini-cli", "qwen-code"])
def test_a_sub_agent_is_collected_as_a_child(run: Forklore, home: Path, program: str) -> None:
    place = home / NAMES[program].folder
    shutil.copytree(FIXTURES / program, place, dirs_exist_ok=True)

    run(f"collect --program {program}")

    children = [row for row in stored(run) if row.get("startedByConversationId")]
    assert [row["title"] for row in children] == ["Report the weather at the pier."]


PLACES = {"cline": "data", "goose": "sessions", "openhands": "conversations"}
"""Where in the program's folder its fixture stands, if not in its root."""


def test_the_sessions_of_every_program_are_collected(run: Forklore, home: Path) -> None:
    names = {one.name for one in FIXTURES.iterdir() if one.is_dir()}
    programs = [one for one in PROGRAMS if one.name.removesuffix("-cli") in names or one.name in names]
    for program in programs:
        name = program.name if program.name in names else program.name.removesuffix("-cli")
        place = home / program.folder / PLACES.get(program.name, "")
        shutil.copytree(FIXTURES / name, place, dirs_exist_ok=True)
        for script in place.glob("*.sql"):
            database_of(script, script.with_suffix(".db"))

    found = brought(run("collect --json"))

    assert found.keys() == {one.name for one in programs}
    assert min(found.values()) >= 7
    assert len(programs) == len(names)

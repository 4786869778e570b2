"""Random trees, cut over sessions with copies of what they share, come in as one tree.

They are written as each program does (`formats/writing.py`), and as `forklore resume` writes them,
over several folders, of which one may have a session as it was before. The folders come in any
order.
"""

import random
import re
import shlex
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from forklore.client.parts import Part
from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import Talk
from forklore.sessions.programs import PROGRAMS, Program
from tests.clients.cli.running import Forklore
from tests.clients.importing.formats.shapes import database_of
from tests.clients.importing.formats.writing import FORMATS, Said, talk, write_opencode
from tests.clients.importing.stores import Line, lines, trees

LOGS = Path(__file__).parent / "programs/llm/logs.sql"
FOLDERS = 3
WORDS = ("Yes.", "Go on.", "Why?", "[1] of 2", "<b>No</b>")
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def parents(chance: random.Random, size: int) -> list[int | None]:
    """Return a random tree, by the parent of each message: behind a question and its answer."""
    return [None, 0, *(chance.randint(max(1, at - 4), at - 1) for at in range(2, size))]


def path_to(end: int, above: Sequence[int | None]) -> list[int]:
    """Return the messages down to one."""
    way = [end]
    while (parent := above[way[-1]]) is not None:
        way.append(parent)
    return way[::-1]


def ends_of(above: Sequence[int | None]) -> list[int]:
    return [at for at in range(len(above)) if at not in above]


def placed(chance: random.Random, ends: Sequence[int]) -> list[tuple[int, int, bool]]:
    """Return the folder of each session, its end, and whether it is as it was before."""
    some = [(chance.randrange(FOLDERS), end, False) for end in ends]
    old = [(folder, end, True) for folder, end, _ in some if chance.random() < 0.5]
    return some + [((folder + 1) % FOLDERS, end, was) for folder, end, was in old]


def all_in(run: Forklore, folders: Sequence[Path], *options: str) -> list[list[Line]]:
    """Import folders, and return the lines of each branch of the one tree that they make.

    A branch stays that ends where a session ended, from which another one has gone on.
    """
    ran = run(f"import {' '.join([*options, *(shlex.quote(str(folder)) for folder in folders)])}")
    assert ran.code == 0, ran.err
    [branches] = trees(run)
    shown = sorted(lines(run, branch["id"]) for branch in branches)
    return [one for one in shown if not any(one == other[: len(one)] != other for other in shown)]


@pytest.mark.parametrize("name", FORMATS)
def test_a_tree_that_a_program_has_cut_is_one(run: Forklore, tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    said = talk(*parents(chance, 12))
    above = [one.parent for one in said]
    sessions: dict[Path, dict[str, list[Said]]] = {}
    for folder, end, is_old in placed(chance, ends_of(above)):
        way = path_to(end, above)
        way = way[: chance.randint(2, len(way))] if is_old and len(way) > 2 else way
        sessions.setdefault(tmp_path / str(folder), {})[f"{end:04}"] = [said[at] for at in way]
    for place, held in sessions.items():
        FORMATS[name].write(place, held)
    folders = [*sessions]
    chance.shuffle(folders)

    found = all_in(run, folders)

    assert found == sorted(
        [(said[at].by, said[at].text) for at in path_to(end, above)] for end in ends_of(above)
    )


def turns_of(chance: random.Random, size: int) -> tuple[list[Turn], list[int | None]]:
    """Return the messages of a random tree, and the parent of each. Siblings say different words.

    The results of a call follow it, and nothing else does.
    """
    above: list[int | None] = []
    turns: list[Turn] = []

    def put(role: str, parent: int | None, *parts: Part) -> int:
        at = len(turns)
        stamp = f"2026-11-28T10:{at // 60:02}:{at % 60:02}.000Z"
        named = f"01a223bb-6459-7{at:03}-8fab-c49cc746d100"
        turns.append(Turn(named, role, stamp, [*parts], source={"model": "m"}))
        above.append(parent)
        return at

    ends: list[int] = []
    while len(turns) < size:
        parent = chance.choice(ends[1:][-4:] or ends) if ends else None
        words = {"type": "text", "text": f"{chance.choice(WORDS)} {above.count(parent)}"}
        if parent is None or turns[parent].role == "assistant":
            ends.append(put("user", parent, words, *([IMAGE] if chance.random() < 0.3 else [])))
            continue
        thought = [THOUGHT] if chance.random() < 0.3 else []
        calls = calls_of(chance, len(turns))
        at = put("assistant", parent, *thought, words, *calls)
        ends.append(put("tool", at, *(result_of(chance, call) for call in calls)) if calls else at)
    return turns, above


def calls_of(chance: random.Random, at: int) -> list[Part]:
    count = chance.choice([0, 0, 1, 2])
    made: Iterator[Part] = (
        {"type": "tool_use", "id": f"call_{at}_{one}", "name": "look"} for one in range(count)
    )
    return [{**one, "input": {"at": at}} for one in made]


def result_of(chance: random.Random, call: Part) -> Part:
    failed = {"is_error": True} if chance.random() < 0.3 else {}
    told = {"tool_use_id": call["id"], "name": "look", "content": f"{call['id']} boats"}
    return {"type": "tool_result", **told, **failed}


def lines_told(turns: Sequence[Turn], left_out: set[str]) -> Iterator[Line]:
    """Yield what is there of messages in a program that leaves something out."""
    for turn in turns:
        for part in turn.parts:
            match part["type"]:
                case "text":
                    yield turn.role, part["text"]
                case "thinking" if "thoughts" not in left_out:
                    yield "thought", part["thinking"]
                case "tool_use":
                    yield "call", part["name"]
                case "tool_result":
                    yield "result", part["content"]
                case "image":
                    yield "image", ""


def write(program: Program, made: Talk, folder: Path) -> None:
    written = program.written(made)
    file = folder / written.name
    file.parent.mkdir(parents=True, exist_ok=True)
    if written.put is not None:
        if not file.exists():
            database_of(LOGS, file)
            with closing(sqlite3.connect(file)) as database, database:
                for table in ("messages", "parts", "threads", "turns", "turn_search", "attachments"):
                    database.execute(f"DELETE FROM {table}")
        with closing(sqlite3.connect(file)) as database, database:
            written.put(database)
        return
    for name, text in {file.name: written.text, **written.beside}.items():
        (file.parent / name).parent.mkdir(exist_ok=True)
        (file.parent / name).write_text(text)


def shape(found: Sequence[Line]) -> list[Line]:
    """Return lines without what a format tells otherwise: how results are held, names of files."""
    told = {"result": re.compile(r"call_[0-9_]+ boats"), "image": re.compile("")}
    return [(kind, told[kind].findall(words)[0] if kind in told else words) for kind, words in found]


@pytest.mark.parametrize("name", [one.name for one in PROGRAMS if one.writer])
def test_a_tree_that_resume_has_written_in_pieces_is_one(run: Forklore, tmp_path: Path, name: str) -> None:
    [program] = [one for one in PROGRAMS if one.name == name]
    chance = random.Random(name)
    turns, above = turns_of(chance, 16)
    left_out: set[str] = set()
    folders: set[Path] = set()
    for folder, end, is_old in placed(chance, ends_of(above)):
        way = path_to(end, above)
        cuts = [at for at in range(2, len(way)) if not turns[way[at - 1]].of("tool_use")]
        way = way[: chance.choice(cuts)] if is_old and cuts else way
        session = str(uuid.uuid5(uuid.NAMESPACE_OID, str(end)))
        made = Talk(session, None, Path("/home/ann"), Path("/nowhere"), [turns[at] for at in way])
        write(program, made, tmp_path / str(folder))
        folders.add(tmp_path / str(folder))
        left_out |= {what for what, count in made.left_out.items() if count}
    ordered = sorted(folders)
    chance.shuffle(ordered)

    found = all_in(run, ordered, "--format", name)

    paths = [[turns[at] for at in path_to(end, above)] for end in ends_of(above)]
    assert sorted(map(shape, found)) == sorted(shape([*lines_told(way, left_out)]) for way in paths)


@pytest.mark.parametrize("step", [1, -1])
def test_a_session_is_a_branch_whether_its_fork_comes_after_it_or_before_it(
    run: Forklore, tmp_path: Path, step: int
) -> None:
    said = talk(None, 0, 1, 2, 3, 4, 3)
    ways = {"0001": said[:4], "0002": said[:6]}
    for name, way in ways.items():
        FORMATS["qwen-code"].write(tmp_path / name, {name: way})
    for name in [*ways][::step]:
        run(f"import '{tmp_path / name}'")

    assert told_in(run) == [("0001", 4, False), ("0002", 6, True)]

    FORMATS["qwen-code"].write(tmp_path / "0001", {"0001": [*said[:4], said[6]]})
    run(f"import '{tmp_path / '0001'}'")
    assert [one[:2] for one in told_in(run)] == [("0001", 5), ("0002", 6)]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((), (6, 4), [(4, True), (6, False)]),
        (((6, None),), (6, 4), [(4, True), (6, False)]),
        (((6, 4),), (6, 4), [(4, True), (6, False)]),
        (((6, 4),), (7, None), [(5, True), (6, False)]),
        (((6, 4),), (6, 2), [(2, True), (4, False), (6, False)]),
        (((6, 4),), (6, None), [(4, False), (6, True)]),
        (((6, 4), (6, None)), (6, 4), [(4, True), (6, False)]),
    ],
)
def test_what_is_reverted_is_a_branch_beside_what_is_shown(
    run: Forklore,
    tmp_path: Path,
    before: Sequence[tuple[int, int | None]],
    now: tuple[int, int | None],
    expected: list[tuple[int, bool]],
) -> None:
    said = talk(None, 0, 1, 2, 3, 4, 3)
    for at, (size, reverted) in enumerate([*before, now]):
        held = said[:size] if size < 7 else [*said[:4], said[6]]  # going on takes away what is hidden
        write_opencode(tmp_path / str(at), {"0001": held}, said[reverted] if reverted else None)
        assert run(f"import '{tmp_path / str(at)}'").code == 0

    assert [one[1:] for one in told_in(run)] == expected


def told_in(run: Forklore) -> list[tuple[str, int, bool]]:
    """Return of each branch its session, how much it shows, and whether it is the current one."""
    [branches] = trees(run)
    return sorted((row["tags"]["session"], len(lines(run, row["id"])), row["isCurrent"]) for row in branches)

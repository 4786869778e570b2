"""Writes the table of `docs/sessions.md`: what is kept of each agent program's sessions, both ways.

What is read is what the readers find in the sessions that the real programs wrote (the fixtures in
`tests/clients/importing/programs`). What is written is what the writers do not leave out.
"""

import argparse
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from forklore.exporting.elsewhere import Turn
from forklore.exporting.programs.talks import Talk
from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport, MalformedFileError
from forklore.sessions.listing import files_in
from forklore.sessions.programs import PROGRAMS, Program

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sessions.md"
FIXTURES = ROOT / "tests" / "clients" / "importing" / "programs"
BEGIN, END = "<!-- table: python -m tools.session_table --write -->\n", "<!-- end -->"
KINDS = ("thoughts", "calls", "images", "branches", "summaries", "sub-agents", "tokens")
_AT = "2026-11-28T10:00:00.000Z"
_ID = "01a223bb-6459-75fc-bfab-c49cc746d1{:02x}"


def table() -> str:
    """Return the table, a row for each program."""
    rows = ["| program | kept of its sessions | `resume` writes all but |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as made:
        for program in PROGRAMS:
            found = _read(program, Path(made) / program.name)
            written = _left_out(program) if program.writer else "takes none"
            rows.append(f"| {program.title} (`{program.name}`) | {', '.join(found)} | {written} |")
    return "\n".join(rows) + "\n"


def _read(program: Program, folder: Path) -> list[str]:
    source = next((one for one in FIXTURES.iterdir() if program.name.startswith(one.name)), None)
    if source is None:
        return ["messages"]
    shutil.copytree(source, folder)
    (folder / "expected.json").unlink()
    for script in folder.rglob("*.sql"):
        with closing(sqlite3.connect(script.with_suffix(".db"))) as database:
            database.executescript(script.read_text(encoding="utf-8"))
    kinds: Counter[str] = Counter()
    for path in (folder, *(file.path for file in files_in(folder, [program]))):
        with suppress(MalformedFileError):  # a file may hold no conversation
            for tree in read_file(path, ImportReport(), given=program.name):
                if isinstance(tree, ForeignTree):
                    kinds.update(_kinds_in(tree))
    return ["messages", *(kind for kind in KINDS if kinds[kind])]


def _kinds_in(tree: ForeignTree) -> Iterator[str]:
    if tree.is_started or any(message.is_child for message in tree.messages):
        yield "sub-agents"
    if tree.origin is not None or sum(not one.replies for one in tree.messages if not one.is_child) > 1:
        yield "branches"
    for message in tree.messages:
        if message.is_summary:
            yield "summaries"
        if message.content.get("source", {}).get("usage"):
            yield "tokens"
        for event in message.content.get("events", ()):
            kind = str(event.get("type"))
            yield {"thinking": "thoughts", "tool_use": "calls"}.get(kind, "images" if "image" in kind else "")
        if message.content.get("attachments"):
            yield "images"


def _left_out(program: Program) -> str:
    """Return what the writer of a program says to leave out of a talk that has everything."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    call = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "pier"}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "name": "look", "content": "Two boats."}
    thought = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
    turns = [
        Turn(_ID.format(6), "user", _AT, [{"type": "text", "text": "Ahoy."}]),
        Turn(_ID.format(1), "user", _AT, [{"type": "text", "text": "Good morning."}]),
        Turn(
            _ID.format(2),
            "user",
            _AT,
            [{"type": "text", "text": "Hello."}],
            source={"isSummary": True},
            kept=[_ID.format(1)],
        ),
        Turn(_ID.format(3), "user", _AT, [{"type": "text", "text": "How many boats?"}, image]),
        Turn(_ID.format(4), "assistant", _AT, [thought, {"type": "text", "text": "I look."}, call]),
        Turn(_ID.format(5), "tool", _AT, [result]),
    ]
    talk = Talk(_ID.format(0), "Boats", Path("/harbour"), Path("/nowhere"), turns)
    program.written(talk)
    return ", ".join(what for what, count in talk.left_out.items() if count) or "nothing"


def main() -> int:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.session_table", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write it into {PAGE.relative_to(ROOT)}")
    if not parser.parse_args().write:
        print(table(), end="")
        return 0
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes a branch into the place where a program looks for its sessions.

A session that the program has written itself, and that has not changed here since, is not written:
the program goes on with its own.
"""

import os
import shlex
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forklore.client.generated.results import ConversationDetails, Entry
from forklore.exporting.bytes_within import Files
from forklore.exporting.elsewhere import turns_of
from forklore.exporting.programs.talks import NoPlaceError, Talk, Written, with_files
from forklore.importing.identity import own_ids_in
from forklore.sessions.finding import SessionFile
from forklore.sessions.programs import Program


@dataclass(frozen=True, slots=True)
class Ready:
    """A session that a program can go on with.

    file: what was written; for a session of the program's own, where that stands. is_own: nothing
    was written. commands: what starts the program, one after the other; `{session}` in one is what
    the command before it has printed. left_out: what the program cannot hold, and how often.
    """

    program: Program
    folder: Path
    file: Path
    commands: Sequence[Sequence[str]]
    is_own: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the commands as one types them."""
        return [f"cd {shlex.quote(str(self.folder))}", *(shlex.join(one) for one in self.commands)]


def tag_of(details: ConversationDetails, name: str) -> str:
    """Return the value of a tag, as `program` or `session`; empty for none."""
    return str((details.tags or {}).get(name) or "")


def folder_of(details: ConversationDetails) -> Path | None:
    """Return the folder that a session worked in, if it is known and still there."""
    source = _source_of(details)
    told = next((source[name] for name in _FOLDERS if isinstance(source.get(name), str)), "")
    folder = Path(told)
    return folder if told and folder.is_absolute() and folder.is_dir() else None


_FOLDERS = ("cwd", "project", "directory", "working_dir", "workspaceDirectory")


def files_of(details: ConversationDetails, files: Iterable[SessionFile]) -> list[SessionFile]:
    """Return the files in which a program may have gone on with a conversation.

    Those are the ones whose path has the conversation's id, or that of the session that it came
    from, or how such an id begins; and databases, which have the sessions of all.
    """
    named = filter(None, (details.id, tag_of(details, "session")))
    begins = [name[:_BEGINS] if own_ids_in(name) else name for name in named]
    return [one for one in files if _is_database(one.path) or any(begin in str(one.path) for begin in begins)]


_BEGINS = 8
"""So much of an id stands in the name of a file of Gemini CLI."""


def own_session(
    details: ConversationDetails, last_key: str | None, program: Program, files: Iterable[SessionFile]
) -> tuple[str, Path] | None:
    """Return the program's own session that a branch is, and its file, if it ends as it ends here.

    last_key: of the last entry of the history. Of the files of one session the newest is what the
    program goes on with.
    """
    if tag_of(details, "program") != program.name or last_key is None:
        return None
    held = [*files]
    ends = _source_of(details).get("sessions")
    for part, told in ends.items() if isinstance(ends, Mapping) else ():
        newest = max((one for one in held if _is_of(one.path, part)), key=_changed, default=None)
        if newest is None or not (isinstance(told, Mapping) and told.get("last") == last_key):
            continue
        named = tag_of(details, "session")
        session = named if named and named in newest.path.name else part
        if program.table and not _lists(newest.path, program.table, session):
            continue
        if not any(session in one.path.name and _changed(one) > _changed(newest) for one in held):
            return session, newest.path
    return None


def _lists(path: Path, table: str, session: str) -> bool:
    """Tell whether a database still has a session."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return database.execute(f'SELECT 1 FROM "{table}" WHERE id = ?', [session]).fetchone() is not None
    return False


def _changed(file: SessionFile) -> float:
    return file.changed


def _is_of(path: Path, part: str) -> bool:
    """Tell whether a file is that of a session, or of a part of one."""
    name = path.name.split(".", 1)[0]
    begin = part[:_BEGINS] if own_ids_in(part) else part
    short = name.startswith("session-") and name.endswith(f"-{begin}")
    folder = path.parent.name in (part, part.replace("-", ""))  # OpenHands writes an id without them
    return _is_database(path) or name.endswith(part) or folder or short


def _source_of(details: ConversationDetails) -> Mapping[str, Any]:
    source = (details.metadata or {}).get("source")
    return source if isinstance(source, Mapping) else {}


def _is_database(path: Path) -> bool:
    return path.suffix == ".db"


def resumed(program: Program, session: str, file: Path, folder: Path) -> Ready:
    """Return how a program goes on with a session of its own."""
    assert program.resumed is not None, program.name
    command = [part.format(session=session, file=file) for part in program.resumed]
    return Ready(program, folder, file, [command], is_own=True)


def write(
    program: Program,
    details: ConversationDetails,
    entries: Iterable[Entry],
    files: Files,
    *,
    home: Path,
    folder: Path,
    aside: Path,
) -> Ready:
    """Write what a branch shows as a session of the program, whole or not at all.

    files: gets the bytes of attachments. home: the program's folder. folder: of the project. aside:
    a folder for files that a command of the program reads, and for what stood in the session's
    place. Raises NoPlaceError.
    """
    left_out = Counter[str]()
    turns = [*with_files(turns_of(entries), files, left_out)]
    talk = Talk(details.id, details.title, folder, home, turns, left_out)
    made = program.written(talk)
    is_placed = len(made.commands) == 1
    file = (home if is_placed else aside) / made.name
    if made.put is not None:
        _put(file, made.put, program)
    elif made.beside:
        _replace_folder(file, made, aside)
    else:
        _replace_file(file, made.text, aside if is_placed else None)
    commands = [[_filled(part, file) for part in command] for command in made.commands]
    return Ready(program, folder, file, commands, left_out=+left_out)


def _put(file: Path, put: Callable[[sqlite3.Connection], None], program: Program) -> None:
    """Put a session into a program's database, in one transaction. Raises NoPlaceError."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as database, database:
            database.execute("BEGIN IMMEDIATE")
            put(database)
    except sqlite3.Error as error:
        raise NoPlaceError(f"{program.title} has no database that takes it, {file}: {error}") from error


def _replace_file(file: Path, text: str, aside: Path | None) -> None:
    """Write a file. aside: gets what stood there, if that says something else."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if aside and file.exists() and file.read_text(encoding="utf-8") != text:
        aside.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, aside / f"{file.stem}.{_now()}{file.suffix}")
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.touch(mode=0o600)
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _replace_folder(file: Path, made: Written, aside: Path) -> None:
    """Write the folder of a file with all that belongs to it. aside: gets what stood there."""
    folder = file.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o700)
    for name, text in {**made.beside, file.name: made.text}.items():
        (part / name).parent.mkdir(exist_ok=True)
        (part / name).write_text(text, encoding="utf-8")
    if folder.exists():
        aside.mkdir(parents=True, exist_ok=True)
        shutil.move(folder, aside / f"{folder.name}.{_now()}")
    part.replace(folder)


def _now() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"


def _filled(part: str, file: Path) -> str:
    return str(file) if part == "{file}" else part


def with_session(command: Sequence[str], session: str) -> list[str]:
    """Return a command with the session's id that the command before it has printed."""
    return [part.replace("{session}", session) for part in command]


def as_json(ready: Ready) -> dict[str, Any]:
    """Return what `--print --json` tells."""
    return {
        "program": ready.program.name,
        "folder": str(ready.folder),
        "file": str(ready.file),
        "commands": [list(one) for one in ready.commands],
        "isOwn": ready.is_own,
        "leftOut": dict(ready.left_out),
    }

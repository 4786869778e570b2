"""Finds the sessions of programs: in their usual places, or in a folder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport, MalformedFileError
from forklore.sessions.programs import PROGRAMS, Program
from forklore.sessions.seen import Look, look_at


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file with sessions. changed: when, in seconds since 1970."""

    program: Program
    path: Path
    look: Look

    @property
    def changed(self) -> float:
        return max((time for _, time in self.look), default=0) / 1e9


@dataclass(slots=True)
class Session:
    """A session, as `forklore sessions` lists it. last: when something was last said, RFC 3339."""

    program: str
    session: str
    project: str
    title: str
    messages: int
    branches: int
    last: str


def files_here(
    home: Path, environment: Mapping[str, str], programs: Iterable[Program] = PROGRAMS
) -> Iterator[SessionFile]:
    """Yield the files of sessions in the programs' usual places, the oldest of each first."""
    for program in programs:
        yield from _of(program, program.files(program.home(home, environment)))


def files_in(folder: Path, programs: Iterable[Program] = PROGRAMS) -> Iterator[SessionFile]:
    """Yield the files in a folder, at any depth, that stand there as a program keeps its sessions.

    The folder may be a home folder, that of a program, or a part of it.
    """
    root = folder.resolve()
    paths = [path for path in root.rglob("*") if path.is_file()]
    for program in programs:
        patterns = [f"{program.folder}/{pattern}".split("/") for pattern in program.sessions]
        yield from _of(program, (path for path in paths if _stands(path, root, patterns)))


def _stands(path: Path, root: Path, patterns: Iterable[list[str]]) -> bool:
    """Tell whether a file's path ends as a pattern does, as far as the root's own path allows."""
    below = len(path.relative_to(root).parts)
    for pattern in patterns:
        size = min(len(pattern), max(below, _SURE))
        ends = path.parts[-size:]
        if len(ends) == size and all(map(fnmatchcase, ends, pattern[-size:])):
            return True
    return False


_SURE = 3
"""So many of the last parts of a path must be as in the program's folder."""


def _of(program: Program, paths: Iterable[Path]) -> Iterator[SessionFile]:
    found = (SessionFile(program, path, look_at(program.parts_of(path))) for path in paths)
    yield from sorted(found, key=lambda one: (one.changed, str(one.path)))


@dataclass(slots=True)
class Listing:
    """What a list of sessions has found. unread: files that could not be read, and why."""

    unread: list[str] = field(default_factory=list)

    def sessions(self, file: SessionFile) -> Iterator[Session]:
        """Yield the sessions of a file."""
        try:
            for tree in read_file(file.path, ImportReport(), given=file.program.name):
                if isinstance(tree, ForeignTree):
                    yield _session(file, tree)
        except (MalformedFileError, OSError) as error:
            self.unread.append(f"{file.path}: {error}")


def _session(file: SessionFile, tree: ForeignTree) -> Session:
    own = [message for message in tree.messages if not message.is_child]
    leaves = sum(1 for message in own if not message.replies)
    last = max((message.said_at or "" for message in tree.messages), default="")
    project = Path(getattr(tree, "project", "")).name
    title = tree.title or next((_words(one.content) for one in own if one.role == "USER"), "")
    return Session(file.program.name, tree.tree_id, project, title, len(own), leaves, last)


def _words(content: Mapping[str, object]) -> str:
    return " ".join(str(content.get("text", "")).split())[:60]

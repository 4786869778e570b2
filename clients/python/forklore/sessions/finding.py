"""Finds the files of sessions in the programs' usual places. Nothing of them is read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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


def files_here(
    home: Path, environment: Mapping[str, str], programs: Iterable[Program] = PROGRAMS
) -> Iterator[SessionFile]:
    """Yield the files of sessions in the programs' usual places, the oldest of each first."""
    for program in programs:
        yield from with_looks(program, program.files(program.home(home, environment)))


def with_looks(program: Program, paths: Iterable[Path]) -> Iterator[SessionFile]:
    """Yield files of a program with how they are now, the oldest first."""
    found = (SessionFile(program, path, look_at(program.parts_of(path))) for path in paths)
    yield from sorted(found, key=lambda one: (one.changed, str(one.path)))

"""What the check knows of a program, and how its stores become fixtures."""

import json
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tools.programs.stand_in import SUMMARY, Script
from tools.programs.story import Line, Story, Turn
from tools.programs.world import Terminal, World

Raw = dict[str, Any]
HOME = "/home/ann"
LONGEST = 300


@dataclass
class Told:
    """What a person said and saw. trees: of each, its branches by a name, the current one first.
    children: by what a sub-agent was asked, its lines."""

    trees: Sequence[Mapping[str, Sequence[Line]]] = field(default_factory=list)
    children: dict[str, Sequence[Line]] = field(default_factory=dict)
    title: str | None = None
    notes: list[str] = field(default_factory=list)


class Program(ABC):
    """A program: how to install, set up and drive it, and where its sessions stand.

    name: of its fixtures' folder, too. packages: what `installer` installs, with the version.
    command: its start, in the folder of its packages.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    installer: ClassVar[str] = "npm"
    command: ClassVar[str]
    newer_node: ClassVar[bool] = False
    python: ClassVar[tuple[int, int]] = (3, 11)
    variables: ClassVar[Mapping[str, str]] = {}
    """Its environment. `{url}` is the stand-in, `{home}` the home folder."""
    story: ClassVar[Story]
    store: ClassVar[str]
    """Where its sessions stand in the home folder: how the names of the files there begin."""
    resumes: ClassVar[bool] = True
    """Whether forklore can write a session for it."""
    keeps_images: ClassVar[bool] = True
    """Whether what it keeps beside a summary has its images; forklore writes them."""
    joins_texts: ClassVar[bool] = False
    """Whether what a user says twice without an answer between is sent as one text."""
    own_texts: ClassVar[Sequence[str]] = ()
    """Patterns of whole texts that the program sends beside what was said."""

    @property
    def known_as(self) -> str:
        """Return the name that forklore has for it."""
        return self.name

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        """Return what says something in a session without a terminal.

        command: what opens it in one, without the program's name.
        """
        return [*command, "-p", said]

    def id_in(self, printed: str) -> str:  # noqa: ARG002
        """Return the id of the session from what the program's import of it printed."""
        return ""

    @abstractmethod
    def script(self) -> Script:
        """Return what the model says."""

    @abstractmethod
    def set_up(self, world: World) -> None:
        """Write the settings of the program."""

    def typed(self, turn: Turn) -> str:
        """Return what a person types in the terminal to say something."""
        return turn.said

    def say(self, world: World, terminal: Terminal, turn: Turn) -> None:
        """Say something in the terminal; wait until the answer is kept, or a slow one has begun."""
        earlier = len(world.stand_in.requests)
        terminal.type(self.typed(turn), lambda: world.stand_in.was_asked(turn.said, earlier))
        last = turn.steps[-1]
        terminal.wait_for(f"{last.text} 3" if last.slow else last.text)
        if not last.slow:
            world.wait_for_stored(self.store, last.text)

    @abstractmethod
    def talk(self, world: World) -> Told:
        """Let the program write sessions, and return what a person said and saw."""

    def emptied(self, world: World) -> None:  # noqa: B027 - most need nothing
        """Make what the program needs to take a session where all of its own are gone."""

    def tidy(self, world: World) -> bool:  # noqa: ARG002
        """Let the program tidy up what it keeps, and tell whether it has done so."""
        return False

    @abstractmethod
    def cut(self, world: World, fixtures: Path) -> None:
        """Write the smallest store with the same talk."""

    def start(self, world: World) -> str:
        """Return the command that starts the program."""
        return str(world.installed / self.command)


class Cutting:
    """Makes what a program wrote small and neutral: no folder of this machine, no long text."""

    def __init__(self, world: World, more: Iterable[tuple[str, str]] = ()) -> None:
        here = world.folder
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(here / "harbour"))
        self._names = [
            *more,
            (f"--{str(world.project).strip('/').replace('/', '-')}--", "--home-ann-harbour--"),
            (str(world.project), f"{HOME}/harbour"),
            (str(world.home), HOME),
            (str(here), HOME),
            (slug, "-home-ann-harbour"),
            (world.stand_in.url, "http://127.0.0.1:1"),
        ]

    def text(self, text: str) -> str:
        """Return a text without names of this machine."""
        for name, neutral in self._names:
            text = text.replace(name, neutral)
        return text

    def value(self, value: Any, *, dropped: Iterable[str] = ()) -> Any:
        """Return a JSON value without long texts, or members of these names at any depth."""
        if isinstance(value, Mapping):
            kept = {name: one for name, one in value.items() if name not in dropped}
            return {name: self.value(one, dropped=dropped) for name, one in kept.items()}
        if isinstance(value, list):
            return [self.value(one, dropped=dropped) for one in value]
        if isinstance(value, str):
            text = self.text(value)
            if len(text) <= LONGEST or _is_base64(text):
                return text
            return f"{text[:80]} (cut)" + (f"\n{SUMMARY}" if SUMMARY in text else "")
        return value

    def lines(
        self, source: Path, target: Path, keep: Callable[[Raw], Raw | None], dropped: Iterable[str] = ()
    ) -> None:
        """Write JSON Lines anew. keep: returns what is kept of a row, or None."""
        rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines() if line]
        kept = [self.value(row, dropped=dropped) for row in map(keep, rows) if row]
        target.parent.mkdir(parents=True, exist_ok=True)
        told = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        target.write_text(told, encoding="utf-8")

    def json(self, source: Path, target: Path, dropped: Iterable[str] = ()) -> None:
        """Write a JSON file anew."""
        value = self.value(json.loads(source.read_text(encoding="utf-8")), dropped=dropped)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def database(
        self, source: Path, target: Path, tables: Sequence[str], dropped: Iterable[str] = ()
    ) -> None:
        """Write some tables of a SQLite database as SQL: how they are made, and their rows."""
        target.parent.mkdir(parents=True, exist_ok=True)
        told = []
        with closing(sqlite3.connect(source)) as database:
            for table in tables:
                [made] = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()
                told.append(f"{made};")
                rows = database.execute(f'SELECT * FROM "{table}" ORDER BY rowid').fetchall()
                for row in rows:
                    values = ", ".join(_as_sql(self._cell(cell, dropped)) for cell in row)
                    told.append(f'INSERT INTO "{table}" VALUES ({values});')
        target.write_text("\n".join(told) + "\n", encoding="utf-8")

    def _cell(self, cell: Any, dropped: Iterable[str]) -> Any:
        if isinstance(cell, str) and cell[:1] in ("{", "["):
            try:
                value = json.loads(cell)
            except ValueError:
                return self.value(cell)
            return json.dumps(self.value(value, dropped=dropped), ensure_ascii=False)
        return self.value(cell)


def _is_base64(text: str) -> bool:
    return len(text) < 4000 and re.search(r"iVBORw0KGgo", text) is not None


def _as_sql(cell: Any) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"X'{cell.hex()}'"
    return str(cell) if isinstance(cell, int | float) else "'" + str(cell).replace("'", "''") + "'"

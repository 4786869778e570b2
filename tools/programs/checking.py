"""The steps of the check with forklore: what it reads, what a program resumes, what comes back."""

import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from forklore import Forklore
from tools.programs.comparing import are_same, children_of, differences, trees_of
from tools.programs.program import Program, Told
from tools.programs.stand_in import SUMMARY, Part
from tools.programs.story import Line
from tools.programs.world import ProgramError, World

USER = "ann"
_OF_THE_PROGRAM = re.compile(r"<([\w-]+)[^>]*>.*?</\1>", re.DOTALL)


class Check:
    """A program's sessions in a forklore of their own. told: what a person said and saw."""

    def __init__(self, program: Program, world: World, told: Told) -> None:
        self._program = program
        self._world = world
        self._told = told
        self._data = world.folder / "forklore"

    def run(self) -> Iterator[str]:
        """Read, resume, and read again; yield what is not as it was told."""
        self.forklore("collect")
        with self.opened() as forklore:
            trees = trees_of(forklore)
            yield from differences(self._told, trees, children_of(forklore, trees))
        for tree in self._told.trees:
            name, lines = next(iter(tree.items()))
            same = [branch for one in trees for branch, read in one.items() if are_same(lines, read)]
            for branch in same[:1]:
                yield from (f"{name}, resumed: {line}" for line in self.resume(branch, lines, len(trees)))

    def resume(self, branch: str, lines: Sequence[Line], trees: int) -> Iterator[str]:
        """Go on with a branch in the program; yield what was not sent, or did not come back."""
        world, said = self._world, self._program.story.light
        printed = self.forklore("resume", branch, "--print", "--in", self._program.known_as)
        session = ""
        _, *before, last = [shlex.split(line) for line in printed.splitlines() if line.strip()]
        for command in before:
            printed = world.run(self._program.start(world), *command[1:])
            session = self._program.id_in(printed)
        command = [part.replace("{session}", session) for part in last[1:]]
        count = len(world.stand_in.requests)
        world.run(self._program.start(world), *self._program.goes_on(world, command, said.said))
        asked = [one for one in world.stand_in.requests[count:] if _has(one.parts, said.said)]
        world.stop_all()
        if not asked:
            yield "nothing was sent"
            return
        sent = list(self.sent(asked[0].parts))
        expected = [*self.remembered(lines), *said.lines()[:1]]
        if not are_same(expected, sent):
            yield f"sent: {_first_difference(expected, sent)}"
        self.forklore("collect")
        with self.opened() as forklore:
            again = trees_of(forklore)
            after = [*lines, *said.lines(thoughts=self._program.keeps_thoughts)]
            if len(again) != trees:
                yield f"{len(again)} trees after it, {trees} before"
            if not any(are_same(after, read) for one in again for read in one.values()):
                yield "what was said there did not come back behind the branch"

    def remembered(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Yield what a model is sent of a branch: from the last summary on."""
        starts = [at for at, line in enumerate(lines) if line[0] == "summary"]
        for line in lines[starts[-1] :] if starts else lines:
            if line[0] != "thought" or self._program.sends_thoughts:
                yield line

    def sent(self, parts: Sequence[Part]) -> Iterator[Line]:
        """Yield what was sent, without what the program says itself."""
        for part in parts:
            if part.role == "system":
                continue
            if part.kind != "text":
                yield part.kind, part.name if part.kind == "call" else part.text
            elif SUMMARY in part.text:
                yield "summary", part.text
            else:
                text = _OF_THE_PROGRAM.sub("", part.text).strip().removeprefix('"').removesuffix('"')
                if text and not any(re.fullmatch(own, text, re.DOTALL) for own in self._program.own_texts):
                    yield part.role, text

    def forklore(self, *arguments: str) -> str:
        """Run a command of forklore as the user of the program would, and return what it printed.

        Raises ProgramError if it fails.
        """
        command = [str(Path(sys.executable).parent / "forklore"), "--data", str(self._data), "--user", USER]
        told = subprocess.run(
            [*command, *arguments],
            cwd=self._world.project,
            env=self._world.all_variables(FORKLORE_DEBUG="1"),
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode:
            raise ProgramError(f"forklore {' '.join(arguments)}: {told.stdout}{told.stderr}")
        return told.stdout

    @contextlib.contextmanager
    def opened(self) -> Iterator[Forklore]:
        """Open the forklore of the check."""
        with Forklore.local(user=USER, data=str(self._data)) as forklore:
            yield forklore


def _has(parts: Sequence[Part], text: str) -> bool:
    return any(part.kind == "text" and text in part.text for part in parts)


def _first_difference(told: Sequence[Line], sent: Sequence[Line]) -> str:
    for at, (one, other) in enumerate(zip(told, sent, strict=False)):
        if not are_same([one], [other]):
            return f"{other} in place of {one}, at {at} of {len(told)}"
    return f"{len(sent)} parts in place of {len(told)}, the last {sent[-1:]}"

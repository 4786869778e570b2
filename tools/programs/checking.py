"""The steps of the check with forklore: what it reads, what a program resumes, what comes back."""

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from forklore import Forklore
from tools.programs.comparing import are_same, children_of, differences, trees_of
from tools.programs.program import Program, Told
from tools.programs.stand_in import SUMMARY, Part
from tools.programs.story import Line, Turn
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
        """Read, resume, and read again; yield what is not as it was told.

        The program goes on with a session of its own first, and then with one that forklore writes,
        as its own are gone.
        """
        yield from self.collect()
        with self.opened() as forklore:
            trees = trees_of(forklore)
            yield from differences(self._told, trees, children_of(forklore, trees))
        if not self._program.resumes:
            return
        for tree in self._told.trees:
            name, lines = next(iter(tree.items()))
            own = self.resume(lines, self._program.story.light, is_own=True)
            yield from (f"{name}, its own: {line}" for line in own)
        self.forget()
        for tree in self._told.trees:
            name, lines = next(iter(tree.items()))
            lines = [*lines, *self._program.story.light.lines()]
            written = self.resume(lines, self._program.story.moon, is_own=False)
            yield from (f"{name}, written: {line}" for line in written)
        if self._program.tidy(self._world):
            yield from self.read_anew()

    def read_anew(self) -> Iterator[str]:
        """Collect into another store; yield which branches are not there as before."""
        with self.opened() as forklore:
            before = [read for one in trees_of(forklore) for read in one.values()]
        self._data = self._world.folder / "forklore anew"
        yield from self.collect()
        with self.opened() as forklore:
            anew = [read for one in trees_of(forklore) for read in one.values()]
        if not anew or not all(any(are_same(one, other) for other in before) for one in anew):
            yield "what was tidied up is read otherwise"

    def resume(self, lines: Sequence[Line], said: Turn, *, is_own: bool) -> Iterator[str]:
        """Go on with a branch in the program; yield what was not sent, or did not come back.

        is_own: the program's own session, in which it may repeat what it has written twice.
        """
        world, program = self._world, self._program
        with self.opened() as forklore:
            trees = trees_of(forklore)
        same = [branch for one in trees for branch, read in one.items() if are_same(lines, read)]
        if not same:
            yield "it is not there"
            return
        printed = self.forklore("resume", same[0], "--print", "--in", program.known_as)
        session = ""
        _, *before, last = [shlex.split(line) for line in printed.splitlines() if line.strip()]
        for command in before:
            session = program.id_in(world.run(program.start(world), *command[1:]))
        command = [part.replace("{session}", session) for part in last[1:]]
        asked = _last_user(lines)
        answered = lines[lines.index(("user", asked)) + 1 :]
        rest = [*(one for one in answered if _is_whole(one)), *said.lines()[:1]]
        expected = [[*self.sent(_results_once(one)), *rest] for one in self.requests_of(asked)]
        earlier = len(world.stand_in.requests)
        world.run(program.start(world), *program.goes_on(world, command, said.said))
        world.stop_all()
        if requests := self.requests_of(said.said, earlier):
            sent = list(self.sent(_results_once(requests[0]) if is_own else requests[0]))
            if not self._program.keeps_images:
                expected, sent = [_without_images(one) for one in expected], _without_images(sent)
            if self._program.joins_texts:
                expected, sent = [_joined(one) for one in expected], _joined(sent)
            if not any(are_same(one, sent) for one in expected):  # several branches may ask the same
                nearest = max(expected, key=lambda one: _agreeing(one, sent))
                yield f"sent: {_first_difference(nearest, sent)}"
        else:
            yield "nothing was sent"
        yield from self.collect()
        with self.opened() as forklore:
            again = trees_of(forklore)
        if len(again) != len(trees):
            yield f"{len(again)} trees after it, {len(trees)} before"
        if not any(are_same([*lines, *said.lines()], read) for one in again for read in one.values()):
            yield "what was said there did not come back behind the branch"

    def requests_of(self, said: str, since: int = 0) -> list[Sequence[Part]]:
        """Return the requests that ask for an answer to this, oldest first. since: not before."""
        found: list[Sequence[Part]] = []
        for one in self._world.stand_in.requests[since:]:
            texts = [part.text for part in one.parts if (part.role, part.kind) == ("user", "text")]
            if said in "\n".join(texts[-2:]):
                found.append(one.parts)
        return found

    def forget(self) -> None:
        """Take the program's own sessions away."""
        for path in self._world.home.glob(f"{self._program.store}*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._program.emptied(self._world)

    def sent(self, parts: Sequence[Part]) -> Iterator[Line]:
        """Yield what was sent, without what the program says itself."""
        for part in parts:
            if part.role == "system":
                continue
            if not _is_whole((part.role, part.text)):
                continue
            if part.kind != "text":
                yield part.kind, part.name if part.kind == "call" else part.text
            elif SUMMARY in part.text:
                yield "summary", SUMMARY
                if self._program.joins_texts:  # it sends what the user says next in the same text
                    yield from self._said(part.role, part.text.partition(SUMMARY)[2])
            else:
                yield from self._said(part.role, part.text)

    def _said(self, role: str, text: str) -> Iterator[Line]:
        """Yield a text, if it is not the program's own."""
        said = _OF_THE_PROGRAM.sub("", text).strip().removeprefix('"').removesuffix('"')
        if said and not any(re.fullmatch(own, said, re.DOTALL) for own in self._program.own_texts):
            yield role, said

    def collect(self) -> Iterator[str]:
        """Bring in what is new; yield what forklore says if it could not."""
        try:
            self.forklore("collect")
        except ProgramError as error:
            yield " ".join(str(error).split())

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


def _is_whole(line: Line) -> bool:
    """Tell whether an answer was not interrupted: then not every program sends it again."""
    return line[0] != "interrupted" and not line[1].startswith("Once 0 ")


def _results_once(parts: Sequence[Part]) -> list[Part]:
    """Return parts with one result for each call.

    Gemini CLI sends a result once more for each time that its session was resumed or rewound.
    """
    last = {part.call_id: at for at, part in enumerate(parts) if part.kind == "result"}
    return [part for at, part in enumerate(parts) if part.kind != "result" or last[part.call_id] == at]


def _without_images(lines: Sequence[Line]) -> list[Line]:
    """Return lines without the images that stand before a summary."""
    summary = next((at for at, line in enumerate(lines) if line[0] == "summary"), 0)
    return [line for at, line in enumerate(lines) if at >= summary or line[0] != "image"]


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Return lines in which what a user says twice is one text, in however many lines it stands."""
    found: list[Line] = []
    for what, words in lines:
        if what == "user" and found and found[-1][0] == "user":
            found[-1] = (what, f"{found[-1][1]}\n{words}")
        else:
            found.append((what, words))
    return [(what, re.sub(r"\s*\n\s*", "\n", words)) for what, words in found]


def _last_user(lines: Sequence[Line]) -> str:
    return next(words for what, words in reversed(lines) if what == "user")


def _agreeing(told: Sequence[Line], sent: Sequence[Line]) -> int:
    return sum(are_same([one], [other]) for one, other in zip(told, sent, strict=False))


def _first_difference(told: Sequence[Line], sent: Sequence[Line]) -> str:
    for at, (one, other) in enumerate(zip(told, sent, strict=False)):
        if not are_same([one], [other]):
            return f"{other} in place of {one}, at {at} of {len(told)}"
    return f"{len(sent)} parts in place of {len(told)}, the last {sent[-1:]}"

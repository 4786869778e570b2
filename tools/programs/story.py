"""The talk that each program has in the check: what a person says, and what the model answers.

One talk is the script of the stand-in and what a reader has to find, so they cannot differ.
"""

import base64
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tools.programs.stand_in import SUMMARY, Call, Script, Step

Line = tuple[str, str]
"""Who or what, and the words: user, assistant, thought, call (its tool), result (some of its
words), image (its name), summary, interrupted (the words begin so)."""


@dataclass(frozen=True)
class Turn:
    """What a person says, and the answers of the model. results: some words of each call's result.
    image: the name of a picture that is sent along."""

    said: str
    steps: Sequence[Step]
    results: Sequence[str] = ()
    image: str | None = None

    def lines(self, *, thoughts: bool = True) -> list[Line]:
        """Return what is there after the turn. thoughts: whether the program keeps them."""
        told: list[Line] = [("user", self.said)]
        if self.image:
            told.append(("image", self.image))
        results = iter(self.results)
        for step in self.steps:
            if step.thought and thoughts:
                told.append(("thought", step.thought))
            if step.text:
                told.append(("interrupted" if step.slow else "assistant", step.text))
            told += [("call", call.name) for call in step.calls]
            told += [("result", next(results)) for _ in step.calls]
        return told


def lines_of(*turns: Turn, thoughts: bool = True) -> list[Line]:
    """Return the lines of some turns, one after the other."""
    return [line for turn in turns for line in turn.lines(thoughts=thoughts)]


SUMMARISED: Line = ("summary", SUMMARY)


@dataclass(frozen=True)
class Story:
    """The turns, with the tools of one program.

    shell: calls the tool that runs a command. agent: calls the one that starts an agent with these
    words, and then what waits for it, if that is another. report: calls what an agent has to call
    at its end.
    """

    shell: Callable[[str], Call]
    agent: Callable[[str], Sequence[Call]] | None = None
    report: Callable[[str], Call] | None = None
    depth: Turn = field(init=False)
    count: Turn = field(init=False)
    weigh: Turn = field(init=False)
    picture: Turn = field(init=False)
    sell: Turn = field(init=False)
    paint: Turn = field(init=False)
    colour: Turn = field(init=False)
    tide: Turn = field(init=False)
    long: Turn = field(init=False)
    helper: Turn | None = field(init=False, default=None)
    weather: Turn = field(init=False)
    light: Turn = field(init=False)
    moon: Turn = field(init=False)
    waves: Turn = field(init=False)

    def __post_init__(self) -> None:
        shell = self.shell
        looked = Step("I look.", calls=[shell("cat boats.txt")])
        weighed = Step(thought="Two scales.", calls=[shell("echo 4 tons"), shell("cat missing.txt")])
        turns = {
            "depth": Turn(
                "How deep is the harbour?",
                [Step("Twelve metres at low tide.", "The chart says twelve metres.")],
            ),
            "count": Turn("Count the boats in boats.txt.", [looked, Step("Three boats.")], ["Cleo"]),
            "weigh": Turn("Weigh Ada and Bea.", [weighed, Step("Ada has 4 tons.")], ["4 tons", "missing"]),
            "picture": Turn("What is in this picture?", [Step("A red square.")], image="square.png"),
            "sell": Turn("Sell the boats.", [Step("All are sold.")]),
            "paint": Turn("Paint the boats.", [Step("All are blue.")]),
            "colour": Turn("What colour are they?", [Step("Blue.")]),
            "tide": Turn("When does the tide turn?", [Step("At six.")]),
            "long": Turn("Tell a long story.", [Step("Once", slow=True)]),
            "weather": Turn(
                "Report the weather at the pier.",
                [
                    Step("Looking.", calls=[shell("echo windy")]),
                    Step("It is windy.", calls=[self.report("It is windy.")] if self.report else []),
                ],
                ["windy", ""],
            ),
            "light": Turn("Where is the light?", [Step("On the rock.")]),
            "moon": Turn("Is there a moon?", [Step("A thin one.")]),
            "waves": Turn(f"Remember:{' wave' * 2000}", [Step("I do.")]),
        }
        if self.agent is not None:
            first, *then = self.agent(turns["weather"].said)
            steps = [Step("I send one.", calls=[first]), *(Step(calls=[one]) for one in then)]
            results = [*("" for _ in then), "It is windy."]
            told = Step("The helper says it is windy.")
            turns["helper"] = Turn("Let a helper look at the weather.", [*steps, told], results)
        for name, turn in turns.items():
            object.__setattr__(self, name, turn)

    def turns(self) -> Iterable[Turn]:
        """Return all turns."""
        return [one for one in vars(self).values() if isinstance(one, Turn)]

    def script(self, *compaction: str) -> Script:
        """Return what the stand-in says. compaction: words of a request for a summary."""
        return Script({turn.said: turn.steps for turn in self.turns()}, compaction)


def square(side: int = 16) -> bytes:
    """Return a picture of a red square, as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff\0\0" * side) * side)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def square_base64() -> str:
    """Return the picture as base64."""
    return base64.b64encode(square()).decode()

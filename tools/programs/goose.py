"""Goose: a SQLite database for all sessions."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script, Step
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_NOTES = [
    "what a person sees is userVisible; `<turn-context>` is the program's",
    "an interrupted answer leaves no text",
    "calls that were made together are in a row each, each with the thought, which was thought once",
    "the picture is in the result of the call",
    "the compaction gives the rows above it new ids, and keeps their message_id",
]


_WEIGHED = [
    ("user", "Weigh Ada and Bea."),
    ("thought", "Two scales."),
    ("call", "shell"),
    ("result", "4 tons"),
    ("call", "shell"),
    ("result", "missing"),
    ("assistant", "Ada has 4 tons."),
]


class Goose(Program):
    name = "goose"
    version = "1.52.0"
    packages = (f"@aaif/goose-binary-linux-x64@{version}",)
    command = "node_modules/@aaif/goose-binary-linux-x64/bin/goose"
    store = ".local/share/goose/sessions/sessions.db"
    variables: ClassVar = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "stand-in",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "OPENAI_HOST": "{url}",
        "OPENAI_API_KEY": KEY,
    }
    joins_texts = True
    own_texts = ("Your context was compacted at the user's request.*",)
    story = Story(
        lambda command: Call("shell", {"command": command}),
        lambda asked: [Call("delegate", {"instructions": asked})],
    )
    picture = Turn(
        "Look at square.png.",
        [Step(calls=[Call("read_image", {"source": "square.png"})]), Step("A red square.")],
        [""],
    )

    def script(self) -> Script:
        script = self.story.script("Please summarize the conversation history")
        return Script({**script.answers, self.picture.said: self.picture.steps}, script.compaction)

    def set_up(self, world: World) -> None:
        (world.project / "square.png").write_bytes(square())

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something."""
        world.run(self.start(world), "run", "-t", turn.said, *more)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return ["run", "-r", *command[-2:], "-t", said]

    def id_in(self, printed: str) -> str:
        found = re.search(r"^(\d{8}_\d+) - ", printed, re.MULTILINE)
        return found.group(1) if found else ""

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, self.picture, one.helper]
        self.turn(world, one.depth, "-n", "harbour")
        for turn in begun[1:]:
            self.turn(world, turn, "-n", "harbour", "-r")
        forked = ["session", "-r", "-n", "harbour", "--fork"]
        with world.terminal(self.start(world), *forked) as terminal:
            terminal.wait_for("goose is ready")
            self.say(world, terminal, one.tide)
        resumed = ["session", "-r", "--session-id", time.strftime("%Y%m%d_1", time.gmtime())]
        with world.terminal(self.start(world), *resumed) as terminal:
            terminal.wait_for("goose is ready")
            self.say(world, terminal, one.paint)
            terminal.order("/compact", "Are you sure")
            terminal.press("Enter")
            terminal.wait_for("Compaction complete")
            world.wait_for_stored(self.store, "Compaction complete")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("C-c", after=2)
        start = lines_of(one.depth, one.count)
        start += _WEIGHED
        start += lines_of(self.picture, one.helper)
        compacted = [SUMMARISED, ("user", "/compact"), ("assistant", "Compaction complete")]
        after = [*compacted, *lines_of(one.colour), ("user", one.long.said)]
        branches = {
            "current": [*start, *lines_of(one.paint), *after],
            "fork": [*start, *lines_of(one.tide)],
        }
        return Told([branches], {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        source = world.home / ".local/share/goose/sessions/sessions.db"
        Cutting(world).database(source, fixtures / "sessions.sql", ("sessions", "messages"))

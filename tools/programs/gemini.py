"""Gemini CLI: a log of messages and changes in `~/.gemini/tmp/PROJECT/chats` for each session."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, Terminal, World

_NOTES = [
    "the first message of the user, `<session_context>`, is the program's",
    "`@square.png` is what the person typed; the texts around the picture are the program's",
    "an interrupted answer leaves no text, and what was asked is taken back",
]


def _kept(row: Raw) -> Raw | None:
    return None if row.get("$set", {}).keys() == {"lastUpdated"} else row


class Gemini(Program):
    name = "gemini-cli"
    version = "0.61.0"
    packages = (f"@google/gemini-cli@{version}",)
    command = "node_modules/.bin/gemini"
    store = ".gemini/tmp"
    newer_node = True
    variables: ClassVar = {
        "GOOGLE_GEMINI_BASE_URL": "{url}",
        "GEMINI_API_KEY": KEY,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    own_texts = (
        *("--- Content from referenced files ---", "--- End of content ---", "Content from .*"),
        r"Got it\. Thanks for the additional context!",  # the answer to a summary, which nobody has said
    )
    story = Story(
        lambda command: Call("run_shell_command", {"command": command, "description": "Looks"}),
        lambda asked: [Call("invoke_agent", {"agent_name": "generalist", "prompt": asked})],
        lambda told: Call("complete_task", {"result": {"response": told}}),
    )

    def script(self) -> Script:
        return self.story.script("<state_snapshot> based on", "Critically evaluate the <state_snapshot>")

    def set_up(self, world: World) -> None:
        (world.home / ".gemini").mkdir()
        (world.project / "square.png").write_bytes(square())
        settings: Raw = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        settings |= {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
        settings |= {"general": {"enableAutoUpdate": False}, "model": {"name": "gemini-2.5-pro"}}
        settings |= {"tools": {"shell": {"enableInteractiveShell": False}}}
        (world.home / ".gemini/settings.json").write_text(json.dumps(settings))

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something without a terminal."""
        world.run(self.start(world), "--yolo", *more, "-p", turn.said)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return [*command, "--yolo", "-p", said]

    @contextmanager
    def screen(self, world: World, *more: str) -> Iterator[Terminal]:
        """Open a session in a terminal."""
        with world.terminal(self.start(world), "--yolo", *more) as terminal:
            terminal.wait_for("Type your message")
            terminal.wait_for_keys()
            yield terminal
            terminal.press("C-c", "C-c", after=1)

    def typed(self, turn: Turn) -> str:
        return f"@square.png {turn.said} " if turn.image else turn.said

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        with self.screen(world) as terminal:
            self.say(world, terminal, one.waves)
            self.say(world, terminal, one.depth)
            self.say(world, terminal, one.paint)
            terminal.order("/compress", "compressed from", "ompression")
            self.say(world, terminal, one.colour)
        begun = [one.depth, one.count, one.weigh, one.picture, one.helper]
        with self.screen(world) as terminal:
            for turn in [*begun, one.sell]:
                self.say(world, terminal, turn)
            terminal.order("/rewind", "Stay at current position")
            terminal.press("Up", "Enter")
            terminal.wait_for("Confirm Rewind")
            terminal.press("Enter", after=1)
            terminal.press("C-u")
            self.say(world, terminal, one.paint)
            self.say(world, terminal, one.long)
            terminal.press("Escape", after=1)
            terminal.wait_for("Request cancelled")
        self.turn(world, one.tide, "-r", "latest")
        start = lines_of(*begun)
        above = lines_of(one.waves, one.depth, one.paint)
        trees = [
            {
                "current": [*start, *lines_of(one.paint, one.tide)],
                "cancelled": [*start, *lines_of(one.paint), ("user", one.long.said)],
                "rewound": [*start, *lines_of(one.sell)],
            },
            {"compressed": [*above, SUMMARISED, *lines_of(one.colour)]},
        ]
        return Told(trees, {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        folder = world.home / ".gemini/tmp"
        for source in sorted(folder.rglob("*.jsonl")):
            cutting.lines(source, fixtures / "tmp" / source.relative_to(folder), _kept)

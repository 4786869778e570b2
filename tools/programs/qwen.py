"""Qwen Code: JSON Lines in `~/.qwen/projects`, a tree by `parentUuid`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_OF_SYSTEM = (
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "type",
    "subtype",
    "cwd",
    "version",
    "forkedFrom",
)
_SHORT = {"ui_telemetry", "attribution_snapshot", "file_history_snapshot"}
_NOTES = [
    "`@square.png` is what the person typed; the texts around the picture are the program's",
    "rows of type system stand in the chain of the messages",
]


def _agent(asked: str) -> list[Call]:
    told = {"description": "weather", "prompt": asked, "subagent_type": "general-purpose"}
    return [Call("agent", {**told, "run_in_background": False})]


def _kept(row: Raw) -> Raw | None:
    if row.get("subtype") in _SHORT:  # they stand in the chain of the messages
        return {name: row[name] for name in _OF_SYSTEM if name in row}
    return row


class Qwen(Program):
    name = "qwen-code"
    version = "0.24.4"
    packages = (f"@qwen-code/qwen-code@{version}",)
    command = "node_modules/.bin/qwen"
    store = ".qwen/projects"
    newer_node = True
    variables: ClassVar = {
        "OPENAI_BASE_URL": "{url}/v1",
        "OPENAI_API_KEY": KEY,
        "OPENAI_MODEL": "qwen3-vl-plus",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    }
    own_texts = (
        *("--- Content from referenced files ---", "--- End of content ---", "Content from .*"),
        "Recent visual snapshots preserved .*",
        r"Got it\. Thanks for the additional context!",  # the answer to a summary, which nobody has said
    )
    story = Story(
        lambda command: Call("run_shell_command", {"command": command, "is_background": False}), _agent
    )

    def script(self) -> Script:
        return self.story.script("produce the <state_snapshot>")

    def set_up(self, world: World) -> None:
        (world.home / ".qwen").mkdir()
        (world.project / "square.png").write_bytes(square())
        settings: Raw = {"security": {"auth": {"selectedType": "openai"}}}
        settings |= {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
        settings |= {"general": {"enableAutoUpdate": False}, "ui": {"enableFollowupSuggestions": False}}
        settings |= {"memory": {"enableManagedAutoMemory": False}}
        settings |= {"tools": {"shell": {"enableInteractiveShell": False}}}  # its terminal loses output
        (world.home / ".qwen/settings.json").write_text(json.dumps(settings))

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something."""
        said = f"@square.png {turn.said}" if turn.image else turn.said
        world.run(self.start(world), "--auth-type", "openai", "--yolo", *more, "-p", said)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return ["--auth-type", "openai", "--yolo", *command, "-p", said]

    def sessions(self, world: World) -> list[Path]:
        """Return the files of the sessions, oldest first."""
        found = (world.home / ".qwen/projects").glob("*/chats/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_ctime)

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.waves, one.depth, one.count, one.weigh, one.picture, one.helper]
        self.turn(world, begun[0])
        for turn in begun[1:]:
            self.turn(world, turn, "--continue")
        session = self.sessions(world)[0].stem
        self.turn(world, one.tide, "-r", session, "--fork-session")
        with world.terminal(self.start(world), "--auth-type", "openai", "--yolo", "-r", session) as terminal:
            terminal.wait_for("Type your message")
            self.say(world, terminal, one.sell)
            terminal.press("Escape", "Escape", after=0.2)
            terminal.wait_for("Enter to select")
            terminal.press("Enter", after=1)
            terminal.wait_for("Restore conversation only")
            terminal.press("Enter", after=1)
            terminal.wait_for("Conversation rewound")
            terminal.press("C-u")
            self.say(world, terminal, one.paint)
            terminal.order("/compress", "compressed from", "Compression")
            world.wait_for_stored(self.store, "chat_compression")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape")
            world.wait_for_stored(self.store, "Once 0 Once 1")
        start = lines_of(*begun)
        kept = ("image", "square.png")  # it copies the last pictures behind a summary
        after = [*lines_of(one.paint), SUMMARISED, kept, *lines_of(one.colour, one.long)]
        tree = {
            "current": [*start, *after],
            "rewound": [*start, *lines_of(one.sell)],
            "fork": [*start, *lines_of(one.tide)],
        }
        return Told([tree], {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        folder = world.home / ".qwen/projects"
        for source in sorted([*self.sessions(world), *folder.glob("*/subagents/*/*.jsonl")]):
            target = fixtures / "projects" / cutting.text(str(source.relative_to(folder)))
            cutting.lines(source, target, _kept)

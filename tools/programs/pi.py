"""pi: JSON Lines in `~/.pi/agent/sessions`, a tree in each file."""

import json
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_NOTES = ["a text of the user begins with <file …></file>, which names the picture that was sent along"]


def _kept(row: Raw) -> Raw | None:
    message = row.get("message", {})
    if message.get("role") == "system":
        return {**row, "message": {**message, "sections": []}}
    return row


class Pi(Program):
    name = "pi"
    version = "1.6.0"
    packages = (f"@earendil-works/pi-coding-agent@{version}",)
    command = "node_modules/.bin/pi"
    store = ".pi/agent/sessions"
    newer_node = True
    variables: ClassVar = {"PI_OFFLINE": "1"}
    story = Story(lambda command: Call("bash", {"command": command}))

    def script(self) -> Script:
        return self.story.script("context summarization assistant")

    def set_up(self, world: World) -> None:
        folder = world.home / ".pi/agent"
        folder.mkdir(parents=True)
        model = {"id": "stand-in", "reasoning": True, "input": ["text", "image"]}
        provider = {"baseUrl": f"{world.stand_in.url}/v1", "api": "openai-completions", "apiKey": KEY}
        models = {"providers": {"stand-in": {**provider, "models": [model]}}}
        (folder / "models.json").write_text(json.dumps(models))
        settings = {"defaultProvider": "stand-in", "defaultModel": "stand-in"}
        kept = {"compaction": {"keepRecentTokens": 1}}
        (folder / "settings.json").write_text(json.dumps(settings | kept))
        (world.folder / "square.png").write_bytes(square())

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something in the newest session, or where it is said."""
        image = ["@../square.png"] if turn.image else []
        world.run(self.start(world), "-p", *more, *image, turn.said)

    def talk(self, world: World) -> Told:
        one = self.story
        begun = [one.depth, one.count, one.weigh, one.picture]
        self.turn(world, one.depth)
        for turn in begun[1:]:
            self.turn(world, turn, "--continue")
        [session] = (world.home / ".pi/agent/sessions").rglob("*.jsonl")
        self.turn(world, one.tide, "--fork", str(session))
        self.turn(world, one.sell, "--session", str(session))
        with world.terminal(self.start(world), "--session", str(session)) as terminal:
            terminal.wait_for("All are sold.")
            terminal.order("/tree", "Session Tree")
            terminal.press("Up", "Up", "Enter")
            terminal.wait_for("Summarize branch?")
            terminal.press("Down", "Enter")
            terminal.wait_for("Navigated to selected point")
            self.say(world, terminal, one.paint)
            terminal.order("/compact", "Compacted")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape", after=1)
            terminal.wait_for("aborted")
            terminal.press("C-c", "C-c", after=1)
        start = lines_of(*begun)
        after = [SUMMARISED, *lines_of(one.paint), SUMMARISED, *lines_of(one.colour, one.long)]
        rewound = lines_of(one.sell)
        branches = {"current": after, "rewound": rewound, "fork": lines_of(one.tide)}
        return Told([{name: [*start, *lines] for name, lines in branches.items()}], notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        sessions = world.home / ".pi/agent/sessions"
        for source in sorted(sessions.rglob("*.jsonl")):
            target = fixtures / "sessions" / cutting.text(str(source.relative_to(sessions)))
            cutting.lines(source, target, _kept, ["toolsAdded"])

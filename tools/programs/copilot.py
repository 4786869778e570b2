"""GitHub Copilot CLI: a folder for each session in `~/.copilot/session-state`, with its events."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_DROPPED = {"system.message", "session.usage_info", "session.usage_record", "assistant.turn_start"}
_DROPPED |= {
    "assistant.turn_end",
    "session.background_tasks_changed",
    "session.model_change",
    "session.shutdown",
}
_DROPPED |= {f"model.{name}" for name in ("turn_started", "turn_ended", "model_call_started")}
_DROPPED |= {"model.model_call_success"}
_MEMBERS = {"systemPrompt", "encryptedContent", "reasoningOpaque", "toolTelemetry", "metrics", "gitRoot"}
_NOTES = [
    "what was rewound is gone: `Sell the boats.` is nowhere",
    "an interrupted answer leaves no text",
    "rows `model.…` stand beside a compaction, and are no messages",
]


def _kept(row: Raw) -> Raw | None:
    return None if row["type"] in _DROPPED else row


class Copilot(Program):
    name = "copilot"
    version = "1.0.102"
    known_as = "copilot-cli"
    packages = (f"@github/copilot@{version}",)
    command = "node_modules/.bin/copilot"
    store = ".copilot/session-state"
    variables: ClassVar = {
        "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "stand-in",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    own_texts = (r"square\.png", r"Image file at path .*")
    story = Story(
        lambda command: Call("bash", {"command": command, "description": "Looks"}),
        lambda asked: [
            Call(
                "task",
                {
                    "agent_type": "general-purpose",
                    "name": "weather",
                    "description": "weather",
                    "prompt": asked,
                    "mode": "sync",
                },
            )
        ],
    )

    def script(self) -> Script:
        return self.story.script("create a detailed summary of the conversation")

    def set_up(self, world: World) -> None:
        (world.folder / "square.png").write_bytes(square())

    def turn(self, world: World, turn: Turn, session: str | None = None) -> str:
        """Say something, and return the session's id."""
        image = ["--attachment", str(world.folder / "square.png")] if turn.image else []
        resumed = [f"--resume={session}"] if session else []
        printed = world.run(self.start(world), *resumed, "--allow-all-tools", *image, "-p", turn.said)
        found = re.search(r"--resume=(\S+)", printed)
        assert found is not None, printed
        return found.group(1)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return [*command, "--allow-all-tools", "-p", said]

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.picture, one.helper]
        session = None
        for turn in [*begun, one.sell]:
            session = self.turn(world, turn, session)
        with world.terminal(self.start(world), f"--resume={session}", "--allow-all-tools") as terminal:
            terminal.wait_for("Confirm folder trust")
            terminal.press("Enter")
            terminal.wait_for("All are sold.")
            terminal.order("/rewind", "Rewind to a previous point")
            terminal.press("Enter")
            terminal.wait_for("Conversation only")
            terminal.press("Enter")
            terminal.wait_for("Rewound the conversation")
            terminal.press("C-u")
            self.say(world, terminal, one.paint)
            terminal.order("/fork Other", "orked")
            self.say(world, terminal, one.tide)
            terminal.press("C-c", "C-c", after=1)
        with world.terminal(self.start(world), f"--resume={session}", "--allow-all-tools") as terminal:
            terminal.wait_for("Confirm folder trust")
            terminal.press("Enter")
            terminal.wait_for("All are blue.")
            terminal.order("/compact", "Compaction completed")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape", "Escape", after=1)
            terminal.press("C-c", "C-c", after=1)
        start = lines_of(*begun, one.paint)
        stopped = [("user", one.long.said)]
        branches = {
            "current": [*start, SUMMARISED, *lines_of(one.colour), *stopped],
            "fork": [*start, *lines_of(one.tide)],
        }
        return Told([branches], {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        sessions = world.home / ".copilot/session-state"
        for source in sorted(sessions.glob("*/events.jsonl")):
            target = fixtures / "session-state" / source.relative_to(sessions)
            cutting.lines(source, target, _kept, _MEMBERS)
            told = (source.parent / "workspace.yaml").read_text()
            (target.parent / "workspace.yaml").write_text(cutting.text(told))

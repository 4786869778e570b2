"""Kimi Code: a folder for each session in `~/.kimi-code/sessions`, with what each agent wrote."""

import re
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of
from tools.programs.world import KEY, World

_CONFIG = """
default_model = "stand-in"
telemetry = false
[providers.stand-in]
type = "openai"
base_url = "{url}/v1"
api_key = "{key}"
[models.stand-in]
provider = "stand-in"
model = "stand-in"
max_context_size = 100000
capabilities = ["thinking", "tool_use"]
"""


def _kept(row: Raw) -> Raw | None:
    return None if row["type"] in ("llm.request", "llm.tools_snapshot", "config.update") else row


class Kimi(Program):
    name = "kimi-code"
    version = "2.1.0"
    packages = (f"@moonshot-ai/kimi-code@{version}",)
    command = "node_modules/.bin/kimi"
    store = ".kimi-code/sessions"
    newer_node = True
    variables: ClassVar = {"KIMI_DISABLE_TELEMETRY": "1"}
    resumes = False
    story = Story(
        lambda command: Call("Bash", {"command": command}),
        lambda asked: [Call("Agent", {"description": "weather", "prompt": asked, "subagent_type": "coder"})],
    )

    def script(self) -> Script:
        return self.story.script("Create a handoff summary")

    def set_up(self, world: World) -> None:
        (world.home / ".kimi-code").mkdir()
        settings = _CONFIG.format(url=world.stand_in.url, key=KEY)
        (world.home / ".kimi-code/config.toml").write_text(settings)

    def turn(self, world: World, turn: Turn, session: str | None = None) -> str:
        """Say something, and return the session's id."""
        resumed = ["-r", session] if session else []
        printed = world.run(self.start(world), *resumed, "-p", turn.said)
        return self.id_in(printed)

    def id_in(self, printed: str) -> str:
        found = re.findall(r"session_[0-9a-f-]{36}", printed)
        assert found, printed
        return str(found[0])

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.helper]
        session = self.turn(world, one.depth)
        for turn in begun[1:]:
            self.turn(world, turn, session)
        forked = self.id_in(world.run(self.start(world), "fork", session))
        self.turn(world, one.tide, forked)
        with world.terminal(self.start(world), "-r", session) as terminal:
            terminal.wait_for("Trust this folder?")
            terminal.press("Enter")
            terminal.wait_for("The helper says")
            self.say(world, terminal, one.paint)
            terminal.order("/compact", "Compaction complete")
            world.wait_for_stored(self.store, "context.apply_compaction")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape")
            world.wait_for_stored(self.store, "prompt.aborted")
        start = lines_of(*begun)
        tree = {
            "current": [*start, *lines_of(one.paint), SUMMARISED, *lines_of(one.colour, one.long)],
            "fork": [*start, *lines_of(one.tide)],
        }
        return Told([tree], {one.weather.said: lines_of(one.weather)})

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        folder = world.home / self.store
        for source in sorted(folder.glob("wd_*/session_*/state.json")):
            cutting.json(source, fixtures / "sessions" / source.relative_to(folder))
        for source in sorted(folder.glob("wd_*/session_*/agents/*/wire.jsonl")):
            cutting.lines(source, fixtures / "sessions" / source.relative_to(folder), _kept)

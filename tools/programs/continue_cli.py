"""Continue CLI: a JSON file for each session in `~/.continue/sessions`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import Story, Turn, lines_of
from tools.programs.world import KEY, World

_CONFIG = """
name: check
version: 0.0.1
schema: v1
models:
  - name: stand-in
    provider: openai
    model: stand-in
    apiBase: {url}/v1
    apiKey: {key}
    roles: [chat]
    capabilities: [tool_use, image_input]
"""
_NOTES = ["thoughts are not kept", "messages have neither ids nor times"]


class Continue(Program):
    name = "continue"
    version = "1.5.47"
    packages = (f"@continuedev/cli@{version}",)
    command = "node_modules/.bin/cn"
    store = ".continue/sessions"
    newer_node = True
    variables: ClassVar = {"CONTINUE_TELEMETRY_ENABLED": "0"}
    story = Story(lambda command: Call("Bash", {"command": command}))

    def script(self) -> Script:
        return self.story.script()

    def set_up(self, world: World) -> None:
        (world.home / ".continue").mkdir()
        settings = _CONFIG.format(url=world.stand_in.url, key=KEY)
        (world.home / ".continue/config.yaml").write_text(settings)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:
        settings = str(world.home / ".continue/config.yaml")
        return ["--config", settings, "--auto", *command, "-p", said]

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something."""
        settings = str(world.home / ".continue/config.yaml")
        world.run(self.start(world), "--config", settings, "--auto", *more, "-p", turn.said)

    def talk(self, world: World) -> Told:
        one = self.story
        begun = [one.depth, one.count, one.weigh]
        self.turn(world, one.depth)
        for turn in [*begun[1:], one.sell]:
            self.turn(world, turn, "--resume")
        listed = json.loads((world.home / ".continue/sessions/sessions.json").read_text())
        self.turn(world, one.tide, "--fork", listed[0]["sessionId"])
        start = lines_of(*begun, one.sell, thoughts=False)
        tree = {"current": [*start, *lines_of(one.tide)], "forked": start}
        return Told([tree], notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        for source in sorted((world.home / ".continue/sessions").glob("*.json")):
            cutting.json(source, fixtures / "sessions" / source.name)

"""llm: a SQLite database of messages by their hashes, which is a tree."""

import json
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_TOOL = '''
def shell(command: str) -> str:
    "Runs a command"
    import subprocess
    return subprocess.getoutput(command)
'''
_FORK = """
import sys, llm
from llm.logs import LogStore
"""
_TABLES = ("messages", "parts", "threads", "turns", "attachments")
_NOTES = ["the thoughts of such a model are not kept, only that there were some"]


class Llm(Program):
    name = "llm"
    version = "0.36"
    packages = (f"llm=={version}",)
    installer = "pip"
    command = "bin/llm"
    variables: ClassVar = {"OPENAI_API_KEY": KEY, "LLM_USER_PATH": "{home}/.config/io.datasette.llm"}
    story = Story(lambda command: Call("shell", {"command": command}))

    def script(self) -> Script:
        return self.story.script()

    def set_up(self, world: World) -> None:
        folder = world.home / ".config/io.datasette.llm"
        folder.mkdir(parents=True)
        model = {"model_id": "stand-in", "model_name": "stand-in", "api_base": f"{world.stand_in.url}/v1"}
        models = [model | {"supports_tools": True, "vision": True, "reasoning": True}]
        (folder / "extra-openai-models.yaml").write_text(json.dumps(models))
        (world.folder / "square.png").write_bytes(square())

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something."""
        image = ["-a", str(world.folder / "square.png")] if turn.image else []
        world.run(self.start(world), "-m", "stand-in", "--functions", _TOOL, *image, *more, turn.said)

    def talk(self, world: World) -> Told:
        one = self.story
        begun = [one.depth, one.count, one.weigh, one.picture]
        self.turn(world, one.depth)
        for turn in [*begun[1:], one.sell]:
            self.turn(world, turn, "-c")
        return Told([{"current": lines_of(*begun, one.sell)}], notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        source = world.home / ".config/io.datasette.llm/logs.db"
        Cutting(world).database(source, fixtures / "logs.sql", _TABLES)

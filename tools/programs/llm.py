"""llm: a SQLite database of messages by their hashes, which is a tree."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_TOOL = """
def shell(command: str) -> str:
    "Runs a command"
    import subprocess
    return subprocess.getoutput(command)
"""
_FORK = """
import sys, sqlite_utils
from llm.logs import LogStore
store = LogStore(sqlite_utils.Database(sys.argv[1]))
thread = next(store.db["threads"].rows)
for _ in range(2):
    [above] = store.db["messages"].rows_where("hash = ?", [thread["tip_message_hash"]])
    thread["tip_message_hash"] = above["parent_hash"]
fork = store.fork(thread["tip_message_hash"], name="Other", forked_from=thread["id"])
first = next(store.db["turns"].rows)  # without a turn, which names the model, `--cid` finds no thread
store.db["turns"].insert({"id": fork, "thread_id": fork, "model": first["model"]})
print(fork)
"""
_TABLES = ("messages", "parts", "threads", "turns", "attachments", "part_attachments", "turn_search")
_NOTES = [
    "the thoughts of such a model are not kept",
    "the second thread is no fork, but shares its first two messages, as their hashes are the same",
    "a picture that is given by its path is a path in `attachments`: its bytes are not there",
]


class Llm(Program):
    name = "llm"
    version = "0.36"
    packages = (f"llm=={version}",)
    installer = "pip"
    command = "bin/llm"
    store = ".config/io.datasette.llm/logs.db"
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
        (folder / "default_model.txt").write_text("stand-in")
        (world.folder / "square.png").write_bytes(square())

    def emptied(self, world: World) -> None:
        world.run(self.start(world), "fragments")  # makes the database

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        _, *named = command  # without `chat`
        return [*named, said]

    def turn(self, world: World, turn: Turn, *more: str) -> None:
        """Say something."""
        command = [self.start(world), "-m", "stand-in", "--functions", _TOOL, *more, turn.said]
        if turn.image:  # by its path it would not be in the database
            command = ["sh", "-c", 'exec "$@" -a - < ../square.png', "sh", *command]
        world.run(*command)

    def talk(self, world: World) -> Told:
        one = self.story
        begun = [one.depth, one.count, one.weigh, one.picture]
        self.turn(world, one.depth)
        for turn in [*begun[1:], one.sell]:
            self.turn(world, turn, "-c")
        self.turn(world, one.depth)  # a new talk, whose first words are those of the other one
        self.turn(world, one.tide, "-c")
        forked = world.run(str(world.installed / "bin/python"), "-c", _FORK, str(self.database(world)))
        self.turn(world, one.paint, "--cid", forked.strip())
        start = lines_of(*begun, thoughts=False)
        tree = {
            "current": [*start, *lines_of(one.paint)],
            "first": [*start, *lines_of(one.sell)],
            "other": lines_of(one.depth, one.tide, thoughts=False),
        }
        return Told([tree], notes=_NOTES)

    def database(self, world: World) -> Path:
        """Return where the database stands."""
        return world.home / ".config/io.datasette.llm/logs.db"

    def cut(self, world: World, fixtures: Path) -> None:
        Cutting(world).database(self.database(world), fixtures / "logs.sql", _TABLES)

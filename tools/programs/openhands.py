"""OpenHands SDK: a folder of events for each conversation, which form a tree."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, lines_of, square_base64
from tools.programs.world import KEY, World

_TALK = """
import os, sys, uuid
from pydantic import SecretStr
from openhands.sdk import LLM, Agent, Conversation, ImageContent, Message, TextContent, Tool
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.tools.terminal import TerminalTool

model = LLM(model="openai/gpt-4o", base_url=sys.argv[1] + "/v1", api_key=SecretStr("{key}"), usage_id="agent")
writer = model.model_copy(update={{"usage_id": "condenser"}})
condenser = LLMSummarizingCondenser(llm=writer, max_size=240, keep_first=2)
agent = Agent(llm=model, tools=[Tool(name=TerminalTool.name)], condenser=condenser)
kept = {{"conversation_id": uuid.UUID(sys.argv[3])}} if len(sys.argv) > 3 else {{}}
where = {{"workspace": os.getcwd(), "persistence_dir": sys.argv[2]}}
talk = Conversation(agent=agent, visualizer=None, **where, **kept)

def say(to, text, image=None):
    content = [TextContent(text=text)]
    if image:
        content.append(ImageContent(image_urls=["data:image/png;base64," + image]))
    to.send_message(Message(role="user", content=content))
    to.run()

def leaf():
    return talk.state.leaf_event_id

{talk}
"""
_DROPPED = ("tools", "agent", "stats", "py_interpreter_path", "username", "hostname")
_NOTES = ["calls that were made together are an event each, with one `llm_response_id`"]


class OpenHands(Program):
    name = "openhands"
    version = "1.58.2"
    packages = (f"openhands-sdk=={version}", f"openhands-tools=={version}")
    installer = "pip"
    python = (3, 12)
    command = "bin/python"
    store = ".openhands/conversations"
    variables: ClassVar = {"OPENHANDS_SUPPRESS_BANNER": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    story = Story(lambda command: Call("terminal", {"command": command}))

    def script(self) -> Script:
        return self.story.script("You are maintaining a context-aware state summary")

    def set_up(self, world: World) -> None:
        one = self.story
        said = [f"say(talk, {turn.said!r})" for turn in (one.depth, one.count, one.weigh)]
        said.append(f"say(talk, {one.picture.said!r}, {square_base64()!r})")
        said += [
            "here = leaf()",
            f"say(talk, {one.sell.said!r})",
            "talk.navigate_to(here)",
            f"say(talk, {one.paint.said!r})",
            "other = talk.fork()",
            f"say(other, {one.tide.said!r})",
            "talk.condense()",
            f"say(talk, {one.colour.said!r})",
        ]
        (world.folder / "talk.py").write_text(_TALK.format(key=KEY, talk="\n".join(said)))

    def talk(self, world: World) -> Told:
        one = self.story
        script = str(world.folder / "talk.py")
        world.run(self.start(world), script, *self.places(world))
        start = lines_of(one.depth, one.count, one.weigh, one.picture)
        tree = {
            "current": [*start, *lines_of(one.paint), SUMMARISED, *lines_of(one.colour)],
            "left": [*start, *lines_of(one.sell)],
            "fork": [*start, *lines_of(one.paint, one.tide)],
        }
        return Told([tree], notes=_NOTES)

    def places(self, world: World) -> tuple[str, str]:
        """Return the arguments of a script: the address of the model, and where sessions are."""
        return world.stand_in.url, str(world.home / self.store)

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:
        """Return what goes on by the SDK, as its own program for a terminal would."""
        script = world.folder / "goes_on.py"
        script.write_text(_TALK.format(key=KEY, talk=f"say(talk, {said!r})"))
        return [str(script), *self.places(world), command[-1]]

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        folder = world.home / self.store
        for source in sorted(folder.rglob("*.json")):
            cutting.json(source, fixtures / source.relative_to(folder), _DROPPED)

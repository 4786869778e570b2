"""opencode: a SQLite database for all sessions, which its server writes."""

import json
import re
import sqlite3
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import TITLE, Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square_base64
from tools.programs.world import KEY, ProgramError, World

_MODEL = {"providerID": "stand-in", "modelID": "model"}
_TABLES = ("project", "session", "message", "part")
_NOTES = [
    "the message of the user with a part `compaction` alone is the program's",
    "parts that are `synthetic` are the program's",
]


class OpenCode(Program):
    name = "opencode"
    version = "1.18.33"
    packages = (f"opencode-ai@{version}",)
    command = "node_modules/.bin/opencode"
    store = ".local/share/opencode/opencode.db"
    variables: ClassVar = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    story = Story(
        lambda command: Call("bash", {"command": command, "description": "Looks"}),
        lambda asked: [
            Call("task", {"description": "weather", "prompt": asked, "subagent_type": "general"}),
        ],
    )

    def script(self) -> Script:
        return self.story.script("anchored summary", "What did we do so far", "summarize our conversation")

    def set_up(self, world: World) -> None:
        folder = world.home / ".config/opencode"
        folder.mkdir(parents=True)
        model: Raw = {"name": "model", "attachment": True, "reasoning": True, "tool_call": True}
        model |= {"modalities": {"input": ["text", "image"], "output": ["text"]}}
        model |= {
            "limit": {"context": 100_000, "output": 10_000},
            "interleaved": {"field": "reasoning_content"},
        }
        options = {"baseURL": f"{world.stand_in.url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"model": model}}
        settings: Raw = {"autoupdate": False, "share": "disabled", "permission": {"*": "allow"}}
        settings |= {"model": "stand-in/model", "small_model": "stand-in/model"}
        (folder / "opencode.json").write_text(json.dumps(settings | {"provider": {"stand-in": provider}}))

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return ["run", *command, *said.split()]  # it would quote a text that has spaces

    @contextmanager
    def server(self, world: World) -> Iterator["Server"]:
        """Start the program's server."""
        with world.started(self.start(world), "serve", "--port", "0", "--hostname", "127.0.0.1") as process:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            else:
                raise ProgramError("opencode's server did not start")
            yield Server(found.group())

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.picture, one.helper]
        with self.server(world) as server:
            session = server.ask("POST", "/session", {})["id"]
            for turn in begun:
                server.say(session, turn)
            sold = server.say(session, one.sell)
            server.ask("POST", f"/session/{session}/revert", {"messageID": sold})
            server.say(session, one.paint)
            fork = server.ask("POST", f"/session/{session}/fork", {})["id"]
            server.say(fork, one.tide)
            server.ask("POST", f"/session/{session}/summarize", _MODEL)
            server.say(session, one.colour)
            server.ask("POST", f"/session/{session}/prompt_async", server.message(one.long))
            time.sleep(4)
            server.ask("POST", f"/session/{session}/abort", {})
            time.sleep(2)
            other = server.ask("POST", "/session", {})["id"]
            server.say(other, one.depth)
            hidden = server.say(other, one.sell)
            server.ask("POST", f"/session/{other}/revert", {"messageID": hidden})
        start = lines_of(*begun, one.paint)
        branches = {
            "current": [*start, SUMMARISED, *lines_of(one.colour, one.long)],
            "fork": [*start, *lines_of(one.tide)],
        }
        shown = lines_of(one.depth)
        reverted = {"current": shown, "hidden by a revert": [*shown, *lines_of(one.sell)]}
        return Told([branches, reverted], {one.weather.said: lines_of(one.weather)}, TITLE, _NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        source = world.home / ".local/share/opencode/opencode.db"
        cutting = Cutting(world)
        cutting.database(source, fixtures / "opencode.sql", _TABLES)
        with closing(sqlite3.connect(source)) as database:
            [[fork]] = database.execute("SELECT id FROM session WHERE title LIKE '%(fork #1)'")
        exported = world.folder / "export.json"
        exported.write_text(world.run(self.start(world), "export", fork, stderr=False))
        cutting.json(exported, fixtures / "export.json")


class Server:
    """opencode's server."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, method: str, path: str, body: Raw | None = None) -> Any:
        """Send a request, and return what came."""
        raw = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self._url + path, raw, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            told = answer.read()
        return json.loads(told) if told else None

    def message(self, turn: Turn) -> Raw:
        """Return what is sent to say something."""
        url = f"data:image/png;base64,{square_base64()}"
        image = {"type": "file", "mime": "image/png", "filename": "square.png", "url": url}
        parts = [*([image] if turn.image else []), {"type": "text", "text": turn.said}]
        return {"model": _MODEL, "parts": parts}

    def say(self, session: str, turn: Turn) -> str:
        """Say something, wait for the answer, and return the id of what was said."""
        return str(self.ask("POST", f"/session/{session}/message", self.message(turn))["info"]["parentID"])

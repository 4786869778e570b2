"""Claude Code: JSON Lines in `~/.claude/projects`, a tree by `parentUuid`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square_base64
from tools.programs.world import KEY, Terminal, World

_DROPPED = {"queue-operation", "mode", "permission-mode", "atis-latch", "cost-state", "tools-used"}
_DROPPED |= {"file-history-snapshot", "api-request", "api-request-shape", "api-request-blob"}
_OF_ATTACHMENTS = ("type", "uuid", "parentUuid", "sessionId", "timestamp", "isSidechain")
_MEMBERS = {"attribution", "inference_geo", "iterations", "cache_creation", "server_tool_use"}
_MEMBERS |= {"userType", "entrypoint", "gitBranch", "requestId", "diagnostics"}


_NOTES = [
    "the text `[Image: source: …]` after an image is the program's own (isMeta)",
    "the row [Request interrupted by user] is the program's own",
]


def _shell(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Looks"})


def _agent(prompt: str) -> list[Call]:
    told = {"description": "weather", "prompt": prompt, "subagent_type": "general-purpose"}
    return [Call("Agent", told | {"run_in_background": False})]


def _kept(row: Raw) -> Raw | None:
    if row["type"] == "attachment":  # they stand in the chain of the messages
        return {name: row[name] for name in _OF_ATTACHMENTS}
    return None if row["type"] in _DROPPED else row


class ClaudeCode(Program):
    name = "claude-code"
    version = "2.1.332"
    packages = (f"@anthropic-ai/claude-code@{version}",)
    command = "node_modules/.bin/claude"
    store = ".claude/projects"
    variables: ClassVar = {
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }
    own_texts = (r"\[Request interrupted by user\]", r"No response requested\.")
    story = Story(_shell, _agent)

    def script(self) -> Script:
        return self.story.script("create a detailed summary", "RECENT portion of the conversation")

    def set_up(self, world: World) -> None:
        known = {"hasCompletedOnboarding": True}
        approved = {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
        trusted = {"projects": {str(world.project): {"hasTrustDialogAccepted": True}}}
        (world.home / ".claude.json").write_text(json.dumps(known | approved | trusted))

    def turn(self, world: World, turn: Turn, session: str | None = None, *more: str) -> str:
        """Say something, and return the session's id."""
        image = {"type": "base64", "media_type": "image/png", "data": square_base64()}
        content = [{"type": "image", "source": image}] if turn.image else []
        content.append({"type": "text", "text": turn.said})
        given = {"type": "user", "message": {"role": "user", "content": content}}
        command = [self.start(world), "-p", "--allowedTools", "Bash", "--verbose"]
        command += ["--input-format", "stream-json", "--output-format", "stream-json"]
        resumed = ["--resume", session] if session else []
        printed = world.run(*command, *resumed, *more, given=json.dumps(given) + "\n")
        return str(json.loads(printed.strip().splitlines()[-1])["session_id"])

    @contextmanager
    def screen(self, world: World, session: str, shown: str) -> Iterator[Terminal]:
        """Open a session in a terminal, and wait until these words are shown."""
        with world.terminal(self.start(world), "--resume", session) as terminal:
            terminal.wait_for(shown)
            terminal.press("C-l", after=1)
            yield terminal
            terminal.press("C-c", "C-c", after=1)

    def rewind(self, terminal: Terminal, up: int, choice: str) -> None:
        """Go so many messages of the user up in the menu, and choose: `1` restores, `2` summarises
        from there on, `3` up to there."""
        terminal.order("/rewind", "Restore the code")
        terminal.press(*["Up"] * up, "Enter")
        terminal.wait_for("Never mind")
        terminal.press(*["Down"] * (int(choice) - 1), "Enter", after=1)

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.picture, one.helper]
        session = None
        for turn in begun:
            session = self.turn(world, turn, session)
        assert session is not None
        with self.screen(world, session, "The helper says") as terminal:
            self.say(world, terminal, one.sell)
            self.rewind(terminal, 1, "1")
            terminal.press("C-u")
            self.say(world, terminal, one.paint)
        self.turn(world, one.tide, session, "--fork-session")
        with self.screen(world, session, "All are blue.") as terminal:
            terminal.order("/compact", "Compacted")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape", after=2)
            terminal.wait_for("Interrupted")
        start = lines_of(*begun)
        trees = [
            {
                "current": [*start, *lines_of(one.paint), SUMMARISED, *lines_of(one.colour, one.long)],
                "rewound": [*start, *lines_of(one.sell)],
                "fork": [*start, *lines_of(one.paint, one.tide)],
            }
        ]
        for choice in ("3", "2"):
            session = self.turn(world, one.depth)
            for turn in (one.sell, one.paint, one.tide):
                self.turn(world, turn, session)
            with self.screen(world, session, "At six.") as terminal:
                self.rewind(terminal, 2, choice)
                terminal.wait_for("ummarized")
                terminal.press("C-e")
                terminal.press("C-u")
                self.say(world, terminal, one.colour)
        above, below = lines_of(one.depth, one.sell), lines_of(one.paint, one.tide)
        after = [SUMMARISED, *lines_of(one.colour)]
        trees.append({"summarised up to": [*above, *below, *after]})
        trees.append({"summarised from": [*above, *after], "what was summarised": [*above, *below]})
        return Told(trees, {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world, [("/tmp/claude-0", "/home/ann/.cache")])
        [project] = (world.home / ".claude/projects").iterdir()
        for source in sorted(project.rglob("*.json*")):
            target = fixtures / "projects" / cutting.text(str(source.relative_to(project.parent)))
            if source.suffix == ".json":
                cutting.json(source, target)
            else:
                cutting.lines(source, target, _kept, _MEMBERS)

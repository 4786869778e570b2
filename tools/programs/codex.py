"""Codex: a rollout in `~/.codex/sessions` for each session, rewind and fork, as JSON Lines."""

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Raw, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import SUMMARISED, Story, Turn, lines_of, square
from tools.programs.world import KEY, World

_CONFIG = """
model = "stand-in"
model_provider = "stand-in"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.stand-in]
name = "stand-in"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
[analytics]
enabled = false
[projects."{project}"]
trust_level = "trusted"
"""
_EVENTS = {"thread_settings_applied", "task_started", "task_complete", "item_completed", "token_count"}
_A_WHILE = 40 * 86_400
_MEMBERS = {"base_instructions", "git", "dynamic_tools", "state", "encrypted_content", "permission_profile"}


def _shell(command: str) -> Call:
    return Call("exec_command", {"cmd": command})


def _agent(prompt: str) -> list[Call]:
    def started(result: str) -> Raw:
        found = re.search(r'"agent_id":\s*"([^"]+)"', result)
        return {"targets": [found.group(1) if found else ""], "timeout_ms": 30_000}

    return [
        Call("multi_agent_v1.spawn_agent", {"message": prompt}),
        Call("multi_agent_v1.wait_agent", started),
    ]


def _kept(row: Raw) -> Raw | None:
    return None if row["payload"].get("type") in _EVENTS else row


class Codex(Program):
    name = "codex"
    version = "0.171.0"
    packages = (f"@openai/codex@{version}",)
    command = "node_modules/.bin/codex"
    store = ".codex/sessions"
    keeps_images = False
    variables: ClassVar = {"STAND_IN_KEY": KEY}
    story = Story(_shell, _agent)

    def script(self) -> Script:
        return self.story.script("CONTEXT CHECKPOINT")

    def set_up(self, world: World) -> None:
        folder = world.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(_CONFIG.format(url=world.stand_in.url, project=world.project))
        (world.folder / "square.png").write_bytes(square())

    def goes_on(self, world: World, command: Sequence[str], said: str) -> list[str]:  # noqa: ARG002
        return ["exec", "--skip-git-repo-check", *command, said]

    def turn(self, world: World, turn: Turn, session: str | None = None, how: str = "resume") -> str:
        """Say something, and return the session's id. how: `resume` or `fork`."""
        above = [how, session] if session else []
        image = ["--image", str(world.folder / "square.png"), "--"] if turn.image else []
        command = [self.start(world), "exec", "--json", "--skip-git-repo-check", *above, *image, turn.said]
        printed = world.run(*command)
        started = next(line for line in printed.splitlines() if "thread.started" in line)
        return str(json.loads(started)["thread_id"])

    def tidy(self, world: World) -> bool:
        """Let Codex pack its sessions, as it does with those that nobody has used for a while."""
        for path in (world.home / ".codex/sessions").rglob("*.jsonl"):
            os.utime(path, (time.time() - _A_WHILE,) * 2)
        with world.terminal(self.start(world), "--enable", "local_thread_store_compression"):
            end = time.monotonic() + 60
            while not [*(world.home / ".codex/sessions").rglob("*.zst")] and time.monotonic() < end:
                time.sleep(0.5)
        return bool([*(world.home / ".codex/sessions").rglob("*.zst")])

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.picture, one.helper]
        session = None
        for turn in [*begun, one.sell]:
            session = self.turn(world, turn, session)
        assert session is not None
        with world.terminal(self.start(world), "resume", session) as terminal:
            terminal.wait_for("All are sold.")
            terminal.press("Escape", "Escape", "Enter", after=1)
            terminal.wait_for("Conversation reverted")
            terminal.press("C-u")
            self.say(world, terminal, one.paint)
            terminal.press("C-c", "C-c", after=1)
        self.turn(world, one.tide, session, "fork")
        with world.terminal(self.start(world), "resume", session) as terminal:
            terminal.wait_for("All are blue.")
            terminal.order("/compact", "Context compacted")
            self.say(world, terminal, one.colour)
            self.say(world, terminal, one.long)
            terminal.press("Escape", after=2)
            terminal.wait_for("interrupted")
            terminal.press("C-c", "C-c", after=1)
        start = lines_of(*begun)
        stopped = [("user", one.long.said)]  # what was streamed of the answer is not kept
        trees = [
            {
                "current": [*start, *lines_of(one.paint), SUMMARISED, *lines_of(one.colour), *stopped],
                "rewound": [*start, *lines_of(one.sell)],
                "fork": [*start, *lines_of(one.paint, one.tide)],
            }
        ]
        return Told(trees, {one.weather.said: lines_of(one.weather)})

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        sessions = world.home / ".codex/sessions"
        for source in sorted(sessions.rglob("*.jsonl")):
            cutting.lines(source, fixtures / "sessions" / source.relative_to(sessions), _kept, _MEMBERS)

"""The agent programs: where each keeps its sessions, and how it goes on with one.

Seen with the versions that `tools/programs` names.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from forklore.exporting.programs.talks import Talk, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program.

    name: of its format, too. title: as people call it. folder: of all its sessions, below the home
    folder. variable: of the environment, that names another folder in place of the `parts` of it
    up to there. sessions: patterns of the files that are read as sessions. beside: patterns of what
    also belongs to one, from the file's own folder. table: of a database, that has the ids of its
    sessions as `id`. resumed: the command that goes on with a
    session of its own; None for a program that cannot. writer: a module of `exporting.programs`.
    install: how people get it.
    """

    name: str
    title: str
    folder: str
    sessions: Sequence[str]
    beside: Sequence[str] = ()
    table: str = ""
    variable: str = ""
    below: str = ""
    resumed: Sequence[str] | None = None
    writer: str | None = None
    install: str = ""

    def home(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Return the folder of the program. home: of the user."""
        given = environment.get(self.variable) if self.variable else None
        return Path(given) / self.below if given else home / self.folder

    def files(self, folder: Path) -> Iterator[Path]:
        """Yield the files of sessions in the program's folder."""
        for pattern in self.sessions:
            yield from (path for path in folder.glob(pattern) if os.path.isfile(path))  # noqa: PTH113

    def parts_of(self, path: Path) -> Iterator[Path]:
        """Yield a session's file and what belongs to it."""
        yield path
        for pattern in self.beside:
            yield from path.parent.glob(pattern.format(stem=path.stem))

    def written(self, talk: Talk) -> Written:
        """Return a talk as a session of the program. Only with a `writer`."""
        assert self.writer is not None, self.name
        module = import_module(f"forklore.exporting.programs.{self.writer}")
        made: Written = module.written(talk)
        return made

    def id_in(self, printed: str) -> str | None:
        """Return the id of the session that the program says to have made."""
        module = import_module(f"forklore.exporting.programs.{self.writer}")
        found = module.PRINTED.search(printed)
        return found[1] if found else None


_DATABASE = ("{stem}.db-wal",)

PROGRAMS = (
    Program(
        name="claude-code",
        title="Claude Code",
        folder=".claude",
        variable="CLAUDE_CONFIG_DIR",
        sessions=("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"),
        beside=("{stem}.meta.json",),
        resumed=("claude", "--resume", "{session}"),
        writer="claude_code",
        install="npm install -g @anthropic-ai/claude-code",
    ),
    Program(
        name="codex",
        title="Codex",
        folder=".codex",
        variable="CODEX_HOME",
        sessions=("sessions/*/*/*/rollout-*.jsonl*", "archived_sessions/rollout-*.jsonl*"),
        resumed=("codex", "resume", "{session}"),
        writer="codex",
        install="npm install -g @openai/codex",
    ),
    Program(
        name="opencode",
        title="opencode",
        folder=".local/share/opencode",
        variable="XDG_DATA_HOME",
        below="opencode",
        sessions=("opencode.db",),
        beside=_DATABASE,
        table="session",
        resumed=("opencode", "--session", "{session}"),
        writer="opencode",
        install="npm install -g opencode-ai",
    ),
    Program(
        name="pi",
        title="pi",
        folder=".pi/agent",
        variable="PI_CODING_AGENT_DIR",
        sessions=("sessions/*/*.jsonl",),
        resumed=("pi", "--session", "{file}"),
        writer="pi",
        install="npm install -g @earendil-works/pi-coding-agent",
    ),
    Program(
        name="copilot-cli",
        title="Copilot CLI",
        folder=".copilot",
        variable="COPILOT_HOME",
        sessions=("session-state/*/events.jsonl",),
        beside=("workspace.yaml",),
        resumed=("copilot", "--resume={session}"),
        writer="copilot",
        install="npm install -g @github/copilot",
    ),
    Program(
        name="gemini-cli",
        title="Gemini CLI",
        folder=".gemini",
        sessions=("tmp/*/chats/session-*.json*", "tmp/*/chats/*/*.jsonl"),
        resumed=("gemini", "--resume", "{session}"),
        writer="gemini",
        install="npm install -g @google/gemini-cli",
    ),
    Program(
        name="qwen-code",
        title="Qwen Code",
        folder=".qwen",
        sessions=("projects/*/chats/*.jsonl", "projects/*/subagents/*/*.jsonl"),
        beside=("{stem}.meta.json",),
        resumed=("qwen", "--resume", "{session}"),
        writer="qwen",
        install="npm install -g @qwen-code/qwen-code",
    ),
    Program(
        name="goose",
        title="Goose",
        folder=".local/share/goose",
        variable="XDG_DATA_HOME",
        below="goose",
        sessions=("sessions/sessions.db",),
        beside=_DATABASE,
        table="sessions",
        resumed=("goose", "session", "--resume", "--session-id", "{session}"),
        writer="goose",
        install="npm install -g @aaif/goose",
    ),
    Program(
        name="cline",
        title="Cline",
        folder=".cline",
        sessions=("data/sessions/*/*.messages.json",),
        beside=("*.json",),
    ),
    Program(
        name="llm",
        title="llm",
        folder=".config/io.datasette.llm",
        variable="LLM_USER_PATH",
        sessions=("logs.db",),
        beside=_DATABASE,
        table="threads",
        resumed=("llm", "chat", "--cid", "{session}"),
        writer="llm",
        install="pip install llm",
    ),
    Program(
        name="openhands",
        title="OpenHands",
        folder=".openhands",
        sessions=("conversations/*/base_state.json",),
        beside=("events/*",),
        resumed=("openhands", "--resume", "{session}"),
        writer="openhands",
        install="pip install openhands",
    ),
    Program(
        name="kimi-code",
        title="Kimi Code",
        folder=".kimi-code",
        sessions=("sessions/*/*/agents/*/wire.jsonl",),
        beside=("../../state.json",),
    ),
    Program(
        name="continue",
        title="Continue",
        folder=".continue",
        variable="CONTINUE_GLOBAL_DIR",
        sessions=("sessions/*-*.json",),
        resumed=("cn", "--fork", "{session}"),
        writer="continue_cli",
        install="npm install -g @continuedev/cli",
    ),
)
NAMES = {one.name: one for one in PROGRAMS}
"""The programs by their names."""

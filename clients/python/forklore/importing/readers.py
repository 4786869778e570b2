"""The formats that an import reads, and how one is told from the others.

Other packages add theirs by entry points.

An entry point of the group `forklore.importers` names an `Importer`. `examples/importer` has one.
"""

import sqlite3
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ForeignTree, ImportReport, UnknownFormatError
from forklore.importing.formats import (
    chatgpt,
    claude,
    claude_code,
    cline,
    codex,
    continue_cli,
    copilot,
    gemini,
    goose,
    kimi,
    librechat,
    llama_webui,
    llm,
    message_trees,
    messages,
    open_webui,
    openai_agents,
    opencode,
    openhands,
    own_lines,
    pi,
    qwen,
    sillytavern,
)
from forklore.importing.formats.own_lines import ForkTree
from forklore.importing.held_files import Held
from forklore.importing.plain_conversations import Read, finished, trees_of
from forklore.importing.sources import Source, columns_of

GROUP = "forklore.importers"


@dataclass(frozen=True, slots=True)
class Importer:
    """A format.

    name: as `--format` takes it, and the value of the tag `program` of what is imported. title: as
    people call it. is_of: whether an object, one of the first of a file, proves this format: by a
    member that no other one has. read: yields the conversations of a file. tables: what proves a
    database of it: the columns of tables. joins: several files of a folder may hold parts, copies
    and children of one session; they are read together. is_general: it is taken only where no other
    format is proved.
    """

    name: str
    title: str
    is_of: Callable[[Mapping[str, Any]], bool]
    read: Read
    tables: Mapping[str, Collection[str]] = field(default_factory=dict)
    joins: bool = False
    is_general: bool = False

    def trees(
        self,
        records: Iterable[FileRecord],
        report: ImportReport,
        held: Held | None = None,
        passed: Container[str] = (),
    ) -> Iterator[ForeignTree]:
        """Yield the trees of a source, or of records. held: the files that messages may name.
        passed: the ids of the trees that are not among the records."""
        source = records if isinstance(records, Source) else Source(records)
        source.report = report
        source.records = finished(source.records, report, skips=self.joins)
        found = self.read(source, report)
        return trees_of(found, self.name, report, held or Held(), passed, joins=self.joins)


def _has(name: str, kind: type) -> Callable[[Mapping[str, Any]], bool]:
    return lambda value: isinstance(value.get(name), kind)


BUILT_IN = (
    Importer("chatgpt", "a ChatGPT export", _has("mapping", dict), chatgpt.conversations_of),
    Importer("claude", "a Claude export", _has("chat_messages", list), claude.conversations_of),
    Importer("trees", "message trees", message_trees.is_tree, message_trees.conversations_of),
    Importer("claude-code", "Claude Code", claude_code.is_row, claude_code.conversations_of, joins=True),
    Importer("codex", "Codex", codex.is_line, codex.conversations_of, joins=True),
    Importer("open-webui", "Open WebUI", open_webui.is_chat, open_webui.conversations_of),
    Importer("librechat", "LibreChat", librechat.is_conversation, librechat.conversations_of),
    Importer("sillytavern", "SillyTavern", sillytavern.is_line, sillytavern.conversations_of),
    Importer("gemini-cli", "Gemini CLI", gemini.is_session, gemini.conversations_of, joins=True),
    Importer("qwen-code", "Qwen Code", qwen.is_row, qwen.conversations_of, joins=True),
    Importer("pi", "pi", pi.is_line, pi.conversations_of, joins=True),
    Importer("copilot-cli", "Copilot CLI", copilot.is_line, copilot.conversations_of, joins=True),
    Importer(
        "opencode", "opencode", opencode.is_export, opencode.conversations_of, opencode.TABLES, joins=True
    ),
    Importer("goose", "Goose", goose.is_session, goose.conversations_of, goose.TABLES, joins=True),
    Importer("cline", "Cline", cline.is_session, cline.conversations_of, joins=True),
    Importer("openhands", "OpenHands", openhands.is_state, openhands.conversations_of, joins=True),
    Importer("continue", "Continue", continue_cli.is_session, continue_cli.conversations_of, joins=True),
    Importer("kimi-code", "Kimi Code", kimi.is_line, kimi.conversations_of, joins=True),
    Importer("llm", "llm", llm.is_record, llm.conversations_of, llm.TABLES, joins=True),
    Importer(
        "openai-agents",
        "an AdvancedSQLiteSession",
        openai_agents.is_of,
        openai_agents.conversations_of,
        openai_agents.TABLES,
    ),
    Importer("llama-webui", "llama.cpp's web interface", llama_webui.is_export, llama_webui.conversations_of),
    Importer("messages", "messages", messages.is_messages, messages.conversations_of, is_general=True),
)
OWN = "forklore"
"""The format of forklore's own lines, which hold more than conversations of messages."""


@cache
def importers() -> Mapping[str, Importer]:
    """Return the formats by name: those of other packages first, in the order of their names."""
    added = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return {one.name: one for one in (*(point.load() for point in added), *BUILT_IN)}


def format_names() -> list[str]:
    """Return the names that `--format` takes."""
    return [*importers(), OWN]


def format_of(value: Any) -> str | None:
    """Return the name of the format that an object of a file has; None if none is known.

    Raises UnknownFormatError if several formats take it for theirs.
    """
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, Mapping):
        return None
    if value.get("type") == "header" and value.get("format") == OWN:
        return OWN
    proved = [one for one in importers().values() if one.is_of(value)]
    if all(one.is_general for one in proved) and _named_elsewhere(value) is not None:
        return None
    return _the_one(proved)


def format_of_database(database: sqlite3.Connection) -> str:
    """Return the name of the format of a database. Raises UnknownFormatError."""
    columns = columns_of(database)
    proved = [
        one
        for one in importers().values()
        if one.tables and all(set(of) <= columns.get(name, set()) for name, of in one.tables.items())
    ]
    name = _the_one(proved)
    if name is None:
        what = next((what for what, table, of in _INDEXES if of <= columns.get(table, set())), None)
        said = "a SQLite database of no program that is known: export from it first"
        raise UnknownFormatError(said if what is None else f"looks like {what}")
    return name


def _the_one(found: Sequence[Importer]) -> str | None:
    proved = [one for one in found if not one.is_general] or found
    if len(proved) > 1:
        names = " and of ".join(one.name for one in proved)
        raise UnknownFormatError(f"it looks like a file of {names}: --format says which")
    return proved[0].name if proved else None


def read_records(
    name: str, records: Source, report: ImportReport, held: Held, passed: Container[str] = ()
) -> Iterator[ForeignTree] | Iterator[ForkTree]:
    """Yield the trees of a file's records, which have the format of this name.

    The others are as for `Importer.trees`.
    """
    if name == OWN:
        return own_lines.fork_trees_of(records, report)
    return importers()[name].trees(records, report, held, passed)


_TELEGRAM = ("personal_chat", "private_group", "private_supergroup", "saved_messages", "bot_chat")
_VIBE = (
    {"parent_session_id", "child_sessions"},
    {"generationStatus", "turnId"},
    {"manifest_version", "projection_state"},
    {"recovery_journal_record_version", "payload"},
)
"""Members of records of Mistral Vibe, which keeps a session in many files."""
_ELSEWHERE: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("a Gemini takeout", lambda value: str(value.get("header", "")).startswith(("Gemini", "Bard"))),
    ("a Google AI Studio prompt", lambda value: "chunkedPrompt" in value),
    ("a Copilot chat of VS Code", lambda value: "requests" in value and "responderUsername" in value),
    ("a Discord export", lambda value: "guild" in value and "channel" in value),
    ("a Telegram export", lambda value: "messages" in value and value.get("type") in _TELEGRAM),
    ("a Slack export", lambda value: {"type", "ts", "user"} <= value.keys()),
    ("a session of Mistral Vibe", lambda value: any(of <= value.keys() for of in _VIBE)),
    ("projects of a Claude archive", lambda value: {"uuid", "docs"} <= value.keys()),
    ("the memory of a Claude archive", lambda value: "conversations_memory" in value),
    ("a copy of a table: see forklore copy-table", lambda value: value.get("format") == "forklore-table"),
)
"""What people have, and no reader takes: how each is called, and how it is recognised."""


_INDEXES = (
    ("Copilot CLI's index: import its folder session-state", "turns", {"user_message", "assistant_response"}),
    ("Cline's list of sessions: import its folder sessions", "sessions", {"session_id", "messages_path"}),
)
"""Databases that list what is elsewhere: how each is called, and a table with columns of it."""


def other_than(given: str, value: Any) -> str:
    """Return what is said of a file without trees whose first value is of another format."""
    try:
        kind = format_of(value)
    except UnknownFormatError as error:
        return f"; {error}"
    return "" if kind in (None, given) else f"; it looks like {kind}: leave --format out"


def _named_elsewhere(value: Mapping[str, Any]) -> str | None:
    """Return what an object is called that no reader takes; None if it is not recognised."""
    return next((what for what, is_of in _ELSEWHERE if is_of(value)), None)


def refusal(value: Any) -> str:
    """Return why a file is not imported whose first object is of no format that is known."""
    what = _named_elsewhere(value) if isinstance(value, Mapping) else None
    said = "no format that is known" if what is None else f"looks like {what}: not supported"
    return f"{said}; --format forces one of: {', '.join(format_names())}"

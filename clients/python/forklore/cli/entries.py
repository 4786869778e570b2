"""How entries are shown."""

from collections.abc import Iterable, Mapping
from typing import Any

from forklore.cli.output import Output, Part, moment
from forklore.client import jsontext
from forklore.client.generated.results import ConversationDetails, Entry
from forklore.client.messages import role_of, said_at, time_in
from forklore.client.parts import OF_MESSAGE, files_in, line_of, lines_in, words_in
from forklore.client.spoken import HISTORY

STYLES = {"user": "green", "ai": "cyan", "system": "magenta", "tool": "blue"}
INDENT = "    "
ERASED = "[erased]"
"""What is shown of an entry whose author was erased."""


def show_entry(out: Output, entry: Entry, *, is_first: bool = True) -> None:
    """Write an entry as `git log` writes a commit."""
    if not is_first:
        out.line()
    out.line((f"entry {entry.id}", "yellow"), *_notes(entry))
    out.line(author_part(entry), GAP_BEFORE_TIME, (f"{moment(said_at(entry))} UTC", "dim"))
    out.line()
    out.text(text_to_show(entry), indent=INDENT)


def show_entries(out: Output, entries: Iterable[Entry], *, oneline: bool, at_once: bool = False) -> None:
    """Write entries, with `--json` as JSON. at_once: hand on each, whose next one may come late."""
    for place, entry in enumerate(entries):
        if out.is_json:
            out.result(entry)
        elif oneline:
            show_on_one_line(out, entry)
        else:
            show_entry(out, entry, is_first=place == 0)
        if at_once:
            out.flush()


GAP_BEFORE_TIME = "  "


def show_on_one_line(out: Output, entry: Entry) -> None:
    """Write the entry's id, its author, and the beginning of its text."""
    text = " ".join(text_to_show(entry).split())
    if out.is_terminal:
        from rich.cells import cell_len, set_cell_size

        left = max(10, out.width - len(entry.id) - len(role_of(entry) or entry.content_type) - 3)
        if cell_len(text) > left:
            text = f"{set_cell_size(text, left - 1)}…"
    out.line((entry.id, "yellow"), " ", role_part(entry), " ", text)


def used_at(one: ConversationDetails, otherwise: str) -> str:
    """Return when something was said last in a conversation.

    An imported one tells it, as long as it has no more entries than the import gave it.
    """
    source = one.metadata.get("source")
    entries = source.get("entries") if isinstance(source, Mapping) else None
    at = time_in(source, "saidAt")
    return at if at and isinstance(entries, int) and one.metrics.entries <= entries else otherwise


def role_part(entry: Entry) -> tuple[str, str]:
    """Return who says it: `user`, `ai`, `system`, `tool`, or else what the entry holds."""
    role = role_of(entry)
    return (role, STYLES[role]) if role else (entry.content_type, "dim")


def author_part(entry: Entry) -> Part:
    """Return who says it, and on whose behalf."""
    role, style = role_part(entry)
    via = "".join(f" via {one}" for one in (entry.client_id, entry.agent_id) if one)
    return (f"{role} ({entry.user_id}{via})", style)


def text_to_show(entry: Entry) -> str:
    """Return the texts of an entry's elements; an element without text as JSON."""
    if entry.erased:
        return ERASED
    names = {one.id: one.name for one in entry.attachments}
    return "\n".join(_shown(_named(element, names), entry.content_type) for element in entry.content)


def _named(element: Any, names: Mapping[str, str]) -> Any:
    """Return an element whose attachments have names. names: by the attachment's id."""
    if not names or not isinstance(element, Mapping) or not isinstance(element.get("attachments"), list):
        return element
    files = [
        {"name": names[one["id"]], **one} if isinstance(one, Mapping) and one.get("id") in names else one
        for one in element["attachments"]
    ]
    return {**element, "attachments": files}


def _shown(element: Any, content_type: str) -> str:
    if content_type == HISTORY and isinstance(element, Mapping) and not element.keys() - OF_MESSAGE:
        lines = list(lines_in(element))
        if lines or "text" in element:
            return "\n".join(lines)
    text = words_in(element)
    if text is None or not isinstance(element, Mapping):
        return jsontext.write(element) if text is None else text
    return "\n".join([text, *map(line_of, files_in(element))])


def _notes(entry: Entry) -> list[Part]:
    notes: list[Part] = []
    if entry.key:
        notes.append((f" @{entry.key}", "cyan"))
    if entry.epoch is not None:
        notes.append((f" epoch {entry.epoch}", "dim"))
    if entry.merged_from_conversation_id:
        notes.append((f" merged from {entry.merged_from_conversation_id}", "magenta"))
    if entry.copied_from_conversation_id:
        notes.append((f" copied from {entry.copied_from_conversation_id}", "dim"))
    return notes

"""What is searched of an entry, by its words and by its meaning."""

from typing import Any, NamedTuple

from forklore_service.domain import content, jsontext, matching
from forklore_service.domain.model import Entry


class Searched(NamedTuple):
    """What is searched of an entry. folded: the texts, then others, as of `matching.fold`."""

    line: content.Line
    texts: list[str]
    folded: list[str]


def searched(entry: Entry, body: str) -> Searched:
    """Return what is searched of an entry. body: its content."""
    value = jsontext.read_value(body)
    texts, line = _texts(entry, value), content.line_of(value)
    return Searched(line, texts, _folded(entry, texts, has_failed=line.has_failed))


def folded_of(entry: Entry, body: str) -> list[str]:
    """Return what is searched of an entry in folded case, without its line. body: its content."""
    value = jsontext.read_value(body)
    return _folded(entry, _texts(entry, value), has_failed=content.has_failed(value))


def _folded(entry: Entry, texts: list[str], *, has_failed: bool) -> list[str]:
    failed = [content.FAILED] if has_failed else []
    return [*map(matching.fold, texts), *unseen(entry), *failed]


def texts_of(entry: Entry, body: str) -> list[str]:
    """Return the texts that are searched of an entry. body: its content."""
    return _texts(entry, jsontext.read_value(body))


def _texts(entry: Entry, value: Any) -> list[str]:
    return [*content.searched_texts(value), *file_names(entry)]


def file_names(entry: Entry) -> list[str]:
    return [file.name for file in entry.attachments]


def unseen(entry: Entry) -> list[str]:
    """Return what finds an entry and is not shown as text of it, in folded case."""
    return [matching.fold(text) for text in (entry.indexed_content, entry.agent_id) if text]

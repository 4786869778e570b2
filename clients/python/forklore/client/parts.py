"""What an imported message says, as people read it: words, thoughts, tools and files, in order."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from forklore.client import jsontext
from forklore.client.generated.results import Entry
from forklore.client.spoken import said, text_in

Part = Mapping[str, Any]
OF_MESSAGE = {"role", "text", "events", "attachments", "source"}
"""What a message has that an import or a person has written. Adapters keep more."""


_FILES = ("file", "image", "image_url", "input_image", "input_file", "document")
"""Parts that name a file, or hold its bytes as a provider of models takes them."""
_NAMES = ("name", "filename", "title")


def is_shown(entry: Entry) -> bool:
    """Return whether an entry is a message, names files, or has a text.

    Others are records of programs.
    """
    is_message = entry.erased or entry.role is not None or entry.attachments
    return bool(is_message) or any((words_in(element) or "").strip() for element in entry.content)


def words_in(element: Any) -> str | None:
    """Return the text of an element; None for an element without one."""
    return element if isinstance(element, str) else text_in(element)


def parts_in(element: Mapping[str, Any]) -> Iterator[Part]:
    """Yield what an element says: its `text`, the parts among its `events`, and its files."""
    text, events = element.get("text"), _listed(element.get("events"))
    words = text if isinstance(text, str) else ""
    if words and not any(_is_place(event.get("textAt")) for event in events):
        yield {"type": "text", "text": words}
    for event in events:
        at = event.get("textAt")
        yield {"type": "text", "text": _between(words, at)} if _is_place(at) else event
    yield from files_in(element)


def attached_in(element: Mapping[str, Any]) -> list[Part]:
    """Return the files of an element, as it has them."""
    return _listed(element.get("attachments"))


def files_in(element: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the files of an element: what names each best."""
    for file in attached_in(element):
        named = (file.get(member) for member in ("name", "attachmentId", "href", "id"))
        yield {"type": "file", "name": next(filter(None, named), None)}


def lines_in(element: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an element says, part by part.

    Calls and results of tools are spelled as the adapters spell them.

    >>> list(lines_in({"text": "Yes.", "events": [{"type": "tool_use", "name": "pay"}]}))
    ['Yes.', '[calls pay {}]']
    """
    return map(line_of, parts_in(element))


def _is_place(at: Any) -> TypeGuard[list[int]]:
    return isinstance(at, list) and len(at) == 2 and all(isinstance(one, int) for one in at)


def _between(text: str, at: list[int]) -> str:
    """Return a piece of a text between two places, as units of UTF-16."""
    start, end = at
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


def line_of(part: Part) -> str:
    """Return what a part says."""
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in _FILES:
        held = part["file"] if isinstance(part.get("file"), Mapping) else part
        return f"[file {next((held[one] for one in _NAMES if held.get(one)), kind)}]"
    if kind in ("thinking", "reasoning", "thoughts", "reasoning_recap"):
        held = next(
            (part[name] for name in ("thinking", "thoughts", "summary", "content") if part.get(name)), ""
        )
        return f"[thinks: {said(held)}]"
    if kind in ("tool_use", "server_tool_use"):
        return f"[calls {part.get('name')} {said(part.get('input', {}))}]"
    if isinstance(kind, str) and kind.endswith("tool_result"):
        failed = "failed with" if part.get("is_error") is True else "returned"
        return f"[{part.get('name') or 'tool'} {failed} {said(part.get('content', ''))}]"
    if kind == "extracted_text":
        return f"[text of {part.get('name')}]\n{part.get('text')}"
    return jsontext.write(part)


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []

"""Who says an entry, and what: the role and the text of its first element."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

from forklore.client import jsontext

HISTORY: Final = "history"
CONTEXT: Final = "context"
ROLES: Mapping[str, str] = {
    "user": "USER",
    "human": "USER",
    "ai": "AI",
    "assistant": "AI",
    "system": "SYSTEM",
    "tool": "TOOL",
}
"""What the service calls the author of a message, by what callers say, in any case of letters."""


class Spoken:
    """What all entries have beside their members."""

    channel: str
    content: list[Any]

    @property
    def role(self) -> str | None:
        """The author of a message: `user`, `ai`, `system` or `tool`; None for another entry."""
        held = self._first.get("role")
        return ROLES.get(held.lower(), "").lower() or None if isinstance(held, str) else None

    @property
    def text(self) -> str | None:
        """The text of a message, or that of its parts; None for an entry without one."""
        return text_in(self._first)

    @property
    def _first(self) -> Mapping[str, Any]:
        first = self.content[0] if self.channel == HISTORY and self.content else None
        return first if isinstance(first, Mapping) else {}


def text_in(element: Any) -> str | None:
    """Return the text of an element, or that of its parts; None for an element without one.

    The text of a tool's result is what the tool has said.

    >>> text_in({"content": [{"type": "text", "text": "What"}, {"type": "text", "text": "is it?"}]})
    'What\\nis it?'
    >>> text_in({"content": [{"type": "tool_result", "content": "wet"}]})
    'wet'
    """
    held = element if isinstance(element, Mapping) else {}
    own, content = held.get("text"), held.get("content")
    if own and isinstance(own, str):
        return own
    parts = next((one for one in (content, held.get("events")) if is_parts(one)), ())
    texts = [one for one in map(_text_of_part, parts) if one is not None]
    return "\n".join(texts) if texts else own if isinstance(own, str) else None


def _text_of_part(part: Mapping[str, Any]) -> str | None:
    kind, text = part.get("type"), part.get("text")
    if isinstance(text, str):
        return text
    is_result = isinstance(kind, str) and kind.endswith(("tool_result", "_call_output"))
    return said(part.get("content", part.get("output", ""))) if is_result else None


def said(value: Any) -> str:
    """Return the words in a value: a text, or the texts of parts; without any the value as JSON."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    texts = [_words_of(part) for part in parts]
    return "\n".join(text for text in texts if text) if all(texts) and texts else jsontext.write(value)


def _words_of(part: Any) -> str:
    if not isinstance(part, Mapping):
        return part if isinstance(part, str) else ""
    texts = [part.get("summary"), part.get("text") or part.get("content")]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def is_parts(given: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    """Tell whether a value is a list of parts, and not empty."""
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(one, Mapping) for one in given)

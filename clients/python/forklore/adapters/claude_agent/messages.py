"""Lines of a transcript as messages of the history, and messages as appends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forklore.adapters.files import Stored, attachments
from forklore.adapters.storable import checked_size, shortened
from forklore.client.generated.limits import APPEND_ENTRIES_MAX, ATTACHMENTS_PER_ENTRY_MAX, packs

Line = Mapping[str, Any]

BYTES_MAX = 2_450_000
"""Of the lines in one append, as the service counts them.

It takes 2,500,000 for an entry and 5,000,000 for an append. A text adds at most 48,000 to an entry:
12 for each of TEXT_MAX characters. So all texts of 50 entries fit, too.
"""
TEXT_MAX = 4_000
"""Characters of a message's text. The lines have the whole of it."""
USER, AI, SYSTEM = "USER", "AI", "SYSTEM"


@dataclass
class Message:
    """Lines that are stored as one entry.

    role: None as long as no line says who speaks. size: bytes of the lines. stored: what is stored
    of each line.
    """

    role: str | None = None
    size: int = 0
    lines: list[Line] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)

    def content(self) -> list[dict[str, Any]]:
        """Return the content of the entry. `lines` has the transcript's lines."""
        said = [text for line in self.lines for text in texts_of(line)]
        text = "\n\n".join(said) if said else ", ".join(str(line.get("type")) for line in self.lines)
        return [
            {
                "role": self.role or SYSTEM,
                "text": shortened(text, TEXT_MAX),
                "lines": [one.value for one in self.stored],
                **attachments(self.stored),
            }
        ]


def appends_of(lines: Sequence[Line], stored: Sequence[Stored]) -> list[list[Message]]:
    """Return what is appended for a batch of lines: the messages of each append, in order.

    A message is what a user says, or what follows until a user speaks again.
    Raises TooLargeError for a line that is too long for an entry.
    """
    most = APPEND_ENTRIES_MAX, BYTES_MAX
    return list(packs(messages_of(lines, stored), most, lambda message: (1, message.size)))


def messages_of(lines: Sequence[Line], stored: Sequence[Stored]) -> Iterator[Message]:
    """Yield the messages that a batch of lines is stored as. Each line is in one of them."""
    message = Message()
    for line, kept in zip(lines, stored, strict=True):
        role, size = role_of(line), checked_size("a line of a transcript", kept.value, BYTES_MAX)
        speaks_next = role is not None and message.role is not None and USER in (role, message.role)
        files = {one for each in (*message.stored, kept) for one in each.ids} if kept.ids else ()
        is_full = message.size + size > BYTES_MAX or len(files) > ATTACHMENTS_PER_ENTRY_MAX
        if message.lines and (speaks_next or is_full):
            yield message
            message = Message(None if speaks_next else message.role)
        message.role = message.role or role
        message.size += size
        message.lines.append(line)
        message.stored.append(kept)
    yield message


def role_of(line: Line) -> str | None:
    """Return who speaks in a line. None: nobody, as in a title or the result of a tool."""
    kind = line.get("type")
    if kind == "assistant":
        return AI
    is_said = kind == "user" and not line.get("isMeta") and any(texts_of(line))
    return USER if is_said else None


def texts_of(line: Line) -> Iterator[str]:
    """Yield what is said in a line. The use of a tool is its name in brackets.

    >>> list(texts_of({"type": "user", "message": {"role": "user", "content": "Hello"}}))
    ['Hello']
    """
    message = line.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else None
        text = block.get("text") if kind == "text" else None
        if isinstance(text, str):
            yield text
        elif kind == "tool_use":
            yield f"[{block.get('name')}]"

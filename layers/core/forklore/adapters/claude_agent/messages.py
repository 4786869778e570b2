"""Lines of a transcript as messages of the history, and messages as appends."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forklore import InputError

Line = Mapping[str, Any]
Stored = Line | str

BYTES_MAX = 2_450_000
"""Of the lines in one append, as the service counts them.

It takes 2,500,000 for an entry and 5,000,000 for an append. A text adds at most 48,000 to an entry:
12 for each of TEXT_MAX characters. So all texts of ENTRIES_MAX entries fit, too.
"""
ENTRIES_MAX = 50
"""Of one append."""
HALVES = re.compile("[\ud800-\udfff]")
"""Of surrogate pairs: JavaScript writes them alone, UTF-8 cannot."""
LEVELS_MAX = 40
"""Of nesting in a line. The service takes 64 in a body."""
TEXT_MAX = 4_000
"""Characters of a message's text. The lines have the whole of it."""
USER, AI, SYSTEM = "USER", "AI", "SYSTEM"


@dataclass
class Message:
    """Lines that are stored as one entry.

    role: None as long as no line says who speaks. size: bytes of the lines.
    """

    role: str | None = None
    size: int = 0
    lines: list[Line] = field(default_factory=list)

    def content(self) -> list[dict[str, Any]]:
        """Return the content of the entry. `lines` has the transcript's lines."""
        said = [text for line in self.lines for text in texts_of(line)]
        text = "\n\n".join(said) if said else ", ".join(str(line.get("type")) for line in self.lines)
        return [
            {
                "role": self.role or SYSTEM,
                "text": shortened(text),
                "lines": [stored(line) for line in self.lines],
            }
        ]


def appends_of(lines: Sequence[Line]) -> list[list[Message]]:
    """Return what is appended for a batch of lines: the messages of each append, in order.

    A message is what a user says, or what follows until a user speaks again.
    Raises InputError for a line that is too long for an entry.
    """
    appends: list[list[Message]] = []
    size = 0
    for message in messages_of(lines):
        if not appends or len(appends[-1]) == ENTRIES_MAX or size + message.size > BYTES_MAX:
            appends.append([])
            size = 0
        appends[-1].append(message)
        size += message.size
    return appends


def messages_of(lines: Sequence[Line]) -> Iterator[Message]:
    """Yield the messages that a batch of lines is stored as. Each line is in one of them."""
    message = Message()
    for line in lines:
        role, size = role_of(line), size_of(stored(line))
        if size > BYTES_MAX:
            said = f"a line of a transcript has at most {BYTES_MAX} bytes as escaped, not {size}"
            raise InputError(said, details={"field": "entries"})
        speaks_next = role is not None and message.role is not None and USER in (role, message.role)
        if message.lines and (speaks_next or message.size + size > BYTES_MAX):
            yield message
            message = Message(None if speaks_next else message.role)
        message.role = message.role or role
        message.size += size
        message.lines.append(line)
    yield message


def stored(line: Line) -> Stored:
    """Return a line as it is stored: unchanged, or as JSON text if the service cannot take it.

    >>> stored({"type": "x"}), stored({"type": "\\ud83d"})
    ({'type': 'x'}, '{"type": "\\\\ud83d"}')
    """
    text = json.dumps(line, ensure_ascii=False)
    has_halves = HALVES.search(text) is not None
    return json.dumps(line) if has_halves or levels_of(line) > LEVELS_MAX else line


def loaded(line: Stored) -> Any:
    """Return a line that was stored."""
    return json.loads(line) if isinstance(line, str) else line


def levels_of(value: Any) -> int:
    """Return how many objects and lists stand inside each other.

    >>> levels_of("x"), levels_of({"a": [{}]})
    (0, 3)
    """
    held = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return 0 if held is None else 1 + max(map(levels_of, held), default=0)


def size_of(line: Stored) -> int:
    """Return the bytes of a line as the service counts them: its JSON text inside another one."""
    return len(json.dumps(json.dumps(line, ensure_ascii=False)))


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


def shortened(text: str) -> str:
    """Return a text, or the beginning of a long one.

    Halves of surrogate pairs become question marks.
    """
    text = text.encode(errors="replace").decode()
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"

"""The content of a ChatGPT message, as an entry stores it.

The text becomes `text`. Files become `attachments`: the export names them, and they are not
imported. What else the content holds, such as thoughts or the language of code, becomes one of the
`events`. All that the message says about itself stands in `source`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.cli.importing.checks import kept, time_of

ROLES = {"user": "USER", "assistant": "AI", "system": "SYSTEM"}
"""Other roles, such as `tool`, have no counterpart: the entry has no `role`, `source` names it."""
_TEXTS = ("text", "result", "content")
"""Where the types of content other than `parts` have their text."""


def element_of(message: Mapping[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """Return the element to store, and how many files it names. None: there is nothing in it.

    message: has an object `content`.
    """
    content: Mapping[str, Any] = message["content"]
    raw_author, raw_about = message.get("author"), message.get("metadata")
    author: Mapping[str, Any] = raw_author if isinstance(raw_author, Mapping) else {}
    about: Mapping[str, Any] = raw_about if isinstance(raw_about, Mapping) else {}
    text, rest = _text_of(content)
    attachments = [*_files_in(content.get("parts")), *_files_beside(about.get("attachments"))]
    events = [{"type": content.get("content_type"), **rest}] if rest else []
    if not (text or attachments or events):
        return None, 0
    role = author.get("role")
    recipient = message.get("recipient")
    source = {
        "createdAt": time_of(message.get("create_time")),
        "author": kept({**author, "role": None if _role(role) else role}),
        "recipient": None if recipient == "all" else recipient,
        "channel": message.get("channel"),
        "metadata": kept({name: value for name, value in about.items() if name != "attachments"}),
    }
    element = {
        "role": _role(role),
        "text": text,
        "attachments": attachments,
        "events": events,
        "source": kept(source),
    }
    return kept(element), len(attachments)


def _role(role: Any) -> str | None:
    return ROLES.get(role) if isinstance(role, str) else None


def _text_of(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a content, and what else it holds beside text and files."""
    rest = {name: value for name, value in content.items() if name not in ("content_type", "parts")}
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [_text_of_part(part) for part in parts]
        others = [
            part for part, text in zip(parts, texts, strict=True) if text is None and not _pointer_of(part)
        ]
        return "\n".join(text for text in texts if text), kept({**rest, "parts": others})
    for name in _TEXTS:
        if isinstance(rest.get(name), str):
            text = rest.pop(name)
            return text, kept(rest) if text else {}
    return "", kept(rest)


def _text_of_part(part: Any) -> str | None:
    """Return the text of a part: text, or the words of a recording."""
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _pointer_of(part: Any) -> str | None:
    """Return the name of the file that a part stands for."""
    pointer = part.get("asset_pointer") if isinstance(part, Mapping) else None
    return pointer if isinstance(pointer, str) and pointer else None


def _files_in(parts: Any) -> Iterator[dict[str, Any]]:
    for part in parts if isinstance(parts, list) else ():
        pointer = _pointer_of(part)
        if pointer is not None:
            yield {"attachmentId": pointer, "source": dict(part)}


def _files_beside(attachments: Any) -> Iterator[dict[str, Any]]:
    for attachment in attachments if isinstance(attachments, list) else ():
        if isinstance(attachment, Mapping):
            names = (attachment.get("id"), attachment.get("name"))
            name = next((name for name in names if isinstance(name, str) and name), None)
            if name is not None:
                yield {"attachmentId": name, "source": dict(attachment)}

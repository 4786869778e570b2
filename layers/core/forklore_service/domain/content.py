"""The rules of an entry's content, and what titles, previews and lines are made of."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.attachments import NamedFile, check_name
from forklore_service.domain.model import Attached
from forklore_service.errors import ValidationError, brief
from forklore_service.limits import ATTACHMENTS_PER_ENTRY_MAX, ELEMENTS_MAX

ROLES = ("USER", "AI", "SYSTEM", "TOOL")
TITLE_CHARACTERS = 40
PREVIEW_CHARACTERS = 100
LINE_CHARACTERS = 100
"""Of the text of a line."""
WORD_CHARACTERS = 40
"""Of each other word of a line."""
FAILED = "failed"
"""A search finds an entry whose line has failed by this word."""
_FAILURES = {"failed", "error", "output-error", "output-denied"}
_DATA_URL = re.compile(r"data:[^\s,]*,", re.IGNORECASE)
_DATA = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{201,}+")
"""More than 200 letters of base64. The time is linear in the text: a run is looked through once."""


def check_elements(content: Any) -> None:
    """Raise ValidationError unless `content` is an array of at most ELEMENTS_MAX elements."""
    if not isinstance(content, list):
        raise ValidationError("content must be an array", field="content")
    if len(content) > ELEMENTS_MAX:
        raise ValidationError(f"content holds at most {ELEMENTS_MAX} elements", field="content")


def is_history_type(content_type: str) -> bool:
    """Tell whether a content type is `history` or `history/<subtype>`, in any case.

    >>> is_history_type("history/markdown"), is_history_type("history/")
    (True, False)
    >>> is_history_type("historic")
    False
    """
    kind, slash, subtype = content_type.lower().partition("/")
    return kind == "history" and (not slash or subtype.strip("/") != "")


def check_history(content_type: str, content: Any) -> None:
    """Raise ValidationError unless the content is one message, as history entries need."""
    if not is_history_type(content_type):
        raise ValidationError(
            f"contentType must be 'history' or 'history/<subtype>': {brief(content_type)}",
            field="contentType",
        )
    check_elements(content)
    if len(content) != 1 or not isinstance(content[0], dict):
        raise ValidationError("history content is an array of exactly one object", field="content")
    message = content[0]
    role = message.get("role")
    if role is not None and not (isinstance(role, str) and role.isascii() and role.upper() in ROLES):
        told = f"role may be left out, or is one of {', '.join(ROLES)}, in any case"
        raise ValidationError(told, field="content[0].role")
    if all(message.get(part) is None for part in ("text", "events", "attachments")) and not _parts(message):
        told = "history content needs text, events, attachments, or a content of parts"
        if "content" in message:
            told += '; a message without parts has a text: [{"role": "USER", "text": "hi"}]'
        raise ValidationError(told, field="content[0]")
    if not isinstance(message.get("text", ""), str | None):
        raise ValidationError("text must be a string", field="content[0].text")
    if not isinstance(message.get("events", []), list | None):
        raise ValidationError("events must be an array", field="content[0].events")
    _check_attachments(message.get("attachments"))


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message, as providers of models send them; empty if it has none."""
    parts = message.get("content")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return []
    return parts


def _check_attachments(attachments: Any) -> None:
    if attachments is None:
        return
    where = "content[0].attachments"
    if not isinstance(attachments, list):
        raise ValidationError("attachments must be an array", field=where)
    for at, attachment in enumerate(attachments):
        field = f"{where}[{at}]"
        if not isinstance(attachment, dict):
            raise ValidationError("an attachment must be an object", field=field)
        named = [name for name in ("href", "attachmentId") if attachment.get(name) is not None]
        if not named and attachment.get("id") is not None:
            _check_named_file(attachment, field)
            continue
        if not named:
            raise ValidationError("an attachment needs id, href or attachmentId", field=field)
        needed = [*named, *(["contentType"] if "href" in named else [])]
        for name in needed:
            if not isinstance(attachment.get(name), str) or not attachment[name]:
                raise ValidationError(f"{name} must be a non-empty string", field=f"{field}.{name}")


def _check_named_file(attachment: dict[str, Any], field: str) -> None:
    if not isinstance(attachment["id"], str) or not ids.is_uuid(attachment["id"]):
        raise ValidationError("id is that of an attachment", field=f"{field}.id")
    if attachment.get("name") is not None:
        if not isinstance(attachment["name"], str):
            raise ValidationError("name must be a string", field=f"{field}.name")
        try:
            check_name(attachment["name"])
        except ValueError as error:
            raise ValidationError(f"name {error}", field=f"{field}.name") from None


def named_files(content: Any) -> list[NamedFile]:
    """Return the attachments that the content of a history entry names, each once.

    Raises ValidationError for more than ATTACHMENTS_PER_ENTRY_MAX.

    >>> named_files([{"attachments": [{"id": "a", "name": "x"}, {"id": "b", "href": "/"}]}])
    [NamedFile(attachment_id='a', name='x')]
    """
    files: dict[str, NamedFile] = {}
    for one in content[0].get("attachments") or []:
        if one.get("id") is not None and one.get("href") is None and one.get("attachmentId") is None:
            files.setdefault(one["id"], NamedFile(one["id"], one.get("name")))
    if len(files) > ATTACHMENTS_PER_ENTRY_MAX:
        told = f"an entry names at most {ATTACHMENTS_PER_ENTRY_MAX} attachments"
        raise ValidationError(told, field="content[0].attachments")
    return list(files.values())


def history_text(content: Any) -> str | None:
    """Return the text of a history entry: that of its first element; None when it has none.

    >>> history_text([{"role": "USER", "text": "hello"}])
    'hello'
    >>> history_text([{"content": [{"text": "What"}, {"image_url": {}}, {"text": "is it?"}]}])
    'What\\nis it?'
    """
    return "\n".join(texts_of(content[:1] if isinstance(content, list) else [])) or None


def preview_text(content: Any, attached: Sequence[Attached] = ()) -> str | None:
    """Return what a preview of a history entry shows: its text, else the names of its attachments.

    attached: the uploaded ones, which the content may name without a name.

    >>> preview_text([{"attachments": [{"href": "/", "name": "x.pdf"}, {"href": "/"}]}])
    'x.pdf'
    >>> preview_text([{"attachments": [{"id": "a"}]}], [Attached("a", "y.png", "image/png", 1)])
    'y.png'
    """
    text = history_text(content)
    if text is not None:
        return text
    first = next(iter(_listed(content)), None)
    attachments = _listed(first.get("attachments")) if isinstance(first, dict) else []
    of_uploaded = [(one.attachment_id, one.name) for one in attached]
    names = [
        one.get("name") or next((name for of, name in of_uploaded if of == one.get("id")), None)
        for one in attachments
        if isinstance(one, dict)
    ]
    said = [name for name in names if isinstance(name, str) and name.strip()]
    return ", ".join(said) or None


def history_role(content: Any) -> str | None:
    """Return the role of a history entry in capitals: that of its first element; None without one.

    >>> history_role([{"role": "user", "text": "hello"}])
    'USER'
    """
    if not isinstance(content, list) or not content or not isinstance(content[0], dict):
        return None
    role = content[0].get("role")
    return role.upper() if isinstance(role, str) else None


def texts_of(content: Any) -> list[str]:
    """Return all texts of an entry: of each element its `text`, or else those of its parts.

    >>> texts_of([{"text": "hello"}, "world", {"text": 5}, {"type": "text", "text": "again"}])
    ['hello', 'again']
    """
    elements = content if isinstance(content, list) else []
    said = [one for element in elements if isinstance(element, dict) for one in _said(element)]
    return [one["text"] for one in said if isinstance(one.get("text"), str)]


def searched_texts(content: Any) -> list[str]:
    """Return what a search looks through: all texts, then what events and tools hold.

    Of these data is left out: data URLs and what _DATA finds.

    >>> searched_texts([{"text": "hello", "events": [{"type": "tool", "output": ["rain"]}]}])
    ['hello', 'rain']
    """
    held: list[Any] = []
    for element in _listed(content):
        if isinstance(element, dict):
            held += [element.get("events"), *_tools_in(_but_events(element))]
    return [*texts_of(content), *(text for one in _strings_in(held) for text in _without_data(one))]


def _without_data(text: str) -> Iterator[str]:
    return filter(None, _DATA.split("" if _DATA_URL.match(text) else text))


def _strings_in(value: Any) -> Iterator[str]:
    """Yield all strings of a value but those that are the `type` of an object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for held in value:
            yield from _strings_in(held)
    elif isinstance(value, dict):
        for name, held in value.items():
            yield from _strings_in(None if name == "type" else held)


def _said(element: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what may have the text of an element: itself, or its parts."""
    return [element] if element.get("text") else _parts(element)


BesideText = Literal["attachments", "data", "events", "other"]
_NAMED: Sequence[BesideText] = ("attachments", "data", "events")


class Line(NamedTuple):
    """What an entry says, on one line.

    text: its first words. tool: the name of the first tool in its first element. has_failed:
    whether one of these says that it failed. holds: which of these the first element has beside its
    role and its text, and whether it has others. said_at: when it was said elsewhere, as imports
    keep it.
    """

    role: str | None = None
    text: str | None = None
    tool: str | None = None
    has_failed: bool = False
    holds: Sequence[BesideText] = ()
    said_at: str | None = None


def line_of(content: Any) -> Line:
    """Return the line of an entry.

    >>> line_of([{"role": "AI", "text": " a\\nb", "events": [{"type": "tool_use", "name": "pay"}]}])
    Line(role='AI', text='a b', tool='pay', has_failed=False, holds=['events'], said_at=None)
    """
    elements = content if isinstance(content, list) else []
    said = [text for one in elements for text in ([one] if isinstance(one, str) else texts_of([one]))]
    beginning = " ".join(said).lstrip()[: 4 * LINE_CHARACTERS]
    text = " ".join(beginning.split())[:LINE_CHARACTERS]
    first = elements[0] if elements and isinstance(elements[0], dict) else {}
    tools = _first_tools(content)
    names = [word for one in tools if (word := _word(_name_of(one)))]
    held = {name for name, value in first.items() if value} - {"role", "text"}
    holds = [name for name in _NAMED if name in held]
    if held.difference(_NAMED):
        holds.append("other")
    return Line(
        role=_word(first.get("role")),
        text=text or None,
        tool=names[0] if names else None,
        has_failed=any(map(_has_failed, tools)),
        holds=holds,
        said_at=_said_at(first.get("source")),
    )


def has_failed(content: Any) -> bool:
    """Tell whether the line of an entry says that it failed."""
    return any(map(_has_failed, _first_tools(content)))


def _first_tools(content: Any) -> list[dict[str, Any]]:
    """Return the tools in the first element."""
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return []
    return [*_tools_in(first.get("events")), *_tools_in(_but_events(first))]


def _said_at(source: Any) -> str | None:
    at = source.get("createdAt") if isinstance(source, dict) else None
    return at if isinstance(at, str) and ids.is_timestamp(at) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _but_events(element: dict[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in element.items() if name != "events"}


def _tools_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the calls and results of tools in a value, as providers of models say it."""
    if isinstance(value, list):
        for one in value:
            yield from _tools_in(one)
    elif isinstance(value, dict):
        if _is_of_tool(value):
            yield value
        else:
            for name, held in value.items():
                if name in ("toolUse", "toolResult") and isinstance(held, dict):
                    yield held
                else:
                    yield from _tools_in(held)


def _is_of_tool(value: dict[str, Any]) -> bool:
    kinds = (value.get("type"), value.get("part_kind"))
    is_named = isinstance(value.get("tool_name"), str)
    return is_named or any(isinstance(one, str) and ("tool" in one or "function" in one) for one in kinds)


def _name_of(tool: dict[str, Any]) -> Any:
    """Return the name of a tool. The AI SDK says it behind `tool-` in the type."""
    kind = tool.get("type")
    if isinstance(kind, str) and kind.startswith("tool-") and "state" in tool:
        return kind.removeprefix("tool-")
    return tool.get("name") or tool.get("toolName") or tool.get("tool_name")


def _has_failed(tool: dict[str, Any]) -> bool:
    said = [tool.get(name) for name in ("state", "status", "outcome")]
    return (
        True in (tool.get("isError"), tool.get("is_error"))
        or tool.get("part_kind") == "retry-prompt"
        or any(isinstance(one, str) and one in _FAILURES for one in said)
    )


def _word(value: Any) -> str | None:
    return value[:WORD_CHARACTERS] if isinstance(value, str) else None

"""One branch in the formats of other systems, as `forklore import` and these systems read them."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.results import ConversationDetails, Entry
from forklore.client.messages import HISTORY, role_of, said_at, text_in
from forklore.client.parts import OF_MESSAGE, Part, is_shown, line_of, parts_in, said

_ROLES = {"user": "user", "ai": "assistant", "system": "system", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class Turn:
    """An entry that is exported. role: `user`, `assistant`, `system` or `tool`. at: as RFC 3339."""

    turn_id: str
    role: str
    at: str
    parts: list[Part]

    def of(self, *kinds: str) -> list[Part]:
        """Return the parts of some types."""
        return [part for part in self.parts if part.get("type") in kinds]

    @property
    def text(self) -> str:
        """The words, and what no other format has a place for, such as files."""
        others = ("thinking", "tool_use", "tool_result")
        return "\n\n".join(line_of(part) for part in self.parts if part.get("type") not in others)


def turns_of(entries: Iterable[Entry]) -> Iterator[Turn]:
    """Yield the entries of a history that are messages, or have a text."""
    for entry in entries:
        if entry.erased or not is_shown(entry):
            continue
        first = entry.content[0]
        is_plain = (
            entry.content_type == HISTORY and isinstance(first, Mapping) and not first.keys() - OF_MESSAGE
        )
        words: list[Part] = [{"type": "text", "text": text_in(first) or ""}]
        parts = list(parts_in(first)) if is_plain else words
        role = _ROLES.get(role_of(entry) or "", "assistant")
        yield Turn(entry.id, role, said_at(entry), parts)


Lines = Iterator[str]


def messages(about: ConversationDetails, turns: Iterable[Turn]) -> Lines:
    """Yield a list of messages as the APIs of models take them."""
    held = [message for turn in turns for message in _messages_of(turn)]
    yield jsontext.write({"id": about.id, "title": about.title, "messages": held}) + "\n"


def _messages_of(turn: Turn) -> Iterator[dict[str, Any]]:
    calls = [
        {
            "id": part.get("id"),
            "type": "function",
            "function": {"name": part.get("name"), "arguments": _as_text(part.get("input", {}))},
        }
        for part in turn.of("tool_use")
    ]
    thoughts = "\n\n".join(str(part.get("thinking", "")) for part in turn.of("thinking"))
    more = {
        **({"reasoning_content": thoughts} if thoughts else {}),
        **({"tool_calls": calls} if calls else {}),
    }
    if turn.text or more:
        yield {"role": turn.role, "content": turn.text, "created_at": turn.at, **more}
    for part in turn.of("tool_result"):
        named = {"tool_call_id": part.get("tool_use_id"), "name": part.get("name")}
        yield {"role": "tool", "content": said(part.get("content", "")), "created_at": turn.at, **named}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.write(value)


def markdown(about: ConversationDetails, turns: Iterable[Turn]) -> Lines:
    """Yield a text for people: a heading for each message."""
    yield f"# {about.title or about.id}\n"
    for turn in turns:
        words = "\n\n".join(map(line_of, turn.parts))
        yield f"\n## {turn.role}, {turn.at[:19].replace('T', ' ')} UTC\n\n{words}\n"


def claude_code(about: ConversationDetails, turns: Iterable[Turn]) -> Lines:
    """Yield the rows of a transcript of Claude Code."""
    before: str | None = None
    for turn in turns:
        row_id = str(uuid.uuid5(uuid.NAMESPACE_OID, turn.turn_id))
        kind = "user" if turn.role == "tool" else turn.role
        content = [dict(part) for part in turn.of("thinking", "tool_use", "text", "tool_result")]
        others = [part for part in turn.parts if part not in content]
        content += [{"type": "text", "text": line_of(part)} for part in others]
        row = {"sessionId": about.id, "uuid": row_id, "parentUuid": before, "isSidechain": False}
        said = {"content": turn.text} if kind == "system" else {"message": {"role": kind, "content": content}}
        yield jsontext.write({**row, "type": kind, **said, "timestamp": turn.at}) + "\n"
        before = row_id
    if about.title and before:
        yield jsontext.write({"type": "summary", "summary": about.title, "leafUuid": before}) + "\n"


def chatgpt(about: ConversationDetails, turns: Iterable[Turn]) -> Lines:
    """Yield the `conversations.json` of an export of ChatGPT."""
    mapping: dict[str, dict[str, Any]] = {
        "root": {"id": "root", "message": None, "parent": None, "children": []}
    }
    before = "root"
    for turn in turns:
        for number, (author, content, recipient) in enumerate(_contents_of(turn)):
            node_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{turn.turn_id} {number}"))
            message = {
                "id": node_id,
                "author": author,
                "create_time": _seconds(turn.at),
                "content": content,
                "recipient": recipient,
                "metadata": {},
            }
            mapping[node_id] = {"id": node_id, "message": message, "parent": before, "children": []}
            mapping[before]["children"].append(node_id)
            before = node_id
    times = {"create_time": _seconds(about.created_at), "update_time": _seconds(about.updated_at)}
    told = {"conversation_id": about.id, "title": about.title, **times, "is_archived": about.archived is True}
    yield jsontext.write([{**told, "current_node": before, "mapping": mapping}]) + "\n"


def _contents_of(turn: Turn) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Yield the author, the content and the recipient of each message that a turn becomes."""
    for part in turn.parts:
        author: dict[str, Any] = {"role": turn.role}
        match part.get("type"):
            case "thinking":
                thought = {"summary": "", "content": part.get("thinking")}
                yield author, {"content_type": "thoughts", "thoughts": [thought]}, "all"
            case "tool_use":
                text = _as_text(part.get("input", {}))
                yield (
                    author,
                    {"content_type": "code", "language": "json", "text": text},
                    str(part.get("name")),
                )
            case "tool_result":
                author = {"role": "tool", "name": part.get("name")}
                yield author, {"content_type": "text", "parts": [said(part.get("content", ""))]}, "all"
            case _:
                yield author, {"content_type": "text", "parts": [line_of(part)]}, "all"


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


WRITERS: Mapping[str, Callable[[ConversationDetails, Iterable[Turn]], Lines]] = {
    "messages": messages,
    "markdown": markdown,
    "claude-code": claude_code,
    "chatgpt": chatgpt,
}

"""One branch in the formats of other systems, as `forklore import` and these systems read them."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.results import AttachedFile, ConversationDetails, Entry, Note
from forklore.client.messages import role_of, said_at
from forklore.client.parts import OF_MESSAGE, Part, attached_in, files_in, is_shown, line_of, parts_in
from forklore.client.spoken import HISTORY, is_parts, said, text_in
from forklore.exporting.bytes_within import Files, Inline, inline_of

_ROLES = {"user": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_TEXTS = ("input_text", "output_text")
_OF_TOOLS = ("thinking", "tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class Turn:
    """An entry that is exported. role: `user`, `assistant`, `system` or `tool`. at: as RFC 3339.

    parts: what it says; a part may hold the bytes of a file. files: the attachments that it names.
    lost: the files that are no attachments. source: what an import has told of it. kept: if it is a
    summary, the ids of the entries before it that a model still has: behind it, or before it. key:
    of the entry: what its source knows it by. notes: those on it that are exported.
    """

    turn_id: str
    role: str
    at: str
    parts: list[Part]
    files: Sequence[AttachedFile] = ()
    lost: Sequence[Part] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    kept: Sequence[str] = ()
    key: str = ""
    notes: Sequence[Note] = ()

    @property
    def is_summary(self) -> bool:
        """Whether a model goes on with this, and what follows, in place of what was before."""
        return self.source.get("isSummary") is True

    @property
    def model(self) -> str:
        """The model that has said it; empty where nobody knows."""
        named = self.source.get("model")
        return named if isinstance(named, str) else ""

    @property
    def is_kept_first(self) -> bool:
        """Whether a model has what is kept before the summary."""
        return self.source.get("keptFirst") is True

    def of(self, *kinds: str) -> list[Part]:
        """Return the parts of some types."""
        return [part for part in self.parts if part.get("type") in kinds]

    @property
    def words(self) -> list[Part]:
        """What is no thought, no call, no result and no file."""
        return [one for one in self.parts if one.get("type") not in _OF_TOOLS and inline_of(one) is None]

    @property
    def text(self) -> str:
        """The words as one text."""
        return "\n\n".join(map(line_of, self.words))

    def inlined(self, files: Files) -> list[Inline]:
        """Return the files with their bytes. Those that have none are counted."""
        files.left_out += len(self.lost)
        held = [*map(inline_of, self.parts), *map(files.inlined, self.files)]
        return [one for one in held if one is not None]

    def leave_files(self, files: Files) -> None:
        """Count all files: the format has no place for them."""
        files.left_out += (
            len(self.lost) + len(self.files) + sum(inline_of(one) is not None for one in self.parts)
        )


def turns_of(entries: Iterable[Entry], notes: Iterable[Note] = ()) -> Iterator[Turn]:
    """Yield the entries of a history that are messages, or have a text. notes: those on them."""
    ids: dict[str, str] = {}
    on = {entry_id: list(some) for entry_id, some in groupby(notes, lambda note: note.entry_id)}
    for entry in entries:
        ids[entry.key or entry.id] = entry.id
        if entry.erased or not is_shown(entry):
            continue
        first = entry.content[0]
        is_plain = entry.content_type == HISTORY and isinstance(first, Mapping) and _is_message(first)
        words: list[Part] = [{"type": "text", "text": text_in(first) or ""}]
        parts = _parts_in(first) if is_plain else words
        role = _ROLES.get(role_of(entry) or "", "assistant")
        files = entry.attachments
        lost = [one for one in attached_in(first) if one.get("id") not in {file.id for file in files}]
        source = first.get("source") if is_plain and isinstance(first.get("source"), Mapping) else {}
        kept = [ids[key] for key in source.get("kept", ()) if key in ids]
        lost = lost if is_plain else []
        noted = on.get(entry.id, ())
        yield Turn(entry.id, role, said_at(entry), parts, files, lost, source, kept, entry.key or "", noted)


def _is_message(held: Mapping[str, Any]) -> bool:
    return not held.keys() - (OF_MESSAGE | {"content"} if is_parts(held.get("content")) else OF_MESSAGE)


def _parts_in(message: Mapping[str, Any]) -> list[Part]:
    """Return what a message says, but for its files.

    Its `content` has parts as providers send them.
    """
    content = message.get("content")
    given = content if is_parts(content) else []
    sent = [{"type": "text", "text": one["text"]} if one.get("type") in _TEXTS else one for one in given]
    return [*parts_in({**message, "attachments": []}), *sent]


Lines = Iterator[str]


def messages(about: ConversationDetails, turns: Iterable[Turn], files: Files) -> Lines:
    """Yield a list of messages as the APIs of models take them."""
    held = [message for turn in turns for message in _messages_of(turn, files)]
    yield jsontext.write({"id": about.id, "title": about.title, "messages": held}) + "\n"


def _messages_of(turn: Turn, files: Files) -> Iterator[dict[str, Any]]:
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
    held = [one.as_part for one in turn.inlined(files)]
    words = [{"type": "text", "text": turn.text}] if turn.text else []
    content = [*words, *held] if held else turn.text
    if content or more:
        yield {"role": turn.role, "content": content, "created_at": turn.at, **more}
    for part in turn.of("tool_result"):
        named = {"tool_call_id": part.get("tool_use_id"), "name": part.get("name")}
        yield {"role": "tool", "content": said(part.get("content", "")), "created_at": turn.at, **named}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.write(value)


def markdown(about: ConversationDetails, turns: Iterable[Turn], _files: Files) -> Lines:
    """Yield a text for people: a heading for each message. Files are named in it."""
    yield f"# {about.title or about.id}\n"
    for turn in turns:
        named = ({"type": "file", "name": file.name} for file in turn.files)
        words = "\n\n".join(map(line_of, [*turn.parts, *named, *files_in({"attachments": turn.lost})]))
        yield f"\n## {turn.role}, {turn.at[:19].replace('T', ' ')} UTC\n\n{words}\n"
        for note in turn.notes:
            told = f"{mark_of(note)}: {note.text}" if note.text else mark_of(note)
            yield "\n" + "".join(f"> {line}\n" for line in told.splitlines())


def mark_of(note: Note) -> str:
    """Return what a note is beside its text, and not who has written it."""
    if note.pinned:
        return "Pinned"
    return "Note" if note.score is None else f"Note, score {note.score}"


def claude_code(about: ConversationDetails, turns: Iterable[Turn], files: Files) -> Lines:
    """Yield the rows of a transcript of Claude Code."""
    before: str | None = None
    for turn in turns:
        row_id = str(uuid.uuid5(uuid.NAMESPACE_OID, turn.turn_id))
        kind = "user" if turn.role == "tool" else turn.role
        content = [dict(part) for part in turn.of("text", *_OF_TOOLS)]
        others = [part for part in turn.words if part.get("type") != "text"]
        content += [{"type": "text", "text": line_of(part)} for part in others]
        if kind == "system":
            turn.leave_files(files)
        else:
            blocks = [one.as_block for one in turn.inlined(files)]
            files.left_out += blocks.count(None)
            content += [dict(one) for one in blocks if one is not None]
        row = {"sessionId": about.id, "uuid": row_id, "parentUuid": before, "isSidechain": False}
        said = {"content": turn.text} if kind == "system" else {"message": {"role": kind, "content": content}}
        yield jsontext.write({**row, "type": kind, **said, "timestamp": turn.at}) + "\n"
        before = row_id
    if about.title and before:
        yield jsontext.write({"type": "summary", "summary": about.title, "leafUuid": before}) + "\n"


def chatgpt(about: ConversationDetails, turns: Iterable[Turn], files: Files) -> Lines:
    """Yield the `conversations.json` of an export of ChatGPT. It names files, and has no bytes."""
    mapping: dict[str, dict[str, Any]] = {
        "root": {"id": "root", "message": None, "parent": None, "children": []}
    }
    before = "root"
    for turn in turns:
        turn.leave_files(files)
        contents = list(_contents_of(turn))
        for number, (author, content, recipient) in enumerate(contents, start=1):
            node_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{turn.turn_id} {number - 1}"))
            named = [_named(one) for one in turn.files] if number == len(contents) else []
            message = {
                "id": node_id,
                "author": author,
                "create_time": _seconds(turn.at),
                "content": content,
                "recipient": recipient,
                "metadata": {"attachments": named} if named else {},
            }
            mapping[node_id] = {"id": node_id, "message": message, "parent": before, "children": []}
            mapping[before]["children"].append(node_id)
            before = node_id
    times = {"create_time": _seconds(about.created_at), "update_time": _seconds(about.updated_at)}
    told = {"conversation_id": about.id, "title": about.title, **times, "is_archived": about.archived is True}
    yield jsontext.write([{**told, "current_node": before, "mapping": mapping}]) + "\n"


def _named(file: AttachedFile) -> dict[str, Any]:
    return {"id": file.id, "name": file.name, "size": file.size, "mime_type": file.content_type}


def _contents_of(turn: Turn) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Yield the author, the content and the recipient of each message that a turn becomes."""
    words = turn.words
    parts = [one for one in turn.parts if one in words or one.get("type") in _OF_TOOLS]
    if turn.files and not words:
        parts.append({"type": "text", "text": ""})  # what names the files
    for is_said, run in groupby(parts, lambda one: one.get("type") not in _OF_TOOLS):
        if is_said:
            text = "\n\n".join(map(line_of, run))
            yield {"role": turn.role}, {"content_type": "text", "parts": [text]}, "all"
        else:
            yield from map(partial(_content_of, turn), run)


def _content_of(turn: Turn, part: Part) -> tuple[dict[str, Any], dict[str, Any], str]:
    author: dict[str, Any] = {"role": turn.role}
    if part.get("type") == "thinking":
        thought = {"summary": "", "content": part.get("thinking")}
        return author, {"content_type": "thoughts", "thoughts": [thought]}, "all"
    if part.get("type") == "tool_use":
        text = _as_text(part.get("input", {}))
        return author, {"content_type": "code", "language": "json", "text": text}, str(part.get("name"))
    author = {"role": "tool", "name": part.get("name")}
    return author, {"content_type": "text", "parts": [said(part.get("content", ""))]}, "all"


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


WRITERS: Mapping[str, Callable[[ConversationDetails, Iterable[Turn], Files], Lines]] = {
    "messages": messages,
    "markdown": markdown,
    "claude-code": claude_code,
    "chatgpt": chatgpt,
}

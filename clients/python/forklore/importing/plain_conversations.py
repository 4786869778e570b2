"""Conversations as readers find them, and the trees that are made of them.

A reader turns the records of a file into `Conversation`s of plain `Message`s, in any order and in
any state. All else is here and behind it: what is stored of a message, which branch is current,
what is left out and counted.

What a message says stands in `said`, in its order: texts, and parts as providers of models send
them. These types of parts are known everywhere; others are kept as they are.

| `type` | members |
|---|---|
| `thinking` | `thinking`: a text |
| `tool_use` | `id`, `name`, `input` |
| `tool_result` | `tool_use_id`, `name`, `content`, `is_error` |
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.limits import ATTACHMENTS_PER_ENTRY_MAX
from forklore.importing.checks import kept, time_of, title_of, without_halves
from forklore.importing.file_records import FileRecord, UnfinishedError
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree, ImportReport, Link, Reason
from forklore.importing.growing import Node, grow
from forklore.importing.held_files import Held
from forklore.importing.identity import digest_of_words, made_keys, own_ids_in
from forklore.importing.members import numbered
from forklore.importing.sources import Source

GAP = "\n\n"
"""Between the texts of a message."""
ROLES = {
    "user": "USER",
    "human": "USER",
    "prompter": "USER",
    "assistant": "AI",
    "ai": "AI",
    "model": "AI",
    "gpt": "AI",
    "bot": "AI",
    "system": "SYSTEM",
    "developer": "SYSTEM",
    "tool": "TOOL",
    "function": "TOOL",
    "function_call": "AI",
    "observation": "TOOL",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file that a message names. text: what the source has extracted of it. about: all else."""

    file_id: str
    name: str = ""
    text: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Message:
    """A message of a file.

    id: names it in its conversation; what `parent` names. parent: the message that it replies to.
    role: as the source says it. at: when it was said: seconds since 1970, or RFC 3339. source: what
    else the source tells of it. model: the name of the model that has said it. usage: its tokens,
    in the words of OpenAI or Anthropic. left_out: why it is not imported; what hangs on it hangs on
    its parent. is_child: it begins a conversation that its parent, such as the call of a tool, has
    started. may_be_empty: it is kept even without words. is_gap: there is no message, only its id.
    is_open: its program still writes it: it is left for a later import, if nothing follows it.

    key: the id that the source has given it, by which it is known again in any file of the format;
    empty: that is `id`. None: the source has given it none, and `id` is made up, such as its place:
    then it is known by its words and by the message before it. earlier_keys: what earlier versions
    of the reader have given it as its key. entry_id: of forklore's own entry, in a session that
    forklore has written out. number: its place in its session, as the source counts, for a
    `Link.before`.

    is_summary: from here on a model remembers this and what follows, in place of what was before.
    kept: the ids of messages before a summary, or their keys in another file, that the model
    remembers all the same, behind it; kept_first: before it.
    """

    id: str
    parent: str | None = None
    role: object = None
    said: Sequence[str | Mapping[str, Any]] = ()
    at: object = None
    files: Sequence[File] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    author: Mapping[str, Any] = field(default_factory=dict)
    model: object = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    left_out: Reason | None = None
    is_child: bool = False
    may_be_empty: bool = False
    is_gap: bool = False
    is_open: bool = False
    key: str | None = ""
    earlier_keys: Sequence[str] = ()
    entry_id: str = ""
    number: int | None = None
    is_summary: bool = False
    kept: Sequence[str] = ()
    kept_first: bool = False


@dataclass(slots=True, kw_only=True)
class Conversation:
    """A conversation of a file, with all its branches: a session of an agent's program, or a part
    of one.

    id: that of the session in its program. None: it is made of how the conversation begins.
    may_repeat: other conversations of the file may have the same id; their order tells them apart.
    part: the id of this part of the session, where several files hold parts of one; links may name
    it. place: where it stands in the file. current: the id of the last message of the branch that
    was shown; None: that of the newest leaf. about: what else the source tells of the whole.
    project: the folder that the session worked in. digest: of all its text in the file, if that is
    known.

    goes_on_from: what it is a fork, or a later part, of: its messages without a parent follow that
    place. Copies of messages need no link: a key that comes again is the same message. child_of:
    the call, or the message, of another session that has started this one. forklore: the id of
    forklore's own conversation, in a session that forklore has written out.
    """

    id: str | None
    messages: Sequence[Message]
    part: str = ""
    place: str = ""
    title: object = None
    created_at: object = None
    updated_at: object = None
    current: object = None
    is_archived: bool = False
    may_repeat: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    project: object = None
    digest: str = ""
    goes_on_from: Link | None = None
    child_of: Link | None = None
    forklore: str = ""


Read = Callable[[Source, ImportReport], Iterator[Conversation]]
"""Yields the conversations of a source. A source can be read as the iterable of its records."""


def each(read: Callable[[FileRecord, ImportReport], Conversation]) -> Read:
    """Return a reader of files of which each record is a conversation."""

    def conversations_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[Conversation]:
        for record in records:
            found = read(record, report)
            found.digest = record.digest
            yield found

    return conversations_of


def finished(
    records: Iterable[FileRecord], report: ImportReport, *, skips: bool = False
) -> Iterator[FileRecord]:
    """Yield the records. The last line may be half written, as its program still runs.

    skips: a line between others may be broken, as its program was ended while it wrote it. It is
    counted, and all others are read.
    """
    try:
        for record in records:
            if skips and record.problem:
                report.add(Reason.BROKEN, record.problem)
            else:
                yield record
    except UnfinishedError as error:
        report.add(Reason.UNFINISHED, str(error))


def rest(raw: Mapping[str, Any], *mapped: str) -> dict[str, Any]:
    """Return the members of a record that are mapped to nothing, and say something."""
    return kept(raw, mapped)


def trees_of(
    found: Iterable[Conversation],
    kind: str,
    report: ImportReport,
    held: Held,
    passed: Container[str] = (),
    *,
    joins: bool = False,
) -> Iterator[ForeignTree]:
    """Yield a tree for each conversation that has messages. The others are reported.

    kind: the name of the format. held: the files that are there. passed: the ids of the trees of
    the file that are not read, as far as it is read. joins: as for `Importer`.
    """
    times: Counter[str] = Counter()
    for conversation in found:
        tree = _tree_of(conversation, kind, report, held, joins=joins)
        if tree is None:
            report.add(Reason.NOT_A_CONVERSATION, conversation.id or conversation.place)
        elif conversation.id is None or conversation.may_repeat:
            yield replace(tree, tree_id=numbered(tree.tree_id, times, passed))
        else:
            yield tree


def _made_id(messages: Sequence[ForeignMessage], created_at: str | None) -> str:
    """Return the id of a conversation without one: it stays when the conversation grows.

    It is made of the beginning, up to the first message that is not the system's.
    """
    end = next((at for at, one in enumerate(messages, start=1) if one.role != "SYSTEM"), len(messages))
    begins = [[one.message_id, one.content.get("text")] for one in messages[:end]]
    text = jsontext.write(without_halves([created_at, *begins]))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _tree_of(
    found: Conversation, kind: str, report: ImportReport, held: Held, *, joins: bool
) -> ForeignTree | None:
    tools = {
        part["id"]: part.get("name")
        for message in found.messages
        for part in message.said
        if not isinstance(part, str) and part.get("type") == "tool_use" and isinstance(part.get("id"), str)
    }
    _tell_apart(found.messages, report)
    replied = {message.parent for message in found.messages}
    elsewhere = found.goes_on_from.message if found.goes_on_from else ""
    keys = _keys_of(found)
    key_of = {message.id: key for message, key in zip(found.messages, keys, strict=True)}
    elements = (_element_of(message, tools, replied, key_of, report, held) for message in found.messages)
    nodes = [
        Node(
            message.id,
            None if elsewhere and message.parent == elsewhere else message.parent,
            element,
            message.is_child,
            key,
            message.is_summary,
            tuple(message.kept),
            tuple(message.earlier_keys),
            message.entry_id or next(iter(own_ids_in(key) or own_ids_in(message.id)), ""),
        )
        for message, key, element in zip(found.messages, keys, elements, strict=True)
    ]
    grown = grow(nodes, report)
    if not grown.messages:
        return None
    current = grown.index_of.get(found.current) if isinstance(found.current, str) else None
    begun, updated = time_of(found.created_at), time_of(found.updated_at)
    created_at = begun or grown.messages[0].said_at or None
    times = {
        "createdAt": created_at,
        "updatedAt": updated,
        "createdTime": None if begun else found.created_at,
        "updatedTime": None if updated else found.updated_at,
    }
    tree = ForeignTree(
        without_halves(found.part or found.id) if found.id else _made_id(grown.messages, created_at),
        grown.messages,
        kind,
        title=title_of(found.title),
        created_at=created_at,
        current=newest_leaf(grown.messages) if current is None else current,
        is_archived=found.is_archived,
        metadata=kept({**found.about, **times}),
        digest=found.digest,
        forklore=found.forklore,
    )
    if not joins:
        return tree
    return replace(
        tree,
        session=without_halves(found.id) if found.id else tree.tree_id,
        project=found.project if isinstance(found.project, str) else "",
        origin=found.child_of or found.goes_on_from,
        is_started=found.child_of is not None,
        first=_first_of(found, grown.messages[0]),
    )


def _tell_apart(messages: Sequence[Message], report: ImportReport) -> None:
    """Give a message an id of its own whose id was another's before, with other words.

    What names that id from there on means this one. With the same words it is the same message.
    """
    by_id: dict[str, Message] = {}
    newest: dict[str, str] = {}
    times: Counter[str] = Counter()
    for message in messages:
        if newest and message.parent in newest:
            message.parent = newest[message.parent]
        before = by_id.get(newest.get(message.id, message.id))
        if before is not None and (before.role, [*before.said]) == (message.role, [*message.said]):
            report.add(Reason.NOT_A_MESSAGE, f"{message.id}, which is there twice")
            message.id = before.id
        elif before is not None:
            name, message.key = message.id, None
            newest[name] = message.id = numbered(name, times, by_id)
        by_id[message.id] = message


def _keys_of(found: Conversation) -> list[str]:
    """Return what each message is known by."""
    if all(message.key is not None for message in found.messages):
        return [message.key or message.id for message in found.messages]
    index_of = {message.id: at for at, message in enumerate(found.messages)}
    link = found.goes_on_from
    begins = [link.session, link.message, link.call, link.before] if link else ""
    return made_keys(
        [None if one.parent is None else index_of.get(one.parent) for one in found.messages],
        [None if one.key is None else one.key or one.id for one in found.messages],
        [in_order(one.said) if one.key is None else None for one in found.messages],
        begins,
    )


def _first_of(found: Conversation, first: ForeignMessage) -> str:
    """Return what the first message is known by in any file; nothing where others may begin so.

    That is its own id; or its words, if it is known when they were said; or else the id of the
    first message that has one, such as one made of all words down to it.
    """
    told = next((one for one in found.messages if (one.key or one.id) == first.message_id), None)
    if told is not None and told.key is not None:
        return first.message_id
    if first.said_at:
        return digest_of_words(first.message_id, first.said_at)
    return next((one.key or one.id for one in found.messages if one.key is not None), "")


def newest_leaf(messages: Sequence[ForeignMessage]) -> int:
    """Return the leaf that was said last: of equal times, or without any, the last one.

    Children are conversations of their own, and do not count.
    """
    is_own: list[bool] = []
    for message in messages:
        is_own.append(not message.is_child and (message.parent is None or is_own[message.parent]))
    leaves = (at for at, message in enumerate(messages) if is_own[at] and not message.replies)
    return max(leaves, key=lambda at: (messages[at].said_at, at))


def _element_of(
    message: Message,
    tools: Mapping[str, Any],
    replied: Container[str | None],
    key_of: Mapping[str, str],
    report: ImportReport,
    held: Held,
) -> dict[str, Any] | None:
    """Return the element to store for a message; None if it is left out.

    tools: the name of the tool of each call. replied: the ids of the messages that others follow.
    key_of: what the messages are known by.
    """
    if message.is_gap:
        return None
    if message.left_out is not None:
        report.add(message.left_out, message.id)
        return None
    if message.is_open and message.id not in replied:
        report.add(Reason.OPEN, message.id)
        return None
    text, events = in_order(message.said)
    for event in events:
        called = str(event.get("tool_use_id"))
        if event.get("type") == "tool_result" and not event.get("name") and called in tools:
            event["name"] = tools[called]
    events += [
        {"type": "extracted_text", "name": file.name, "text": file.text}
        for file in message.files
        if file.text
    ]
    if not (text.strip() or events or message.files or message.may_be_empty):
        report.add(Reason.EMPTY, message.id)
        return None
    attachments = [_attachment(file, message, report, held) for file in message.files]
    places = list(dict.fromkeys(one["id"] for one in attachments if "id" in one))
    for place in places[ATTACHMENTS_PER_ENTRY_MAX:]:
        report.add(Reason.NOT_TAKEN, place)
    for one in attachments:
        if one.get("id") in places[ATTACHMENTS_PER_ENTRY_MAX:]:
            one["attachmentId"] = one.pop("id")
        elif "id" in one:
            one["name"] = held.taken[one["id"]].name
    role = ROLES.get(message.role.lower()) if isinstance(message.role, str) else None
    if events and not text and all(event.get("type") == "tool_result" for event in events):
        role = "TOOL"  # some APIs let the user say them
    author = kept(message.author)
    if role is None or (role == "TOOL" and author):
        author = kept({**author, "role": message.role})
    said_at = time_of(message.at)
    times = {"createdAt": said_at, "time": None if said_at else message.at}
    told = {"model": message.model, "usage": message.usage, "number": message.number}
    if message.is_summary:
        told |= {"isSummary": True, "kept": [key_of.get(one) or without_halves(one) for one in message.kept]}
        told |= {"keptFirst": True} if message.kept_first else {}
    source = kept({**times, "author": author, **told, **message.source})
    element = kept(
        {
            "role": role,
            "text": text,
            "attachments": attachments,
            "events": events,
            "source": source,
        }
    )
    return {"role": role, "text": "", **element} if message.may_be_empty else element


def _attachment(file: File, message: Message, report: ImportReport, held: Held) -> dict[str, Any]:
    """Return what is stored of a file: with its place as the `id`, if it is there."""
    there = held.find(file.file_id, file.name, file.about)
    about = kept({"source": dict(file.about)})
    if there is not None:
        return {"id": there.place, **about}
    if not file.text:
        report.add(Reason.WITHOUT_FILE, message.id)
    named = {"name": file.name} if file.name and file.name != file.file_id else {}
    return {"attachmentId": file.file_id, **named, **about}


def in_order(said: Iterable[str | Mapping[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of parts, and the parts as events, in their order.

    A text is stored once: an event of the type `text` names its place in the text, as units of
    UTF-16. Where all parts are texts alone, there are no events.

    >>> in_order([{"type": "thinking", "thinking": "hm"}, "Yes."])
    ('Yes.', [{'type': 'thinking', 'thinking': 'hm'}, {'type': 'text', 'textAt': [0, 4]}])
    >>> in_order(["Yes."])
    ('Yes.', [])
    """
    texts: list[str] = []
    events: list[dict[str, Any]] = []
    at, is_plain = 0, True
    for part in said:
        about = {"type": "text", "text": part} if isinstance(part, str) else dict(part)
        text = about.get("text") if about.get("type") == "text" else None
        if not isinstance(text, str):
            events.append(about)
            is_plain = False
            continue
        about = kept({name: value for name, value in about.items() if name != "text"})
        is_plain = is_plain and len(about) == 1
        if not text and len(about) == 1:
            continue
        at += len(GAP) if texts else 0
        end = at + units(text)
        texts.append(text)
        events.append({**about, "textAt": [at, end]})
        at = end
    return GAP.join(texts), [] if is_plain else events


def units(text: str) -> int:
    """Return how many units of UTF-16 a text has, as JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2

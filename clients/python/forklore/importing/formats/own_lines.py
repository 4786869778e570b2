"""Reads forklore's own JSON Lines: `forklore.exporting.jsonlines` says what they hold.

All that the service takes back is read: titles, tags, metadata, fork points, keys, usage, content
and mentions of merged branches. Ids, times and authors are new after an import; the key of an entry
that had none is its old id.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from forklore.exporting.jsonlines import DESCRIPTION, SAID, VERSION, notes_in
from forklore.importing.checks import is_title, problem_of, title_of
from forklore.importing.file_records import FileRecord
from forklore.importing.foreign_trees import ImportReport, MalformedFileError, Reason

POSITIONS = ("before", "after", "blank")
SETTINGS = ("agentId", *(name for name in DESCRIPTION if name != "title"))
"""What is given back of a conversation beside its title."""
_READ_ELSEWHERE = {"userId", "channel", "epoch", "key", "mergedFromConversationId", "mergedUpToEntryId"}
OF_ENTRY = tuple(name for name in SAID if name not in _READ_ELSEWHERE)
"""What is given back of an entry as it is."""


@dataclass(frozen=True, slots=True)
class StoredFork:
    """Where a conversation forks. entry_id: None where it inherits nothing (`blank`).

    up_to: the last entry that it inherits, if the file says so.
    """

    conversation_id: str
    entry_id: str | None
    position: str
    up_to: str | None = None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """An entry of a file: its old id, and the members of the API that an import gives back.

    is_erased: whether its author was erased. Then it has no content, and no members here.
    attachments: what the line tells of those that the content names. notes: what is noted on it.
    """

    entry_id: str
    key: str | None
    members: Mapping[str, Any]
    is_context: bool
    merged_from: str | None
    merged_up_to: str | None
    is_erased: bool = False
    attachments: Any = None
    notes: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation of a file with its own entries. fork: None for the root."""

    conversation_id: str
    title: str | None
    settings: Mapping[str, Any]
    fork: StoredFork | None
    is_current: bool
    entries: list[FileEntry]


@dataclass(frozen=True, slots=True)
class ForkTree:
    """A whole fork tree of a file: its root first, each conversation after its source."""

    tree_id: str
    conversations: tuple[StoredConversation, ...]


def fork_trees_of(records: Iterable[FileRecord], report: ImportReport) -> Iterator[ForkTree]:
    """Yield the trees of a file.

    Raises MalformedFileError, on reaching it, for a line that is out of place or does not hold what
    it should, for a version that is not known, and for a file that ends inside a tree.
    """
    lines = iter(records)
    header = next(lines, None)
    if header is None:
        raise MalformedFileError("the file is empty")
    _check_header(header)
    tree: _Reading | None = None
    place = header.place
    for line in lines:
        place = line.place
        kind = line.value.get("type") if isinstance(line.value, Mapping) else None
        match kind:
            case "header":
                _check_header(line)  # two files, one after the other
            case "tree" if tree is None:
                tree = _Reading(_id(line, "id"), report)
            case "conversation" if tree is not None:
                tree.conversation(line)
            case "entry" if tree is not None:
                tree.entry(line)
            case "end" if tree is not None:
                yield tree.end(line)
                tree = None
            case _:
                _fail(line, f"a line of the type {kind!r} has no place here")
    if tree is not None:
        raise MalformedFileError(f"{place}: the file ends inside the tree {tree.tree_id}")


class _Reading:
    """A tree whose lines are being read."""

    def __init__(self, tree_id: str, report: ImportReport) -> None:
        self.tree_id = tree_id
        self._report = report
        self._conversations: dict[str, StoredConversation] = {}
        self._entries: dict[str, str] = {}  # the conversation of each
        self._context_of: object = None
        self._counted = 0

    def conversation(self, line: FileRecord) -> None:
        """Take the line of a conversation."""
        raw, conversation_id = line.value, _id(line, "id")
        if conversation_id in self._conversations:
            _fail(line, f"the conversation {conversation_id} is there twice")
        fork = self._fork(line)
        if (fork is None) != (not self._conversations):
            _fail(line, "a tree has one root, and it comes first")
        title = raw.get("title")
        if title is not None and not is_title(title):
            title = title_of(title)
            self._report.add(Reason.SETTING, conversation_id)
        if raw.get("startedByConversationId"):
            self._report.add(Reason.PARENT_LINK, conversation_id)
        settings = {name: raw[name] for name in SETTINGS if raw.get(name)}
        self._conversations[conversation_id] = StoredConversation(
            conversation_id, title, settings, fork, raw.get("isCurrent") is True, []
        )

    def _fork(self, line: FileRecord) -> StoredFork | None:
        raw = line.value
        if raw.get("forkedAtConversationId") is None:
            return None
        source, position = _id(line, "forkedAtConversationId"), raw.get("forkedAtPosition")
        if source not in self._conversations:
            _fail(line, f"it forks {source}, which does not come before it")
        if position not in POSITIONS:
            _fail(line, "'forkedAtPosition' is not before, after or blank")
        if position == "blank":
            return StoredFork(source, None, position)
        anchor = _id(line, "forkedAtEntryId")
        if anchor not in self._entries:
            _fail(line, f"it forks at {anchor}, which does not come before it")
        up_to = _id(line, "inheritedUpToEntryId") if raw.get("inheritedUpToEntryId") else None
        if up_to is not None and up_to not in self._entries:
            _fail(line, f"it inherits {up_to}, which does not come before it")
        return StoredFork(source, anchor, position, up_to)

    def entry(self, line: FileRecord) -> None:
        """Take the line of an entry."""
        raw, entry_id, owner = line.value, _id(line, "id"), _id(line, "conversationId")
        if owner not in self._conversations:
            _fail(line, f"the entry is of {owner}, which does not come before it")
        if entry_id in self._entries:
            _fail(line, f"the entry {entry_id} is there twice")
        content, content_type = raw.get("content"), raw.get("contentType")
        if not isinstance(content, list) or not isinstance(content_type, str):
            _fail(line, "an entry needs a 'contentType' and an array 'content'")
        problem = problem_of(content)
        if problem is not None:
            _fail(line, f"{problem} ({entry_id})")
        self._counted += 1
        self._entries[entry_id] = owner
        is_context = raw.get("channel") == "context"
        members = {"contentType": content_type, "content": content}
        members |= {name: raw[name] for name in OF_ENTRY if raw.get(name) is not None}
        is_erased = raw.get("erased") is True
        if is_erased:
            members = {}  # the service takes no entry without content
        elif is_context:
            self._context_of = self._context_of or raw.get("clientId")
            members |= {"channel": "context", "epoch": raw.get("epoch")}
            if raw.get("clientId") != self._context_of:
                # One client imports, and two clients' epochs have nothing to do with each other.
                members = {}
        key, merged = raw.get("key"), raw.get("mergedFromConversationId")
        self._conversations[owner].entries.append(
            FileEntry(
                entry_id,
                key if isinstance(key, str) else None,
                members,
                is_context,
                merged if isinstance(merged, str) else None,
                _id(line, "mergedUpToEntryId") if raw.get("mergedUpToEntryId") else None,
                is_erased,
                raw.get("attachments"),
                notes_in(raw.get("notes")) if members and not is_context else (),
            )
        )

    def end(self, line: FileRecord) -> ForkTree:
        """Return the tree. `line` is its last one, and counts the others."""
        counted = {"conversations": len(self._conversations), "entries": self._counted}
        for name, count in counted.items():
            if line.value.get(name) != count:
                _fail(line, f"the tree has {count} {name}, and should have {line.value.get(name)}")
        if not self._conversations:
            _fail(line, "the tree has no conversation")
        return ForkTree(self.tree_id, tuple(self._conversations.values()))


def _check_header(line: FileRecord) -> None:
    raw = line.value
    if not isinstance(raw, Mapping) or (raw.get("type"), raw.get("format")) != ("header", "forklore"):
        _fail(line, "not the header of forklore's JSON Lines")
    if raw.get("version") != VERSION:
        _fail(line, f"version {raw.get('version')} of the format; this program reads version {VERSION}")


def _id(line: FileRecord, name: str) -> str:
    value = line.value.get(name)
    if not isinstance(value, str) or not value.isascii() or not value:
        _fail(line, f"no id under {name!r}")
    return value


def _fail(line: FileRecord, reason: str) -> NoReturn:
    raise MalformedFileError(f"{line.place}: {reason}")

"""What the readers of files give: trees of messages, and a report of what they left out."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class MalformedFileError(Exception):
    """The file cannot be read on from here. The message is one line, and says where."""


class NoConversationError(MalformedFileError):
    """A file of a format that is known holds no conversation, as one that a program has begun."""


class UnknownFormatError(MalformedFileError):
    """The file has no format that is known."""


class Reason(StrEnum):
    """Why something of a file was left out or changed."""

    HIDDEN = "hidden message"
    EMPTY = "empty message"
    NOT_A_MESSAGE = "not a message"
    NOT_A_CONVERSATION = "not a conversation with messages"
    TOO_LARGE = "message too large"
    SPLIT = "message too large for one entry, and put into several"
    TOO_DEEP = "message nested too deep"
    PART_TOO_LARGE = "part of a message, such as an attachment, too large"
    PART_TOO_DEEP = "part of a message nested too deep"
    SURROGATE = "half a surrogate pair replaced"
    WITHOUT_FILE = "attachment without its file"
    NOT_TAKEN = "file that is there, and cannot be an attachment"
    CYCLE = "cycle cut"
    LOST_PARENT = "message whose parent is not in the file"
    LOST_SESSION = "goes on from a session that is not there"
    LOST_PLACE = "goes on from a message that is not there"
    OPEN = "message that is not finished"
    CONTEXT = "entry of an agent's context"
    ERASED = "entry whose author was erased"
    NOTE = "note that the service does not take"
    LOST_MERGE = "mention of a merged branch that is not in the file"
    PARENT_LINK = "link to the conversation that started this one"
    BLANK_BRANCH = "empty branch that inherits nothing"
    SETTING = "title, tag or metadata that the service does not take"
    MEMBER = "member of a conversation too large for its metadata"
    PROJECT = "project of an archive"
    MEMORY = "memory of an archive"
    OTHER_FILE = "file without conversations"
    LINK = "link, which is not followed"
    OTHER_RECORD = "record that is no message"
    UNFINISHED = "last line that is not finished"
    BROKEN = "line that is not JSON"
    CHANGED = "message changed since an earlier import, kept as it was"
    KEY = "value that looks like a key"
    TITLE = "other title than here, which was kept"


@dataclass(slots=True)
class ImportReport:
    """What was left out of a file: how often for each reason, and the first examples."""

    counts: Counter[Reason] = field(default_factory=Counter)
    examples: dict[Reason, list[str]] = field(default_factory=dict)

    def add(self, reason: Reason, where: str) -> None:
        """Count one thing. where: its id, or its place in the file."""
        self.counts[reason] += 1
        shown = self.examples.setdefault(reason, [])
        if len(shown) < EXAMPLES_MAX:
            shown.append(printable(where, WHERE_MAX))

    def lines(self) -> list[str]:
        """Return a line for each reason, the most frequent first.

        >>> report = ImportReport()
        >>> report.add(Reason.EMPTY, "m1")
        >>> report.lines()
        ['empty message: 1 (m1)']
        """
        return [
            f"{reason}: {count:,} ({', '.join(self.examples[reason])}{', …' if count > EXAMPLES_MAX else ''})"
            for reason, count in self.counts.most_common()
        ]


EXAMPLES_MAX = 3  # of each reason
WHERE_MAX = 60  # characters of an example


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A place in another session, perhaps of another file.

    session: its id, or that of a part of it (`Conversation.part`). The place there is the message
    with this id or key, or the message that makes this call of a tool (the `id` of its `tool_use`),
    or the call whose result tells this text, or the last message whose `number` is below `before`;
    without any of these the session's end.
    """

    session: str
    message: str = ""
    call: str = ""
    told: str = ""
    before: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """One message of a tree.

    content: the one element of the entry's content, as it will be stored. parent (None for a root)
    and replies are indexes into the messages of the tree. is_child: it begins a conversation that
    its parent has started, and is none of its replies. is_summary: as for `Message`; kept: the
    indexes, or the keys in another file, of the messages before it that a model remembers all the
    same. earlier_keys, entry_id: as for `Message`. behind: the keys of what is left out between its
    parent and it. written: the entry's content as JSON text, if it was written already.
    """

    message_id: str
    content: dict[str, Any]
    parent: int | None
    replies: tuple[int, ...] = ()
    is_child: bool = False
    is_summary: bool = False
    kept: tuple[int | str, ...] = ()
    earlier_keys: tuple[str, ...] = ()
    entry_id: str = ""
    behind: tuple[str, ...] = ()
    written: str = field(default="", compare=False, repr=False)

    @property
    def role(self) -> str:
        """`USER`, `AI` or `SYSTEM`; empty for a tool's message."""
        return str(self.content.get("role", ""))

    @property
    def text(self) -> str:
        """The text; empty if there is none."""
        return str(self.content.get("text", ""))

    @property
    def said_at(self) -> str:
        """When it was said, as RFC 3339 in UTC; empty if that is not known."""
        return str(self.content.get("source", {}).get("createdAt", ""))


@dataclass(frozen=True, slots=True)
class ForeignTree:
    """A conversation with all its branches, from elsewhere.

    source: the name of its format.
    messages: a flat list in preorder. A message is before its replies, and everything below one
    reply is before the next one. More than one message may have no parent.
    current: the last message of the branch that was shown last; None if the file does not say.
    created_at: as RFC 3339, if the file says so. metadata: what else it says about the whole.
    digest: of its text in the file, if that is known. session: the id of the session, of which this
    may be a part. project: the folder that it worked in. origin: the place in another session that
    its first messages follow, or with is_started, that has started it. first: what its first
    message is known by in any file of the format. forklore: as for `Conversation`.
    as_digest: what the root tells as its digest, if that is known.
    """

    tree_id: str
    messages: tuple[ForeignMessage, ...]
    source: str = "trees"
    title: str | None = None
    created_at: str | None = None
    current: int | None = None
    is_archived: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    session: str = ""
    project: str = ""
    origin: Link | None = None
    is_started: bool = False
    first: str = ""
    forklore: str = ""
    as_digest: str = ""


def printable(text: str, length_max: int) -> str:
    """Return the text on one line, without control characters, cut to `length_max` characters.

    >>> printable("one\\n  two three", 10)
    'one two t…'
    """
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return line if len(line) <= length_max else f"{line[: length_max - 1]}…"

"""What a line holds: messages of Pydantic AI, and what each save says. Pure: nothing is sent here.

An entry of a message is `[{"role", "text", "id", "parentId", "message", "record"?,
"attachments"?}]`. `record` is what a save says. A save without new messages is an entry
`[{"record"}]` of its own content type.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from forklore.adapters.files import Stored, attachments
from forklore.adapters.pydantic_ai.places import Place
from forklore.adapters.pydantic_ai.texts import shown
from forklore.adapters.storable import (
    checked_size,
    restored,
    size_of,
    storable,
)
from forklore.client import jsontext
from forklore.client.generated import results
from forklore.client.generated.limits import APPEND_ENTRIES_MAX, ENTRY_BYTES_MAX, packs

HISTORY, RECORD = "history", "application/vnd.pydantic-ai.record+json"
BEGIN = "begin"
T = TypeVar("T")
APPEND_BYTES_MAX = 4_000_000
"""The service takes 5,000,000, and 3.9 MB as compressed."""
CARD_BYTES_MAX = 4096

Draft = dict[str, Any]


@dataclass(frozen=True)
class State:
    """What the last save of a conversation says.

    record: None: there is none yet, or it was deleted. line: where the name points to. last: the
    last entry of the line; None: the conversation does not exist. lines: the others that it has
    written. tips: the
    line of each branch that it left. closed: where the head is, if it is not at the end of the
    line; without an entry there is no head. begun: no save stands in the line; somebody makes the
    conversation, or was killed.
    """

    conversation_id: str
    record: ConversationRecord | None = None
    line: str = ""
    last: str | None = None
    lines: tuple[str, ...] = ()
    tips: Mapping[str, str] = field(default_factory=dict)
    closed: Place | None = None
    begun: bool = False

    @property
    def head(self) -> str | None:
        """The last entry of the history."""
        return None if self.record is None else self.record.head_id

    def moved(self, line: str) -> "State":
        """Return the state of a conversation that leaves its line for another one."""
        lines = tuple(one for one in (*self.lines, self.line) if one != line)
        return replace(self, lines=lines)

    @property
    def revision(self) -> str | None:
        """The revision; None if there is no record."""
        return None if self.record is None else self.record.revision


@dataclass(frozen=True)
class Change:
    """What a save adds.

    record: the new one; None: the conversation is deleted. anchor: the entry that the messages go
    on from. messages: drafts of entries.
    """

    record: ConversationRecord | None
    anchor: str | None
    messages: tuple[Draft, ...] = ()

    @classmethod
    def of(
        cls, record: ConversationRecord, new_entries: Sequence[ConversationEntry], stored: Sequence[Stored]
    ) -> "Change":
        """Return the change that a save makes. Raises TooLargeError for what no entry can hold.

        stored: what is stored of the message of each entry.
        """
        messages = tuple(map(_message, new_entries, stored))
        said = {"record": _dumped(record)}
        for draft in (*messages, _alone(said)):
            what = f"message {draft['content'][0]['id']}" if draft in messages else "the record"
            checked_size(what, draft["content"])
        return cls(record, new_entries[0].parent_id if new_entries else record.head_id, messages)


def saying(state: State, record: ConversationRecord | None, closed: Place | None = None) -> dict[str, Any]:
    """Return what a save says behind a state."""
    left = () if record is None else record.branches
    home = state.line if state.closed is None else state.closed.line
    return {
        "record": None if record is None else _dumped(record),
        "lines": list(state.lines),
        "tips": {tip: state.tips.get(tip, home) for tip in left},
        "closed": None if closed is None else [closed.line, closed.entry_id],
    }


def groups(change: Change, said: Mapping[str, Any], *, begins: bool) -> list[list[Draft]]:
    """Return the entries of a save, in groups of what one append holds.

    The last message also holds what the save says, if both fit into an entry.
    """
    drafts = list(change.messages)
    if drafts:
        last = {**drafts[-1], "content": [{**drafts[-1]["content"][0], "record": said}]}
        drafts[-1:] = [last] if size_of(last["content"]) <= ENTRY_BYTES_MAX else [drafts[-1], _alone(said)]
    else:
        drafts = [_alone(said)]
    if begins:
        drafts[0] = {**drafts[0], "key": BEGIN}
    most = APPEND_ENTRIES_MAX, APPEND_BYTES_MAX
    return list(packs(drafts, most, lambda draft: (1, size_of(draft["content"]))))


def card(state: State, record: ConversationRecord | None) -> dict[str, Any]:
    """Return the data of a name, by which lists know its record without a request.

    line: where the name points to. A new line has no id yet.
    """
    made = {"record": None if record is None else _dumped(record), "line": state.line}
    return made if len(jsontext.write(made).encode()) <= CARD_BYTES_MAX else {}


def is_of(name: results.Name) -> bool:
    """Return whether the card of a name belongs to the line that it points to.

    A name that has not moved was made with the line. Each move is later than what it moves.
    """
    line = name.data.get("line")
    return line == name.conversation_id or (line == "" and name.created_at == name.updated_at)


def record_in(said: Mapping[str, Any]) -> ConversationRecord | None:
    """Return the record of a card, or of what a save says."""
    if said["record"] is None:
        return None
    return _read(_records(), said["record"])


def state_in(conversation_id: str, stored: results.Entry, *, last: str) -> State | None:
    """Return the state that an entry holds; None if no save ends with it."""
    said = _first(stored).get("record")
    if not isinstance(said, Mapping):
        return None
    closed = said["closed"]
    return State(
        conversation_id,
        record_in(said),
        line=stored.conversation_id,
        last=last,
        lines=tuple(said["lines"]),
        tips=dict(said["tips"]),
        closed=None if closed is None else Place(*closed),
    )


def entry_in(stored: results.Entry) -> ConversationEntry | None:
    """Return the message that an entry holds; None if it holds none."""
    held = _first(stored)
    if "message" not in held:
        return None
    message = _read(ModelMessagesTypeAdapter, held["message"])
    return ConversationEntry(id=held["id"], parent_id=held["parentId"], message=message)


def id_in(stored: results.Entry) -> str | None:
    """Return the id of the message that an entry holds; None if it holds none."""
    held = _first(stored)
    return held["id"] if "message" in held else None


def copied(record: ConversationRecord) -> ConversationRecord:
    """Return a copy that the caller may change."""
    return deepcopy(record)


def _first(stored: results.Entry) -> Mapping[str, Any]:
    first = stored.content[0] if stored.content else None
    return first if isinstance(first, Mapping) else {}


def messages_of(entries: Sequence[ConversationEntry]) -> list[Any]:
    """Return the messages of entries as JSON has them."""
    held: list[Any] = ModelMessagesTypeAdapter.dump_python([one.message for one in entries], mode="json")
    return held


def _message(entry: ConversationEntry, stored: Stored) -> Draft:
    content = {
        **shown(entry.message),
        "id": entry.id,
        "parentId": entry.parent_id,
        "message": stored.value,
        **attachments([stored]),
    }
    return {"channel": HISTORY, "contentType": HISTORY, "content": [content]}


def _alone(said: Mapping[str, Any]) -> Draft:
    return {"contentType": RECORD, "content": [{"record": said}]}


@cache
def _records() -> TypeAdapter[list[ConversationRecord]]:
    return TypeAdapter(
        list[ConversationRecord], config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    )


def _dumped(record: ConversationRecord) -> Any:
    return storable(_records().dump_python([record], mode="json")[0])


def _read(kind: TypeAdapter[list[T]], stored: Any) -> T:
    """Return what was stored. What stands as text may hold halves of surrogate pairs.

    Pydantic takes these from an object and not from JSON text.
    """
    if isinstance(stored, str):
        return kind.validate_python([restored(stored)])[0]
    return kind.validate_json(jsontext.write([stored]))[0]

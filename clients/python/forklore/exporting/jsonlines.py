"""forklore's own JSON Lines: whole fork trees, one JSON object on each line.

| `type` | what stands beside it |
|---|---|
| `header` | `format`: `forklore`, `version`: 1, perhaps `exportedAt`; the first line |
| `tree` | `id`: the root's; what follows belongs to it |
| `conversation` | the members in CONVERSATION_MEMBERS; its entries follow, among others |
| `entry` | the members in ENTRY_MEMBERS |
| `end` | `id` of the tree, and how many `conversations` and `entries` it has |

A conversation comes after those that it inherits from and after the entry at which it forks.
`inheritedUpToEntryId` of a fork is the last
entry of either channel that it inherits. It matters only where an agent's context stands beside the
fork point, and may be left out; then a fork after an entry has the context that follows it, too.

A deleted branch that others still show
entries of has `"removed": true`, and says where it forks like any other. An import makes an
ordinary branch of it. An entry whose author was erased has `"erased": true` and no content; an
import leaves it out.

`notes` of an entry has the NOTE_MEMBERS of each note on it, oldest first.

`attachments` of an entry has the `id`, `name`, `contentType`, `size` and `sha256` of each file that
its content names. `forklore.exporting.kept_files` says where their bytes are.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.arguments import Described, Written
from forklore.client.result_base import wire_name

VERSION = 1
DESCRIPTION = tuple(map(wire_name, Described.__annotations__))
"""What callers say of a conversation."""
SAID = tuple(map(wire_name, (*Written.__annotations__, "key", "usage")))
"""What callers say of an entry beside its content."""
CONVERSATION_MEMBERS = (
    *("id", *DESCRIPTION, "agentId", "createdAt", "isCurrent", "removed"),
    *("forkedAtConversationId", "forkedAtEntryId", "forkedAtPosition", "inheritedUpToEntryId"),
    *("startedByConversationId", "startedByEntryId"),
)
_OF_ENTRY = (
    *("id", "conversationId", "userId", "clientId", "agentId", "channel", "epoch", "key"),
    *("contentType", "content", "attachments", "erased", "usage", "metadata", "createdAt"),
    *("mergedFromConversationId", "mergedUpToEntryId", "copiedFromConversationId", "copiedFromEntryId"),
    "notes",
)
NOTED = ("text", "score", "pinned")
"""What somebody says in a note."""
NOTE_MEMBERS = ("userId", "clientId", *NOTED, "createdAt")
ENTRY_MEMBERS = (*_OF_ENTRY, *(name for name in SAID if name not in _OF_ENTRY))

CONVERSATION, ENTRY = "conversation", "entry"
MEMBERS = {CONVERSATION: CONVERSATION_MEMBERS, ENTRY: ENTRY_MEMBERS}
Line = tuple[str, Mapping[str, Any]]
"""The kind of a line, and the row that it shows."""


def header_line(*, exported_at: str | None = None) -> str:
    """Return the first line of a file, with its line end. exported_at: as RFC 3339."""
    return _line("header", {"format": "forklore", "version": VERSION, "exportedAt": exported_at})


def tree_lines(tree_id: str, lines: Iterable[Line]) -> Iterator[str]:
    """Yield the lines of one fork tree, each with its line end.

    lines: CONVERSATION or ENTRY, and the row as the API shows it. A conversation comes after those
    that it inherits from and after the entry at which it forks, and before its own entries.
    """
    yield _line("tree", {"id": tree_id})
    counts = {CONVERSATION: 0, ENTRY: 0}
    for kind, row in lines:
        counts[kind] += 1
        yield _line(kind, _picked(row, MEMBERS[kind]))
    yield _line("end", {"id": tree_id, "conversations": counts[CONVERSATION], "entries": counts[ENTRY]})


def with_notes(lines: Iterable[Line], notes: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield the lines, those of entries with the notes on them. notes: as the API shows them."""
    on: dict[str, list[dict[str, Any]]] = {}
    for note in notes:
        on.setdefault(note["entryId"], []).append(_picked(note, NOTE_MEMBERS))
    for kind, row in lines:
        noted = on.get(row["id"]) if kind == ENTRY else None
        yield kind, {**row, "notes": noted} if noted else row


def notes_in(raw: Any) -> list[dict[str, Any]]:
    """Return what the notes of a list say, without who has written them and when."""
    rows = [one for one in raw if isinstance(one, Mapping)] if isinstance(raw, list) else []
    return [_picked(one, NOTED) for one in rows]


def _picked(row: Mapping[str, Any], members: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in members if row.get(name) is not None}


def _line(kind: str, members: Mapping[str, Any]) -> str:
    present = {name: value for name, value in members.items() if value is not None}
    return jsontext.write({"type": kind, **present}) + "\n"

"""A whole fork tree, as its members read it: its branches, and deleted ones that show through.

The service lists the branches that are there. Of a deleted branch only what others inherit from it
is left. So where one forked is read from the view of one that still shows it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forklore.cli.output import wire

if TYPE_CHECKING:
    from forklore.client.results import Entry
    from forklore.client.synchronous.client import Forklore
    from forklore.client.synchronous.conversation import Conversation

PAGE_ENTRIES = 1_000
Row = dict[str, Any]
"""A row of `listForks`, under the names of the API; of a deleted branch with `removed`."""


def live_rows(conversation: "Conversation") -> list[Row]:
    """Return the branches that are there, the oldest first."""
    return [wire(fork) for fork in conversation.forks()]


def may_show_deleted(rows: Iterable[Row]) -> bool:
    """Return whether some of the rows may inherit from a deleted branch."""
    known = {row["conversationId"] for row in rows}
    sources = [row.get("forkedAtConversationId") for row in rows]
    return None not in sources or any(source not in known for source in sources if source is not None)


def first_of_deleted(client: "Forklore", rows: list[Row]) -> "dict[str, Entry]":
    """Return, of each deleted branch that others show, its first entry. It reads all entries."""
    known = {row["conversationId"] for row in rows}
    entries = client.conversation(rows[0]["conversationId"]).entries(
        all_forks=True, page_entries=PAGE_ENTRIES
    )
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.conversation_id not in known:
            found.setdefault(entry.conversation_id, entry)
    return found


def whole_rows(client: "Forklore", rows: list[Row], first: "Mapping[str, Entry]") -> list[Row]:
    """Return a row for each branch that is there or shows through, each after its source.

    rows: as `live_rows` returns them. first: the first entry of each deleted branch. The first row
    returned is the root, and no other one has no source. A row that forks a deleted branch forks
    after the last entry that it inherits, because the entry at which it forked may be gone.
    """
    known = {row["conversationId"] for row in rows}
    made: dict[str, Row] = {}
    for row in rows:
        source = row.get("forkedAtConversationId")
        made[row["conversationId"]] = (
            row
            if source is None or source in known
            else {**without_fork(row), **fork_after(last_inherited(client, row["conversationId"]))}
        )
    missing = dict(first)
    for row in rows if missing else ():
        for one in client.conversation(row["conversationId"]).ancestors():
            entry = missing.pop(one.conversation_id, None)
            if entry is not None:
                above = entry_before(client, row["conversationId"], entry.id)
                made[entry.conversation_id] = {
                    "conversationId": entry.conversation_id,
                    "createdAt": entry.created_at,
                    "removed": True,
                    **fork_after(above),
                }
        if not missing:
            break
    return _rooted(_sources_first(made))


def entry_before(client: "Forklore", conversation_id: str, entry_id: str | None) -> "Entry | None":
    """Return the entry that a view shows just before another one; at None the last one."""
    cursor = entry_id
    while True:
        page = client.api.list_entries(
            conversation_id, limit=1, before_cursor=cursor, tail=True if cursor is None else None
        )
        if page.data or page.before_cursor is None:
            return page.data[-1] if page.data else None
        cursor = page.before_cursor


def last_inherited(client: "Forklore", conversation_id: str) -> "Entry | None":
    """Return the last entry that a fork shows of others; None if there is none."""
    own = client.conversation(conversation_id).entries(own=True, page_entries=1).first()
    return entry_before(client, conversation_id, own.id if own else None)


def fork_after(entry: "Entry | None") -> Row:
    """Return the members of a row that say that it forks after an entry; at None no members."""
    if entry is None:
        return {}
    return {
        "forkedAtConversationId": entry.conversation_id,
        "forkedAtEntryId": entry.id,
        "forkedAtPosition": "after",
    }


def without_fork(row: Row) -> Row:
    """Return a row without the members that say where it forks."""
    return {name: held for name, held in row.items() if not name.startswith("forkedAt")}


def _sources_first(made: Mapping[str, Row]) -> list[Row]:
    """Return the rows in their order, but each after the one that it forks."""
    order: dict[str, Row] = {}
    for row in made.values():
        waiting: list[Row] = []
        at: Row | None = row
        while at is not None and at["conversationId"] not in order:
            waiting.append(at)
            at = made.get(at.get("forkedAtConversationId", ""))
        for one in reversed(waiting):
            order[one["conversationId"]] = one
    return list(order.values())


def _rooted(rows: list[Row]) -> list[Row]:
    """Return the rows with one root, which is the first one. Others without a source are blank."""
    at = next(at for at, row in enumerate(rows) if row.get("forkedAtConversationId") is None)
    root = rows.pop(at)
    blank = blank_fork(root["conversationId"])
    return [root, *(row if row.get("forkedAtConversationId") else {**row, **blank} for row in rows)]


def blank_fork(root: str) -> Row:
    """Return the members of a row that say that it inherits nothing."""
    return {"forkedAtConversationId": root, "forkedAtPosition": "blank"}

"""The rows of a fork tree, and where a fork leaves another one."""

from typing import TYPE_CHECKING, Any

from forklore.cli.output import wire

if TYPE_CHECKING:
    from forklore.client.results import Entry
    from forklore.client.synchronous.client import Forklore
    from forklore.client.synchronous.conversation import Conversation

PAGE_ENTRIES = 1_000
Row = dict[str, Any]
"""A row of `listForks`, under the names of the API."""


def live_rows(conversation: "Conversation") -> list[Row]:
    """Return the branches that are there, the oldest first."""
    return [wire(fork) for fork in conversation.forks()]


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


def fork_after(conversation_id: str, entry_id: str) -> Row:
    """Return the members of a row that say that it forks after an entry."""
    return {
        "forkedAtConversationId": conversation_id,
        "forkedAtEntryId": entry_id,
        "forkedAtPosition": "after",
    }


def blank_fork(root: str) -> Row:
    """Return the members of a row that say that it inherits nothing."""
    return {"forkedAtConversationId": root, "forkedAtPosition": "blank"}


def without_fork(row: Row) -> Row:
    """Return a row without the members that say where it forks."""
    return {name: held for name, held in row.items() if not name.startswith("forkedAt")}

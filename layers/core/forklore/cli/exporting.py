"""Reads fork trees for an export, several requests at a time, and never a whole tree at once."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from forklore.cli.jsonlines import tree_lines
from forklore.cli.output import wire
from forklore.cli.trees import Row, entry_before, first_of_deleted, may_show_deleted, whole_rows

if TYPE_CHECKING:
    from forklore.client.results import ListedEntry
    from forklore.client.synchronous.client import Forklore

PAGE_ENTRIES = 200
AHEAD = 2
"""How many branches are read ahead for each thread: the first page of each is in memory."""
One = TypeVar("One")
Result = TypeVar("Result")
Branch = tuple[Mapping[str, Any], Iterable[Mapping[str, Any]]]


def exported(
    client: "Forklore", rows: list[Row], *, is_agent: bool, threads: int, on_branch: Callable[[], None]
) -> Iterator[str]:
    """Yield the lines of a fork tree.

    rows: its branches, as `live_rows` returns them. on_branch: called after each.
    """
    first = first_of_deleted(client, rows) if may_show_deleted(rows) else {}
    rows = whole_rows(client, rows, first)
    removed = _entries_of_deleted(client, rows, {row["conversationId"] for row in rows if row.get("removed")})
    reader = _Reader(client, removed, is_agent=is_agent)
    return tree_lines(rows[0]["conversationId"], _told(_ahead(reader.branch, rows, threads), on_branch))


def exported_view(client: "Forklore", conversation_id: str) -> Iterator[str]:
    """Yield the lines of what one branch shows, as a tree of its own."""
    conversation = client.conversation(conversation_id)
    details = wire(conversation.details())
    kept = {name: held for name, held in details.items() if not name.startswith("forkedAt")}
    entries = (
        {**wire(entry), "conversationId": conversation_id}
        for entry in conversation.entries(page_entries=PAGE_ENTRIES)
    )
    return tree_lines(conversation_id, [({**kept, "isCurrent": True}, entries)])


class _Reader:
    """Reads branches. removed: the entries of the deleted ones."""

    def __init__(self, client: "Forklore", removed: Mapping[str, list[Row]], *, is_agent: bool) -> None:
        self._client = client
        self._removed = removed
        self._is_agent = is_agent

    def branch(self, row: Row) -> Branch:
        """Return a branch with its own entries. Only their first page is read."""
        conversation_id = row["conversationId"]
        if row.get("removed"):
            return {**row, "id": conversation_id}, self._removed[conversation_id]
        conversation = self._client.conversation(conversation_id)
        details = wire(conversation.details())
        kept = {name: held for name, held in details.items() if not name.startswith("forkedAt")}
        pages = conversation.entries(own=True, page_entries=PAGE_ENTRIES).pages()
        page = next(pages)
        rest = (entry for page in pages for entry in page.data)
        entries = (wire(entry) for entry in chain(page.data, rest))
        return {**kept, **row, "id": conversation_id, **self._inherited(row, page.data)}, entries

    def _inherited(self, row: Row, own: "Iterable[ListedEntry]") -> Row:
        """Return which entry a fork inherits last, where an agent's context may stand there."""
        if not self._is_agent or row.get("forkedAtEntryId") is None:
            return {}
        first = next(iter(own), None)
        last = entry_before(self._client, row["conversationId"], first.id if first else None)
        return {"inheritedUpToEntryId": last.id} if last else {}


def _entries_of_deleted(client: "Forklore", rows: list[Row], removed: set[str]) -> dict[str, list[Row]]:
    """Return what others show of the deleted branches. If there are any, it reads all entries."""
    found: dict[str, list[Row]] = {one: [] for one in removed}
    live = next((row["conversationId"] for row in rows if not row.get("removed")), None)
    if removed and live is not None:
        for entry in client.conversation(live).entries(all_forks=True, page_entries=PAGE_ENTRIES):
            if entry.conversation_id in found:
                found[entry.conversation_id].append(wire(entry))
    return found


def _told(branches: Iterator[Branch], on_branch: Callable[[], None]) -> Iterator[Branch]:
    for branch in branches:
        yield branch
        on_branch()


def _ahead(work: Callable[[One], Result], items: Iterable[One], threads: int) -> Iterator[Result]:
    """Yield the results in the items' order; a few of the next ones are worked on meanwhile."""
    with ThreadPoolExecutor(threads) as executor:
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(executor.submit(work, item))
                if len(under_way) > threads * AHEAD:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

"""Reads fork trees for an export: page after page, and never a whole tree at once.

The entries of all branches come together, in the order of time. So the requests are as few as the
pages, however many branches there are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from forklore.cli.jsonlines import CONVERSATION, ENTRY, Line, tree_lines
from forklore.cli.output import wire
from forklore.cli.trees import (
    PAGE_ENTRIES,
    Row,
    blank_fork,
    first_of_deleted,
    fork_after,
    last_inherited,
    may_show_deleted,
    whole_rows,
    without_fork,
)

if TYPE_CHECKING:
    from forklore.client.results import Entry
    from forklore.client.synchronous.client import Forklore

AHEAD = 4
"""How many branches are read ahead for each thread."""


def exported(
    client: "Forklore", rows: list[Row], *, is_agent: bool, threads: int, on_branch: Callable[[], None]
) -> Iterator[str]:
    """Yield the lines of a fork tree.

    rows: its branches, as `live_rows` returns them. on_branch: called after each. What is forked
    while the export goes on is not in it.
    """
    first = first_of_deleted(client, rows) if may_show_deleted(rows) else {}
    whole = whole_rows(client, rows, first)
    entries = client.conversation(rows[0]["conversationId"]).entries(
        all_forks=True, page_entries=PAGE_ENTRIES
    )
    with ThreadPoolExecutor(threads) as executor:
        details = _Details(client, [row for row in whole if not row.get("removed")], executor, threads)
        try:
            told = _Telling(client, whole, details, is_agent=is_agent, on_branch=on_branch).lines(entries)
            yield from tree_lines(whole[0]["conversationId"], told)
        finally:
            details.cancel()


def exported_view(client: "Forklore", conversation_id: str) -> Iterator[str]:
    """Yield the lines of what one branch shows, as a tree of its own."""
    conversation = client.conversation(conversation_id)
    row = {**without_fork(wire(conversation.details())), "isCurrent": True}

    def lines() -> Iterator[Line]:
        yield CONVERSATION, row
        for entry in conversation.entries(page_entries=PAGE_ENTRIES):
            yield ENTRY, {**wire(entry), "conversationId": conversation_id}

    return tree_lines(conversation_id, lines())


class _Details:
    """What `getConversation` answers, read ahead in the order of the rows."""

    def __init__(
        self, client: "Forklore", rows: Iterable[Row], executor: ThreadPoolExecutor, threads: int
    ) -> None:
        self._client, self._executor = client, executor
        self._waiting = deque(row["conversationId"] for row in rows)
        self._under_way: dict[str, Future[Row]] = {}
        self._fill(threads * AHEAD)

    def of(self, conversation_id: str) -> Row:
        """Return the details of a branch, once."""
        while conversation_id not in self._under_way:
            self._fill(1)
        details = self._under_way.pop(conversation_id).result()
        self._fill(1)
        return details

    def cancel(self) -> None:
        """Read no others."""
        for future in self._under_way.values():
            future.cancel()

    def _fill(self, count: int) -> None:
        for _ in range(min(count, len(self._waiting))):
            one = self._waiting.popleft()
            self._under_way[one] = self._executor.submit(self._read, one)

    def _read(self, conversation_id: str) -> Row:
        details: Row = wire(self._client.conversation(conversation_id).details())
        return without_fork(details)


class _Telling:
    """Puts the branches between the entries: each before its first own entry, after its source."""

    def __init__(
        self,
        client: "Forklore",
        rows: list[Row],
        details: _Details,
        *,
        is_agent: bool,
        on_branch: Callable[[], None],
    ) -> None:
        self._client, self._details, self._on_branch = client, details, on_branch
        self._is_agent = is_agent
        self._untold = {row["conversationId"]: row for row in rows}
        self._known = set(self._untold)
        self._root = rows[0]["conversationId"]
        self._entries: set[str] = set()
        self._last: dict[str, Entry] = {}  # of each branch, so far
        self._beside: set[str] = set()  # entries with context just before or after them

    def lines(self, entries: "Iterable[Entry]") -> Iterator[Line]:
        """Yield the branches and the entries. entries: of the whole tree, the oldest first."""
        yield from self._branch(self._root)
        for entry in entries:
            if entry.conversation_id not in self._known:
                continue
            yield from self._branch(entry.conversation_id)
            self._note(entry)
            yield ENTRY, wire(entry)
        for conversation_id in list(self._untold):
            yield from self._branch(conversation_id)

    def _branch(self, conversation_id: str) -> Iterator[Line]:
        """Yield a branch that has not been told, after those that it forks."""
        above: list[Row] = []
        at: str | None = conversation_id
        while at is not None and at in self._untold:
            above.append(self._untold.pop(at))
            at = above[-1].get("forkedAtConversationId")
        for row in reversed(above):
            yield CONVERSATION, self._told(row)
            self._on_branch()

    def _told(self, row: Row) -> Mapping[str, object]:
        conversation_id = row["conversationId"]
        details = {} if row.get("removed") else self._details.of(conversation_id)
        anchor = row.get("forkedAtEntryId")
        point: Row = {}
        if anchor is not None and (anchor not in self._entries or self._needs_last(anchor)):
            # A deleted branch shows nothing. Its row names the last entry that it inherits.
            last = None if row.get("removed") else last_inherited(self._client, conversation_id)
            last_id = last.id if last else anchor if row.get("removed") else None
            if anchor not in self._entries:  # a clock was late: the fork is older than its anchor
                row, point = without_fork(row), self._point_after(last)
            if self._is_agent and last_id in self._entries:
                point["inheritedUpToEntryId"] = last_id
        return {**details, **row, **point, "id": conversation_id}

    def _needs_last(self, anchor: str) -> bool:
        return self._is_agent and anchor in self._beside

    def _point_after(self, last: "Entry | None") -> Row:
        return fork_after(last) if last and last.id in self._entries else blank_fork(self._root)

    def _note(self, entry: "Entry") -> None:
        before = self._last.get(entry.conversation_id)
        if before is None or "context" in (before.channel, entry.channel):
            self._beside.add(entry.id)
            if before is not None:
                self._beside.add(before.id)
        self._last[entry.conversation_id] = entry
        self._entries.add(entry.id)

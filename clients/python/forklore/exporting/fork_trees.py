"""Reads fork trees for an export: page after page, and never a whole tree at once.

The entries of all branches come together, in the order of time. So the requests are as few as the
pages, however many branches there are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

from forklore.client.errors import ForbiddenError
from forklore.client.result_base import wire
from forklore.exporting.branches import PAGE_ENTRIES, Row
from forklore.exporting.jsonlines import CONVERSATION, ENTRY, Line, tree_lines, with_notes
from forklore.exporting.kept_files import Keeping

if TYPE_CHECKING:
    from forklore.client.generated.results import Entry
    from forklore.client.generated.synchronous.client import Forklore

AHEAD = 4
"""How many branches are read ahead for each thread."""


def exported(
    client: "Forklore",
    rows: list[Row],
    keeping: Keeping,
    *,
    is_agent: bool,
    threads: int,
    on_branch: Callable[[], None],
    notes: bool = True,
) -> Iterator[str]:
    """Yield the lines of a fork tree.

    rows: its branches, as `live_rows` returns them. keeping: keeps the files. on_branch: called
    after each branch. notes: whether the entries have their notes. What is forked while the export
    goes on is not in it.
    """
    deleted = _deleted(client, rows)
    sources = {row["conversationId"]: row.get("forkedAtConversationId", "") for row in rows}
    known = deleted.keys() | sources.keys()
    with ThreadPoolExecutor(threads) as executor:
        hiding = _Hiding(client)
        seen_from = hiding.first_without(list(sources), executor, threads) if is_agent else None
        start = client.conversation(seen_from or rows[0]["conversationId"])
        listed = start.entries(all_forks=True, page_entries=PAGE_ENTRIES)
        entries = (entry for entry in listed if entry.conversation_id in known)
        first = next(entries, None)
        root = first.conversation_id if first else rows[0]["conversationId"]
        root = next((one for one, source in sources.items() if not source), root)
        while sources.get(root) in sources:
            root = sources[root]  # without entries: it is told before what forks it
        details = _Details(client, rows, executor, threads)
        telling = _Telling(client, rows, deleted, root, details, hiding if seen_from else None, on_branch)
        try:
            lines = telling.lines(chain([first] if first else [], entries), keeping)
            noted = start.notes(all_forks=True) if notes else ()
            yield from tree_lines(root, with_notes(lines, map(wire, noted)))
        finally:
            details.cancel()


class _Hiding:
    """Which branches hide the agent's context from it: those of another client."""

    def __init__(self, client: "Forklore") -> None:
        self._client = client
        self._known: dict[str, bool] = {}

    def __contains__(self, conversation_id: str) -> bool:
        if conversation_id not in self._known:
            try:
                self._client.api.list_entries(conversation_id, channel="context", limit=1)
                self._known[conversation_id] = False
            except ForbiddenError:
                self._known[conversation_id] = True
        return self._known[conversation_id]

    def first_without(self, branches: list[str], executor: ThreadPoolExecutor, threads: int) -> str | None:
        """Return the first branch that hides nothing; None if all do.

        Who lists the entries of a tree from a branch that hides context is shown no context at all.
        """
        for at in range(1 - threads, len(branches), threads):  # the first alone: most often it will do
            some = branches[max(at, 0) : at + threads]
            for one, is_hiding in zip(some, executor.map(self.__contains__, some), strict=True):
                if not is_hiding:
                    return one
        return None


def _deleted(client: "Forklore", rows: list[Row]) -> dict[str, str]:
    """Return the deleted branches that others still show, each with the one that shows most."""
    known = {None, *(row["conversationId"] for row in rows)}
    forks = [row["conversationId"] for row in rows if row.get("forkedAtConversationId") not in known]
    shown: dict[str, tuple[str, str]] = {}
    for fork in forks:
        for above in client.conversation(fork).ancestors():
            if above.removed and above.inherited_up_to_entry_id:
                one = above.conversation_id
                shown[one] = max(shown.get(one, ("", "")), (above.inherited_up_to_entry_id, fork))
    return {one: fork for one, (_, fork) in shown.items()}


def exported_view(client: "Forklore", conversation_id: str, keeping: Keeping) -> Iterator[str]:
    """Yield the lines of what one branch shows, as a tree of its own."""
    conversation = client.conversation(conversation_id)
    row = {**_without_fork(wire(conversation.details())), "isCurrent": True}

    def lines() -> Iterator[Line]:
        yield CONVERSATION, row
        for entry in conversation.entries(page_entries=PAGE_ENTRIES):
            yield ENTRY, {**keeping.row(entry), "conversationId": conversation_id}

    return tree_lines(conversation_id, with_notes(lines(), map(wire, conversation.notes())))


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
        return _without_fork(details)


class _Telling:
    """Puts the branches between the entries: each before its first own entry, after its source.

    deleted: as `_deleted` returns them. root: the first branch that is told. hiding: which branches
    hide the agent's context; None if the caller is shown none at all.
    """

    def __init__(
        self,
        client: "Forklore",
        rows: list[Row],
        deleted: Mapping[str, str],
        root: str,
        details: _Details,
        hiding: _Hiding | None,
        on_branch: Callable[[], None],
    ) -> None:
        self._client, self._details, self._on_branch = client, details, on_branch
        self._hiding, self._deleted, self._root = hiding, deleted, root
        self._untold = {row["conversationId"]: row for row in rows}
        self._forks: dict[str, list[Row]] = {}
        for row in rows:
            self._forks.setdefault(row.get("forkedAtConversationId", ""), []).append(row)
        self._told: set[str] = set()
        self._entries: dict[str, str] = {}  # the branch of each, so far
        self._first: dict[str, str] = {}  # of each branch, so far
        self._last: dict[str, Entry] = {}  # of each branch, so far
        self._beside: set[str] = set()  # entries with context just before or after them
        self._sources: dict[str, str] = {}  # what each fork forks, as it is told
        self._up_to: dict[str, str] = {}  # the last entry that a fork inherits, where it is said

    def lines(self, entries: "Iterable[Entry]", keeping: Keeping) -> Iterator[Line]:
        """Yield the branches and the entries. entries: of the whole tree, the oldest first."""
        if self._root in self._untold:
            yield from self._branch(self._root)
        for entry in entries:
            one = entry.conversation_id
            if one in self._deleted and one not in self._told:
                self._untold[one] = {"conversationId": one, "createdAt": entry.created_at, "removed": True}
            yield from self._branch(one, entry)
            self._note(entry)
            yield ENTRY, keeping.row(entry)
        for one in list(self._untold):
            yield from self._branch(one)

    def _branch(self, conversation_id: str, first: "Entry | None" = None) -> Iterator[Line]:
        """Yield a branch that has not been told, after those that it forks. first: its own one."""
        above: list[Row] = []
        at: str | None = conversation_id
        while at is not None and at in self._untold:
            above.append(self._untold.pop(at))
            at = above[-1].get("forkedAtConversationId")
        for row in reversed(above):
            one = row["conversationId"]
            details = {} if row.get("removed") else self._details.of(one)
            point = {} if one == self._root else self._point(row, first if row is above[0] else None)
            if point:
                self._sources[one] = point["forkedAtConversationId"]
            self._told.add(one)
            yield CONVERSATION, {**details, **_without_fork(row), **point, "id": one}
            self._on_branch()

    def _point(self, row: Row, first: "Entry | None") -> Row:
        """Return the members of a row that say where it forks.

        What it forks may be gone, and so may the entry at which it forks. A user does not see the
        context at which an agent forks, and where a clock was late, a fork is older than the entry
        before which it leaves. A branch of another client does not show the agent's context to the
        agent, but a fork of it by the agent does. Then it is after the last entry that it inherits.
        """
        source, anchor = row.get("forkedAtConversationId"), row.get("forkedAtEntryId")
        is_there = source in self._told and (anchor in self._entries or row["forkedAtPosition"] == "blank")
        point = {name: held for name, held in row.items() if name.startswith("forkedAt")}
        may_come = (
            anchor in self._entries
            and row["forkedAtPosition"] == "after"
            and self._last[self._entries[anchor]].id == anchor
        )
        if is_there and not (self._hiding is not None and (anchor in self._beside or may_come)):
            return point
        last = self._last_inherited(row, first)
        if is_there and anchor and last is None:
            first_own = self._first[self._entries[anchor]]
            return {**point, "forkedAtEntryId": first_own, "forkedAtPosition": "before"}
        if last not in self._entries:
            blank = {"forkedAtConversationId": self._root, "forkedAtPosition": "blank"}
            return point if is_there else blank
        if not (is_there and self._shows(source, last)):
            place = {"forkedAtConversationId": self._entries[last], "forkedAtEntryId": last}
            point = {**place, "forkedAtPosition": "after"}
        if self._hiding is None:
            return point
        self._up_to[row["conversationId"]] = last
        return {**point, "inheritedUpToEntryId": last}

    def _shows(self, branch: str | None, entry_id: str) -> bool:
        """Tell whether a branch, as it is told, shows an entry: another client's hides context."""
        while branch != self._entries[entry_id]:
            if branch is None or entry_id > self._up_to.get(branch, entry_id):
                return False
            branch = self._sources.get(branch)
        return True

    def _last_inherited(self, row: Row, first: "Entry | None") -> str | None:
        """Return the last entry that a branch shows of others. first: its own one, if known."""
        one, anchor = row["conversationId"], row.get("forkedAtEntryId")
        if anchor in self._entries and row["forkedAtPosition"] == "after" and anchor not in self._beside:
            return str(anchor)
        first = first or self._client.conversation(one).entries(own=True, page_entries=1).first()
        if self._hiding is None:
            return first.parent_id if first else row["lastEntryId"]
        seen_from = self._deleted.get(one, one)
        last = _entry_before(self._client, seen_from, first.id if first else None)
        if first and (last is None or last.channel == "history") and seen_from in self._hiding:
            seen_from = self._fork_that_shows(one, first.id, self._hiding) or seen_from
            last = _entry_before(self._client, seen_from, first.id)
        return last.id if last else None

    def _fork_that_shows(self, conversation_id: str, entry_id: str, hiding: _Hiding) -> str | None:
        """Return a fork of a branch, or of a fork, that shows its entry and hides no context."""
        looked_at = deque([conversation_id])
        while looked_at:
            for row in self._forks.get(looked_at.popleft(), []):
                one, anchor = row["conversationId"], row.get("forkedAtEntryId") or ""
                if anchor > entry_id or (anchor == entry_id and row["forkedAtPosition"] == "after"):
                    if one not in hiding:
                        return str(one)
                    looked_at.append(one)
        return None

    def _note(self, entry: "Entry") -> None:
        before = self._last.get(entry.conversation_id)
        if before is None or "context" in (before.channel, entry.channel):
            self._beside.add(entry.id)
            if before is not None:
                self._beside.add(before.id)
        self._first.setdefault(entry.conversation_id, entry.id)
        self._last[entry.conversation_id] = entry
        self._entries[entry.id] = entry.conversation_id


def _entry_before(client: "Forklore", conversation_id: str, entry_id: str | None) -> "Entry | None":
    """Return the entry that a view shows just before another one; at None the last one."""
    cursor = entry_id
    while True:
        page = client.api.list_entries(
            conversation_id, limit=1, before_cursor=cursor, tail=True if cursor is None else None
        )
        if page.data or page.before_cursor is None:
            return page.data[-1] if page.data else None
        cursor = page.before_cursor


def _without_fork(row: Row) -> Row:
    """Return a row without the members that say where it forks."""
    return {name: held for name, held in row.items() if not name.startswith("forkedAt")}

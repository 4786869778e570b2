"""What a session keeps: the conversation that its name points to, and how it is read and changed.

What takes items away makes a fork and moves the name to it, in one request. So a process that is
killed leaves nothing half done.

A name is moved and never deleted, so whoever follows it finds what was kept.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from forklore import ConflictError, Forklore, NotFoundError
from forklore.adapters.files import Files
from forklore.adapters.openai_agents.items import Item, drafts_of, is_said_by_user, items_of, plain
from forklore.adapters.running import run
from forklore.client.errors import BadRequestError
from forklore.client.generated.limits import PAGE_ENTRIES_MAX
from forklore.client.generated.results import Entry, Name

HISTORY: Literal["history"] = "history"
INVALID_CURSOR = "invalid_cursor"
OVERTAKEN = frozenset({"stale", "name_moved"})
"""Why a change is refused that another one came before. Read again, then decide."""


@dataclass(frozen=True)
class Place:
    """A place in front of an item: in an entry, behind those of its items that are kept."""

    entry: Entry
    kept: Sequence[Item]
    item: Item


@dataclass(frozen=True)
class Tail:
    """The newest items, the oldest first, and what was known when they were read.

    last: the newest entry of the history. is_whole: there are no other items.
    """

    name: Name
    last: Entry
    places: Sequence[Place]
    is_whole: bool


class Kept:
    """What the name of a session points to. Of two calls only the bytes of files are remembered."""

    def __init__(self, client: Forklore, name: str, files: Files) -> None:
        self._client = client
        self._name = name
        self._files = files

    # Reading

    def items(self, limit: int | None) -> list[Item]:
        """Return the newest items, the oldest first. limit: None or negative: all."""
        if limit == 0:
            return []
        wanted = None if limit is None or limit < 0 else limit
        while True:
            try:
                return self._newest(wanted)
            except NotFoundError:
                return []
            except BadRequestError as error:
                if error.code != INVALID_CURSOR:
                    raise
                # Meanwhile the entry at the end of a page was taken away. Read what is left.

    def _newest(self, wanted: int | None) -> list[Item]:
        """Return the newest items, the oldest first. Each page is asked for by the name.

        If the name moves between two pages, what stands before an entry stays the same: it is so
        in each conversation that shows the entry.
        """
        found: list[Item] = []
        cursor: str | None = None
        while True:
            # Behind the first page may be many entries of another program, which are no items.
            entries_max = PAGE_ENTRIES_MAX if wanted is None or cursor else min(wanted, PAGE_ENTRIES_MAX)
            page = self._client.api.list_entries_by_name(
                name=self._name,
                channel=HISTORY,
                limit=entries_max,
                tail=True if cursor is None else None,
                before_cursor=cursor,
            )
            entries = run(self._client, self._files.whole(page.data))
            found = [item for entry in entries for item in items_of(entry)] + found
            cursor = page.before_cursor
            if wanted is not None and len(found) >= wanted:
                return found[-wanted:]
            if cursor is None:
                return found

    def tail(self, wanted: int) -> Tail | None:
        """Return the newest items, and where they are; None if there are none."""
        while True:
            now = self._now()
            if now is None:
                return None
            try:
                last, places = None, list[Place]()
                for entry in self._entries(now, backward=True, page_entries=wanted + 1):
                    last = last or entry
                    places[:0] = places_in(entry)
                    if len(places) > wanted:
                        break
            except NotFoundError:
                continue
            if last is None or not places:
                return None
            return Tail(now, last, places[-wanted:], is_whole=len(places) <= wanted)

    def _now(self) -> Name | None:
        """Return where the name points; None if there is no name, or no conversation any more."""
        found = self._named()
        return None if found is None or found.deleted else found

    def _named(self) -> Name | None:
        """Return the name, even if its conversation is deleted; None if there is none."""
        try:
            return self._client.api.look_up_name(name=self._name)
        except NotFoundError:
            return None

    def _entries(self, now: Name, *, backward: bool, page_entries: int) -> Iterator[Entry]:
        conversation = self._client.conversation(now.conversation_id)
        pages = min(page_entries, PAGE_ENTRIES_MAX)
        for entry in conversation.entries(channel=HISTORY, backward=backward, page_entries=pages):
            yield from run(self._client, self._files.whole([entry]))

    # Writing

    def add(self, items: Sequence[Any]) -> None:
        """Append items, all or none, in one request. Files that are new are sent before."""
        for once in self._files.tries():
            with once:
                self._client.api.append_entry_by_name(name=self._name, entries=self._drafts(items))

    def _drafts(self, items: Sequence[Any]) -> list[dict[str, Any]]:
        given = plain(items)
        return drafts_of(given, run(self._client, self._files.stored(given)))

    def pop(self) -> Item | None:
        """Take the newest item away and return it; None if there is none."""
        while True:
            tail = self.tail(1)
            if tail is None:
                return None
            if self.replace(tail, 0, []):
                return tail.places[0].item

    def replace(self, tail: Tail, start: int, items: Sequence[Any]) -> bool:
        """Replace the items from `start` of a tail; return False if the session has changed."""
        place = tail.places[start]
        expected = {"name": self._name, "expectRevision": tail.name.revision}
        try:
            self._fork(tail.name, place, [*place.kept, *items], expected, if_match=tail.last.id)
        except (ConflictError, NotFoundError) as error:
            if not self._is_overtaken(error, tail.name):
                raise
            return False
        return True

    def _is_overtaken(self, error: ConflictError | NotFoundError, known: Name) -> bool:
        """Return whether a change was refused because of another one.

        A file may be missing, too, that an admin has removed.
        """
        return error.reason in OVERTAKEN if isinstance(error, ConflictError) else self._now() != known

    def replace_all(self, items: Sequence[Any]) -> None:
        """Put items in the place of all that there are, in one request that writes."""
        if not items:
            self.clear()
            return
        while True:
            now = self._now()
            if now is None:
                self.add(items)
                return
            try:
                for once in self._files.tries():
                    with once:
                        self._client.api.append_entry(
                            str(uuid.uuid4()),
                            forked_at_conversation_id=now.conversation_id,
                            name={"name": self._name, "expectRevision": now.revision},
                            entries=self._drafts(items),
                        )
            except (ConflictError, NotFoundError) as error:
                if not self._is_overtaken(error, now):
                    raise
            else:
                return

    def clear(self) -> None:
        """Move the name to a new conversation. The one that it leaves stays."""
        while (now := self._now()) is not None:
            if self._begin_anew(now):
                return

    def _begin_anew(self, now: Name) -> bool:
        """Move the name to a new conversation; return False if it was moved meanwhile."""
        made = self._client.api.create_conversation()
        try:
            self._client.api.set_name(name=self._name, conversation_id=made.id, expect_revision=now.revision)
        except ConflictError as error:
            self._client.api.delete_conversation(made.id)
            if error.reason != "name_moved":
                raise
            return False
        return True

    def fork(self, other: "Kept", before_turn: int | None) -> bool:
        """Point another name to a fork; return False if that name is in use.

        before_turn: as of `ForkloreSession.fork`. Raises ValueError if there is no such turn.
        """
        other._files = self._files
        now = self._now()
        place = None if before_turn is None else self._before_turn(now, before_turn)
        if now is None:
            return other._now() is None
        revision = 0
        while True:
            name = {"name": other._name, "expectRevision": revision}
            try:
                self._fork(now, place, place.kept if place else [], name)
            except ConflictError as error:
                if error.reason != "name_moved":
                    raise
                named = other._named()
                if named is not None and not named.deleted:
                    return False
                revision = 0 if named is None else named.revision
            else:
                return True

    def _before_turn(self, now: Name | None, turn: int) -> Place:
        if now is not None and turn != 0:
            backward, number = turn < 0, 0
            for entry in self._entries(now, backward=backward, page_entries=PAGE_ENTRIES_MAX):
                for place in places_in(entry)[:: -1 if backward else 1]:
                    number += is_said_by_user(place.item)
                    if number == abs(turn):
                        return place
        raise ValueError(f"there is no turn {turn}")

    def _fork(
        self,
        now: Name,
        place: Place | None,
        items: Sequence[Any],
        name: dict[str, Any],
        *,
        if_match: str | None = None,
    ) -> None:
        """Make a fork that shows what stands before the entry of a place, and then items.

        place: None: all.
        """
        if not items:
            at = {} if place is None else {"at_entry_id": place.entry.id, "position": "before"}
            self._client.api.fork_conversation(now.conversation_id, **at, name=name, if_match=if_match)  # type: ignore[arg-type]
            return
        assert place is not None
        for once in self._files.tries():
            with once:
                self._client.api.append_entry(
                    str(uuid.uuid4()),
                    forked_at_conversation_id=now.conversation_id,
                    forked_at_entry_id=place.entry.id,
                    forked_at_position="before",
                    name=name,
                    entries=self._drafts(items),
                    if_match=if_match,
                )


def places_in(entry: Entry) -> list[Place]:
    """Return the places in front of each item of an entry."""
    items = items_of(entry)
    return [Place(entry, items[:at], item) for at, item in enumerate(items)]

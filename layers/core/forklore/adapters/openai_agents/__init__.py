"""Sessions of the OpenAI Agents SDK, kept in forklore.

A session is a name, which points to a conversation. Its items are entries of the history. What
takes items away makes a fork and moves the name to it, in one request, so no process that is
killed leaves anything half done.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from forklore.client.errors import BadRequestError, ConflictError, NotFoundError
from forklore.client.results import Entry, Name
from forklore.client.synchronous.client import Forklore
from forklore.extras import needing

from .items import Item, drafts_of, is_said_by_user, items_of

with needing("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.memory.session import SessionABC

__all__ = ["ForkloreSession"]

T = TypeVar("T")
HISTORY = "history"
PAGE_ENTRIES_MAX = 1000
INVALID_CURSOR = "invalid_cursor"
OVERTAKEN = frozenset({"stale", "name_moved"})


class ForkloreSession(SessionABC):
    """A session of the OpenAI Agents SDK in forklore, which can be forked without a copy.

    All processes that share a session use the same user and client. Threads and event loops may
    share an object. What writes goes on to its end if its task is cancelled, as in `SQLiteSession`.

    client: made and closed by the caller; its calls run in threads. prefix: of the session's name.
    session_settings: as of the SDK's sessions; a dict is taken, too.
    """

    def __init__(
        self,
        session_id: str,
        client: Forklore,
        *,
        prefix: str = "openai/",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = _settings(session_settings)
        self._client = client
        self._prefix = prefix
        self._name = prefix + session_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, the oldest first.

        limit: only so many of the newest; None: as `session_settings` say; negative: all.
        """
        wanted = limit if limit is not None else _settings(self.session_settings).limit
        items: list[Any] = await asyncio.to_thread(self._get, wanted)
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all or none.

        Raises TypeError for what JSON cannot hold. Raises TooLargeError for an item beyond 2.5 MB
        and for items beyond 5 MB together, as escaped JSON. Then nothing is written.
        """
        if items:
            await _finished(asyncio.to_thread(self._add, drafts_of(items)))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item away and return it; None if there is none.

        The session goes on in a fork without the item. The conversation that it leaves stays.
        """
        item: Any = await _finished(asyncio.to_thread(self._pop))
        return item

    async def clear_session(self) -> None:
        """Take all items away. The session begins anew; the conversation that it leaves stays."""
        await _finished(asyncio.to_thread(self._clear))

    async def fork(self, session_id: str | None = None, *, before_turn: int | None = None) -> "ForkloreSession":
        """Return a new session that begins with the items of this one. Nothing is copied.

        session_id: of the new session; None: a random one. before_turn: leave out this turn and
        what follows. A turn begins with an item of the user; 1 is the first, -1 the last one.
        Raises ValueError if there is no such turn, or if the new session has items already.
        """
        made = ForkloreSession(
            session_id or str(uuid.uuid4()),
            self._client,
            prefix=self._prefix,
            session_settings=self.session_settings,
        )
        await _finished(asyncio.to_thread(self._fork, made, before_turn))
        return made

    # Reading

    def _get(self, limit: int | None) -> list[Item]:
        if limit == 0:
            return []
        wanted = None if limit is None or limit < 0 else limit
        while True:
            try:
                return [item for entry in self._tail(wanted) for item in items_of(entry)][-(wanted or 0) :]
            except NotFoundError:
                return []
            except BadRequestError as error:
                if error.code != INVALID_CURSOR:
                    raise
                # The session was popped beyond the page. The next reading sees what is left.

    def _tail(self, wanted: int | None) -> list[Entry]:
        """Return the newest entries, the oldest first, that hold as many items, or all of them.

        Each page is asked for by the name. If the name moves meanwhile, what stands before an
        entry is the same in each conversation that shows the entry.
        """
        found: list[Entry] = []
        cursor, held = None, 0
        while wanted is None or held < wanted:
            page = self._client.api.list_entries_by_name(
                name=self._name,
                channel=HISTORY,
                limit=PAGE_ENTRIES_MAX if wanted is None else min(wanted - held, PAGE_ENTRIES_MAX),
                tail=True if cursor is None else None,
                before_cursor=cursor,
            )
            found = [*page.data, *found]
            held += sum(len(items_of(entry)) for entry in page.data)
            cursor = page.before_cursor
            if cursor is None:
                break
        return found

    def _now(self) -> Name | None:
        """Return where the session's name points; None if it does not, or if that is deleted."""
        try:
            found = self._client.api.look_up_name(name=self._name)
        except NotFoundError:
            return None
        return None if found.deleted else found

    def _turns(self, conversation_id: str, *, backward: bool) -> Iterator["_Place"]:
        conversation = self._client.conversation(conversation_id)
        for entry in conversation.entries(
            channel=HISTORY, backward=backward, page_entries=PAGE_ENTRIES_MAX
        ):
            items = items_of(entry)
            places = [_Place(entry, items[:at]) for at, item in enumerate(items) if is_said_by_user(item)]
            yield from reversed(places) if backward else places

    # Writing

    def _add(self, drafts: list[dict[str, Any]]) -> None:
        while True:
            try:
                self._client.api.append_entry_by_name(name=self._name, entries=drafts)
            except NotFoundError:
                if not self._free():
                    raise
            else:
                return

    def _free(self) -> bool:
        """Delete the session's name if its conversation is deleted; return whether it may be used."""
        try:
            found = self._client.api.look_up_name(name=self._name)
            if found.deleted:
                self._client.api.delete_name(name=self._name, expect_revision=found.revision)
        except (NotFoundError, ConflictError):
            return True
        return found.deleted is True

    def _pop(self) -> Item | None:
        while True:
            now = self._now()
            if now is None:
                return None
            try:
                last = None
                conversation = self._client.conversation(now.conversation_id)
                for entry in conversation.entries(channel=HISTORY, backward=True, page_entries=1):
                    last = last or entry
                    *rest, item = items_of(entry) or [None]
                    if item is not None:
                        self._replace(now, _Place(entry, rest), last)
                        return item
            except (ConflictError, NotFoundError) as error:
                if isinstance(error, ConflictError) and error.reason not in OVERTAKEN:
                    raise
                continue
            return None

    def _replace(self, now: Name, place: "_Place", last: Entry) -> None:
        """Move the name to a fork that ends at a place. last: the newest entry that is known."""
        name = {"name": self._name, "expectRevision": now.revision}
        self._fork_at(now.conversation_id, place, name, if_match=last.id)

    def _fork_at(
        self, conversation_id: str, place: "_Place", name: dict[str, Any], *, if_match: str | None = None
    ) -> None:
        """Make a fork that ends at a place, and point the name to it."""
        if not place.kept:
            self._client.api.fork_conversation(
                conversation_id, at_entry_id=place.entry.id, position="before", name=name, if_match=if_match
            )
            return
        self._client.api.append_entry(
            str(uuid.uuid4()),
            forked_at_conversation_id=conversation_id,
            forked_at_entry_id=place.entry.id,
            forked_at_position="before",
            name=name,
            entries=drafts_of(place.kept),
            if_match=if_match,
        )

    def _clear(self) -> None:
        try:
            self._client.api.delete_name(name=self._name)
        except NotFoundError:
            return

    def _fork(self, made: "ForkloreSession", before_turn: int | None) -> None:
        now = self._now()
        place = None if before_turn is None else self._place_before(now, before_turn)
        name = {"name": made._name, "expectRevision": 0}
        while now is not None:
            try:
                if place is None:
                    self._client.api.fork_conversation(now.conversation_id, name=name)
                else:
                    self._fork_at(now.conversation_id, place, name)
            except ConflictError as error:
                if error.reason != "name_moved":
                    raise
                if not made._free():
                    raise ValueError(f"session {made.session_id!r} has items already") from error
            else:
                return

    def _place_before(self, now: Name | None, turn: int) -> "_Place":
        """Return the place before a turn."""
        if now is not None and turn != 0:
            turns = self._turns(now.conversation_id, backward=turn < 0)
            for number, place in enumerate(turns, 1):
                if number == abs(turn):
                    return place
        raise ValueError(f"session {self.session_id!r} has no turn {turn}")


@dataclass(frozen=True)
class _Place:
    """A place between two items: within an entry, behind those of its items that are kept."""

    entry: Entry
    kept: list[Item]


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings:
    """Return settings. Raises TypeError for a dict with fields that there are not."""
    return SessionSettings().resolve(given) if given is None or isinstance(given, dict) else given


async def _finished(work: Awaitable[T]) -> T:
    """Wait until the work is done, even if the task is cancelled; then raise what cancelled it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # it is looked at, so asyncio does not tell of it
        raise cancelled
    return task.result()

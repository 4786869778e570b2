"""Sessions of the OpenAI Agents SDK, kept in forklore."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

from forklore import AsyncForklore, Forklore
from forklore.adapters.files import Files
from forklore.adapters.openai_agents.kept import Kept
from forklore.adapters.storable import checked_name
from forklore.client.kinds import as_sync
from forklore.extras import needing

with needing("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.memory.session import SessionABC

__all__ = ["ForkloreSession"]

T = TypeVar("T")


class ForkloreSession(SessionABC):
    """A session of the OpenAI Agents SDK in forklore, which can be forked without a copy.

    All processes that share a session use the same user and client. Threads and event loops may
    share an object. What writes goes on to its end if its task is cancelled, as in `SQLiteSession`.

    client: of either kind, made and closed by the caller; its calls run in threads. prefix: of the
    session's name.
    session_settings: as of the SDK's sessions; a dict is taken, too.
    """

    def __init__(
        self,
        session_id: str,
        client: Forklore | AsyncForklore,
        *,
        prefix: str = "openai/",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = _settings(session_settings)
        self._client = as_sync(client)
        self._own: Forklore | None = None
        self._prefix = prefix
        self._kept = Kept(self._client, checked_name("session_id", prefix, session_id), Files.of(client))

    @classmethod
    def from_url(
        cls,
        session_id: str,
        *,
        url: str,
        prefix: str = "openai/",
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **credentials: Any,
    ) -> Self:
        """Return a session with a client of its own, which `close` closes.

        credentials: `token` and `client_key`, and what else `Forklore` takes.
        """
        client = Forklore(url, **credentials)
        made = cls(session_id, client, prefix=prefix, session_settings=session_settings)
        made._own = client
        return made

    async def close(self) -> None:
        """Close the client if the session has made it, and forks of the session with it."""
        if self._own is not None:
            await asyncio.to_thread(self._own.close)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, the oldest first.

        limit: only so many of the newest; None: as `session_settings` say; negative: all.
        """
        wanted = limit if limit is not None else _settings(self.session_settings).limit
        items: list[Any] = await asyncio.to_thread(self._kept.items, wanted)
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all or none.

        Raises TypeError for what JSON cannot hold. Raises TooLargeError for an item beyond 2.5 MB
        and for items beyond 5 MB together, as escaped JSON. Then nothing is written.
        """
        if items:
            await _finished(asyncio.to_thread(self._kept.add, items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item away and return it; None if there is none.

        The session goes on in a fork without the item. The conversation that it leaves stays.
        """
        popped = await _finished(asyncio.to_thread(self._kept.pop))
        return cast("TResponseInputItem | None", popped)

    async def clear_session(self) -> None:
        """Take all items away. The session begins anew; the conversation that it leaves stays."""
        await _finished(asyncio.to_thread(self._kept.clear))

    async def fork(
        self, session_id: str | None = None, *, before_turn: int | None = None
    ) -> "ForkloreSession":
        """Return a new session that begins with the items of this one. Nothing is copied.

        session_id: of the new session; None: a random one. before_turn: leave out this turn and
        what follows. A turn begins with a message of the user; 1 is the first, -1 the last one.
        Raises ValueError if there is no such turn, or if the new session exists already, even
        cleared.
        """
        made = ForkloreSession(
            session_id or str(uuid.uuid4()),
            self._client,
            prefix=self._prefix,
            session_settings=self.session_settings,
        )
        if not await _finished(asyncio.to_thread(self._kept.fork, made._kept, before_turn)):
            raise ValueError(f"session {made.session_id!r} exists already")
        return made

    # What `OpenAIResponsesCompactionSession` looks for, so that a compaction is one change

    async def _get_compaction_snapshot(
        self,
        limit: int,
        *,
        prune_prefix: Callable[[TResponseInputItem], bool] | None = None,  # noqa: ARG002
    ) -> "_Snapshot | None":
        """Return the newest items, and how to replace the last of them if nothing has changed.

        prune_prefix: may be ignored; what it names stays.
        """
        if not self._is_plain():
            return None
        tail = await asyncio.to_thread(self._kept.tail, limit)
        if tail is None:
            return _Snapshot([], complete=True, replace_suffix=_unchanged)

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            if start >= len(tail.places):
                return False
            return await _finished(asyncio.to_thread(self._kept.replace, tail, start, output))

        items: list[Any] = [place.item for place in tail.places]
        return _Snapshot(items, complete=tail.is_whole, replace_suffix=replace_suffix)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """Put items in the place of all that there are; return False if a subclass has to do it."""
        if self._is_plain():
            await _finished(asyncio.to_thread(self._kept.replace_all, items))
        return self._is_plain()

    def _is_plain(self) -> bool:
        """Return whether no subclass reads or adds items in another way."""
        mine, theirs = ForkloreSession, type(self)
        return theirs.get_items is mine.get_items and theirs.add_items is mine.add_items


@dataclass(frozen=True)
class _Snapshot:
    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


async def _unchanged(start: int, output: list[TResponseInputItem]) -> bool:  # noqa: ARG001
    return False


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

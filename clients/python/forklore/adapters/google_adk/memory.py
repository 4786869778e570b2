"""The memory of Google's ADK: what a user's sessions show, found by meaning and words.

A session is searched as it is now: what a rewind has left is not found any more.
"""

import asyncio
from collections.abc import Sequence

from forklore import AsyncForklore, Forklore, NotFoundError
from forklore.adapters.files import Files
from forklore.adapters.google_adk.entries import EVENT, held_in, quoted, restored_in
from forklore.adapters.running import arun
from forklore.adapters.storable import checked_name
from forklore.client.generated.results import Entry, Hit
from forklore.client.kinds import as_async
from forklore.client.questions import HITS, asked
from forklore.extras import needing

with needing("google-adk"):
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session

ASKED_AT_ONCE = 8
PLACES_MAX = 100
"""The first hits of all sessions together are put in order. The others come after them."""


class ForkloreMemoryService(BaseMemoryService):
    """Finds what was said in the sessions that a ForkloreSessionService keeps, best first.

    client, prefix: as of that service. hits: at most so many events answer a question.
    sessions_max: so many sessions of a user are searched, those whose names were changed last.
    """

    def __init__(
        self,
        client: AsyncForklore | Forklore,
        *,
        prefix: str = "google-adk/",
        hits: int = HITS,
        sessions_max: int = 100,
    ) -> None:
        self._client = as_async(client)
        self._files = Files.of(client)
        self._prefix, self._hits, self._sessions_max = prefix, hits, sessions_max

    async def add_session_to_memory(self, session: Session) -> None:
        """Do nothing: a session is found as soon as it is stored."""

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the events of a user's sessions that answer a question best."""
        conversations = await self._conversations(app_name, user_id)
        turns = asyncio.Semaphore(ASKED_AT_ONCE)

        async def found_in(conversation_id: str) -> Sequence[Hit]:
            async with turns:
                try:
                    page = await self._client.api.search_conversations(
                        query=asked(query), conversation_id=conversation_id, limit=self._hits
                    )
                except NotFoundError:  # deleted just now
                    return ()
                return page.data

        found = await asyncio.gather(*map(found_in, conversations if query.strip() else ()))
        several = [hits for hits in found if hits]
        places = await self._places(query) if len(several) > 1 else {}
        best = sorted(
            (hit for hits in several for hit in hits),
            key=lambda hit: (places.get(hit.entry_id, len(places)), -hit.score),
        )
        once = {hit.entry_id: hit.entry for hit in best if hit.entry is not None and _is_event(hit.entry)}
        entries = await arun(self._client, self._files.whole([*once.values()][: self._hits]))
        return SearchMemoryResponse(memories=[*filter(None, map(_memory_of, entries))])

    async def _places(self, query: str) -> dict[str, int]:
        """Return the place of each entry in a ranking of all that the client sees.

        A score compares what one search has ranked: those of two sessions say nothing together.
        """
        page = await self._client.api.search_conversations(
            query=asked(query), limit=PLACES_MAX, include_entry=False
        )
        return {hit.entry_id: place for place, hit in enumerate(page.data)}

    async def _conversations(self, app_name: str, user_id: str) -> list[str]:
        """Return the conversations of a user's sessions, the one whose name changed last first."""
        parts = "/".join(map(quoted, (app_name, user_id)))
        prefix = checked_name("app_name and user_id together", self._prefix, f"{parts}/")
        names = [name async for name in self._client.names(prefix) if not name.deleted]
        names.sort(key=lambda name: name.updated_at, reverse=True)
        return list(dict.fromkeys(name.conversation_id for name in names[: self._sessions_max]))


def _is_event(entry: Entry) -> bool:
    return held_in(entry).get("kind") == EVENT


def _memory_of(entry: Entry) -> MemoryEntry | None:
    event = Event.model_validate(restored_in(entry)["value"])
    if event.content is None:
        return None
    return MemoryEntry(id=entry.id, content=event.content, author=event.author, timestamp=entry.created_at)

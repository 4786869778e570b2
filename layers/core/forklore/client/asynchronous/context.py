"""An agent's memory in a conversation, for asyncio and trio."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from forklore.client import results
from forklore.client.asynchronous.pages import AsyncPages, Page
from forklore.client.messages import CONTEXT, elements
from forklore.client.operations.asynchronous import AsyncOperations

CONTENT_TYPE = "context"
"""What a memory is called if its author says nothing else."""
PAGE_ENTRIES = 200


class AsyncContext:
    """The agent's own context of one conversation. The caller must be an agent, so with a client.

    resolve: returns the conversation's id. resolve_made: does so once the conversation exists.
    """

    def __init__(
        self,
        api: AsyncOperations,
        resolve: Callable[[], Awaitable[str]],
        resolve_made: Callable[[], Awaitable[str]],
    ) -> None:
        self._api = api
        self._resolve = resolve
        self._resolve_made = resolve_made

    async def sync(
        self,
        memory: Sequence[Any],
        *,
        content_type: str = CONTENT_TYPE,
        usage: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> results.Synced:
        """Make the stored context equal to `memory`, the whole present one; return what was done.

        Only what is new is written. A memory that does not go on from the stored one begins an
        epoch. Raises InputError for a child that has no entry yet: its first entry makes it.
        """
        return await self._api.sync_context(
            await self._resolve_made(),
            content_type=content_type,
            content=elements(memory, "memory"),
            usage=usage,
            idempotency_key=idempotency_key,
        )

    async def latest(self) -> list[Any]:
        """Return the memory of the latest epoch, as it was synced; empty if there is none."""
        return [element async for entry in self.entries() for element in entry.content]

    def entries(self, *, epoch: int | Literal["latest", "all"] = "latest") -> AsyncPages[results.ListedEntry]:
        """Return the context entries, the oldest first. epoch: `latest`, `all`, or a number."""

        async def fetch(cursor: str | None) -> Page[results.ListedEntry]:
            page = await self._api.list_entries(
                await self._resolve(), channel=CONTEXT, epoch=epoch, limit=PAGE_ENTRIES, after_cursor=cursor
            )
            return Page(page.data, page.after_cursor)

        return AsyncPages(fetch)

# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""An agent's memory in a conversation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from forklore.client import results
from forklore.client.messages import CONTEXT, elements
from forklore.client.operations.synchronous import Operations
from forklore.client.synchronous.pages import Page, Pages

CONTENT_TYPE = "context"
"""What a memory is called if its author says nothing else."""
PAGE_ENTRIES = 200


class Context:
    """The agent's own context of one conversation. The caller must be an agent, so with a client.

    resolve: returns the conversation's id. resolve_made: does so once the conversation exists.
    """

    def __init__(
        self,
        api: Operations,
        resolve: Callable[[], str],
        resolve_made: Callable[[], str],
    ) -> None:
        self._api = api
        self._resolve = resolve
        self._resolve_made = resolve_made

    def sync(
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
        return self._api.sync_context(
            self._resolve_made(),
            content_type=content_type,
            content=elements(memory, "memory"),
            usage=usage,
            idempotency_key=idempotency_key,
        )

    def latest(self) -> list[Any]:
        """Return the memory of the latest epoch, as it was synced; empty if there is none."""
        return [element for entry in self.entries() for element in entry.content]

    def entries(self, *, epoch: int | Literal["latest", "all"] = "latest") -> Pages[results.ListedEntry]:
        """Return the context entries, the oldest first. epoch: `latest`, `all`, or a number."""

        def fetch(cursor: str | None) -> Page[results.ListedEntry]:
            page = self._api.list_entries(
                self._resolve(), channel=CONTEXT, epoch=epoch, limit=PAGE_ENTRIES, after_cursor=cursor
            )
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

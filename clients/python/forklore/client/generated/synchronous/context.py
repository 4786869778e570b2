# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""An agent's memory in a conversation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from forklore.client import jsontext
from forklore.client.generated import results
from forklore.client.generated.operations import Operations
from forklore.client.generated.synchronous.pages import Page, Pages
from forklore.client.memory import NOTHING, Base, Memory, base_of
from forklore.client.messages import elements, id_of
from forklore.client.omitted import OMITTED
from forklore.client.spoken import CONTEXT

CONTENT_TYPE = "context"
"""What a memory is called if its author says nothing else."""
PAGE_ENTRIES = 1000


class Context:
    """The agent's own context of one conversation. The caller must be an agent, so with a client.

    resolve: returns the conversation's id, and None for a name that does not exist.
    resolve_made: returns the id of a conversation that exists.
    """

    __slots__ = ("_api", "_read", "_resolve", "_resolve_made", "_seen")

    def __init__(
        self,
        api: Operations,
        resolve: Callable[[], str | None],
        resolve_made: Callable[[], str],
    ) -> None:
        self._api = api
        self._resolve = resolve
        self._resolve_made = resolve_made
        self._seen = NOTHING
        self._read: tuple[int | None, Memory] = (None, Memory())

    def sync(
        self,
        memory: Sequence[Any],
        *,
        content_type: str = CONTENT_TYPE,
        based_on: Base = OMITTED,
        usage: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> results.Synced:
        """Make the stored context equal to `memory`, the whole present one; return what was done.

        The conversation is made if it does not exist.
        Only what is new is written. A memory that does not go on from the stored one begins an
        epoch and replaces it. That is refused if the stored one is not the one that `memory` is
        based on: a list from `latest` knows it, and any other list is based on what was last read,
        written or confirmed by this object, or on nothing. based_on: what it is based on instead,
        such as a list from `latest`; None replaces whatever is stored.
        Raises ConflictError with the reason `context_moved` if somebody was faster: read the latest
        memory again. Raises InputError for a child that has no entry yet: its first entry makes it.
        """
        content = elements(memory, "memory")
        with jsontext.called("memory", memory):
            synced = self._api.sync_context(
                self._resolve_made(),
                content_type=content_type,
                content=content,
                based_on_entry_id=base_of(memory, based_on, self._seen),
                usage=usage,
                idempotency_key=idempotency_key,
            )
        self.written(memory, synced)
        return synced

    def present(self, memory: Sequence[Any], content_type: str, based_on: Base) -> dict[str, Any]:
        """Return the field of an append that carries the whole present memory."""
        base = base_of(memory, based_on, self._seen)
        told = {} if base is None else {"basedOnEntryId": base}
        return {"contentType": content_type, "content": elements(memory, "context"), **told}

    def written(self, memory: Sequence[Any], synced: results.Synced | None) -> None:
        """Note what is stored now, so that what comes next is based on it."""
        if synced is None:
            return
        self._seen = synced.last_entry_id or NOTHING
        if isinstance(memory, Memory):
            memory.based_on = self._seen

    def latest(self) -> Memory:
        """Return the memory of the latest epoch, as it was synced; empty if there is none.

        Only what was not read before is asked for. Hand the list over to `sync` or `turn`: it knows
        what it is based on.
        """
        epoch, read = self._read
        after = read.based_on if epoch else None
        memory = Memory(read, based_on=read.based_on)
        for entry in self.entries(after=after):
            if entry.epoch != epoch:
                epoch = entry.epoch
                memory.clear()
            memory += entry.content
            memory.based_on = entry.id
        self._read = epoch, memory
        self._seen = memory.based_on
        return Memory(jsontext.copied([*memory]), based_on=memory.based_on)

    def entries(
        self,
        *,
        epoch: int | Literal["latest", "all"] = "latest",
        after: results.Entry | str | None = None,
    ) -> Pages[results.ListedEntry]:
        """Return the context entries, the oldest first.

        epoch: `latest`, `all`, or a number. after: only what follows this entry.
        """
        begin = None if after is None else id_of(after)

        def fetch(cursor: str | None) -> Page[results.ListedEntry]:
            shown = self._resolve()
            if shown is None:
                return Page((), None)
            page = self._api.list_entries(
                shown,
                channel=CONTEXT,
                epoch=epoch,
                limit=PAGE_ENTRIES,
                after_cursor=begin if cursor is None else cursor,
            )
            return Page(page.data, page.after_cursor)

        return Pages(fetch)

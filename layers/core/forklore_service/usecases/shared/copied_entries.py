"""Copies of entries: what a copy keeps of its original, and which entries are copied."""

from collections.abc import Iterator
from typing import NamedTuple

from forklore_service.domain import ancestry, ids, jsontext
from forklore_service.domain.ancestry import View
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import (
    NOTHING,
    Caller,
    Channel,
    Entry,
    EntryRef,
    Head,
    LastEntries,
    StoredEntry,
)
from forklore_service.domain.paging import Window
from forklore_service.errors import ValidationError
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.view_pages import Shown

HISTORY = Shown((Channel.HISTORY,))
"""Only the history is copied: the context belongs to a client."""


def copy_of(entry: Entry) -> Draft:
    """Return the draft of a copy.

    It has the content and the authors of the original: user, client and agent together say who said
    it. It has no usage, which was counted with the original. Its key and what it sums up are those
    of the original alone.
    """
    original = EntryRef(entry.conversation_id, entry.entry_id)
    copy = entry._replace(usage=None, key=None, merged_from=None, turn=None, copied_from=original)
    return Draft(copy, jsontext.read_value(entry.content))


class Originals(NamedTuple):
    """The history entries to copy: those that `view` shows in `window`.

    lasts: the last entries that the view shows before the end of the window, where known.
    """

    view: View
    window: Window = Window()
    lasts: LastEntries = NOTHING

    @classmethod
    def of(cls, view: View, head: Head) -> "Originals":
        """Return all that a conversation shows, as its HEAD was read."""
        return cls(view, Window(stop=ids.next_id(head.last)), head.lasts)

    def up_to(self, entry: Entry) -> "Originals":
        """Return those up to the end of the entry's turn."""
        window = self.window.clipped(ids.FIRST, ids.next_id(entry.ends))
        return self._replace(window=window, lasts=entry.lasts_after)

    def after(self, entry: Entry) -> "Originals":
        """Return those after the end of the entry's turn."""
        return self.since(ids.next_id(entry.ends))

    def since(self, start: EntryId) -> "Originals":
        """Return those from a position on."""
        return self._replace(window=self.window.clipped(start, ids.LAST))


def shown_entry(
    found: Found, caller: Caller, group_id: str, view: View, entry_id: str, *, field: str
) -> Entry:
    """Return an entry that was read, without its content.

    Raises ValidationError about `field` if the view does not show it, or if it is another client's
    context.
    """
    stored = found.entry(group_id, EntryId(entry_id)) if ids.is_entry_id(entry_id) else None
    if stored is None or not (_is_shown(stored.entry, view) and _is_for(caller, stored.entry)):
        raise ValidationError("the conversation does not show this entry", field=field)
    return stored.entry


def _is_shown(entry: Entry, view: View) -> bool:
    return ancestry.shows(view, conversation_id=entry.conversation_id, entry_id=entry.entry_id)


def _is_for(caller: Caller, entry: Entry) -> bool:
    return entry.channel is Channel.HISTORY or entry.client_id == caller.client_id


def pages(table: Table, group_id: str, wanted: Originals, *, limit: int) -> Iterator[list[StoredEntry]]:
    """Yield the wanted entries page by page, without the content that lies in chunks.

    A page holds at most `limit`, and may hold fewer before the end.
    """
    window: Window | None = wanted.window
    while window is not None:
        last = [wanted.lasts.history]
        page = view_pages.read_view(
            table, group_id, wanted.view, show=HISTORY, limit=limit, window=window, last=last
        )
        yield page.entries
        window = window.beyond(page.resume, backward=False) if page.resume else None


def entry_ids(*named: str | None) -> tuple[EntryId, ...]:
    """Return those that can be ids of entries."""
    return tuple(EntryId(one) for one in named if one is not None and ids.is_entry_id(one))

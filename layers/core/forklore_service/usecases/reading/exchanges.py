"""The exchanges around an entry of a view: what a user has said, with all that answers it.

A prompt with half of one may hold a call without its result, which models refuse.
"""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import content, ids, jsontext
from forklore_service.domain.ancestry import View
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Channel, Entry
from forklore_service.domain.paging import Window
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.view_pages import Shown, read_view

READ_MAX = 50
"""So many entries up to an entry, and as many after it, are looked at."""
_HISTORY = Shown((Channel.HISTORY,))
_USERS = {"user", "human"}


def exchanges_around(table: Table, group_id: str, view: View, entry_id: EntryId, beside: int) -> list[Entry]:
    """Return the exchange of a history entry of a view, with so many on each side, oldest first.

    An exchange ends before the next entry of a user. One that is not whole among READ_MAX entries
    is left out; if it is that of the entry, nothing is returned.
    """
    here = ids.next_id(entry_id)
    before = _read(table, group_id, view, Window(stop=here), backward=True)
    after = _read(table, group_id, view, Window(start=here), backward=False)
    begins = [at + 1 for at, is_users in enumerate(before.are_users) if is_users] + before.end
    ends = [at for at, is_users in enumerate(after.are_users) if is_users] + after.end
    if not begins or not ends:
        return []
    first, last = begins[: beside + 1][-1], ends[: beside + 1][-1]
    return [*before.entries[:first][::-1], *after.entries[:last]]


class _Side(NamedTuple):
    """Entries on one side, nearest first. end: how many they are, if there are no more."""

    entries: Sequence[Entry]
    are_users: Sequence[bool]
    end: list[int]


def _read(table: Table, group_id: str, view: View, window: Window, *, backward: bool) -> _Side:
    page = read_view(
        table,
        group_id,
        view,
        show=_HISTORY,
        limit=READ_MAX,
        window=window,
        backward=backward,
        may_be_cut=True,
    )
    entries = table.with_bodies(group_id, page.entries)
    has_more = page.resume is not None or page.is_cut
    return _Side(entries, [*map(_is_users, entries)], [] if has_more else [len(entries)])


def _is_users(entry: Entry) -> bool:
    role = content.line_of(jsontext.read_value(entry.content)).role
    return role is not None and role.casefold() in _USERS

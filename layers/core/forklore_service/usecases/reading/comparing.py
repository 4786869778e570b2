"""Compare two conversations of a tree: what both show last, and what each shows after it."""

from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Channel, Entry
from forklore_service.domain.paging import Window
from forklore_service.domain.parting import parting
from forklore_service.errors import UnavailableError, ValidationError, brief
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.loading import OtherConversation, TreeExtras, look_up
from forklore_service.usecases.shared.view_pages import Shown, SidePage


class Side(NamedTuple):
    """What a conversation shows of the history after the base, oldest first.

    after: the position to go on from; None where the view ends.
    """

    conversation_id: str
    entries: list[Entry]
    after: EntryId | None


class Comparison(NamedTuple):
    """base: the last history entry that both show; None: they show none in common."""

    base: EntryId | None
    branches: list[Side]


def compare(table: Table, *, caller: Caller, conversation_id: str, other_id: str, limit: int) -> Comparison:
    """Return where two conversations part, and a page of the history of each from there on.

    limit: entries of each page. Raises NotFoundError, ForbiddenError if the caller is not a member,
    ValidationError if the other conversation is not a live one of the same tree.
    """
    named = other_id if ids.is_uuid(other_id) else None
    looked_up = look_up(
        table, conversation_id, caller=caller, extras=TreeExtras(other=named), describes=False
    )
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    other = looked_up.other(named) if named else None
    if other is None:
        raise ValidationError(f"this fork tree has no conversation {brief(other_id)}", field="with")
    group_id = loaded.group.group_id
    both = [OtherConversation(loaded.view, loaded.head), other]
    start = parting(loaded.view, other.view)
    pages = view_pages.read_side_by_side(
        table, group_id, [_after(one, start) for one in both], show=Shown((Channel.HISTORY,)), limit=limit
    )
    if any(page.is_cut and page.resume is None for page in pages):
        raise UnavailableError("something that was written cannot be read yet; try again")
    entries = iter(table.with_bodies(group_id, [stored for page in pages for stored in page.entries]))
    return Comparison(
        _base(both, pages),
        [
            Side(of, [next(entries) for _ in page.entries], page.resume)
            for of, page in zip((conversation_id, other_id), pages, strict=True)
        ],
    )


def _after(one: OtherConversation, start: EntryId) -> SidePage:
    """Return the page of a conversation's history from `start` on, as far as HEAD was read."""
    head = one.head
    window = Window(start, ids.next_id(head.last))
    return SidePage(one.view, window, own_entries=head.history, last=[head.last_history])


def _base(both: list[OtherConversation], pages: list[view_pages.ViewPage]) -> EntryId | None:
    """Return the last history entry that both show.

    The first entry after the place where the views part names the one before it. A conversation
    that shows no history after that place shows the base last.
    """
    for page in pages:
        if page.entries:
            return page.entries[0].entry.after.history
    return both[0].head.last_history

"""List the conversations of a fork tree."""

from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, Conversation
from forklore_service.domain.tree import BranchTip
from forklore_service.errors import InvalidCursorError
from forklore_service.limits import PAGE_BYTES_MAX, packs
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.reading.list_modes import small_tree
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor
from forklore_service.usecases.shared.loading import escaped_bytes, load_conversation, require_group


class ForkPage(NamedTuple):
    """Conversations of a tree with their tips, oldest first.

    current: the tree's current branch. resume: to continue after; None at the end.
    """

    conversations: list[tuple[Conversation, BranchTip]]
    current: str
    resume: ListKey | None


def list_forks(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    after: ListKey | str | InvalidCursor | None,
    limit: int,
) -> ForkPage:
    """Return a page of all conversations of the tree that `conversation_id` is in.

    after: the `resume` of the page before, or the id of a conversation of the tree.
    Raises NotFoundError, ForbiddenError if the caller is not a member, and then InvalidCursorError
    for an invalid `after` or the id of another conversation.
    """
    loaded = load_conversation(table, conversation_id, caller=caller)
    group_id = loaded.group.group_id
    place = cursors.valid(after)
    if isinstance(place, str):
        place = _place_of(table, group_id, place)
    known = small_tree(table, loaded.group) or Found()
    places = known.places(group_id)[::-1]
    if len(places) == loaded.group.conversations:
        places = [one for one in places if place is None or one > place]
    else:  # it is no small tree, or changes just now
        places = list(table.read.conversations(group_id, after=place, limit=limit + 1))
    resume = places[limit - 1] if len(places) > limit else None
    listed = table.conversations(group_id, places[:limit], known)
    page = next(packs(listed, (PAGE_BYTES_MAX,), lambda one: (escaped_bytes(one[0]),)), [])
    if len(page) < len(listed):
        last, _ = page[-1]
        resume = ListKey(last.created_at, last.conversation_id)
    group = loaded.group
    if any(group.may_lack(one.conversation_id, tip.promoted_at) for one, tip in page):
        group = require_group(table, group_id)
    return ForkPage(page, group.current, resume)


def _place_of(table: Table, group_id: str, conversation_id: str) -> ListKey:
    """Return the place of a conversation in the tree's list."""
    found = table.get([keys.conversation(group_id, conversation_id)])
    conversation = found.conversation(group_id, conversation_id)
    if conversation is None:
        raise InvalidCursorError
    return ListKey(conversation.created_at, conversation_id)

"""The ancestors of a conversation: whose entries it shows, and up to where."""

from functools import partial
from typing import NamedTuple

from forklore_service.domain import keys, paging
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Channel
from forklore_service.domain.paging import RangeRead
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.loading import load_conversation


class Ancestor(NamedTuple):
    """A conversation whose entries another one shows, or that other one itself.

    is_removed: whether it was deleted, so that only others show its entries. up_to: the last own
    history entry of it that is shown; None: only context of it is shown, or it is the conversation
    itself.
    """

    conversation_id: str
    title: str | None = None
    is_removed: bool = False
    up_to: EntryId | None = None


def list_ancestors(table: Table, *, caller: Caller, conversation_id: str) -> list[Ancestor]:
    """Return whose entries the conversation shows, the oldest first, and last the conversation.

    Raises NotFoundError, ForbiddenError if the caller is not a member.
    """
    loaded = load_conversation(table, conversation_id, caller=caller, minimum=AccessLevel.READER)
    group_id = loaded.group.group_id
    spans = paging.spans_of(loaded.inherited, paging.Window(), backward=False)
    reads = [RangeRead(span.window, 1, span.conversation_id, Channel.HISTORY) for span in spans]
    ends = [table.start(partial(view_pages.nearest, table, group_id, read, backward=True)) for read in reads]
    above = [segment.conversation_id for segment in loaded.path]
    found = table.get(keys.conversation(group_id, one) for one in above)
    ancestors = []
    for one, end in zip(above, ends, strict=True):
        conversation, last = found.conversation(group_id, one), end.result()
        ancestors.append(
            Ancestor(
                one,
                title=conversation.described.title if conversation else None,
                is_removed=conversation is None,
                up_to=last.entry_id if last else None,
            )
        )
    return [*ancestors, Ancestor(conversation_id, title=loaded.conversation.described.title)]

"""What new entries name: conversations of the same tree, and entries that these show."""

from collections.abc import Callable, Sequence

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.ids import FIRST
from forklore_service.domain.model import Caller, EntryRef
from forklore_service.errors import ValidationError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.copied_entries import entry_ids, shown_entry
from forklore_service.usecases.shared.drafts import Draft


def check_named(
    table: Table,
    caller: Caller,
    drafts: Sequence[Draft],
    *,
    group_id: str,
    conversation_id: str,
    require_tree: Callable[[], object] = lambda: None,
) -> list[Action]:
    """Return the actions that check that what the drafts name still exists.

    conversation_id: the one that the drafts are for. Another action of its append checks that.
    require_tree: raises NotFoundError if the tree has gone. It is called before a refusal, because
    what the drafts name goes with the tree.
    This is one read, and none if the drafts name nothing. Raises ValidationError if the tree has no
    such conversation, or if that does not show the caller the entry.
    """
    named = dict.fromkeys(ref for draft in drafts if (ref := draft.entry.merged_from) is not None)
    if not named:
        return []
    found = table.get(
        key
        for ref in named
        if ids.is_uuid(ref.conversation_id)
        for key in (
            keys.head(group_id, ref.conversation_id),
            keys.path(group_id, ref.conversation_id),
            *(keys.entry(group_id, entry_id) for entry_id in entry_ids(ref.entry_id)),
        )
    )
    try:
        for ref in named:
            _require(found, caller, group_id, ref)
    except ValidationError:
        require_tree()
        raise
    others = dict.fromkeys(ref.conversation_id for ref in named)
    return [actions.conversation.check_exists(group_id, of) for of in others if of != conversation_id]


def _require(found: Found, caller: Caller, group_id: str, ref: EntryRef) -> None:
    head = found.head(group_id, ref.conversation_id)
    path = found.path(group_id, ref.conversation_id)
    # A fork whose items are not all there yet is not made yet.
    if head is None or (head.floor != FIRST and not path):
        raise ValidationError(
            f"this fork tree has no conversation {brief(ref.conversation_id)}",
            field="mergedFromConversationId",
        )
    if ref.entry_id is not None:
        view = ancestry.view_of(ref.conversation_id, path)
        shown_entry(found, caller, group_id, view, ref.entry_id, field="mergedUpToEntryId")

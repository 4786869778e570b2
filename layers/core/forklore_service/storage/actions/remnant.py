"""The actions about what stays of a removed branch (item GONE)."""

from forklore_service.domain import keys
from forklore_service.domain.remnants import Remnant
from forklore_service.storage import items, schema
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_NEW, IS_THERE, Action, ActionKind
from forklore_service.storage.items import text


def put(remnant: Remnant) -> Action:
    """Note that a branch was removed. The same transaction deletes its HEAD, CONV and TREE."""
    return action.put(ActionKind.REMNANT, items.remnant_item(remnant))


def put_copy(remnant: Remnant) -> Action:
    """Put what stays of a branch that was removed in the tree of which this one is a copy.

    It was no branch of this tree, so there is no event of its removal.
    """
    return action.put(
        ActionKind.REMNANT, items.as_imported(items.remnant_item(remnant)), of=remnant.conversation_id
    )


def delete(remnant: Remnant) -> Action:
    """Note that nobody shows an entry of a removed branch any more."""
    return action.delete(ActionKind.REMNANT, keys.remnant(remnant.group_id, remnant.conversation_id))


def check(group_id: str, conversation_id: str, *, is_there: bool) -> Action:
    """Check that a conversation is a remnant, or that it is none."""
    return action.check(
        ActionKind.REMNANT,
        keys.remnant(group_id, conversation_id),
        IS_THERE if is_there else IS_NEW,
        of=conversation_id,
    )


def check_trashed(group_id: str, conversation_id: str, *, nonce: str) -> Action:
    """Check that a branch is in the trash since the removal with this nonce."""
    key, condition = keys.remnant(group_id, conversation_id), "#nonce = :since"
    values = {":since": text(nonce)}
    return action.check(ActionKind.REMNANT, key, condition, of=conversation_id, values=values)


def empty(remnant: Remnant, *, answer_id: str | None, nonce: str) -> Action:
    """Take a branch out of the trash that is there since the removal that was read.

    answer_id: the answer that was being written in it. nonce: a new one, because nobody else does
    that then.
    """
    sets, values = "#nonce = :nonce", {":since": text(remnant.nonce), ":nonce": text(nonce)}
    if answer_id is not None:
        sets += ", #answer = :answer"
        values[":answer"] = text(answer_id)
    removes = f"#{schema.TREE_PARTITION_KEY}, #{schema.TREE_SORT_KEY}, #successor, #promotions"
    return action.update(
        ActionKind.REMNANT,
        keys.remnant(remnant.group_id, remnant.conversation_id),
        f"SET {sets} REMOVE {removes}",
        condition="#nonce = :since",
        values=values,
    )

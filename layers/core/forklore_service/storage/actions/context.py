"""The actions that move a client's context over new entries (item CTX)."""

from forklore_service.domain import keys
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.tree import ClientContext
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_NEW, Action, ActionKind, Values
from forklore_service.storage.items import binary, number, text


def append(
    group_id: str,
    conversation_id: str,
    client_id: str,
    *,
    known: Epoch,
    then: Epoch,
    lowest: int,
    last: EntryId,
    added: int,
) -> Action:
    """Move CTX over new entries. They join its epoch, or start a higher one.

    known, then: the client's latest epoch before and after them. lowest: the epoch of the first new
    entry. last: the last new entry. added: how many new entries are in the epoch `then`.
    """
    values: Values = {}
    if then.number > known.number:
        is_known, values = "#epoch < :epoch AND #epoch <= :lowest", {":lowest": number(lowest)}
    elif known.digest is None:
        is_known = "#epoch = :epoch AND attribute_not_exists(#digest)"
    else:
        is_known, values = "#epoch = :epoch AND #digest = :known", {":known": binary(known.digest)}
    key = keys.context(group_id, conversation_id, client_id)
    return _move(key, known, then, last, added, f"{IS_NEW} OR ({is_known})", values)


def sync(
    group_id: str,
    conversation_id: str,
    client_id: str,
    *,
    known: Epoch,
    then: Epoch,
    last: EntryId,
    decided_on: EntryId | None,
) -> Action:
    """Move CTX over a new entry, if it still ends where it ended when that was decided on.

    known, then, last: as of `append`. decided_on: the last entry of the CTX that was read; None:
    there was no CTX.
    """
    key = keys.context(group_id, conversation_id, client_id)
    return _move(key, known, then, last, 1, *_still_ends_at(decided_on))


def put(group_id: str, conversation_id: str, client_id: str, context: ClientContext) -> Action:
    """Put the context of a client, as it is copied into a tree that nobody can see yet."""
    item = items.context_item(group_id, conversation_id, client_id, context)
    return action.put(ActionKind.CONTEXT, item, of=f"{conversation_id} {client_id}")


def check(group_id: str, conversation_id: str, client_id: str, *, decided_on: EntryId | None) -> Action:
    """Check that CTX still ends where it ended when it was read.

    decided_on: its last entry then; None: there was no CTX.
    """
    condition, values = _still_ends_at(decided_on)
    key = keys.context(group_id, conversation_id, client_id)
    return action.check(ActionKind.CONTEXT, key, condition, values=values)


def forget_digest(place: Key) -> Action:
    """Remove the digest of a CTX that has one. The next sync reads the context instead."""
    return action.update(
        ActionKind.CONTEXT, place, "REMOVE #digest", of=place.sort, condition="attribute_exists(#digest)"
    )


def _still_ends_at(decided_on: EntryId | None) -> tuple[str, Values]:
    if decided_on is None:
        return IS_NEW, {}
    return "#last = :decided", {":decided": text(decided_on)}


def _move(
    key: Key, known: Epoch, then: Epoch, last: EntryId, added: int, condition: str, more: Values
) -> Action:
    assert then.first is not None, "an epoch with an entry begins somewhere"
    values = {
        ":epoch": number(then.number),
        ":last": text(last),
        ":first": text(then.first),
        ":count": number(added),
        **more,
    }
    sets = "#epoch = :epoch, #last = :last"
    if then.digest is not None:
        sets += ", #digest = :digest"
        values[":digest"] = binary(then.digest)
    if then.number > known.number:
        sets += ", #first = :first, #count = :count"
    else:
        sets += ", #first = if_not_exists(#first, :first), #count = if_not_exists(#count, :none) + :count"
        values[":none"] = number(0)
    return action.update(ActionKind.CONTEXT, key, f"SET {sets}", condition=condition, values=values)

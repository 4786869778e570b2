"""The actions that move a client's context over new entries (item CTX)."""

from typing import NamedTuple

from forklore.domain import keys
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key
from forklore.storage.actions import action
from forklore.storage.actions.action import Action, ActionKind, Names
from forklore.storage.items import binary, number, text


class ContextMove(NamedTuple):
    """What new context entries do to their client's CTX.

    epoch: the highest of the new entries. first: the first new entry in that epoch. added: how
    many new entries are in it. lowest: the epoch of the first new entry. last: the last new entry.
    starts_epoch: whether `epoch` is higher than the one known.
    digest: of the epoch's elements after this; None: not known. known_digest: the one before it.
    """

    group_id: str
    conversation_id: str
    client_id: str
    epoch: int
    lowest: int
    first: EntryId
    last: EntryId
    added: int
    starts_epoch: bool
    digest: bytes | None
    known_digest: bytes | None


def append(move: ContextMove) -> Action:
    """Move CTX over new entries. They join its epoch, or start a higher one."""
    n = Names()
    if move.starts_epoch:
        epoch, lowest = n.value("epoch", number(move.epoch)), n.value("lowest", number(move.lowest))
        is_higher = f"{n.name('epoch')} < {epoch} AND #epoch <= {lowest}"
        return _move(move, n, condition=f"attribute_not_exists(PK) OR ({is_higher})")
    epoch = n.value("epoch", number(move.epoch))
    is_known = f"{n.name('epoch')} = {epoch} AND {_has_digest(move.known_digest, n)}"
    return _move(move, n, condition=f"attribute_not_exists(PK) OR ({is_known})")


def sync(move: ContextMove, *, decided_on: EntryId | None) -> Action:
    """Move CTX over new entries, if it still ends where it ended when they were decided on.

    decided_on: the last entry of the CTX that was read; None: there was no CTX.
    """
    n = Names()
    return _move(move, n, condition=_still_ends_at(decided_on, n))


def check(group_id: str, conversation_id: str, client_id: str, *, decided_on: EntryId | None) -> Action:
    """Check that CTX still ends where it ended when it was read. decided_on: as of `sync`."""
    n = Names()
    condition = _still_ends_at(decided_on, n)
    return action.check(
        ActionKind.CONTEXT,
        keys.context(group_id, conversation_id, client_id),
        ConditionExpression=condition,
        **n.attributes(),
    )


def forget_digest(place: Key) -> Action:
    """Remove the digest of a CTX that has one. The next sync reads the context instead."""
    n = Names()
    digest = n.name("digest")
    return action.update(
        ActionKind.CONTEXT,
        place,
        of=place.sort,
        UpdateExpression=f"REMOVE {digest}",
        ConditionExpression=f"attribute_exists({digest})",
        **n.attributes(),
    )


def _has_digest(digest: bytes | None, n: Names) -> str:
    if digest is None:
        return f"attribute_not_exists({n.name('digest')})"
    return f"{n.name('digest')} = {n.value('known', binary(digest))}"


def _still_ends_at(decided_on: EntryId | None, n: Names) -> str:
    if decided_on is None:
        return "attribute_not_exists(PK)"
    return f"{n.name('last')} = {n.value('decided', text(decided_on))}"


def _move(move: ContextMove, n: Names, *, condition: str) -> Action:
    epoch, last = n.value("epoch", number(move.epoch)), n.value("last", text(move.last))
    first, count = n.value("first", text(move.first)), n.value("count", number(move.added))
    if not move.starts_epoch:
        first = f"if_not_exists({n.name('first')}, {first})"
        count = f"if_not_exists({n.name('count')}, {n.value('none', number(0))}) + {count}"
    sets = f"{n.name('epoch')} = {epoch}, {n.name('last')} = {last}"
    if move.digest is not None:
        sets += f", {n.name('digest')} = {n.value('digest', binary(move.digest))}"
    return action.update(
        ActionKind.CONTEXT,
        keys.context(move.group_id, move.conversation_id, move.client_id),
        UpdateExpression=f"SET {sets}, {n.name('first')} = {first}, {n.name('count')} = {count}",
        ConditionExpression=condition,
        **n.attributes(),
    )

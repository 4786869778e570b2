"""New ids for what an import writes, so that it can stand beside the original. Pure.

The ids follow from a seed, so an import that goes on gives the same ones. An entry's new id is a
fixed step after its old one: the order stays, and so does the time. The id of a conversation, if it
is a UUIDv7, keeps its milliseconds. What callers have written, such as ids in a content, stays.
"""

import hmac
import uuid
from dataclasses import dataclass, replace

from forklore_local.porting.records import Branch, ContextLine, EntryLine, Outline, Parent, Removed
from forklore_service.domain import ids
from forklore_service.domain.ancestry import Path, Segment
from forklore_service.domain.ids import FIRST, LAST, STEP_MAX, EntryId
from forklore_service.domain.model import EntryRef, ForkPoint, LastEntries, Transfer, Turn

SEED_BYTES = 32


@dataclass(frozen=True, slots=True)
class SameIds:
    """What is imported keeps its ids."""

    def conversation(self, old: str) -> str:
        return old

    def entry(self, old: EntryId) -> EntryId:
        return old


@dataclass(frozen=True, slots=True)
class NewIds:
    """What is imported gets ids that follow from a seed of SEED_BYTES."""

    seed: bytes

    def conversation(self, old: str) -> str:
        """Return the new id of a conversation or of a transfer.

        >>> NewIds(b"seed").conversation("019ca8ad-fa20-7000-8000-000000000005")
        '019ca8ad-fa20-782f-82f3-ed3fc0edc9f7'
        """
        bits = int.from_bytes(hmac.digest(self.seed, old.encode(), "sha256")[:16])
        if ids.is_entry_id(old):
            milliseconds = ids.milliseconds_of(EntryId(old))
            return ids.fresh_id(milliseconds, bits & ((1 << ids.RANDOM_BITS) - 1))
        return str(uuid.UUID(int=bits, version=4))

    def entry(self, old: EntryId) -> EntryId:
        """Return the new id of an entry, or of a stop."""
        return old if old in (FIRST, LAST) else ids.next_id(old, self._step)

    @property
    def _step(self) -> int:
        return 1 + int.from_bytes(hmac.digest(self.seed, b"step", "sha256")[:4]) % STEP_MAX


Ids = SameIds | NewIds


def of_outline(outline: Outline, new: Ids) -> Outline:
    """Return an outline with other ids."""
    if isinstance(new, SameIds):
        return outline
    start = outline.start
    return Outline(
        start=replace(
            start,
            group_id=new.conversation(start.group_id),
            promoted=new.conversation(start.promoted) if start.promoted else None,
            parent=_parent(start.parent, new) if start.parent else None,
        ),
        members=outline.members,
        transfer=_transfer(outline.transfer, new) if outline.transfer else None,
        names=[
            name._replace(conversation_id=new.conversation(name.conversation_id)) for name in outline.names
        ],
        branches={branch.id: branch for branch in (_branch(one, new) for one in outline.branches.values())},
        removed={
            one.conversation_id: one for one in (_removed(one, new) for one in outline.removed.values())
        },
    )


def of_entry(said: EntryLine, new: Ids) -> EntryLine:
    """Return an entry with other ids. What it was copied from keeps its ids."""
    if isinstance(new, SameIds):
        return said
    entry, merged, turn = said.entry, said.entry.merged_from, said.entry.turn
    return replace(
        said,
        entry=entry._replace(
            entry_id=new.entry(entry.entry_id),
            conversation_id=new.conversation(entry.conversation_id),
            after=_lasts(entry.after, new),
            turn=_turn(turn, new) if turn else None,
            merged_from=EntryRef(new.conversation(merged.conversation_id), _entry(merged.entry_id, new))
            if merged
            else None,
        ),
    )


def of_held(held: ContextLine, new: Ids) -> ContextLine:
    """Return what a client holds with other ids."""
    if isinstance(new, SameIds):
        return held
    context = held.context
    epoch = context.epoch._replace(first=_entry(context.epoch.first, new))
    return replace(
        held,
        conversation_id=new.conversation(held.conversation_id),
        context=context._replace(epoch=epoch, last=new.entry(context.last)),
    )


def _transfer(transfer: Transfer, new: NewIds) -> Transfer:
    return transfer._replace(
        transfer_id=new.conversation(transfer.transfer_id),
        group_id=new.conversation(transfer.group_id),
        conversation_id=new.conversation(transfer.conversation_id),
    )


def _branch(branch: Branch, new: NewIds) -> Branch:
    one, head = branch.conversation, branch.head
    fork = one.fork_point
    conversation = one._replace(
        conversation_id=new.conversation(one.conversation_id),
        group_id=new.conversation(one.group_id),
        fork_point=ForkPoint(
            new.conversation(fork.conversation_id), _entry(fork.entry_id, new), fork.position
        )
        if fork
        else None,
    )
    moved = head._replace(
        floor=new.entry(head.floor),
        first=_entry(head.first, new),
        last=new.entry(head.last),
        lasts=_lasts(head.lasts, new),
    )
    return Branch(conversation, moved, _path(branch.path, new))


def _parent(parent: Parent, new: NewIds) -> Parent:
    ids_of = new.conversation(parent.group_id), new.conversation(parent.conversation_id)
    return Parent(*ids_of, _entry(parent.entry_id, new))


def _fork_point(fork: ForkPoint, new: NewIds) -> ForkPoint:
    return ForkPoint(new.conversation(fork.conversation_id), _entry(fork.entry_id, new), fork.position)


def _removed(one: Removed, new: NewIds) -> Removed:
    return replace(one, conversation_id=new.conversation(one.conversation_id), path=_path(one.path, new))


def _path(path: Path, new: NewIds) -> Path:
    return tuple(
        Segment(new.conversation(segment.conversation_id), new.entry(segment.stop)) for segment in path
    )


def _turn(turn: Turn, new: NewIds) -> Turn:
    return Turn(
        new.entry(turn.first), new.entry(turn.last), _lasts(turn.before, new), _lasts(turn.after, new)
    )


def _lasts(lasts: LastEntries, new: NewIds) -> LastEntries:
    return LastEntries(_entry(lasts.history, new), _entry(lasts.context, new))


def _entry(old: EntryId | None, new: NewIds) -> EntryId | None:
    return None if old is None else new.entry(old)

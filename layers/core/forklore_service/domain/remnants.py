"""What stays of a removed branch: its own entries, as far as others show them.

A removed branch is a remnant as long as anybody shows one of its entries. Each fork has a record
under the conversation that its path ends in, with the stop of that last segment. A fork of a fork
has a record under the same conversation with a stop that is not later, or hangs below a fork that
has one. So the largest stop among a conversation's records bounds what others show of it.

The record of a removed fork counts as long as that fork is a remnant itself. When it is none any
more, others may show less of the conversation that it left, so that one is looked at next.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forklore_service.domain.ancestry import Path
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import Conversation
from forklore_service.domain.tree import ForkRecord


class Remnant(NamedTuple):
    """A removed branch. record: where it leaves its tree; None for a root.

    removed_at: when it was removed. nonce: the mark of the request that removed it.
    answer_id: the answer that was being written in it; unknown of one in the trash.
    in_trash: whether it can be restored.
    successor: the branch that took its place as the tree's current one; None: it was not that.
    promotions: how many the tree had then.
    """

    group_id: str
    conversation_id: str
    removed_at: str
    nonce: str
    record: ForkRecord | None = None
    answer_id: str | None = None
    in_trash: bool = False
    successor: str | None = None
    promotions: int = 0

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        path: Path,
        *,
        removed_at: str,
        nonce: str,
        answer_id: str | None = None,
    ) -> "Remnant":
        """Return what stays of a conversation that is removed now. path: its path."""
        record = None if conversation.is_root else ForkRecord.of(conversation, path, is_removed=True)
        return cls(conversation.group_id, conversation.conversation_id, removed_at, nonce, record, answer_id)

    @property
    def is_root(self) -> bool:
        return self.conversation_id == self.group_id


def end_of_shown(records: Iterable[ForkRecord]) -> EntryId:
    """Return the first position of a removed branch's own entries that nobody shows any more.

    records: all forks that leave it, or the one with the largest stop. FIRST: nobody shows
    anything of it.
    """
    return max((record.stop for record in records), default=FIRST)


def next_to_prune(gone: Remnant) -> str | None:
    """Return the conversation of which others may show less, now that a remnant is gone.

    None: the remnant showed no entry of any other conversation.
    """
    record = gone.record
    return record.owner if record is not None and record.stop != FIRST else None

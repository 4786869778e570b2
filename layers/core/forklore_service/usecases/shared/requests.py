"""What a request asks for that appends, forks, or makes a conversation."""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import NO_DESCRIPTION, Conversation, Description, ForkPosition, StartedBy
from forklore_service.domain.names import NameMove
from forklore_service.errors import ConflictError
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey

_IS_NOT = (
    "the conversation exists and is not that {}: "
    "append to a new id to make it, or leave out {} to append here"
)
"""The error of an append that would make a fork or child, and of its fields."""


class Fork(NamedTuple):
    """Where a new conversation forks from.

    entry_id: the entry that it is before or after. key: its key, if the caller names it by that.
    With neither: at the source's head with AFTER, or inheriting nothing with BLANK.
    """

    source_id: str
    entry_id: EntryId | None
    position: ForkPosition
    key: str | None = None

    @property
    def is_at_head(self) -> bool:
        """Whether it shows all that the source shows now."""
        return self.position is ForkPosition.AFTER and self.entry_id is None and self.key is None

    def is_of(self, conversation: Conversation, *, key: str | None) -> bool:
        """Tell whether the conversation was forked so. A fork at the head has named an entry.

        key: that of the entry at which it was forked; it counts if this fork names a key.
        """
        point = conversation.fork_point
        if point is None or point.conversation_id != self.source_id:
            return False
        if self.is_at_head:
            return point.position is not ForkPosition.BEFORE
        is_at = key == self.key if self.key is not None else point.entry_id == self.entry_id
        return is_at and point.position is self.position


class OriginalMoved(Exception):
    """A conversation that entries are copied from, or to, has changed since it was read."""


class Original(NamedTuple):
    """The conversation of the tree that entries were copied from. It must still be there.

    last: the last entry that it must still have; None: later entries do not matter. onto: the same
    of the conversation that gets the copies.
    """

    conversation_id: str
    last: EntryId | None
    onto: EntryId | None


class Append(NamedTuple):
    """Entries for a conversation, all or none, in order.

    context: the agent's whole present context, which is synced after them. Only with it there may
    be no drafts.
    fork, start: what the conversation is a fork or a child of. At most one of them is given. If the
    conversation does not exist, it is created so, as `described`. Without a title it gets that of
    its first text. name: the name that points to it from then on.
    held: the name that must point to the conversation, and does so because it exists.
    promotes: whether the conversation becomes its tree's current branch.
    if_match: the last entry that the caller knows of. finishes: the answer of the same tree that
    becomes these entries.
    copied_out_of: for a merge, where the entries were copied from. Then OriginalMoved is raised if
    that has changed.
    """

    conversation_id: str
    drafts: Sequence[Draft]
    context: Draft | None = None
    fork: Fork | None = None
    start: StartedBy | None = None
    described: Description = NO_DESCRIPTION
    name: NameMove | None = None
    held: NameMove | None = None
    promotes: bool = False
    if_match: EntryId | None = None
    finishes: str | None = None
    copied_out_of: Original | None = None
    idempotency_key: IdempotencyKey | None = None

    @property
    def names_origin(self) -> bool:
        """Whether the request says what the conversation is a fork or a child of."""
        return self.fork is not None or self.start is not None

    def require_lineage(self, conversation: Conversation, *, key: str | None) -> None:
        """Raise ConflictError if the conversation is not the fork or child that is named.

        key: as of `Fork.is_of`.
        """
        fork, start = self.fork, self.start
        if fork is not None and not fork.is_of(conversation, key=key):
            raise ConflictError(_IS_NOT.format("fork", "forkedAt…"), reason="not_the_fork")
        if start is not None and conversation.started_by != start._replace(entry_id=start.entry_id or None):
            raise ConflictError(_IS_NOT.format("child", "startedBy…"), reason="not_the_child")

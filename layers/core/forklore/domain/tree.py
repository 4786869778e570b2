"""A fork tree as a whole, with its members, pointers, idempotency records and jobs."""

from dataclasses import dataclass
from enum import StrEnum

from forklore.domain.access import AccessLevel
from forklore.domain.epochs import Epoch
from forklore.domain.ids import EntryId
from forklore.domain.keys import Key


class State(StrEnum):
    """What state a tree is in: being made, in use, or being deleted."""

    CREATING = "creating"
    LIVE = "live"
    DELETING = "tombstone"


@dataclass(frozen=True, slots=True)
class Group:
    """A fork tree.

    children: how many trees, started by conversations of this one, are not deleted yet.
    members_version: moves with every change of members.
    rewriting: the previous owner, while HEADs may still name that user.
    child_key: of a started child, its CHILD item in the parent's tree.
    nonce: of the request that made it. deleted_at: when it got its tombstone.
    never_live: it got its tombstone before it was ever live, so its id may be used again at once.
    """

    group_id: str
    owner: str
    created_at: str
    state: State = State.LIVE
    forks: int = 0
    children: int = 0
    members: int = 1
    members_version: int = 1
    rewriting: str | None = None
    child_key: Key | None = None
    nonce: str | None = None
    deleted_at: str | None = None
    never_live: bool = False

    @property
    def is_live(self) -> bool:
        return self.state is State.LIVE

    @property
    def is_child(self) -> bool:
        """Tell whether another conversation started it."""
        return self.child_key is not None


@dataclass(frozen=True, slots=True)
class Member:
    """A user's membership of a tree."""

    user_id: str
    level: AccessLevel
    created_at: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a conversation lives. group_id: None while its id may not be used again."""

    group_id: str | None


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What was answered to an Idempotency-Key.

    entry_ids: the entries to show again, instead of a body.
    """

    request_hash: str
    group_id: str
    conversation_id: str
    entry_ids: tuple[EntryId, ...]
    body: str


@dataclass(frozen=True, slots=True)
class ClientContext:
    """What a conversation's own entries say of one client's context.

    epoch: the latest. last: its last entry. entries: how many of the conversation's own entries it
    has.
    """

    epoch: Epoch
    last: EntryId
    entries: int


@dataclass(frozen=True, slots=True)
class Job:
    """Work in progress on a tree. created_at: when it began. leased_until: when its lease ends."""

    kind: str
    group_id: str
    created_at: str | None
    leased_until: str | None

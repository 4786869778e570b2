"""A fork tree as a whole, with its members, pointers, idempotency records and jobs."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import JobName, Key, ListKey
from forklore_service.domain.model import Answering, Conversation, Head

WAIT_SECONDS = 60
"""For how many seconds after the time in a tombstone no item is removed.

No request that read the tree before the tombstone may still run. A request runs for at most 30
seconds. The time is taken before the tombstone is written, which may take nearly as long.
"""


class State(StrEnum):
    """The state of a tree: being made, in use, in the trash or on its way back, being deleted."""

    CREATING = "creating"
    LIVE = "live"
    TRASHED = "trash"
    RESTORING = "restoring"
    DELETING = "tombstone"


KEPT = (State.LIVE, State.TRASHED, State.RESTORING)
"""The states of a tree that may be used, or used again."""


class MemberChange(NamedTuple):
    """A change of one membership: a user's level before and after it; None: no member.

    nonce: a new one for each change, so that two equal changes can be told apart.
    by: who lets the user into the tree's children, too; None: it is not such a change. They are a
    member as long as this is the last change: their own removal is a later one.
    """

    user_id: str
    was: AccessLevel | None
    level: AccessLevel | None
    nonce: str
    by: str | None = None

    @property
    def takes_away(self) -> bool:
        """Whether the user may do less after it."""
        if self.was is None or self.was is self.level:
            return False
        return self.level is None or self.was.implies(self.level)


class Group(NamedTuple):
    """A fork tree.

    conversations: how many live conversations it has. trashed_branches: how many are in the trash
    alone. children: how many trees that conversations of this tree started are not deleted yet.
    version: grows with whatever new forks, children, links and vectors must see: a change of
    members or of the owner, each removed branch, each new link, each erasure of history.
    promoted: the branch that was promoted last, if any was.
    promoted_by: the last entry of the append that promoted it, if one did.
    promotions: grows with each promotion. used_at: when a branch was last promoted or removed, if
    one was. forked_at: when a fork was last made, if one was.
    member_change: the last change of a membership.
    spreading: the nonce of that change, while children of the tree may still lack it.
    rewriting: the previous owner, while HEADs may still name that user.
    child_key: the key of the tree's CHILD item in the parent's tree. None: no conversation started
    this tree.
    nonce: the mark of the request that made the tree. deleted_at: when the tree got its tombstone.
    trashed_at: when it was put into the trash, or what had started it was; of a tree that is not
    live. restored_at: when it was last restored.
    never_live: whether the tree got its tombstone before it was live. If so, its id is free again.
    cascaded: whether it is deleted, or in the trash, only because what had started it was deleted.
    embedded: whether an entry has ever had vectors.
    shelf: among which trees its vectors are found: those of the user who owned it when its first
    entry was embedded. It never changes.
    """

    group_id: str
    owner: str
    created_at: str
    state: State = State.LIVE
    conversations: int = 1
    children: int = 0
    members: int = 1
    version: int = 1
    promoted: str | None = None
    promoted_by: EntryId | None = None
    promotions: int = 0
    used_at: str | None = None
    forked_at: str | None = None
    member_change: MemberChange | None = None
    spreading: str | None = None
    rewriting: str | None = None
    child_key: Key | None = None
    nonce: str | None = None
    deleted_at: str | None = None
    trashed_at: str | None = None
    restored_at: str | None = None
    never_live: bool = False
    cascaded: bool = False
    embedded: bool = False
    shelf: str | None = None
    trashed_branches: int = 0

    @property
    def is_live(self) -> bool:
        return self.state is State.LIVE

    @property
    def is_kept(self) -> bool:
        """Whether it is live or may be again, so that background work goes on in it."""
        return self.state in KEPT

    def went_with(self, parent: "Group") -> bool:
        """Tell whether it was put into the trash with the tree that started it."""
        return self.cascaded and self.trashed_at is not None and self.trashed_at == parent.trashed_at

    @property
    def current(self) -> str:
        """The tree's current branch: the one that was promoted last, or else the root."""
        return self.promoted or self.group_id

    def may_lack(self, conversation_id: str, promoted_at: str | None) -> bool:
        """Tell whether the tree may have been read before a promotion that a HEAD tells of.

        If not, another branch was promoted since, by a slower clock.
        """
        is_later = promoted_at is not None and promoted_at >= (self.used_at or "")
        return is_later and self.is_live and self.current != conversation_id

    def last_used_at(self, heads: Iterable[Head]) -> str:
        """Return when the tree was last used, as a list says it. heads: its HEADs.

        That is when it was made, a conversation was appended to, or a branch was made, promoted or
        removed.
        """
        branches = (self.used_at or "", self.forked_at or "")
        return max(self.created_at, *branches, *(head.appended_at for head in heads))

    @property
    def is_child(self) -> bool:
        """Return whether a conversation started this tree."""
        return self.child_key is not None


class Member(NamedTuple):
    """A user's membership of a tree. is_archived: whether the user has archived the tree."""

    user_id: str
    level: AccessLevel
    created_at: str
    is_archived: bool = False

    def is_copy_in(self, child: Group) -> bool:
        """Tell whether a child has the member from what started it, and nobody made them one there.

        Their level may have been changed since then.
        """
        return child.is_child and self.created_at == child.created_at


MOVE_MS = 600_000
"""A tree's row is moved at most once in ten minutes, which are counted from the tree's creation."""
MOVES_KEPT_MS = 8 * 3600 * 1000
"""For how long a row knows where it has stood."""


def is_moved(tree_created_at: str, *, was: str, at: str) -> bool:
    """Tell whether a use moves the tree's row: the use before it was in other ten minutes.

    >>> created, later = "2026-03-01T09:15:00.000Z", "2026-03-01T09:25:00.000Z"
    >>> is_moved(created, was=created, at="2026-03-01T09:24:59.999Z")
    False
    >>> is_moved(created, was="2026-03-01T09:24:59.999Z", at=later)
    True
    """
    began = ids.milliseconds(tree_created_at)
    before, now = ((ids.milliseconds(time) - began) // MOVE_MS for time in (was, at))
    return before < now


def used_until(moved_at: str) -> str:
    """Return a time before which a tree was used last whose row was moved then."""
    return ids.timestamp(ids.milliseconds(moved_at) + MOVE_MS)


class TreeRow(NamedTuple):
    """A row in a user's list of trees.

    place: where the row stands in the list that is read: by the tree's creation, if nothing else is
    said. level: the user's; None: the row does not tell it. is_archived: by the user.
    moves: when the row was moved to the top of the list by use, oldest first; old moves are
    forgotten, but not the last one.
    shelf: that of the tree, which the user got from another; None: the row does not tell it.
    """

    place: ListKey
    level: AccessLevel | None = None
    is_archived: bool = False
    moves: tuple[str, ...] = ()
    shelf: str | None = None

    @property
    def group_id(self) -> str:
        return self.place.conversation_id

    @property
    def used(self) -> ListKey:
        """The place in the list by use."""
        return self.place._replace(created_at=self.moves[-1]) if self.moves else self.place

    def place_when(self, began: ListKey) -> ListKey | None:
        """Return the place in the list by use when nothing stood above `began` yet.

        None: the tree is newer.
        """
        places = [self.place, *(self.place._replace(created_at=at) for at in self.moves)]
        return max((place for place in places if place <= began), default=None)

    def moved(self, at: str) -> "TreeRow":
        """Return the row as it is moved to the top. It keeps the last of its old moves."""
        old = ids.timestamp(ids.milliseconds(at) - MOVES_KEPT_MS)
        first = max(sum(move < old for move in self.moves) - 1, 0)
        return self._replace(moves=(*self.moves[first:], at))


class BranchTip(NamedTuple):
    """What a list of forks shows of a HEAD. The fields are those of Head and of its `lasts`."""

    last_history: EntryId | None = None
    promoted_at: str | None = None
    answer: Answering | None = None


class ChildRow(NamedTuple):
    """A row in the list of the trees that a conversation has started. started_by: the entry."""

    place: ListKey
    started_by: str | None = None


class HeadRow(NamedTuple):
    """What HEAD names of a conversation. answer_id: an answer that is being written in it.

    is_shut: whether nothing can be appended, because the tree is in the trash.
    """

    conversation_id: str
    owner: str
    answer_id: str | None
    is_shut: bool = False


class ForkRecord(NamedTuple):
    """Where a fork leaves its tree: the end of its path, as the fork's TREE or GONE item holds it.

    owner, stop: the last segment of the path. For an empty path: the root and FIRST.
    is_removed: whether the fork was removed, and its GONE item stays for what others show of it.
    """

    owner: str
    stop: EntryId
    created_at: str
    conversation_id: str
    is_removed: bool = False

    @classmethod
    def of(cls, fork: Conversation, path: Path, *, is_removed: bool = False) -> "ForkRecord":
        """Return the record of a fork with this path."""
        owner, stop = (path[-1].conversation_id, path[-1].stop) if path else (fork.group_id, FIRST)
        return cls(owner, stop, fork.created_at, fork.conversation_id, is_removed)


class Pointer(NamedTuple):
    """The tree that holds a conversation. group_id: None while the id may not be used again.

    rests_in: the tree that it was removed from, as long as that needs the id.
    """

    group_id: str | None
    rests_in: str | None = None

    @property
    def is_resting(self) -> bool:
        return self.rests_in is not None


class IdempotencyRecord(NamedTuple):
    """The recorded answer to a request with an Idempotency-Key.

    entry_ids: the entries that were appended, in order. body: the answer's text, or the part of it
    that is not in these entries.
    """

    request_hash: str
    group_id: str
    conversation_id: str
    entry_ids: tuple[EntryId, ...]
    body: str


class ClientContext(NamedTuple):
    """One client's context in a conversation's own entries.

    epoch: the latest epoch. last: the last entry of that epoch.
    entries: how many of the conversation's own entries that epoch has.
    """

    epoch: Epoch
    last: EntryId
    entries: int


class Moves(StrEnum):
    """Where what a branch has started is moved: into the trash with it, or back after it."""

    INTO_TRASH = "trash"
    BACK = "back"


class Job(NamedTuple):
    """Work in progress on a tree, or on one conversation of a tree.

    created_at: when the work was requested. leased_until: when its lease ends. holder: a nonce of
    the worker that took the lease; None before the first one.
    nonce: changes whenever the pruning of a branch is requested again.
    moves: what is done about a branch instead, since `created_at`, which is then in the trash under
    the same nonce, or live again.
    """

    name: JobName
    created_at: str | None
    leased_until: str | None
    holder: str | None = None
    nonce: str | None = None
    moves: Moves | None = None

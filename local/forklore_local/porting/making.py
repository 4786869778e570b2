"""Makes one tree of an export in a table.

The tree is `creating` until its last step, so nobody sees a part of it. Its steps are transactions,
and each checks that the tree is still this import's. They put what the file says and nothing else.
So an import that was ended can be repeated, and two of the same file do no harm. If an import is
not repeated, the sweep removes what it has made, when the lease of its JOB is over. Then the tree
is begun again with another mark in GROUP. So a process that was held up meanwhile cannot go on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from forklore_local.porting import new_ids
from forklore_local.porting.failures import RefusedError
from forklore_local.porting.input import TreeLines
from forklore_local.porting.new_ids import Ids
from forklore_local.porting.records import Outline, Parent, TreeStart
from forklore_service.domain import ids, keys
from forklore_service.domain.ids import FIRST
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import Conversation, StartedBy
from forklore_service.domain.names import Name
from forklore_service.domain.tree import Group, State
from forklore_service.storage import actions, items
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.table import Table

PARTS_MAX = 98
"""DynamoDB allows 100 in a transaction. One checks the tree, and one holds its job."""
STEP_BYTES_MAX = 3_500_000
"""DynamoDB allows 4 MB in a transaction."""
LEASE_SECONDS = 15 * 60
"""How long the sweep leaves the tree alone after the last step."""
RENEW_SECONDS = 60
LOOKS_MAX = 8
_PARENT_GONE = "its parent was deleted meanwhile; try again in 20 minutes"


class Outcome(StrEnum):
    """What became of a tree. THERE: it was made before. WAITS: its parent is not there."""

    MADE = "made"
    THERE = "there"
    WAITS = "waits"


@dataclass(slots=True)
class Made:
    """What became of a tree.

    names_taken: names that the users have given to something else. lost_link: whether the tree was
    a child and is none any more, or does not name the entry that started it any more.
    """

    outcome: Outcome
    names_taken: int = 0
    lost_link: bool = False


def nonce_of(export_id: str, group_id: str) -> str:
    """Return the mark of the items that an import makes. All imports of one file have the same."""
    return hashlib.sha256(f"{export_id} {group_id}".encode()).hexdigest()[:32]


class TreeMaker:
    """Makes one tree.

    lines: the tree in the file. on_step: called before each step; it may raise to stop.
    """

    def __init__(
        self,
        table: Table,
        lines: TreeLines,
        *,
        export_id: str,
        ids_for: Ids,
        on_step: Callable[[], object] = lambda: None,
    ) -> None:
        self._table = table
        self._lines = lines
        self._new = ids_for
        self._outline = new_ids.of_outline(lines.outline, ids_for)
        self._group_id = self._outline.group_id
        self._nonce = nonce_of(export_id, self._group_id)
        self._attempt = ""
        self._on_step = on_step
        self._held_until_ms = 0

    def make(self, *, without_parent: bool = False) -> Made:
        """Make the tree, or go on with it.

        without_parent: a tree whose parent is not there is no child then. Otherwise it waits.
        Raises RefusedError if its ids are in use, FormatError for a damaged file, and
        UnavailableError.
        """
        if self._is_there():
            return Made(Outcome.THERE)
        parent = self._outline.start.parent
        if parent is not None and not without_parent and not self._has_parent_tree(parent):
            return Made(Outcome.WAITS)
        found = self._parent()
        try:
            begun = self._begin(self._tree(_child_key(self._outline.start, found)))
            if begun.is_live:
                return Made(Outcome.THERE)
            if begun.is_child and found is None:
                raise RefusedError(f"tree {self._group_id}: {_PARENT_GONE}")
            self._attempt = begun.nonce or ""
            found = found if begun.is_child else None
            tree = self._tree(begun.child_key)
            taken = self._fill(tree, found)
            self._open(tree, found)
        except ConditionFailed as refused:
            if self._is_there():  # another import of the same file was faster
                return Made(Outcome.THERE)
            raise RefusedError(self._why(refused)) from refused
        return Made(Outcome.MADE, taken, found != parent)

    # What is there

    def _is_there(self) -> bool:
        """Tell whether an import of this file has made the tree. Raises RefusedError."""
        group = self._look()
        return group is not None and group.is_live

    def _look(self) -> Group | None:
        """Return the tree as imports of this file have left it; None if it is not there.

        Raises RefusedError if its id is in use.
        """
        group_id = self._group_id
        pointer, own = keys.pointer(group_id), keys.group(group_id)
        for attempt in range(LOOKS_MAX):
            self._table.pause(attempt)
            found = self._table.items_at([pointer, own])
            at = items.pointer(found[pointer], now_s=self._table.now_s()) if pointer in found else None
            group = items.group(found[own]) if own in found else None
            if at is None and group is None:
                return None
            is_own = any((items.nonce(item) or "").startswith(self._nonce) for item in found.values())
            if is_own and group is None:
                continue  # half of a transaction is visible
            if not is_own or group is None:
                raise RefusedError(in_use(group_id, is_blocked=at is not None and at.group_id is None))
            if group.state is State.DELETING:
                break
            return group
        raise RefusedError(f"tree {group_id}: an earlier import is being removed; try again in a minute")

    def _has_parent_tree(self, parent: Parent) -> bool:
        group = self._table.get([keys.group(parent.group_id)]).group(parent.group_id)
        return group is not None and group.is_live

    def _parent(self) -> Parent | None:
        """Return what starts the tree in this table; None if it is no child here.

        The parent may be in an older state than when it started the tree. If it does not have the
        entry, none is named. If it does not have the conversation, the tree is no child.
        """
        parent = self._outline.start.parent
        if parent is None:
            return None
        head = keys.head(parent.group_id, parent.conversation_id)
        entries = [keys.entry(parent.group_id, parent.entry_id)] if parent.entry_id else []
        found = self._table.get([keys.group(parent.group_id), head, *entries])
        group = found.group(parent.group_id)
        if group is None or not group.is_live or head not in found:
            return None
        return parent if all(key in found for key in entries) else replace(parent, entry_id=None)

    def _why(self, refused: ConditionFailed) -> str:
        taken = next((one.of for one in refused.failed if one.kind is ActionKind.POINTER), None)
        if taken is not None:
            return in_use(taken or self._group_id, is_blocked=False)
        if refused.has(ActionKind.PARENT_GROUP):
            return f"tree {self._group_id}: {_PARENT_GONE}"
        return f"tree {self._group_id}: this import took too long and was given up; try again in a minute"

    # The steps

    def _tree(self, child_key: Key | None) -> Group:
        start, outline = self._outline.start, self._outline
        return Group(
            start.group_id,
            start.owner,
            start.created_at,
            conversations=len(outline.branches),
            members=len(outline.members),
            version=start.version,
            promoted=start.promoted,
            promotions=start.promotions,
            used_at=start.used_at,
            state=State.CREATING,
            child_key=child_key,
        )

    def _begin(self, tree: Group) -> Group:
        """Claim the tree's id, and return the tree as it was begun, now or by an earlier attempt.

        Whether it is a child stays as it was decided then. It may be made already. Its nonce names
        the file and, behind that, the attempt. All who go on with the tree have the same one, until
        the sweep gives it up.
        """
        like_root = Conversation(tree.group_id, tree.group_id, tree.created_at)
        for _ in range(LOOKS_MAX):
            group = self._look()
            if group is not None:
                return group
            now, until = self._lease()
            attempt = self._nonce + self._table.nonce()
            self._on_step()
            begun = actions.imported.begin(
                like_root,
                owner=tree.owner,
                child_key=tree.child_key,
                nonce=self._nonce,
                attempt=attempt,
                now_s=self._table.now_s(),
                at=now,
                until=until,
            )
            if self._table.try_commit(begun) is None:
                return tree._replace(nonce=attempt)
        raise RefusedError(f"tree {tree.group_id} cannot be begun; try again")

    def _fill(self, tree: Group, parent: Parent | None) -> int:
        """Put all items but those of the last step. Return how many names are taken."""
        outline, group_id = self._outline, self._group_id
        self._step([])  # the sweep leaves the tree alone from now on
        self._steps(actions.imported.put_member(tree, member) for member in outline.members)
        self._steps(self._entries())
        held = [new_ids.of_held(one, self._new) for one in self._lines.held]
        self._steps(
            [actions.imported.put_context(group_id, one.conversation_id, one.client_id, one.context)]
            for one in held
        )
        self._steps(self._branches(tree, parent))
        self._block(_named_only(outline))
        return sum(map(self._is_taken, outline.names))

    def _entries(self) -> Iterator[list[Action]]:
        """Yield the actions of each entry that is not there. They are put in their order."""
        newest = self._table.query(keys.entries_range(self._group_id), backward=True, limit=1, only=())
        last = next((keys.entry_id_of(items.key(item).sort) for item in newest), FIRST)
        for said in self._lines.entries():
            one = new_ids.of_entry(said, self._new)
            if one.entry.entry_id > last:
                yield actions.imported.put_entry(
                    self._group_id, one.entry, nonce=self._nonce, escaped_bytes=one.size
                )

    def _branches(self, tree: Group, parent: Parent | None) -> Iterator[list[Action]]:
        now_s = self._table.now_s()
        started_by = StartedBy(parent.conversation_id, parent.entry_id) if parent else None
        for branch in self._outline.branches.values():
            one = branch.conversation
            whole = one._replace(started_by=started_by) if one.is_root else one
            head = branch.head._replace(owner=tree.owner)
            yield actions.imported.put_branch(whole, head, branch.path, nonce=self._nonce, now_s=now_s)
        for removed in self._outline.removed.values():
            if removed.conversation_id != self._group_id:
                remnant = removed.remnant(self._group_id, self._nonce)
                yield actions.imported.put_removed(remnant, removed.path)

    def _block(self, conversation_ids: Iterable[str]) -> None:
        """Block the ids of removed conversations that forks name, if nobody uses them."""
        now_s = self._table.now_s()
        for conversation_id in conversation_ids:
            self._table.try_commit([actions.imported.block_id(conversation_id, now_s=now_s)])

    def _is_taken(self, name: Name) -> bool:
        """Put a name. Return whether its owner has given it to something else."""
        try:
            self._step([actions.imported.put_name(name._replace(nonce=self._nonce))])
        except ConditionFailed as refused:
            if not refused.has(ActionKind.NAME):
                raise
            return True
        return False

    def _open(self, tree: Group, parent: Parent | None) -> None:
        """Make the tree live."""
        outline = self._outline
        root = outline.removed.get(tree.group_id)
        for attempt in range(LOOKS_MAX):
            self._table.pause(attempt)
            self._on_step()
            last = actions.imported.open_tree(
                tree,
                nonce=self._nonce,
                attempt=self._attempt,
                transfer=outline.transfer,
                removed_root=root.remnant(tree.group_id, self._nonce) if root else None,
                has_root=tree.group_id in outline.branches,
            )
            refused = self._table.try_commit([*last, *self._link(tree, parent)])
            if refused is None:
                return
            starting = refused.group(ActionKind.PARENT_GROUP)
            if refused.has(ActionKind.CREATING_GROUP) or starting is None or not starting.is_live:
                raise refused
        raise RefusedError(f"tree {tree.group_id}: its parent changes all the time; try again")

    def _link(self, tree: Group, parent: Parent | None) -> Sequence[Action]:
        """Return the actions that make the tree a child of its parent."""
        if parent is None or tree.child_key is None:
            return ()
        group = self._table.get([keys.group(parent.group_id)]).group(parent.group_id)
        started_by = StartedBy(parent.conversation_id, parent.entry_id)
        return actions.imported.link(group or Group(parent.group_id, "", ""), tree.child_key, started_by)

    def _steps(self, units: Iterable[list[Action]]) -> None:
        """Write the units in steps as large as they may be. The actions of a unit stay together."""
        step: list[Action] = []
        size = 0
        for unit in units:
            more = sum(items.size(one.target) for one in unit if one.verb == "Put")
            if step and (len(step) + len(unit) > PARTS_MAX or size + more > STEP_BYTES_MAX):
                self._step(step)
                step, size = [], 0
            step += unit
            size += more
        if step:
            self._step(step)

    def _step(self, step: Sequence[Action]) -> None:
        """Write some actions, if the tree is still this attempt's. Hold its job when it is time."""
        self._on_step()
        check = actions.group.check_creating(self._group_id, nonce=self._attempt)
        hold: list[Action] = []
        if self._table.now_ms() > self._held_until_ms - (LEASE_SECONDS - RENEW_SECONDS) * 1000:
            now, until = self._lease()
            hold = [actions.imported.hold(self._group_id, at=now, until=until)]
        if step or hold:
            self._table.commit([check, *hold, *step])

    def _lease(self) -> tuple[str, str]:
        now_ms = self._table.now_ms()
        self._held_until_ms = now_ms + LEASE_SECONDS * 1000
        return ids.timestamp(now_ms), ids.timestamp(self._held_until_ms)


def _child_key(start: TreeStart, parent: Parent | None) -> Key | None:
    """Return the place of a tree in its parent's list; None if it is no child."""
    if parent is None:
        return None
    place = ListKey(start.created_at, start.group_id)
    return keys.child(parent.group_id, parent.conversation_id, place)


def _named_only(outline: Outline) -> list[str]:
    """Return the conversations that are named, and that the tree has no more."""
    named = {
        one.conversation.fork_point.conversation_id
        for one in outline.branches.values()
        if one.conversation.fork_point
    }
    if outline.transfer is not None:
        named.add(outline.transfer.conversation_id)
    return sorted(named - outline.branches.keys() - outline.removed.keys() - {outline.group_id})


def in_use(conversation_id: str, *, is_blocked: bool) -> str:
    if is_blocked:
        return f"{conversation_id} was deleted in the last 30 days: --new-ids imports it under other ids"
    return f"{conversation_id} is in use by another tree: --new-ids imports it under other ids"

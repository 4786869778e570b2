"""Makes one tree of an export in a table.

The tree is `creating` until its last step, so nobody sees a part of it. Its steps are transactions,
and each checks that the tree is still this import's. They put what the file says and nothing else.
So an import that was ended can be repeated, and two of the same file do no harm. If an import is
not repeated, the sweep removes what it has made, when the lease of its JOB is over. Then the tree
is begun again with another mark in GROUP. So a process that was held up meanwhile cannot go on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.porting import actions
from forklore_local.porting.beside import Beside
from forklore_local.porting.failures import RefusedError
from forklore_local.porting.input import TreeInFile
from forklore_service.domain import ids, keys
from forklore_service.domain.ids import FIRST
from forklore_service.domain.keys import Key
from forklore_service.domain.model import StartedBy
from forklore_service.domain.tree import Group, State
from forklore_service.storage import items
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.actions import group as group_actions
from forklore_service.storage.connection import Item
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


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a tree.

    is_new: False if it was made before. names_taken: names that the users have given to something
    else. lost_link: whether the tree was a child and is none any more, or does not name the entry
    that started it any more.
    """

    is_new: bool
    names_taken: int = 0
    lost_link: bool = False


THERE = Made(is_new=False)


def nonce_of(export_id: str, group_id: str) -> str:
    """Return the mark of the items that an import makes. All imports of one file have the same."""
    return hashlib.sha256(f"{export_id} {group_id}".encode()).hexdigest()[:32]


class TreeMaker:
    """Makes one tree.

    tree: in the file. beside: the bytes of its attachments. on_step: called before each step; it
    may raise to stop.
    """

    def __init__(
        self,
        table: Table,
        tree: TreeInFile,
        *,
        export_id: str,
        beside: Beside,
        on_step: Callable[[], object] = lambda: None,
    ) -> None:
        self._table = table
        self._tree = tree
        self._beside = beside
        self._outline = tree.outline
        self._group_id = tree.outline.group_id
        self._gone_root = keys.remnant(self._group_id, self._group_id)
        self._nonce = nonce_of(export_id, self._group_id)
        self._attempt = ""
        self._on_step = on_step
        self._held_until_ms = 0

    def make(self, *, waits_for_parent: bool = False) -> Made:
        """Make the tree, or go on with it.

        waits_for_parent: whether a tree is refused whose parent is not there. Otherwise it is no
        child then. Raises RefusedError, also if its ids are in use, FormatError for a damaged file,
        and UnavailableError.
        """
        if self._is_there():
            return THERE
        wanted = self._outline.group.child_key
        if wanted is not None and waits_for_parent and not self._is_live(wanted.partition):
            raise RefusedError(f"tree {wanted.partition} was refused, so its children wait")
        parent = self._parent()
        try:
            begun = self._begin(parent)
            if begun.is_live:
                return THERE
            if begun.is_child and parent is None:
                raise RefusedError(f"tree {self._group_id}: {_PARENT_GONE}")
            self._attempt = begun.nonce or ""
            parent = parent if begun.is_child else None
            taken = self._fill(begun, parent)
            self._open(begun, parent)
        except ConditionFailed as refused:
            if self._is_there():  # another import of the same file was faster
                return THERE
            raise RefusedError(self._why(refused)) from refused
        return Made(True, taken, wanted is not None and parent != self._outline.started_by)

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

    def _is_live(self, group_id: str) -> bool:
        group = self._table.get([keys.group(group_id)]).group(group_id)
        return group is not None and group.is_live

    def _parent(self) -> StartedBy | None:
        """Return what starts the tree in this table; None if it is no child here.

        The parent may be in an older state than when it started the tree. If it does not have the
        entry, none is named. If it does not have the conversation, the tree is no child.
        """
        key, parent = self._outline.group.child_key, self._outline.started_by
        if key is None or parent is None:
            return None
        group_id = key.partition
        head = keys.head(group_id, parent.conversation_id)
        entries = [keys.entry(group_id, parent.entry_id)] if parent.entry_id else []
        found = self._table.get([keys.group(group_id), head, *entries])
        group = found.group(group_id)
        if group is None or not group.is_live or head not in found:
            return None
        return parent if all(one in found for one in entries) else parent._replace(entry_id=None)

    def _why(self, refused: ConditionFailed) -> str:
        taken = next((one.of for one in refused.failed if one.kind is ActionKind.POINTER), None)
        if taken is not None:
            return in_use(taken or self._group_id, is_blocked=False)
        if refused.has(ActionKind.FILE):
            return f"tree {self._group_id}: an attachment is being removed; try again in a minute"
        if refused.has(ActionKind.PARENT_GROUP):
            return f"tree {self._group_id}: {_PARENT_GONE}"
        return f"tree {self._group_id}: this import took too long and was given up; try again in a minute"

    # The steps

    def _begin(self, parent: StartedBy | None) -> Group:
        """Claim the tree's id, and return the tree as it was begun, now or by an earlier attempt.

        Whether it is a child stays as it was decided then. It may be made already. Its nonce names
        the file and, behind that, the attempt. All who go on with the tree have the same one, until
        the sweep gives it up.
        """
        item = self._outline.group_item
        if parent is None:
            item = {name: held for name, held in item.items() if name not in ("parent", "childKey")}
        for _ in range(LOOKS_MAX):
            group = self._look()
            if group is not None:
                return group
            now, until = self._lease()
            attempt = self._nonce + self._table.nonce()
            self._on_step()
            begun = actions.begin(
                item,
                nonce=self._nonce,
                attempt=attempt,
                now_s=self._table.now_s(),
                at=now,
                until=until,
            )
            if self._table.try_commit(begun) is None:
                return items.group(item)._replace(nonce=attempt, state=State.CREATING)
        raise RefusedError(f"tree {self._group_id} cannot be begun; try again")

    def _fill(self, tree: Group, parent: StartedBy | None) -> int:
        """Put all items but those of the last step. Return how many names are taken."""
        self._step([])  # the sweep leaves the tree alone from now on
        members, used_at = self._outline.members.values(), self._outline.used_at
        self._steps(actions.put_member(tree, member, used_at=used_at) for member in members)
        self._steps(self._entries())
        self._steps(self._branches(parent))
        for conversation_id in sorted(self._outline.named_only()):
            self._table.try_commit([actions.block_id(conversation_id, now_s=self._table.now_s())])
        return sum(
            self._is_taken(item) for key, item in self._outline.items.items() if kind_of(key) is Kind.NAME
        )

    def _entries(self) -> Iterator[list[Action]]:
        """Yield the actions of each entry that is not there. They are put in their order."""
        newest = self._table.query(keys.entries_range(self._group_id), backward=True, limit=1, only=())
        last = next((keys.entry_id_of(items.key(item).sort) for item in newest), FIRST)
        for stored in self._tree.entries():
            if stored.entry_id > last:
                for file in self._tree.files:
                    self._beside.bring(self._table, file)
                yield actions.put_entry(self._group_id, stored)

    def _branches(self, parent: StartedBy | None) -> Iterator[list[Action]]:
        """Yield the actions of each item of the branches."""
        now_s = self._table.now_s()
        root = keys.conversation(self._group_id, self._group_id)
        for key, item in self._outline.items.items():
            if kind_of(key) not in (Kind.CHILD, Kind.MEM, Kind.NAME, Kind.XFER) and key != self._gone_root:
                one = _with_start(item, parent) if key == root else item
                yield actions.put_item(one, nonce=self._nonce, now_s=now_s)

    def _is_taken(self, name: Item) -> bool:
        """Put a name. Return whether its owner has given it to something else."""
        try:
            self._step([actions.put_name(name)])
        except ConditionFailed as refused:
            if not refused.has(ActionKind.NAME):
                raise
            return True
        return False

    def _open(self, tree: Group, parent: StartedBy | None) -> None:
        """Make the tree live."""
        last = actions.open_tree(
            tree.group_id,
            nonce=self._nonce,
            attempt=self._attempt,
            transfer=self._outline.transfer,
            has_root=tree.group_id in self._outline.conversations,
        )
        gone = self._outline.items.get(self._gone_root)
        if gone is not None:  # with the root's id, which `open_tree` blocks
            last += actions.put_item(gone, nonce=self._nonce, now_s=self._table.now_s())
        for attempt in range(LOOKS_MAX):
            self._table.pause(attempt)
            self._on_step()
            refused = self._table.try_commit([*last, *self._link(tree, parent)])
            if refused is None:
                return
            starting = refused.group(ActionKind.PARENT_GROUP)
            if refused.has(ActionKind.CREATING_GROUP) or starting is None or not starting.is_live:
                raise refused
        raise RefusedError(f"tree {tree.group_id}: its parent changes all the time; try again")

    def _link(self, tree: Group, parent: StartedBy | None) -> Sequence[Action]:
        """Return the actions that make the tree a child of its parent."""
        if parent is None or tree.child_key is None:
            return ()
        of = tree.child_key.partition
        group = self._table.get([keys.group(of)]).group(of)
        return actions.link(group or Group(of, "", ""), tree.child_key, parent)

    def _steps(self, units: Iterable[list[Action]]) -> None:
        """Write the units in steps as large as they may be. The actions of a unit stay together.

        No two actions of a step are on one item.
        """
        step: list[Action] = []
        size, touched = 0, set[Key]()
        for unit in units:
            more = sum(items.size(one.target) for one in unit if one.verb == "Put")
            places = {items.key(one.target) for one in unit}
            is_full = len(step) + len(unit) > PARTS_MAX or size + more > STEP_BYTES_MAX
            if step and (is_full or touched & places):
                self._step(step)
                step, size, touched = [], 0, set()
            step += unit
            size += more
            touched |= places
        if step:
            self._step(step)

    def _step(self, step: Sequence[Action]) -> None:
        """Write some actions, if the tree is still this attempt's. Hold its job when it is time."""
        self._on_step()
        check = group_actions.check_creating(self._group_id, nonce=self._attempt)
        hold: list[Action] = []
        if self._table.now_ms() > self._held_until_ms - (LEASE_SECONDS - RENEW_SECONDS) * 1000:
            now, until = self._lease()
            hold = [actions.hold(self._group_id, at=now, until=until)]
        if step or hold:
            self._table.commit([check, *hold, *step])

    def _lease(self) -> tuple[str, str]:
        now_ms = self._table.now_ms()
        self._held_until_ms = now_ms + LEASE_SECONDS * 1000
        return ids.timestamp(now_ms), ids.timestamp(self._held_until_ms)


def _with_start(root: Item, parent: StartedBy | None) -> Item:
    """Return CONV of the root with what starts the tree here."""
    names = {"startedByConversationId", "startedByEntryId"}
    started = (
        {"startedByConversationId": parent.conversation_id, "startedByEntryId": parent.entry_id}
        if parent
        else {}
    )
    return {name: held for name, held in root.items() if name not in names} | items.present(started)


def in_use(conversation_id: str, *, is_blocked: bool) -> str:
    """Return why an id cannot be taken."""
    if is_blocked:
        return f"{conversation_id} was deleted in the last 30 days"
    return f"{conversation_id} is in use by another tree"

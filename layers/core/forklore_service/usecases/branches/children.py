"""Start a conversation for a delegated task, and list those that a conversation has started.

A child is a tree of its own with a copy of its parent's members. It is created with all of them or
not at all. A few members fit into one transaction. More are staged in a tree that nobody can see
yet. The transaction that makes it live checks that the parent's members are those that were copied.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from forklore_service.domain import access, ancestry, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, Conversation, Entry, StartedBy
from forklore_service.domain.tree import ChildRow, Group, Member, MemberChange, TreeRow
from forklore_service.errors import InvalidCursorError, ValidationError
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Creation, Obstacle, PreparedCreation, name_actions
from forklore_service.usecases.branches.roots import plan_root
from forklore_service.usecases.branches.staging import (
    STEP_WRITES_MAX,
    StagedTree,
    find_begun,
    keys_of_begun,
    stage,
)
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.appended import Appended, record_appended
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.drafts import TRANSACTION_WRITES_MAX, require_own_context, require_room
from forklore_service.usecases.shared.idempotency import Once
from forklore_service.usecases.shared.loading import (
    ConversationDetails,
    LoadedConversation,
    TreeExtras,
    keys_of_current,
    keys_of_root,
    load_conversation,
    look_up,
    root_of,
)
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.shared.syncing import decide_on_nothing

ROWS_MAX = 250
"""Children looked at for one page. At the bound the page is short, and has a cursor."""
CHILDREN_AT_ONCE = 25
"""Children read in one request: three items each, or four if the caller's row is not known."""
MEMBERS_AT_ONCE = STEP_WRITES_MAX // 2
"""Members copied in one transaction, each with its row in the member's list."""


def start_child(table: Table, *, caller: Caller, request: Append, start: StartedBy) -> Appended | None:
    """Create a child by its first entries; None if a conversation of that id exists already.

    Raises NotFoundError if the parent does not exist, ForbiddenError below writer on it and for
    context from a plain user, ValidationError if the parent does not show the entry, and as
    `plan_root`.
    """
    creation = Creation[Appended](table, caller, request.idempotency_key, name=request.name)
    for nonce in creation.attempts():
        creation.write(_prepare(table, caller, request, start, creation.once, nonce))
    return creation.answer


class _Parent(NamedTuple):
    """The parent with its members. begun: the child, if it is being made already."""

    loaded: LoadedConversation
    members: list[Member]
    begun: Group | None


def _prepare(
    table: Table, caller: Caller, request: Append, start: StartedBy, once: Once, nonce: str
) -> PreparedCreation[Appended] | Obstacle:
    parent = _read_parent(table, caller, request, start, once)
    if isinstance(parent, Obstacle):
        return parent
    decision = decide_on_nothing(request.context) if request.context else None
    child_id, group = request.conversation_id, parent.loaded.group
    root = plan_root(
        table,
        caller,
        conversation_id=child_id,
        drafts=[*request.drafts, *(decision.drafts if decision else ())],
        described=request.described,
        nonce=nonce,
        owner=group.owner,
        started_by=start,
        parent_tree=group.group_id,
        created_at=parent.begun.created_at if parent.begun else None,
        if_match=request.if_match,
    )
    place = ListKey(root.conversation.created_at, child_id)
    child_key = keys.child(group.group_id, start.conversation_id, place)
    appended = Appended.of(root.batch, decision)
    record = record_appended(once, appended, group_id=child_id, conversation_id=child_id)
    is_owner = caller.user_id == group.owner
    member = [] if is_owner else [actions.member.check(group.group_id, caller.user_id, AccessLevel.WRITER)]
    around = [
        *record,
        actions.group.count_child(group),
        actions.conversation.check_not_removed(parent.loaded.conversation, starts=True),
        *member,
        actions.group.put_child(child_key, start),
        *name_actions(table, request.name, conversation_id=child_id, nonce=nonce),
    ]
    tree = actions.group.put_tree(
        root.conversation, root.head, parent.members, nonce=nonce, now_s=table.now_s(), child_key=child_key
    )
    if parent.begun is None and len(around) + len(tree) + len(root.actions) <= TRANSACTION_WRITES_MAX:
        return PreparedCreation([*around, *tree, *root.actions], appended, child_id, root.cached)
    steps = _changes_of_members(table, root.conversation, parent.members)
    last = [
        *around,
        *actions.group.open_tree(root.conversation, root.head, members=len(parent.members), nonce=nonce),
        *root.actions,
    ]
    require_room(last)
    staged = StagedTree(root.conversation, root.head.owner, len(parent.members), child_key, parent.begun)
    if not stage(table, staged, steps, nonce=nonce):
        return Obstacle.CHANGED
    return PreparedCreation(last, appended, child_id, root.cached)


def _read_parent(
    table: Table, caller: Caller, request: Append, start: StartedBy, once: Once
) -> _Parent | Obstacle:
    """Return the parent and what there is of the child."""
    child_id, entry_id = request.conversation_id, start.entry_id
    is_id = entry_id is not None and ids.is_entry_id(entry_id)
    looked_up = look_up(
        table,
        start.conversation_id,
        caller=caller,
        extra_keys=[*keys_of_begun(child_id), *once.keys],
        extras=TreeExtras(entries=(entry_id,) if entry_id and is_id else ()),
    )
    once.raise_if_answered(looked_up.found)
    begun = find_begun(looked_up.found, child_id, is_child=True, now_s=table.now_s())
    if isinstance(begun, Obstacle):
        return begun
    loaded = looked_up.require(start.conversation_id, AccessLevel.WRITER)
    require_own_context(caller, request.drafts, request.context)
    if entry_id is not None:
        stored = looked_up.found.entry(loaded.group.group_id, entry_id) if is_id else None
        _check_shown(loaded, stored.entry if stored else None)
    members = list(table.read.members(loaded.group.group_id))
    # The reads are no snapshot. The write checks the version of the members. These are the members
    # of that version only if GROUP counts as many, its owner is the only owner among them, and they
    # show the last change that it notes.
    owners = [member.user_id for member in members if member.level is AccessLevel.OWNER]
    if owners != [loaded.group.owner] or len(members) != loaded.group.members:
        return Obstacle.CHANGED
    if _shows_what_was_changed(members, loaded.group.member_change):
        return Obstacle.CHANGED
    own = [member.level for member in members if member.user_id == caller.user_id]
    access.require(own[0] if own else None, AccessLevel.WRITER)
    return _Parent(loaded, members, begun)


def _shows_what_was_changed(members: Sequence[Member], change: MemberChange | None) -> bool:
    """Tell whether a membership is as it was before the last change."""
    if change is None or change.was is change.level:
        return False
    levels = {member.user_id: member.level for member in members}
    return levels.get(change.user_id) is change.was


def _check_shown(parent: LoadedConversation, entry: Entry | None) -> None:
    """Raise ValidationError if the parent does not show the entry."""
    if entry is None or not ancestry.shows(
        parent.view, conversation_id=entry.conversation_id, entry_id=entry.entry_id
    ):
        raise ValidationError("the parent does not show the entry", field="startedByEntryId")


def _changes_of_members(
    table: Table, root: Conversation, members: Sequence[Member]
) -> Iterator[list[Action]]:
    """Yield the steps that give a tree that is being made these members and no others."""
    there = {member.user_id: member for member in table.read.members(root.group_id)}
    wanted = {member.user_id: member for member in members}
    changes: list[list[Action]] = []
    for user_id, member in there.items():
        if user_id not in wanted:
            changes.append(actions.member.drop(root, member))
    for user_id, member in wanted.items():
        if user_id not in there or there[user_id].level is not member.level:
            changes.append(actions.member.copy(root, member))
    for at in range(0, len(changes), MEMBERS_AT_ONCE):
        yield list(chain.from_iterable(changes[at : at + MEMBERS_AT_ONCE]))


def list_children(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    after: ListKey | str | InvalidCursor | None,
    limit: int,
    started_by: str | None = None,
) -> PageOf[ConversationDetails, ListKey]:
    """Return a page of the conversation's direct children that the caller may see, oldest first.

    after: the `resume` of the page before, or the id of such a child.
    started_by: only those that this entry has started. None: all.
    Raises NotFoundError, ForbiddenError if the caller is not a member, and then InvalidCursorError
    for an invalid `after` or the id of another conversation.
    """
    loaded = load_conversation(table, conversation_id, caller=caller, describes=False)
    page: list[ConversationDetails] = []
    place = cursors.valid(after)
    if isinstance(place, str):
        place = _place_of(table, loaded, place, caller)
    last, page_bytes = place, 0
    at_once = min(limit + 1, CHILDREN_AT_ONCE)
    page_rows = at_once if started_by is None else ROWS_MAX
    rows = table.read.children(loaded.group.group_id, conversation_id, after=place, page=page_rows)
    looked: list[ChildRow] = []
    wanted = _wanted(rows, started_by, looked)
    while places := list(islice(wanted, at_once)):
        trees, found = _read_trees(table, caller, places, by_rows=started_by is None)
        for row, group, level in tree_rows.levels(table, caller, trees, found):
            child = root_of(found, row.group_id, caller)
            if child is None or not group.is_live:
                continue
            is_archived = child.is_archived or row.is_archived
            child = child._replace(group=group, level=level, is_archived=is_archived)
            details = child.details(now_s=table.now_s())
            size = details.escaped_bytes
            if len(page) == limit or (page and page_bytes + size > PAGE_BYTES_MAX):
                return PageOf(page, last)
            page.append(details)
            page_bytes += size
            last = row.place
    return PageOf(page, looked[-1].place if len(looked) == ROWS_MAX else None)


def _read_trees(
    table: Table, caller: Caller, places: Sequence[ListKey], *, by_rows: bool
) -> tuple[list[TreeRow], Found]:
    """Return the rows of some children, which may tell the caller's levels, and what was read.

    by_rows: whether the caller's own rows from the first place to the last are read for the levels
    (decision 27). They are read at the same time as these trees, so they count for no later ones.
    Rows of other trees may lie between: then some children are without one.
    """
    trees = list(map(TreeRow, places))
    roots = [*chain.from_iterable(keys_of_root(tree.group_id) for tree in trees)]
    if by_rows and len(places) > 1 and not caller.bypasses_membership:
        own_rows = table.start(partial(_own_rows, table, caller, places))
        found, told = table.get(roots), own_rows.result()
        trees = [told.get(tree.group_id, tree)._replace(place=tree.place) for tree in trees]
        there = [tree for tree in trees if found.group(tree.group_id)]
        members = tree_rows.untold_members(caller, there)
    else:
        found, members = table.get([*roots, *tree_rows.untold_members(caller, trees)]), []
    found |= table.get([*members, *keys_of_current(found, (tree.group_id for tree in trees))])
    return trees, found


def _own_rows(table: Table, caller: Caller, places: Sequence[ListKey]) -> dict[str, TreeRow]:
    rows = table.read.user_trees(
        caller.user_id,
        is_child=True,
        after=ListKey(places[0].created_at, ""),
        through=places[-1],
        newest_first=False,
        limit=len(places),
    )
    return {row.group_id: row for row in rows}


def _wanted(rows: Iterator[ChildRow], started_by: str | None, looked: list[ChildRow]) -> Iterator[ListKey]:
    """Yield the children that the entry has started, out of the first ROWS_MAX; None: any entry.

    looked: gets every row that was looked at.
    """
    for row in islice(rows, ROWS_MAX):
        looked.append(row)
        if started_by in (None, row.started_by):
            yield row.place


def _place_of(table: Table, parent: LoadedConversation, child_id: str, caller: Caller) -> ListKey:
    """Return the place of the tree of a child that the caller may see.

    child_id: any conversation of that tree. If its root was removed, the list shows its current
    branch, and this may be another one at the next page.
    """
    child = look_up(table, child_id, caller=caller).loaded
    if child is None or child.level is None:
        raise InvalidCursorError
    place = ListKey(child.group.created_at, child.group.group_id)
    if child.group.child_key != keys.child(parent.group.group_id, parent.conversation.conversation_id, place):
        raise InvalidCursorError
    return place

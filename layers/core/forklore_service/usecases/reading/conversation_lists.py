"""List a user's conversations, tree by tree, by last use or by creation.

A user's USER_TREE items name the trees of which the user is a member, and tell the level and
whether the user has archived the tree. Whether a tree is live, and what it shows, is read from the
tree.

By last use, the rows tell within ten minutes when a tree was used last (`list_orders`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import (
    EVERYTHING,
    NONE_MOVED,
    TOP,
    Ancestry,
    Archived,
    Filter,
    ListPlace,
    Mode,
    Order,
    Walk,
)
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import TreeRow
from forklore_service.errors import InvalidCursorError
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import list_modes
from forklore_service.usecases.reading.list_modes import CONVERSATIONS_MAX, ListedTree, Listing
from forklore_service.usecases.reading.list_orders import COMPARED, ByCreation, ByUse, Listed, used
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.loading import ConversationDetails, keys_of_root, look_up
from forklore_service.usecases.shared.tree_rows import RowsByUse

TREES_AT_ONCE = 25
"""Trees read in one request. Each takes three items, or four if its row tells no level."""
TREES_MAX = 250
"""The most trees read for one page. At this bound the page is short and has a cursor."""
ROWS_AT_ONCE = 4 * TREES_AT_ONCE
"""Rows of a user's list read in one request with a filter."""


class ListRequest(NamedTuple):
    """What to list.

    pinned: only the trees that the caller has pinned, in the order of the pins, not in `order`.
    after: the `resume` of the page before, or the id of a conversation of the list.
    of_user: for a caller who bypasses membership, the user whose trees are listed. None: all trees.
    """

    mode: Mode = Mode.LATEST_FORK
    order: Order = Order.CREATED
    ancestry: Ancestry = Ancestry.ROOTS
    archived: Archived = Archived.EXCLUDE
    pinned: bool = False
    wanted: Filter = EVERYTHING
    after: ListPlace | str | InvalidCursor | None = None
    limit: int = 20
    of_user: str | None = None

    @property
    def sorts(self) -> bool:
        """Return whether a page is put into order when it is read."""
        return self.order is Order.USED and self.mode is not Mode.ALL


def list_conversations(
    table: Table, *, caller: Caller, request: ListRequest
) -> PageOf[ConversationDetails, ListPlace]:
    """Return a page of the conversations in the trees of which the caller is a member.

    A caller who bypasses membership gets the trees of `of_user`, or all trees.
    Raises InvalidCursorError if `after` is invalid or names a conversation that the caller may not
    see.
    """
    assert caller.bypasses_membership or request.of_user is None, "another's trees"
    if request.pinned:
        request = request._replace(order=Order.CREATED)
    after = cursors.valid(request.after)
    if isinstance(after, str):
        after = _place_of(table, caller, request, after)
    page: list[Listed] = []
    page_bytes = looked = conversations = 0
    order = _in_order(table, caller, request, after)

    def next_rows() -> list[TreeRow]:
        """Return the rows of the next trees to read; none if the page is full.

        Without a filter they are as many as the page has room for, and as many more as were read
        in vain so far. The level in a row counts only for the first trees: rows are read ahead, so
        later ones may be older than a change of the membership.
        """
        if request.sorts and len(page) >= request.limit:
            return []
        at_once = TREES_AT_ONCE
        if request.wanted.is_open:
            room, in_vain = max(request.limit - len(page), 0), max(looked - len(page), 0)
            at_once = min(at_once, room + in_vain if room else 0)
        some = order.next_rows(min(at_once, TREES_MAX - looked))
        return [row._replace(level=None) for row in some] if looked else some

    while some := next_rows():
        trees = _open_trees(table, caller, request, some)
        for tree, listing in _listings(table, caller, trees, request, after):
            for one in map(Listed._make, listing.listed):
                size = one.shown.escaped_bytes
                is_full = len(page) == request.limit or (page and page_bytes + size > PAGE_BYTES_MAX)
                if is_full and not request.sorts:
                    return order.page(page, page[-1].place)
                if not order.is_earlier(one):
                    page.append(one)
                    page_bytes += size
            if listing.stopped is not None:
                return order.page(page, listing.stopped)
            conversations += listing.looked
            if conversations >= CONVERSATIONS_MAX:
                return order.page(page, ListPlace(tree.place))
        looked += len(some)
        if looked >= TREES_MAX:
            return order.page(page, ListPlace(some[-1].place))
    return order.page(page, order.end(page, is_full=len(page) >= request.limit))


def _listings(
    table: Table, caller: Caller, trees: Sequence[ListedTree], request: ListRequest, after: ListPlace | None
) -> Iterator[tuple[ListedTree, Listing]]:
    """Yield each tree with its listing. About as many trees as a page needs are read at once."""
    read = _all if request.mode is Mode.ALL else _one_of_each
    room = request.limit if request.mode is Mode.ALL and request.wanted.is_open else CONVERSATIONS_MAX
    left = list(trees)
    while left:
        some: list[ListedTree] = []
        cost = 0
        while left and cost <= room:
            some.append(left.pop(0))
            cost += list_modes.looked_at(some[-1].group, request.mode)
        yield from zip(some, read(table, caller, some, request, after), strict=True)


def _all(
    table: Table, _caller: Caller, trees: Sequence[ListedTree], request: ListRequest, after: ListPlace | None
) -> Iterator[Listing]:
    def listing(tree: ListedTree) -> Listing:
        before = (
            after.conversation
            if after is not None and after.tree.conversation_id == tree.group.group_id
            else None
        )
        return list_modes.all_of(table, tree, wanted=request.wanted, before=before, limit=request.limit)

    return table.side_by_side(listing, trees)


def _one_of_each(
    table: Table, caller: Caller, trees: Sequence[ListedTree], request: ListRequest, _after: ListPlace | None
) -> Iterator[Listing]:
    def again(rows: list[TreeRow]) -> list[ListedTree]:
        return _open_trees(table, caller, request, [row._replace(level=None) for row in rows])

    shown = list_modes.one_of_each(table, trees, request.mode, read_again=again)
    for tree, one in zip(trees, shown, strict=True):
        root = tree.details(tree.found, tree.group.group_id, now_s=table.now_s())
        is_listed = one is not None and request.wanted.passes(
            one.conversation, root=root.conversation if root is not None else None
        )
        listed = [(ListPlace(tree.place), one)] if one is not None and is_listed else []
        yield Listing(listed, list_modes.looked_at(tree.group, request.mode))


def _place_of(table: Table, caller: Caller, request: ListRequest, conversation_id: str) -> ListPlace:
    """Return the place of a conversation that the caller sees."""
    loaded = look_up(table, conversation_id, caller=caller).loaded
    if loaded is None or loaded.level is None:
        raise InvalidCursorError
    group, conversation = loaded.group, loaded.conversation
    tree, walk = ListKey(group.created_at, group.group_id), None
    if request.order is Order.USED:
        key = keys.user_tree(caller.user_id, group.created_at, group.group_id, is_child=group.is_child)
        row = table.get([key]).tree_row(key)
        tree = row.used if row is not None else tree
        walk = Walk(NONE_MOVED)
        if request.sorts:
            listed = ListedTree(TreeRow(tree), group, loaded.level, Found())
            of_tree = listed.last_used_at(list_modes.heads_to_compare(table, listed))
            bound = used(tree, max(of_tree, conversation.used_at(loaded.head)))
            return ListPlace(bound, walk=walk._replace(shown=(group.group_id,)), used_before=bound)
    # A root is the last conversation of its tree.
    if request.mode is not Mode.ALL or conversation_id == tree.conversation_id:
        return ListPlace(tree, walk=walk)
    return ListPlace(tree, ListKey(conversation.created_at, conversation_id), walk)


def _in_order(table: Table, caller: Caller, request: ListRequest, after: ListPlace | None) -> ByCreation:
    """Return the rows of the trees to read, in the order of the list."""
    user_id = request.of_user or caller.user_id
    if request.pinned:
        return ByCreation(tree_rows.pinned(table, caller.user_id, after=after), request.archived)
    kinds = [is_child for is_child in tree_rows.BOTH_KINDS if request.ancestry.includes(is_child)]
    page = request.limit + 1 if request.wanted.is_open else ROWS_AT_ONCE
    if request.order is Order.USED:
        after = after or ListPlace(TOP, walk=Walk())
        source = RowsByUse(table, user_id, after=after, page=max(page, COMPARED + 1), kinds=kinds)
        return ByUse(table, source, request.archived, after=after, limit=request.limit, sorts=request.sorts)
    before, through = after.bounds if after is not None else (None, None)
    if caller.bypasses_membership and request.of_user is None:
        everyone = tree_rows.of_all(table, before=before, through=through, page=TREES_AT_ONCE)
        return ByCreation(everyone, request.archived)
    rows = tree_rows.of_user(table, user_id, before=before, through=through, page=page, kinds=kinds)
    # Whether that user has archived a tree is nothing to an auditor.
    shown = (TreeRow(row.place) for row in rows) if caller.bypasses_membership else rows
    return ByCreation(shown, request.archived)


def _open_trees(
    table: Table, caller: Caller, request: ListRequest, rows: Sequence[TreeRow]
) -> list[ListedTree]:
    """Return the trees that are live, belong in the list and are the user's, with their roots."""
    roots = [key for row in rows for key in keys_of_root(row.group_id)]
    pins = [] if caller.bypasses_membership else [keys.pins(caller.user_id)]
    found = table.get([*roots, *pins, *tree_rows.untold_members(caller, rows)])
    pinned = {keys.list_key(row) for row in found.pins(caller.user_id)} if pins else set()
    return [
        ListedTree(row, group, level, found, ListKey(group.created_at, group.group_id) in pinned)
        for row, group, level in tree_rows.levels(table, caller, rows, found)
        if group.is_live and request.ancestry.includes(group.is_child)
    ]

"""List a user's conversations, tree by tree, the newest root first.

A user's USER_TREE items name the trees of which the user is a member, and tell the level and
whether the user has archived the tree. Whether a tree is live, and what it shows, is read from the
tree.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import EVERYTHING, Ancestry, Archived, Filter, ListPlace, Mode
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import Group, TreeRow
from forklore_service.errors import InvalidCursorError
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import list_modes
from forklore_service.usecases.reading.list_modes import CONVERSATIONS_MAX, ListedTree, Listing
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.loading import ConversationDetails, keys_of_root, level_of, look_up

TREES_AT_ONCE = 25
"""Trees read in one request. Each takes three items, or four if its row tells no level."""
TREES_MAX = 250
"""The most trees read for one page. At this bound the page is short and has a cursor."""
ROWS_AT_ONCE = 4 * TREES_AT_ONCE
"""Rows of a user's list read in one request with a filter."""
ROWS_MAX = 1_000
"""The most rows looked at for one page, of which some may name no tree to list.

At this bound the page is short and has a cursor.
"""


class ListRequest(NamedTuple):
    """What to list.

    after: the `resume` of the page before, or the id of a conversation of the list.
    of_user: for a caller who bypasses membership, the user whose trees are listed. None: all trees.
    """

    mode: Mode = Mode.LATEST_FORK
    ancestry: Ancestry = Ancestry.ROOTS
    archived: Archived = Archived.EXCLUDE
    wanted: Filter = EVERYTHING
    after: ListPlace | str | InvalidCursor | None = None
    limit: int = 20
    of_user: str | None = None


def list_conversations(
    table: Table, *, caller: Caller, request: ListRequest
) -> PageOf[ConversationDetails, ListPlace]:
    """Return a page of the conversations in the trees of which the caller is a member.

    A caller who bypasses membership gets the trees of `of_user`, or all trees.
    Raises InvalidCursorError if `after` is invalid or names a conversation that the caller may not
    see.
    """
    assert caller.bypasses_membership or request.of_user is None, "another's trees"
    after = cursors.valid(request.after)
    if isinstance(after, str):
        after = _place_of(table, caller, request.mode, after)
    page: list[tuple[ListPlace, ConversationDetails]] = []
    page_bytes = looked = conversations = 0
    seen: list[TreeRow] = []
    rows = _wanted(_rows(table, caller, request, after), request, seen)

    def next_rows() -> list[TreeRow]:
        """Return the rows of the next trees to read; none if the page is full.

        Without a filter they are as many as the page has room for, and as many more as were read
        in vain so far. The level in a row counts only for the first trees: rows are read ahead, so
        later ones may be older than a change of the membership.
        """
        at_once = TREES_AT_ONCE
        if request.wanted.is_open:
            room, in_vain = request.limit - len(page), max(looked - len(page), 0)
            at_once = min(at_once, room + in_vain if room else 0)
        some = islice(rows, min(at_once, TREES_MAX - looked))
        return [row._replace(level=None) for row in some] if looked else list(some)

    while some := next_rows():
        trees = _open_trees(table, caller, request, some)
        for tree, listing in _listings(table, caller, trees, request, after):
            for place, shown in listing.listed:
                size = shown.escaped_bytes
                if len(page) == request.limit or (page and page_bytes + size > PAGE_BYTES_MAX):
                    return _page(page, page[-1][0])
                page.append((place, shown))
                page_bytes += size
            if listing.stopped is not None:
                return _page(page, listing.stopped)
            conversations += listing.looked
            if conversations >= CONVERSATIONS_MAX:
                return _page(page, ListPlace(tree.place))
        looked += len(some)
        if looked >= TREES_MAX:
            return _page(page, ListPlace(some[-1].place))
    is_full = len(page) == request.limit
    goes_on = (is_full and next(rows, None) is not None) or len(seen) == ROWS_MAX
    return _page(page, (page[-1][0] if is_full else ListPlace(seen[-1].place)) if goes_on else None)


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
        before = after.conversation if after is not None and after.tree == tree.place else None
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


def _place_of(table: Table, caller: Caller, mode: Mode, conversation_id: str) -> ListPlace:
    """Return the place of a conversation that the caller sees."""
    loaded = look_up(table, conversation_id, caller=caller).loaded
    if loaded is None or loaded.level is None:
        raise InvalidCursorError
    tree = ListKey(loaded.group.created_at, loaded.group.group_id)
    # A root is the last conversation of its tree.
    if mode is not Mode.ALL or conversation_id == tree.conversation_id:
        return ListPlace(tree)
    return ListPlace(tree, ListKey(loaded.conversation.created_at, conversation_id))


def _page(
    page: list[tuple[ListPlace, ConversationDetails]], resume: ListPlace | None
) -> PageOf[ConversationDetails, ListPlace]:
    return PageOf([shown for _, shown in page], resume)


def _rows(table: Table, caller: Caller, request: ListRequest, after: ListPlace | None) -> Iterator[TreeRow]:
    """Yield the rows of the trees to read, newest first."""
    before = after.tree if after is not None and after.conversation is None else None
    through = after.tree if after is not None and after.conversation is not None else None
    if caller.bypasses_membership and request.of_user is None:
        return tree_rows.of_all(table, before=before, through=through, page=TREES_AT_ONCE)
    kinds = [is_child for is_child in tree_rows.BOTH_KINDS if request.ancestry.includes(is_child)]
    user_id = request.of_user or caller.user_id
    page = request.limit + 1 if request.wanted.is_open else ROWS_AT_ONCE
    rows = tree_rows.of_user(table, user_id, before=before, through=through, page=page, kinds=kinds)
    # Whether that user has archived a tree is nothing to an auditor.
    return (TreeRow(row.place) for row in rows) if caller.bypasses_membership else rows


def _wanted(rows: Iterator[TreeRow], request: ListRequest, seen: list[TreeRow]) -> Iterator[TreeRow]:
    """Yield those of the first ROWS_MAX rows whose trees the list shows if they are live.

    seen: gets every row that was looked at.
    """
    for row in islice(rows, ROWS_MAX):
        seen.append(row)
        if request.archived.includes(row.is_archived):
            yield row


def _open_trees(
    table: Table, caller: Caller, request: ListRequest, rows: Sequence[TreeRow]
) -> list[ListedTree]:
    """Return the trees that are live, belong in the list and are the user's, with their roots."""
    wanted = [key for row in rows for key in keys_of_root(row.place.conversation_id)]
    if not caller.bypasses_membership:
        untold = [row.place.conversation_id for row in rows if row.level is None]
        wanted += [keys.member(tree, caller.user_id) for tree in untold]
    found = table.get(wanted)
    return [
        ListedTree(row, group, level, found)
        for row, group, level in _levels(table, caller, rows, found)
        if group.is_live and request.ancestry.includes(group.is_child)
    ]


def _levels(
    table: Table, caller: Caller, rows: Sequence[TreeRow], found: Found
) -> Iterator[tuple[TreeRow, Group, AccessLevel]]:
    """Yield the rows whose trees were found, with the caller's level in each.

    found: GROUP of each, and MEM of each whose row tells no level. A row that was read just before
    a transfer may name another owner than GROUP. Of such trees GROUP and MEM are read together.
    """

    def group_of(row: TreeRow) -> Group | None:
        return found.group(row.place.conversation_id)

    def is_doubted(row: TreeRow, group: Group) -> bool:
        is_owner = group.owner == caller.user_id
        return row.level is not None and (row.level is AccessLevel.OWNER) != is_owner

    doubted: set[TreeRow] = set()
    if not caller.bypasses_membership:
        doubted = {row for row in rows if (group := group_of(row)) and is_doubted(row, group)}
        trees = [row.place.conversation_id for row in doubted]
        groups, members = map(keys.group, trees), (keys.member(tree, caller.user_id) for tree in trees)
        found |= table.get([*groups, *members])
    for row in rows:
        group = group_of(row)
        read = row.level is None or row in doubted or caller.bypasses_membership
        level = level_of(found, row.place.conversation_id, caller) if read else row.level
        if group is not None and level is not None:
            yield row, group, level

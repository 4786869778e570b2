"""List a user's conversations, tree by tree, the newest root first.

A user's USER_TREE items name the trees. The list reads each tree itself, so it shows nothing for an
item that is out of date.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice

from forklore.domain import keys
from forklore.domain.access import AccessLevel
from forklore.domain.keys import ListKey
from forklore.domain.model import Caller, Head
from forklore.domain.paging import PAGE_BYTES_MAX
from forklore.domain.tree import Group
from forklore.errors import InvalidCursorError
from forklore.storage.found import Found
from forklore.storage.table import Table
from forklore.usecases import cursors
from forklore.usecases.cursors import InvalidCursor
from forklore.usecases.loading import ConversationDetails, keys_of_root, level_of, look_up

TREES_AT_ONCE = 25
"""Trees read in one request. Each takes four items."""
TREES_MAX = 250
"""The most trees read for one page. At this bound the page is short and has a cursor."""
ROWS_AT_ONCE = 4 * TREES_AT_ONCE
"""Rows of a user's list read in one request."""

NEWEST_FORKS = 25
"""How many forks of a tree Mode.LATEST_FORK compares, beside the root: those created last.

Other users may add many forks to a tree, so the number that a list reads is bounded.
"""
FORKS_AT_ONCE = 50
"""Conversations of one tree read in one request with a query. Each takes up to two items."""
FORKS_MAX = 500
"""A page ends when it has read so many conversations. It is then short and has a cursor."""


class Mode(StrEnum):
    """Which conversations of a tree are listed."""

    LATEST_FORK = "latest-fork"
    ROOTS = "roots"
    ALL = "all"


class Ancestry(StrEnum):
    """Which trees are listed: those that no conversation started, those that one did, or both."""

    ROOTS = "roots"
    CHILDREN = "children"
    ALL = "all"

    def includes(self, is_child: bool) -> bool:
        return self is Ancestry.ALL or (self is Ancestry.CHILDREN) == is_child


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the list: a tree, and with Mode.ALL a conversation in it.

    conversation: None for the place after the whole tree.
    """

    tree: ListKey
    conversation: ListKey | None = None


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What to list.

    query: a part of the title; upper and lower case are equal.
    after: the `resume` of the page before, or the id of a conversation of the list.
    of_user: for a caller who bypasses membership, the user whose trees are listed. None: all trees.
    """

    mode: Mode = Mode.LATEST_FORK
    ancestry: Ancestry = Ancestry.ROOTS
    query: str | None = None
    after: Place | str | InvalidCursor | None = None
    limit: int = 20
    of_user: str | None = None


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Conversations in the list's order. resume: the place to continue after. None: at the end."""

    conversations: list[ConversationDetails]
    resume: Place | None


@dataclass(frozen=True, slots=True)
class _Tree:
    """A live tree that the caller may see. place: its place in the list."""

    place: ListKey
    group: Group
    level: AccessLevel
    found: Found


def list_conversations(table: Table, *, caller: Caller, request: ListRequest) -> ConversationPage:
    """Return a page of the conversations in the trees of which the caller is a member.

    A caller who bypasses membership gets the trees of `of_user`, or all trees.
    Raises InvalidCursorError if `after` is invalid or names a conversation that the caller may not
    see.
    """
    assert caller.bypasses_membership or request.of_user is None, "another's trees"
    after = cursors.valid(request.after)
    if isinstance(after, str):
        after = _place_of(table, caller, request.mode, after)
    page: list[tuple[Place, ConversationDetails]] = []
    page_bytes = looked = forks = 0
    rows = _rows(table, caller, request, after)
    at_once = TREES_AT_ONCE if request.query else min(TREES_AT_ONCE, request.limit + 1)
    while places := list(islice(rows, min(at_once, TREES_MAX - looked))):
        trees = _open_trees(table, caller, request, places)
        for tree, tree_page in _pages_of(table, trees, request, after):
            for place, shown in tree_page.listed:
                size = shown.escaped_bytes
                if len(page) == request.limit or (page and page_bytes + size > PAGE_BYTES_MAX):
                    return _page(page, page[-1][0])
                page.append((place, shown))
                page_bytes += size
            if tree_page.stopped is not None:
                return _page(page, tree_page.stopped)
            forks += tree_page.looked
            if forks >= FORKS_MAX:
                return _page(page, Place(tree.place))
        looked += len(places)
        if looked >= TREES_MAX:
            return _page(page, Place(places[-1]))
    return _page(page, None)


def _pages_of(
    table: Table, trees: Sequence[_Tree], request: ListRequest, after: Place | None
) -> Iterator[tuple[_Tree, "_TreeListing"]]:
    """Yield each tree with its listing. About as many trees as a page needs are read at once."""
    room = request.limit if request.mode is Mode.ALL and request.query is None else FORKS_MAX
    left = list(trees)
    while left:
        some: list[_Tree] = []
        cost = 0
        while left and cost <= room:
            some.append(left.pop(0))
            cost += _looked_at(some[-1], request)
        yield from zip(
            some, table.side_by_side(lambda tree: _listed(table, tree, request, after), some), strict=True
        )


def _place_of(table: Table, caller: Caller, mode: Mode, conversation_id: str) -> Place:
    """Return the place of a conversation that the caller sees. Raises InvalidCursorError."""
    loaded = look_up(table, conversation_id, caller=caller).loaded
    if loaded is None or loaded.level is None:
        raise InvalidCursorError
    tree = ListKey(loaded.group.created_at, loaded.group.group_id)
    # A root is the last conversation of its tree.
    if mode is not Mode.ALL or conversation_id == tree.conversation_id:
        return Place(tree)
    return Place(tree, ListKey(loaded.conversation.created_at, conversation_id))


def _looked_at(tree: _Tree, request: ListRequest) -> int:
    """Return about how many conversations of the tree the list reads."""
    forks = tree.group.conversations - 1
    most = {Mode.ROOTS: 0, Mode.LATEST_FORK: NEWEST_FORKS, Mode.ALL: forks}[request.mode]
    return 1 + min(forks, most)


def _page(page: list[tuple[Place, ConversationDetails]], resume: Place | None) -> ConversationPage:
    return ConversationPage([shown for _, shown in page], resume)


def _matches(shown: ConversationDetails, query: str | None) -> bool:
    return query is None or _has(query, shown.conversation.title)


def _has(query: str, title: str | None) -> bool:
    return query.casefold() in (title or "").casefold()


def _rows(table: Table, caller: Caller, request: ListRequest, after: Place | None) -> Iterator[ListKey]:
    """Yield the places of the trees to read, newest first."""
    before = after.tree if after is not None and after.conversation is None else None
    through = after.tree if after is not None and after.conversation is not None else None
    if caller.bypasses_membership and request.of_user is None:
        every = keys.all_trees_ranges(before=before, through=through)
        return table.newest_trees(every, page=TREES_AT_ONCE)
    user_id = request.of_user or caller.user_id
    kinds = [
        table.read.user_trees(user_id, is_child=is_child, before=before, through=through, page=ROWS_AT_ONCE)
        for is_child in (False, True)
        if request.ancestry.includes(is_child)
    ]
    firsts = table.side_by_side(lambda rows: list(islice(rows, 1)), kinds)
    whole = [chain(first, rows) for first, rows in zip(list(firsts), kinds, strict=True)]
    return heapq.merge(*whole, reverse=True)


def _open_trees(table: Table, caller: Caller, request: ListRequest, places: list[ListKey]) -> list[_Tree]:
    """Return the trees that are live, belong in the list and are the user's, with their roots."""
    user = caller if request.of_user is None else replace(caller, user_id=request.of_user)
    found = table.get(key for place in places for key in keys_of_root(place.conversation_id, user))
    trees = []
    for place in places:
        group_id = place.conversation_id
        group, level = found.group(group_id), level_of(found, group_id, user)
        is_theirs = request.of_user is None or found.member(group_id, user.user_id) is not None
        if group is None or level is None or not is_theirs:
            continue
        if group.is_live and request.ancestry.includes(group.is_child):
            trees.append(_Tree(place, group, level, found))
    return trees


@dataclass(frozen=True, slots=True)
class _TreeListing:
    """The listed conversations of one tree, in order, each with its place.

    listed: may be longer than a page. looked: how many conversations were read.
    stopped: the place to continue after, if the tree was not read to its end.
    """

    listed: list[tuple[Place, ConversationDetails]]
    looked: int = 1
    stopped: Place | None = None


def _listed(table: Table, tree: _Tree, request: ListRequest, after: Place | None) -> _TreeListing:
    if tree.group.conversations == 1 or request.mode is Mode.ROOTS:
        return _TreeListing(_if_it_matches(tree, _details(tree.found, tree, tree.group.group_id), request))
    if request.mode is Mode.ALL:
        return _all_of(table, tree, request, after)
    return _latest_of(table, tree, request)


def _if_it_matches(
    tree: _Tree, shown: ConversationDetails | None, request: ListRequest
) -> list[tuple[Place, ConversationDetails]]:
    is_listed = shown is not None and _matches(shown, request.query)
    return [(Place(tree.place), shown)] if shown is not None and is_listed else []


def _latest_of(table: Table, tree: _Tree, request: ListRequest) -> _TreeListing:
    """Return the conversation with the newest `updatedAt`, if it matches."""
    group_id = tree.group.group_id
    heads = _heads_to_choose_from(table, tree)
    if not heads:
        return _TreeListing([])
    winner = max(heads, key=lambda conversation_id: (heads[conversation_id].updated_at, conversation_id))
    found = table.get([keys.conversation(group_id, winner)])
    conversation = found.conversation(group_id, winner)
    if conversation is None:
        return _TreeListing([], looked=len(heads))
    shown = ConversationDetails(conversation, heads[winner], tree.level, tree.group.owner)
    return _TreeListing(_if_it_matches(tree, shown, request), looked=len(heads))


def _heads_to_choose_from(table: Table, tree: _Tree) -> dict[str, Head]:
    """Return the tree's HEADs by conversation. If there are many forks: the newest and the root."""
    group_id = tree.group.group_id
    if tree.group.conversations <= NEWEST_FORKS + 1:
        return dict(table.read.heads(group_id))
    newest = table.read.conversations(group_id, newest_first=True, limit=NEWEST_FORKS)
    forks = [place.conversation_id for place in newest]
    found = table.get(keys.head(group_id, fork_id) for fork_id in forks) | tree.found
    heads = ((one, found.head(group_id, one)) for one in [*forks, group_id])
    return {conversation_id: head for conversation_id, head in heads if head is not None}


def _all_of(table: Table, tree: _Tree, request: ListRequest, after: Place | None) -> _TreeListing:
    """Return the tree's conversations that match, newest first, after the place `after`."""
    group_id = tree.group.group_id
    before = after.conversation if after is not None and after.tree == tree.place else None
    at_once = request.limit + 1 if request.query is None else FORKS_AT_ONCE
    rows = table.read.conversations(group_id, before=before, newest_first=True, page=at_once)
    listed: list[tuple[Place, ConversationDetails]] = []
    looked = 0
    while places := list(islice(rows, at_once)):
        found = _read(table, group_id, [place.conversation_id for place in places], request.query)
        for place in places:
            shown = _details(found, tree, place.conversation_id)
            if shown is not None and _matches(shown, request.query):
                listed.append((Place(tree.place, place), shown))
        looked += len(places)
        if len(listed) > request.limit:
            break
        if looked >= FORKS_MAX:
            return _TreeListing(listed, looked, Place(tree.place, places[-1]))
    return _TreeListing(listed, looked)


def _read(table: Table, group_id: str, conversation_ids: Sequence[str], query: str | None) -> Found:
    """Return the CONVs and HEADs. With a query: only the HEADs of titles that match."""
    conversations = [keys.conversation(group_id, one) for one in conversation_ids]
    if query is None:
        return table.get([*conversations, *(keys.head(group_id, one) for one in conversation_ids)])
    found = table.get(conversations)
    matching = []
    for one in conversation_ids:
        conversation = found.conversation(group_id, one)
        if conversation is not None and _has(query, conversation.title):
            matching.append(keys.head(group_id, one))
    return found | table.get(matching)


def _details(found: Found, tree: _Tree, conversation_id: str) -> ConversationDetails | None:
    group_id = tree.group.group_id
    conversation = found.conversation(group_id, conversation_id)
    head = found.head(group_id, conversation_id)
    if conversation is None or head is None:
        return None
    return ConversationDetails(conversation, head, tree.level, tree.group.owner)

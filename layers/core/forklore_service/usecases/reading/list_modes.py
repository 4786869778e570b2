"""Of each tree that a list comes to, the conversations that it shows.

A mode either shows one conversation of a tree or all of them. Whichever it shows, the tree was used
when any of its conversations was, so the HEADs of several are read. No mode reads more of a tree
than a bound, because other users may add many forks to it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.listing import Filter, ListPlace, Mode
from forklore_service.domain.tree import Group, TreeRow
from forklore_service.storage.found import Found
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.shared.loading import ConversationDetails

HEADS_MAX = 100
"""Of a tree of more conversations not all HEADs are read to find what was used or changed last.

One Query of so many takes about as many read units as a Batch of NEWEST.
"""
NEWEST = 25
"""Of such a tree the root, the current branch, and so many that were created last are compared.

Of a tree of at most so many conversations, CONVs may be read with the HEADs.
"""
SMALL_ITEMS = 4 * NEWEST
"""A tree is read whole with one Query if it has at most so many items in the range."""
SMALL_BYTES = 1024
"""A tree is not read whole for one conversation if its root shows more than so many bytes.

Its forks have the title, tags and metadata of the root, until they are changed.
"""
CONVERSATIONS_AT_ONCE = 50
"""Conversations of one tree read in one request with a filter. Each takes up to two items."""
CONVERSATIONS_MAX = 500
"""A page ends when it has read so many conversations. It is then short and has a cursor."""


class ListedTree(NamedTuple):
    """A live tree that the caller may see.

    row: of the tree in the list. found: the tree's root, if that is live. is_pinned: by the caller.
    """

    row: TreeRow
    group: Group
    level: AccessLevel
    found: Found
    is_pinned: bool = False

    @property
    def place(self) -> ListKey:
        return self.row.place

    def details(self, found: Found, conversation_id: str, *, now_s: int) -> ConversationDetails | None:
        """Return a conversation of the tree; None if it was not found whole, or torn."""
        conversation = found.conversation(self.group.group_id, conversation_id)
        head = found.head(self.group.group_id, conversation_id)
        if conversation is None or head is None or found.is_torn(self.group.group_id, conversation_id):
            return None
        shown = ConversationDetails.of(
            conversation, head, self.group, self.level, is_archived=self.row.is_archived, now_s=now_s
        )
        return shown._replace(branches=self.group.conversations, is_pinned=self.is_pinned)

    def last_used_at(self, found: Found) -> str:
        """Return when the tree was last used, by its HEADs that were found."""
        heads = found.heads(self.group.group_id).values() if self.group.conversations > 1 else ()
        return max([self.group.last_used_at(heads), *self.row.moves[-1:]])


def _settled(table: Table, tree: ListedTree, found: Found) -> ListedTree:
    """Return the tree, with GROUP read again if that may lack a promotion that a HEAD tells of."""
    if not found.may_be_ahead_of(tree.group):
        return tree
    now = table.get([keys.group(tree.group.group_id)]).group(tree.group.group_id)
    return tree if now is None else tree._replace(group=now)


def looked_at(group: Group, mode: Mode) -> int:
    """Return about how many conversations of a tree the mode reads."""
    return group.conversations if mode is Mode.ALL else min(group.conversations, HEADS_MAX)


# One conversation of each tree


class _Choice(NamedTuple):
    """The conversation that stands for a tree. found: what of the tree was read to choose it."""

    tree: ListedTree
    conversation_id: str
    found: Found

    @property
    def missing(self) -> list[Key]:
        """Return the keys that must still be read to show the conversation."""
        group_id, chosen = self.tree.group.group_id, self.conversation_id
        needed = [keys.conversation(group_id, chosen), keys.head(group_id, chosen)]
        return [key for key in needed if key not in self.found]

    def details(self, table: Table, found: Found) -> ConversationDetails | None:
        whole = self.found | found
        tree = _settled(table, self.tree, whole)
        shown = tree.details(whole, self.conversation_id, now_s=table.now_s())
        return shown and shown._replace(tree_used_at=tree.last_used_at(whole))


def one_of_each(
    table: Table,
    trees: Sequence[ListedTree],
    mode: Mode,
    *,
    read_again: Callable[[list[TreeRow]], list[ListedTree]],
) -> list[ConversationDetails | None]:
    """Return for each tree the conversation that the mode chooses. None: the tree is gone.

    A conversation may be removed after it was chosen and before it is read. Then its tree is read
    again. read_again: returns those of the trees of these rows that are still to be listed.
    """
    shown: dict[ListKey, ConversationDetails | None] = {tree.place: None for tree in trees}
    left = list(trees)
    for attempt in range(LOOKS_MAX):
        if attempt:
            table.pause(attempt)
            left = read_again([tree.row for tree in left])
        choices = list(table.side_by_side(lambda tree: _choose(table, tree, mode), left))
        found = table.get(key for choice in choices for key in choice.missing)
        shown |= {choice.tree.place: choice.details(table, found) for choice in choices}
        left = [tree for tree in left if shown[tree.place] is None]
        if not left:
            break
    return list(shown.values())


def _choose(table: Table, tree: ListedTree, mode: Mode) -> _Choice:
    group_id, current = tree.group.group_id, tree.group.current
    found = heads_to_compare(table, tree)
    if mode is Mode.CURRENT:
        return _Choice(tree, current, found)
    if mode is Mode.LATEST_FORK and tree.group.conversations > 1:
        return _Choice(tree, _latest(found, tree.group), found)
    shown = group_id if keys.head(group_id, group_id) in tree.found else current
    return _Choice(tree, shown, found)


def _latest(found: Found, group: Group) -> str:
    """Return the conversation with the newest `updatedAt` among those that are compared."""
    heads = found.heads(group.group_id)
    return max(heads, key=lambda one: (heads[one].updated_at, one), default=group.current)


def heads_to_compare(table: Table, tree: ListedTree) -> Found:
    """Return what was found with the HEADs that are compared, and each CONV of a small tree."""
    group_id = tree.group.group_id
    if tree.group.conversations == 1:
        return tree.found
    if tree.group.conversations <= HEADS_MAX:
        root = tree.details(tree.found, group_id, now_s=table.now_s())
        is_small = tree.group.conversations <= NEWEST and root and root.escaped_bytes <= SMALL_BYTES
        whole = table.read.small_tree(group_id, limit=SMALL_ITEMS) if is_small else None
        return whole or tree.found | table.read.heads(group_id)
    newest = table.read.conversations(group_id, newest_first=True, limit=NEWEST)
    compared = {*(place.conversation_id for place in newest), tree.group.current, group_id}
    wanted = (keys.head(group_id, one) for one in compared)
    return tree.found | table.get(key for key in wanted if key not in tree.found)


# All conversations of a tree


class Listing(NamedTuple):
    """The listed conversations of one tree, in order, each with its place.

    listed: may be longer than a page. looked: how many conversations were read.
    stopped: the place to continue after, if the tree was not read to its end.
    """

    listed: list[tuple[ListPlace, ConversationDetails]]
    looked: int
    stopped: ListPlace | None = None


def all_of(table: Table, tree: ListedTree, *, wanted: Filter, before: ListKey | None, limit: int) -> Listing:
    """Return the tree's conversations that pass the filter, newest first.

    before: only those before this place of the tree. limit: how many the page has room for.
    """
    has_root = (
        tree.group.conversations == 1 and keys.head(tree.group.group_id, tree.group.group_id) in tree.found
    )
    whole = tree.found if has_root else small_tree(table, tree.group)
    if whole is not None:
        places = [place for place in whole.places(tree.group.group_id) if before is None or place < before]
        return Listing(list(_passing(table, tree, whole, places, wanted)), len(places))
    at_once = limit + 1 if wanted.is_open else CONVERSATIONS_AT_ONCE
    group_id = tree.group.group_id
    rows = table.read.conversations(group_id, before=before, newest_first=True, page=at_once)
    listed: list[tuple[ListPlace, ConversationDetails]] = []
    looked = 0
    while places := list(islice(rows, at_once)):
        found = _read(table, tree, [place.conversation_id for place in places], wanted)
        listed += _passing(table, tree, found, places, wanted)
        looked += len(places)
        if len(listed) > limit:
            break
        if looked >= CONVERSATIONS_MAX:
            return Listing(listed, looked, ListPlace(tree.place, places[-1]))
    return Listing(listed, looked)


def small_tree(table: Table, tree: Group) -> Found | None:
    """Return every CONV and HEAD of a small tree. None: the tree is not small."""
    is_small = tree.conversations <= NEWEST
    whole = table.read.small_tree(tree.group_id, limit=SMALL_ITEMS) if is_small else None
    return table.untorn(whole) if whole else None


def _passing(
    table: Table, tree: ListedTree, found: Found, places: Iterable[ListKey], wanted: Filter
) -> Iterator[tuple[ListPlace, ConversationDetails]]:
    """Yield the conversations in these places that were found whole and pass the filter."""
    tree = _settled(table, tree, found)
    for place in places:
        shown = tree.details(found, place.conversation_id, now_s=table.now_s())
        if shown is not None and wanted.passes(shown.conversation):
            yield ListPlace(tree.place, place), shown


def _read(table: Table, tree: ListedTree, conversation_ids: Sequence[str], wanted: Filter) -> Found:
    """Return the CONVs and HEADs. With a filter: only the HEADs of those that pass it.

    The root's may be in `tree.found`, and then are not read again.
    """
    group_id, found = tree.group.group_id, tree.found

    def more(wanted_keys: Iterable[Key]) -> Found:
        return table.untorn(found | table.get(key for key in wanted_keys if key not in found))

    conversations = [keys.conversation(group_id, one) for one in conversation_ids]
    if wanted.is_open:
        return more([*conversations, *(keys.head(group_id, one) for one in conversation_ids)])
    found = more(conversations)
    passing = []
    for one in conversation_ids:
        conversation = found.conversation(group_id, one)
        if conversation is not None and wanted.passes(conversation):
            passing.append(keys.head(group_id, one))
    return more(passing)

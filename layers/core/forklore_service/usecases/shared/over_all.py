"""The entries of all of a user's trees that are nearest to a question, by the index of vectors.

Each shelf is searched once. A search shows at most TOP vectors: what comes after its last one, its
horizon, it has not seen. As long as too few of the entries above all horizons may be read, the
search with the highest horizon is split: that of a shelf into those of trees, that of a tree into
those of conversations; and of a conversation all vectors are read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ids, keys, vectors
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.meaning import Nearness
from forklore_service.domain.vectors import DECIMALS, Near
from forklore_service.storage import schema
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.shared import tree_rows
from forklore_service.usecases.shared.vectors import SPARE_SECONDS, embed, is_placed, shelved
from forklore_service.usecases.shared.visibility import Showing

TOP = 100
"""DynamoDB's own limit of what a search shows."""
SEARCHES_MAX = 64
"""So many searches a request makes before it is content with what it has."""
ALONE_MAX = 4
"""Of a shelf on which so few of the user's trees lie, these trees are searched."""
TREES_MAX = 400
"""In so many of the user's trees, those that were used last, entries without vectors are looked
for."""
ROWS_AT_ONCE = 1_000
READ_MAX = 5_000
"""Of a conversation so many vectors are read."""


class Placed(NamedTuple):
    """An entry in a tree, and how near it is."""

    tree: ListKey
    near: Near


class AllNear(NamedTuple):
    """Entries that a user may read, the nearest first.

    is_complete: no other entry is as near as the last of them, or if they are fewer than were
    wanted, there is no other one. Otherwise some entries were out of reach.
    """

    hits: list[Placed]
    is_complete: bool


class _Search(NamedTuple):
    """A part of the index, and how near its last vector is that was seen; None: it was the last."""

    wanted: dict[str, str]
    horizon: float | None


def nearest_of_user(
    table: Table,
    nearness: Nearness,
    user_id: str,
    packed: bytes,
    *,
    before: EntryId,
    further: Near | None,
    count: int,
) -> AllNear:
    """Return at least `count` entries of a user's trees that are near to a question, and further
    than `further` is, if there are so many.

    packed: the vector of the question. before: the entries come before this position. Entries that
    have no vector yet get one first, in TREES_MAX trees at most. Raises UnavailableError if the
    model does not answer.
    """
    of_user = tree_rows.of_user(table, user_id, before=None, through=None, page=ROWS_AT_ONCE)
    rows = list(islice(of_user, ROWS_AT_ONCE))
    trees = [row.group_id for row in sorted(rows, key=lambda row: row.used, reverse=True)]
    on_none = set(trees) - _shelves(table, trees).keys() if table.embedded_elsewhere else None
    lacking = trees if on_none is None else [tree for tree in trees if tree in on_none]
    all_embedded, live = _embed_all(table, nearness, lacking)
    looking = _Looking(table, nearness, user_id, vectors.indexed(packed), trees, readable={**live})
    looking.begin()
    while True:
        hits = looking.hits(before, further)
        horizon = looking.horizon
        if horizon is None:
            return AllNear(hits, all_embedded and looking.is_whole)
        above = [one for one in hits if one.near[0] > horizon]
        if len(above) >= count:
            return AllNear(above, all_embedded and looking.is_whole)
        if looking.searches >= SEARCHES_MAX or not table.has_time(SPARE_SECONDS):
            return AllNear(hits, False)
        looking.split()


@dataclass(slots=True)
class _Looking:
    """A search under way. asked: the question. trees: the user's, the one used last first.

    parts: what was searched, and is not split. near: how near each entry is that was found.
    readable: trees, also of these entries: their places if the user may read them, else None.
    searches: how many were made. is_whole: whether no part had to be left out.
    """

    table: Table
    nearness: Nearness
    user_id: str
    asked: list[int]
    trees: Sequence[str]
    parts: list[_Search] = field(default_factory=list)
    near: dict[tuple[str, EntryId], float] = field(default_factory=dict)
    readable: dict[str, ListKey | None] = field(default_factory=dict)
    searches: int = 0
    is_whole: bool = True

    @property
    def horizon(self) -> float | None:
        """How near an entry must be, at the least, so that no part can hide a nearer one."""
        return max((part.horizon for part in self.parts if part.horizon is not None), default=None)

    def begin(self) -> None:
        """Search each shelf on which a tree of the user lies; their own as a whole."""
        own = self.table.get([keys.shelf(self.user_id)]).shelf(self.user_id)
        shelves: dict[str, list[str]] = {}
        for tree, shelf in _shelves(self.table, self.trees).items():
            shelves.setdefault(shelf, []).append(tree)
        wanted = []
        for shelf, trees in shelves.items():
            if shelf == own or len(trees) > ALONE_MAX:
                wanted.append({schema.SHELF: shelf})
            else:
                wanted += [{schema.SHELF: shelf, schema.VECTOR_TREE: tree} for tree in trees]
        self._search(wanted)

    def split(self) -> None:
        """Search the parts of the part with the highest horizon alone."""
        part = max(self.parts, key=lambda one: -2.0 if one.horizon is None else one.horizon)
        self.parts.remove(part)
        if schema.VECTOR_CONVERSATION in part.wanted:
            self._read(part.wanted[schema.VECTOR_TREE], part.wanted[schema.VECTOR_CONVERSATION])
        elif schema.VECTOR_TREE in part.wanted:
            tree = part.wanted[schema.VECTOR_TREE]
            conversations = [one for one, _ in self.table.read.last_entries(tree)]
            conversations += self.table.read.remnant_ids(tree)
            self._search([{**part.wanted, schema.VECTOR_CONVERSATION: one} for one in conversations])
        else:
            on_it = _shelves(self.table, self.trees)
            trees = [tree for tree in self.trees if on_it.get(tree) == part.wanted[schema.SHELF]]
            self._search([{**part.wanted, schema.VECTOR_TREE: tree} for tree in trees])

    def hits(self, before: EntryId, further: Near | None) -> list[Placed]:
        """Return the entries found that the user may read now, the nearest first."""
        self._check(tree for tree, _ in self.near)
        found = [
            Placed(place, (near, entry_id))
            for (tree, entry_id), near in self.near.items()
            if entry_id < before and (further is None or (near, entry_id) < further)
            if (place := self.readable[tree]) is not None
        ]
        return sorted(found, key=lambda one: one.near, reverse=True)

    def _check(self, trees: Iterable[str]) -> None:
        """Learn which of these trees the user may read."""
        new = [tree for tree in dict.fromkeys(trees) if tree not in self.readable]
        found = self.table.get(
            key for tree in new for key in (keys.group(tree), keys.member(tree, self.user_id))
        )
        for tree in new:
            group = found.group(tree)
            may_read = group is not None and group.is_live and found.member(tree, self.user_id) is not None
            self.readable[tree] = ListKey(group.created_at, tree) if group is not None and may_read else None

    def _search(self, wanted: Sequence[dict[str, str]]) -> None:
        some = wanted[: max(1, SEARCHES_MAX - self.searches)]
        self.is_whole &= len(some) == len(wanted)
        self.searches += len(some)
        model = self.nearness.model
        for part, found in zip(
            some,
            self.table.side_by_side(
                lambda one: self.table.nearest_vectors(self.asked, TOP, {**one, schema.VECTOR_MODEL: model}),
                some,
            ),
            strict=True,
        ):
            for tree, entry_id, near in found:
                self._add(tree, entry_id, near)
            last = round(found[-1].near, DECIMALS) if len(found) == TOP else None
            self.parts.append(_Search(part, last))

    def _read(self, tree: str, conversation_id: str) -> None:
        """Read all vectors of a conversation's own entries, and compare them as the index does."""
        self.searches += 1
        stored = self.table.read.vectors(tree, conversation_id, first=FIRST, last=LAST)
        some = list(islice(stored, READ_MAX + 1))
        self.is_whole &= len(some) <= READ_MAX
        for one in some:
            if one.model == self.nearness.model and one.shelf is not None:
                self._add(tree, one.entry_id, vectors.cosine(self.asked, vectors.indexed(one.packed)))

    def _add(self, tree: str, entry_id: EntryId, near: float) -> None:
        rounded = round(near, DECIMALS)
        self.near[tree, entry_id] = max(rounded, self.near.get((tree, entry_id), -2.0))


def _shelves(table: Table, trees: Sequence[str]) -> dict[str, str]:
    """Return the shelf of each tree that is on one. It never changes."""
    known = table.vectors.shelves
    unknown = [tree for tree in trees if tree not in known]
    found = table.get(map(keys.group, unknown))
    for tree in unknown:
        group = found.group(tree)
        if group is not None and group.shelf is not None:
            known[tree] = group.shelf
    return {tree: known[tree] for tree in trees if tree in known}


# Entries without vectors


def _embed_all(table: Table, nearness: Nearness, trees: Sequence[str]) -> tuple[bool, dict[str, ListKey]]:
    """Put the vectors that entries of some trees lack.

    Return whether none lacks any now, and the places of those trees that are live.
    """
    some = trees[:TREES_MAX]
    found = table.get(key for tree in some for key in (keys.group(tree), keys.head(tree, tree)))
    groups = {tree: group for tree in some if (group := found.group(tree)) is not None and group.is_live}
    live = {tree: ListKey(group.created_at, tree) for tree, group in groups.items()}
    ends = {tree: [(tree, head.last)] for tree in groups if (head := found.head(tree, tree)) is not None}
    forked = [tree for tree, group in groups.items() if group.conversations > 1 or tree not in ends]
    of_forked = table.side_by_side(lambda tree: list(table.read.last_entries(tree)), forked)
    ends |= zip(forked, of_forked, strict=True)
    is_whole = len(some) == len(trees)
    for tree in groups:
        if all(_end(table, nearness, tree, one) >= end for one, end in ends[tree]):
            continue
        if not table.has_time(SPARE_SECONDS):
            return False, live
        is_whole &= any(embed_tree(table, nearness, tree, ends[tree], look) for look in range(LOOKS_MAX))
    return is_whole, live


def embed_tree(
    table: Table, nearness: Nearness, group_id: str, ends: Sequence[tuple[str, EntryId]], look: int
) -> bool:
    """Put the vectors that a tree's entries lack. ends: the last entry of each conversation.

    Of removed branches only what a live one shows gets vectors: no worker takes that away before
    the tree's version moves. Return whether that was done. Then the ends are noted, all together:
    of a branch that is removed before that, what others show still gets its vectors. look: how
    often it was tried.
    """
    table.pause(look)
    tree = table.get([keys.group(group_id)]).group(group_id)
    if tree is None or not tree.is_live:
        return True
    upto = shown_ends(table, group_id, ends)
    for conversation_id, end in upto.items():
        begun = _end(table, nearness, group_id, conversation_id)
        if begun == FIRST:
            begun = _embedded_to(table, nearness, group_id, conversation_id)
        if begun >= end:
            continue
        stored = {
            one.entry_id
            for one in table.read.vectors(group_id, conversation_id, first=begun, last=end)
            if one.model == nearness.model and is_placed(one)
        }
        wanted = table.read.history_ids(group_id, conversation_id, first=begun, last=end)
        lacking = [one for one in wanted if one not in stored]
        if lacking:
            on_shelf = shelved(table, tree)
            if on_shelf is None or embed(table, nearness, on_shelf, conversation_id, lacking) is None:
                return False
            tree = on_shelf
    for conversation_id, end in upto.items():
        table.vectors.ends[group_id, conversation_id, nearness.model] = end
    return True


def shown_ends(table: Table, group_id: str, ends: Iterable[tuple[str, EntryId]]) -> dict[str, EntryId]:
    """Return the last own entry of each conversation of a tree that anybody shows.

    ends: those of the live ones. Of a removed one it is the last that a live one shows.
    """
    showing = Showing(table, group_id)
    upto = dict(ends)
    for removed in table.read.remnant_ids(group_id):
        most = showing.most_of(removed)
        upto[removed] = ids.previous_id(most.stop) if most and most.stop > FIRST else FIRST
    return upto


def _embedded_to(table: Table, nearness: Nearness, group_id: str, conversation_id: str) -> EntryId:
    """Return the last entry of a conversation that has vectors, if those before it have them, too.

    Vectors are made, and made again by another model, from the first entry on. So if the first and
    the last ones are of this model, those between are, unless two changes of the model broke off.
    """
    last = FIRST
    for backward in (False, True):
        of = table.read.vectors(
            group_id, conversation_id, first=FIRST, last=LAST, newest_first=backward, limit=1
        )
        for one in of:
            if one.model != nearness.model or not is_placed(one):
                return FIRST
            last = one.entry_id
    return last


def _end(table: Table, nearness: Nearness, group_id: str, conversation_id: str) -> EntryId:
    """Return up to which entry a conversation is known to have its vectors."""
    return table.vectors.ends.get((group_id, conversation_id, nearness.model), FIRST)

"""The orders of a list of conversations: which rows a page reads, and where the next begins."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import NamedTuple

from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import BOTTOM, TOP, Archived, ListPlace, Walk
from forklore_service.domain.tree import TreeRow, used_until
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.cursors import PageOf
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.tree_rows import RowsByUse

ROWS_MAX = 1_000
"""The most rows looked at for one page, of which some may name no tree to list.

At this bound the page is short and has a cursor.
"""
COMPARED = 25
"""A page with room for fewer trees compares so many to find those that were used last."""
COMPARED_AT_TOP = 100
"""As COMPARED, of a page that begins at the top of the list."""
SHOWN_MAX = 100
"""A walk begins when it has shown more trees. Who uses more in a minute may miss one in it."""


class Listed(NamedTuple):
    """A conversation of a list, with its place."""

    place: ListPlace
    shown: ConversationDetails

    @property
    def group_id(self) -> str:
        return self.place.tree.conversation_id


Page = PageOf[ConversationDetails, ListPlace]


class ByCreation:
    """The newest tree first. seen: the rows that were looked at, in their order."""

    def __init__(self, rows: Iterable[TreeRow], archived: Archived) -> None:
        self.seen: list[TreeRow] = []
        self._rows = self._wanted(rows, archived)

    def _wanted(self, rows: Iterable[TreeRow], archived: Archived) -> Iterator[TreeRow]:
        """Yield those of the first ROWS_MAX rows whose trees the list shows if they are live."""
        for row in islice(rows, ROWS_MAX):
            self.seen.append(row)
            if archived.includes(row.is_archived):
                yield row

    def next_rows(self, count: int) -> list[TreeRow]:
        """Return the rows of the next trees to read."""
        return list(islice(self._rows, count))

    def is_earlier(self, listed: Listed) -> bool:  # noqa: ARG002
        """Tell whether the conversation comes before the place where the page begins."""
        return False

    def end(self, page: Sequence[Listed], *, is_full: bool) -> ListPlace | None:
        """Return where the next page begins, after all rows were taken that this one needs.

        is_full: whether the page has no room left. None: nothing is left.
        """
        goes_on = (is_full and next(self._rows, None) is not None) or len(self.seen) == ROWS_MAX
        if not goes_on:
            return None
        return page[-1].place if is_full else ListPlace(self.seen[-1].place)

    def page(self, found: Sequence[Listed], resume: ListPlace | None) -> Page:
        """Return the page. resume: where the next one begins; None: nothing is left."""
        return PageOf([one.shown for one in found], resume)


class ByUse(ByCreation):
    """The tree first that was used last.

    A row tells within ten minutes when its tree was used, the conversations tell when. So a page
    reads trees of ten more minutes, and leaves to the next page what was used before the rest.
    after: where the page begins. limit: how many conversations it may have. sorts: False: it has
    all conversations of each tree, and trees come in the order of their rows.
    """

    def __init__(
        self, table: Table, rows: RowsByUse, archived: Archived, *, after: ListPlace, limit: int, sorts: bool
    ) -> None:
        super().__init__(rows, archived)
        self._table, self._source, self._after = table, rows, after
        self._limit, self._sorts = limit, sorts
        self._walk = after.walk or Walk()
        self._shown = [*self._walk.shown]
        # What was shown counts, so that a cursor does not come to name ever more trees.
        self._compared = len(self._shown)
        self._rest_of = after.tree.conversation_id if after.conversation else None

    def _wanted(self, rows: Iterable[TreeRow], archived: Archived) -> Iterator[TreeRow]:
        wanted = super()._wanted(self._with_rest_first(iter(rows)), archived)
        return (row for row in wanted if row.group_id not in self._walk.shown)

    def _with_rest_first(self, rows: Iterator[TreeRow]) -> Iterator[TreeRow]:
        """Yield first the tree of which a page has shown a part, if the walk has not begun."""
        before = []
        if self._walk.began == TOP and self._rest_of is not None:
            for row in rows:
                if row.group_id == self._rest_of:
                    yield row
                    break
                before.append(row)
        yield from chain(before, rows)

    def next_rows(self, count: int) -> list[TreeRow]:
        some = super().next_rows(count)
        last = some[-1].place.created_at if some else ""
        self._compared += len(some)
        most = COMPARED_AT_TOP if self._walk.began == TOP else COMPARED
        for row in self._rows if some and self._sorts else ():
            if used_until(row.place.created_at) <= last or self._compared >= most:
                self._rows = chain([row], self._rows)
                break
            some.append(row)
            self._compared += 1
        return some

    def is_earlier(self, listed: Listed) -> bool:
        bound = self._after.used_before
        is_earlier = bound is not None and _used(listed) > bound
        if is_earlier:
            self._shown.append(listed.group_id)
        return is_earlier

    def page(self, found: Sequence[Listed], resume: ListPlace | None) -> Page:
        shown = self._first(found) if self._sorts else list(found)
        left = {one.group_id for one in found} - {one.group_id for one in shown}
        if left:
            above = [row.place for row in takewhile(lambda row: row.group_id not in left, self.seen)]
            resume = ListPlace(above[-1] if above else self._after.below)
        self._shown += [one.group_id for one in shown]
        return PageOf([one.shown for one in shown], resume and self._going_on(resume))

    def _going_on(self, place: ListPlace) -> ListPlace:
        """Return the place with the walk that goes on there.

        It begins when it is below the moment of its rows, or has shown too many trees above that.
        """
        if not self._sorts:
            at = place.tree.conversation_id
            self._shown += [*takewhile(lambda one: one != at, (row.group_id for row in self.seen)), at]
        since, shown = self._source.since, dict.fromkeys(self._shown)
        if place.conversation is not None:
            shown.pop(place.tree.conversation_id, None)
        is_above = place.tree > since and len(shown) <= SHOWN_MAX
        is_rest = self._rest_of == place.tree.conversation_id
        if self._walk.began == TOP and (is_above or is_rest):
            return place._replace(walk=Walk(TOP, tuple(shown)))
        if self._walk.began == TOP:
            # That of a row, so that the same list has the same cursor.
            since = max((row.place for row in self.seen if row.place <= since), default=since)
        began = max(place.tree, since)
        then = {row.group_id: row.place_when(began) for row in self.seen}
        below = [one for one in shown if (then.get(one, BOTTOM) or TOP) < place.tree]
        return place._replace(walk=Walk(began, tuple(below)))

    def _first(self, found: Sequence[Listed]) -> list[Listed]:
        """Return what was used last, as much as the page holds."""
        shown: list[Listed] = []
        page_bytes = 0
        for one in sorted(found, key=_used, reverse=True):
            page_bytes += one.shown.escaped_bytes
            if len(shown) == self._limit or (shown and page_bytes > PAGE_BYTES_MAX):
                break
            shown.append(one)
        return shown


def _used(listed: Listed) -> ListKey:
    """Return the place of what is shown of a tree, among what other trees show."""
    return used(listed.place.tree, listed.shown.last_used_at)


def used(place: ListKey, last_used_at: str) -> ListKey:
    """Return when a tree was used last, by its row and by a conversation that it shows.

    It is in the ten minutes of the row, so that a page need not look at other rows.
    """
    at = max(place.created_at, min(last_used_at, used_until(place.created_at)))
    return place._replace(created_at=at)

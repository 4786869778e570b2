"""Read a page of a view, round by round. domain.paging plans what to read."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple

from forklore_service.domain import ancestry, content, jsontext, keys, paging
from forklore_service.domain.ancestry import NOTHING_SHOWN, Segment, View
from forklore_service.domain.epochs import NO_EPOCH, Epoch
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import Channel, Entry, StoredEntry, Words
from forklore_service.domain.paging import Chain, RangeAnswer, RangeRead, Span, Window
from forklore_service.domain.tree import ClientContext
from forklore_service.errors import UnavailableError
from forklore_service.limits import PAGE_BYTES_MAX, PAGE_ENTRIES_MAX
from forklore_service.storage.table import BATCH_KEYS_MAX, Table
from forklore_service.usecases.shared.visibility import Reachable, Showing

READ_MAX = 10_000
"""Entries of the view read for one page. At the bound the page is short, and has a cursor."""
ROUND_MAX = 1_000
EPOCH_FIRST_PAGE = 50
TEXTS_LOOKED_AT = 100
CONTEXTS_AT_FIRST = 8
"""CTX items read in the first request, for a view of more conversations."""


class NotReadableYetError(UnavailableError):
    """An entry exists, but two reads have missed it."""


class Shown(NamedTuple):
    """Which entries of a view are shown. client_id: whose context; epoch None: every epoch."""

    channels: tuple[Channel, ...]
    client_id: str | None = None
    epoch: int | None = None
    any_client: bool = False

    def admits(self, entry: Entry) -> bool:
        if entry.channel is Channel.HISTORY:
            return Channel.HISTORY in self.channels
        return (
            Channel.CONTEXT in self.channels
            and (self.any_client or entry.client_id == self.client_id)
            and self.epoch in (None, entry.epoch)
        )


class Bound(NamedTuple):
    """How much fits into a page. counts: of an entry; `most` of each for all entries together."""

    counts: Callable[[StoredEntry], Sequence[int]]
    most: Sequence[int]


ENTRIES = Bound(lambda stored: (stored.escaped_bytes,), (PAGE_BYTES_MAX,))


class ViewPage(NamedTuple):
    """Entries in the order of reading. resume: the position to continue from; None at the end.

    is_cut: whether the page ends before an entry that exists but cannot be read yet. Then `resume`
    is None if nothing comes before that entry.
    """

    entries: list[StoredEntry]
    resume: EntryId | None
    is_cut: bool = False


def read_view(
    table: Table,
    group_id: str,
    view: View,
    *,
    show: Shown,
    limit: int,
    window: Window = Window(),  # noqa: B008 (a value)
    backward: bool = False,
    own_entries: int | None = None,
    is_alone: bool = False,
    last: Sequence[EntryId | None] = (),
    may_be_cut: bool = False,
    beside: Callable[[Sequence[RangeRead]], None] | None = None,
    bound: Bound = ENTRIES,
) -> ViewPage:
    """Return a page of what `view` shows in `window`, near end first.

    own_entries: how many entries of the channels in `show` the view's own conversation has, where
    known.
    is_alone: whether the tree has no other conversation.
    last: entries that the view shows for certain, such as its last ones.
    may_be_cut: whether the page may end before an entry that cannot be read yet. Raises
    NotReadableYetError otherwise.
    beside: is called with the reads of each round before they are sent. It can start other reads.
    """
    spans = paging.spans_of(view, window, backward=backward, own_entries=own_entries)
    read = _Reading(_within(view), show, limit, window, backward, last, bound, is_alone)
    [page] = _whole(table, group_id, [(read, spans)], may_be_cut, beside)
    return page


class SidePage(NamedTuple):
    """A page to read beside others. own_entries, last: as for `read_view`."""

    view: View
    window: Window
    own_entries: int | None
    last: Sequence[EntryId | None]


def read_side_by_side(
    table: Table, group_id: str, pages: Sequence[SidePage], *, show: Shown, limit: int
) -> list[ViewPage]:
    """Return several pages, oldest entry first, which are read in the same rounds.

    They share the bytes of one answer. Each may end before an entry that cannot be read yet.
    """
    bound = ENTRIES._replace(most=(PAGE_BYTES_MAX // len(pages),))
    readings = []
    for page in pages:
        spans = paging.spans_of(page.view, page.window, backward=False, own_entries=page.own_entries)
        readings.append(
            (_Reading(_within(page.view), show, limit, page.window, False, page.last, bound), spans)
        )
    return _whole(table, group_id, readings, may_be_cut=True)


def read_tree(
    table: Table,
    group_id: str,
    *,
    show: Shown,
    limit: int,
    window: Window,
    backward: bool,
    last: Sequence[EntryId | None] = (),
    may_be_cut: bool = False,
    bound: Bound = ENTRIES,
) -> ViewPage:
    """Return a page of all that live conversations of the tree show in `window`, near end first.

    last, may_be_cut: as for `read_view`.
    """
    if window.is_empty:
        return ViewPage([], None)
    spans = [Span(None, window)]
    reachable = Reachable(table, group_id)
    read = _Reading(reachable.shows, show, limit, window, backward, last, bound)
    [page] = _whole(table, group_id, [(read, spans)], may_be_cut)
    reachable.finish()
    return page


def _whole(
    table: Table,
    group_id: str,
    readings: Sequence[tuple["_Reading", list[Span]]],
    may_be_cut: bool,
    beside: Callable[[Sequence[RangeRead]], None] | None = None,
) -> list[ViewPage]:
    """Return the pages. They are read once more if one misses an entry that exists."""
    pages = _read(table, group_id, readings, beside)
    if any(page.is_cut for page in pages):
        table.pause(1)
        pages = _read(table, group_id, readings, beside)
    if any(page.is_cut for page in pages) and not may_be_cut:
        raise NotReadableYetError("something that was written cannot be read yet; try again")
    return pages


def _read(
    table: Table,
    group_id: str,
    readings: Sequence[tuple["_Reading", list[Span]]],
    beside: Callable[[Sequence[RangeRead]], None] | None,
) -> list[ViewPage]:
    """Return the pages, which are read in the same rounds, and all in the same direction."""
    backward = readings[0][0].backward
    pages: dict[int, ViewPage] = {}
    going = {at: reading.rounds(spans) for at, (reading, spans) in enumerate(readings)}
    answers: dict[int, list[RangeAnswer] | None] = dict.fromkeys(going)
    while going:
        wanted: dict[int, list[RangeRead]] = {}
        for at, rounds in list(going.items()):
            try:
                wanted[at] = rounds.send(answers[at])
            except StopIteration as end:
                pages[at] = end.value
                del going[at]
        reads = [read for of_page in wanted.values() for read in of_page]
        if not reads:
            break
        if beside is not None:
            beside(reads)
        found = iter(table.read_ranges(group_id, reads, backward=backward))
        answers = {at: [next(found) for _ in of_page] for at, of_page in wanted.items()}
    return [pages[at] for at in range(len(readings))]


class _Reading(NamedTuple):
    """One page to read, round by round. is_in_view: tells which of the entries belong to it."""

    is_in_view: Callable[[Entry], bool]
    show: Shown
    limit: int
    window: Window
    backward: bool
    last: Sequence[EntryId | None]
    bound: Bound = ENTRIES
    is_alone: bool = False

    def rounds(self, spans: list[Span]) -> Generator[list[RangeRead], list[RangeAnswer] | None, ViewPage]:
        """Yield the reads of each round, take their answers, and return the page."""
        page: list[StoredEntry] = []
        order: list[EntryId] = []
        backward, channels = self.backward, self.show.channels
        chain = Chain(self.window, self.last)
        counts, most = self.bound
        sums = [0] * len(most)
        skipped = crowded_rounds = 0
        while spans:
            wanted = min(self.limit + 1 - len(page) + skipped, ROUND_MAX)
            reads = paging.plan_round(
                spans,
                channels=channels,
                wanted=wanted,
                crowded_rounds=crowded_rounds,
                is_alone=self.is_alone,
            )
            answers = (yield reads) or []
            near = paging.merge(answers, backward=backward)
            in_view = [stored for stored in near if self.is_in_view(stored.entry)]
            frontier = paging.frontier(answers, backward=backward)
            spans = paging.spans_left(spans, reads, frontier, backward=backward)
            seen = [s.entry for a in answers for s in a.entries if self.is_in_view(s.entry)]
            chain.take(
                read=[s.entry_id for s in in_view if s.entry.channel in channels],
                named=[entry.after.of(channel) for entry in seen for channel in channels],
            )
            missing = chain.missing(spans[0].window if spans else None, backward=backward)
            if missing is not None:
                in_view = [s for s in in_view if self._comes_before(s.entry_id, missing)]
                page = [s for s in page if self._comes_before(s.entry_id, missing)]
                order = [entry_id for entry_id in order if self._comes_before(entry_id, missing)]
            for stored in in_view:
                if not self.show.admits(stored.entry):
                    skipped += 1
                else:
                    sums = [a + b for a, b in zip(sums, counts(stored), strict=True)]
                    if len(page) == self.limit or (
                        page and any(a > b for a, b in zip(sums, most, strict=True))
                    ):
                        return ViewPage(page, page[-1].entry_id)
                    page.append(stored)
                order.append(stored.entry_id)
            if missing is not None:
                return ViewPage(page, order[-1] if order else None, is_cut=True)
            if crowded_rounds or len(in_view) * paging.DENSITY_MIN < len(near):
                crowded_rounds += 1
            if len(order) >= READ_MAX and spans:
                return ViewPage(page, order[-1])
        return ViewPage(page, None)

    def _comes_before(self, one: EntryId, other: EntryId) -> bool:
        return one > other if self.backward else one < other


def _within(view: View) -> Callable[[Entry], bool]:
    bounds = ancestry.bounds_of(view)
    return lambda entry: entry.entry_id < bounds.get(entry.conversation_id, FIRST)


def nearest(table: Table, group_id: str, read: RangeRead, *, backward: bool = False) -> StoredEntry | None:
    """Return the first entry of a range in the order of reading. An empty page is continued."""
    window = read.window
    while not window.is_empty:
        [answer] = table.read_ranges(group_id, [read._replace(window=window)], backward=backward)
        if answer.entries or answer.reached is None:
            return answer.entries[0] if answer.entries else None
        window = window.beyond(answer.reached, backward=backward)
    return None


def latest_epoch_of_tree(table: Table, group_id: str, client_id: str, *, stop: EntryId) -> int | None:
    """Return the highest epoch of the client's context that the tree shows before `stop`.

    The CTX of a conversation names its latest epoch and the first entry of that. If this entry is
    not shown, the last own entry before `stop`, and before what nobody shows of a removed branch,
    has the conversation's highest epoch.
    """
    removed = set(table.read.remnant_ids(group_id))
    showing = Showing(table, group_id)
    contexts = sorted(
        table.read.contexts(group_id, client_id), key=lambda one: one[1].epoch.number, reverse=True
    )
    highest = 0
    for conversation_id, context in contexts:
        number, first = context.epoch.number, context.epoch.first
        if number <= highest:
            break
        most = showing.most_of(conversation_id) if conversation_id in removed else None
        end = min(stop, most.stop if most else FIRST) if conversation_id in removed else stop
        if first is not None and first < end:
            return number
        path = table.get([keys.path(group_id, conversation_id)]).path(group_id, conversation_id)
        own = Window(ancestry.floor_of(path), end)
        view = View((Segment(conversation_id, end),))
        last = _last(table, group_id, view, Shown((Channel.CONTEXT,), client_id), own)
        highest = max(highest, last.entry.epoch or 0) if last else highest
    return highest or None


def first_preview(table: Table, group_id: str, stored: Sequence[StoredEntry]) -> Words | None:
    """Return the first preview of history entries, among the first TEXTS_LOOKED_AT of them."""
    return _preview(table, group_id, stored[:TEXTS_LOOKED_AT])


def last_preview(
    table: Table, group_id: str, view: View, *, nearest: StoredEntry | None = None
) -> Words | None:
    """Return the last preview in the history of `view`, among the last TEXTS_LOOKED_AT entries.

    nearest: the last history entry, where it was read already.
    """
    preview = _preview(table, group_id, [nearest]) if nearest else None
    if preview is None:
        show = Shown((Channel.HISTORY,))
        page = read_view(table, group_id, view, show=show, limit=TEXTS_LOOKED_AT, backward=True)
        preview = _preview(table, group_id, page.entries)
    return preview


def _preview(table: Table, group_id: str, stored: Sequence[StoredEntry]) -> Words | None:
    for one in stored:
        [entry] = table.with_bodies(group_id, [one], linked=False)
        text = content.preview_text(jsontext.read_value(entry.content), entry.attachments)
        if text:
            return Words(text, entry.user_id)
    return None


def latest_context(
    table: Table,
    group_id: str,
    view: View,
    client_id: str,
    window: Window = Window(),  # noqa: B008 (a value)
    last: Sequence[EntryId | None] = (),
) -> list[StoredEntry]:
    """Return the client's context entries of the highest epoch shown in `window`, oldest first.

    last: as for `read_view`.
    Epochs never fall along a view, so it is read backward until a lower epoch comes. No more than
    the epoch and one page are read.
    """
    show = Shown((Channel.CONTEXT,), client_id)
    found: list[StoredEntry] = []
    limit = EPOCH_FIRST_PAGE
    while True:
        page = read_view(
            table, group_id, view, show=show, limit=limit, window=window, backward=True, last=last
        )
        for stored in page.entries:
            if found and stored.entry.epoch != found[0].entry.epoch:
                return found[::-1]
            found.append(stored)
        if page.resume is None:
            return found[::-1]
        window = window._replace(stop=page.resume)
        limit = min(2 * limit, PAGE_ENTRIES_MAX)


def entries_of_epoch(
    table: Table,
    group_id: str,
    latest: "LatestEpoch",
    client_id: str,
) -> Iterator[Entry]:
    """Yield the entries of the client's latest epoch, with their content, oldest first.

    Raises NotReadableYetError when one is missing.
    """
    epoch = latest.epoch
    show = Shown((Channel.CONTEXT,), client_id, epoch.number)
    window = Window(start=epoch.first or FIRST)
    limit = EPOCH_FIRST_PAGE
    while epoch.number:
        page = read_view(
            table, group_id, latest.view, show=show, limit=limit, window=window, last=[latest.last]
        )
        yield from table.with_bodies(group_id, page.entries)
        if page.resume is None:
            return
        window = window.beyond(page.resume, backward=False)
        limit = min(2 * limit, PAGE_ENTRIES_MAX)


class LatestEpoch(NamedTuple):
    """A client's latest epoch, and the view up to it. last: its last entry, if known."""

    epoch: Epoch = NO_EPOCH
    view: View = NOTHING_SHOWN
    last: EntryId | None = None


def latest_epoch(
    table: Table,
    group_id: str,
    view: View,
    client_id: str,
    window: Window = Window(),  # noqa: B008 (a value)
    *,
    shown_last: EntryId | None = None,
) -> LatestEpoch:
    """Return the client's latest epoch that `view` shows in `window`.

    shown_last: the last context entry of any client that `view` shows, if known. Without it, or if
    it is not the client's, the epoch comes without a digest. A transaction becomes visible item by
    item, so a CTX may be older than the view.

    A client has context where it has a CTX and nowhere else, so no other segment is read. The
    nearest CTX whose context is shown names the epoch and its first entry: a view that shows an
    entry shows what came before it. If the conversation went on to a later epoch, all of the shown
    epoch is read.
    """
    for end, context in _contexts(table, group_id, view, client_id):
        nearest, before = view.segments[end - 1], view.segments[: end - 1]
        shown = View((*before, nearest))
        own = window.clipped(ancestry.floor_of(before), nearest.stop)
        epoch = context.epoch._replace(digest=None)
        if context.last < own.stop:
            return LatestEpoch(context.epoch if context.last == shown_last else epoch, shown, context.last)
        last = _last(table, group_id, View((nearest,)), Shown((Channel.CONTEXT,), client_id), own)
        if last is not None and last.entry.epoch == epoch.number:
            return LatestEpoch(epoch, shown, last.entry_id)
        if last is not None:
            whole = latest_context(table, group_id, shown, client_id, window)
            return LatestEpoch(Epoch(whole[0].entry.epoch or 0, whole[0].entry_id), shown, last.entry_id)
    return LatestEpoch()


def _contexts(table: Table, group_id: str, view: View, client_id: str) -> Iterator[tuple[int, ClientContext]]:
    """Yield the client's contexts along the view, the nearest first, each with its segment.

    Each request reads more of them than the one before. A segment is given by its number, from 1.
    """
    segments, at_once = view.segments, CONTEXTS_AT_FIRST
    end = len(segments)
    while end:
        some = range(max(0, end - at_once), end)[::-1]
        found = table.get(keys.context(group_id, segments[at].conversation_id, client_id) for at in some)
        for at in some:
            context = found.context(group_id, segments[at].conversation_id, client_id)
            if context is not None:
                yield at + 1, context
        end, at_once = some[-1], min(2 * at_once, BATCH_KEYS_MAX)


def _last(table: Table, group_id: str, view: View, show: Shown, window: Window) -> StoredEntry | None:
    """Return the last entry shown, however many others come after it. A short page is continued."""
    while True:
        page = read_view(table, group_id, view, show=show, limit=1, window=window, backward=True)
        if page.entries or page.resume is None:
            return page.entries[0] if page.entries else None
        window = window.beyond(page.resume, backward=True)

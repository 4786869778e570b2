"""Which key ranges make up a page of a view, and what their answers add up to.

A page is read in rounds, from its near end. A round is a few range reads that can run side by side.
Together they give all entries up to a frontier: the nearest position where one of the reads stopped
early. The next round continues at the frontier. This one rule covers limits, DynamoDB's 1 MB pages,
the merging of channels and the reading of many segments.

A transaction becomes visible item by item, so a read may show a later entry and not yet an earlier
one. If the reader then continued after the later one, it would never see the earlier one. So a page
must hold the entries that its own entries name, and those that HEAD names as the last ones.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ancestry import View
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.model import Channel, StoredEntry

SEGMENTS_SIDE_BY_SIDE = 8
"""More segments than this are tried with one read of the tree first."""
SEGMENTS_MANY = 32
"""At most so many segments in one round, where other conversations crowd the window."""
DENSITY_MIN = 4
"""A read of the whole tree is worth it while one entry in this many belongs to the view."""


class Window(NamedTuple):
    """The positions from `start` up to, not including, `stop`. Empty when start >= stop."""

    start: EntryId = FIRST
    stop: EntryId = LAST

    def clipped(self, start: EntryId, stop: EntryId) -> "Window":
        return Window(max(self.start, start), min(self.stop, stop))

    @property
    def is_empty(self) -> bool:
        return self.start >= self.stop

    def beyond(self, reached: EntryId, *, backward: bool) -> "Window":
        """Return what is left of the window once it was read up to and including `reached`."""
        return (
            self._replace(stop=min(self.stop, reached))
            if backward
            else self._replace(start=max(self.start, ids.next_id(reached)))
        )


class Span(NamedTuple):
    """A segment's part of a window; conversation_id None: the whole tree's.

    entries: how many it holds at the most, if known.
    """

    conversation_id: str | None
    window: Window
    entries: int | None = None


class RangeRead(NamedTuple):
    """One Query. conversation_id None: all conversations and channels of the tree."""

    window: Window
    limit: int
    conversation_id: str | None = None
    channel: Channel | None = None


class RangeAnswer(NamedTuple):
    """What a RangeRead found, near end first. reached: how far it read; None: the whole window."""

    entries: Sequence[StoredEntry]
    reached: EntryId | None


def spans_of(view: View, window: Window, *, backward: bool, own_entries: int | None = None) -> list[Span]:
    """Return the segments of `view` that reach into `window`, the near end first.

    own_entries: how many entries the view's own conversation has, where known. All entries of a
    segment come after the stop of the segment before it.
    """
    spans, start = [], FIRST
    for segment in view.segments:
        clipped = window.clipped(start, segment.stop)
        if not clipped.is_empty:
            spans.append(Span(segment.conversation_id, clipped))
        start = segment.stop
    if own_entries is not None and spans and spans[-1].conversation_id == view.segments[-1].conversation_id:
        own = spans.pop()._replace(entries=own_entries)
        spans += [own] if own_entries else []
    return spans[::-1] if backward else spans


def plan_round(
    spans: Sequence[Span],
    *,
    channels: Sequence[Channel],
    wanted: int,
    crowded_rounds: int,
    is_alone: bool = False,
) -> list[RangeRead]:
    """Return the reads of one round over the near end of `spans`, which is not empty.

    wanted: entries still missing from the page. crowded_rounds: how many rounds ago a read of the
    tree found little of this view; 0 if none did. is_alone: whether the tree has no other
    conversation. A round of segment reads asks for at most twice the entries wanted, so a page
    costs no more than a few pages. It ends at the segment that is known to fill the page. Many
    segments, and the channels of a conversation that is alone, are read with one read of the tree.
    If that is crowded, segments are read side by side, twice as many in each round.
    """
    is_alone = is_alone and len(channels) > 1
    many = (is_alone or len(spans) > SEGMENTS_SIDE_BY_SIDE) and not crowded_rounds
    reads: list[RangeRead] = []
    asked, most = 0, 2 * wanted * max(1, 2 ** (crowded_rounds - 1))
    for at, span in enumerate(spans[: SEGMENTS_MANY if crowded_rounds else SEGMENTS_SIDE_BY_SIDE]):
        if many and (is_alone or span.entries is None):
            windows = [left.window for left in spans[at:]]
            outer = Window(min(w.start for w in windows), max(w.stop for w in windows))
            return [*reads, RangeRead(outer, wanted)]
        limit = wanted if span.entries is None else min(wanted, span.entries + 1)
        asked += limit * len(channels)
        if reads and asked > most:
            break
        if span.conversation_id is None:
            return [RangeRead(span.window, limit)]
        reads += [RangeRead(span.window, limit, span.conversation_id, channel) for channel in channels]
        if span.entries is not None and span.entries >= wanted:
            break
    return reads


def frontier(answers: Iterable[RangeAnswer], *, backward: bool) -> EntryId | None:
    """Return the nearest position at which some read of a round stopped early; None if none did."""
    stops = [answer.reached for answer in answers if answer.reached is not None]
    if not stops:
        return None
    return max(stops) if backward else min(stops)


def merge(answers: Iterable[RangeAnswer], *, backward: bool) -> list[StoredEntry]:
    """Return the entries of a round up to its frontier, near end first."""
    answers = list(answers)
    limit = frontier(answers, backward=backward)
    found = sorted(
        (entry for answer in answers for entry in answer.entries),
        key=lambda entry: entry.entry_id,
        reverse=backward,
    )
    if limit is None:
        return found
    return [e for e in found if (e.entry_id >= limit if backward else e.entry_id <= limit)]


def spans_left(
    spans: Sequence[Span], reads: Sequence[RangeRead], reached: EntryId | None, *, backward: bool
) -> list[Span]:
    """Return what a round leaves to be read: `spans` beyond its reads, or beyond its frontier."""
    if reached is None:
        done = {read.conversation_id for read in reads}
        return [] if None in done else [s for s in spans if s.conversation_id not in done]
    rest = (
        span._replace(window=span.window.beyond(reached, backward=backward), entries=None) for span in spans
    )
    return [span for span in rest if not span.window.is_empty]


class Chain:
    """The entries of a page as they are read round by round, and those that are known to be there.

    window: what is read. last: the last entries that are there, where they are known.
    """

    def __init__(self, window: Window, last: Iterable[EntryId | None]) -> None:
        self._window = window
        self._read: set[EntryId] = set()
        self._due: set[EntryId] = set()
        self.take(read=(), named=last)

    def take(self, *, read: Iterable[EntryId], named: Iterable[EntryId | None]) -> None:
        """Take in a round.

        read: its entries of the page's channels. named: the entries that these name.
        """
        self._read.update(read)
        self._due.update(n for n in named if n is not None and self._window.start <= n < self._window.stop)
        self._due -= self._read

    def missing(self, left: Window | None, *, backward: bool) -> EntryId | None:
        """Return the first missing entry in the order of reading; None if none is missing.

        left: what is read next; None: nothing.
        """
        due = [n for n in self._due if left is None or (n >= left.stop if backward else n < left.start)]
        if not due:
            return None
        return max(due) if backward else min(due)

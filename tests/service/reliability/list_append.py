"""A checker of logs of appends, forks and reads, similar to Elle's list-append checker.

The checker is pure. Its input is what each process saw of its own requests, and what every
conversation shows at the end. All appended values are unique, so a value identifies its append.
All reads must agree with the order of the final list. Times are nanoseconds of one monotonic clock.

Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
Observations" (2020).
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf
from typing import Any

Seen = tuple[str, str]
"""An entry as a reader sees it: its id and its value."""


class Outcome(StrEnum):
    """What a client knows about its request: done, definitely not done, or unknown."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Cut(StrEnum):
    """Where a page begins; for UP_TO, where the view ends."""

    START = "start"
    AFTER = "after"
    BEFORE = "before"
    TAIL = "tail"
    UP_TO = "up to"


class Kind(StrEnum):
    """The kinds of anomalies."""

    LOST = "lost"
    """An acknowledged value is missing."""
    DOUBLED = "doubled"
    """A value is there more than once."""
    PHANTOM = "phantom"
    """A value is there that was refused or never sent; or a value that was read is not there."""
    PARTED = "parted"
    """The entries of one request do not stand together, in order and complete."""
    REORDERED = "reordered"
    """A value stands after another one that was sent after its acknowledgement."""
    CHANGED = "changed"
    """The entry's id is not the one that was acknowledged."""
    STALE = "stale"
    """A read lacks a value that was acknowledged or read before the read began."""
    EARLY = "early"
    """A read shows a value that was sent later."""
    GAP = "gap"
    """A page is not a contiguous part of the list that begins at its cursor."""
    FORK = "fork"
    """The inherited part is not what the source showed before the fork point."""


@dataclass(frozen=True)
class Anomaly:
    """An anomaly. what: a description for people."""

    kind: Kind
    what: str


class Change:
    """A write that a client has sent."""

    answered_ns: int
    outcome: Outcome

    @property
    def until(self) -> float:
        """The latest time at which the write was done."""
        return self.answered_ns if self.outcome is Outcome.OK else inf


@dataclass(frozen=True)
class Append(Change):
    """An append of one or more entries in one request. entry_ids: the acknowledged ids."""

    conversation_id: str
    values: tuple[str, ...]
    sent_ns: int
    answered_ns: int
    outcome: Outcome
    entry_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fork(Change):
    """A fork before or after an entry, or at the head. conversation_id: the id of the fork."""

    conversation_id: str
    source_id: str
    entry_id: str | None
    is_after: bool
    sent_ns: int
    answered_ns: int
    outcome: Outcome


@dataclass(frozen=True)
class Page:
    """A page of a conversation. at: the entry where it is cut. before, after: its cursors."""

    conversation_id: str
    cut: Cut
    at: str | None
    sent_ns: int
    answered_ns: int
    entries: tuple[Seen, ...]
    before: str | None
    after: str | None

    @property
    def is_to_the_end(self) -> bool:
        """Tell whether the page claims to reach the end of the list."""
        return self.cut is Cut.TAIL or (self.cut in (Cut.START, Cut.AFTER) and self.after is None)


Record = Append | Fork | Page
_RECORDS: Mapping[str, type[Record]] = {"Append": Append, "Fork": Fork, "Page": Page}


def to_line(record: Record) -> str:
    """Return a record as a line of a log."""
    return json.dumps({"record": type(record).__name__, **asdict(record)})


def of_line(line: str) -> Record:
    """Return the record of a line from `to_line`."""
    members: dict[str, Any] = json.loads(line)
    record = _RECORDS[members.pop("record")]
    for name in ("values", "entry_ids"):
        if name in members:
            members[name] = tuple(members[name])
    if "entries" in members:
        members["entries"] = tuple((entry_id, value) for entry_id, value in members["entries"])
    if "outcome" in members:
        members["outcome"] = Outcome(members["outcome"])
    if "cut" in members:
        members["cut"] = Cut(members["cut"])
    return record(**members)


@dataclass(frozen=True)
class Shown:
    """An entry of the final list. conversation_id: the conversation that it was written to."""

    entry_id: str
    value: str
    conversation_id: str

    @property
    def seen(self) -> Seen:
        return self.entry_id, self.value


Final = Mapping[str, Sequence[Shown]]
"""What each conversation shows at the end, after all requests have finished."""


def check(log: Iterable[Record], final: Final) -> list[Anomaly]:
    """Return the anomalies in the log of a run.

    log: the records of all processes, in any order. A conversation without a Fork is a root.
    """
    appends: list[Append] = []
    forks: list[Fork] = []
    pages: list[Page] = []
    for record in log:
        match record:
            case Append():
                appends.append(record)
            case Fork():
                forks.append(record)
            case Page():
                pages.append(record)
    return list(_Checker(appends, forks, pages, final).anomalies())


_Shortest = Mapping[str, Callable[[int], int]]
"""For each conversation, a function from a time to the minimum length of its list."""


class _Checker:
    def __init__(
        self, appends: Sequence[Append], forks: Sequence[Fork], pages: Sequence[Page], final: Final
    ) -> None:
        self.forks = {fork.conversation_id: fork for fork in forks}
        self.pages = pages
        self.appends = appends
        self.final = final
        self.sent = {value: append for append in appends for value in append.values}
        assert len(self.sent) == sum(len(append.values) for append in appends), "values must be unique"
        self.place = {
            c: {shown.entry_id: at for at, shown in enumerate(shown_all)} for c, shown_all in final.items()
        }
        self.own = {c: [s for s in shown if s.conversation_id == c] for c, shown in final.items()}
        self.own_place = {c: {s.value: at for at, s in enumerate(own)} for c, own in self.own.items()}

    def anomalies(self) -> Iterator[Anomaly]:
        yield from self._of_what_is_there()
        for append in self.appends:
            yield from self._of_append(append)
        for conversation_id, own in self.own.items():
            yield from self._of_order(conversation_id, own)
        shortest = self._shortest()
        for conversation_id in self.final:
            yield from self._of_fork(conversation_id, self.forks.get(conversation_id), shortest)
        for fork in self.forks.values():
            if fork.outcome is Outcome.OK and fork.conversation_id not in self.final:
                yield Anomaly(Kind.LOST, f"{fork} is not there")
        for page in self.pages:
            yield from self._of_page(page, shortest[page.conversation_id])

    def _of_what_is_there(self) -> Iterator[Anomaly]:
        count = Counter(shown.value for own in self.own.values() for shown in own)
        for value, times in count.items():
            if times > 1:
                yield Anomaly(Kind.DOUBLED, f"{value} is there {times} times")
        for conversation_id, own in self.own.items():
            for shown in own:
                append = self.sent.get(shown.value)
                if append is None or append.conversation_id != conversation_id:
                    yield Anomaly(Kind.PHANTOM, f"{shown} was never sent there")
                elif append.outcome is Outcome.FAILED:
                    yield Anomaly(Kind.PHANTOM, f"{shown} was refused")

    def _of_append(self, append: Append) -> Iterator[Anomaly]:
        own = self.own.get(append.conversation_id, [])
        places = self.own_place.get(append.conversation_id, {})
        found = [places[value] for value in append.values if value in places]
        if append.outcome is Outcome.OK and len(found) < len(append.values):
            yield Anomaly(Kind.LOST, f"{append} is not there")
        elif append.outcome is Outcome.OK and tuple(own[at].entry_id for at in found) != append.entry_ids:
            yield Anomaly(Kind.CHANGED, f"{append} has other ids")
        if found:
            together = tuple(shown.value for shown in own[found[0] : found[0] + len(append.values)])
            if together != append.values:
                yield Anomaly(Kind.PARTED, f"{append} is there as {together}")

    def _of_order(self, conversation_id: str, own: Sequence[Shown]) -> Iterator[Anomaly]:
        latest_sent_ns = 0
        for shown in own:
            append = self.sent.get(shown.value)
            if append is None:
                continue
            if append.until < latest_sent_ns:
                yield Anomaly(Kind.REORDERED, f"{shown} comes after what was sent later")
            latest_sent_ns = max(latest_sent_ns, append.sent_ns)
        keys = [shown.entry_id for shown in self.final[conversation_id]]
        if any(one >= other for one, other in pairwise(keys)):
            yield Anomaly(Kind.REORDERED, f"the ids in {conversation_id} do not ascend")

    def _of_fork(self, conversation_id: str, fork: Fork | None, shortest: "_Shortest") -> Iterator[Anomaly]:
        shown = self.final[conversation_id]
        inherited = [one for one in shown if one.conversation_id != conversation_id]
        if inherited != list(shown[: len(inherited)]):
            yield Anomaly(Kind.FORK, f"{conversation_id} inherits entries that stand after its own")
        if fork is None:
            if inherited:
                yield Anomaly(Kind.FORK, f"{conversation_id} inherits, and was never forked")
            return
        if fork.outcome is Outcome.FAILED:
            yield Anomaly(Kind.PHANTOM, f"{fork} was refused, and is there")
        source = self.final.get(fork.source_id, ())
        if fork.entry_id is None:
            expected = max(len(inherited), shortest[fork.source_id](fork.sent_ns))
            for one in inherited:
                append = self.sent.get(one.value)
                if append is not None and append.sent_ns > fork.until:
                    yield Anomaly(Kind.FORK, f"{fork} inherits {one}, which was sent later")
        else:
            place = self.place.get(fork.source_id, {}).get(fork.entry_id)
            if place is None:
                yield Anomaly(Kind.FORK, f"{fork} is at what its source does not show")
                return
            expected = place + fork.is_after
        if inherited != list(source[:expected]):
            yield Anomaly(Kind.FORK, f"{conversation_id} inherits another part than {fork} says")

    def _shortest(self) -> "_Shortest":
        """Return the minimum lengths of the lists, known from acknowledgements, reads and forks."""
        events: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for append in self.appends:
            places = self.place.get(append.conversation_id, {})
            if append.outcome is Outcome.OK and append.entry_ids and append.entry_ids[-1] in places:
                events[append.conversation_id].append((append.answered_ns, places[append.entry_ids[-1]] + 1))
        for page in self.pages:
            places = self.place.get(page.conversation_id, {})
            if page.entries and page.entries[-1][0] in places:
                events[page.conversation_id].append((page.answered_ns, places[page.entries[-1][0]] + 1))
        for fork in self.forks.values():
            shown = self.final.get(fork.conversation_id, ())
            inherited = sum(one.conversation_id != fork.conversation_id for one in shown)
            if fork.outcome is Outcome.OK:
                events[fork.source_id].append((fork.answered_ns, inherited))
                events[fork.conversation_id].append((fork.answered_ns, inherited))
        return defaultdict(lambda: _at_least([]), {c: _at_least(those) for c, those in events.items()})

    def _of_page(self, page: Page, shortest: Callable[[int], int]) -> Iterator[Anomaly]:
        shown = self.final.get(page.conversation_id, ())
        places = self.place.get(page.conversation_id, {})
        told = f"{page.cut} {page.at or ''} of {page.conversation_id} at {page.sent_ns}"
        for entry_id, value in page.entries:
            append = self.sent.get(value)
            if entry_id not in places or shown[places[entry_id]].value != value:
                yield Anomaly(Kind.PHANTOM, f"{told}: {value} was seen, and is not there")
                return
            if append is not None and append.sent_ns > page.answered_ns:
                yield Anomaly(Kind.EARLY, f"{told}: {value} was sent later")
        if page.at is not None and page.at not in places:
            yield Anomaly(Kind.PHANTOM, f"{told}: its cursor is not there")
            return
        first, end = self._stretch(page, places)
        if [one.seen for one in shown[max(first, 0) : end]] != list(page.entries):
            yield Anomaly(Kind.GAP, f"{told}: {page.entries} is not what stands there")
            return
        if (
            page.cut is Cut.UP_TO
            and page.after is None
            and page.at != (shown[end - 1].entry_id if end else None)
        ):
            yield Anomaly(Kind.GAP, f"{told}: ends too early")
        if page.cut in (Cut.BEFORE, Cut.TAIL):
            if page.before is None and first != 0:
                yield Anomaly(Kind.GAP, f"{told}: says that nothing comes before {first}")
            if page.before is not None and page.before != page.entries[0][0]:
                yield Anomaly(Kind.GAP, f"{told}: its cursor before it is not its first entry")
        elif page.after is not None and (not page.entries or page.after != page.entries[-1][0]):
            yield Anomaly(Kind.GAP, f"{told}: its cursor after it is not its last entry")
        minimum = shortest(page.sent_ns)
        if page.is_to_the_end and end < minimum:
            yield Anomaly(Kind.STALE, f"{told}: {end} entries, where {minimum} were known of")

    def _stretch(self, page: Page, places: Mapping[str, int]) -> tuple[int, int]:
        """Return the part of the final list that the page must show."""
        length = len(page.entries)
        match page.cut:
            case Cut.AFTER:
                first = places[page.at or ""] + 1
            case Cut.BEFORE:
                first = places[page.at or ""] - length
            case Cut.TAIL:
                first = places[page.entries[0][0]] if page.entries else 0
            case _:
                first = 0
        return first, first + length


def _at_least(events: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """Return a function from a time to the list length that was known before it.

    events: times, and the length that was known at each.
    """
    times: list[int] = []
    lengths: list[int] = []
    for at, length in sorted(events):
        times.append(at)
        lengths.append(max(length, lengths[-1]) if lengths else length)

    def known(at: int) -> int:
        before = bisect_left(times, at)
        return lengths[before - 1] if before else 0

    return known

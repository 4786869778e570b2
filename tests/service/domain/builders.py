"""Builders for the tests of the domain: ids, fork trees, and a shelf to read entries from."""

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from forklore_service.domain import ancestry, ids
from forklore_service.domain.ancestry import Path, View
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Channel, Entry, ForkPosition, Json, StoredEntry
from forklore_service.domain.paging import RangeAnswer, RangeRead
from tests.service.reliability.figures import FIGURES

T = TypeVar("T")
N = TypeVar("N", bound=Any)
"""A NamedTuple."""

H, C = Channel.HISTORY, Channel.CONTEXT

NOW_MS = ids.milliseconds("2040-01-01T00:00:00.000Z")
SIXTY_FIVE_YEARS_MS = 65 * 365 * 24 * 3600 * 1000
SKEWS_MS = (0, -5_000, 5_000, -SIXTY_FIVE_YEARS_MS, SIXTY_FIVE_YEARS_MS)
"""How far a writer's clock is off: by 5 seconds or by 65 years."""

EXAMPLES_MAX = 100
"""How many random examples a run that is not the gate's tries at most."""


def examples(number: int, *, always: bool = False) -> settings:
    """Return settings for so many random examples. Every run has the same ones.

    Only the gate tries more than EXAMPLES_MAX. always: all runs try all.
    """
    if not always and os.environ.get(FIGURES) != "gate":
        number = min(number, EXAMPLES_MAX)
    return settings(derandomize=True, max_examples=number)


def at(millisecond: int) -> EntryId:
    """Return the id of an entry written in that millisecond since 1970: at(1) < at(2)."""
    return ids.fresh_id(millisecond, 0)


def conversation(number: int) -> str:
    """Return the id of a conversation."""
    return f"{number:08x}-0000-4000-8000-000000000000"


ROOT, FORK, TWIG, OTHER = (conversation(number) for number in range(1, 5))
PLAIN_VALUES: Mapping[Any, Any] = {
    str | None: "some text",
    int | None: 7,
    bool: True,
    Mapping[str, str]: {"a": "b"},
    Json: '{"n": 1e400}',
    Json | None: '{"inputTokens": 1.0}',
}
"""A value for each type of a plain field. It is the default of none."""


def filled(value: N) -> N:
    """Return a value with something in each plain field that has its default, also in its parts."""
    changes: dict[str, Any] = {}
    for name, held in type(value).__annotations__.items():
        one = getattr(value, name)
        if isinstance(one, tuple) and hasattr(one, "_replace"):
            changes[name] = filled(one)
        elif held in PLAIN_VALUES and one == value._field_defaults.get(name):
            changes[name] = PLAIN_VALUES[held]
    changed: N = value._replace(**changes)
    return changed


def stored(
    entry_id: EntryId,
    conversation_id: str = ROOT,
    channel: Channel = H,
    *,
    client_id: str | None = None,
    epoch: int | None = None,
    size: int = 2,
) -> StoredEntry:
    """Return an entry as it is read from the table. size: its bytes in an answer."""
    entry = Entry(
        entry_id=entry_id,
        conversation_id=conversation_id,
        user_id="ann",
        channel=channel,
        content_type="history",
        content="",
        client_id=client_id,
        epoch=epoch,
    )
    return StoredEntry(entry=entry, body=b"", chunks=0, escaped_bytes=size, nonce="")


@dataclass(frozen=True)
class Forked:
    """How a fork was made. moment: how many entries the tree had.

    anchor: None if it was made at the head, or blank.
    """

    source: str
    moment: int
    position: ForkPosition
    anchor: EntryId | None = None


@dataclass
class Tree:
    """A fork tree. It makes ids and cuts paths as forklore does.

    entries: of the whole tree, in the order of acknowledgement.
    sees: by conversation, the entries that it shows, in order. These lists are kept without paths:
        a fork copies the list of its source.
    """

    paths: dict[str, Path] = field(default_factory=lambda: {conversation(0): ()})
    forks: dict[str, Forked] = field(default_factory=dict)
    entries: list[StoredEntry] = field(default_factory=list)
    sees: dict[str, list[StoredEntry]] = field(default_factory=lambda: defaultdict(list))
    own: dict[str, list[EntryId]] = field(default_factory=lambda: defaultdict(list))
    _taken: set[EntryId] = field(default_factory=set)

    @property
    def conversations(self) -> list[str]:
        """All conversations, the newest first."""
        return list(self.paths)[::-1]

    def view(self, conversation_id: str) -> View:
        return ancestry.view_of(conversation_id, self.paths[conversation_id])

    def append(
        self,
        conversation_id: str,
        *,
        now_ms: int = 0,
        random: int = 0,
        step: int = 1,
        channel: Channel = H,
        client_id: str | None = None,
        size: int = 2,
    ) -> EntryId:
        """Append as a writer whose clock shows `now_ms`. If the id is in use, make another one."""
        last = self._last(conversation_id)
        entry_id = ids.mint_id(now_ms, last=last, random=random, step=step)
        while entry_id in self._taken:
            step, random = step % ids.STEP_MAX + 1, (random + 1) % (1 << ids.RANDOM_BITS)
            entry_id = ids.mint_id(now_ms, last=last, random=random, step=step)
        self._taken.add(entry_id)
        entry = stored(entry_id, conversation_id, channel, client_id=client_id, size=size)
        self.entries.append(entry)
        self.own[conversation_id].append(entry_id)
        self.sees[conversation_id].append(entry)
        return entry_id

    def fork(self, source: str, position: ForkPosition, anchor: StoredEntry | None = None) -> str:
        """Fork before or after an entry that the source shows. After None means at the head."""
        view, seen = self.view(source), self.sees[source]
        path: Path = ()
        inherited: list[StoredEntry] = []
        if position is not ForkPosition.BLANK and anchor is None:
            own = self.own[source]
            path = ancestry.path_at_head(view, last=self._last(source), own_entries=len(own))
            inherited = seen
        elif anchor is not None:
            owner, at = anchor.entry.conversation_id, seen.index(anchor)
            if position is ForkPosition.BEFORE:
                last = seen[at - 1].entry_id if at else None
                path = ancestry.path_before(view, conversation_id=owner, entry_id=anchor.entry_id, last=last)
            else:
                path = ancestry.path_after(view, conversation_id=owner, entry_id=anchor.entry_id)
            inherited = seen[: at + (position is ForkPosition.AFTER)]
        fork = conversation(len(self.paths))
        self.paths[fork] = path
        self.forks[fork] = Forked(source, len(self.entries), position, anchor.entry_id if anchor else None)
        self.sees[fork] = list(inherited)
        return fork

    def _last(self, conversation_id: str) -> EntryId:
        own = self.own[conversation_id]
        return own[-1] if own else ancestry.floor_of(self.paths[conversation_id])


class Growth(NamedTuple):
    """A recipe for a random fork tree that many writers work on.

    chain: how often a writer takes the newest conversation, and forks at its head.
    forks: how often a writer forks instead of appending. large: how often an entry has 2 MB.
    """

    seed: int
    operations: int
    chain: float
    forks: float
    large: float = 0.0

    def tree(self) -> Tree:
        random, tree = Random(self.seed), Tree()
        for moment in range(self.operations):
            everyone = tree.conversations
            here = everyone[0] if random.random() < self.chain else random.choice(everyone)
            seen = tree.sees[here]
            if random.random() < self.forks:
                anchor = None if not seen or random.random() < self.chain else random.choice(seen)
                positions = [ForkPosition.AFTER, *([ForkPosition.BEFORE] if anchor else [])]
                tree.fork(here, random.choice(positions), anchor)
                continue
            context = random.random() < 0.3
            tree.append(
                here,
                now_ms=NOW_MS + 10 * moment + random.choice(SKEWS_MS),
                random=random.getrandbits(ids.RANDOM_BITS),
                step=1 + random.getrandbits(32),
                channel=C if context else H,
                client_id=random.choice(("planner", "coder")) if context else None,
                size=2_000_000 if random.random() < self.large else 2,
            )
        return tree


def growths(*operations: int, large: float = 0.0) -> st.SearchStrategy[Growth]:
    """Return a strategy for trees of all shapes. operations: the possible numbers of operations."""
    return st.builds(
        Growth,
        seed=st.integers(0, 1 << 32),
        operations=st.sampled_from(operations),
        chain=st.sampled_from([0.3, 0.9, 0.99, 1.0]),
        forks=st.sampled_from([0.1, 0.3, 0.6]),
        large=st.sampled_from([0.0, 0.0, large]),
    )


class Shelf:
    """Answers rounds of range reads as DynamoDB answers Queries, and counts the reads.

    early: after how many entries a Query stops early, as it does at 1 MB; None if never.
        With 0 the answer is empty, although more follows.
    """

    def __init__(
        self, entries: Iterable[StoredEntry], early: Callable[[], int | None] = lambda: None
    ) -> None:
        self.read: Any = self
        self.rounds: list[list[RangeRead]] = []
        self.looked_at = 0
        self._early = early
        self._lines: dict[tuple[str | None, Channel | None], list[StoredEntry]] = defaultdict(list)
        for entry in sorted(entries, key=lambda one: one.entry_id):
            self._lines[None, None].append(entry)
            self._lines[entry.entry.conversation_id, entry.entry.channel].append(entry)

    @property
    def reads(self) -> int:
        return sum(map(len, self.rounds))

    def remnant_ids(self, _group_id: str) -> Iterator[str]:
        """Yield nothing: no branch of the tree was removed."""
        return iter(())

    def start(self, call: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(call())
        return future

    def read_ranges(self, group_id: str, reads: Sequence[RangeRead], *, backward: bool) -> list[RangeAnswer]:
        assert reads, "a round without reads"
        self.rounds.append(list(reads))
        return [self._query(read, backward) for read in reads]

    def _query(self, read: RangeRead, backward: bool) -> RangeAnswer:
        assert 1 <= read.limit <= 1_000, read
        assert read.window.start < read.window.stop, "DynamoDB refuses a BETWEEN whose bounds are reversed"
        assert (read.conversation_id is None) == (read.channel is None), "there is no index of both channels"
        line = self._lines[read.conversation_id, read.channel]
        first, stop = (
            bisect_left(line, bound, key=lambda one: one.entry_id)
            for bound in (read.window.start, read.window.stop)
        )
        found = line[first:stop][::-1] if backward else line[first:stop]
        early = self._early()
        near_end = ids.previous_id(read.window.stop) if backward else read.window.start
        if early == 0 and (not found or found[0].entry_id != near_end):
            return RangeAnswer([], near_end)
        most = read.limit if early is None else min(max(early, 1), read.limit)
        answer = found[:most]
        self.looked_at += len(answer)
        return RangeAnswer(answer, answer[-1].entry_id if len(answer) == most else None)

"""Random trees on a real table, whose branches are removed and pruned in any order."""

from dataclasses import dataclass, field
from random import Random

import pytest

from forklore.domain import keys
from forklore.domain.ids import EntryId
from forklore.domain.model import ForkPosition
from forklore.errors import NotFoundError
from forklore.fsck.check import check
from forklore.usecases.background.sweeper import sweep
from forklore.usecases.deletion.branch_removal import remove_branch
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tests.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    PLANNER,
    ROOT,
    append,
    conversation,
    fork,
    large,
    page,
    read,
    said,
    thought,
)

OPERATIONS = 45
FORKS_MAX = 14


@dataclass
class Grown:
    """A tree on a table, and what each live conversation must show, kept without paths."""

    store: Store
    random: Random
    mailbox: Mailbox = field(default_factory=Mailbox)
    shows: dict[str, list[EntryId]] = field(default_factory=lambda: {ROOT: []})
    history: set[EntryId] = field(default_factory=set)
    removed: list[str] = field(default_factory=list)
    forks: int = 0

    def step(self) -> None:
        here = self.random.choice(sorted(self.shows))
        match self.random.choice(["append", "append", "fork", "fork", "remove", "work", "sweep"]):
            case "append":
                self.append(here)
            case "fork" if self.forks < FORKS_MAX and self.shows[ROOT if ROOT in self.shows else here]:
                self.fork(here)
            case "remove" if len(self.shows) > 1:
                self.remove(here)
            case "work":
                self.work()
            case "sweep":
                sweep(self.store.process(), self.mailbox.queue)

    def append(self, here: str) -> None:
        draft = self.random.choice(
            [said("a"), said("b"), thought("c"), large(self.random.choice([9, 90_000]))]
        )
        [entry] = append(self.store.process(), here, draft, by=PLANNER)
        self.shows[here].append(entry.entry_id)
        if draft.entry.channel == "history":
            self.history.add(entry.entry_id)

    def fork(self, here: str) -> None:
        self.forks += 1
        new, seen = conversation(100 + self.forks), self.shows[here]
        anchors = [one for one in seen if one in self.history]
        anchor = self.random.choice(anchors) if anchors and self.random.random() < 0.7 else None
        position: ForkPosition | None = self.random.choice([BEFORE, AFTER]) if anchor else None
        fork(self.store.process(), here, new, anchor, position, by=PLANNER)
        end = len(seen) if anchor is None else seen.index(anchor) + (position is AFTER)
        self.shows[new] = seen[:end]

    def remove(self, here: str) -> None:
        queue = self.mailbox.queue
        assert remove_branch(self.store.process(), queue, caller=ANN, conversation_id=here, wait_s=0)
        del self.shows[here]
        self.removed.append(here)

    def work(self) -> None:
        """Let the worker take a message, which may be an old one that comes twice."""
        if self.mailbox.messages:
            message = self.random.choice(self.mailbox.messages)
            if self.random.random() < 0.7:
                self.mailbox.messages.remove(message)
            message.work(self.store.process(), self.mailbox.queue)

    def settle(self) -> None:
        for _ in range(100):
            swept = sweep(self.store.process(), self.mailbox.queue)
            messages = self.mailbox.take()
            for message in messages:
                message.work(self.store.process(), self.mailbox.queue)
            if not swept.jobs and not self.mailbox.messages:
                return
        raise AssertionError("the jobs do not come to an end")

    def assert_intact(self, *, settled: bool) -> None:
        """Assert that views read as they must, and when no job is left, that no more is stored."""
        table, contents = self.store.process(), self.store.contents()
        assert check(contents.values(), now_s=table.now_s()) == []
        there = {keys.entry_id_of(key.sort) for key in contents if is_entry(key)}
        shown = {entry_id for seen in self.shows.values() for entry_id in seen}
        assert shown <= there
        assert not settled or shown == there
        for one, seen in self.shows.items():
            history = [entry_id for entry_id in seen if entry_id in self.history]
            assert [entry.entry_id for entry in page(table, one).entries] == history
        for one in self.removed:
            with pytest.raises(NotFoundError):
                read(table, one)


def is_entry(key: keys.Key) -> bool:
    return key.partition == ROOT and key.sort[:1].isdigit()


@pytest.mark.long
@pytest.mark.failure("removal-race")
@pytest.mark.parametrize("seed", range(5))
def test_views_stay_and_nothing_unreachable_is_kept_whatever_is_removed(store: Store, seed: int) -> None:
    grown = Grown(store, Random(seed))
    grown.append(ROOT)
    for number in range(OPERATIONS):
        grown.step()
        if number % 15 == 0:
            grown.assert_intact(settled=False)
    grown.settle()
    grown.assert_intact(settled=True)

    while len(grown.shows) > 1:
        grown.remove(grown.random.choice(sorted(grown.shows)))
        grown.settle()
        grown.assert_intact(settled=True)
    [last] = grown.shows
    grown.remove(last)
    grown.settle()
    assert {key.partition[:4] for key in store.contents()} == {"PTR#"}

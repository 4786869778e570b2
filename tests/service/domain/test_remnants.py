"""What is kept of removed branches: as a plain definition says, on random trees."""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import ancestry
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.model import Conversation, ForkPosition
from forklore_service.domain.remnants import Remnant, end_of_shown, next_to_prune
from forklore_service.domain.tree import ForkRecord
from tests.service.domain.builders import FORK, ROOT, TWIG, Growth, Tree, at, conversation, examples, growths

OLD = "2026-03-01T09:15:00.000Z"
THE_ROOT = conversation(0)


def record(owner: str, stop: EntryId, of: str = FORK) -> ForkRecord:
    return ForkRecord(owner, stop, OLD, of)


def test_a_branch_that_nobody_forked_shows_nothing_to_others() -> None:
    assert end_of_shown([]) == FIRST


def test_the_largest_stop_ends_what_others_show() -> None:
    assert end_of_shown([record(ROOT, at(2)), record(ROOT, at(5), TWIG), record(ROOT, at(3))]) == at(5)


def test_a_fork_before_the_very_first_entry_shows_nothing_of_the_root() -> None:
    assert end_of_shown([record(ROOT, FIRST)]) == FIRST


def test_after_a_remnant_the_conversation_that_it_left_is_looked_at() -> None:
    assert next_to_prune(Remnant(ROOT, TWIG, OLD, "n", record(FORK, at(3), TWIG))) == FORK


def test_after_the_root_and_after_a_blank_fork_nothing_is_looked_at() -> None:
    assert next_to_prune(Remnant(ROOT, ROOT, OLD, "n")) is None
    assert next_to_prune(Remnant(ROOT, TWIG, OLD, "n", record(ROOT, FIRST, TWIG))) is None


def test_a_removed_branch_leaves_its_record_and_a_removed_root_none() -> None:
    path = (ancestry.Segment(ROOT, at(3)),)
    twig = Remnant.of(Conversation(TWIG, ROOT, OLD), path, removed_at=OLD, nonce="n")
    root = Remnant.of(Conversation(ROOT, ROOT, OLD), (), removed_at=OLD, nonce="n")

    assert twig == Remnant(ROOT, TWIG, OLD, "n", record(ROOT, at(3), TWIG)._replace(is_removed=True))
    assert root == Remnant(ROOT, ROOT, OLD, "n")
    assert (twig.is_root, root.is_root) == (False, True)


@dataclass
class Kept:
    """What is stored of a tree while its branches are removed and pruned in any order."""

    tree: Tree
    remnants: dict[str, Remnant] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    entries: set[EntryId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.live = set(self.tree.paths)
        self.entries = {stored.entry_id for stored in self.tree.entries}

    def shown(self) -> set[EntryId]:
        """Return what must be kept: what a live conversation shows. This uses no path."""
        return {stored.entry_id for one in self.live for stored in self.tree.sees[one]}

    def records(self, owner: str) -> list[ForkRecord]:
        """Return the forks that leave a conversation: the live ones, and the remnants."""
        there = [self._remnant(one) for one in self.live] + list(self.remnants.values())
        return [one.record for one in there if one.record is not None and one.record.owner == owner]

    def _remnant(self, conversation_id: str) -> Remnant:
        made = Conversation(conversation_id, THE_ROOT, OLD)
        return Remnant.of(made, self.tree.paths[conversation_id], removed_at=OLD, nonce="n")

    def remove(self, conversation_id: str) -> None:
        self.remnants[conversation_id] = self._remnant(conversation_id)
        self.live.remove(conversation_id)
        self.jobs.add(conversation_id)

    def prune(self, conversation_id: str) -> None:
        self.jobs.remove(conversation_id)
        end = end_of_shown(self.records(conversation_id))
        self.entries -= {one for one in self.tree.own[conversation_id] if one >= end}
        if end == FIRST:
            following = next_to_prune(self.remnants.pop(conversation_id))
            if following in self.remnants:
                self.jobs.add(following)

    def remnants_shown(self) -> set[str]:
        """Return the removed branches of which a live conversation shows an entry."""
        shown = self.shown()
        return {one for one in self.tree.paths.keys() - self.live if shown & set(self.tree.own[one])}


@pytest.mark.long
@pytest.mark.failure("removal-race")
@examples(2_000)
@given(growths(5, 30, 80), st.integers(0, 1 << 32))
def test_an_entry_is_kept_as_long_as_a_live_conversation_shows_it(growth: Growth, seed: int) -> None:
    """Branches are removed, pruned, forked and written to in any order."""
    random, kept = Random(seed), Kept(growth.tree())
    while kept.live:
        match random.choice(["remove", "remove", "prune", "fork", "append"]):
            case "remove":
                kept.remove(random.choice(sorted(kept.live)))
            case "prune" if kept.jobs:
                kept.prune(random.choice(sorted(kept.jobs)))
            case "fork" if len(kept.tree.paths) < 2 * growth.operations:
                fork_somewhere(kept, random)
            case "append":
                kept.entries.add(kept.tree.append(random.choice(sorted(kept.live)), now_ms=1))
            case _:
                pass
        assert kept.shown() <= kept.entries
        if not kept.jobs:
            assert_exact(kept)
    while kept.jobs:
        kept.prune(random.choice(sorted(kept.jobs)))
    assert_exact(kept)
    assert not kept.entries
    assert not kept.remnants


def assert_exact(kept: Kept) -> None:
    """Assert that nothing is kept but what is shown, and that views read what they did."""
    assert kept.entries == kept.shown()
    assert set(kept.remnants) == kept.remnants_shown()
    for one in kept.live:
        view = kept.tree.view(one)
        read = {
            stored.entry_id
            for stored in kept.tree.entries
            if stored.entry_id in kept.entries
            and ancestry.shows(view, conversation_id=stored.entry.conversation_id, entry_id=stored.entry_id)
        }
        assert read == {stored.entry_id for stored in kept.tree.sees[one]}


def fork_somewhere(kept: Kept, random: Random) -> None:
    source = random.choice(sorted(kept.live))
    seen = kept.tree.sees[source]
    anchor = random.choice(seen) if seen and random.random() < 0.7 else None
    positions = [ForkPosition.AFTER, *([ForkPosition.BEFORE] if anchor else [ForkPosition.BLANK])]
    kept.live.add(kept.tree.fork(source, random.choice(positions), anchor))

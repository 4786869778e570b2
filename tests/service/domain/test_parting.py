"""Where two views part, compared with the lists of what conversations show."""

from hypothesis import given

from forklore_service.domain import ancestry, parting
from forklore_service.domain.ancestry import Segment, View
from forklore_service.domain.ids import FIRST, LAST
from tests.service.domain.builders import (
    FORK,
    OTHER,
    ROOT,
    TWIG,
    Growth,
    at,
    examples,
)
from tests.service.domain.test_ancestry import HISTORIES, Operations, play, shown

TRUNK = View((Segment(ROOT, LAST),))


def forked(*path: Segment, to: str) -> View:
    return ancestry.view_of(to, path)


def test_a_fork_and_its_root_part_where_the_fork_was_made() -> None:
    fork = forked(Segment(ROOT, at(3)), to=FORK)

    assert parting.shared(TRUNK, fork) == parting.shared(fork, TRUNK) == View((Segment(ROOT, at(3)),))
    assert parting.parting(TRUNK, fork) == at(3)


def test_two_forks_of_one_conversation_part_at_the_earlier_stop() -> None:
    one, other = forked(Segment(ROOT, at(3)), to=FORK), forked(Segment(ROOT, at(5)), to=OTHER)

    assert parting.parting(one, other) == at(3)


def test_forks_of_a_fork_part_in_the_fork() -> None:
    trunk = Segment(ROOT, at(3))
    one = forked(trunk, Segment(FORK, at(7)), to=TWIG)
    other = forked(trunk, Segment(FORK, at(9)), to=OTHER)

    assert parting.shared(one, other) == View((trunk, Segment(FORK, at(7))))
    assert parting.parting(one, forked(trunk, to=OTHER)) == at(3)


def test_a_blank_fork_shares_nothing() -> None:
    assert parting.shared(TRUNK, forked(to=FORK)) == View()
    assert parting.parting(TRUNK, forked(to=FORK)) == FIRST


def test_a_view_shares_all_with_itself() -> None:
    assert parting.shared(TRUNK, TRUNK) == TRUNK
    assert parting.parting(TRUNK, TRUNK) == LAST


@examples(600)
@given(HISTORIES)
def test_views_share_what_both_conversations_show_and_nothing_else(
    history: Operations | Growth,
) -> None:
    tree = play(history)
    sees = {one: [e.entry_id for e in seen] for one, seen in tree.sees.items()}

    for one in tree.paths:
        for other in tree.paths:
            views = tree.view(one), tree.view(other)
            both = [entry_id for entry_id in sees[one] if entry_id in sees[other]]
            parts_at = parting.parting(*views)

            assert shown(parting.shared(*views), tree.entries) == both
            assert [entry_id for entry_id in sees[one] if entry_id < parts_at] == both

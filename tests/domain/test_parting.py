"""Where two views part, beside the plain definition: the entries that both lists begin with."""

import itertools

from hypothesis import given

from forklore.domain import ancestry
from forklore.domain.ids import FIRST, LAST
from forklore.domain.parting import parting
from tests.domain.builders import FORK, ROOT, TWIG, Growth, Tree, at, examples
from tests.domain.test_ancestry import BLANK, HISTORIES, Operations, play


def test_a_fork_parts_from_its_source_where_it_was_made() -> None:
    root = ancestry.view_of(ROOT, ())
    fork = ancestry.view_of(FORK, ancestry.path_before(root, conversation_id=ROOT, entry_id=at(3)))

    assert parting(root, fork) == parting(fork, root) == at(3)


def test_two_forks_part_at_the_earlier_of_their_stops() -> None:
    root = ancestry.view_of(ROOT, ())
    fork, twig = (
        ancestry.view_of(one, ancestry.path_before(root, conversation_id=ROOT, entry_id=at(stop)))
        for one, stop in ((FORK, 3), (TWIG, 5))
    )

    assert parting(fork, twig) == parting(twig, fork) == at(3)


def test_a_view_does_not_part_from_itself() -> None:
    root = ancestry.view_of(ROOT, ())

    assert parting(root, root) == LAST


def test_a_blank_fork_shares_nothing_with_its_source() -> None:
    tree = Tree()
    [root] = tree.conversations
    tree.append(root)
    blank = tree.fork(root, BLANK)

    assert parting(tree.view(root), tree.view(blank)) == FIRST


@given(HISTORIES)
@examples(1_000)
def test_two_views_part_where_their_lists_of_entries_do(history: Operations | Growth) -> None:
    """The lists are kept without paths. Both begin with the same entries, and then share none."""
    tree = play(history)
    everyone = tree.conversations[:12]
    for one, other in itertools.product(everyone, everyone):
        ours, theirs = ([e.entry_id for e in tree.sees[of]] for of in (one, other))
        common = [a for a, b in zip(ours, theirs, strict=False) if a == b]
        at = parting(tree.view(one), tree.view(other))

        assert [e for e in ours if e < at] == [e for e in theirs if e < at] == common
        assert not set(ours[len(common) :]) & set(theirs[len(common) :])
        assert parting(tree.view(other), tree.view(one)) == at

"""Which trees of a file are made first."""

from forklore_local.porting.importing import _rounds

CHILDREN = 2_000


class Number(int):
    """The number of a tree. It counts how often one is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Number.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_parents_are_made_before_their_children() -> None:
    assert list(_rounds(5, {0: 1, 1: 4, 2: 4})) == [[3, 4], [1, 2], [0]]
    assert list(_rounds(0, {})) == []


def test_trees_that_wait_for_each_other_come_last() -> None:
    assert list(_rounds(4, {0: 1, 1: 0, 2: 1})) == [[3], [0, 1, 2]]


def test_each_of_many_children_is_looked_at_a_few_times() -> None:
    waiting: dict[int, int] = {Number(number): Number(0) for number in range(1, CHILDREN)}
    Number.compared = 0

    assert [len(one) for one in _rounds(CHILDREN, waiting)] == [1, CHILDREN - 1]
    assert Number.compared < 10 * CHILDREN

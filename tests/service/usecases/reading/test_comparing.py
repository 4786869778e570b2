"""Compare two conversations: where they part, and how each goes on."""

import pytest

from forklore_service.domain.model import Caller
from forklore_service.errors import ForbiddenError, NotFoundError, ValidationError
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import comparing
from forklore_service.usecases.reading.comparing import Comparison
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    conversation,
    fork,
    large,
    page,
    say,
    texts,
    thought,
)
from tests.service.usecases.deletion.test_branch_removal import remove
from tests.support.tables import Store


def compare(
    table: Table, one: str = ROOT, other: str = FORK, *, by: Caller = ANN, limit: int = 50
) -> Comparison:
    return comparing.compare(table, caller=by, conversation_id=one, other_id=other, limit=limit)


def said(found: Comparison) -> list[list[str]]:
    return [texts(branch.entries) for branch in found.branches]


def test_a_fork_is_compared_with_its_source(table: Table) -> None:
    _, second, third = say(table, ROOT, "A", "B", "C")
    append(table, FORK, "C, edited", "D", fork=(ROOT, third))
    found = compare(table)

    assert (found.base, said(found)) == (second, [["C"], ["C, edited", "D"]])
    assert [branch.conversation_id for branch in found.branches] == [ROOT, FORK]
    turned = compare(table, FORK, ROOT)
    assert (turned.base, turned.branches) == (second, found.branches[::-1])


def test_the_ordinary_list_goes_on_from_the_cursor(table: Table) -> None:
    first, second = say(table, ROOT, "A", "B")
    append(table, FORK, *[f"f{at}" for at in range(5)], fork=(ROOT, second))
    say(table, ROOT, "C")
    found = compare(table, limit=2)

    assert (found.base, said(found)) == (first, [["B", "C"], ["f0", "f1"]])
    assert [branch.after for branch in found.branches] == [None, found.branches[1].entries[-1].entry_id]
    rest = page(table, FORK, after=found.branches[1].after)
    assert texts(rest.entries) == ["f2", "f3", "f4"]


def test_context_is_not_compared(table: Table) -> None:
    [first] = say(table, ROOT, "A")
    fork(table, ROOT, FORK)
    append(table, ROOT, thought("p1"), "B", by=PLANNER)
    append(table, FORK, thought("p1"), by=PLANNER)

    found = compare(table, by=PLANNER)
    assert (found.base, said(found)) == (first, [["B"], []])


def test_only_members_compare_and_only_within_one_tree(store: Store, table: Table) -> None:
    say(table, ROOT, "A")
    fork(table, ROOT, FORK)
    say(table, OTHER, "of another tree")
    say(table, TWIG, "of another user", by=EVE)
    store.add_member(ROOT, "bob")

    assert compare(table, by=BOB).base is not None
    with pytest.raises(ForbiddenError):
        compare(table, by=EVE)
    with pytest.raises(NotFoundError):
        compare(table, conversation(99), ROOT)
    for other in (OTHER, TWIG, conversation(99), "no id", "x" * 1000):
        with pytest.raises(ValidationError) as refused:
            compare(table, ROOT, other)
        assert refused.value.details["field"] == "with"


def test_a_removed_branch_cannot_be_compared_and_its_forks_can(store: Store, table: Table) -> None:
    first, second = say(table, ROOT, "A", "B")
    append(table, FORK, "C", fork=(ROOT, second))
    fork(table, FORK, TWIG)
    remove(table, FORK)

    with pytest.raises(ValidationError):
        compare(table)
    found = compare(table, ROOT, TWIG)
    assert (found.base, said(found)) == (first, [["B"], ["C"]])


def test_both_pages_fit_into_one_answer(table: Table) -> None:
    say(table, ROOT, "A")
    fork(table, ROOT, FORK)
    for _ in range(3):
        append(table, ROOT, large(1_100_000))
        append(table, FORK, large(1_100_000))
    found = compare(table)

    assert [len(branch.entries) for branch in found.branches] == [2, 2]
    assert sum(len(e.content) for branch in found.branches for e in branch.entries) <= PAGE_BYTES_MAX

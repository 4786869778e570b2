import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.cli.graph import ENTRY, FOLD, JOIN, LINE, GraphEntry, GraphLine, draw
from tests.service.domain.builders import examples
from tests.support.growth import takes_at_most


def chain(branch: str, *ids: str, parent: str | None = None) -> list[GraphEntry]:
    """Return entries of one branch, each after the one before; the first after `parent`."""
    parents = [parent, *ids]
    return [GraphEntry(one, branch, before, one) for one, before in zip(ids, parents, strict=False)]


def drawn(entries: list[GraphEntry], *, folded: bool = True, **labels: list[str]) -> list[str]:
    return [f"{line.graph}{line.text}".rstrip() for line in draw(entries, labels=labels, folded=folded)]


def forest(choices: list[tuple[int, bool, bool]]) -> list[GraphEntry]:
    """Return entries in an order of time: any one may be a reply to any older one, or to none.

    Each choice: how far back the parent is, whether the entry goes on with its branch, and whether
    it is a merge.
    """
    entries: list[GraphEntry] = []
    tips: dict[str, str] = {}
    for number, (back, goes_on, merges) in enumerate(choices):
        parent = entries[-back] if 0 < back <= len(entries) else None
        branch = f"b{number}"
        if goes_on and parent is not None and tips[parent.branch] == parent.entry_id:
            branch = parent.branch
        tips[branch] = f"e{number:03}"
        above = parent.entry_id if parent else None
        entries.append(GraphEntry(tips[branch], branch, above, merged_from="b0" if merges else None))
    return entries


CHOICES = st.tuples(st.integers(0, 12), st.booleans(), st.booleans())
FORESTS = st.lists(CHOICES, min_size=1, max_size=40).map(forest)


def test_a_line_of_entries_is_one_column_newest_first() -> None:
    assert drawn(chain("a", "1", "2", "3"), folded=False) == ["* 3", "* 2", "* 1"]


def test_forks_at_one_entry_share_a_column_one_after_the_other() -> None:
    entries = [
        *chain("a", "1", "2"),
        *chain("a", "3", parent="2"),
        *chain("b", "4", "5", parent="2"),
        *chain("c", "6", parent="2"),
    ]

    assert drawn(entries) == ["* 6", "| * 5", "| * 4", "|/", "| * 3", "|/", "* 2", "* 1"]


def test_a_fork_of_a_fork_goes_one_column_further_only_if_both_go_on() -> None:
    entries = [
        *chain("a", "1"),
        *chain("a", "2", parent="1"),
        *chain("b", "3", parent="1"),
        *chain("b", "4", parent="3"),
        *chain("c", "5", parent="3"),
        *chain("d", "6", parent="1"),
    ]

    assert drawn(entries) == ["* 5", "| * 4", "|/", "* 3", "| * 6", "|/", "| * 2", "|/", "* 1"]


def test_a_long_run_is_folded_but_for_its_ends_labels_and_merges() -> None:
    entries = chain("a", *(f"{number:02}" for number in range(1, 41)))
    entries[19] = GraphEntry("20", "a", "19", "20", merged_from="b")

    assert drawn(entries) == ["* 40", ": … 19 entries", "* 20", ": … 18 entries", "* 01"]
    lines = list(draw(entries, labels={"39": ["trip", "main"]}))
    assert [(line.text, line.labels, line.merged_from) for line in lines] == [
        ("40", (), None),
        ("39", ("trip", "main"), None),
        ("… 18 entries", (), None),
        ("20", (), "b"),
        ("… 18 entries", (), None),
        ("01", (), None),
    ]


def test_one_entry_alone_is_not_folded() -> None:
    assert drawn(chain("a", "1", "2", "3")) == ["* 3", "* 2", "* 1"]


def test_blank_forks_stand_apart() -> None:
    assert drawn([*chain("a", "1", "2"), *chain("b", "3")]) == ["* 3", "", "* 2", "* 1"]


def test_a_branch_has_one_colour_and_its_column_has_it_too() -> None:
    entries = [*chain("a", "1"), *chain("a", "2", parent="1"), *chain("b", "3", parent="1")]

    assert [tuple(cell.colour for cell in line.cells) for line in draw(entries)] == [
        (1,),
        (1, 0),
        (0,),
        (0,),
    ]


def test_of_forks_at_one_entry_the_newest_branch_comes_first() -> None:
    entries = [*chain("a", "1"), *chain("b", "2", parent="1"), *chain("a", "3", parent="1")]

    assert drawn(entries) == ["* 2", "| * 3", "|/", "* 1"]


def test_an_entry_before_its_parent_is_an_error() -> None:
    with pytest.raises(ValueError, match="2 does not come after its parent 1"):
        list(draw([GraphEntry("2", "a", "1"), GraphEntry("1", "a", None)]))


def shown_parents(lines: list[GraphLine]) -> dict[str, str | None]:
    """Return the parent of each drawn entry, as a reader follows the cells down."""
    parents: dict[str, str | None] = {}
    ends: list[list[str]] = []  # for each column, the entries whose line goes down in it
    for line in lines:
        if not line.cells:
            assert len(ends) == 1, "a tree ends in one column"
            ends = []
            continue
        kind, column = line.cells[-1].text, len(line.cells) - 1
        if kind == JOIN:
            assert len(ends) == column + 2, "only the last column joins the one to its left"
            ends[column] += ends.pop()
            continue
        assert all(cell.text == LINE for cell in line.cells[:-1])
        if column == len(ends):
            ends.append([])
        assert column == len(ends) - 1, "an entry stands in the last column"
        for entry_id in line.entries:
            parents.update(dict.fromkeys(ends[column], entry_id))
            ends[column] = [entry_id]
    return parents


@examples(300)
@given(FORESTS, st.booleans())
def test_the_lines_lead_from_each_entry_to_its_parent(entries: list[GraphEntry], folded: bool) -> None:
    parents = shown_parents(list(draw(entries, folded=folded)))

    assert parents == {entry.entry_id: entry.parent for entry in entries if entry.parent is not None}


@examples(300)
@given(FORESTS, st.booleans())
def test_each_entry_is_drawn_once_above_its_parent(entries: list[GraphEntry], folded: bool) -> None:
    order = [entry_id for line in draw(entries, folded=folded) for entry_id in line.entries]

    assert Counter(order) == Counter(entry.entry_id for entry in entries)
    at = {entry_id: number for number, entry_id in enumerate(order)}
    assert all(at[entry.entry_id] < at[entry.parent] for entry in entries if entry.parent)


@examples(300)
@given(FORESTS)
def test_the_columns_grow_with_the_logarithm_of_the_branches(entries: list[GraphEntry]) -> None:
    leaves = {entry.entry_id for entry in entries} - {entry.parent for entry in entries}

    assert max(len(line.cells) for line in draw(entries)) <= 1 + math.log2(len(leaves))


@examples(100)
@given(FORESTS)
def test_folded_lines_hide_only_what_is_plain(entries: list[GraphEntry]) -> None:
    by_id = {entry.entry_id: entry for entry in entries}
    replies = Counter(entry.parent for entry in entries)
    for line in draw(entries):
        if line.graph.endswith(FOLD):
            assert len(line.entries) > 1
            assert len({by_id[entry_id].branch for entry_id in line.entries}) == 1
            assert all(replies[entry_id] == 1 for entry_id in line.entries)
            assert not any(by_id[entry_id].merged_from for entry_id in line.entries)
        else:
            assert line.graph.endswith(ENTRY) == (len(line.entries) == 1)


def forked(forks: int) -> list[GraphEntry]:
    """Return a tree of so many forks. Each has ten entries, and the root ten for each fork."""
    entries = chain("root", *(f"{number:05}" for number in range(10 * forks)))
    for fork in range(forks):
        above = entries[(fork * 7919) % len(entries)].entry_id
        entries += chain(f"f{fork}", *(f"{fork}.{number}" for number in range(10)), parent=above)
    return entries


def test_many_forks_are_drawn_in_few_columns_and_take_ten_times_as_long_as_a_tenth_of_them() -> None:
    entries, few = forked(300), forked(30)

    lines = list(draw(entries))

    assert takes_at_most(40, lambda: list(draw(entries)), than=lambda: list(draw(few)))
    assert sum(len(line.entries) for line in lines) == 6_000
    assert max(len(line.cells) for line in lines) <= 10

"""How costs grow with the length of a conversation, with its forks, and with the depth of a chain of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.cases import CASES, ROWS, Case, Knows
from bench.cost import CASCADE, Row
from bench.markdown import table

GROWTH_MAX = 1.1
"""The largest cost on an axis to the smallest that is compared."""
COMPARED = {"entries": (100, 10_000), "forks": (1, 1_000), "chain": (10, 990)}
"""The places of an axis that `make bench` compares."""


def _knows_all(case: Case) -> bool:
    """Tell whether a case reads nothing first: an append to a conversation that the process has met."""
    return case.operation == "appendEntry" and case.knows is not Knows.NOTHING


_PATH = "33 bytes of PATH a segment are read, and written by a fork"
_SHORT = "33 bytes of PATH a segment; a page of many short segments, for which the tree is read in order"
_EACH = "each conversation is closed, or removed"
_ALL_HEADS = "all HEADs of a tree say which fork is the latest"
GROWS: Mapping[str, Mapping[str, str]] = {
    "entries": {
        "newest page, of a fork": "with 100 entries a fork shows half a page",
        "newest page, of a fork, warm": "with 100 entries a fork shows half a page",
        "page after a cursor": "with 100 entries half a page follows",
        CASCADE: "each entry is removed",
    },
    "forks": {
        "forks": f"a page is full from {ROWS} on",
        "conversations, latest forks": _ALL_HEADS,
        "conversations, all": "two items are read of each fork that is shown",
        "delete, all": _EACH,
        CASCADE: _EACH,
    },
    "chain": {
        **dict.fromkeys([name for name, case in CASES.items() if not _knows_all(case)], _PATH),
        **dict.fromkeys([name for name, case in CASES.items() if case.operation == "listEntries"], _SHORT),
        "forks": f"a page is full from {ROWS} on",
        "conversations, latest forks": _ALL_HEADS,
        "conversations, all": "two items are read of each fork that is shown",
        "delete, all": _EACH,
        CASCADE: _EACH,
    },
}
"""What may grow along an axis, and why. What is not named here must not."""


@dataclass(frozen=True)
class Growth:
    """What a case costs at two places of an axis: rounds, read units, write units.

    ratio: by how much that grows which grows most.
    """

    name: str
    small: tuple[float, ...]
    large: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return max(
            after / before if before else (1.0 if not after else float("inf"))
            for before, after in zip(self.small, self.large, strict=True)
        )


def growth(small: Sequence[Row], large: Sequence[Row]) -> list[Growth]:
    """Return how each case's costs grow from one shape to another."""
    before = {row.name: _figures(row) for row in small}
    return [Growth(row.name, before[row.name], _figures(row)) for row in large if row.name in before]


def _figures(row: Row) -> tuple[float, ...]:
    return (row.cost.rounds, row.cost.read_units, row.cost.write_units)


def unexplained(axis: str, small: Sequence[Row], large: Sequence[Row]) -> list[Growth]:
    """Return what grows along an axis and should not."""
    return [one for one in growth(small, large) if one.ratio > GROWTH_MAX and one.name not in GROWS[axis]]


def growth_table(axis: str, places: Sequence[Sequence[Row]]) -> str:
    """Return what changes along an axis, in Markdown: rounds / read units / write units at each place."""
    by_name = [{row.name: _figures(row) for row in rows} for rows in places]
    wrong = {one.name for one in unexplained(axis, *compared(axis, places))}
    cells = []
    for name in dict.fromkeys(name for rows in by_name for name in rows):
        figures = [rows.get(name) for rows in by_name]
        if len(set(filter(None, figures))) > 1:
            spelled = ["–" if one is None else " / ".join(f"{n:g}" for n in one) for one in figures]
            why = "**unexplained**" if name in wrong else GROWS[axis].get(name, "")
            cells.append([name, *spelled, why])
    heads = [f"{getattr(rows[0].shape, axis):,}" for rows in places]
    return table([axis, *heads, "why"], cells)


def compared(axis: str, places: Sequence[Sequence[Row]]) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the rows at the two places of an axis that are compared."""
    small, large = (next(r for r in places if getattr(r[0].shape, axis) == at) for at in COMPARED[axis])
    return small, large

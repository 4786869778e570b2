"""How the cost of a case grows with entries, forks, the depth of a fork, and the text."""

from collections.abc import Iterator, Mapping, Sequence

from tools.bench.cases import ROWS
from tools.bench.cost import CASCADE, Row
from tools.bench.judging import verdict
from tools.bench.limits import Limit, Missed, is_met
from tools.bench.markdown import table

GROWTH_MAX = 1.1
"""A cost may be this many times the cost on the smaller shape."""
READ_UNITS_MORE = {"chain": 7}
"""How many read units more are allowed on the larger shape of an axis: the fork's PATH is read."""
COMPARED = {"entries": (100, 10_000), "forks": (1, 1_000), "chain": (10, 990)}
"""The two places of each axis that are compared. The axis entry_bytes is shown, but not judged."""

_HALF_PAGE = "with 100 entries only half a page is shown"
_PAGE_IS_FULL = "the page is full from 20 forks on"
_NEWEST_FORKS = "the HEAD items of the tree's newest forks are read"
_TWO_A_ROW = "two items are read for each fork on the page"
_HUNDRED = "the page names 100 alternatives of one place"
_CLOSED = "each conversation is closed"
_REMOVED = "each entry and each conversation is removed"
_PATH = "the new fork's PATH names all its ancestors"
_SEGMENTS = "the page consists of many short segments"
_SEARCHED = "more is searched, up to the bound of one request"
GROWS: Mapping[str, Mapping[str, Missed]] = {
    "entries": {
        "newest page, of a fork": Missed(_HALF_PAGE, Limit(3, 24, 0)),
        "newest page, of a fork, warm": Missed(_HALF_PAGE, Limit(2, 19, 0)),
        "newest page, of a fork, with alternatives": Missed(_HALF_PAGE, Limit(3, 28, 0)),
        "page after a cursor": Missed(_HALF_PAGE, Limit(2, 19, 0)),
        "search, a page": Missed(_SEARCHED, Limit(24, 195, 0)),
        "search, nothing found": Missed(_SEARCHED, Limit(21, 1056, 0)),
        CASCADE: Missed(_REMOVED, Limit(43, 2513, 22080)),
    },
    "forks": {
        "newest page, with alternatives": Missed(_HUNDRED, Limit(4, 27, 0)),
        "first page, with alternatives": Missed(_HUNDRED, Limit(4, 27, 0)),
        "newest page, of a fork, with alternatives": Missed(_HUNDRED, Limit(4, 29, 0)),
        "forks": Missed(_PAGE_IS_FULL, Limit(3, 27, 0)),
        "conversations, latest forks": Missed(_NEWEST_FORKS, Limit(5, 89, 0)),
        "conversations, all": Missed(_TWO_A_ROW, Limit(4, 105, 0)),
        "search, a page": Missed(_SEARCHED, Limit(22, 188, 0)),
        "search, nothing found": Missed(_SEARCHED, Limit(11, 153, 0)),
        "delete, all": Missed(_CLOSED, Limit(13, 180, 4321)),
        CASCADE: Missed(_REMOVED, Limit(23, 470, 6818)),
    },
    "chain": {
        "append, to a new fork": Missed(_PATH, Limit(3, 20, 48)),
        "append with context, to a new fork": Missed(_PATH, Limit(5, 29, 88)),
        "fork, before an entry": Missed(_PATH, Limit(4, 21, 44)),
        "fork, at the head": Missed(_PATH, Limit(3, 17, 78)),
        "fork, at the head, that moves a name": Missed(_PATH, Limit(3, 18, 80)),
        "fork, before an entry, that moves a name": Missed(_PATH, Limit(4, 22, 46)),
        "fork, at a key": Missed(_PATH, Limit(5, 21, 78)),
        "fork, 10 at once": Missed(_PATH, Limit(4, 21, 404)),
        f"merge, {ROWS} entries": Missed("the PATHs of both conversations are read", Limit(4, 33, 84)),
        "newest page": Missed(_SEGMENTS, Limit(4, 44, 0)),
        "newest page, warm": Missed(_SEGMENTS, Limit(3, 39, 0)),
        "page after a cursor": Missed(_SEGMENTS, Limit(4, 45, 0)),
        "newest page, with alternatives": Missed(
            "the forks of each segment's owner are read, and how it goes on", Limit(5, 146, 0)
        ),
        "ancestors": Missed("each ancestor is named, with its last entry that is shown", Limit(12, 1997, 0)),
        "latest epoch": Missed(f"{_SEGMENTS}, and is full", Limit(4, 45, 0)),
        "forks": Missed(_PAGE_IS_FULL, Limit(4, 39, 0)),
        "conversations, latest forks": Missed(_NEWEST_FORKS, Limit(5, 89, 0)),
        "conversations, all": Missed(_TWO_A_ROW, Limit(4, 105, 0)),
        "search, a page": Missed(_SEARCHED, Limit(20, 183, 0)),
        "search, nothing found": Missed(_SEARCHED, Limit(17, 290, 0)),
        "delete, all": Missed(_CLOSED, Limit(14, 191, 4277)),
        CASCADE: Missed(_REMOVED, Limit(44, 4712, 25302)),
    },
}
"""What grows along an axis, with its measured cost on the larger of the two shapes.

No other case may grow."""


def growth_of(
    axis: str, small: Sequence[Row], large: Sequence[Row], grows: Mapping[str, Missed]
) -> Iterator[tuple[str, str]]:
    """Yield each case that is on both shapes, with its verdict. An empty verdict: it does not grow.

    grows: the cases that may grow, each with its measured cost on the larger shape.
    """
    before = {row.name: row for row in small}
    for row in large:
        if row.name in before:
            missed = grows.get(row.name)
            is_accepted = missed is not None and is_met(row, missed.accepted)
            is_held = is_met(row, _most(axis, before[row.name]))
            yield row.name, verdict(is_held, is_accepted=is_accepted, why=missed.why if missed else None)


def _most(axis: str, small: Row) -> Limit:
    """Return what a case may cost on the larger shape of an axis."""
    cost = small.cost
    return Limit(
        int(GROWTH_MAX * cost.rounds),
        GROWTH_MAX * cost.read_units + READ_UNITS_MORE.get(axis, 0),
        int(GROWTH_MAX * cost.write_units),
    )


def growth_table(axis: str, places: Sequence[Sequence[Row]]) -> str:
    """Return a table in Markdown of the costs that change: rounds / read units / write units.

    places: the rows of each shape of the axis, in order.
    """
    costs = [{row.name: _spelled(row) for row in rows} for rows in places]
    heads = [f"{getattr(rows[0].shape, axis):,}" for rows in places]
    said = dict(growth_of(axis, *compared(axis, places), GROWS[axis])) if axis in COMPARED else {}
    cells = []
    for name in dict.fromkeys(name for of_shape in costs for name in of_shape):
        figures = [of_shape.get(name) for of_shape in costs]
        if len(set(filter(None, figures))) > 1:
            cells.append([name, *(figure or "–" for figure in figures), said.get(name, "")])
    return table([axis.replace("_", " "), *heads, "verdict"], cells)


def _spelled(row: Row) -> str:
    return f"{row.cost.rounds} / {row.cost.read_units:g} / {row.cost.write_units}"


def compared(axis: str, places: Sequence[Sequence[Row]]) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the rows of the two shapes of an axis that are compared."""
    small, large = (next(r for r in places if getattr(r[0].shape, axis) == at) for at in COMPARED[axis])
    return small, large

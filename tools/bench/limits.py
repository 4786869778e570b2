"""The limits of the costs on the base shape: targets for each case, and multiples of the floor."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tools.bench.cases import CASES, ROWS
from tools.bench.cost import CASCADE, Row
from tools.bench.judging import verdict
from tools.bench.markdown import table
from tools.bench.shapes import CHILDREN, MEMBERS


@dataclass(frozen=True)
class Limit:
    """What a case may cost on the base shape. None: there is no limit.

    write_ratio, read_ratio: units by those of the floor, where they are limited.
    """

    rounds: int | None = None
    read_units: float | None = None
    write_units: int | None = None
    write_ratio: float | None = None
    read_ratio: float | None = None


PATH_UNITS = 1
"""What a path of a few segments takes to read."""
APPEND_RATIO, PAGE_RATIO, CASCADE_RATIO = 3, 2.2, 2
LIMITS: Mapping[str, Limit] = {
    "append": Limit(1, 0, 6, write_ratio=APPEND_RATIO),
    "append, with a key": Limit(1, 0, 8),
    "append, other member": Limit(1, 0, 8),
    "append, to a fork": Limit(1, 0, 6, write_ratio=APPEND_RATIO),
    "append, context": Limit(1, 0, 8),
    "append, cold": Limit(2, 5, 6, write_ratio=APPEND_RATIO),
    "append, to a new conversation": Limit(2, 8, 20),
    "append, to a new fork": Limit(2, 8 + PATH_UNITS, 20),
    "append, to a new child": Limit(2, 8, 20 + 4 * MEMBERS),
    "create": Limit(2, 8, 20),
    "fork, before an entry": Limit(2, 8 + PATH_UNITS, 20),
    "fork, at the head": Limit(2, 8 + PATH_UNITS, 20),
    "newest page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "newest page, warm": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "newest page, of a fork": Limit(3, 16 + PATH_UNITS, 0, read_ratio=PAGE_RATIO),
    "newest page, of a fork, warm": Limit(2, 16 + PATH_UNITS, 0, read_ratio=PAGE_RATIO),
    "newest page, an agent's": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "first page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "page after a cursor": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "page, all forks": Limit(2, None, 0, read_ratio=PAGE_RATIO),
    "latest epoch": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "admin: newest page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "forks": Limit(3, 60, 0),
    "children": Limit(3, 60, 0),
    "conversations, roots": Limit(3, 80, 0),
    "conversations, latest forks": Limit(3, 80, 0),
    "conversations, all": Limit(3, 80, 0),
    "delete": Limit(5, None, 6 + 4),
    "delete, all": Limit(5),
    CASCADE: Limit(write_ratio=CASCADE_RATIO),
}


@dataclass(frozen=True)
class Missed:
    """Why a limit is not held, and the rounds, read units and write units that are accepted instead."""

    why: str
    accepted: Limit


_BATCH = f"one batch of 4 items a tree; a Query a tree would be 3 units less each, and {ROWS} requests more"
_BOTH = Missed("50 of each channel are read, as any of them may be shown", Limit(2, 28, 0))
_NAMED = Missed("each entry names in 36 bytes what was shown before it", Limit(2, 17, 0))
MISSED: Mapping[str, Missed] = {
    "append, to a new child": Missed(
        "the parent's members are read after the version that they are held to", Limit(3, 8, 32)
    ),
    "newest page, of a fork": Missed(
        "its id is taken for a root's first: 5 units for nothing; half a page is shown", Limit(3, 17, 0)
    ),
    "newest page": _NAMED,
    "first page": _NAMED,
    "newest page, an agent's": _BOTH,
    "admin: newest page": _BOTH,
    "page, all forks": Missed(
        "the tree is read in order, context among it, until a page is full", Limit(3, 29, 0)
    ),
    "latest epoch": Missed("10 entries are shown: what decides weighs more", Limit(2, 9, 0)),
    "children": Missed(_BATCH, Limit(3, 86, 0)),
    "conversations, roots": Missed(
        f"{_BATCH}; one tree more, to know whether a page follows", Limit(2, 85, 0)
    ),
    "conversations, latest forks": Missed(
        "as roots; then HEADs, and then what the latest is", Limit(4, 88, 0)
    ),
    "conversations, all": Missed("as roots; then TREE, and then what it names", Limit(4, 108, 0)),
    "delete, all": Missed(
        f"{CHILDREN} children are counted, buried, closed and forgotten", Limit(9, 51, 297)
    ),
}
"""What is not named here must hold."""
assert set(MISSED) <= set(LIMITS) <= {*CASES, CASCADE}


def limits_of(rows: Iterable[Row]) -> Iterator[tuple[Row, Limit, str]]:
    """Yield the rows that are limited, with what is said of them; nothing of one that holds its limit."""
    for row in rows:
        limit, missed = LIMITS.get(row.name), MISSED.get(row.name)
        if limit is not None:
            is_accepted = missed is not None and _holds(row, missed.accepted)
            said = verdict(_holds(row, limit), is_accepted=is_accepted, why=missed.why if missed else None)
            yield row, limit, said


def _holds(row: Row, limit: Limit) -> bool:
    cost, least = row.cost, row.least
    pairs = [
        (cost.rounds, limit.rounds),
        (cost.read_units, limit.read_units),
        (cost.write_units, limit.write_units),
        (cost.write_units, limit.write_ratio and limit.write_ratio * least.write_units),
        (cost.read_units, limit.read_ratio and limit.read_ratio * least.read_units),
    ]
    return all(most is None or taken <= most for taken, most in pairs)


def limits_table(rows: Iterable[Row]) -> str:
    """Return the limits in Markdown: what is taken of what is allowed, and accepted where that is more."""
    cells = []
    for row, limit, said in limits_of(rows):
        taken = [row.cost.rounds, row.cost.read_units, row.cost.write_units]
        pairs = zip(taken, [limit.rounds, limit.read_units, limit.write_units], strict=True)
        figures = [f"{have:g}" + ("" if most is None else f" of {most:g}") for have, most in pairs]
        cells.append([row.name, *figures, _ratio(row, limit), _accepted(row.name), said])
    return table(["operation", "rounds", "read units", "write units", "by the floor", "accepted", ""], cells)


def _accepted(name: str) -> str:
    missed = MISSED.get(name)
    if missed is None:
        return ""
    most = missed.accepted
    return f"{most.rounds} / {most.read_units:g} / {most.write_units}"


def _ratio(row: Row, limit: Limit) -> str:
    if limit.write_ratio:
        return f"{row.cost.write_units / row.least.write_units:.1f} of {limit.write_ratio:g}"
    if limit.read_ratio:
        return f"{row.cost.read_units / row.least.read_units:.1f} of {limit.read_ratio:g}"
    return ""

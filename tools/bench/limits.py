"""What each operation may cost on the base shape, and what is accepted where it costs more."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tools.bench.cases import CASES
from tools.bench.cost import CASCADE, COUNT, Row
from tools.bench.judging import verdict
from tools.bench.markdown import table
from tools.bench.moving import EXPORT, IMPORT


@dataclass(frozen=True)
class Limit:
    """The maximum cost of a case on the base shape. None: no limit.

    write_ratio, read_ratio: the maximum of the units divided by those of the floor.
    """

    rounds: int | None = None
    read_units: float | None = None
    write_units: int | None = None
    write_ratio: float | None = None
    read_ratio: float | None = None


APPEND_RATIO, PAGE_RATIO, CASCADE_RATIO = 3, 2.2, 2
EXPORT_RATIO, IMPORT_RATIO = 2, 2.2
LIMITS: Mapping[str, Limit] = {
    "append": Limit(1, 0, 6, write_ratio=APPEND_RATIO),
    "append, with a key": Limit(1, 0, 8),
    "append, by a name": Limit(1, 0, 8),
    "append, with a key of its own": Limit(1, 0, 8),
    "append, other member": Limit(1, 0, 8),
    "append, to a fork": Limit(1, 0, 6, write_ratio=APPEND_RATIO),
    "append, context": Limit(1, 0, 8),
    "append with context": Limit(2, 6, 12),
    "append with context, cold": Limit(2, 6, 12),
    "append, cold": Limit(2, 5, 6, write_ratio=APPEND_RATIO),
    "append, to a new conversation": Limit(2, 8, 20),
    "append, to a new fork": Limit(2, 9, 20),
    "append, to a new child": Limit(2, 8, 32),
    "create": Limit(2, 8, 20),
    "fork, before an entry": Limit(2, 9, 20),
    "fork, at the head": Limit(2, 9, 20),
    "promote": Limit(2, 8, 4),
    "promote, other member": Limit(2, 8, 6),
    "fork, at the head, that moves a name": Limit(2, 9, 18),
    "fork, before an entry, that moves a name": Limit(2, 9, 18),
    "newest page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "newest page, warm": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "newest page, of a fork": Limit(3, 17, 0, read_ratio=PAGE_RATIO),
    "newest page, of a fork, warm": Limit(2, 17, 0, read_ratio=PAGE_RATIO),
    "newest page, an agent's": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "first page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "page after a cursor": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "page, all forks": Limit(2, None, 0, read_ratio=PAGE_RATIO),
    "newest page, with alternatives": Limit(2, 17, 0),
    "first page, with alternatives": Limit(2, 17, 0),
    "newest page, of a fork, with alternatives": Limit(3, 19, 0),
    "compare": Limit(3, 34, 0),
    "admin: compare": Limit(3, 34, 0),
    "latest epoch": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "admin: newest page": Limit(2, 16, 0, read_ratio=PAGE_RATIO),
    "forks": Limit(3, 60, 0),
    "children": Limit(3, 60, 0),
    "conversations, roots": Limit(3, 64, 0),
    "conversations, current": Limit(3, 64, 0),
    "conversations, latest forks": Limit(3, 64, 0),
    "conversations, all": Limit(3, 64, 0),
    "delete": Limit(5, None, 10),
    "delete a branch": Limit(4, 12, 20),
    "delete a branch, the current one": Limit(4, 12, 20),
    "delete, all": Limit(5),
    COUNT: Limit(1, 0, 1),
    CASCADE: Limit(write_ratio=CASCADE_RATIO),
    EXPORT: Limit(read_ratio=EXPORT_RATIO),
    IMPORT: Limit(write_ratio=IMPORT_RATIO),
}


@dataclass(frozen=True)
class Missed:
    """Why a limit is missed, and the measured rounds, read units and write units."""

    why: str
    accepted: Limit


_BATCH = (
    "4 items of each tree are read in one batch; a Query for each tree would save 3 units a tree,"
    " but send 20 requests more"
)
_BOTH = Missed("50 entries of each channel are read, because any of them may be shown", Limit(2, 31, 0))
_IN_TURNS = "each entry holds what is shown before it, and its turn, in 136 bytes"
_COLD = Missed(_IN_TURNS, Limit(2, 18, 0))
_WARM = Missed(_IN_TURNS, Limit(2, 17, 0))
_WITH_ALTERNATIVES = Missed(_IN_TURNS, Limit(2, 19, 0))
_LOOKED_UP = Missed(
    "the fork's id is first looked up as a root's, with the other conversation, for 7 units", Limit(3, 39, 0)
)
MISSED: Mapping[str, Missed] = {
    "newest page, with alternatives": _WITH_ALTERNATIVES,
    "first page, with alternatives": _WITH_ALTERNATIVES,
    "newest page, of a fork, with alternatives": Missed(
        "where the view leaves the root, it is also read how the root goes on and whether it was deleted",
        Limit(3, 22, 0),
    ),
    "compare": _LOOKED_UP,
    "admin: compare": _LOOKED_UP,
    "append, to a new child": Missed(
        "the parent's members are read after their version, in a round of their own", Limit(3, 8, 32)
    ),
    "newest page, of a fork": Missed(
        "the fork's id is first looked up as a root's, for 5 units; only half a page is shown",
        Limit(3, 18, 0),
    ),
    "newest page": _COLD,
    "newest page, warm": _WARM,
    "first page": _COLD,
    "newest page, an agent's": _BOTH,
    "admin: newest page": _BOTH,
    "page, all forks": Missed(
        "the tree is read in order, with its context entries, until a page is full; beside that, the"
        " list of removed branches, for 1 unit",
        Limit(3, 32, 0),
    ),
    "latest epoch": Missed("only 10 entries are shown, so the check of access weighs more", Limit(2, 9, 0)),
    "children": Missed(_BATCH, Limit(3, 86, 0)),
    "delete a branch, the current one": Missed(
        "the branch that becomes the current one is looked for, and the children after the removal",
        Limit(5, 12, 20),
    ),
    "delete, all": Missed(
        "the 20 children, and the forks of the other cases, are counted, closed and retired",
        Limit(10, 53, 365),
    ),
}
"""A case that is not named here must meet its limit."""
assert set(MISSED) <= set(LIMITS) <= {*CASES, COUNT, CASCADE, EXPORT, IMPORT}


def limits_of(rows: Iterable[Row]) -> Iterator[tuple[Row, Limit, str]]:
    """Yield each row that has a limit, the limit, and the verdict; an empty verdict: met."""
    for row in rows:
        limit, missed = LIMITS.get(row.name), MISSED.get(row.name)
        if limit is not None:
            is_accepted = missed is not None and is_met(row, missed.accepted)
            why = missed.why if missed else None
            yield row, limit, verdict(is_met(row, limit), is_accepted=is_accepted, why=why)


def is_met(row: Row, limit: Limit) -> bool:
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
    """Return a table in Markdown: each measured figure, its limit, and the accepted figures."""
    cells = []
    for row, limit, said in limits_of(rows):
        measured = [row.cost.rounds, row.cost.read_units, row.cost.write_units]
        pairs = zip(measured, [limit.rounds, limit.read_units, limit.write_units], strict=True)
        figures = [f"{have:g}" + ("" if most is None else f" of {most:g}") for have, most in pairs]
        cells.append([row.name, *figures, _ratio(row, limit), _accepted(row.name), said])
    return table(
        ["operation", "rounds", "read units", "write units", "times the floor", "accepted", "verdict"], cells
    )


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

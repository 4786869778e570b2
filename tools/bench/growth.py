"""How costs grow with the length of a conversation, its forks, the depth of a chain of them, and the text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

from forklore.domain.ancestry import SEGMENT_BYTES
from forklore.domain.paging import SEGMENTS_SIDE_BY_SIDE
from forklore.storage.bodies import INLINE_BYTES_MAX
from forklore.usecases.cascade import ERASED_AT_ONCE
from forklore.usecases.closing import CLOSED_AT_ONCE
from forklore.usecases.lists import NEWEST_FORKS
from tools.bench.cases import CASES, PAGE, ROWS, Case, Knows
from tools.bench.cost import CASCADE, Row
from tools.bench.judging import UNEXPLAINED
from tools.bench.markdown import table
from tools.bench.shapes import BATCH_ENTRIES, EPOCH_ENTRIES, OWN_ENTRIES, Shape
from tools.bench.units import IN_TRANSACTION, READ_BYTES, WRITE_BYTES

GROWTH_MAX = 1.1
"""The largest cost on an axis to the smallest that is compared, where there is no reason for more."""
COMPARED = {"entries": (100, 10_000), "forks": (1, 1_000), "chain": (10, 990), "entry_bytes": (1024, 4096)}
"""The places of an axis that `make bench` compares."""
PATH_BYTES, HEAD_BYTES, OTHER_BYTES = 128, 560, 512
"""What they are here at the most: a PATH beside its segments; a HEAD; a CONV, TREE and CTX together."""
APPENDED, FORKED = 70, 3
"""How many entries the cases append before the tree is deleted, and how many forks they make of its end."""
QUERY_BYTES = 1 << 20
"""What one answer of a Query reads at the most."""


class Units(NamedTuple):
    """What a request takes."""

    rounds: float = 0
    read: float = 0
    write: float = 0


@dataclass(frozen=True)
class Reason:
    """Why a request may cost more along an axis. cost: what that comes to on a shape at the most."""

    why: str
    cost: Callable[[Shape], Units]


def _reads(size: float) -> int:
    return ceil(size / READ_BYTES)


def _writes(size: float) -> int:
    return ceil(size / WRITE_BYTES)


def _stored_bytes(shape: Shape) -> float:
    """Return the size of an entry: its text compressed, and what is beside it."""
    return 0.55 * shape.entry_bytes + 356


def _path_bytes(depth: int) -> int:
    return SEGMENT_BYTES * depth + PATH_BYTES


def _conversations(shape: Shape) -> int:
    """Return how many there are beside the root."""
    return shape.forks + shape.chain


def _removed(shape: Shape) -> Units:
    """Return what the worker takes for the entries, and for CONV, TREE, PATH and, in a chain, CTX."""
    entries = shape.entries + shape.forks + OWN_ENTRIES * shape.chain + APPENDED
    others = 3 * shape.forks + 4 * shape.chain
    depths = [1] * shape.forks + [*range(1, shape.chain + 1)] + [shape.chain + 1] * FORKED
    paths = [*map(_path_bytes, depths)]
    read = entries * _stored_bytes(shape) + _conversations(shape) * OTHER_BYTES + sum(paths)
    return Units(
        ceil(entries / ERASED_AT_ONCE) + ceil(others / ERASED_AT_ONCE) + ceil(read / QUERY_BYTES),
        _reads(read),
        2 * _writes(_stored_bytes(shape)) * entries + others - len(paths) + sum(map(_writes, paths)),
    )


def _in_order(shape: Shape) -> Units:
    """Return what a page takes that reads the tree in order, context among it, in a round more."""
    is_many = shape.chain > SEGMENTS_SIDE_BY_SIDE
    entries = min(shape.chain, PAGE) * OWN_ENTRIES + is_many * (PAGE + 1)
    return Units(rounds=is_many, read=_reads(entries * _stored_bytes(shape)))


def _shown(entries: int) -> Reason:
    return Reason(
        "entries of more bytes are read", lambda of: Units(read=_reads(entries * _stored_bytes(of)))
    )


def _put(entries: int) -> Reason:
    """Each entry is written in a transaction, and into the index."""
    return Reason(
        "entries of more bytes are written",
        lambda of: Units(write=2 * IN_TRANSACTION * entries * _writes(_stored_bytes(of))),
    )


_PATH = Reason(
    f"{SEGMENT_BYTES} bytes of PATH a segment are read",
    lambda of: Units(read=_reads(_path_bytes(of.chain))),
)
_FORKED = Reason(
    "and written by a fork",
    lambda of: Units(write=IN_TRANSACTION * _writes(_path_bytes(of.chain))),
)
_SHORT = Reason("a page of many short segments, for which the tree is read in order", _in_order)
_LONG_EPOCH = Reason("a page is full, in a second round", lambda of: Units(rounds=of.chain >= PAGE))
_ENTRY_BEFORE = Reason(
    "the entry before is another segment's, which takes a round",
    lambda of: Units(rounds=of.chain > of.entries / 2, read=of.chain > of.entries / 2),
)
_HALF_PAGE = Reason(
    "with 100 entries half a page is shown",
    lambda of: Units(read=_reads(min(of.entries / 4, PAGE) * _stored_bytes(of))),
)
_ROWS = Reason(f"a page is full from {ROWS} on", lambda of: Units(read=min(ROWS, _conversations(of))))
_TWO_A_ROW = Reason(
    "two items are read of each fork that is shown",
    lambda of: Units(read=2 * min(ROWS, _conversations(of))),
)
_HEADS = Reason(
    f"HEADs say which fork is the latest: all, or those of {NEWEST_FORKS} forks, in a round more",
    lambda of: (
        Units(read=_reads(HEAD_BYTES * _conversations(of)))
        if _conversations(of) <= NEWEST_FORKS
        else Units(rounds=1, read=NEWEST_FORKS + _reads(HEAD_BYTES * NEWEST_FORKS))
    ),
)
_CLOSED = Reason(
    "each conversation is closed: its HEAD read, and two items written",
    lambda of: Units(
        rounds=_conversations(of) > CLOSED_AT_ONCE,
        read=_reads(HEAD_BYTES * _conversations(of)),
        write=2 * IN_TRANSACTION * _conversations(of),
    ),
)
_REMOVED = Reason("each entry and each conversation is removed", _removed)
_CHUNKS = Reason(
    f"{ROWS} texts that do not fit in their entry are read beside it",
    lambda of: Units(
        rounds=ROWS * _stored_bytes(of) > INLINE_BYTES_MAX, read=_reads(ROWS * _stored_bytes(of))
    ),
)


def _is_page(case: Case) -> bool:
    return case.operation == "listEntries"


def _knows_all(case: Case) -> bool:
    """Tell whether a case reads nothing first: an append to a conversation that the process has met."""
    return case.operation == "appendEntry" and case.knows is not Knows.NOTHING


GROWS: Mapping[str, Mapping[str, Sequence[Reason]]] = {
    "entries": {
        "newest page, of a fork": [_HALF_PAGE],
        "newest page, of a fork, warm": [_HALF_PAGE],
        "page after a cursor": [_HALF_PAGE],
        CASCADE: [_REMOVED],
    },
    "forks": {
        "forks": [_ROWS],
        "conversations, latest forks": [_HEADS],
        "conversations, all": [_TWO_A_ROW],
        "delete, all": [_CLOSED],
        CASCADE: [_REMOVED],
    },
    "chain": {
        **{name: [_PATH] for name, case in CASES.items() if not _knows_all(case)},
        **{name: [_PATH, _SHORT] for name, case in CASES.items() if _is_page(case)},
        "latest epoch": [_PATH, _SHORT, _LONG_EPOCH],
        "append, to a new fork": [_PATH, _FORKED],
        "fork, at the head": [_PATH, _FORKED],
        "fork, before an entry": [_PATH, _FORKED, _ENTRY_BEFORE],
        "forks": [_PATH, _ROWS],
        "conversations, latest forks": [_HEADS],
        "conversations, all": [_TWO_A_ROW],
        "delete, all": [_PATH, _CLOSED],
        CASCADE: [_REMOVED],
    },
    "entry_bytes": {
        **{name: [_put(1)] for name, case in CASES.items() if case.operation == "appendEntry"},
        **{name: [_shown(PAGE + 1)] for name, case in CASES.items() if _is_page(case)},
        "newest page, of a fork": [_shown(PAGE // 2 + 1)],
        "newest page, of a fork, warm": [_shown(PAGE // 2 + 1)],
        "page after a cursor": [_shown(PAGE // 2 + 1)],
        "latest epoch": [_shown(EPOCH_ENTRIES // 2 + 1)],
        f"append, {BATCH_ENTRIES} at once": [_put(BATCH_ENTRIES)],
        "newest page, an agent's": [_shown(2 * (PAGE + 1))],
        "page, all forks": [_shown(2 * (PAGE + 1))],
        "sync": [_put(1), _CHUNKS],
        CASCADE: [_REMOVED],
    },
}
"""What may grow along an axis, and why: by what the reasons cost. What is not named here must not."""


@dataclass(frozen=True)
class Growth:
    """What a case costs at two places of an axis. most: what it may cost at the second."""

    name: str
    small: Units
    large: Units
    most: Units

    @property
    def is_explained(self) -> bool:
        return all(taken <= most for taken, most in zip(self.large, self.most, strict=True))


def growth(axis: str, small: Sequence[Row], large: Sequence[Row]) -> list[Growth]:
    """Return how each case's costs grow from one place of an axis to another."""
    before = {row.name: row for row in small}
    return [_growth(axis, before[row.name], row) for row in large if row.name in before]


def _growth(axis: str, small: Row, large: Row) -> Growth:
    taken = _units(small)
    figures = zip(taken, _explained(axis, small), _explained(axis, large), strict=True)
    most = Units(*(max(GROWTH_MAX * have, have + after - before) for have, before, after in figures))
    return Growth(large.name, taken, _units(large), most)


def _explained(axis: str, row: Row) -> Units:
    """Return what all reasons of a case come to on its shape."""
    reasons = GROWS[axis].get(row.name, ())
    return Units(*map(sum, zip(Units(), *(one.cost(row.shape) for one in reasons), strict=True)))


def _units(row: Row) -> Units:
    return Units(row.cost.rounds, row.cost.read_units, row.cost.write_units)


def unexplained(axis: str, small: Sequence[Row], large: Sequence[Row]) -> list[Growth]:
    """Return what grows along an axis by more than there is a reason for."""
    return [one for one in growth(axis, small, large) if not one.is_explained]


def growth_table(axis: str, places: Sequence[Sequence[Row]]) -> str:
    """Return what changes along an axis, in Markdown: rounds / read units / write units at each place.

    Beside it, what it may be at the larger place that is compared.
    """
    by_name = [{row.name: _units(row) for row in rows} for rows in places]
    grown = {one.name: one for one in growth(axis, *compared(axis, places))}
    cells = []
    for name in dict.fromkeys(name for rows in by_name for name in rows):
        figures = [rows.get(name) for rows in by_name]
        if len(set(filter(None, figures))) > 1:
            spelled = ["–" if one is None else _spelled(one) for one in figures]
            most = _spelled(Units(*map(floor, grown[name].most))) if name in grown else ""
            cells.append([name, *spelled, most, _why(axis, name, grown.get(name))])
    heads = [f"{getattr(rows[0].shape, axis):,}" for rows in places]
    return table([axis.replace("_", " "), *heads, f"at {COMPARED[axis][1]:,} at most", "why"], cells)


def _spelled(units: Units) -> str:
    return " / ".join(f"{n:g}" for n in units)


def _why(axis: str, name: str, grown: Growth | None) -> str:
    why = "; ".join(one.why for one in GROWS[axis].get(name, ()))
    return why if grown is None or grown.is_explained else f"{UNEXPLAINED} {why}".strip()


def compared(axis: str, places: Sequence[Sequence[Row]]) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the rows at the two places of an axis that are compared."""
    small, large = (next(r for r in places if getattr(r[0].shape, axis) == at) for at in COMPARED[axis])
    return small, large

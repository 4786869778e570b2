"""A fork tree as `git log --graph` draws one: lines of cells and texts, the newest first.

Each entry stands above its parent, and the entries of a branch stand together. Branches that leave
at one entry are drawn one after the other, each joined as soon as it ends, so a column is free
again. Of these the one that needs most columns comes first, then the newest. So a tree of n
branches has at most 1 + log2(n) columns: 1,000 forks need no more than ten.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ENTRY, FOLD, LINE, JOIN = "* ", ": ", "| ", "|/"
FOLDED_MIN = 2  # fewer entries are not worth a line that says so


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """An entry to draw. branch: its conversation. parent: the entry before it in the view.

    parent None: nothing is before it. merged_from: the conversation that it sums up.
    """

    entry_id: str
    branch: str
    parent: str | None
    text: str = ""
    merged_from: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Two letters of a line: ENTRY, FOLD, LINE or JOIN. colour: a number for each branch."""

    text: str
    colour: int


@dataclass(frozen=True, slots=True)
class GraphLine:
    """A line. entries: one entry, or the folded ones, newest first; none for a join.

    A line without cells stands between two trees that share no entry.

    colour: of the branch. labels: names that point to the entry. merged_from: as in the entry.
    """

    cells: tuple[Cell, ...]
    entries: tuple[str, ...]
    text: str
    colour: int
    labels: tuple[str, ...] = ()
    merged_from: str | None = None

    @property
    def graph(self) -> str:
        """The cells as text."""
        return "".join(cell.text for cell in self.cells)


def draw(
    entries: Sequence[GraphEntry],
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    folded: bool = True,
) -> Iterator[GraphLine]:
    """Yield the lines of a tree.

    entries: each after its parent, and so the oldest first. labels: names for entries, such as the
    titles of the branches that end there. folded: of a run of entries of one branch only the
    newest, the oldest, and those with a label or a merge have a line of their own.
    Raises ValueError if an entry does not come after its parent.
    """
    names = labels or {}
    runs = _runs(entries)
    colours: dict[str, int] = {}
    for entry in entries:
        colours.setdefault(entry.branch, len(colours))
    below = _below(runs)
    _sort(runs, below, colours)
    columns: list[int] = []  # the colour of each that is open
    waiting = [_Step(run, 0) for run in below[-1]]  # the newest first
    while waiting:
        step = waiting.pop()
        if not step.is_ready:
            waiting.append(_Step(step.run, step.column, is_joined=step.is_joined, is_ready=True))
            kept = below.get(step.run, ())
            waiting.extend(
                _Step(child, step.column + bool(rank), is_joined=bool(rank))
                for rank, child in reversed(list(enumerate(kept)))
            )
            continue
        colour = colours[runs[step.run][0].branch]
        columns[step.column :] = [colour]
        before = tuple(Cell(LINE, columns[at]) for at in range(step.column))
        for part in _parts(runs[step.run], names, folded=folded):
            yield _line(before, part, colour, names)
        if step.is_joined:
            yield GraphLine((*before[:-1], Cell(JOIN, colour)), (), "", colour)
        elif waiting and not step.column and runs[step.run][0].parent is None:
            yield GraphLine((), (), "", colour)


@dataclass(frozen=True, slots=True)
class _Step:
    """A run to draw, by its number. is_joined: its column ends below it, in the one to the left.

    is_ready: all that leaves at its end has been drawn.
    """

    run: int
    column: int
    is_joined: bool = False
    is_ready: bool = False


def _runs(entries: Sequence[GraphEntry]) -> list[list[GraphEntry]]:
    """Return the entries in runs, oldest first. All of a run are of one branch.

    Only the last entry of a run has more than one reply, or one of another branch.
    """
    by_id: dict[str, GraphEntry] = {}
    replies: dict[str, int] = {}
    for entry in entries:
        if entry.parent is not None:
            if entry.parent not in by_id:
                raise ValueError(f"{entry.entry_id} does not come after its parent {entry.parent}")
            replies[entry.parent] = replies.get(entry.parent, 0) + 1
        by_id[entry.entry_id] = entry
    runs: list[list[GraphEntry]] = []
    run_of: dict[str, int] = {}
    for entry in entries:
        above = None if entry.parent is None else by_id[entry.parent]
        if above is not None and above.branch == entry.branch and replies[above.entry_id] == 1:
            run_of[entry.entry_id] = run_of[above.entry_id]
        else:
            run_of[entry.entry_id] = len(runs)
            runs.append([])
        runs[run_of[entry.entry_id]].append(entry)
    return runs


def _below(runs: Sequence[Sequence[GraphEntry]]) -> dict[int, list[int]]:
    """Return the runs that leave at the end of each run; under -1 those that leave nowhere."""
    ending = {run[-1].entry_id: number for number, run in enumerate(runs)}
    below: dict[int, list[int]] = {-1: []}
    for number, run in enumerate(runs):
        parent = run[0].parent
        below.setdefault(-1 if parent is None else ending[parent], []).append(number)
    return below


def _sort(
    runs: Sequence[Sequence[GraphEntry]], below: dict[int, list[int]], colours: Mapping[str, int]
) -> None:
    """Put the runs below each run into the order in which they are drawn.

    That is by how many columns each needs, with all that is drawn above it, and then the newest
    branch first. The need is the Strahler number of a tree: it grows only where two equal ones
    meet.
    """
    needs = [1] * len(runs)
    for number in reversed(range(len(runs))):
        kept = below.get(number)
        if kept:
            kept.sort(key=lambda run: (needs[run], colours[runs[run][0].branch]), reverse=True)
            needs[number] = max(needs[kept[0]], *(1 + needs[run] for run in kept[1:2]), 1)


def _parts(
    run: Sequence[GraphEntry], labels: Mapping[str, Sequence[str]], *, folded: bool
) -> Iterator[list[GraphEntry]]:
    """Yield what each line shows of a run, newest first: one entry, or several that are folded."""
    hidden: list[GraphEntry] = []
    for index in reversed(range(len(run))):
        entry = run[index]
        is_edge = index in (0, len(run) - 1)
        if folded and not (is_edge or labels.get(entry.entry_id) or entry.merged_from):
            hidden.append(entry)
            continue
        yield from _fold(hidden)
        hidden = []
        yield [entry]


def _fold(hidden: list[GraphEntry]) -> list[list[GraphEntry]]:
    return [hidden] if len(hidden) >= FOLDED_MIN else [[entry] for entry in hidden]


def _line(
    before: tuple[Cell, ...], part: Sequence[GraphEntry], colour: int, labels: Mapping[str, Sequence[str]]
) -> GraphLine:
    entries = tuple(entry.entry_id for entry in part)
    if len(part) > 1:
        return GraphLine((*before, Cell(FOLD, colour)), entries, f"… {len(part):,} entries", colour)
    names = tuple(labels.get(entries[0], ()))
    return GraphLine(
        (*before, Cell(ENTRY, colour)), entries, part[0].text, colour, names, part[0].merged_from
    )

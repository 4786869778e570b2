"""Tables on a terminal: aligned columns, which begin to be written before the last row is known."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rich.cells import cell_len, set_cell_size

Part = tuple[str, str]
"""A text and its style."""
CHUNK_ROWS = 100
"""The widths of the columns are chosen for so many rows at once. They only grow."""
CELLS_MAX = 60
"""Of a column that is not the last one."""
LAST_CELLS_MIN = 12
"""Of the last column. A narrower terminal breaks the line."""
GAP = "  "


def aligned(header: Sequence[str], rows: Iterable[Sequence[Part]], *, width: int) -> Iterator[list[Part]]:
    """Yield the lines of a table as parts with their styles; none for a table without rows.

    What is too long is cut, and ends with an ellipsis. width: of the terminal, in cells.
    """
    going = iter(rows)
    widths = [0] * len(header)
    above: list[Sequence[Part]] = [[(name, "bold") for name in header]]
    while chunk := list(islice(going, CHUNK_ROWS)):
        shown, above = [*above, *chunk], []
        for row in shown:
            widths = [max(cells, cell_len(text)) for cells, (text, _) in zip(widths, row, strict=True)]
        widths = [min(cells, CELLS_MAX) for cells in widths]
        last = max(LAST_CELLS_MIN, width - sum(cells + len(GAP) for cells in widths[:-1]))
        for row in shown:
            yield [
                *(
                    (_fitted(text, cells) + GAP, style)
                    for (text, style), cells in zip(row[:-1], widths, strict=False)
                ),
                (_cut(row[-1][0], last), row[-1][1]),
            ]


def _fitted(text: str, cells: int) -> str:
    return set_cell_size(_cut(text, cells), cells)


def _cut(text: str, cells: int) -> str:
    """Return a text that is not wider than `cells`.

    >>> _cut("Lisbon", 6), _cut("Lisbon", 4)
    ('Lisbon', 'Lis…')
    """
    return text if cell_len(text) <= cells else f"{set_cell_size(text, cells - 1)}…"

"""Tables in Markdown."""

from collections.abc import Sequence


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table.

    The first column and columns of text are aligned left, columns of figures right.

    >>> print(table(["of", "ms", "why"], [["one", "7", ""], ["two", "70", "slow"]]))
    | of  |  ms | why  |
    |:----|----:|:-----|
    | one |   7 |      |
    | two |  70 | slow |
    """
    columns = list(zip(names, *rows, strict=True))
    widths = [max(3, *map(len, column)) for column in columns]
    to_left = [at == 0 or any(_is_text(cell) for cell in column[1:]) for at, column in enumerate(columns)]

    def line(cells: Sequence[str]) -> str:
        sides = zip(cells, widths, to_left, strict=True)
        return f"| {' | '.join(cell.ljust(w) if left else cell.rjust(w) for cell, w, left in sides)} |"

    rule = [
        f":{'-' * (w + 1)}" if left else f"{'-' * (w + 1)}:" for w, left in zip(widths, to_left, strict=True)
    ]
    return "\n".join([line(names), f"|{'|'.join(rule)}|", *map(line, rows)])


def _is_text(cell: str) -> bool:
    return cell.lstrip("*")[:1].isalpha()

"""Tables as Markdown, and pages that hold them between marks."""

import re
from collections.abc import Mapping, Sequence


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its first column to the left and all others to the right.

    >>> print(table(["of", "ms"], [["one", "7"]]))
    | of  |  ms |
    |:----|----:|
    | one |   7 |
    """
    widths = [max(3, *(len(row[at]) for row in [names, *rows])) for at in range(len(names))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(w) if at == 0 else cell.rjust(w)
            for at, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [f":{'-' * (w + 1)}" if at == 0 else f"{'-' * (w + 1)}:" for at, w in enumerate(widths)]
    return "\n".join([line(names), f"|{'|'.join(rule)}|", *map(line, rows)])


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """Return the page with new text between the marks of each block. Raises KeyError for one without marks.

    >>> print(filled("<!-- a -->\\nold\\n<!-- end -->\\n", {"a": "new"}), end="")
    <!-- a -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- end -->
    """
    for name, text in blocks.items():
        old = re.search(rf"<!-- {re.escape(name)} -->\n(.*?)<!-- end -->", page, re.DOTALL)
        if old is None:
            raise KeyError(name)
        page = f"{page[: old.start(1)]}\n{text.strip()}\n\n{page[old.end(1) :]}"
    return page

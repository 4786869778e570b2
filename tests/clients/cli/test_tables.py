"""Tables on a terminal."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from forklore.cli.tables import CELLS_MAX, CHUNK_ROWS, LAST_CELLS_MIN, aligned

CELLS = st.text(st.sampled_from("aé日😀 -"), max_size=80)


def lines(rows: list[tuple[str, ...]], width: int) -> list[list[str]]:
    styled = [[(text, "") for text in row] for row in rows]
    return [[text for text, _ in parts] for parts in aligned(("one", "two", "three"), styled, width=width)]


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=9), st.integers(20, 200))
def test_columns_stand_below_each_other_and_lines_fit(rows: list[tuple[str, ...]], width: int) -> None:
    written = lines(rows, width)

    assert [text.strip() for text in written[0]] == ["one", "two", "three"]
    assert len(written) == 1 + len(rows)
    assert {tuple(cell_len(text) for text in line[:-1]) for line in written} == {
        tuple(cell_len(text) for text in written[0][:-1])
    }
    before = sum(cell_len(text) for text in written[0][:-1])
    assert before <= 2 * (CELLS_MAX + 2)
    assert all(cell_len(line[-1]) <= max(LAST_CELLS_MIN, width - before) for line in written)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=9))
def test_what_fits_is_shown_whole(rows: list[tuple[str, ...]]) -> None:
    short = [tuple(text[:20] for text in row) for row in rows]

    shown = [[text.rstrip() for text in line] for line in lines(short, 200)[1:]]
    assert shown == [[text.rstrip() for text in row] for row in short]


def test_a_table_begins_before_its_rows_end() -> None:
    asked = 0

    def rows() -> object:
        nonlocal asked
        for asked in range(1, 10 * CHUNK_ROWS):
            yield [("x" * (asked // CHUNK_ROWS), ""), ("y", "")]

    going = aligned(("a", "b"), rows(), width=80)  # type: ignore[arg-type]
    next(going)

    assert asked == CHUNK_ROWS
    widths = [len(parts[0][0]) for parts in going]
    assert widths == sorted(widths)
    assert len(widths) == 10 * CHUNK_ROWS - 1


def test_a_table_without_rows_is_nothing() -> None:
    assert lines([], 80) == []

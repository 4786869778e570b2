"""Charts (SVG) of the cost by length, by forks and by depth."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pygal
from pygal.style import CleanStyle

from tools.bench.cost import Row

WHAT = {
    "entries": "entries of a conversation",
    "forks": "forks of one entry",
    "chain": "forks of forks, one after another",
}
DRAWN = {
    "append": "append, write units",
    "fork, at the head": "fork, write units",
    "newest page, warm": "newest page of 50, read units",
    "latest epoch": "latest epoch, read units",
    "show": "show, read units",
}
"""The cases in a chart, each with its title. A title says which units are shown."""
WIDTH, HEIGHT = 720, 360


def draw(folder: Path, shapes: Mapping[str, Sequence[Sequence[Row]]]) -> list[Path]:
    """Draw a chart for each axis; return the files. shapes: by axis, the rows of each shape."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_draw(folder / f"{axis}.svg", axis, shapes[axis]) for axis in WHAT if axis in shapes]


def _draw(file: Path, axis: str, places: Sequence[Sequence[Row]]) -> Path:
    chart = pygal.Line(
        style=CleanStyle,
        width=WIDTH,
        height=HEIGHT,
        js=[],  # a chart loads nothing from the network
        x_title=WHAT[axis],
        y_title="units a request",
        range=(0, None),
        include_x_axis=True,
        legend_at_bottom=True,
        legend_at_bottom_columns=2,
        disable_xml_declaration=True,
    )
    chart.x_labels = [f"{getattr(rows[0].shape, axis):,}" for rows in places]
    by_name = [{row.name: row for row in rows} for rows in places]
    for name, title in DRAWN.items():
        is_write = title.endswith("write units")
        chart.add(
            title,
            [rows[name].cost.write_units if is_write else rows[name].cost.read_units for rows in by_name],
        )
    file.write_text(chart.render(is_unicode=True) + "\n", encoding="utf-8")
    return file

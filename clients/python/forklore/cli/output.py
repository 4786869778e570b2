"""What commands write to standard output.

With `--json` each result is one line of JSON, as the service answers it. Else it is text for
people: with colours on a terminal, and tables in aligned columns. In a pipe a table is what `cut`
and `awk` read: columns are separated by tabs, nothing is shortened, and there is no header.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

from forklore.cli.escaping import ascii_json, visible, visible_json, visible_lines
from forklore.cli.pager import paged
from forklore.client import jsontext
from forklore.client.result_base import Value, wire

Part = str | tuple[str, str]
"""A text, perhaps with a style of rich such as `bold` or `yellow`."""
GAP = "  "


class Output:
    """Writes results. It opens the pager with the first line.

    pager: its command; None for none. stream: where to write; None: standard output.
    """

    def __init__(
        self,
        *,
        is_json: bool = False,
        has_colours: bool = False,
        is_terminal: bool = False,
        pager: str | None = None,
        stream: IO[str] | None = None,
        width: int | None = None,
    ) -> None:
        self.is_json = is_json
        self.is_terminal = is_terminal
        self._has_colours = has_colours
        self._pager = pager
        self._given = stream
        self._width = width
        self._open: IO[str] | None = None
        self._stack = ExitStack()

    def close(self) -> None:
        """Wait for the pager, or hand on what is buffered."""
        self._stack.close()
        if self._pager is None:
            self.flush()

    def flush(self) -> None:
        """Hand on what is buffered."""
        if self._open is not None:
            self._open.flush()

    def do_not_page(self) -> None:
        """Write without the pager. Nothing may be written yet."""
        self._pager = None

    @property
    def is_paged(self) -> bool:
        """Whether the output goes to a pager."""
        return self._pager is not None

    # Results

    def result(self, value: Value | Mapping[str, Any]) -> None:
        """Write one result as a line of JSON."""
        self.json_line(jsontext.write(wire(value)) + "\n")

    def json_line(self, line: str) -> None:
        """Write a line of JSON text, with its line end."""
        text = visible_json(line)
        self._write(text if _is_utf8(self._stream()) else ascii_json(text))

    def results(self, values: Iterable[Value | Mapping[str, Any]]) -> int:
        """Write results, each as a line of JSON; return how many there were."""
        count = 0
        for count, value in enumerate(values, start=1):  # noqa: B007 (counted)
            self.result(value)
        return count

    # Text for people

    def line(self, *parts: Part) -> None:
        """Write a line. Control characters in its parts are made visible."""
        shown = "".join(self._styled(visible(_plain(part)), _style(part)) for part in parts)
        self._write(shown.rstrip(" ") + "\n")

    def text(self, text: str, *, indent: str = "", style: str = "") -> None:
        """Write a text of several lines."""
        for line in visible_lines(text):
            self._write(self._styled(f"{indent}{line}".rstrip(" "), style) + "\n")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Part]]) -> None:
        """Write a table, if it has rows: aligned on a terminal, else with tabs."""
        shown = ([(visible(_plain(part)), _style(part)) for part in row] for row in rows)
        if not self.is_terminal:
            for row in shown:
                self._write("\t".join(text for text, _ in row) + "\n")
            return
        from forklore.cli.tables import aligned

        for parts in aligned(header, shown, width=self.width):
            self.line(*parts)

    def fields(self, rows: Sequence[tuple[str, Part | None]]) -> None:
        """Write names and values, one pair on a line; those without a value are left out."""
        held = [(name, part) for name, part in rows if part is not None]
        width = max((len(name) for name, _ in held), default=0)
        for name, part in held:
            if self.is_terminal:
                self.line((f"{name:<{width}}", "bold"), GAP, part)
            else:
                self._write(f"{name}\t{visible(_plain(part))}\n")

    @property
    def width(self) -> int:
        """The width of the terminal, in cells."""
        if self._width is None:
            from shutil import get_terminal_size

            self._width = get_terminal_size().columns
        return self._width

    def _styled(self, text: str, style: str) -> str:
        """Return a text with its colours, where there are any."""
        if not (text and style and self._has_colours):
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)

    def _stream(self) -> IO[str]:
        if self._open is None:
            if self._pager is not None:
                self._open = self._stack.enter_context(paged(self._pager))
            else:
                self._open = self._given or sys.stdout
        return self._open

    def _write(self, text: str) -> None:
        self._stream().write(text)


def moment(stamp: str) -> str:
    """Return a time as people read it, in UTC.

    >>> moment("2026-03-01T09:15:00.123Z")
    '2026-03-01 09:15:00'
    """
    return stamp[:19].replace("T", " ")


def _plain(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _style(part: Part) -> str:
    return "" if isinstance(part, str) else part[1]


def _is_utf8(stream: IO[str]) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"

"""A progress bar on standard error, if that is a terminal. Elsewhere nothing is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from forklore.cli.escaping import visible


@dataclass(frozen=True, slots=True)
class Bar:
    """advance: call it after each step, with the number of steps. expect: with the total so far.

    Both may be called from any thread.
    """

    advance: Callable[[int], None]
    expect: Callable[[int], None]


@contextmanager
def moving(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while bytes move. Call what it yields with how many have moved, and all."""
    with progress(what, of_bytes=True) as bar:
        before = 0

        def moved(done: int, all_bytes: int) -> None:
            nonlocal before
            bar.expect(all_bytes)
            bar.advance(done - before)
            before = done

        yield moved


@contextmanager
def progress(what: str, *, of_bytes: bool = False) -> Iterator[Bar]:
    """Show a bar while the block runs. Until a total is expected, it only moves."""
    if not sys.stderr.isatty():
        yield Bar(lambda _: None, lambda _: None)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    said = TextColumn("{task.description}", markup=False)
    counted = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (said, BarColumn(), counted, TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(visible(what), total=None)
        yield Bar(
            lambda steps: bar.advance(task, steps),
            lambda total: bar.update(task, total=total),
        )

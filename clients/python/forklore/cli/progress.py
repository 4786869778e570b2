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
def progress(what: str) -> Iterator[Bar]:
    """Show a bar while the block runs. Until a total is expected, it only moves."""
    if not sys.stderr.isatty():
        yield Bar(lambda _: None, lambda _: None)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(visible(what), total=None)
        yield Bar(
            lambda steps: bar.advance(task, steps),
            lambda total: bar.update(task, total=total),
        )

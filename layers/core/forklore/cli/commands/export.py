"""`forklore export`: whole fork trees, in forklore's own JSON Lines."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Annotated

import typer

from forklore.cli.exporting import exported, exported_view
from forklore.cli.importing.checks import time_of
from forklore.cli.importing.owner import is_agent
from forklore.cli.jsonlines import header_line
from forklore.cli.one_output import written
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.cli.trees import live_rows

PARALLEL, PARALLEL_MAX = 8, 64


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "export", example="forklore export trip --output trip.jsonl")
    def export(
        shell: Shell,
        conversations: Annotated[
            list[str],
            typer.Argument(
                metavar="NAME|ID...", help="Conversations: names of yours, or ids.", show_default=False
            ),
        ],
        output: Annotated[
            str | None,
            typer.Option("-o", "--output", metavar="FILE", help="The file to write, whole or not at all."),
        ] = None,
        branch: Annotated[
            bool, typer.Option("--branch", help="Only what each of them shows, not its whole tree.")
        ] = False,
        parallel: Annotated[
            int, typer.Option("--parallel", min=1, max=PARALLEL_MAX, metavar="N", help="Requests at a time.")
        ] = PARALLEL,
    ) -> None:
        """Write the whole fork trees of conversations as JSON Lines.

        `forklore import` reads them. Members, names and children are not exported.
        """
        line_out = shell.out.json_line
        with nullcontext(line_out) if output is None else written(output, line_out) as write:
            ids = list(dict.fromkeys(shell.conversation(one).resolve() for one in conversations))
            write(header_line(exported_at=time_of(datetime.now(UTC).isoformat())))
            for line in _views(shell, ids) if branch else _trees(shell, ids, parallel):
                write(line)


def _views(shell: Shell, ids: list[str]) -> Iterator[str]:
    for one in ids:
        yield from exported_view(shell.client, one)


def _trees(shell: Shell, ids: list[str], threads: int) -> Iterator[str]:
    """Yield the lines of the trees, each tree once."""
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            continue
        rows = live_rows(shell.client.conversation(one))
        seen.update(row["conversationId"] for row in rows)
        with progress("exporting") as bar:
            bar.expect(len(rows))
            yield from exported(
                shell.client,
                rows,
                is_agent=is_agent(shell.target),
                threads=threads,
                on_branch=lambda: bar.advance(1),
            )

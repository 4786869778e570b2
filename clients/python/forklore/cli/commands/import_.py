"""`forklore import`: conversations from elsewhere, with all their branches."""

from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import Redacts
from forklore.cli.registering import command
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell

PARALLEL, PARALLEL_MAX = 8, 64
PARALLEL_HERE = 2
"""Where the service is in this process: its threads share one core, and one waits for the disk."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "import", makes=True, example="forklore import conversations.json")
    def import_(
        shell: Shell,
        files: Annotated[
            list[Path],
            typer.Argument(
                metavar="FILE...",
                help="JSON, JSON Lines, a ZIP or a folder of them; - is standard input.",
                show_default=False,
            ),
        ],
        given: Annotated[
            str | None,
            typer.Option(
                "--format", metavar="NAME", help="The files' format; without it their content tells."
            ),
        ] = None,
        parallel: Annotated[
            int | None,
            typer.Option(
                "--parallel",
                min=1,
                max=PARALLEL_MAX,
                metavar="N",
                help="Requests at a time.",
                show_default=f"{PARALLEL}; {PARALLEL_HERE} in this process",
            ),
        ] = None,
        limit_trees: Annotated[
            int | None,
            typer.Option("--limit-trees", min=1, metavar="N", help="Import the first N trees only."),
        ] = None,
        name: Annotated[
            str | None,
            typer.Option("--name", metavar="NAME", help="A new name for the current branch of the one tree."),
        ] = None,
        again: Annotated[
            str,
            typer.Option(
                "--again",
                metavar="TEXT",
                help="Import once more, beside what was imported before; each TEXT once.",
                show_default=False,
            ),
        ] = "",
        redact: Redacts = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, but send nothing.")] = False,
    ) -> int:
        """Import conversations with all their branches.

        It reads the exports of chat programs, transcripts of agents, lists of messages, and
        forklore's own JSON Lines: docs/formats.md has them all. It can be stopped and run again:
        what is there already is found, and nothing is doubled.
        """
        from forklore.cli.import_files import import_files
        from forklore.importing.readers import format_names

        if given is not None and given not in format_names():
            raise CommandError(f"--format is one of: {', '.join(format_names())}")
        return import_files(
            shell,
            files,
            given=given,
            again=again,
            trees_max=limit_trees,
            name=name,
            threads=parallel or threads_for(shell),
            is_dry=dry_run,
            redacts=redact,
        )


def threads_for(shell: Shell) -> int:
    """Return how many requests are sent at a time if nobody says it."""
    return PARALLEL_HERE if isinstance(shell.target, InProcess) else PARALLEL

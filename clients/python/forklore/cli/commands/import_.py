"""`forklore import`: conversations from elsewhere, with all their branches."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import Bucket, Endpoint, Region, TableOrFolder
from forklore.cli.registering import command
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell
from forklore.cli.table_moves import TableAt, import_table

HEADER_BYTES = 4_096
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
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, but send nothing.")] = False,
        table: TableOrFolder = None,
        endpoint: Endpoint = None,
        region: Region = None,
        bucket: Bucket = None,
    ) -> int:
        """Import conversations with all their branches.

        It reads the exports of chat programs, transcripts of agents, lists of messages, and
        forklore's own JSON Lines: docs/formats.md has them all. It can be stopped and run again:
        what is there already is found, and nothing is doubled. An operator imports the export of a
        table into a table, with all that it has.
        """
        at = TableAt(table, endpoint, region, bucket)
        at.check()
        if table is not None or any(map(_is_of_table, files)):
            if given is not None or again or name is not None or limit_trees is not None:
                raise CommandError("the export of a table is imported whole: only --dry-run goes with it")
            for file in files:
                if not file.exists():
                    raise CommandError(f"{file}: no such file")
                if not _is_of_table(file):
                    raise CommandError(f"{file}: it is no export of a table")
            threads = parallel or PARALLEL
            codes = [import_table(shell, at, file, threads=threads, is_dry=dry_run) for file in files]
            return max(codes)
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
            threads=parallel or (PARALLEL_HERE if isinstance(shell.target, InProcess) else PARALLEL),
            is_dry=dry_run,
        )


def _is_of_table(path: Path) -> bool:
    """Tell whether a file is the export of a table. What reads one is loaded if it may be."""
    if not path.is_file():  # a pipe is read once
        return False
    with suppress(OSError), path.open("rb") as stream:
        if b"forklore-table" not in stream.read(HEADER_BYTES):
            return False
    from forklore_local.porting.input import is_export

    return is_export(path)

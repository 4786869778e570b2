"""`forklore fsck`: does all that is stored agree."""

from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import Bucket, Endpoint, Region, TableOrFolder
from forklore.cli.registering import SHARED, command
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell

OF_THE_API = tuple(one.name for one in SHARED if one.panel == "Service")
NOT_OF_A_FOLDER = tuple(name for name in OF_THE_API if name != "data")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "fsck", example="forklore fsck --data ./data", shows=("data",), without=NOT_OF_A_FOLDER)
    def fsck(
        shell: Shell,
        table: TableOrFolder = None,
        endpoint: Endpoint = None,
        region: Region = None,
        bucket: Bucket = None,
        report: Annotated[
            str | None,
            typer.Option("--report", metavar="FILE", help="Write the report as JSON; - prints it."),
        ] = None,
        segments: Annotated[
            int, typer.Option("--segments", metavar="N", help="How many parts to read at the same time.")
        ] = 4,
        quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    ) -> int:
        """Read a whole table or folder, and check that its items agree. This writes nothing to it.

        With --json the report is printed, as by --report -. Exit code: 0 the table is intact, 1
        there are findings, 2 the check was not possible.
        """
        from forklore_local.fsck.command import check_folder, check_table

        if shell.out.is_json and report not in (None, "-"):
            raise CommandError("--json and --report FILE exclude each other")
        to = "-" if shell.out.is_json else report
        if table is None:
            for name, value in (("endpoint", endpoint), ("region", region), ("bucket", bucket)):
                if value is not None:
                    raise CommandError(f"--{name} goes with --table")
            return check_folder(_folder_of(shell), report=to, is_quiet=quiet)
        return check_table(
            table,
            endpoint=endpoint,
            region=region,
            bucket=bucket,
            report=to,
            segments=segments,
            is_quiet=quiet,
        )


def _folder_of(shell: Shell) -> Path:
    """Return the folder of `--data`. Raises CommandError if there is none."""
    target = shell.target
    if not isinstance(target, InProcess) or target.data is None:
        raise CommandError("name the table: --table NAME, or --data DIR")
    return Path(target.data)

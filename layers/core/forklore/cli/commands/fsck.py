"""`forklore fsck`: does all that is stored agree."""

from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import Endpoint, Region, TableToRead
from forklore.cli.registering import SHARED, command
from forklore.cli.shell import Shell

OF_THE_API = tuple(one.name for one in SHARED if one.panel == "Service")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "fsck", example="forklore fsck --table forklore", without=OF_THE_API)
    def fsck(
        shell: Shell,
        table: TableToRead,
        endpoint: Endpoint = None,
        region: Region = None,
        report: Annotated[
            str | None,
            typer.Option("--report", metavar="FILE", help="Write the report as JSON; - prints it."),
        ] = None,
        segments: Annotated[
            int, typer.Option("--segments", metavar="N", help="How many parts to read at the same time.")
        ] = 4,
        quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    ) -> int:
        """Read a whole table and check that its items agree. This writes nothing to the table.

        With --json the report is printed, as by --report -. Exit code: 0 the table is intact, 1
        there are findings, 2 the check was not possible.
        """
        from forklore.fsck.command import check_table

        if shell.out.is_json and report not in (None, "-"):
            raise CommandError("--json and --report FILE exclude each other")
        to = "-" if shell.out.is_json else report
        return check_table(
            table, endpoint=endpoint, region=region, report=to, segments=segments, is_quiet=quiet
        )

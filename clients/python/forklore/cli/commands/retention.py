"""`forklore retention`: which trees a retention would delete."""

from typing import Annotated

import typer

from forklore.cli.commands.fsck import OF_THE_API
from forklore.cli.exits import CommandError
from forklore.cli.output import moment
from forklore.cli.parameters import Endpoint, Region, TableToRead
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.limits import RETENTION_DAYS_MAX


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "retention", example="forklore retention --table forklore --days 365", without=OF_THE_API)
    def retention(
        shell: Shell,
        table: TableToRead,
        days: Annotated[
            int,
            typer.Option(
                "--days", metavar="N", min=1, max=RETENTION_DAYS_MAX, help="As RetentionDays would be."
            ),
        ],
        ignore_tag: Annotated[
            bool, typer.Option("--ignore-tag", help="As with RetentionTag=ignored.")
        ] = False,
        endpoint: Endpoint = None,
        region: Region = None,
    ) -> None:
        """List the trees that nobody has used for N days. This writes nothing to the table.

        A deployment with RetentionDays=N would delete these. With --json each is a line of JSON.
        """
        from forklore_local.fsck.unused import UnreadableTableError, list_unused_in

        rows, damaged = list[tuple[str, ...]](), list[Exception]()
        try:
            with progress("looking at trees") as bar:
                unused = list_unused_in(
                    table,
                    endpoint=endpoint,
                    region=region,
                    days=days,
                    ignore_tag=ignore_tag,
                    advance=bar.advance,
                    report=damaged.append,
                )
                for one in unused:
                    if shell.out.is_json:
                        shell.out.result(one)
                        continue
                    used = moment(one["usedAt"])
                    rows.append((one["conversationId"], one["ownerUserId"], str(one["conversations"]), used))
        except UnreadableTableError as error:
            raise CommandError(str(error)) from error
        if not shell.out.is_json:
            shell.out.table(("conversation", "owner", "branches", "used"), rows)
        if damaged:
            raise CommandError(f"trees that cannot be read: {len(damaged)}; `forklore fsck` tells why")

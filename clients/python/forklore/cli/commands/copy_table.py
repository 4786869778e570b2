"""`forklore copy-table`: a whole table as it is, into a folder, a file or another table."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.commands.fsck import OF_THE_API
from forklore.cli.exits import DONE, NO, REFUSED, CommandError
from forklore.cli.parameters import Bucket, Endpoint, Region
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra

if TYPE_CHECKING:
    from forklore_local.copying.places import From, To

TABLE, FILE = "table:", ".jsonl.gz"
"""How the name of a table begins, and that of a file ends. Anything else is a folder."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "copy-table", example="forklore copy-table table:forklore all.jsonl.gz", without=OF_THE_API)
    def copy_table(
        shell: Shell,
        of: Annotated[
            str, typer.Argument(metavar="FROM", help="table:NAME, a file NAME.jsonl.gz, or a folder of data.")
        ],
        to: Annotated[
            str, typer.Argument(metavar="TO", help="The same: an empty table, a new file or a new folder.")
        ],
        endpoint: Endpoint = None,
        region: Region = None,
        bucket: Bucket = None,
    ) -> int:
        """Copy all items of a table as they are, and the bytes of its attachments.

        A folder may be in use meanwhile. A table of DynamoDB must not be written to: a copy that
        notices it ends. An ended copy may be repeated. Two tables are of one region and one bucket.
        """
        tables = [one for one in (of, to) if one.startswith(TABLE)]
        for name, value in (("endpoint", endpoint), ("region", region), ("bucket", bucket)):
            if value is not None and not tables:
                raise CommandError(f"--{name} goes with {TABLE}NAME")
        with from_extra("local"):
            from forklore_local.copying import places
            from forklore_local.copying.copying import copy
            from forklore_local.copying.failures import CopyError, FormatError

        at = {"endpoint": endpoint, "region": region, "bucket": bucket}
        source: AbstractContextManager[From]
        target: AbstractContextManager[To]
        if of.startswith(TABLE):
            source = places.table_at(of.removeprefix(TABLE), **at)
        else:
            source = places.file_at(Path(of)) if of.endswith(FILE) else places.folder_at(Path(of))
        if to.startswith(TABLE):
            target = places.table_at(to.removeprefix(TABLE), **at)
        else:
            target = places.new_file(Path(to)) if to.endswith(FILE) else places.new_folder(Path(to))
        try:
            with source as read, target as written, progress(f"copying {of}") as bar:
                done = copy(read, written, on_total=bar.expect, on_done=bar.advance)
        except FormatError as error:
            raise CommandError(str(error)) from error
        except CopyError as error:
            raise CommandError(str(error), REFUSED) from error
        counts = {
            "items": done.items,
            "trees": done.trees,
            "conversations": done.conversations,
            "entries": done.entries,
        }
        if shell.out.is_json:
            lost = {"lost": [*done.lost]} if done.lost else {}
            shell.out.result({"type": "copy", "from": of, "to": to, **counts, **lost})
        else:
            shell.say(f"{to}: {', '.join(f'{number:,} {what}' for what, number in counts.items())}")
            for attachment_id in done.lost:
                shell.say(f"  not copied: the bytes of attachment {attachment_id}, which are lost")
        return NO if done.lost else DONE

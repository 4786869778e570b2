"""`forklore backup`: a copy of a folder, which may be in use."""

from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.commands.fsck import OF_THE_API
from forklore.cli.exits import DONE, NO, CommandError
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "backup", example="forklore backup ./data ./data.monday", without=OF_THE_API)
    def backup(
        shell: Shell,
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that keeps the data.")],
        to: Annotated[Path, typer.Argument(metavar="TO", help="The folder to make, which is a copy.")],
    ) -> int:
        """Copy a folder as it is at this moment. Others may go on to write to it.

        To restore it, stop what has the folder open, and move the copy in its place.
        """
        with from_extra("local"):
            from forklore_local.in_process.folder import DataError
            from forklore_local.in_process.upkeep import back_up

        try:
            lost = back_up(folder, to)
        except DataError as error:
            raise CommandError(str(error)) from error
        if shell.out.is_json:
            shell.out.result({"type": "folder", "folder": str(to)} | ({"lost": lost} if lost else {}))
        else:
            shell.say(f"{to}: a copy of {folder}")
            for attachment_id in lost:
                shell.say(f"  not copied: the bytes of attachment {attachment_id}, which are lost")
        return NO if lost else DONE

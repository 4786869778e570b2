"""`forklore restore`: a folder from a copy, after a check of all that it holds."""

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

    @command(app, "restore", example="forklore restore ./copies ./data", without=OF_THE_API)
    def restore(
        shell: Shell,
        copy: Annotated[
            str,
            typer.Argument(
                metavar="DIR",
                help="A copy, or the place of copies, also s3://BUCKET/PREFIX: then the newest.",
            ),
        ],
        to: Annotated[Path, typer.Argument(metavar="TO", help="The folder to make.")],
        anyway: Annotated[bool, typer.Option("--anyway", help="Also if the check finds something.")] = False,
    ) -> int:
        """Make a folder of data from a copy of `forklore backup`, and check all of it.

        TO must be missing or empty. Exit code: 0 it is there and intact, 1 there are findings.
        """
        with from_extra("local"):
            from forklore_local.fsck.command import INTACT, check_folder
            from forklore_local.in_process.copies import make_of, put_back
            from forklore_local.in_process.folder import DataError
        codes: list[int] = []

        def is_good(made: Path) -> bool:
            codes.append(check_folder(made, report="-" if shell.out.is_json else None, is_quiet=True))
            return anyway or codes == [INTACT]

        try:
            if copy.startswith("s3://"):
                from forklore_local.in_process.bucket import newest_in

                used, fetch = newest_in(copy)
                is_made = make_of(fetch, to, is_good=is_good)
            else:
                found = put_back(Path(copy), to, is_good=is_good)
                used, is_made = str(found), found is not None
        except DataError as error:
            raise CommandError(str(error)) from error
        if not is_made:
            shell.say(f"nothing was restored: {copy} has findings; --anyway restores it all the same")
            return NO
        shell.say(f"{to}: as {used}")
        return DONE if codes == [INTACT] else NO

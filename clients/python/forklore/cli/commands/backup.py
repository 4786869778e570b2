"""`forklore backup`: copies of a folder, which may be in use."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.commands.fsck import OF_THE_API
from forklore.cli.exits import DONE, NO, CommandError
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PERIOD = re.compile(r"([1-9][0-9]{0,5})([smhd])")
KEPT = 24


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "backup", example="forklore backup ./data ./data.monday", without=OF_THE_API)
    def backup(
        shell: Shell,
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that keeps the data.")],
        to: Annotated[
            str,
            typer.Argument(
                metavar="TO",
                help="The folder to make, or with --every that of the copies; or s3://BUCKET/PREFIX.",
            ),
        ],
        every: Annotated[
            str | None,
            typer.Option(
                "--every", metavar="PERIOD", help="Make a copy in TO again and again, as 30m, 1h or 1d."
            ),
        ] = None,
        keep: Annotated[
            int | None,
            typer.Option(
                "--keep", metavar="N", min=1, help=f"Make a copy in TO and keep the newest N ({KEPT})."
            ),
        ] = None,
    ) -> int:
        """Copy a folder as it is at this moment. Others may go on to write to it.

        `forklore restore` makes a folder of a copy.
        """
        with from_extra("local"):
            from forklore_local.in_process.copies import add_copy
            from forklore_local.in_process.folder import DataError
            from forklore_local.in_process.upkeep import back_up
        kept = KEPT if every is not None and keep is None else keep

        def once() -> tuple[str, list[str]]:
            if to.startswith("s3://"):
                from forklore_local.in_process.bucket import Bucket

                return Bucket(to).add(folder, keep=kept, moment=datetime.now(UTC))
            place = Path(to)
            if kept is None:
                return to, back_up(folder, place)
            copy, lost = add_copy(folder, place, keep=kept, moment=datetime.now(UTC))
            return str(copy), lost

        def told() -> int:
            try:
                return _told(shell, folder, *once())
            except DataError as error:
                raise CommandError(str(error)) from error

        if every is None:
            return told()
        _again_and_again(shell, _seconds(every), told)
        return DONE


def _told(shell: Shell, folder: Path, copy: str, lost: list[str]) -> int:
    if shell.out.is_json:
        shell.out.result({"type": "folder", "folder": copy} | ({"lost": lost} if lost else {}))
    else:
        shell.say(f"{copy}: a copy of {folder}")
        for attachment_id in lost:
            shell.say(f"  not copied: the bytes of attachment {attachment_id}, which are lost")
    return NO if lost else DONE


def _again_and_again(shell: Shell, seconds: int, copy: Callable[[], object]) -> None:
    """Copy at once and then each period, until a signal ends it. A copy that fails is told of."""
    due_s = time.monotonic()
    while True:
        try:
            copy()
        except CommandError as error:
            shell.say(f"no copy: {error}; the next one is tried in its turn")
        due_s = max(due_s + seconds, time.monotonic())
        time.sleep(max(0.0, due_s - time.monotonic()))


def _seconds(period: str) -> int:
    found = _PERIOD.fullmatch(period)
    if found is None:
        raise CommandError(f"--every takes a number of s, m, h or d, as 1h, and not {period!r}")
    return int(found[1]) * _SECONDS[found[2]]

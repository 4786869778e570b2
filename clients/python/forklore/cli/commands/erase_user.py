"""`forklore erase-user`: erase a user, for admins."""

import sys
import time
from typing import Annotated

import typer

from forklore.cli.exits import NO, CommandError
from forklore.cli.output import Part
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Erasure

LOOK_SECONDS = 2.0
"""How long to wait before the erasure is looked at again."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "erase-user", example="forklore erase-user carol --justification 'ticket 812'")
    def erase_user(
        shell: Shell,
        user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Whom to erase.")] = None,
        resume: Annotated[
            str | None, typer.Option("--show", metavar="ID", help="Show this erasure, and wait for it.")
        ] = None,
        justification: Annotated[
            str | None, typer.Option("--justification", metavar="TEXT", help="Why, for the audit log.")
        ] = None,
        no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for the end.")] = False,
        yes: Annotated[bool, typer.Option("-y", "--yes", help="Erase without a question.")] = False,
    ) -> int | None:
        """Erase a user, as an admin: what they own goes, and what they wrote elsewhere is emptied.

        Stop the user's logins first. It cannot be undone.
        """
        if (user is None) == (resume is None):
            raise CommandError("give a user, or --show with the id of an erasure")
        if user is not None and not yes:
            if not sys.stdin.isatty():
                raise CommandError("erasing needs --yes where nobody can be asked")
            if typer.prompt(f"Type {user} again to erase this user", err=True) != user:
                return NO
        api = shell.client.api
        if user is not None:
            found = api.admin_erase_user(user_id=user, justification=justification)
            shell.say(f"erasure {found.id} has begun")
        else:
            found = api.admin_get_erasure(str(resume), justification=justification)
        with progress("reading the table") as bar:
            while found.state != "done" and not no_wait:
                time.sleep(LOOK_SECONDS)
                bar.advance(1)
                found = api.admin_get_erasure(found.id, justification=justification)
        _show(shell, found)
        return None


def _show(shell: Shell, erasure: Erasure) -> None:
    if shell.out.is_json:
        shell.out.result(erasure)
        return
    rows: list[tuple[str, Part | None]] = [
        ("erasure", erasure.id),
        ("state", erasure.state),
        ("pseudonym", erasure.pseudonym),
        ("trees deleted", str(erasure.trees)),
        ("memberships ended", str(erasure.memberships)),
        ("entries erased", str(erasure.entries)),
    ]
    shell.out.fields(rows)

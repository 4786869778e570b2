"""`forklore sessions`: the sessions of agent programs on this machine."""

from datetime import datetime
from itertools import islice
from typing import Annotated

import typer

from forklore.cli.parameters import InFolder, OfProgram, OfProject, SinceTime
from forklore.cli.registering import command
from forklore.cli.shell import Shell

LISTED = 50


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "sessions", example="forklore sessions --program codex")
    def sessions(
        shell: Shell,
        folder: InFolder = None,
        program: OfProgram = None,
        project: OfProject = None,
        since: SinceTime = None,
        limit: Annotated[
            int, typer.Option("-n", "--limit", min=1, metavar="N", help="The newest N of them.")
        ] = LISTED,
    ) -> None:
        """List the sessions of agent programs on this machine, the newest first.

        It looks where the programs keep them. Nothing is written, and nothing is sent.
        """
        from forklore.cli.session_files import chosen
        from forklore.sessions.listing import Listing

        files = sorted(chosen(folder, program, since), key=lambda one: one.changed, reverse=True)
        listing = Listing()
        found = (
            one
            for file in files
            for one in listing.sessions(file)
            if project in (None, one.project) and one.messages
        )
        shown = [*islice(found, limit)]
        if shell.out.is_json:
            shell.out.results(
                {
                    "program": one.program,
                    "session": one.session,
                    "project": one.project,
                    "title": one.title,
                    "messages": one.messages,
                    "branches": one.branches,
                    "lastUsedAt": one.last or None,
                }
                for one in shown
            )
        else:
            header = ("program", "project", "last used", "messages", "branches", "title")
            shell.out.table(
                header,
                [
                    (
                        one.program,
                        one.project,
                        _day(one.last),
                        str(one.messages),
                        str(one.branches),
                        one.title,
                    )
                    for one in shown
                ],
            )
        for line in listing.unread:
            shell.say(f"not read: {line}")
        if not shown:
            shell.say("no session was found" + (f" in {folder}" if folder else ""))


def _day(stamp: str) -> str:
    return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}" if stamp else ""

"""`forklore serve`: the local server."""

import os
import sys
from typing import Annotated

import typer

from forklore.cli.exits import NO_ANSWER
from forklore.cli.registering import command
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell
from forklore.extras import from_extra

DATABASE_ENDED = 1
"""What the server returns when its database has ended."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app, "serve", example="forklore serve --data ./data --port 8080", shows=("data",), without=("client",)
    )
    def serve(
        shell: Shell,
        host: Annotated[
            str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen (HOST; 127.0.0.1).")
        ] = None,
        allow_host: Annotated[
            list[str] | None,
            typer.Option(
                "--allow-host",
                metavar="NAME",
                help="Answer by this name, too, and to its pages; may be repeated.",
            ),
        ] = None,
        client: Annotated[
            list[str] | None,
            typer.Option("--client", metavar="NAME=KEY", help="The key of an agent; may be repeated."),
        ] = None,
        port: Annotated[
            int | None, typer.Option("--port", metavar="N", help="0 takes a free one (PORT; 8080).")
        ] = None,
        on_event: Annotated[
            list[str] | None,
            typer.Option(
                "--on-event", metavar="RECEIVER", help="A URL, or module:function; may be repeated."
            ),
        ] = None,
        event_content: Annotated[
            str | None,
            typer.Option("--event-content", metavar="none|history", help="What events show of entries."),
        ] = None,
        verbose: Annotated[
            bool, typer.Option("--verbose", help="Lines per request: what it costs on AWS, and no content.")
        ] = False,
    ) -> None:
        """Serve the API on this machine until Ctrl+C. It needs the extra `local`.

        It serves the folder that --data, FORKLORE_DATA or the profile names. Without one everything
        is forgotten at the end.
        """
        with from_extra("local"):
            from forklore.local.server import main
        target = shell.target
        data = target.data if isinstance(target, InProcess) else None
        named = {"--data": data, "--host": host, "--port": port}
        named |= {"--event-content": event_content}
        given = [f"{name}={value}" for name, value in named.items() if value is not None]
        given += [f"--allow-host={name}" for name in allow_host or ()]
        given += [f"--client={pair}" for pair in client or ()]
        given += [f"--on-event={receiver}" for receiver in on_event or ()]
        code = main(arguments=[*given, *(["--verbose"] if verbose else [])], command="forklore serve")
        sys.stdout.flush()
        sys.stderr.flush()
        if code == DATABASE_ENDED:
            code = NO_ANSWER
        os._exit(code)  # a thread cannot be stopped: a handler that hangs would keep the process alive

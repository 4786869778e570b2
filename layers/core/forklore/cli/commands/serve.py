"""`forklore serve`: the local server."""

import os
import sys
from typing import Annotated

import typer

from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "serve", example="forklore serve --data ./data --port 8080", without=("data",))
    def serve(
        shell: Shell,  # noqa: ARG001 (every command has one)
        data: Annotated[
            str | None, typer.Option("--data", metavar="DIR", help="Keep what is stored in this folder.")
        ] = None,
        engine: Annotated[
            str | None, typer.Option("--engine", metavar="NAME", help="What keeps a new folder.")
        ] = None,
        host: Annotated[
            str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen (HOST; 127.0.0.1).")
        ] = None,
        port: Annotated[
            int | None, typer.Option("--port", metavar="N", help="0 takes a free one (PORT; 8080).")
        ] = None,
        verbose: Annotated[
            bool, typer.Option("--verbose", help="Lines per request, without content.")
        ] = False,
    ) -> None:
        """Serve the API on this machine until Ctrl+C. It needs the extra `local`.

        Without --data everything is forgotten at the end.
        """
        with from_extra("local"):
            from forklore.local.server import main
        named = {"--data": data, "--engine": engine, "--host": host, "--port": port}
        given = [f"{name}={value}" for name, value in named.items() if value is not None]
        code = main(arguments=[*given, *(["--verbose"] if verbose else [])])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # a thread cannot be stopped: a handler that hangs would keep the process alive

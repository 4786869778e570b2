"""`forklore serve`: the local server, which reads its options by itself."""

from typing import Annotated, Any

import typer

from forklore.cli.registering import command
from forklore.cli.settings import MEMORY, InProcess
from forklore.cli.shell import Shell
from forklore.extras import from_extra


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "serve",
        example="forklore serve --data ./data --port 8080",
        without=("client",),
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
    def serve(
        shell: Shell, options: Annotated[list[str] | None, typer.Argument(metavar="OPTION")] = None
    ) -> None:
        """Serve the API on this machine until Ctrl+C. It needs the extra `local`."""
        with from_extra("local"):
            from forklore_local.server.server import end, main
        target = shell.target
        kept = [f"--data={target.data or MEMORY}"] if isinstance(target, InProcess) else []
        end(main(arguments=[*kept, *(options or ())], command="forklore serve", tools=_tools))


def _tools() -> Any:
    """Return what adds the tools for agents."""
    with from_extra("mcp"):
        from forklore.mcp.http import with_tools
    return with_tools

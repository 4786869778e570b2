"""`forklore help`: the help of a command, as `--help` shows it."""

from typing import Annotated

import typer

from forklore.cli import completing


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("help", epilog="Example: forklore help log")
    def help_(
        context: typer.Context,
        command: Annotated[
            str | None,
            typer.Argument(
                metavar="[COMMAND]",
                help="A command.",
                show_default=False,
                autocompletion=completing.commands,
            ),
        ] = None,
    ) -> None:
        """Show the help of a command, or of all."""
        above = context.parent
        assert above is not None
        if command is None:
            above.command.make_context(above.info_name, ["--help"])
        else:
            name, found, _ = above.command.resolve_command(above, [command])  # type: ignore[attr-defined]
            found.make_context(name, ["--help"], parent=above)

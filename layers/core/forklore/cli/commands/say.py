"""`forklore say`: append a message."""

import sys
from typing import Annotated

import typer

from forklore.cli.entries import show_on_one_line
from forklore.cli.exits import CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell

STDIN = "-"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "say", makes=True, example='forklore say trip "Two nights in Lisbon?"')
    def say(
        shell: Shell,
        conversation: ConversationArgument,
        text: Annotated[
            str, typer.Argument(metavar="TEXT", help="What is said; - reads it from standard input.")
        ],
        role: Annotated[
            str, typer.Option("--role", "--as", metavar="ROLE", help="Who says it: user, ai or system.")
        ] = "user",
        key: Annotated[
            str | None, typer.Option("--key", metavar="KEY", help="A key for the entry, to find it by.")
        ] = None,
    ) -> None:
        """Append a message. A name or an id that does not exist is made with it."""
        said = _read() if text == STDIN else text
        if not said:
            raise CommandError("standard input is empty" if text == STDIN else "the text is empty")
        entry = shell.conversation(conversation).say(role, said, key=key)
        if shell.out.is_json:
            shell.out.result(entry)
        else:
            show_on_one_line(shell.out, entry)


def _read() -> str:
    """Return standard input without the line feed at its end. Raises CommandError."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input is no UTF-8: {error}") from error
    return text

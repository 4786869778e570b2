"""`forklore say`: append a message."""

import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from forklore.cli import completing
from forklore.cli.entries import show_on_one_line
from forklore.cli.exits import NOT_FOUND, CommandError, code_of, line_of
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import is_id, resembles_id
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import NotFoundError

if TYPE_CHECKING:
    from forklore.client.messages import Role
    from forklore.client.synchronous.conversation import Conversation

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
            str,
            typer.Option(
                "--role",
                "--as",
                metavar="ROLE",
                help="Who says it: user, ai or system.",
                autocompletion=completing.roles,
            ),
        ] = "user",
        key: Annotated[
            str | None, typer.Option("--key", metavar="KEY", help="A key for the entry, to find it by.")
        ] = None,
        once: Annotated[
            str | None,
            typer.Option(
                "--once", metavar="KEY", help="Append nothing if you said it under this key before."
            ),
        ] = None,
        promote: Annotated[
            bool, typer.Option("--promote", help="Make this branch the current one of its tree.")
        ] = False,
        new: Annotated[
            bool, typer.Option("--new", help="Make the conversation, also for an id that does not exist.")
        ] = False,
    ) -> None:
        """Append a message. A name that does not exist is made with it, an id with --new only."""
        said = _read() if text == STDIN else text
        if not said:
            raise CommandError("standard input is empty" if text == STDIN else "the text is empty")
        talk = _talk(shell, conversation, makes=new)
        current = shell.current_branch(talk) if promote else None
        entry = talk.say(cast("Role", role), said, key=key, promote=promote or None, idempotency_key=once)
        if shell.out.is_json:
            shell.out.result(entry)
        else:
            show_on_one_line(shell.out, entry)
        if current is not None and current != entry.conversation_id:
            shell.say_what_was_current(current)


def _talk(shell: Shell, reference: str, *, makes: bool) -> "Conversation":
    """Return where to speak. What looks like an id must be there unless `makes` is true.

    Raises CommandError if it is not.
    """
    if not resembles_id(reference) or (makes and not is_id(reference)):
        return shell.client.named(reference)
    try:
        talk = shell.conversation(reference)
        if not makes:
            talk.details()
    except (NotFoundError, CommandError) as error:
        if (code_of(error) if isinstance(error, NotFoundError) else error.code) != NOT_FOUND:
            raise
        raise CommandError(f"{line_of(error)}; --new makes a new one", NOT_FOUND) from error
    return talk


def _read() -> str:
    """Return standard input without the line feed at its end. Raises CommandError."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input is no UTF-8: {error}") from error
    return text

"""`forklore watch`: what is new in a conversation, as it comes."""

from typing import Annotated

import typer

from forklore.cli.following import show_as_they_come
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "watch", example="forklore watch trip --oneline")
    def watch(
        shell: Shell,
        conversation: ConversationArgument,
        oneline: Annotated[bool, typer.Option("--oneline", help="One line for each entry.")] = False,
        is_whole: Annotated[
            bool, typer.Option("--all", help="Also entries of programs that have no text.")
        ] = False,
    ) -> None:
        """Show what is new from now on, as it comes, until Ctrl+C.

        With --json the parts of an answer in progress are shown, too. A server that is started anew
        is no end. `forklore log -f` begins with what is there.
        """
        news = shell.conversation(conversation).watch(channel="history")
        show_as_they_come(shell.out, news, oneline=oneline, is_whole=is_whole)

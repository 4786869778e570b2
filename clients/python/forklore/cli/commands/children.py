"""`forklore children`: the conversations that were started from one."""

from typing import Annotated

import typer

from forklore.cli.commands.ls import show_conversations
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "children", example="forklore children trip", pages=True)
    def children(
        shell: Shell,
        conversation: ConversationArgument,
        by: Annotated[
            str | None, typer.Option("--by", metavar="ENTRY", help="Only those that this entry started.")
        ] = None,
    ) -> None:
        """List the conversations that agents have started from one, the oldest first.

        Each is a tree of its own. `forklore ls --ancestry children` lists those of all.
        """
        parent = shell.conversation(conversation)
        show_conversations(shell, parent.children(by=None if by is None else entry_id_of(parent, by)))

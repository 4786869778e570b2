"""`forklore copy`: a tree of one's own, with what a conversation shows."""

from typing import Annotated

import typer

from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "copy", example="forklore copy trip --up-to @asked")
    def copy(
        shell: Shell,
        conversation: ConversationArgument,
        up_to: Annotated[
            str | None, typer.Option("--up-to", metavar="ENTRY", help="The last entry that is copied.")
        ] = None,
        title: Annotated[
            str | None, typer.Option("--title", metavar="TEXT", help="Its title; else that of the original.")
        ] = None,
    ) -> None:
        """Copy the history that a conversation shows to a tree of your own, and print its id.

        Nobody else is a member of it. An entry is an id, @KEY, or -1 for the last one.
        """
        source = shell.conversation(conversation)
        last = None if up_to is None else entry_id_of(source, up_to)
        made = shell.client.api.copy_conversation(source.resolve(), up_to_entry_id=last, title=title)
        if shell.out.is_json:
            shell.out.result(made)
        else:
            shell.out.line((made.id, "yellow"))

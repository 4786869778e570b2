"""`forklore rm`: delete a whole fork tree."""

import typer

from forklore.cli.deleting import delete
from forklore.cli.parameters import ConversationArgument, Yes
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rm", example="forklore rm trip --yes")
    def rm(shell: Shell, conversation: ConversationArgument, yes: Yes = False) -> int | None:
        """Delete the whole fork tree of a conversation, and the name that it is given by.

        All its branches go, and every tree that was started from it. It cannot be undone.
        `forklore branch -d` deletes one branch.
        """
        return delete(shell, conversation, whole=True, yes=yes)

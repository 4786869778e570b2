"""`forklore rm`: delete a whole fork tree."""

from typing import Annotated

import typer

from forklore.cli.deleting import delete
from forklore.cli.parameters import ConversationArgument, Yes
from forklore.cli.registering import command
from forklore.cli.shell import Shell

ForGood = Annotated[bool, typer.Option("--for-good", help="Without the trash, or out of it.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rm", example="forklore rm trip --yes")
    def rm(
        shell: Shell, conversation: ConversationArgument, for_good: ForGood = False, yes: Yes = False
    ) -> int | None:
        """Delete the whole fork tree of a conversation.

        All its branches go, and every tree that was started from it. While `forklore trash` lists
        it, `forklore undelete` brings all back; its names stay for that. With --for-good the name
        goes that it is given by. `forklore branch -d` deletes one branch.
        """
        return delete(shell, conversation, whole=True, yes=yes, for_good=for_good)

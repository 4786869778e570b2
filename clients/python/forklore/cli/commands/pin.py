"""`forklore pin` and `forklore unpin`: what stands first for you."""

from typing import Annotated

import typer

from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "pin", example="forklore pin trip")
    def pin(
        shell: Shell,
        conversation: ConversationArgument,
        after: Annotated[
            str | None,
            typer.Option(
                "--after", metavar="NAME|ID", help="Just after this pinned one, and not first of all."
            ),
        ] = None,
    ) -> None:
        """Pin a fork tree, or move it among your pins. It holds for nobody else."""
        pinned = shell.conversation(conversation)
        pinned.pin(after=None if after is None else shell.conversation(after))
        _tell(shell, pinned.id, is_pinned=True)

    @command(app, "unpin", example="forklore unpin trip")
    def unpin(shell: Shell, conversation: ConversationArgument) -> None:
        """Take a fork tree out of your pins."""
        taken_out = shell.conversation(conversation)
        taken_out.unpin()
        _tell(shell, taken_out.id, is_pinned=False)


def _tell(shell: Shell, conversation_id: str, *, is_pinned: bool) -> None:
    if shell.out.is_json:
        shell.out.result({"conversationId": conversation_id, "pinned": is_pinned})
        return
    end = "is pinned: `forklore ls --pinned` lists it" if is_pinned else "is not pinned"
    shell.out.line((conversation_id, "yellow"), f" {end}")

"""`forklore archive` and `forklore unarchive`: what your lists leave out."""

import typer

from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "archive", example="forklore archive trip")
    def archive(shell: Shell, conversation: ConversationArgument) -> None:
        """Leave a fork tree out of your lists of conversations. It holds for nobody else."""
        archived = shell.conversation(conversation)
        archived.archive()
        _tell(shell, archived.id, is_archived=True)

    @command(app, "unarchive", example="forklore unarchive trip")
    def unarchive(shell: Shell, conversation: ConversationArgument) -> None:
        """Take a fork tree out of your archive."""
        taken_out = shell.conversation(conversation)
        taken_out.unarchive()
        _tell(shell, taken_out.id, is_archived=False)


def _tell(shell: Shell, conversation_id: str, *, is_archived: bool) -> None:
    if shell.out.is_json:
        shell.out.result({"conversationId": conversation_id, "archived": is_archived})
        return
    end = "is archived: `forklore ls --archived only` lists it" if is_archived else "is not archived"
    shell.out.line((conversation_id, "yellow"), f" {end}")

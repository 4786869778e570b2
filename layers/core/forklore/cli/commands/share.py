"""`forklore share`: who may use a conversation."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from forklore.cli.exits import CommandError
from forklore.cli.output import moment
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.client.synchronous.conversation import Conversation

Level = Literal["manager", "writer", "reader"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "share", example="forklore share trip bob reader")
    def share(
        shell: Shell,
        conversation: ConversationArgument,
        user: Annotated[
            str | None, typer.Argument(metavar="[USER]", help="Whom to let in.", show_default=False)
        ] = None,
        level: Annotated[
            Level | None,
            typer.Argument(metavar="[LEVEL]", help="manager, writer or reader.", show_default=False),
        ] = None,
        remove: Annotated[bool, typer.Option("--remove", help="End the membership of USER.")] = False,
    ) -> None:
        """List who may use a conversation, or let a user in. It holds for the whole fork tree."""
        shared = shell.conversation(conversation)
        if user is None:
            if remove:
                raise CommandError("--remove needs a user")
            _list(shell, shared)
        elif remove:
            if level is not None:
                raise CommandError("--remove goes without a level")
            shared.unshare(user)
            if shell.out.is_json:
                shell.out.result({"conversationId": shared.id, "userId": user, "removed": True})
            else:
                shell.out.line(f"{user} is no member any more")
        elif level is None:
            raise CommandError("a level is manager, writer or reader: give one, or --remove")
        else:
            made = shared.share(user, level)
            if shell.out.is_json:
                shell.out.result(made)
            else:
                shell.out.line(f"{made.user_id} is {made.access_level}")


def _list(shell: Shell, shared: "Conversation") -> None:
    members = shared.members()
    if shell.out.is_json:
        shell.out.results(members)
        return
    rows = ((one.user_id, one.access_level, moment(one.created_at)) for one in members)
    shell.out.table(("user", "access", "since"), rows)

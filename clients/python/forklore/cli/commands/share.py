"""`forklore share`: who may use a conversation."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from forklore.cli.exits import CommandError
from forklore.cli.output import moment
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation

Level = Literal["manager", "writer", "reader"]
Children = Literal["include", "keep"]


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
        children: Annotated[
            Children | None,
            typer.Option(
                "--children",
                help="include: let USER into what was started from here, too. keep: take nothing there.",
            ),
        ] = None,
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
            removed = shared.unshare(user, children=children)
            if shell.out.is_json:
                told = {"conversationId": shared.id, "userId": user, "removed": True}
                shell.out.result({**told, "children": removed.children})
            else:
                shell.out.line(f"{user} is no member any more{_also_in(removed)}")
        elif level is None:
            raise CommandError("a level is manager, writer or reader: give one, or --remove")
        else:
            made = shared.share(user, level, children=children)
            if shell.out.is_json:
                shell.out.result(made)
            else:
                shell.out.line(f"{made.user_id} is {made.access_level}{_also_in(made)}")


def _also_in(changed: object) -> str:
    """Return in how many children a member was changed, too; nothing for none."""
    children: int = getattr(changed, "children", 0)
    return f", also in {children} {'child' if children == 1 else 'children'}" if children else ""


def _list(shell: Shell, shared: "Conversation") -> None:
    members = shared.members()
    if shell.out.is_json:
        shell.out.results(members)
        return
    rows = ((one.user_id, one.access_level, moment(one.created_at)) for one in members)
    shell.out.table(("user", "access", "since"), rows)

"""`forklore switch`: choose the current branch of a fork tree."""

from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import check_name
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "switch", example="forklore switch trip-by-train --name trip")
    def switch(
        shell: Shell,
        conversation: ConversationArgument,
        name: Annotated[
            str | None,
            typer.Option(
                "--name",
                metavar="NAME",
                help="Let this name point to the branch, too.",
                autocompletion=completing.names,
            ),
        ] = None,
    ) -> None:
        """Make a branch the current one of its fork tree, which lists show for the tree."""
        check_name(name)
        chosen = shell.conversation(conversation)
        current = shell.current_branch(chosen)
        held = None if name is None else shell.held(name)
        chosen.promote()
        if name is not None:
            shell.point(name, held, chosen.id)
        if shell.out.is_json:
            pointed = {} if name is None else {"name": name}
            shell.out.result({"conversationId": chosen.id, "isCurrent": True, **pointed})
        else:
            pointing = "" if name is None else f", and {name} points to it"
            shell.out.line((chosen.id, "yellow"), f" is the current branch{pointing}")
        if current is not None and current != chosen.id:
            shell.say_what_was_current(current, chosen.id)

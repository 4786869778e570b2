"""`forklore switch`: choose the current branch of a fork tree."""

from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.exits import CommandError, is_forklores
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import is_id
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import NotFoundError


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
        if name is not None and is_id(name):
            raise CommandError("a name cannot look like an id")
        chosen = shell.conversation(conversation)
        current = shell.current_branch(chosen)
        was = None if name is None else _place_of(shell, name)
        chosen.promote()
        if name is not None:
            chosen.point(name)
        if shell.out.is_json:
            pointed = {} if name is None else {"name": name}
            shell.out.result({"conversationId": chosen.id, "isCurrent": True, **pointed})
        else:
            pointing = "" if name is None else f", and {name} points to it"
            shell.out.line((chosen.id, "yellow"), f" is the current branch{pointing}")
        if name is not None and was is not None and was != chosen.id:
            shell.say_where_it_was(name, was)
        if current is not None and current not in (chosen.id, was):
            shell.say_what_was_current(current)


def _place_of(shell: Shell, name: str) -> str | None:
    """Return the conversation that a name points to; None for a new name."""
    try:
        return shell.client.named(name).resolve()
    except NotFoundError as error:
        if not is_forklores(error):
            raise
        return None

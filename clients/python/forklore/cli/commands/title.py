"""`forklore title`: what a conversation is called."""

from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "title", example='forklore title trip "Lisbon in March"')
    def title(
        shell: Shell,
        conversation: ConversationArgument,
        text: Annotated[
            str | None,
            typer.Argument(metavar="[TEXT]", help="The new title.", show_default=False),
        ] = None,
        clear: Annotated[bool, typer.Option("--clear", help="Take the title away.")] = False,
    ) -> None:
        """Show the title of a conversation, or give it another one."""
        if clear and text is not None:
            raise CommandError("--clear goes without a title")
        if text == "":
            raise CommandError("the title is empty: --clear takes it away")
        titled = shell.conversation(conversation)
        found = titled.details()
        if text is not None or clear:
            was, found = found.title, titled.update(title=text)
            if was != found.title:
                shell.note("title", conversationId=found.id, was=was, now=found.title)
                shell.say(f"{'it was ' + repr(was) if was else 'it had no title'}: `{shell.line('undo')}`")
        if shell.out.is_json:
            shell.out.result(found)
        elif found.title is not None:
            shell.out.line(found.title)

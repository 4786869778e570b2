"""`forklore name`: point a name of yours to a conversation, rename it, delete it."""

from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.deleting import is_sure
from forklore.cli.exits import NO, REFUSED, CommandError
from forklore.cli.parameters import Yes
from forklore.cli.references import check_name
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Name


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "name", example="forklore name plan trip")
    def name(
        shell: Shell,
        given: Annotated[
            str, typer.Argument(metavar="NAME", help="A name of yours.", autocompletion=completing.names)
        ],
        conversation: Annotated[
            str | None,
            typer.Argument(
                metavar="[NAME|ID]",
                help="The conversation that it points to from now on.",
                show_default=False,
                autocompletion=completing.names,
            ),
        ] = None,
        rename: Annotated[
            str | None, typer.Option("--rename", metavar="NEW", help="Give the name this spelling.")
        ] = None,
        delete: Annotated[
            bool, typer.Option("-d", "--delete", help="Delete the name. Its conversation stays.")
        ] = False,
        undo: Annotated[
            bool, typer.Option("--undo", help="Point it to where it was before its last move.")
        ] = False,
        yes: Yes = False,
    ) -> int | None:
        """Tell where a name points, or point it to a conversation, which is not promoted.

        When a name moves or goes, the line that takes it back is printed. `forklore ls --names`
        lists your names.
        """
        if (conversation is not None) + (rename is not None) + delete + undo > 1:
            raise CommandError("a conversation, --rename, --delete and --undo exclude each other")
        if yes and not delete:
            raise CommandError("--yes goes with --delete")
        check_name(given)
        check_name(rename)
        if delete:
            return _delete(shell, given, yes=yes)
        if conversation is not None:
            target = shell.conversation(conversation).resolve()
            found = shell.point(given, shell.held(given), target)
        else:
            found = shell.client.api.look_up_name(name=given)
            if rename is not None:
                found = _renamed(shell, found, rename)
            if undo:
                found = _moved_back(shell, found)
        if shell.out.is_json:
            shell.out.result(found)
        else:
            gone = ", which is deleted" if found.deleted else ""
            shell.out.line((found.name, "cyan"), " points to ", (found.conversation_id, "yellow"), gone)
        return None


def _moved_back(shell: Shell, held: Name) -> Name:
    """Return the name as it points to where it was before its last move."""
    if held.previous_conversation_id is None:
        raise CommandError(f"{held.name} has never pointed elsewhere", REFUSED)
    return shell.point(held.name, held, held.previous_conversation_id)


def _renamed(shell: Shell, held: Name, new: str) -> Name:
    """Return a new name with what the old one has, which is deleted then."""
    from forklore.cli.undoing import rename

    made = rename(shell, held, new)
    shell.note("spelling", was=held.name, now=new, conversationId=held.conversation_id)
    shell.say(f"it was {held.name}: `{shell.line('undo')}`")
    return made


def _delete(shell: Shell, name: str, *, yes: bool) -> int | None:
    held = shell.client.api.look_up_name(name=name)
    if not is_sure(f"Delete the name {name}?", yes=yes):
        return NO
    shell.client.delete_name(held)
    if shell.out.is_json:
        shell.out.result({"name": name, "deleted": True})
    else:
        shell.out.line("deleted ", (name, "cyan"))
    shell.say_where_it_was(name, held.conversation_id, None, deleted=bool(held.deleted), data=held.data)
    return None

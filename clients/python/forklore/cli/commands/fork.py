"""`forklore fork`: go on differently, once or several times."""

from typing import Annotated, Any

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import check_name, entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell

COUNT_MAX = 1_000
"""A tenth of what a tree can hold, so that a slip of the keys does not fill it."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "fork", example="forklore fork trip --before -1 --move-name")
    def fork(
        shell: Shell,
        conversation: ConversationArgument,
        before: Annotated[
            str | None, typer.Option("--before", metavar="ENTRY", help="Without this entry and what follows.")
        ] = None,
        after: Annotated[
            str | None,
            typer.Option("--after", metavar="ENTRY", help="With this entry, without what follows."),
        ] = None,
        count: Annotated[
            int | None,
            typer.Option("--count", min=1, max=COUNT_MAX, metavar="N", help="So many equal forks."),
        ] = None,
        name: Annotated[
            str | None, typer.Option("--name", metavar="NAME", help="A new name that points to the fork.")
        ] = None,
        move_name: Annotated[
            bool, typer.Option("--move-name", help="The name that was given moves to the fork.")
        ] = False,
        title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title.")] = None,
        promote: Annotated[
            bool, typer.Option("--promote", help="Make the fork the current branch of its tree.")
        ] = False,
    ) -> None:
        """Fork a conversation before or after an entry, without both at its end.

        Nothing is copied. The id of each fork is printed on a line of its own. An entry is an id,
        @KEY, or -1 for the last one.
        """
        if before is not None and after is not None:
            raise CommandError("--before and --after exclude each other")
        if name is not None and move_name:
            raise CommandError("--name and --move-name exclude each other")
        check_name(name)
        if count is not None and count > 1 and (name or move_name or promote):
            raise CommandError("several forks cannot share a name, nor all be the current branch")
        source = shell.conversation(conversation)
        if move_name and source.name is None:
            raise CommandError("--move-name needs a name, not an id")
        fields: dict[str, Any] = {"name": name, "move_name": move_name, "promote": promote or None}
        if before is not None:
            fields["before"] = entry_id_of(source, before)
        if after is not None:
            fields["after"] = entry_id_of(source, after)
        current = shell.current_branch(source) if promote else None
        if count is not None and count > 1:
            made = source.fork(count=count, title=title, **fields)
        else:
            made = [source.fork(title=title, **fields)]
        for one in made:
            if shell.out.is_json:
                shell.out.result(one.details())
            else:
                shell.out.line((one.id, "yellow"))
        if move_name:
            shell.say_where_it_was(conversation, source.id, made[0].id)
        if current is not None:
            shell.say_what_was_current(current, made[0].id)

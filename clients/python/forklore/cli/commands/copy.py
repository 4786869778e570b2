"""`forklore copy`: a tree of one's own, with what a conversation shows or with its whole tree."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated
from uuid import NAMESPACE_OID, uuid4, uuid5

import typer

from forklore.cli.exits import DONE, REFUSED, CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import check_name, entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client import jsontext
from forklore.client.errors import ConflictError, TooLargeError

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "copy", example="forklore copy trip --up-to @asked")
    def copy(
        shell: Shell,
        conversation: ConversationArgument,
        up_to: Annotated[
            str | None, typer.Option("--up-to", metavar="ENTRY", help="The last entry that is copied.")
        ] = None,
        title: Annotated[
            str | None, typer.Option("--title", metavar="TEXT", help="Its title; else that of the original.")
        ] = None,
        tree: Annotated[bool, typer.Option("--tree", help="Copy the whole tree, with all branches.")] = False,
        name: Annotated[
            str | None,
            typer.Option("--name", metavar="NAME", help="With --tree: a new name for the current branch."),
        ] = None,
        again: Annotated[
            str | None,
            typer.Option("--again", metavar="TEXT", help="With --tree: the same TEXT makes one copy only."),
        ] = None,
    ) -> int:
        """Copy the history that a conversation shows to a tree of your own, and print its id.

        Nobody else is a member of it. An entry is an id, @KEY, or -1 for the last one. With --tree
        the copy has all branches. Members, names, notes and what it started, such as the trees of
        sub-agents, stay behind. A tree that is too large for one request is exported and imported.
        """
        source = shell.conversation(conversation)
        if tree:
            if up_to is not None or title is not None:
                raise CommandError("--tree goes without --up-to and --title")
            check_name(name)
            return _whole(shell, source, name, again or uuid4().hex)
        if name is not None or again is not None:
            raise CommandError("--name and --again go with --tree")
        last = None if up_to is None else entry_id_of(source, up_to)
        made = shell.client.api.copy_conversation(source.resolve(), up_to_entry_id=last, title=title)
        if shell.out.is_json:
            shell.out.result(made)
        else:
            shell.out.line((made.id, "yellow"))
        return DONE


def _whole(shell: Shell, source: "Conversation", name: str | None, again: str) -> int:
    """Copy a whole tree. Return the exit code."""
    from forklore.cli.owner import owner_of

    made_of = jsontext.write([owner_of(shell.target), source.resolve(), again])
    copied = shell.client.conversation(str(uuid5(NAMESPACE_OID, made_of)))
    held = shell.held(name) if name is not None else None
    if held is not None and held.conversation_id != shell.current_branch(copied):
        raise CommandError(f"the name {name} is in use", REFUSED)
    try:
        made = shell.client.api.copy_tree(source.resolve(), id=copied.id)
    except TooLargeError:
        shell.say("too large for one request: it is exported, and imported")
        return _by_file(shell, source.id, name, again)
    except ConflictError as error:
        if error.reason != "id_in_use":
            raise
        made = copied.details()  # an earlier run has made it
    if shell.out.is_json:
        shell.out.result(made)
    else:
        shell.out.line((made.id, "yellow"))
    if name is not None and held is None:
        shell.point(name, None, next(one.conversation_id for one in copied.forks() if one.is_current))
    return DONE


def _by_file(shell: Shell, conversation_id: str, name: str | None, again: str) -> int:
    """Copy a whole tree by way of a file that goes at the end. Return the exit code."""
    from forklore.cli.commands.export import write_trees
    from forklore.cli.commands.import_ import threads_for
    from forklore.cli.import_files import import_files

    with TemporaryDirectory() as folder:
        lines = Path(folder) / "tree.jsonl"
        write_trees(shell, [conversation_id], str(lines), notes=False)
        threads = threads_for(shell)
        return import_files(shell, [lines], again=again, name=name, threads=threads, shown=f"copy {again}")

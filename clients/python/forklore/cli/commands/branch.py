"""`forklore branch`: list, make and delete branches of a fork tree."""

from typing import Annotated

import typer

from forklore.cli.deleting import delete as delete_branch
from forklore.cli.exits import CommandError
from forklore.cli.output import Part
from forklore.cli.parameters import ConversationArgument, Yes
from forklore.cli.references import check_name, entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Conversations, Fork
from forklore.client.result_base import wire


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "branch", example="forklore branch trip --new draft --at -2", pages=True)
    def branch(
        shell: Shell,
        conversation: ConversationArgument,
        new: Annotated[
            str | None, typer.Option("--new", metavar="NAME", help="Make a branch with this new name.")
        ] = None,
        at: Annotated[
            str | None,
            typer.Option("--at", metavar="ENTRY", help="Of the new branch: the last entry that it shows."),
        ] = None,
        delete: Annotated[bool, typer.Option("-d", "--delete", help="Delete this branch.")] = False,
        yes: Yes = False,
        names: Annotated[bool, typer.Option("--names", help="Show your names of each branch.")] = False,
    ) -> int | None:
        """List the branches of a conversation's fork tree, the oldest first.

        The current branch has a *. Other branches keep what they show of a deleted one. While
        `forklore trash` lists it, `forklore undelete` brings it back; its names stay for that.
        """
        if new is not None and delete:
            raise CommandError("--new and --delete exclude each other")
        if at is not None and new is None:
            raise CommandError("--at goes with --new")
        if yes and not delete:
            raise CommandError("--yes goes with --delete")
        if new is not None:
            _make(shell, conversation, new, at)
        elif delete:
            return delete_branch(shell, conversation, whole=False, yes=yes)
        else:
            _list(shell, conversation, with_names=names)
        return None


def _list(shell: Shell, reference: str, *, with_names: bool) -> None:
    forks = shell.conversation(reference).forks()
    if shell.out.is_json and not with_names:
        shell.out.results(forks)
        return
    named: dict[str, list[str]] = {}
    for name in shell.client.names() if with_names else ():
        named.setdefault(name.conversation_id, []).append(name.name)
    if shell.out.is_json:
        shell.out.results({**_wire(one), "names": named.get(one.conversation_id, [])} for one in forks)
        return
    rows = (_row(one, named.get(one.conversation_id, []) if with_names else None) for one in forks)
    header = ("", "id", "forked at", *(("names",) if with_names else ()), "title")
    shell.out.table(header, rows)


def _row(one: Fork, names: list[str] | None) -> tuple[Part, ...]:
    mark: Part = ("*", "green") if one.is_current else ""
    place = f"{one.forked_at_position} {one.forked_at_entry_id}" if one.forked_at_entry_id else ""
    named: tuple[Part, ...] = () if names is None else ((" ".join(names), "cyan"),)
    return (mark, (one.conversation_id, "yellow"), place, *named, one.title or "")


def _wire(one: Fork) -> dict[str, object]:
    made: dict[str, object] = wire(one)
    return made


def _make(shell: Shell, reference: str, name: str, at: str | None) -> None:
    check_name(name)
    source = shell.conversation(reference)
    anchor = None if at is None else entry_id_of(source, at)
    made = shell.client.api.fork_conversation(
        source.resolve(),
        at_entry_id=anchor,
        position=None if anchor is None else "after",
        name={"name": name, "expectRevision": 0},
    )
    assert not isinstance(made, Conversations)
    if shell.out.is_json:
        shell.out.result(made)
    else:
        shell.out.line((made.id, "yellow"))

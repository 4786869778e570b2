"""`forklore merge`: bring what another branch says back."""

from collections.abc import Sequence
from itertools import dropwhile
from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.commands.diff import compared
from forklore.cli.entries import show_on_one_line
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.results import Entry


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "merge", example="forklore merge trip trip-by-train --up-to -1")
    def merge(
        shell: Shell,
        into: Annotated[
            str,
            typer.Argument(
                metavar="INTO", help="The branch that gets the copies.", autocompletion=completing.names
            ),
        ],
        source: Annotated[
            str,
            typer.Argument(
                metavar="FROM", help="The branch whose entries are copied.", autocompletion=completing.names
            ),
        ],
        after: Annotated[
            str | None,
            typer.Option("--after", metavar="ENTRY", help="The last entry of FROM that is not copied."),
        ] = None,
        up_to: Annotated[
            str | None,
            typer.Option("--up-to", metavar="ENTRY", help="The last entry of FROM that is copied."),
        ] = None,
        again: Annotated[
            bool, typer.Option("--again", help="Copy also what an earlier merge has copied.")
        ] = False,
    ) -> None:
        """Append copies of what FROM shows behind the last entry that both show, at most 50.

        What INTO shows already is not copied again. Both are branches of one fork tree. An entry is
        an id, @KEY, or -1 for the last one.
        """
        target, other = shell.conversation(into), shell.conversation(source)
        begin = None if after is None else entry_id_of(other, after)
        end = None if up_to is None else entry_id_of(other, up_to)
        if not again:
            there, said = (branch.data for branch in compared(shell, target, other).branches)
            chosen = _between(said, begin, end)
            origins = {_origin(entry) for entry in there}
            left = list(dropwhile(lambda entry: _origin(entry) in origins, chosen))
            if chosen and not left:
                shell.say("already merged; --again copies it once more")
                if shell.out.is_json:
                    shell.out.results(())
                return
            if len(left) < len(chosen):
                begin = chosen[-len(left) - 1].id
        copies = target.merge(other, after_entry_id=begin, up_to_entry_id=end)
        if shell.out.is_json:
            shell.out.results(copies)
            return
        for copy in copies:
            show_on_one_line(shell.out, copy)
        if not copies:
            shell.say("there is nothing to copy")


def _between(entries: Sequence[Entry], begin: str | None, end: str | None) -> list[Entry]:
    """Return the entries behind `begin` up to `end`; none if one of them is not there."""
    ids = [entry.id for entry in entries]
    if not {begin, end} <= {None, *ids}:
        return []
    first = 0 if begin is None else ids.index(begin) + 1
    return list(entries[first : None if end is None else ids.index(end) + 1])


def _origin(entry: Entry) -> str:
    """Return the entry that this one is a copy of, or its own id."""
    return entry.copied_from_entry_id or entry.id

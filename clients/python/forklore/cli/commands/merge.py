"""`forklore merge`: bring what another branch says back."""

from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.entries import show_on_one_line
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell


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
        copies = target.merge(other, after_entry_id=begin, up_to_entry_id=end, again=again or None)
        if not copies:
            shell.say("there is nothing to copy" if again else "already merged; --again copies it once more")
        if shell.out.is_json:
            shell.out.results(copies)
            return
        for copy in copies:
            show_on_one_line(shell.out, copy)

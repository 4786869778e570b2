"""`forklore log`: the history of a branch, like git log."""

from collections.abc import Iterable
from typing import Annotated

import typer

from forklore.cli.drawing import ENTRIES_MAX, show_graph
from forklore.cli.entries import show_entry, show_on_one_line
from forklore.cli.exits import CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.results import Entry

PAGE_MAX = 100


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "log", example="forklore log trip -n 2 --oneline", pages=True)
    def log(
        shell: Shell,
        conversation: ConversationArgument,
        number: Annotated[
            int | None, typer.Option("-n", "--number", min=1, metavar="N", help="At most N entries.")
        ] = None,
        oneline: Annotated[bool, typer.Option("--oneline", help="One line for each entry.")] = False,
        reverse: Annotated[bool, typer.Option("--reverse", help="The oldest first.")] = False,
        graph: Annotated[
            bool, typer.Option("--graph", help="Draw the whole fork tree, as git log does.")
        ] = False,
    ) -> None:
        """Show what a branch shows, the newest entry first.

        With -n and --reverse the newest N entries are shown, the oldest of them first. --graph
        draws all branches, and folds long runs of entries; with --oneline too it folds none.
        """
        if graph:
            if reverse:
                raise CommandError("--graph goes from the newest to the oldest")
            tree = shell.conversation(conversation)
            if not show_graph(shell.out, shell.client, tree, lines_max=number, is_whole=oneline):
                shell.say(f"the tree has more entries; its oldest {ENTRIES_MAX:,} are drawn")
            return
        page = min(number or PAGE_MAX, PAGE_MAX)
        shown = shell.conversation(conversation)
        entries: Iterable[Entry]
        if not reverse:
            entries = _first(shown.entries(backward=True, channel="history", page_entries=page), number)
        elif number is None:
            entries = shown.entries(channel="history", page_entries=page)
        else:
            newest = shown.entries(backward=True, channel="history", page_entries=page)
            entries = reversed(newest.list(limit=number))
        if shell.out.is_json:
            shell.out.results(entries)
            return
        for place, entry in enumerate(entries):
            if oneline:
                show_on_one_line(shell.out, entry)
            else:
                show_entry(shell.out, entry, is_first=place == 0)


def _first(entries: Iterable[Entry], number: int | None) -> Iterable[Entry]:
    from itertools import islice

    return islice(entries, number)

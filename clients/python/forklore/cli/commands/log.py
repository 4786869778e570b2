"""`forklore log`: the history of a branch, like git log."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from forklore.cli.drawing import ENTRIES_MAX, show_graph
from forklore.cli.entries import show_entries
from forklore.cli.exits import CommandError
from forklore.cli.following import show_as_they_come
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import AnswerLog, Entry
from forklore.client.parts import is_shown

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation

PAGE_MAX = 100
Channel = Literal["history", "context"]


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
        is_whole: Annotated[
            bool, typer.Option("--all", help="Also entries of programs that have no text.")
        ] = False,
        memory: Annotated[
            bool, typer.Option("--context", help="The agent's memory of now instead of the history.")
        ] = False,
        follow: Annotated[
            bool, typer.Option("-f", "--follow", help="Go on with what is new, until Ctrl+C.")
        ] = False,
        graph: Annotated[
            bool, typer.Option("--graph", help="Draw the whole fork tree, as git log does.")
        ] = False,
    ) -> None:
        """Show what a branch shows, the newest entry first.

        With -n and --reverse the newest N entries are shown, the oldest of them first. Entries that
        are nobody's message and have no text are left out, unless --all or --json is given. --graph
        draws all branches, and folds long runs of entries; with --oneline too it folds none.
        --context is for an agent, so with its key or its --client, and shows the latest epoch.
        -f shows the oldest first, and then what is new, as it comes.
        """
        if graph and (memory or follow):
            raise CommandError(f"--graph and {'--context' if memory else '--follow'} exclude each other")
        if graph:
            if reverse:
                raise CommandError("--graph goes from the newest to the oldest")
            tree = shell.conversation(conversation)
            is_all = show_graph(
                shell.out,
                shell.client,
                tree,
                lines_max=number,
                is_whole=oneline,
                with_records=is_whole or shell.out.is_json,
            )
            if not is_all:
                shell.say(f"the tree has more entries; its oldest {ENTRIES_MAX:,} are drawn")
            return
        is_whole = is_whole or shell.out.is_json or memory
        channel: Channel = "context" if memory else "history"
        from_end = number is not None or not reverse
        shown = shell.conversation(conversation)
        shown.resolve()  # a name that does not exist would show nothing
        if follow:
            shell.out.do_not_page()
            newest = _followed(shown, channel, number, is_whole=is_whole)
            show_as_they_come(shell.out, newest, oneline=oneline, is_whole=is_whole)
            return
        page = min(number or PAGE_MAX, PAGE_MAX)
        listed = shown.entries(backward=from_end, channel=channel, page_entries=page)
        entries: Iterable[Entry] = (entry for entry in listed if is_whole or is_shown(entry))
        entries = islice(entries, number)
        if from_end and reverse:
            entries = list(entries)[::-1]
        show_entries(shell.out, entries, oneline=oneline)


def _followed(
    shown: "Conversation", channel: Channel, number: int | None, *, is_whole: bool
) -> Iterator[Entry | AnswerLog]:
    """Yield the newest entries, the oldest first, and then what is new.

    number: of the newest entries; None: all. is_whole: those without text count, too.
    """
    last, newest = None, list[Entry]()
    if number is not None:
        for entry in shown.entries(backward=True, channel=channel, page_entries=min(number, PAGE_MAX)):
            last = last or entry
            newest += [entry] if is_whole or is_shown(entry) else []
            if len(newest) == number:
                break
    yield from reversed(newest)
    yield from shown.watch(after=last, channel=channel)

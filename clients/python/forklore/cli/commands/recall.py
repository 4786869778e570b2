"""`forklore recall`: find what was meant."""

from collections.abc import Sequence
from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.entries import role_part, text_to_show
from forklore.cli.exits import NO
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Hit
from forklore.client.questions import HITS, asked


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "recall", example='forklore recall "what did we decide about Lisbon?"', pages=True)
    def recall(
        shell: Shell,
        question: Annotated[list[str], typer.Argument(metavar="QUESTION...")],
        number: Annotated[
            int, typer.Option("-n", "--number", min=1, max=200, metavar="N", help="At most N entries.")
        ] = HITS,
        conversation: Annotated[
            str | None,
            typer.Option(
                "--in", metavar="NAME|ID", help="Only what this one shows.", autocompletion=completing.names
            ),
        ] = None,
        around: Annotated[
            int | None,
            typer.Option(
                "--around", min=0, max=3, metavar="N", help="Show the whole exchange, and N on each side."
            ),
        ] = None,
        words: Annotated[bool, typer.Option("--words", help="Rank by words alone.")] = False,
    ) -> int | None:
        """Find the entries that answer a question best, in every conversation that you may see.

        By meaning and words if the service has a model, else by words. With --in nothing is found
        that only a sibling says. Exit code 1: nothing is found.
        """
        page = shell.client.api.search_conversations(
            query=asked(" ".join(question)),
            search_type="fulltext" if words else None,
            conversation_id=None if conversation is None else shell.conversation(conversation).resolve(),
            limit=number,
            around=around,
        )
        if shell.out.is_json:
            shell.out.results(iter(page.data))
        else:
            _show(shell, page.data)
        return None if page.data else NO


def _show(shell: Shell, hits: Sequence[Hit]) -> None:
    """Write the hits, the best first. Of exchanges the entry that was found is marked."""
    out = shell.out
    for hit in hits:
        text = hit.line.text or ""
        if not hit.around and not out.is_terminal:
            out.table((), [(hit.conversation_id, hit.entry_id, text)])
            continue
        out.line((hit.conversation_id, "yellow"), "  ", (hit.conversation_title or "", "bold"))
        if not hit.around:
            out.line("  ", (hit.entry_id, "dim"), "  ", text)
        for entry in hit.around:
            mark = "*" if entry.id == hit.entry_id else " "
            said = " ".join(text_to_show(entry).split())
            out.line(mark, " ", (entry.id, "dim"), " ", role_part(entry), " ", said)

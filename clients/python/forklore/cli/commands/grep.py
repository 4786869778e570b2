"""`forklore grep`: find entries by words."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.exits import NO
from forklore.cli.output import Part
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Hit

FOUND = "bold red"
BETWEEN = " … "


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "grep", example="forklore grep nights lisbon", pages=True)
    def grep(
        shell: Shell,
        words: Annotated[list[str], typer.Argument(metavar="WORD...", help="All of them must occur.")],
        number: Annotated[
            int | None, typer.Option("-n", "--number", min=1, metavar="N", help="At most N entries.")
        ] = None,
        conversation: Annotated[
            str | None,
            typer.Option(
                "--in", metavar="NAME|ID", help="Only in this one.", autocompletion=completing.names
            ),
        ] = None,
    ) -> int | None:
        """Find the entries that have all words, in every conversation that you may see.

        A word is found wherever its letters occur, in capitals or not. The newest conversation
        comes first. Exit code 1: nothing is found.
        """
        found = shell.client.search(
            " ".join(f"+{part}" for word in words for part in word.split()),
            include_entry=shell.out.is_json or None,
            conversation_id=None if conversation is None else shell.conversation(conversation).resolve(),
        )
        hits = islice(found, number)
        count = shell.out.results(hits) if shell.out.is_json else _show(shell, hits, words)
        return None if count else NO


def _show(shell: Shell, hits: Iterable[Hit], words: Sequence[str]) -> int:
    shown, count = "", 0
    for count, hit in enumerate(hits, start=1):  # noqa: B007 (counted)
        text = " ".join(BETWEEN.join(hit.highlights).split())
        if not shell.out.is_terminal:
            shell.out.table((), [(hit.conversation_id, hit.entry_id, text)])
            continue
        if hit.conversation_id != shown:
            shown = hit.conversation_id
            shell.out.line((shown, "yellow"), "  ", (hit.conversation_title or "", "bold"))
        shell.out.line("  ", (hit.entry_id, "dim"), "  ", *marked(text, words))
    return count


def marked(text: str, words: Sequence[str]) -> list[Part]:
    """Return the text in parts; the words have a style.

    >>> marked("In Lisbon.", ["lisbon"])
    ['In ', ('Lisbon', 'bold red'), '.']
    """
    split = [part for word in words for part in word.split()]
    pattern = "|".join(re.escape(word) for word in sorted(split, key=len, reverse=True))
    if not pattern:
        return [text]
    parts = re.split(f"({pattern})", text, flags=re.IGNORECASE)
    return [(part, FOUND) if place % 2 else part for place, part in enumerate(parts) if part]

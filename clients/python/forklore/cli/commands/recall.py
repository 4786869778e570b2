"""`forklore recall`: find what was meant."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.entries import role_part, text_to_show
from forklore.cli.exits import NO, CommandError
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.settings import InProcess
from forklore.cli.shell import Shell
from forklore.client.generated.results import Hit
from forklore.client.questions import HITS, asked
from forklore.extras import from_extra

WORDLLAMA = "wordllama"
"""The model that the extra `recall` installs."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "recall", example='forklore recall "what did we decide about Lisbon?"', pages=True)
    def recall(
        shell: Shell,
        question: Annotated[list[str] | None, typer.Argument(metavar="QUESTION...")] = None,
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
        status: Annotated[
            bool, typer.Option("--status", help="Say how many entries of the folder have vectors.")
        ] = False,
        rebuild: Annotated[
            bool, typer.Option("--rebuild", help="Make the vectors that entries of the folder lack.")
        ] = False,
        model: Annotated[
            str | None,
            typer.Option(
                "--model",
                metavar="NAME",
                help=f"Which model, with --status and --rebuild: {WORDLLAMA}, or module:function.",
            ),
        ] = None,
    ) -> int | None:
        """Find the entries that answer a question best, in every conversation that you may see.

        By meaning and words if the service has a model, else by words. With --in nothing is found
        that only a sibling says. --status and --rebuild are of the whole folder of --data: the
        first recall makes vectors, too, but waits for them. Exit code 1: nothing is found, or
        entries wait for their vectors.
        """
        if status or rebuild:
            if question or (status and rebuild):
                raise CommandError("--status, --rebuild and a question exclude each other")
            return _of_folder(shell, model or WORDLLAMA, rebuilds=rebuild)
        if not question or model is not None:
            raise CommandError("ask a question; --model goes with --status and --rebuild")
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


def _of_folder(shell: Shell, model: str, *, rebuilds: bool) -> int | None:
    """Tell how many entries of a folder have vectors; make the others first, if asked for."""
    target = shell.target
    if not isinstance(target, InProcess) or target.data is None:
        raise CommandError("this is for a folder of your own: --data DIR")
    with from_extra("local"):
        from forklore_local.in_process.embedding import Embedding
        from forklore_local.in_process.folder import DataError

    try:
        with Embedding(Path(target.data), model) as embedding:
            counted = embedding.count()
            if rebuilds and counted.waiting + counted.refused:
                with progress("making vectors") as bar:
                    bar.expect(counted.waiting + counted.refused)
                    embedding.rebuild(bar.advance)
                counted = embedding.count()
    except DataError as error:
        raise CommandError(str(error)) from error
    if shell.out.is_json:
        told = {"model": counted.model, "embedded": counted.embedded, "waiting": counted.waiting}
        told["refused"] = counted.refused
        shell.out.result({"type": "vectors", **told, "ofOtherModels": dict(counted.others)})
    else:
        shell.out.line(f"{counted.embedded:,} of {counted.entries:,} entries have vectors of {counted.model}")
        if counted.refused:
            shell.out.line(f"{counted.refused:,} of the others have a text that the model refuses")
        for other, count in sorted(counted.others.items()):
            shell.out.line(f"{count:,} of the others have vectors of {other}")
    return NO if counted.waiting else None


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

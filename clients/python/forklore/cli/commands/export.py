"""`forklore export`: fork trees in JSON Lines."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.exits import DONE, CommandError
from forklore.cli.one_output import written
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.exporting.kept_files import Keeping

PARALLEL, PARALLEL_MAX = 8, 64


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "export", example="forklore export trip --output trip.jsonl")
    def export(
        shell: Shell,
        conversations: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="NAME|ID...", help="Conversations: names of yours, or ids.", show_default=False
            ),
        ] = None,
        output: Annotated[
            str | None,
            typer.Option("-o", "--output", metavar="FILE", help="The file to write, whole or not at all."),
        ] = None,
        branch: Annotated[
            bool, typer.Option("--branch", help="Only what each of them shows, not its whole tree.")
        ] = False,
        given: Annotated[
            str | None,
            typer.Option(
                "--format",
                metavar="NAME",
                help="One branch: html or markdown for people, messages, claude-code or chatgpt.",
                show_default=False,
            ),
        ] = None,
        notes: Annotated[
            bool, typer.Option("--notes", help="Of html and markdown: with the notes, without their authors.")
        ] = False,
        parallel: Annotated[
            int, typer.Option("--parallel", min=1, max=PARALLEL_MAX, metavar="N", help="Requests at a time.")
        ] = PARALLEL,
    ) -> int:
        """Write the whole fork trees of conversations as JSON Lines.

        `forklore import` reads them. With --format it writes what one branch shows as another
        system has it, or as a page that needs no server. Members, names and children are not
        exported.
        """
        if not conversations:
            raise CommandError("name a conversation; forklore copy-table copies a whole table")
        if given is not None:
            return _elsewhere(shell, conversations, given, output, notes=notes)
        if notes:
            raise CommandError("--notes goes with --format html or markdown; JSON Lines have them anyway")
        write_trees(shell, conversations, output, branch=branch, threads=parallel)
        return DONE


def write_trees(
    shell: Shell,
    conversations: list[str],
    output: str | None,
    *,
    branch: bool = False,
    threads: int = PARALLEL,
    notes: bool = True,
) -> None:
    """Write the trees of conversations, or with `branch` what each of them shows, as JSON Lines.

    notes: whether the entries of a tree have their notes.
    """
    from forklore.exporting.fork_trees import exported_view
    from forklore.exporting.jsonlines import header_line
    from forklore.importing.checks import time_of

    line_out = shell.out.json_line
    with nullcontext(line_out) if output is None else written(output, line_out) as write:
        ids = list(dict.fromkeys(shell.conversation(one).resolve() for one in conversations))
        write(header_line(exported_at=time_of(datetime.now(UTC).isoformat())))
        keeping = _keeping(shell, output)
        views = (line for one in ids for line in exported_view(shell.client, one, keeping))
        for line in views if branch else _trees(shell, ids, keeping, threads, notes=notes):
            write(line)
    if keeping.left_out:
        why = "their bytes are gone" if output else "--output FILE keeps them beside it"
        shell.say(f"files that are left out: {keeping.left_out}; {why}")


def _keeping(shell: Shell, output: str | None) -> "Keeping":
    """Return what keeps the files beside the output, if that is a file."""
    from forklore.exporting.kept_files import ENDING, Keeping

    is_file = output not in (None, "-") and (not Path(output).exists() or Path(output).is_file())
    return Keeping(shell.client, Path(f"{output}{ENDING}") if is_file else None)


def _elsewhere(shell: Shell, conversations: list[str], given: str, output: str | None, *, notes: bool) -> int:
    """Write what one branch shows in the format of another system. Return the exit code."""
    from forklore.exporting.branches import PAGE_ENTRIES
    from forklore.exporting.bytes_within import Files
    from forklore.exporting.elsewhere import WRITERS, turns_of
    from forklore.exporting.page import html

    writers = {**WRITERS, "html": html}
    if given not in writers:
        raise CommandError(f"--format is one of: {', '.join(writers)}")
    if len(conversations) != 1:
        raise CommandError("--format goes with one conversation")
    if notes and given not in ("html", "markdown"):
        raise CommandError("--notes goes with --format html or markdown")
    branch = shell.conversation(conversations[0])
    details, line_out, files = branch.details(), shell.out.json_line, Files(shell.client.read)
    entries = branch.entries(channel="history", page_entries=PAGE_ENTRIES)
    turns = turns_of(entries, branch.notes() if notes else ())
    with nullcontext(line_out) if output is None else written(output, line_out) as write:
        for line in writers[given](details, turns, files):
            write(line)
    if files.left_out:
        shell.say(
            f"files that are left out: {files.left_out}; {given} has no place for them, or they are gone"
        )
    return DONE


def _trees(shell: Shell, ids: list[str], keeping: "Keeping", threads: int, *, notes: bool) -> Iterator[str]:
    """Yield the lines of the trees, each tree once."""
    from forklore.cli.owner import agent_of
    from forklore.exporting.branches import live_rows
    from forklore.exporting.fork_trees import exported

    seen: set[str] = set()
    for one in ids:
        if one in seen:
            continue
        rows = live_rows(shell.client.conversation(one))
        seen.update(row["conversationId"] for row in rows)
        with progress("exporting") as bar:
            bar.expect(len(rows))
            yield from exported(
                shell.client,
                rows,
                keeping,
                is_agent=agent_of(shell.target) is not None,
                threads=threads,
                on_branch=lambda: bar.advance(1),
                notes=notes,
            )

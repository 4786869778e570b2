"""`forklore diff`: where two branches part, and how each goes on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.entries import role_part, text_to_show
from forklore.cli.exits import NO
from forklore.cli.output import Output
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import ComparedBranch, Comparison, Entry
from forklore.client.parts import is_shown

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation

PAGE_ENTRIES = 200


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "diff", example="forklore diff trip trip-by-train", pages=True)
    def diff(
        shell: Shell,
        one: ConversationArgument,
        other: ConversationArgument,
        is_whole: Annotated[
            bool, typer.Option("--all", help="Also entries of programs that have no text.")
        ] = False,
    ) -> int | None:
        """Show the last entry that two branches of a tree share, and what each says after it.

        Entries that are nobody's message and have no text are left out, unless --all or --json is
        given. Exit code 1: they differ.
        """
        whole = compared(shell, shell.conversation(one), shell.conversation(other))
        if shell.out.is_json:
            shell.out.result(whole)
        elif _differ(whole):
            left_out = _show(shell.out, whole, (one, other), with_records=is_whole)
            if left_out:
                shell.say(f"left out are {left_out:,} without text: --all shows them")
        return NO if _differ(whole) else None


def compared(shell: Shell, one: "Conversation", other: "Conversation") -> Comparison:
    """Return where two branches part, with all that each says after it."""
    found = one.compare(other, limit=PAGE_ENTRIES)
    return replace(found, branches=tuple(_whole(shell, branch) for branch in found.branches))


def _whole(shell: Shell, branch: ComparedBranch) -> ComparedBranch:
    """Return the branch with all its entries."""
    if branch.after_cursor is None:
        return branch
    rest = shell.client.conversation(branch.conversation_id).entries(
        channel="history", after=branch.after_cursor, page_entries=PAGE_ENTRIES
    )
    return replace(branch, data=(*branch.data, *rest), after_cursor=None)


def _differ(compared: Comparison) -> bool:
    return any(branch.data for branch in compared.branches)


def _show(out: Output, compared: Comparison, references: tuple[str, str], *, with_records: bool) -> int:
    """Write the comparison. Return how many entries are left out."""
    left_out = 0
    styles = (("-", "red"), ("+", "green"))
    for (mark, _), branch, reference in zip(styles, compared.branches, references, strict=True):
        same = reference == branch.conversation_id
        out.line((f"{mark * 3} {branch.conversation_id}" + ("" if same else f" {reference}"), "bold"))
    base = compared.base.entry_id
    out.line((f"@@ after {base} @@" if base else "@@ nothing is shared @@", "cyan"))
    for (mark, style), branch in zip(styles, compared.branches, strict=True):
        for entry in branch.data:
            if not (with_records or is_shown(entry)):
                left_out += 1
                continue
            for line in _lines(entry):
                out.text(f"{mark}{line}", style=style)
    return left_out


def _lines(entry: Entry) -> Iterator[str]:
    """Yield the lines of an entry: the first one begins with its author."""
    author, _ = role_part(entry)
    first, *rest = text_to_show(entry).split("\n")
    yield f"{author}: {first}"
    for line in rest:
        yield f"{' ' * len(author)}  {line}"

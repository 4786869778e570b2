"""`forklore alternatives`: the tries of one step, side by side."""

import csv
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forklore.cli.exits import CommandError
from forklore.cli.output import Part
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client import jsontext
from forklore.client.result_base import wire

if TYPE_CHECKING:
    from forklore.client.generated.results import Note
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.client.trees import Way

_COLUMNS = {
    "id": "conversation_id",
    "way": "first",
    "title": "title",
    "ends with": "last",
    "score": "score",
    "entries": "entries",
    "input tokens": "input_tokens",
    "output tokens": "output_tokens",
    "cost in USD": "cost_usd",
    "seconds": "seconds",
    "failures": "failures",
}
"""The columns of the table that the explorer saves, and what stands in them."""
_HEADER = ("", "id", "score", "entries", "tokens", "cost", "seconds", "failures", "way")
_REQUESTS = 8  # at a time
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "alternatives",
        example="forklore alternatives trip -1",
        pages=True,
        context_settings={"ignore_unknown_options": True},  # for -1; read_reference refuses others
    )
    def alternatives(
        shell: Shell,
        conversation: ConversationArgument,
        entry: Annotated[
            str, typer.Argument(metavar="ENTRY", help="An entry's id, @KEY, or -1 for the last one.")
        ],
        is_csv: Annotated[
            bool, typer.Option("--csv", help="Write a table as CSV, with the metadata and notes.")
        ] = False,
        is_jsonl: Annotated[
            bool, typer.Option("--jsonl", help="Write a line of JSON for each way, as --json does.")
        ] = False,
    ) -> None:
        """Show all ways on from the place just before an entry: its own, and the alternatives.

        Each with its score, tokens, cost, time and failures. The score is the number `score` in the
        metadata of a branch: `forklore score` sets it. CSV has the number of notes on the entries
        of a way and the mean of their scores, JSON the notes, too, for a request for each way.
        """
        is_jsonl = is_jsonl or shell.out.is_json
        if is_csv and is_jsonl:
            raise CommandError("--csv and --json exclude each other")
        asked = shell.conversation(conversation)
        ways = asked.ways(entry_id_of(asked, entry))
        if is_jsonl:
            shell.out.results(
                {**wire(way), "notes": [wire(one) for one in notes], "notesScore": _mean(notes)}
                for way, notes in zip(ways, _notes(shell.client, ways), strict=True)
            )
        elif is_csv:
            for row in _table(ways, _notes(shell.client, ways)):
                shell.out.line(_line(row))
        else:
            rows = [_HEADER, *map(_row, ways)]
            if shell.out.is_terminal:  # without the columns that are empty
                shown = [column for column in zip(*rows, strict=True) if any(column[1:])]
                rows = list(zip(*shown, strict=True))
            shell.out.table([str(one) for one in rows[0]], rows[1:])


def _row(way: "Way") -> Sequence[Part]:
    return (
        ("*", "green") if way.is_current else "",
        (way.conversation_id, "yellow"),
        "" if way.score is None else f"{way.score:g}",
        str(way.entries),
        f"{way.input_tokens + way.output_tokens:,}" if way.input_tokens or way.output_tokens else "",
        f"${way.cost_usd:g}" if way.cost_usd else "",
        f"{way.seconds:.0f}" if way.seconds else "",
        str(way.failures or ""),
        way.first or way.title or "",
    )


def _notes(client: "Forklore", ways: Sequence["Way"]) -> list[list["Note"]]:
    """Return the notes on the entries of each way: those in its branch, from where it begins."""

    def of(way: "Way") -> list["Note"]:
        first = way.first_entry_id
        if first is None:
            return []
        notes = client.conversation(way.conversation_id).notes()
        return [one for one in notes if one.entry_id >= first and not one.pinned]

    with ThreadPoolExecutor(_REQUESTS) as executor:
        return list(executor.map(of, ways))


def _mean(notes: Sequence["Note"]) -> float | None:
    """Return the mean of the scores of notes; None if none has one."""
    scores = [float(one.score) for one in notes if one.score is not None]
    return sum(scores) / len(scores) if scores else None


def _table(ways: Sequence["Way"], noted: Sequence[Sequence["Note"]]) -> list[list[str]]:
    """Return the rows of the table, with the members of the metadata that differ.

    noted: the notes of each way.
    """
    names = dict.fromkeys(name for way in ways for name in way.metadata if name != "score")
    differing = [one for one in names if len({_told(way.metadata.get(one)) for way in ways}) > 1]
    rows = [
        [*_COLUMNS, "notes", "score of notes", "current", "tags", *(f"metadata.{one}" for one in differing)]
    ]
    for way, notes in zip(ways, noted, strict=True):
        tags = ", ".join(f"{name}:{value}" for name, value in way.tags.items())
        known = [_told(getattr(way, member)) for member in _COLUMNS.values()]
        known += [_told(len(notes)), _told(_mean(notes))]
        more = [_told(way.metadata.get(one)) for one in differing]
        rows.append([*known, "yes" if way.is_current else "", tags, *more])
    return rows


def _told(value: Any) -> str:
    if isinstance(value, str):
        # A spreadsheet would take it for a formula: a quotation mark before it, as OWASP has it.
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else jsontext.write(value)


def _line(row: Sequence[str]) -> str:
    """Return a row as CSV (RFC 4180), without its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(row)
    return out.getvalue()

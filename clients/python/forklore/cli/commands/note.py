"""`forklore note` and `notes`: what is noted on entries."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.output import moment
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of, id_with
from forklore.cli.registering import command
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.client.generated.results import Note

_ENTRY = typer.Argument(metavar="ENTRY", help="An entry's id, @KEY, or -1 for the last one.")
_MINUS = {"ignore_unknown_options": True}  # for -1; read_reference refuses others


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(
        app,
        "note",
        example='forklore note trip -1 "the second night is missing" --score 0.5',
        context_settings=_MINUS,
    )
    def note(
        shell: Shell,
        conversation: ConversationArgument,
        entry: Annotated[str, _ENTRY],
        text: Annotated[str | None, typer.Argument(help="What is noted.", show_default=False)] = None,
        score: Annotated[
            float | None, typer.Option("--score", help="How good it is.", show_default=False)
        ] = None,
    ) -> None:
        """Write a note on an entry: a text, a score, or both. It is no part of the history."""
        if text is None and score is None:
            raise CommandError("a note has a text or a score")
        if text is not None and text.startswith("--"):  # of an option that is not there
            raise CommandError(f"no option {text}; and no text begins with --")
        noted = shell.conversation(conversation)
        made = noted.note(entry_id_of(noted, entry), text, score=score)
        if shell.out.is_json:
            shell.out.result(made)
        else:
            shell.out.line((made.id, "yellow"))

    @command(app, "notes", example="forklore notes trip", context_settings=_MINUS)
    def notes(
        shell: Shell,
        conversation: ConversationArgument,
        entry: Annotated[str | None, _ENTRY] = None,
        delete: Annotated[
            str | None,
            typer.Option("--delete", metavar="NOTE", help="Delete a note.", show_default=False),
        ] = None,
    ) -> None:
        """List the notes on what a conversation shows, or on one entry; or delete one of them."""
        of = shell.conversation(conversation)
        found = list(of.notes(None if entry is None else entry_id_of(of, entry)))
        if delete is not None:
            ended = id_with(delete, (one.id for one in found), "the notes of this conversation")
            of.delete_note(next(one for one in found if one.id == ended))
            if shell.out.is_json:
                shell.out.result({"id": ended, "deleted": True})
            else:
                shell.out.line((ended, "yellow"), " is deleted")
        elif shell.out.is_json:
            shell.out.results(found)
        else:
            rows = [
                (one.id, one.entry_id, one.user_id, moment(one.created_at), _score(one.score), _text(one))
                for one in found
            ]
            shell.out.table(("note", "entry", "by", "at", "score", "text"), rows)


def _text(note: "Note") -> str:
    return "(pinned)" if note.pinned else note.text or ""


def _score(score: float | Decimal | None) -> str:
    return "" if score is None else f"{score:g}"

"""`forklore pin` and `unpin`: what stands first for you, and what matters in a conversation."""

from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell

_ENTRY = typer.Argument(
    metavar="ENTRY", help="An entry of it: its id, @KEY, or -1 for the last one.", show_default=False
)
_MINUS = {"ignore_unknown_options": True}  # for -1; read_reference refuses others


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "pin", example="forklore pin trip", context_settings=_MINUS)
    def pin(
        shell: Shell,
        conversation: ConversationArgument,
        entry: Annotated[str | None, _ENTRY] = None,
        after: Annotated[
            str | None,
            typer.Option(
                "--after", metavar="NAME|ID", help="Just after this pinned one, and not first of all."
            ),
        ] = None,
    ) -> None:
        """Pin a fork tree for yourself, or move it among your pins; or pin an entry, for all."""
        pinned = shell.conversation(conversation)
        if entry is not None:
            if after is not None:
                raise CommandError("an entry is pinned where it stands, without --after")
            entry_id = entry_id_of(pinned, entry)
            pinned.pin_entry(entry_id)
            _tell_entry(shell, entry_id, is_pinned=True)
            return
        pinned.pin(after=None if after is None else shell.conversation(after))
        _tell(shell, pinned.id, is_pinned=True)

    @command(app, "unpin", example="forklore unpin trip", context_settings=_MINUS)
    def unpin(
        shell: Shell, conversation: ConversationArgument, entry: Annotated[str | None, _ENTRY] = None
    ) -> None:
        """Take a fork tree out of your pins, or the pin of an entry away."""
        taken_out = shell.conversation(conversation)
        if entry is not None:
            entry_id = entry_id_of(taken_out, entry)
            taken_out.unpin_entry(entry_id)
            _tell_entry(shell, entry_id, is_pinned=False)
            return
        taken_out.unpin()
        _tell(shell, taken_out.id, is_pinned=False)


def _tell(shell: Shell, conversation_id: str, *, is_pinned: bool) -> None:
    if shell.out.is_json:
        shell.out.result({"conversationId": conversation_id, "pinned": is_pinned})
        return
    end = "is pinned: `forklore ls --pinned` lists it" if is_pinned else "is not pinned"
    shell.out.line((conversation_id, "yellow"), f" {end}")


def _tell_entry(shell: Shell, entry_id: str, *, is_pinned: bool) -> None:
    if shell.out.is_json:
        shell.out.result({"entryId": entry_id, "pinned": is_pinned})
    else:
        shell.out.line((entry_id, "yellow"), " is pinned" if is_pinned else " is not pinned")

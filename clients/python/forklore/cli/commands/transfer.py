"""`forklore transfer`: hand a fork tree over to another member."""

from typing import Annotated

import typer

from forklore.cli import completing
from forklore.cli.exits import CommandError
from forklore.cli.references import PART_MIN, id_with, is_id, is_part
from forklore.cli.registering import command
from forklore.cli.shell import PAGE_ROWS, Shell
from forklore.client.generated.results import Transfer
from forklore.client.generated.synchronous.pages import Page, Pages


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "transfer", example="forklore transfer trip bob")
    def transfer(
        shell: Shell,
        conversation: Annotated[
            str | None,
            typer.Argument(
                metavar="[NAME|ID]",
                help="A conversation of the tree.",
                show_default=False,
                autocompletion=completing.names,
            ),
        ] = None,
        user: Annotated[
            str | None, typer.Argument(metavar="[USER]", help="Who is to own it.", show_default=False)
        ] = None,
        accept: Annotated[
            str | None, typer.Option("--accept", metavar="ID", help="Own the tree of this offer.")
        ] = None,
        decline: Annotated[
            str | None,
            typer.Option("--decline", metavar="ID", help="End this offer, which may be your own."),
        ] = None,
    ) -> None:
        """Offer a fork tree of yours to a member of it, who owns it as soon as it is accepted.

        Without arguments the offers are listed that you have made, or that wait for you. What was
        started from the tree keeps its owner.
        """
        if (conversation is not None) + (accept is not None) + (decline is not None) > 1:
            raise CommandError("a conversation, --accept and --decline exclude each other")
        if conversation is not None and user is None:
            raise CommandError("name the member who is to own it")
        if accept is not None:
            offer = _offer(shell, accept)
            shell.client.api.accept_transfer(offer)
            _tell(shell, offer, "accepted")
        elif decline is not None:
            offer = _offer(shell, decline)
            shell.client.api.delete_transfer(offer)
            _tell(shell, offer, "declined")
        elif conversation is None:
            _list(shell)
        else:
            offered = shell.conversation(conversation).resolve()
            made = shell.client.api.request_transfer(conversation_id=offered, new_owner_user_id=str(user))
            if shell.out.is_json:
                shell.out.result(made)
            else:
                shell.out.line((made.id, "yellow"), f" is the offer to {made.to_user_id}")
                shell.say(f"{made.to_user_id} accepts it by `forklore transfer --accept {made.id}`")


def _offers(shell: Shell) -> Pages[Transfer]:
    def fetch(cursor: str | None) -> Page[Transfer]:
        page = shell.client.api.list_transfers(limit=PAGE_ROWS, after_cursor=cursor)
        return Page(page.data, page.after_cursor)

    return Pages(fetch)


def _offer(shell: Shell, reference: str) -> str:
    """Return the id of an offer. Raises CommandError for what is no part of just one id."""
    if is_id(reference):
        return reference.lower()
    if not is_part(reference):
        raise CommandError(f"an offer is its id or {PART_MIN} characters of it, not {reference!r}")
    return id_with(reference, (one.id for one in _offers(shell)), "an offer that you see")


def _tell(shell: Shell, offer: str, done: str) -> None:
    if shell.out.is_json:
        shell.out.result({"id": offer, done: True})
    else:
        shell.out.line(f"{done} ", (offer, "yellow"))


def _list(shell: Shell) -> None:
    offers = _offers(shell)
    if shell.out.is_json:
        shell.out.results(offers)
        return
    rows = (((one.id, "yellow"), one.conversation_id, one.from_user_id, one.to_user_id) for one in offers)
    shell.out.table(("offer", "conversation", "from", "to"), rows)

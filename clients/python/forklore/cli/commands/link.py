"""`forklore link`, `links` and `unlink`: what people without an account read."""

from typing import Annotated

import typer

from forklore.cli.output import moment
from forklore.cli.parameters import ConversationArgument
from forklore.cli.references import entry_id_of, id_with
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.generated.results import Link


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "link", example="forklore link trip --days 30")
    def link(
        shell: Shell,
        conversation: ConversationArgument,
        until: Annotated[
            str | None,
            typer.Option(
                "--until-entry", metavar="ENTRY", help="The last entry that is shown.", show_default=False
            ),
        ] = None,
        days: Annotated[int, typer.Option("--days", help="After how many days it ends: 1 to 365.")] = 7,
        tree: Annotated[
            bool, typer.Option("--tree", help="Show every branch, and what is said later, too.")
        ] = False,
        users: Annotated[bool, typer.Option("--users", help="Show who has written.")] = False,
        keep: Annotated[bool, typer.Option("--keep", help="Keep it when the ownership passes on.")] = False,
    ) -> None:
        """Make a link by which people read a conversation without an account, up to now.

        What is printed is its secret, which nobody learns again. `GET /v1/links/SECRET/entries` of
        the service shows the conversation.
        """
        shown = shell.conversation(conversation)
        up_to = {} if until is None else {"up_to_entry_id": entry_id_of(shown, until)}
        made = shown.link(days=days, all_forks=tree, user_ids=users, keep_on_transfer=keep, **up_to)
        if shell.out.is_json:
            shell.out.result(made)
            return
        shell.out.line(made.secret)
        shell.say(f"it ends {moment(made.ends_at)}, or now: `{shell.line('unlink', conversation, made.id)}`")

    @command(app, "links", example="forklore links trip")
    def links(shell: Shell, conversation: ConversationArgument) -> None:
        """List the links to a conversation's fork tree, and how often each was opened."""
        found = list(shell.conversation(conversation).links())
        if shell.out.is_json:
            shell.out.results(found)
            return
        rows = ((one.id, _what(one), str(one.opens), moment(one.ends_at)) for one in found)
        shell.out.table(("link", "shows", "opened", "ends"), rows)

    @command(app, "unlink", example="forklore unlink trip 9da9464d")
    def unlink(
        shell: Shell,
        conversation: ConversationArgument,
        link_id: Annotated[str, typer.Argument(metavar="LINK", help="The id of a link, or a part of it.")],
    ) -> None:
        """End a link at once."""
        of = shell.conversation(conversation)
        ended = id_with(link_id, (one.id for one in of.links()), "the links of this fork tree")
        of.unlink(ended)
        if shell.out.is_json:
            shell.out.result({"id": ended, "ended": True})
        else:
            shell.out.line((ended, "yellow"), " is ended")


def _what(link: Link) -> str:
    return "the tree" if link.all_forks else f"{link.conversation_id} up to {link.up_to_entry_id}"

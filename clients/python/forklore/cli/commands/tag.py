"""`forklore tag`: the tags of a conversation."""

from collections.abc import Mapping
from typing import Annotated

import typer

from forklore.cli.exits import NOT_FOUND, CommandError
from forklore.cli.parameters import ConversationArgument
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import ConflictError
from forklore.client.generated.results import ConversationDetails

TRIES = 10
"""How often the tags are read again if the conversation has changed meanwhile."""
STALE = "stale"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "tag", example="forklore tag trip city:lisbon urgent")
    def tag(
        shell: Shell,
        conversation: ConversationArgument,
        tags: Annotated[
            list[str] | None,
            typer.Argument(metavar="[KEY[:VALUE]...]", help="Tags to set.", show_default=False),
        ] = None,
        delete: Annotated[
            list[str] | None,
            typer.Option("-d", "--delete", metavar="KEY", help="Take this tag away. May be repeated."),
        ] = None,
    ) -> None:
        """List the tags of a conversation; set some, and take others away.

        `forklore ls --tag KEY[:VALUE]` lists the conversations that have a tag.
        """
        added = {key: value for key, _, value in (one.partition(":") for one in tags or ())}
        found = _changed(shell, conversation, added, delete or [])
        if shell.out.is_json:
            shell.out.result(found)
        else:
            shell.out.table(
                ("tag", "value"), [((key, "cyan"), found.tags[key]) for key in sorted(found.tags)]
            )


def _changed(
    shell: Shell, reference: str, added: Mapping[str, str], deleted: list[str]
) -> ConversationDetails:
    """Return the conversation after the change. Tags that others set meanwhile stay."""
    tagged = shell.conversation(reference)
    for left in reversed(range(TRIES)):
        found = tagged.details()
        missing = [key for key in deleted if key not in found.tags]
        if missing:
            raise CommandError(f"the conversation has no tag {missing[0]!r}", NOT_FOUND)
        if not added and not deleted:
            return found
        wanted = {key: value for key, value in {**found.tags, **added}.items() if key not in deleted}
        try:
            return tagged.update(tags=wanted, if_match=found.updated_at)
        except ConflictError as error:
            if error.reason != STALE or not left:
                raise
    raise AssertionError

"""`forklore say`: append a message."""

from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from forklore.cli import completing
from forklore.cli.entries import show_on_one_line
from forklore.cli.exits import NOT_FOUND, CommandError, code_of, line_of
from forklore.cli.parameters import ConversationArgument
from forklore.cli.progress import moving
from forklore.cli.reading import text_of
from forklore.cli.references import is_id, resembles_id
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import ApiError, NotFoundError
from forklore.client.generated.results import AttachedFile

if TYPE_CHECKING:
    from forklore.client.generated.results import AppendedEntry
    from forklore.client.generated.synchronous.conversation import Conversation
    from forklore.client.messages import Role

NAMES_MAX = 1_000
"""Among so many of the user's names, one that is spelled like a new one is looked for."""
LIKENESS = 0.7
"""Of `get_close_matches`. `trip` is like `tripp` and `tirp`."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "say", makes=True, example='forklore say trip "Two nights in Lisbon?"')
    def say(
        shell: Shell,
        conversation: ConversationArgument,
        text: Annotated[
            str | None,
            typer.Argument(
                metavar="[TEXT]",
                help="What is said; - reads it from standard input, without it you write it in $EDITOR.",
                show_default=False,
            ),
        ] = None,
        role: Annotated[
            str,
            typer.Option(
                "--role",
                "--as",
                metavar="ROLE",
                help="Who says it: user, ai or system.",
                autocompletion=completing.roles,
            ),
        ] = "user",
        key: Annotated[
            str | None, typer.Option("--key", metavar="KEY", help="A key for the entry, to find it by.")
        ] = None,
        once: Annotated[
            str | None,
            typer.Option(
                "--once", metavar="KEY", help="Append nothing if you said it under this key before."
            ),
        ] = None,
        attach: Annotated[
            list[Path] | None,
            typer.Option("--attach", metavar="PATH", help="A file that goes with it; may be repeated."),
        ] = None,
        promote: Annotated[
            bool, typer.Option("--promote", help="Make this branch the current one of its tree.")
        ] = False,
        new: Annotated[
            bool, typer.Option("--new", help="Make the conversation, also for an id that does not exist.")
        ] = False,
    ) -> None:
        """Append a message. A name that does not exist is made with it, an id with --new only."""
        with text_of(text) as said:
            talk = _talk(shell, conversation, makes=new)
            current = shell.current_branch(talk) if promote else None
            files = [_uploaded(shell, path) for path in attach or ()]
            entry = talk.say(
                cast("Role", role),
                said,
                files=files,
                key=key,
                promote=promote or None,
                idempotency_key=once,
            )
        if shell.out.is_json:
            shell.out.result(entry)
        else:
            show_on_one_line(shell.out, entry)
        if talk.name is not None and entry.parent_id is None and not new:
            _tell_of_new(shell, talk, entry)
        if current is not None and current != entry.conversation_id:
            shell.say_what_was_current(current, entry.conversation_id)


def _uploaded(shell: Shell, path: Path) -> AttachedFile:
    """Upload a file, and return it under the name that it has here."""
    with moving(f"uploading {path.name}") as moved:
        made = shell.client.upload(path, progress=moved)
    return AttachedFile(id=made.id, name=path.name, content_type=made.content_type, size=made.size)


def _tell_of_new(shell: Shell, talk: "Conversation", entry: "AppendedEntry") -> None:
    """Say that the entry has begun a conversation, which may be a slip of the keys.

    An empty conversation or fork that was there is older than its first entry. The entry is
    appended, so an error is no reason to fail.
    """
    with suppress(ApiError):
        if talk.details().created_at != entry.created_at:
            return
        names = [one.name for one in islice(shell.client.names(), NAMES_MAX) if one.name != talk.name]
        near = get_close_matches(str(talk.name), names, n=1, cutoff=LIKENESS)
        meant = f"; did you mean {near[0]}? `{shell.line('rm', str(talk.name))}` deletes it" if near else ""
        shell.say(f"{talk.name} begins a new conversation{meant}")


def _talk(shell: Shell, reference: str, *, makes: bool) -> "Conversation":
    """Return where to speak. What looks like an id must be there unless `makes` is true.

    Raises CommandError if it is not.
    """
    if not resembles_id(reference) or (makes and not is_id(reference)):
        return shell.client.named(reference)
    try:
        talk = shell.conversation(reference)
        if not makes:
            talk.details()
    except (NotFoundError, CommandError) as error:
        if (code_of(error) if isinstance(error, NotFoundError) else error.code) != NOT_FOUND:
            raise
        raise CommandError(f"{line_of(error)}; --new makes a new one", NOT_FOUND) from error
    return talk

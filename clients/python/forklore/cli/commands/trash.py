"""`forklore trash`, `undelete` and `undo`: what was deleted, or done last, and its way back."""

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Annotated

import typer

from forklore.cli.deleting import is_sure
from forklore.cli.exits import NO
from forklore.cli.parameters import ConversationArgument, Yes
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "trash", example="forklore trash")
    def trash(
        shell: Shell,
        empty: Annotated[bool, typer.Option("--empty", help="Delete all of it for good.")] = False,
        yes: Yes = False,
    ) -> int | None:
        """List the fork trees and branches that you can restore, the last deleted first.

        `forklore undelete` restores one. `forklore rm --for-good` deletes a tree for good.
        """
        trashed = sorted(shell.client.trash(), key=lambda one: one.deleted_at, reverse=True)
        if empty:
            if not is_sure(f"Delete {len(trashed)} for good?", yes=yes):
                return NO
            for one in trashed:
                shell.client.api.delete_conversation(one.id, scope=one.scope, for_good=True)
        for one in trashed:
            if shell.out.is_json:
                shell.out.result(one)
                continue
            left = "deleted for good" if empty else f"{_days_left(one.kept_until)} days left"
            shell.out.line((one.id, "yellow"), f"  {left}  {one.title or ''}")
        return None

    @command(app, "undelete", example="forklore undelete trip")
    def undelete(shell: Shell, conversation: ConversationArgument) -> None:
        """Restore a deleted fork tree or branch, with what was deleted with it, and its names."""
        restored = shell.conversation(conversation, trashed=True).restore()
        if shell.out.is_json:
            shell.out.result(restored)
        else:
            shell.out.line("restored ", (restored.id, "yellow"), f"  {restored.title or ''}")

    @command(app, "undo", example="forklore undo")
    def undo(shell: Shell) -> None:
        """Take back your last deletion, promotion, new title, or move of a name.

        It is what the command line did last on this machine, for this service and user; once more
        takes back what was done before that. What somebody has changed since stays as it is. What
        was deleted for good does not come back.
        """
        from forklore.cli.undoing import take_back

        done = take_back(shell)
        if shell.out.is_json:
            shell.out.result({"undone": done})
        else:
            for one in done:
                shell.out.line(one)


def _days_left(time: str) -> int:
    """Return for how many days a tree is kept, of which the last one may have begun."""
    return ceil((datetime.fromisoformat(time) - datetime.now(UTC)) / timedelta(days=1))

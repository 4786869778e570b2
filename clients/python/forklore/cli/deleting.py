"""Deleting: the question before it, what goes with it, and how it is taken back."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from forklore.cli.exits import NO, CommandError
from forklore.cli.shell import Shell
from forklore.client.errors import ApiError, NotFoundError

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation


def is_sure(question: str, *, yes: bool) -> bool:
    """Return whether to delete: yes says so, or else the user does on a terminal.

    Raises CommandError if nobody can be asked, and Abort at the end of the input.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CommandError("deleting needs --yes where nobody can be asked")
    return typer.confirm(question, err=True)


def delete(shell: Shell, reference: str, *, whole: bool, yes: bool, for_good: bool = False) -> int | None:
    """Delete a branch, or its whole tree. Return the exit code.

    The name that it is given by goes, too, unless the trash lists what was deleted. A name whose
    conversation is gone is deleted alone.
    """
    asked = shell.conversation(reference)
    held = None if asked.name is None else shell.client.api.look_up_name(name=reference)
    doomed = shell.client.conversation(asked.id if held is None else held.conversation_id)
    what = f"the branch {doomed.id}"
    if whole:
        with suppress(ApiError):
            what = f"{doomed.details().title or 'what has no title'!r}, the whole tree of {doomed.id}"
    if not is_sure(f"Delete {what}?", yes=yes):
        return NO
    listed_by = _branches(doomed) if whole and not for_good else {doomed.id}
    is_kept = False
    try:
        if whole:
            doomed.delete_tree(for_good=for_good or None)
        else:
            doomed.delete()
        shell.note("deletion", conversationId=doomed.id, said=what)
        is_kept = not for_good and any(trashed.id in listed_by for trashed in shell.client.trash())
    except NotFoundError:
        if held is None:
            raise
        shell.say(f"the name {reference} points to nothing, and goes")
    if held is not None and not is_kept:
        try:
            shell.client.delete_name(held)
            shell.note("name", name=held.name, was=doomed.id, now=None, data=held.data)
        except NotFoundError:
            shell.say(f"the name {reference} was deleted by somebody else")
    if shell.out.is_json:
        shell.out.result({"conversationId": doomed.id, "deleted": True})
    else:
        shell.out.line("deleted ", (doomed.id, "yellow"))
    if is_kept:
        shell.say(f"while `forklore trash` lists it, this brings it back: `{shell.line('undo')}`")
    return None


def _branches(doomed: "Conversation") -> set[str]:
    """Return the ids of all branches of a fork tree; none if they cannot be told."""
    with suppress(ApiError):
        return {branch.conversation_id for branch in doomed.forks()}
    return set()

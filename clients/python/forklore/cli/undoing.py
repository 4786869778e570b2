"""What the last commands have changed, so that `forklore undo` takes it back.

The service keeps no earlier titles, current branches and spellings of names. So each command notes
on this machine how it was before and how it is now, apart for each store and user. A note is a file
of its own, so commands that run at once are in no other's way. What cannot be written is not noted:
the command is done all the same.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.cli.exits import REFUSED, CommandError
from forklore.cli.owner import agent_of, store_of
from forklore.cli.settings import InProcess
from forklore.client.errors import ConflictError, ForbiddenError, NotFoundError
from forklore.sessions.seen import state_folder

if TYPE_CHECKING:
    from forklore.cli.shell import Shell
    from forklore.client.generated.results import Name

NOTES_MAX = 50
"""So many commands can be taken back, one after the other."""
Step = Mapping[str, Any]
"""A change: `what` it was, and how it `was` before and is `now`."""


def note(shell: "Shell", steps: Sequence[Step]) -> None:
    """Remember what one command has changed. steps: in the order in which they are taken back."""
    if isinstance(shell.target, InProcess) and shell.target.data is None:
        return  # the store is forgotten at the end
    with suppress(OSError):
        folder = _folder(shell)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = folder / f"{time.time_ns():020}-{os.getpid()}.part"
        part.write_text(json.dumps(list(steps)), encoding="utf-8")
        part.replace(part.with_suffix(".json"))
        for old in _notes(folder)[:-NOTES_MAX]:
            old.unlink(missing_ok=True)


def take_back(shell: "Shell") -> list[str]:
    """Take back what the last command has changed. Return what was done, in words.

    What was refused is not tried again: the next time it is the turn of what was done before that.
    But what is deleted under a deleted parent can be restored after that one, so its note stays.
    Raises CommandError if there is nothing, or if somebody has changed it since. Raises ApiError.
    """
    try:
        path = _notes(_folder(shell))[-1]
        text = path.read_text(encoding="utf-8")
    except (OSError, IndexError):
        raise CommandError("there is nothing to take back that was done here", REFUSED) from None
    try:
        steps = [(_WAYS[step["what"]], step) for step in json.loads(text)]
    except (ValueError, KeyError):  # the machine stopped while it was written, or another version wrote it
        path.unlink(missing_ok=True)
        raise CommandError("what the last command has changed was not noted", REFUSED) from None
    done: list[str] = []
    try:
        done.extend(way(shell, step) for way, step in steps)
    except (CommandError, ConflictError, ForbiddenError, NotFoundError) as error:
        if not isinstance(error, ConflictError) or error.reason != "parent_deleted":
            path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return done


def _folder(shell: "Shell") -> Path:
    store = store_of(shell.target, agent_of(shell.target))
    return state_folder(os.environ, Path.home()) / f"undo-{store}"


def _notes(folder: Path) -> list[Path]:
    """Return the notes, the oldest first."""
    return sorted(folder.glob("*.json"))


def _name(shell: "Shell", step: Step) -> str:
    """Let a name point to where it was. was: None for a new name. now: None for a deleted one."""
    name, was, now = step["name"], step["was"], step["now"]
    held = shell.held(name)
    at = held.conversation_id if held else None
    if at != now:
        where = f"points to {at}" if at else "is deleted"
        raise CommandError(f"{name} has moved since: it {where} now (name_moved)", REFUSED)
    if held is not None and was is None:
        shell.client.delete_name(held)
        return f"the name {name} is deleted"
    data = {} if held else {"data": step.get("data", {})}
    shell.client.api.set_name(
        name=name, conversation_id=was, expect_revision=held.revision if held else 0, **data
    )
    return f"{name} points to {was} again"


def _spelling(shell: "Shell", step: Step) -> str:
    """Give a name the spelling that it had."""
    was, now = step["was"], step["now"]
    held = shell.held(now)
    if held is None or held.conversation_id != step["conversationId"]:
        raise CommandError(f"{now} has moved since (name_moved)", REFUSED)
    rename(shell, held, was)
    return f"{now} is {was} again"


def rename(shell: "Shell", held: "Name", new: str) -> "Name":
    """Return a new name with what the old one has, which is deleted then."""
    made = shell.client.api.set_name(
        name=new, conversation_id=held.conversation_id, data=held.data, expect_revision=0
    )
    try:
        shell.client.delete_name(held)
    except ConflictError as error:
        raise CommandError(f"{held.name} has moved meanwhile, and stays beside {new}", REFUSED) from error
    return made


def _current(shell: "Shell", step: Step) -> str:
    """Make the branch the current one that was it before."""
    was, now = step["was"], step["now"]
    if not shell.client.conversation(now).details().is_current:
        raise CommandError(f"another branch was made the current one since {now}", REFUSED)
    shell.client.conversation(was).promote()
    return f"{was} is the current branch again"


def _title(shell: "Shell", step: Step) -> str:
    """Give a conversation the title that it had."""
    titled = shell.client.conversation(step["conversationId"])
    found = titled.details()
    if found.title != step["now"]:
        raise CommandError(f"{titled.id} has another title since: {found.title}", REFUSED)
    titled.update(title=step["was"], if_match=found.updated_at)
    return (
        f"{titled.id} is called {step['was']!r} again" if step["was"] else f"{titled.id} has no title again"
    )


def _deletion(shell: "Shell", step: Step) -> str:
    """Restore what was deleted."""
    try:
        restored = shell.client.conversation(step["conversationId"]).restore()
    except NotFoundError as error:
        raise CommandError(
            f"{step['said']} is deleted for good, which cannot be taken back", REFUSED
        ) from error
    return f"restored {restored.id}  {restored.title or ''}".rstrip()


_WAYS: Mapping[str, Callable[["Shell", Step], str]] = {
    "name": _name,
    "spelling": _spelling,
    "current": _current,
    "title": _title,
    "deletion": _deletion,
}

"""`forklore resume`: go on with a conversation in an agent's program."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.exits import DONE, CommandError
from forklore.cli.parameters import ConversationArgument, Redacts
from forklore.cli.references import entry_id_of
from forklore.cli.registering import command
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.client.generated.results import ConversationDetails
    from forklore.client.generated.synchronous.conversation import Conversation
    from forklore.sessions.programs import Program
    from forklore.sessions.resuming import Ready

SAID_MAX = 200
"""So much is shown of what a program says when it fails."""
SIGNALLED = 128
"""The exit code of a program that signal 0 would have ended, as shells count."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "resume", example="forklore resume trip --in codex")
    def resume(
        shell: Shell,
        conversation: ConversationArgument,
        program: Annotated[
            str | None,
            typer.Option("--in", metavar="PROGRAM", help="The program; else the one it came from."),
        ] = None,
        at: Annotated[
            str | None,
            typer.Option("--at", metavar="ENTRY", help="Go on after this entry, in a fork."),
        ] = None,
        folder: Annotated[
            Path | None,
            typer.Option(
                "--folder", metavar="DIR", help="Of the project; else the one it came from, or here."
            ),
        ] = None,
        prints: Annotated[
            bool, typer.Option("--print", help="Write the session, and print the commands only.")
        ] = False,
        redact: Redacts = False,
    ) -> int:
        """Go on with a conversation in Claude Code, Codex, or another agent's program.

        The branch is written where the program looks for its sessions, and the program starts.
        What is said there comes back into the conversation when the program ends, or with
        `forklore collect`. An entry is an id, @KEY, or -1 for the last one.
        """
        from forklore.cli.session_files import program_of

        branch = shell.conversation(conversation)
        if at is not None:
            branch = branch.fork(after=entry_id_of(branch, at))
            shell.say(f"goes on in a fork: {branch.resolve()}")
        ready = _ready(shell, branch, None if program is None else program_of(program), folder, redact=redact)
        for what, count in ready.left_out.items():
            shell.say(f"{ready.program.title} has no place for {what}: {count} left out")
        if prints:
            _print(shell, ready)
            return DONE
        return _started(shell, ready, redact=redact)


def _ready(
    shell: Shell, branch: "Conversation", program: "Program | None", folder: Path | None, *, redact: bool
) -> "Ready":
    from forklore.cli.owner import agent_of
    from forklore.cli.session_files import seen_of
    from forklore.exporting.branches import PAGE_ENTRIES
    from forklore.exporting.bytes_within import Files
    from forklore.exporting.programs.talks import NoPlaceError
    from forklore.sessions.finding import files_here
    from forklore.sessions.programs import NAMES
    from forklore.sessions.resuming import files_of, folder_of, own_session, resumed, tag_of, write
    from forklore.sessions.seen import state_folder

    details = branch.details()
    session = _session_of(shell, details)
    chosen = program or NAMES.get(tag_of(session, "program"))
    if chosen is None:
        raise CommandError("it came from no program: name one with --in")
    if chosen.writer is None:
        able = ", ".join(name for name, one in NAMES.items() if one.writer)
        raise CommandError(f"{chosen.title} takes no session from outside; these do: {able}")
    where = (folder or folder_of(session) or Path.cwd()).resolve()
    if not where.is_dir():
        raise CommandError(f"{where}: no such folder")
    home = Path.home()
    files = [*files_here(home, os.environ, [chosen])]
    seen = seen_of(shell.target, agent_of(shell.target))
    changed = [one for one in files_of(details, files) if not seen.is_same(one.path, one.look)]
    if changed:  # what was said in the program since: it is written over
        from forklore.cli.commands.collect import collected

        collected(shell, changed, redact=redact, quiet=True, is_result=False)
        details = branch.details()
    newest = shell.client.api.list_entries(details.id, channel="history", tail=True, limit=1).data
    last_key = newest[-1].key if newest else None
    own = own_session(details, last_key, chosen, files)
    if own is not None:
        return resumed(chosen, *own, where)
    entries = branch.entries(channel="history", page_entries=PAGE_ENTRIES)
    aside = state_folder(os.environ, home) / "sessions" / chosen.name
    try:
        return write(
            chosen,
            details,
            entries,
            Files(shell.client.read),
            home=chosen.home(home, os.environ),
            folder=where,
            aside=aside,
        )
    except NoPlaceError as error:
        raise CommandError(str(error)) from error


def _session_of(shell: Shell, details: "ConversationDetails") -> "ConversationDetails":
    """Return what a program's session has become, of which this is perhaps a fork made here."""
    from forklore.client.errors import ApiError
    from forklore.sessions.resuming import tag_of

    found = details
    while not tag_of(found, "program") and found.forked_at_conversation_id:
        try:
            found = shell.client.conversation(found.forked_at_conversation_id).details()
        except ApiError:  # it is deleted, or not for this user
            return details
    return found


def _print(shell: Shell, ready: "Ready") -> None:
    from forklore.sessions.resuming import as_json

    if shell.out.is_json:
        shell.out.result(as_json(ready))
        return
    for line in ready.lines():
        shell.out.line((line, ""))


def _started(shell: Shell, ready: "Ready", *, redact: bool) -> int:
    """Start the program, wait for its end, and bring back what was said. Return the exit code."""
    from forklore.cli.commands.collect import collected
    from forklore.sessions.finding import files_here
    from forklore.sessions.resuming import with_session

    starts = ready.commands[-1]
    if shutil.which(starts[0]) is None:
        raise CommandError(f"{starts[0]} is not installed: {ready.program.install}; or give --print")
    for before in ready.commands[:-1]:
        said = _said(ready, before)
        if any("{session}" in part for part in starts):
            session = ready.program.id_in(said)
            if session is None:
                told = f"{shlex.join(before[:3])} has told no id of the session that it made"
                raise CommandError(f"{told}: {_short(said)}")
            starts = with_session(starts, session)
    looks = {file.path: file.look for file in files_here(Path.home(), os.environ, [ready.program])}
    with _interrupted_alone():
        ended = subprocess.run(starts, cwd=ready.folder, check=False)
    now = files_here(Path.home(), os.environ, [ready.program])
    code = collected(shell, [file for file in now if looks.get(file.path) != file.look], redact=redact)
    if ended.returncode < 0:  # ended by a signal
        return SIGNALLED - ended.returncode
    return ended.returncode or code


def _said(ready: "Ready", command: Sequence[str]) -> str:
    """Run a command that takes a session, and return what it prints. Raises CommandError."""
    made = subprocess.run(command, cwd=ready.folder, capture_output=True, text=True, check=False)
    if made.returncode:
        raise CommandError(f"{shlex.join(command[:3])}: {_short(made.stderr or made.stdout)}")
    return made.stdout


def _short(said: str) -> str:
    return " ".join(said.split())[:SAID_MAX]


@contextmanager
def _interrupted_alone() -> Iterator[None]:
    """Let Ctrl+C end a turn in the program, and not this process, which waits for its end."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # SIG_IGN would be the program's, too
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

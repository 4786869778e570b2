"""`forklore collect`: the sessions of agent programs, into forklore."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.exits import DONE, INTERRUPTED, NO, line_of
from forklore.cli.parameters import InFolder, OfProgram, OfProject, Redacts, SinceTime
from forklore.cli.progress import progress
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.client.errors import NoAnswerError, UnavailableError

if TYPE_CHECKING:
    from forklore.sessions.collecting import Collected
    from forklore.sessions.finding import SessionFile

WAIT_S = 1.0
"""Between two looks at the files."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "collect", makes=True, example="forklore collect --watch")
    def collect(
        shell: Shell,
        folder: InFolder = None,
        program: OfProgram = None,
        project: OfProject = None,
        since: SinceTime = None,
        watch: Annotated[
            bool, typer.Option("--watch", help="Go on, and follow them while they are used.")
        ] = False,
        redact: Redacts = False,
        again: Annotated[bool, typer.Option("--all", help="Read also what has not changed.")] = False,
    ) -> int:
        """Bring the sessions of agent programs in, with all their branches.

        Run it as often as you like: what has not changed costs a look at its size and time, and
        nothing is doubled. Each conversation has the tags program, project and session.
        """
        from forklore.cli.session_files import chosen

        def once(*, again: bool = False, quiet: bool = False) -> int:
            files = chosen(folder, program, since)
            return collected(shell, files, project=project, redact=redact, again=again, quiet=quiet)

        code = once(again=again)
        if not watch:
            return code
        shell.say("watching; Ctrl+C ends it")
        return _followed(once, shell.say)


def collected(
    shell: Shell,
    files: "list[SessionFile]",
    *,
    project: str | None = None,
    redact: bool = False,
    again: bool = False,
    quiet: bool = False,
    is_result: bool = True,
) -> int:
    """Collect files, and say what came. Return the exit code. quiet, is_result: as for `tell`."""
    from forklore.cli.owner import agent_of, owner_of
    from forklore.cli.session_files import seen_of
    from forklore.sessions.collecting import collect

    target = shell.target
    agent = agent_of(target)
    seen = seen_of(target, agent)
    if again:
        seen.forget()
    is_idle = quiet and all(seen.is_same(one.path, one.look) for one in files)  # it asks nothing then
    if files and not is_idle:
        seen.take_store(_store_of(shell))
    with progress("collecting sessions") as bar:
        bar.expect(len(files))
        done = collect(
            lambda: shell.client,
            files,
            seen,
            owner=owner_of(target),
            agent=agent,
            project=project,
            redacts=redact,
            on_file=lambda _: bar.advance(1),
        )
    tell(shell, done, quiet=quiet, is_result=is_result, has_files=bool(files))
    return NO if done.problems else DONE


def _store_of(shell: Shell) -> str:
    """Return which store it is that forgets all when it stops; empty for one that keeps all."""
    from forklore.cli.settings import InProcess, OverHttp

    match shell.target:
        case OverHttp():
            return shell.client.api.check_health().started_at or ""
        case InProcess(data=None):
            return str(time.time_ns())
    return ""


def tell(
    shell: Shell, done: "Collected", *, quiet: bool = False, is_result: bool = True, has_files: bool = True
) -> None:
    """Say what a run has brought. quiet: nothing, if it has brought nothing. is_result: the command
    has no other result, so that `--json` shows this. has_files: there was something to look at."""
    from forklore.cli.import_reporting import counted

    if shell.out.is_json and is_result:
        if not quiet or done.brought or done.problems:
            shell.out.result(
                {
                    "type": "collected",
                    "sessions": dict(done.sessions),
                    "messages": dict(done.brought),
                    "leftOut": dict(done.left_out),
                    "problems": done.problems,
                }
            )
        return
    for name, sessions in sorted(done.sessions.items()):
        if done.brought[name] or not quiet:
            new = counted(done.brought[name], "new message")
            shell.say(f"{name}: {counted(sessions, 'session')} read, {new}")
    for line in done.problems:
        shell.say(f"not brought: {line}")
    if not quiet:
        for reason, count in done.left_out.most_common():
            shell.say(f"  left out: {reason}: {count:,}")
        if not done.sessions and not done.problems:
            shell.say("nothing has changed" if has_files else "no session was found")


def _followed(once: Callable[..., int], say: Callable[[str], None], *, wait_s: float = WAIT_S) -> int:
    """Collect again and again until Ctrl+C. While the service is away, wait for it.

    What it has not got is not noted as collected, so it comes then. Raises any other ApiError.
    """
    is_away = False
    try:
        while True:
            time.sleep(wait_s)
            try:
                once(quiet=True)
            except (NoAnswerError, UnavailableError) as error:
                if not is_away:
                    say(f"{line_of(error)}; goes on when it answers")
                is_away = True
            else:
                is_away = False
    except KeyboardInterrupt:
        return INTERRUPTED

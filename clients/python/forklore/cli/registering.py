"""How a function becomes a command: it gets a `Shell` and the options that all commands share.

These options may stand before the command or after it: `forklore --json log trip` is
`forklore log trip --json`.
"""

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import typer

from forklore.cli import exits
from forklore.cli.shell import Shell
from forklore.client.errors import NoAnswerError, UnauthorizedError

R = TypeVar("R")
Run = Callable[..., Any]
SERVICE, SHOWING = "Service", "Output"


@dataclass(frozen=True, slots=True)
class Shared:
    """An option that all commands have. metavar: None for a switch."""

    name: str
    metavar: str | None
    help: str
    panel: str

    def parameter(self, *, hidden: bool) -> inspect.Parameter:
        """Return the parameter of the function that typer reads."""
        flag = f"--{self.name.replace('_', '-')}"
        option: Any = typer.Option(
            flag,
            metavar=self.metavar,
            help=self.help,
            hidden=hidden,
            rich_help_panel=self.panel,
            show_default=False,
        )
        kind: Any = bool if self.metavar is None else str | None
        default = False if self.metavar is None else None
        return inspect.Parameter(
            f"{PREFIX}{self.name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, option],
        )


PREFIX = "shared_"
ELSEWHERE = "More options, such as --url, are those of every command: forklore --help"
SHARED = (
    Shared("url", "URL", "The address of the service (FORKLORE_URL).", SERVICE),
    Shared("token", "TOKEN", "The user's token (FORKLORE_TOKEN).", SERVICE),
    Shared("client_key", "KEY", "The agent's API key (FORKLORE_CLIENT_KEY).", SERVICE),
    Shared("function", "NAME", "Invoke this Lambda function (FORKLORE_FUNCTION).", SERVICE),
    Shared("data", "DIR", "Run the service here, on this folder or :memory: (FORKLORE_DATA).", SERVICE),
    Shared("user", "USER", "On whose behalf, with --function or --data (FORKLORE_USER).", SERVICE),
    Shared("client", "CLIENT", "As which agent, with --function or --data (FORKLORE_CLIENT).", SERVICE),
    Shared("profile", "NAME", "A profile of the profile file (FORKLORE_PROFILE).", SERVICE),
    Shared("json", None, "Write results as JSON Lines.", SHOWING),
    Shared("no_pager", None, "Do not start a pager.", SHOWING),
    Shared("no_color", None, "Write without colours (NO_COLOR).", SHOWING),
)


def command(
    app: typer.Typer,
    name: str,
    *,
    example: str,
    pages: bool = False,
    makes: bool = False,
    shows: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    **more: Any,
) -> Callable[[Run], Run]:
    """Return a decorator that adds a function to `app` as a command.

    The function's first parameter is the `Shell`. What it returns is the exit code; None is 0.
    example: a command line that works, for the help. pages: long output goes through a pager.
    makes: a folder of data that does not exist is made. shows: shared options that the command's
    help shows, beside --json. without: shared options that the command has none of. more:
    arguments of typer's `command`.
    """

    def add(function: Run) -> Run:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            context: typer.Context = given.pop("context")
            options = dict(context.obj or {})
            for shared in SHARED:
                held = given.pop(f"{PREFIX}{shared.name}", None)
                if held not in (None, False):
                    options[shared.name] = held
                if options.get(shared.name) == "":
                    raise exits.CommandError(f"--{shared.name.replace('_', '-')} is empty")
            shell = Shell(options, pages=pages, makes=makes)
            try:
                try:
                    code = function(shell, **given)
                finally:
                    shell.close()
            except BrokenPipeError:  # the reader has seen enough
                code = exits.DONE if shell.out.is_paged else exits.BROKEN_PIPE
            except NoAnswerError as error:
                raise exits.CommandError(exits.line_of(error) + shell.hint, exits.NO_ANSWER) from error
            except UnauthorizedError as error:
                told = f"{exits.line_of(error)} (here --token, --client-key)"
                raise exits.CommandError(told, exits.code_of(error)) from error
            if code:
                raise typer.Exit(code)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        shared = [
            one.parameter(hidden=one.name not in ("json", *shows))
            for one in SHARED
            if one.name not in without
        ]
        _set_signature(run, own, shared)
        app.command(name, epilog=f"Example: {example}\n\n{ELSEWHERE}", **more)(run)
        return function

    return add


def add_options(app: typer.Typer, version: Callable[[], object], help_text: str) -> None:
    """Give `app` the shared options before the command, and `--version`."""

    def show_version(asked: bool) -> None:
        if asked:
            sys.stdout.write(f"forklore {version()}\n")
            raise typer.Exit

    def root(**given: Any) -> None:
        context: typer.Context = given["context"]
        context.obj = {shared.name: given[f"{PREFIX}{shared.name}"] for shared in SHARED}

    option: Any = typer.Option(
        "--version",
        help="Show the version and exit.",
        is_eager=True,
        callback=show_version,
        show_default=False,
    )
    shown = inspect.Parameter(
        "version", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option]
    )
    _set_signature(root, [shown], [one.parameter(hidden=False) for one in SHARED])
    app.callback(help=help_text)(root)


def _set_signature(run: Any, own: list[inspect.Parameter], shared: list[inspect.Parameter]) -> None:
    """Let typer see a context and these parameters."""
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    parameters = [context, *keyword, *shared]
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    typing.get_type_hints(run, include_extras=True)  # a wrong annotation is found here

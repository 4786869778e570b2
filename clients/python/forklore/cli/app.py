"""The command line as typer sees it. The commands are in `commands/`, a module each."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from forklore.cli import exits
from forklore.cli.registering import add_options
from forklore.client.errors import ApiError
from forklore.extras import MissingExtraError

HELP = """Conversations that fork like git.

A conversation is named by its id or by a NAME, which its first entry makes:
`forklore say trip "Two nights in Lisbon?"`, then `forklore log trip`.
"""
COMMANDS = (
    *("say", "log", "watch", "show", "ls", "grep", "recall", "children"),
    *("branch", "fork", "copy", "switch", "name", "title", "tag", "diff", "alternatives", "score", "merge"),
    *("note", "notes"),
    *(
        "share",
        "link",
        "links",
        "unlink",
        "transfer",
        "archive",
        "unarchive",
        "pin",
        "unpin",
        "rm",
        "trash",
        "undelete",
        "undo",
    ),
    *("import", "export"),
    *("sessions", "collect", "resume"),
    *("serve", "mcp", "backup", "restore", "copy-table", "fsck", "explore", "user"),
    *("erase-user", "retention", "help"),
)
"""The commands, in the order of the help."""
MODULES = {"import": "import_", "unarchive": "archive", "unpin": "pin"}
MODULES |= {"undelete": "trash", "undo": "trash", "links": "link", "unlink": "link"}
MODULES |= {"notes": "note"}
"""The modules of `commands/` that are not named as their command. Each has `register(app)`."""
OTHERS = (OSError, MissingExtraError)
"""Errors of the machine whose text is enough, without a traceback."""
DEBUG = "FORKLORE_DEBUG"
_NO_COMMAND = re.compile("No such command '(.*?)'")
SAID_HERE = {
    "append": "say",
    "attach": "say --attach",
    "branches": "branch",
    "checkout": "switch",
    "compare": "diff",
    "conversations": "ls",
    "delete": "rm",
    "history": "log",
    "list": "ls",
    "mv": "name --rename",
    "names": "ls --names",
    "promote": "switch",
    "remember": "recall",
    "rename": "name --rename",
    "revert": "undo",
    "search": "grep",
}
"""Words of the API and of git, and the command that does this."""
_NO_OPTION = re.compile("No such option: -[^-]")
_OF_PYDANTIC = re.compile("Value error, |, unable to parse .*")
"""Parts of a message of typer's that say nothing to who types."""


@cache
def _made(name: str) -> Any:
    """Return a command as typer makes it."""
    app = typer.Typer()
    import_module(f"forklore.cli.commands.{MODULES.get(name, name.replace('-', '_'))}").register(app)
    return get_group(app).commands[name]


class _Commands(Mapping[str, Any]):
    """The commands by their names. The module of a command is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandLine(TyperGroup):
    """The command line as a whole. Every error is one line on standard error and an exit code."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Commands()

    def list_commands(self, _context: Any) -> list[str]:
        """Return the names of the commands. No module is imported for that."""
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Run a command line and exit."""
        extra["standalone_mode"] = False
        code = exits.DONE
        try:
            try:
                code = super().main(args, *more, **extra) or exits.DONE
            finally:
                _flush()
        except (ApiError, exits.CommandError, typer.TyperException, typer.Abort, *OTHERS) as error:
            code = _told(error)
        except SystemExit as ended:
            if ended.code != 1:
                raise
            code = exits.BROKEN_PIPE  # rich says so when the reader of the help has gone
        except KeyboardInterrupt:
            code = exits.INTERRUPTED
        except Exception as error:  # noqa: BLE001 (the last resort)
            code = _failed(error)
        sys.exit(code)


def make_app() -> typer.Typer:
    """Return the command line."""
    app = typer.Typer(
        name="forklore",
        cls=CommandLine,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    add_options(app, _version, HELP)
    return app


def _version() -> object:
    """Return the version and, where it is known, the commit."""
    from forklore_local.version import version

    return version()


def _told(error: Exception) -> int:
    """Write one line of an error to standard error; return the exit code."""
    match error:
        case ApiError():
            code = exits.code_of(error)
        case exits.CommandError():
            code = error.code
        case typer.Abort():
            return exits.INTERRUPTED
        case typer.TyperException():
            return _usage(error)
        case _:
            code = exits.USAGE
    sys.stderr.write(f"forklore: {exits.line_of(error)}\n")
    return code


def _failed(error: Exception) -> int:
    """Say that the fault is forklore's own, with the traceback if DEBUG is set."""
    if os.environ.get(DEBUG):
        from traceback import print_exception

        print_exception(error)
    sys.stderr.write(f"forklore: an error of forklore: {type(error).__name__} ({DEBUG}=1 shows more)\n")
    return exits.FAULT


def _usage(error: typer.TyperException) -> int:
    if not error.format_message():  # there was no command, and the help is written
        return exits.USAGE
    context = getattr(error, "ctx", None)
    told = _OF_PYDANTIC.sub("", error.format_message()).replace("Input should be", "must be")
    said = exits.line_of(exits.CommandError(told))
    where = f" ({context.command_path} --help)" if context is not None else ""
    hint = "; -- before a text lets it begin with -" if _NO_OPTION.match(said) else ""
    unknown = _NO_COMMAND.match(said)
    if unknown and unknown[1] in SAID_HERE:
        said, hint = unknown[0], f": here it is `forklore {SAID_HERE[unknown[1]]}`"
    sys.stderr.write(f"forklore: {said}{hint}{where}\n")
    return exits.USAGE


def _flush() -> None:
    """Hand on what is buffered. What cannot be written goes nowhere, also at Python's own end.

    Raises OSError, but not for a reader that has gone.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise

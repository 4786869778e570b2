"""`forklore user`: who may use a server of one machine that verifies tokens by a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from forklore.cli.commands.fsck import OF_THE_API
from forklore.cli.exits import NOT_FOUND, CommandError
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra


class Action(StrEnum):
    """What to do."""

    ADD, RM, LS = "add", "rm", "ls"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "user", example="forklore user add ann --token-file ./tokens", without=OF_THE_API)
    def user(
        shell: Shell,
        action: Annotated[Action, typer.Argument(help="Give a token, take all away, or list.")],
        name: Annotated[str | None, typer.Argument(metavar="[USER]", help="Whose.")] = None,
        token_file: Annotated[
            Path | None,
            typer.Option(
                "--token-file",
                metavar="FILE",
                envvar="FORKLORE_TOKEN_FILE",
                help="As `forklore serve` has it.",
            ),
        ] = None,
    ) -> None:
        """Say who may use a server of `forklore serve --token-file FILE`, which sees it at once.

        `add` prints a new token, which is stored nowhere else. Older ones of the user stay good.
        """
        if token_file is None:
            raise CommandError("say which file: --token-file FILE, or FORKLORE_TOKEN_FILE")
        if (name is None) != (action is Action.LS):
            raise CommandError(f"`user {action.value}` takes {'no' if name else 'a'} user")
        with from_extra("local"):
            from forklore_local.server.user_tokens import add_user, list_users, remove_user

        try:
            if name is None:
                _list(shell, [(one.id, one.tokens) for one in list_users(token_file)])
            elif action is Action.ADD:
                _added(shell, name, add_user(token_file, name))
            elif not remove_user(token_file, name):
                raise CommandError(f"{token_file} has no user {name!r}", NOT_FOUND)
            else:
                shell.say(f"{name}: no token is good any more")
        except ValueError as error:
            raise CommandError(str(error)) from error


def _added(shell: Shell, name: str, token: str) -> None:
    if shell.out.is_json:
        shell.out.result({"type": "token", "userId": name, "token": token})
        return
    shell.say(f"a token of {name}, which is shown only now:")
    shell.out.line((token, ""))


def _list(shell: Shell, users: list[tuple[str, int]]) -> None:
    if shell.out.is_json:
        shell.out.results({"type": "user", "userId": user, "tokens": tokens} for user, tokens in users)
    else:
        shell.out.table(("user", "tokens"), [((user, "yellow"), str(tokens)) for user, tokens in users])

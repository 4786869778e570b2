"""`forklore score`: what branches are worth."""

from typing import Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.registering import command
from forklore.cli.shell import Shell


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "score", example="forklore score trip=0.5 trip-by-train=1")
    def score(
        shell: Shell,
        scores: Annotated[
            list[str],
            typer.Argument(
                metavar="NAME|ID=[SCORE]...", help="Branches of one fork tree.", show_default=False
            ),
        ],
    ) -> None:
        """Score branches of a fork tree, for `forklore alternatives`; without SCORE, take it away.

        A score is the number `score` in the metadata of a branch. Up to 40 are set at once, all or
        none.
        """
        read = [_read(one) for one in scores]
        named = [shell.conversation(reference) for reference, _ in read]
        held = {one.resolve(): value for one, (_, value) in zip(named, read, strict=True)}
        if len(held) < len(read):
            raise CommandError("a branch is named twice")
        named[0].set_scores(held)
        for conversation_id, value in held.items():
            if shell.out.is_json:
                shell.out.result({"conversationId": conversation_id, "score": value})
            else:
                told = "has no score" if value is None else f"has the score {value:g}"
                shell.out.line((conversation_id, "yellow"), f" {told}")


def _read(text: str) -> tuple[str, float | None]:
    """Return the conversation and the score of `NAME=SCORE`. A name may have an `=` itself."""
    reference, is_there, value = text.rpartition("=")
    try:
        if is_there:
            return reference, float(value) if value else None
    except ValueError:
        pass
    raise CommandError(f"{text!r} is not NAME|ID=SCORE, where SCORE is a number")

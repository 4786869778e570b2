"""Arguments and options that several commands have."""

from typing import Annotated

import typer

ConversationArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|ID", help="The conversation: a name of yours, or an id.", show_default=False
    ),
]

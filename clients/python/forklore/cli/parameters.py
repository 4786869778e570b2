"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from forklore.cli import completing

ConversationArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|ID",
        help="The conversation: a name of yours, or an id.",
        show_default=False,
        autocompletion=completing.names,
    ),
]

Yes = Annotated[bool, typer.Option("-y", "--yes", help="Delete without a question.")]

PANEL = "A whole table"
"""The panel of the options for operators, who read and write a table without the service."""
TableToRead = Annotated[
    str,
    typer.Option("--table", metavar="NAME", help="The table to read.", rich_help_panel=PANEL),
]
TableOrFolder = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table; else --data.", rich_help_panel=PANEL),
]
Endpoint = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL", help="Its DynamoDB and S3; else AWS.", rich_help_panel=PANEL),
]
Bucket = Annotated[
    str | None,
    typer.Option(
        "--bucket", metavar="NAME", help="Its attachments in S3; else not looked at.", rich_help_panel=PANEL
    ),
]
Region = Annotated[
    str | None,
    typer.Option("--region", metavar="NAME", help="Its region; else AWS's default.", rich_help_panel=PANEL),
]

InFolder = Annotated[
    Path | None,
    typer.Option(
        "--in", metavar="FOLDER", help="Look in this folder, not in the usual places.", show_default=False
    ),
]
Redacts = Annotated[
    bool,
    typer.Option(
        "--redact",
        envvar="FORKLORE_REDACT",
        help="Leave out values that look like keys: each time, or never.",
    ),
]
OfProgram = Annotated[
    list[str] | None,
    typer.Option("--program", metavar="NAME", help="Only of this program; may be given again."),
]
OfProject = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Only of a project's folder of this name.")
]
SinceTime = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only what has changed since: 2026-11-28, or 7d, 12h."),
]

"""`forklore mcp`: the tools for agents, over standard input and output."""

import gc
import json
import os
import shlex
import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from forklore.cli.exits import DONE, INTERRUPTED
from forklore.cli.parameters import Redacts
from forklore.cli.registering import command
from forklore.cli.shell import Shell
from forklore.extras import from_extra

CLAUDE_CODE = "~/.claude/projects"
"""Where Claude Code keeps the transcripts of its sessions, a folder for each project."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "mcp",
        makes=True,
        shows=("data", "url", "profile"),
        example="forklore mcp --data ./data",
        cls=_Registered,
    )
    def mcp(
        shell: Shell,
        allow_delete: Annotated[
            bool,
            typer.Option("--allow-delete", help="Also give the tools that delete and restore conversations."),
        ] = False,
        allow_share: Annotated[
            bool, typer.Option("--allow-share", help="Also give the tool that lets other users in.")
        ] = False,
        import_claude_code: Annotated[
            bool,
            typer.Option(
                "--import-claude-code",
                help=f"First import the sessions of Claude Code on this machine, from {CLAUDE_CODE}.",
            ),
        ] = False,
        redact: Redacts = False,
    ) -> int:
        """Serve tools for agents by the Model Context Protocol. It needs the extra `mcp`.

        An agent's program starts it, and speaks to it over standard input and output. The tools
        act as the user of the settings: search, list, read, compare, fork, say, sum up and name.
        """
        gc.disable()  # hundreds of classes are made, and kept: to look for garbage is a sixth of a start
        with from_extra("mcp"):
            from forklore.mcp.server import make_server
        client = shell.client
        server = make_server(lambda _: client, may_delete=allow_delete, may_share=allow_share)
        gc.freeze()
        gc.enable()
        if import_claude_code and _import_claude_code(shell, redact=redact) == INTERRUPTED:
            return INTERRUPTED
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # a thread waits for input
        server.run("stdio")
        return DONE


class _Registered(TyperCommand):
    """Its help ends with lines to copy, which are not wrapped."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        super().format_help(ctx, formatter)
        formatter.write(registrations(sys.argv[0], Path.home() / "forklore"))


def registrations(program: str, data: Path) -> str:
    """Return how agents' programs are told of the server, a line for each.

    program: as it was started. data: a folder of data.
    """
    found = Path(program).resolve() if Path(program).name == "forklore" else Path("forklore")
    started: Any = {"command": str(found), "args": ["mcp", "--data", str(data)]}
    server = json.dumps(started)
    line = shlex.join([started["command"], *started["args"]])
    for_code = shlex.quote(json.dumps({"name": "forklore", **started}))
    return "\n\n".join(
        (
            f"Claude Code: claude mcp add forklore -- {line}",
            f"Codex: codex mcp add forklore -- {line}",
            f"Gemini CLI: gemini mcp add -s user forklore {line}",
            f"Qwen Code: qwen mcp add -s user forklore {line}",
            f'Cursor, in .cursor/mcp.json: {{"mcpServers": {{"forklore": {server}}}}}',
            f"VS Code: code --add-mcp {for_code}",
            f"OpenAI's SDK for agents: MCPServerStdio(params={server})",
        )
    )


def _import_claude_code(shell: Shell, *, redact: bool) -> int:
    """Import what is new, and return the exit code. What became of it is told on standard error.

    Raises the ApiError that ends all. What cannot be read is told, and left out.
    """
    from forklore.cli.import_files import import_files

    folder = Path(CLAUDE_CODE).expanduser()
    found = sorted(one for one in folder.glob("*") if one.is_dir())
    files = [one for one in found if not one.is_symlink()]
    for link in (one for one in found if one.is_symlink()):
        shell.say(f"{link}: a link, which is not followed")
    if not files:
        shell.say(f"there are no sessions of Claude Code in {folder}")
        return DONE
    with redirect_stdout(sys.stderr):
        code = import_files(
            shell,
            files,
            given="claude-code",
            again="",
            trees_max=None,
            name=None,
            threads=2,
            is_dry=False,
            redacts=redact,
        )
        shell.out.close()
    return code

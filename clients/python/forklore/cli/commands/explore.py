"""`forklore explore`: the page that shows conversations, in the browser."""

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Annotated

import typer

from forklore.cli.exits import CommandError
from forklore.cli.registering import command
from forklore.cli.settings import OverHttp
from forklore.cli.shell import Shell

if TYPE_CHECKING:
    from forklore.cli.exploring.deployment import Stage


SLEEP_SECONDS = 0.5
"""Until it is looked whether the server still serves."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "explore", example="forklore explore --url http://127.0.0.1:8080")
    def explore(
        shell: Shell,
        port: Annotated[
            int | None,
            typer.Option("--port", metavar="N", help="Where the page of a stage is; a free port."),
        ] = None,
        attachments: Annotated[
            str | None,
            typer.Option("--attachments", metavar="URL", help="The bucket of a stage; its files are shown."),
        ] = None,
        browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    ) -> None:
        """Show conversations in the browser.

        A local server has the page itself. For a stage a small server on this machine serves the
        page until Ctrl+C, and sends what it asks to the stage.
        """
        target = shell.target
        if not isinstance(target, OverHttp):
            raise CommandError("the page needs a service at an address: see forklore serve")
        from forklore.cli.exploring import rules
        from forklore.cli.exploring.deployment import Stage

        files_at = rules.origin_of(attachments) if attachments else None
        if attachments and not files_at:
            raise CommandError(f"{attachments} is no https:// address without a path")
        stage = Stage(target.url)
        try:
            if port is None and stage.is_here and stage.has_page():
                _tell(shell, f"{stage.base}/")
                if browser:
                    _open(shell, f"{stage.base}/")
                return
            stage.check()
            _serve(shell, stage, port or 0, files_at, opens=browser)
        finally:
            stage.close()


def _serve(shell: Shell, stage: "Stage", port: int, files_at: str | None, *, opens: bool) -> None:
    """Serve the page of a stage until Ctrl+C."""
    from forklore.cli.exploring.forwarder import Forwarder

    with Forwarder(stage, port, files_at) as server:
        _tell(shell, server.url)
        shell.say(f"this page shows {stage.base} until Ctrl+C")
        if opens:  # a browser of the terminal runs until it is closed
            threading.Thread(target=_open, args=[shell, server.url], daemon=True).start()
        # Ctrl+C is raised in the main thread. That only sleeps, so that nothing can swallow it.
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        try:
            serving.start()
            while serving.is_alive():
                time.sleep(SLEEP_SECONDS)
        except KeyboardInterrupt:  # the usual end, as of `forklore serve`
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)  # a thread cannot be stopped: a connection that hangs would keep the process alive


def _tell(shell: Shell, page: str) -> None:
    """Write the address at once."""
    if shell.out.is_json:
        shell.out.result({"url": page})
    else:
        shell.out.line(page)
    sys.stdout.flush()


def _open(shell: Shell, page: str) -> None:
    import webbrowser

    if not webbrowser.open(page):
        shell.say("there is no browser here: open the address yourself")

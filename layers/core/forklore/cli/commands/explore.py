"""`forklore explore`: open the page of the service in the browser."""

import typer

from forklore.cli.exits import NO_ANSWER, CommandError
from forklore.cli.registering import command
from forklore.cli.settings import OverHttp
from forklore.cli.shell import Shell

PATH = "/explore"
ANSWER_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "explore", example="forklore explore --url http://127.0.0.1:8080")
    def explore(shell: Shell) -> None:
        """Open the page that shows conversations, if the service has it."""
        target = shell.target
        if not isinstance(target, OverHttp):
            raise CommandError("the page needs a service at an address: see forklore serve")
        from forklore.client.transports.http import base_of

        base = base_of(target.url)
        page = f"{base}{PATH}"
        if not _is_there(page):
            raise CommandError(f"the service at {base} has no page to explore")
        if shell.out.is_json:
            shell.out.result({"url": page})
            return
        import webbrowser

        shell.out.line(page)
        if not webbrowser.open(page):
            shell.say("there is no browser here: open the address yourself")


def _is_there(page: str) -> bool:
    """Tell whether the address answers with a page. Raises CommandError without any answer."""
    import httpx2

    from forklore.client.transports.http import LOOPBACK

    try:
        with httpx2.Client(trust_env=httpx2.URL(page).host not in LOOPBACK) as client:
            answer = client.get(page, timeout=ANSWER_SECONDS)
    except httpx2.InvalidURL as error:
        raise CommandError(f"{page!r} is no address: {error}") from error
    except httpx2.HTTPError as error:
        raise CommandError(f"no answer from {page}: {type(error).__name__}", NO_ANSWER) from error
    return answer.status_code == 200 and answer.headers.get("content-type", "").startswith("text/html")

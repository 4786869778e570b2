"""The local server: reads the command line and puts the other modules together."""

import argparse
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import uvicorn

from forklore_local.embedded.folder import DataError
from forklore_local.embedded.opened import Opened
from forklore_local.embedded.worker import Worker
from forklore_local.server.asgi import App
from forklore_local.server.callers import Callers
from forklore_local.server.commits import Commits
from forklore_local.server.cors import with_cors
from forklore_local.server.events import CONTENTS, Events
from forklore_local.server.files import ServedObjects, with_files
from forklore_local.server.functions import http_functions
from forklore_local.server.gateway import Gateway
from forklore_local.server.identity import hinted, read_authorizer
from forklore_local.server.log import show_lines_of, write
from forklore_local.server.openapi import document
from forklore_local.server.page import with_page
from forklore_local.server.reference import with_reference
from forklore_local.server.routing import Function
from forklore_local.server.store import ENDPOINT, DatabaseError, open_table_at, set_environment
from forklore_service.aws.wiring import Given, ServiceSettings, give, open_table

COMMAND = "python -m forklore_local.server"
EVERYWHERE = "0.0.0.0"  # nosec B104 # to compare with
STOP_WITHIN_SECONDS = 3  # for requests that are still running
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that no request meets a closed one."""
CANNOT_START = 2
"""The exit code where the address is in use, the folder cannot be opened, or a setting is wrong."""
BANNER = """\
see the conversations at {url}/
forklore listens on {url}
the API reference is at {url}/docs

Try it; the bearer token is the user id:
  curl -X POST {url}/v1/conversations -H 'Authorization: Bearer alice' \
-H 'Content-Type: application/json' -d '{{"title":"Hello"}}'

{store}
Ctrl+C stops it.
"""
Beside = Callable[[App, str], App]
FORGETS = """\
The embedded store forgets everything when this stops. To keep it: --data ./data"""


def main(
    functions: Callable[[], Sequence[Function]] = http_functions,
    *,
    arguments: Sequence[str] | None = None,
    command: str = COMMAND,
    beside: Beside = lambda app, _url: app,
) -> int:
    """Serve until a signal comes; return 0 or CANNOT_START.

    functions: returns those that requests call. arguments: of the command line; None: those of this
    process. command: what the user called, for the usage. beside: adds paths to the app whose
    address it is told.
    """
    chosen = _parser(command).parse_args(arguments)
    environment = dict(os.environ)  # as the user has it: the server changes its own
    show_lines_of(logging.getLogger("forklore"), verbose=chosen.verbose)
    _on_signal(lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        return _serve(functions(), chosen, environment, stack, beside)


def end(status: int) -> NoReturn:
    """End the process: a thread cannot be stopped, and a handler that hangs would keep it alive."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)


def _serve(
    functions: Sequence[Function],
    arguments: argparse.Namespace,
    environment: Mapping[str, str],
    stack: contextlib.ExitStack,
    beside: Beside,
) -> int:
    """Serve as `main` does. environment: the user's. stack: closed when the server has stopped."""
    try:
        listener = _listen(arguments.host, arguments.port)
        callers = Callers(name for name in (arguments.host, *arguments.allow_host) if name)
        authorizer = read_authorizer(os.environ, arguments.client)
        events = Events(arguments.on_event, arguments.event_content)
        stack.callback(events.close)
        events.open({**environment, "FORKLORE_URL": _url(listener)})
        set_environment()
        store, worker, objects, moment = _open_store(arguments.data, events, stack)
    except (OSError, DatabaseError, DataError, ValueError) as error:
        print(f"forklore: {error}", file=sys.stderr)
        return CANNOT_START
    commits = Commits(moment, lambda: server.should_exit) if moment else None
    gateway = Gateway(
        functions, authorize=authorizer, commits=commits, explain=hinted, verbose=arguments.verbose
    )
    paths = beside(with_page(with_reference(gateway, document)), _url(listener))
    server = uvicorn.Server(_configuration(paths, callers, objects))
    _on_signal(server.handle_exit)  # uvicorn raises the signal again at its end, without a traceback
    write(BANNER.format(url=_url(listener), store=store), sys.stdout)
    worker.start()
    events.start()
    server.run(sockets=[listener])
    events.stop()
    return 0


def _open_store(
    data: Path | None, events: Events, stack: contextlib.ExitStack
) -> tuple[str, Worker, ServedObjects, Callable[[], int | None] | None]:
    """Open the table and the files, and let the handlers use them.

    Return what the banner says, the worker, the files, and what returns the moment, as of Commits;
    None where the commits of others are not seen here.
    events: who is told of changes. stack: closes what is opened.
    Raises DataError, DatabaseError, OSError, and ValueError if two stores are named, or if there
    are receivers of events and the store is a DynamoDB, whose changes are not seen here.
    """
    endpoint, settings = os.environ.get(ENDPOINT), ServiceSettings.from_environment()
    names = ("delete_wait_s", "retention_days", "ignore_retention_tag")
    jobs = {name: getattr(settings, name) for name in names}
    stack.callback(give, Given())
    if endpoint:
        if data is not None:
            raise ValueError(f"--data and {ENDPOINT} name two stores")
        events.require(None, f"a DynamoDB at {ENDPOINT}")
        open_table_at(endpoint)
        objects = ServedObjects(Path(settings.attachments) if settings.attachments else None)
        stack.callback(objects.close)
        give(Given(objects=objects))
        worker = Worker(open_table(), expire=lambda _now_s: None, **jobs)
        stack.callback(worker.stop)
        give(Given(queue=worker.queue, objects=objects))
        return f"The store is the DynamoDB at {endpoint}.", worker, objects, None
    opened = Opened(data, name=settings.table_name, **jobs)
    stack.callback(opened.close)
    events.require(opened)
    objects = ServedObjects(opened.objects.folder)
    give(Given(lambda: opened.engine, opened.worker.queue, objects))
    told = FORGETS if data is None else f"The embedded store keeps the data in {data}."
    return told, opened.worker, objects, opened.database.moment


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=command,
        description="Serve forklore's HTTP API on this machine, as API Gateway and Lambda would.",
        epilog=f"The store is in memory unless --data names a folder, or {ENDPOINT} a DynamoDB. "
        f"Example: {command} --data ./data --port 8080",
    )
    host, port = os.environ.get("HOST", "127.0.0.1"), os.environ.get("PORT", "8080")
    parser.add_argument("--host", default=host, help="address to listen on (HOST; 127.0.0.1)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer by this name, too, and to its pages; may be repeated",
    )
    parser.add_argument("--port", default=port, type=int, help="0 takes a free one (PORT; 8080)")
    parser.add_argument("--data", type=Path, help="keep what is stored in this folder; it is made")
    parser.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME=KEY",
        help="the API key of an agent, beside those of FORKLORE_API_KEYS; may be repeated",
    )
    parser.add_argument(
        "--on-event",
        action="append",
        default=[],
        metavar="RECEIVER",
        help="send each event to a URL, or to a function as module:function; may be repeated",
    )
    parser.add_argument(
        "--event-content",
        type=str.lower,
        choices=CONTENTS,
        default=CONTENTS[0],
        help=f"what events show of entries ({CONTENTS[0]})",
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="lines per request: what it costs on AWS, and nothing of its content",
    )
    return parser


def _configuration(paths: App, callers: Callers, objects: ServedObjects) -> uvicorn.Config:
    return uvicorn.Config(
        with_cors(with_files(paths, objects), callers),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def _on_signal(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError with a text for people."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two writes
        return listener
    except (OSError, OverflowError) as error:
        reason = str(error).partition(" (while")[0]  # Python repeats the address there
        raise OSError(f"cannot listen on {host} port {port}: {reason}") from error


def _url(listener: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {EVERYWHERE: "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

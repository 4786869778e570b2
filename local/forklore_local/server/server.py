"""The local server: reads the command line and puts the other modules together."""

import argparse
import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import uvicorn

from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.measures import Measures, measure, require_room
from forklore_local.in_process.models import nearness_named
from forklore_local.in_process.opened import Opened
from forklore_local.in_process.upkeep import require_readable
from forklore_local.in_process.worker import Worker
from forklore_local.server.answered import show_each, with_lines
from forklore_local.server.asgi import (
    App,
    Headers,
    Message,
    Receive,
    Response,
    Scope,
    Send,
    send_response,
)
from forklore_local.server.callers import Callers
from forklore_local.server.commits import Commits
from forklore_local.server.cors import with_cors
from forklore_local.server.events import Events
from forklore_local.server.files import ServedObjects, with_files
from forklore_local.server.functions import http_apis, http_functions, operation_names
from forklore_local.server.gateway import READY, Gateway
from forklore_local.server.identity import (
    Identity,
    IssuerAuthorizer,
    hinted,
    named_user,
    read_authorizer,
    read_issuer,
)
from forklore_local.server.invocation import sleep
from forklore_local.server.log import show_lines_of, write
from forklore_local.server.manager import STOP_SECONDS, VARIABLES, Manager, given_socket
from forklore_local.server.options import OPTIONS, Options, changed, lines_of
from forklore_local.server.options import read as read_options
from forklore_local.server.page import with_page
from forklore_local.server.processes import (
    Processes,
    Server,
    Work,
    WorkersServer,
    can_fork,
    usual_number,
)
from forklore_local.server.protocol import READS_HTTP
from forklore_local.server.reference import with_reference
from forklore_local.server.routing import Function
from forklore_local.server.store import ENDPOINT, DatabaseError, open_table_at, set_environment
from forklore_local.server.tracing import with_spans
from forklore_local.server.unit import program_of, unit_of
from forklore_local.server.user_tokens import UserTokens
from forklore_local.version import version
from forklore_service.aws.wiring import Given, ServiceSettings, give, open_table
from forklore_service.domain import keys
from forklore_service.domain.ids import timestamp
from forklore_service.domain.meaning import Nearness
from forklore_service.errors import UnavailableError

if TYPE_CHECKING:
    from forklore_local.server.metrics import Metrics

COMMAND = "python -m forklore_local.server"
API_PATHS = "/v1/"
EVERYWHERE = "0.0.0.0"  # nosec B104 # to compare with
UNVERIFIED = "whoever reaches this server is who they say: a token is a user id, and nobody verifies it"
_log = logging.getLogger("forklore")
STOP_WITHIN_SECONDS = 3  # for requests that are still running
KEEP_ALIVE_SECONDS = 75
LOOK_SECONDS = 10.0  # for an attachment whose bytes are sent
"""Longer than clients keep an idle connection, so that no request meets a closed one."""
GARBAGE_OBJECTS = 20_000
"""How many new objects there are before Python looks for garbage. A long list makes some 10,000."""
PORT_MAX = 65535
CANNOT_START = 2
"""The exit code where the address is in use, the folder cannot be opened, or a setting is wrong."""
BANNER = """\
see the conversations at {url}/
forklore {version} listens on {url}
the API reference is at {url}/docs
{tools}
{tokens}

{store}
Ctrl+C stops it.
"""
STOPPED = Response(503, [("content-type", "application/json")], b'{"message":"Service Unavailable"}')
Beside = Callable[[App, str, Callable[[Headers], Awaitable[Identity]]], App]
TRY = """\
Nobody verifies tokens: that is for your own machine. Try it; the bearer token is the user id:
  curl -X POST {url}/v1/conversations -H 'Authorization: Bearer alice' \
-H 'Content-Type: application/json' -d '{{"title":"Hello"}}'"""
TOOLS = "the tools for agents are at {url}/mcp\n"
FORGETS = """\
The embedded store forgets everything when this stops. To keep it: --data ./data"""


def main(
    functions: Callable[[], Sequence[Function]] = http_functions,
    *,
    arguments: Sequence[str] | None = None,
    command: str = COMMAND,
    tools: Callable[[], Beside] | None = None,
) -> int:
    """Serve until a signal comes; return 0 or CANNOT_START.

    functions: returns those that requests call. arguments: of the command line; None: those of this
    process. command: what the user called, for the usage. tools: returns what adds the tools for
    agents to an app, by its address and what finds the caller; None: there is no option for them.
    """
    _on_signal(lambda *_: sys.exit(0))
    if hasattr(signal, "SIGHUP"):  # its terminal is closed, or somebody means: read the settings again
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        manager, listener = Manager(os.environ), given_socket(os.environ)
        for name in VARIABLES:  # they are for this process alone
            os.environ.pop(name, None)
        environment = dict(os.environ)  # as the user has it: the server changes its own
        read = partial(read_options, arguments, environment, command=command, has_tools=tools is not None)
        options = read()
        chosen = options.chosen
        if chosen.print_unit:
            write(unit_of(options, program=program_of(command), kind=chosen.print_unit), sys.stdout)
            return 0
        for name, verbose in (("", False), ("forklore", chosen.verbose)):  # first all that others write
            show_lines_of(logging.getLogger(name), verbose=verbose, form=chosen.log)
        if chosen.access_log:
            show_each()
        gc.set_threshold(GARBAGE_OBJECTS, *gc.get_threshold()[1:])
        beside = tools() if tools and chosen.mcp else None
        server = _Server(functions(), options, environment, beside, manager)
        if chosen.check:
            server.check()
            return 0
        server.listen(listener)
    except (OSError, ValueError, DataError) as error:
        return _refuse(error)
    return server.run(read)


def end(status: int) -> NoReturn:
    """End the process: a thread cannot be stopped, and a handler that hangs would keep it alive."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)


class _Server:
    """Serves as `main` does, in this process or in several. environment: the user's.

    Raises OSError and ValueError, with a text for people.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        options: Options,
        environment: Mapping[str, str],
        beside: Beside | None,
        manager: Manager,
    ) -> None:
        self._functions, self._beside, self._manager = functions, beside, manager
        self._options, self._arguments = options, options.chosen
        self._authorizer = _authorizer(options)
        self._verifies = _verifies(options)
        self._environment = environment
        self._version = version()  # of now: a checkout may change while this runs
        os.environ.update(options.environment)
        os.environ["FORKLORE_DELETED_DAYS"] = str(options.chosen.deleted_days)
        set_environment()
        try:
            ServiceSettings.from_environment()
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        arguments = self._arguments
        self._workers = _workers(arguments.workers, arguments.data)
        self._callers = Callers(name for name in (arguments.host, *arguments.allow_host) if name)
        self._file: os.stat_result | None = None
        self._metrics_at = _address(arguments.metrics)
        self._metrics: Metrics | None = None
        self._others: list[socket.socket] = []

    def check(self) -> None:
        """Say what is set, if a server could start with it. Nothing is made, and nobody is called.

        Raises as the start does.
        """
        arguments = self._arguments
        self._require_verified(arguments.host)
        self._require_own_port(arguments.port)
        nearness_named(arguments.recall or None)
        if arguments.data is not None and arguments.data.exists():
            if not arguments.data.is_dir():
                raise ValueError(f"cannot keep data in {arguments.data}: it is no folder")
            if (arguments.data / FILE).exists():
                require_readable(arguments.data)
        tokens = "nobody verifies tokens" if not self._verifies else _tokens_told(arguments)
        write("\n".join([*lines_of(self._options), tokens]), sys.stdout)

    def listen(self, given: socket.socket | None) -> None:
        """Listen, by a socket that the manager has opened or by a new one."""
        host = given.getsockname()[0] if given else self._arguments.host
        self._require_verified(host)
        self._listener = given or _listen(host, self._arguments.port)
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two writes
        self._host, self._url = host, _url(self._listener)
        self._environment = {**self._environment, "FORKLORE_URL": self._url}
        self._require_own_port(self._listener.getsockname()[1])
        if self._metrics_at:
            self._others = [_listen(*self._metrics_at)]
            self._metrics = _metrics()

    @property
    def _metrics_port(self) -> int:
        return int(self._others[0].getsockname()[1]) if self._others else 0

    def _require_own_port(self, port: int) -> None:
        if self._metrics_at and self._metrics_at[1] == port != 0:
            raise ValueError("--metrics needs a port of its own")

    def _require_verified(self, host: str) -> None:
        if not (self._verifies or self._arguments.insecure or is_of_this_machine(host)):
            raise ValueError(f"{UNVERIFIED}; use --issuer or --token-file, or say --insecure")

    def run(self, read: Callable[[], Options]) -> int:
        """Serve until a signal comes; return 0 or CANNOT_START. read: as `main` does."""
        self._read = read
        with contextlib.ExitStack() as stack:
            if self._metrics:
                stack.callback(self._metrics.close)
            if self._workers == 1:
                return self._serve(None)
            ended = self._metrics.ended if self._metrics else lambda _process: None
            return Processes(
                self._workers, self._listener, self._serve, self._greet, self._renew, self._manager, ended
            ).run()

    def _authorize(self, headers: Headers) -> Identity:
        return self._authorizer(headers)

    def _renew(self, *, is_told: bool = True) -> None:
        """Read the settings anew, and use those of callers. What is wrong leaves all as it was.

        is_told: whether this process says so. Of several one does.
        """
        if not is_told:
            with contextlib.suppress(OSError, ValueError):
                self._use(self._read())
            return
        self._manager.reads_anew()
        try:
            options = self._read()
            self._use(options)
            if others := changed(self._options, options):
                _log.warning("start_again_for", extra={"options": others})
            _log.info("settings_read")
        except (OSError, ValueError) as error:
            _log.error("settings_refused", extra={"means": str(error)})
        self._manager.is_ready()

    def _use(self, options: Options) -> None:
        """Find callers by these options. Raises OSError and ValueError, with a text for people."""
        if _verifies(options) != self._verifies:
            raise ValueError("to verify tokens in another way, start the server again")
        self._authorizer = _authorizer(options, self._authorizer)

    def _greet(self) -> None:
        """Say that the server is ready. What is in the folder now is what all workers serve."""
        if self._workers > 1:
            self._file = (self._arguments.data / FILE).stat()
        told = _store_told(self._arguments.data, self._workers)
        if self._others:
            told = f"The numbers for Prometheus are at {_url(self._others[0])}/metrics\n{told}"
        tools = TOOLS.format(url=self._url) if self._beside else ""
        tokens = TRY.format(url=self._url) if not self._verifies else _tokens_told(self._arguments)
        banner = BANNER.format(url=self._url, tools=tools, store=told, version=self._version, tokens=tokens)
        write(banner, sys.stdout)
        if not self._verifies:
            warn_of(self._host)
        self._manager.is_ready()

    async def _identify(self, headers: Headers) -> Identity:
        """Return who calls."""
        return await asyncio.to_thread(self._authorize, headers)

    def _require_in_place(self) -> None:
        """Raise OSError in a worker if there is another folder than the one that others serve."""
        if self._file is None:
            return
        folder: Path = self._arguments.data
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self._file, (folder / FILE).stat()):
                return
        raise OSError(f"{folder} was removed or replaced while it was open; start this program again")

    def _serve(self, work: Work | None) -> int:
        """Serve in this process, as one of several workers or alone. Return as `run` does.

        One process at a time tells the events, and does what is done again and again.
        """
        arguments, is_first = self._arguments, work is None or work.is_first
        events = Events(arguments.on_event if is_first else [], arguments.event_content)
        with contextlib.ExitStack() as stack:
            stack.callback(events.close)
            try:
                self._require_in_place()
                events.open(self._environment)
                nearness = nearness_named(arguments.recall or None)
                objects, opened = _open_store(
                    arguments.data,
                    events,
                    stack,
                    is_first=is_first,
                    nearness=nearness,
                    swept=self._metrics.swept if self._metrics else lambda *_: None,
                )
            except (OSError, DatabaseError, DataError, ValueError) as error:
                return _refuse(error)
            commits = Commits(opened.database.moment, lambda: server.should_exit) if opened else None

            forgets = opened is not None and opened.folder is None
            started = {"startedAt": timestamp(time.time_ns() // 1_000_000)} if forgets else {}

            def health() -> Mapping[str, str]:
                if opened:
                    opened.database.require_usable()
                return {**self._version.fields, **started}

            def ready() -> Mapping[str, str]:
                if server.should_exit:
                    raise UnavailableError("the server stops", reason="stopping")
                told = health()  # a folder that is gone has no disk to look at
                if opened and opened.folder:
                    require_room(opened.folder)
                return told

            gateway = Gateway(
                self._functions,
                apis=http_apis(self._functions),
                authorize=self._authorize,
                authorize_waits=bool(arguments.issuer),
                commits=commits,
                explain=(lambda response: response) if self._verifies else hinted,
                health=health,
                ready=ready,
            )
            stage = self._url if self._verifies else ""
            paths = with_page(with_reference(gateway, _document), stage=stage)
            if self._beside:
                paths = self._beside(paths, self._url, self._identify)
            app = _app(gateway, paths, self._callers, objects)
            configuration = _configuration(with_spans(self._with_metrics(app, opened)))
            events.start()
            server: Server
            if work is None:
                late = threading.Timer(STOP_SECONDS, os._exit, [0])  # a thread may hang
                stack.callback(late.cancel)
                server = Server(configuration, self._manager, self._renew, late)
                _on_signal(server.handle_exit)  # uvicorn raises the signal again at its end
                self._greet()
                server.run(sockets=[self._listener, *self._others])
            else:
                server = WorkersServer(configuration, work.channel, partial(self._renew, is_told=False))
                server.run(sockets=self._others)
                work.wait_for_others()  # what they write is told, too
            events.stop()
        return 0

    def _with_metrics(self, app: App, opened: Opened | None) -> App:
        """Return `app` with the lines of the log, and with the numbers at a port of their own."""
        metrics = self._metrics
        if metrics is None:
            return with_lines(app)
        metrics.serves()
        counted, port = with_lines(app, begun=metrics.begun, ended=metrics.answered), self._metrics_port

        def measured() -> Measures | None:
            return measure(opened.database, opened.folder, now_s=time.time()) if opened else None

        numbers = metrics.app(measured)

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await (numbers if scope["server"][1] == port else counted)(scope, receive, send)

        return serve


def _verifies(options: Options) -> str:
    """Return the name of the option by which tokens are verified; "" if nobody verifies them."""
    return next((name for name in ("issuer", "token_file") if getattr(options.chosen, name)), "")


def _authorizer(
    options: Options, before: Callable[[Headers], Identity] | None = None
) -> Callable[[Headers], Identity]:
    """Return what finds the caller of a request.

    before: what has found them until now. Of the same issuer its keys are used on, so that nobody
    is refused if the issuer cannot be reached at this moment.
    Raises OSError and ValueError, with a text for people.
    """
    chosen, environ = options.chosen, options.environment
    issuer, file = chosen.issuer, chosen.token_file
    if issuer and file:
        raise ValueError("--issuer and --token-file are two ways to know a user: choose one")
    for option in OPTIONS:
        if option.is_of_issuer and option.name in options.places and not issuer:
            raise ValueError(f"{option.name} needs --issuer")
    if issuer:
        audience = {"FORKLORE_AUDIENCE": ",".join(chosen.audience)}
        made = read_issuer({**environ, "FORKLORE_ISSUER": issuer, **audience}, chosen.client)
        return made.after(before) if isinstance(before, IssuerAuthorizer) else made
    if file and not file.exists():
        raise ValueError(f"{file} is missing; make it: forklore user add NAME --token-file {file}")
    return read_authorizer(environ, chosen.client, UserTokens(file).user_of if file else named_user)


def _tokens_told(arguments: argparse.Namespace) -> str:
    """Return what is said of tokens that are verified."""
    if arguments.issuer:
        return f"A token is one that {arguments.issuer} has signed."
    return f"A token is one of {arguments.token_file}; `forklore user add NAME` makes one."


def _document() -> Mapping[str, Any]:
    """Return the OpenAPI document. Few ask for it, and its examples take a sixth of a start."""
    from forklore_local.server.openapi import document

    return document()


def _refuse(error: Exception) -> int:
    print(f"forklore: {error}", file=sys.stderr)
    return CANNOT_START


def _workers(asked: int | None, data: Path | None) -> int:
    """Return how many processes serve. asked: None: as many as is usual.

    Raises ValueError if there is no folder that several of them can share, or two stores are named.
    """
    if data is not None and os.environ.get(ENDPOINT):
        raise ValueError(f"--data and {ENDPOINT} name two stores")
    if data is None:
        if asked is not None and asked > 1:
            raise ValueError("--workers needs --data: several processes share a folder only")
        return 1
    workers = usual_number() if asked is None else asked
    if workers > 1 and not can_fork():
        if asked is not None:
            _log.warning("one_process", extra={"means": "this system cannot share a port between several"})
        return 1
    return workers


def _store_told(data: Path | None, workers: int) -> str:
    """Return what the banner says of the store."""
    endpoint = os.environ.get(ENDPOINT)
    if endpoint:
        return f"The store is the DynamoDB at {endpoint}."
    if data is None:
        return FORGETS
    kept = f"The embedded store keeps the data in {data}."
    return kept if workers == 1 else f"{kept} {workers} processes serve it."


def _open_store(
    data: Path | None,
    events: Events,
    stack: contextlib.ExitStack,
    *,
    is_first: bool,
    nearness: Nearness | None,
    swept: Callable[[int, float, int], object],
) -> tuple[ServedObjects, Opened | None]:
    """Open the table and the files, let the handlers use them, and start the worker.

    Return the files and what was opened; None where the commits of others are not seen here.
    events: who is told of changes. stack: closes what is opened. is_first: of all processes of this
    server; it sweeps and tells. nearness: as of Table. swept: as of Worker.
    Raises DataError, DatabaseError, OSError, and ValueError if there are receivers of events and
    the store is a DynamoDB, whose changes are not seen here.
    """
    endpoint, settings = os.environ.get(ENDPOINT), ServiceSettings.from_environment()
    names = ("delete_wait_s", "deleted_days", "retention_days", "ignore_retention_tag")
    jobs = {name: getattr(settings, name) for name in names}
    stack.callback(give, Given())
    if endpoint:
        events.require(None, f"a DynamoDB at {ENDPOINT}")
        open_table_at(endpoint)
        objects = ServedObjects(Path(settings.attachments) if settings.attachments else None)
        stack.callback(objects.close)
        give(Given(objects=objects, nearness=nearness))
        worker = Worker(open_table(), expire=lambda _now_s: None, swept=swept, **jobs)
        stack.callback(worker.stop)
        give(Given(queue=worker.queue, objects=objects, nearness=nearness))
        worker.start()
        return objects, None
    opened = Opened(data, name=settings.table_name, sweeps=is_first, swept=swept, **jobs)
    stack.callback(opened.close)
    if is_first:
        events.require(opened)
    objects = ServedObjects(opened.objects.folder)
    give(Given(lambda: opened.engine, opened.worker.queue, objects, nearness, sleep, by_meaning=True))
    if data is None:  # that of a folder has started
        opened.worker.start()
    return objects, opened


def _app(api: App, paths: App, callers: Callers, objects: ServedObjects) -> App:
    """Return what serves `api` below API_PATHS, and all else by `paths`.

    A request that is not answered when the server has waited for it long enough, and stops, is 503.
    """
    others = with_files(paths, objects, is_wanted)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_answered = False

        async def sending(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await (api if scope["path"].startswith(API_PATHS) else others)(scope, receive, sending)
        except asyncio.CancelledError:
            if not is_answered:
                await send_response(send, STOPPED)

    return with_cors(serve, callers)


def _configuration(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=READS_HTTP,
        loop="asyncio",  # uvloop takes 2 MB of each process, for little
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def is_wanted(attachment_id: str) -> bool:
    """Tell whether the bytes of an attachment may arrive: nobody has removed it or let it go."""
    file = open_table().within(LOOK_SECONDS).get([keys.file(attachment_id)]).file(attachment_id)
    return file is not None and file.can_be_named


def _on_signal(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _address(text: str) -> tuple[str, int] | None:
    """Return the address that PORT or HOST:PORT names; None for an empty text.

    >>> _address("9100"), _address("[::1]:9100")
    (('127.0.0.1', 9100), ('::1', 9100))
    """
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > PORT_MAX:
        raise ValueError(f"metrics is PORT or HOST:PORT, and not {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _metrics() -> "Metrics":
    """Return what counts. Few servers do, and it is slow to load. Raises ValueError."""
    from forklore_local.server.metrics import Metrics

    return Metrics({**operation_names(), READY: "checkReady"})


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError with a text for people."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = str(error).partition(" (while")[0]  # Python repeats the address there
        raise OSError(f"cannot listen on {host} port {port}: {reason}") from error


def is_of_this_machine(host: str) -> bool:
    """Return whether only this machine reaches a server at the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def warn_of(host: str) -> None:
    """Log a warning if others than this machine reach a server at the address."""
    if not is_of_this_machine(host):
        _log.warning("tokens_are_not_verified", extra={"host": host, "means": UNVERIFIED})


def _url(listener: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {EVERYWHERE: "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

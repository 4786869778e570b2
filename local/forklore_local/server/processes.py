"""Several processes behind one port: one listens, and the others, the workers, serve.

The listening process hands each connection to a worker, one worker after the other. So a few
connections are spread as evenly as many. A worker gets one only when it has taken the one before:
a worker that hangs costs one connection. The listening process opens no folder and starts no
thread: it may fork at any time.

A channel leads from it to each worker, and ends when the process at either end does. So no worker
outlives the listening process, and a worker that has ended is started again.
"""

import asyncio
import logging
import math
import os
import selectors
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import uvicorn

from forklore_local.server.log import FRAMES, frames
from forklore_local.server.manager import STOP_SECONDS, Manager
from forklore_local.server.tracing import send_spans

USUAL_MAX = 4
"""How many workers there are at the most, if nobody says how many."""
CORES = Path("/sys/fs/cgroup/cpu.max")
"""How much of how many microseconds a container computes; `max` where there is no bound."""
BACKLOG = 2048
STEADY_SECONDS = 10.0
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.5, 30.0
"""The first pause before a worker that did not live for STEADY_SECONDS is started again, and the
longest. Each is twice the one before.
"""
FULL_SECONDS = 0.2
"""How long nothing is accepted if the system has no room for another connection."""
OPEN_FILES = 10_240
"""How many open files a process asks for. macOS allows no more."""
TAKE, STOP, RENEW = b"t", b"s", b"r"
"""What a worker is told. A connection goes with TAKE."""
DONE = b"d"
"""What a worker says when it is ready, and then when it has taken the next connection."""
_log = logging.getLogger("forklore")


def can_fork() -> bool:
    return hasattr(os, "fork") and hasattr(socket, "send_fds")


def usual_number() -> int:
    """Return the number of workers if nobody says how many: one for each core that they may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no container, or no bound
        some, of_all = map(int, CORES.read_text().split())
        cores = min(cores, math.ceil(some / of_all))
    return min(cores, USUAL_MAX)


class Work:
    """What a worker needs. channel: to the listening process. is_first: of all workers.

    others: for the first one, what can be read when all others have ended.
    """

    def __init__(self, channel: socket.socket, others: int | None) -> None:
        self.channel, self._others = channel, others
        self.is_first = others is not None

    def wait_for_others(self) -> None:
        """Wait, as the first worker, until no other serves or the listening process is killed."""
        if self._others is not None:
            _readable([self._others, self.channel])


class Server(uvicorn.Server):
    """Serves as uvicorn does, which looks ten times a second whether it shall end.

    This looks once a second, and as soon as it is told. renew: reads the settings anew.
    late: is started when this begins to end.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        manager: Manager,
        renew: Callable[[], object],
        late: threading.Timer | None = None,
    ) -> None:
        super().__init__(config)
        self._manager, self._renew, self._late = manager, renew, late
        self._told: Callable[[], object] = lambda: None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        with suppress(RuntimeError):  # it has ended already
            self._told()

    async def main_loop(self) -> None:
        loop, ending, ticks = asyncio.get_running_loop(), asyncio.Event(), 0
        seconds = min(1, (self._manager.watched_s or 4) / 4)
        self._listen_for_renewal(loop)
        self._told = lambda: loop.call_soon_threadsafe(ending.set)
        while not await self.on_tick(ticks):  # the date of the answers is of each tenth tick
            ticks += 10
            self._manager.lives()
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), seconds)

    def _listen_for_renewal(self, loop: asyncio.AbstractEventLoop) -> None:
        if hasattr(signal, "SIGHUP"):
            loop.add_signal_handler(signal.SIGHUP, self._renew)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._manager.stops()
        if self._late:
            self._late.daemon = True
            self._late.start()
        await super().shutdown(sockets)
        send_spans()


class WorkersServer(Server):
    """Serves the connections that come through a channel, until it is told to stop.

    Signals are for the listening process: a terminal or a service manager sends them to all.
    """

    def __init__(self, config: uvicorn.Config, channel: socket.socket, renew: Callable[[], object]) -> None:
        super().__init__(config, Manager({}), renew)
        self._channel = channel
        self._connecting = set[asyncio.Task[object]]()
        self._is_full = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Do nothing."""

    def _listen_for_renewal(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing: the channel tells it."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets or [])
        self._channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self._channel, self._take)
        self._tell()

    def _take(self) -> None:
        loop, came, handles = asyncio.get_running_loop(), b"", list[int]()
        with suppress(ConnectionError):
            came, handles, _, _ = socket.recv_fds(self._channel, len(TAKE), 1)
        if not came:  # the listening process was killed; so is this one
            os._exit(1)
        if came == STOP:
            loop.remove_reader(self._channel)
            self.should_exit = True
            self._told()
            return
        if came == RENEW:
            self._renew()
            return
        self._tell()
        if not handles and not self._is_full:
            _log.warning("too_many_open_files")
        self._is_full = not handles
        if not handles:  # who called calls again
            return
        try:
            connection = socket.socket(fileno=handles[0])
        except OSError:  # macOS: who called has gone
            os.close(handles[0])
            return
        connection.setblocking(False)
        connecting = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    def _protocol(self) -> asyncio.Protocol:
        """Return what `startup` of uvicorn makes for a connection."""
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    def _tell(self) -> None:
        with suppress(OSError):  # the listening process has ended, as the channel says, too
            self._channel.send(DONE)


class _Worker:
    """A worker as the first process sees it. It has no channel while its process does not run.

    handed: the connection that it has not confirmed yet. pause_s: before it was started.
    """

    def __init__(self) -> None:
        self.process = 0
        self.channel: socket.socket | None = None
        self.is_ready = False
        self.handed: socket.socket | None = None
        self.started_s = self.start_at_s = self.pause_s = 0.0

    @property
    def is_free(self) -> bool:
        """Whether it takes a connection."""
        return self.is_ready and self.handed is None


class Processes:
    """The listening process of a server, and its workers.

    work: serves as a worker, and returns the exit status of its process. opened: is called when
    the first worker is ready. The others start then: it has opened the folder, which may be new.
    renew: reads the settings anew, in this process: a worker that starts later has them.
    ended: is called with the process id of each worker that has ended.
    """

    def __init__(
        self,
        number: int,
        listener: socket.socket,
        work: Callable[[Work], int],
        opened: Callable[[], object],
        renew: Callable[[], object],
        manager: Manager,
        ended: Callable[[int], object] = lambda _process: None,
    ) -> None:
        self._ended = ended
        self._listener, self._work, self._opened = listener, work, opened
        self._renew, self._manager = renew, manager
        self._workers = [_Worker() for _ in range(number)]
        self._turns = deque(self._workers)
        self._waiting = deque[socket.socket]()
        self._is_open = self._is_stopping = False
        self._status = 0
        self._others, self._other = os.pipe()
        self._signals, self._signalled = socket.socketpair()

    def run(self) -> int:
        """Serve until a signal comes; return 0, or the status of a first worker that cannot start.

        A second Ctrl+C ends the workers at once.
        """
        _allow_open_files()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who started this may ignore it
        self._listener.listen(BACKLOG)
        for one in (self._listener, self._signals, self._signalled):
            one.setblocking(False)
        signal.set_wakeup_fd(self._signalled.fileno())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        while True:
            pause_s = self._start_due()
            channels = {worker.channel: worker for worker in self._workers if worker.channel}
            if self._is_stopping and not channels:
                return self._status
            is_free = any(worker.is_free for worker in self._workers)
            is_accepting = is_free and not self._waiting and not self._is_stopping
            listened = [self._signals, *channels, *([self._listener] if is_accepting else [])]
            if is_free and self._is_open:  # else all of them hang, or none runs
                self._manager.lives()
            if self._manager.watched_s is not None:
                pause_s = min(self._manager.watched_s / 4, math.inf if pause_s is None else pause_s)
            found = _readable(listened, pause_s)
            for channel in found:
                if channel in channels:
                    self._hear(channels[channel], channel)
            if self._listener in found:
                self._accept()
            self._hand()
            if self._signals in found:
                for received in self._signals.recv(BACKLOG):
                    if received != signal.SIGHUP:
                        self._stop(received)
                    elif not self._is_stopping:
                        self._renew_all()

    def _start_due(self) -> float | None:
        """Start the workers that are due. Return in how many seconds another one is."""
        if self._is_stopping:
            return None
        now_s = time.monotonic()
        waiting = [worker for worker in self._workers if not worker.channel]
        for worker in waiting if self._is_open else self._workers[:1]:
            if not worker.channel and worker.start_at_s <= now_s:
                self._start(worker, now_s)
        pauses = [worker.start_at_s - now_s for worker in waiting if not worker.channel]
        return min(pauses, default=None) if self._is_open else None

    def _start(self, worker: _Worker, now_s: float) -> None:
        worker.started_s = now_s
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                worker.process = os.fork()
                if worker.process == 0:
                    ours.close()
                    self._become(worker, theirs)
        except OSError as error:
            _log.error("cannot_start_a_process", extra={"reason": error.strerror})
            self._start_later(worker, 1)
            return
        ours.setblocking(False)
        worker.channel = ours

    def _become(self, worker: _Worker, channel: socket.socket) -> NoReturn:
        """Be a worker, from the start of its process to the end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a terminal sends it to all
            others = [one for other in self._workers for one in (other.handed, other.channel) if one]
            for one in (*others, *self._waiting, self._listener, self._signals, self._signalled):
                one.close()
            is_first = worker is self._workers[0]
            os.close(self._other if is_first else self._others)
            status = self._work(Work(channel, self._others if is_first else None))
        except Exception as error:  # noqa: BLE001 (logged here without its text)
            _log.error("worker_fails", extra={FRAMES: frames(error)})
        finally:
            os._exit(status)

    def _hear(self, worker: _Worker, channel: socket.socket) -> None:
        try:
            said = channel.recv(BACKLOG)
        except OSError:
            said = b""
        if not said:
            self._end(worker, channel)
        for _ in said:
            if worker.handed:
                worker.handed.close()
                worker.handed = None
                continue
            worker.is_ready = True
            if not (self._is_open or self._is_stopping):
                self._is_open = True
                self._opened()

    def _end(self, worker: _Worker, channel: socket.socket) -> None:
        """Note that a worker has ended. Another one gets the connection that it has not taken."""
        channel.close()
        worker.channel, worker.is_ready = None, False
        if worker.handed:
            self._waiting.append(worker.handed)
            worker.handed = None
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        self._ended(worker.process)
        self._start_later(worker, status)

    def _start_later(self, worker: _Worker, status: int) -> None:
        """Say when a worker that has ended starts again; stop if nothing has been served yet."""
        if not (self._is_open or self._is_stopping):
            self._status, self._is_stopping = abs(status), True
        if self._is_stopping:
            return
        now_s = time.monotonic()
        is_soon = now_s - worker.started_s < STEADY_SECONDS
        worker.pause_s = min(worker.pause_s * 2 or PAUSE_SECONDS, PAUSE_SECONDS_MAX) if is_soon else 0.0
        worker.start_at_s = now_s + worker.pause_s
        _log.warning("worker_ended", extra={"status": status, "startsInSeconds": worker.pause_s})

    def _accept(self) -> None:
        try:
            self._waiting.append(self._listener.accept()[0])
        except (BlockingIOError, ConnectionError):  # who called has gone
            return
        except OSError:
            time.sleep(FULL_SECONDS)

    def _hand(self) -> None:
        """Hand each connection to the next free worker. It stays open here until it is taken."""
        for worker in list(self._turns):
            if self._waiting and worker.is_free and worker.channel:
                with suppress(OSError):  # it has just ended
                    socket.send_fds(worker.channel, [TAKE], [self._waiting[0].fileno()])
                    worker.handed = self._waiting.popleft()
                    self._turns.remove(worker)
                    self._turns.append(worker)

    def _renew_all(self) -> None:
        """Read the settings anew, here and in each worker."""
        self._renew()
        for channel in (worker.channel for worker in self._workers if worker.channel):
            with suppress(OSError):  # it has just ended
                channel.send(RENEW)

    def _stop(self, number: int) -> None:
        """Tell the workers to stop, or end them: at a second Ctrl+C, or after STOP_SECONDS."""
        running = [(worker.process, worker.channel) for worker in self._workers if worker.channel]
        if not self._is_stopping:
            self._is_stopping = True
            self._manager.stops()
            for _, channel in running:
                with suppress(OSError):  # it has just ended
                    channel.send(STOP)
            self._listener.close()
            os.close(self._other)
            signal.alarm(STOP_SECONDS)
        elif number != signal.SIGTERM:
            for process, _ in running:
                os.kill(process, signal.SIGKILL)


def _readable(files: Iterable[Any], seconds: float | None = None) -> list[Any]:
    """Wait until some of these can be read, and return them. Their handles may be large."""
    with selectors.PollSelector() as waiting:
        for one in files:
            waiting.register(one, selectors.EVENT_READ)
        return [key.fileobj for key, _ in waiting.select(seconds)]


def _allow_open_files() -> None:
    """Let this process and its workers have more open files: each connection is one."""
    import resource  # Windows has none, and one process serves there

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, OPEN_FILES)), hard))

"""Several processes behind one port: one listens, and the others, the workers, serve.

The listening process hands each connection to a worker, one worker after the other. So a few
connections are spread as evenly as many. It opens no folder and starts no thread: it may fork at
any time.

A channel leads from it to each worker, and ends when the process at either end does. So no worker
outlives the listening process, and a worker that has ended is started again.
"""

import asyncio
import logging
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import uvicorn

from forklore_local.server.log import frames, log

USUAL_MAX = 4
"""How many workers there are at the most, if nobody says how many."""
BACKLOG = 2048
STEADY_SECONDS = 10.0
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 0.5, 30.0
"""The first pause before a worker that did not live for STEADY_SECONDS is started again, and the
longest. Each is twice the one before.
"""
HANDED_MAX = 64
"""How many connections a worker may have to fetch before others get the next ones."""
TAKE, STOP = b"t", b"s"
"""What a worker is told. A connection goes with TAKE."""
DONE = b"d"
"""What a worker says when it is ready, and then when it has taken the next connection."""
_log = logging.getLogger("forklore")


def can_fork() -> bool:
    return hasattr(os, "fork") and hasattr(socket, "send_fds")


def usual_number() -> int:
    """Return the number of workers if nobody says how many: one for each core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
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
            select.select([self._others, self.channel.fileno()], [], [])


class WorkersServer(uvicorn.Server):
    """Serves the connections that come through a channel, until it is told to stop.

    Signals are for the listening process: a terminal or a service manager sends them to all.
    """

    def __init__(self, config: uvicorn.Config, channel: socket.socket) -> None:
        super().__init__(config)
        self._channel = channel
        self._connecting = set[asyncio.Task[object]]()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Do nothing."""

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
            return
        self._tell()
        if not handles:  # this process cannot have more open files; who called calls again
            return
        connection = socket.socket(fileno=handles[0])
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

    ends: how often in a row it has ended soon. handed: connections that it has not confirmed yet.
    """

    def __init__(self) -> None:
        self.process = self.ends = 0
        self.channel: socket.socket | None = None
        self.is_ready = False
        self.handed = deque[socket.socket]()
        self.started_s = self.start_at_s = 0.0

    @property
    def is_free(self) -> bool:
        """Whether it takes one more connection."""
        return self.is_ready and len(self.handed) < HANDED_MAX


class Processes:
    """The listening process of a server, and its workers.

    work: serves as a worker, and returns the exit status of its process. opened: is called when
    the first worker is ready. The others start then: it has opened the folder, which may be new.
    """

    def __init__(
        self, number: int, listener: socket.socket, work: Callable[[Work], int], opened: Callable[[], object]
    ) -> None:
        self._listener, self._work, self._opened = listener, work, opened
        self._workers = [_Worker() for _ in range(number)]
        self._is_open = self._is_stopping = False
        self._status = self._turn = 0
        self._others, self._other = os.pipe()
        self._signals, self._signalled = socket.socketpair()

    def run(self) -> int:
        """Serve until a signal comes; return 0, or the status of a first worker that cannot start.

        A second signal ends the workers at once.
        """
        self._listener.listen(BACKLOG)
        for one in (self._listener, self._signals, self._signalled):
            one.setblocking(False)
        signal.set_wakeup_fd(self._signalled.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        while not self._is_stopping or any(worker.channel for worker in self._workers):
            pause_s = self._start_due()
            channels = {worker.channel: worker for worker in self._workers if worker.channel}
            is_accepting = not self._is_stopping and any(worker.is_free for worker in self._workers)
            listened = [self._signals, *channels, *([self._listener] if is_accepting else [])]
            found, _, _ = select.select(listened, [], [], pause_s)
            for channel in found:
                if channel in channels:
                    self._hear(channels[channel], channel)
            if self._listener in found:
                self._accept()
            if self._signals in found:
                self._signals.recv(BACKLOG)
                self._stop()
        return self._status

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
        ours, theirs = socket.socketpair()
        worker.process = os.fork()
        if worker.process == 0:
            ours.close()
            self._become(worker, theirs)
        theirs.close()
        ours.setblocking(False)
        worker.channel, worker.started_s = ours, now_s

    def _become(self, worker: _Worker, channel: socket.socket) -> NoReturn:
        """Be a worker, from the start of its process to the end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for other in self._workers:
                for one in (*other.handed, *filter(None, [other.channel])):
                    one.close()
            for one in (self._listener, self._signals, self._signalled):
                one.close()
            is_first = worker is self._workers[0]
            os.close(self._other if is_first else self._others)
            status = self._work(Work(channel, self._others if is_first else None))
        except Exception as error:  # noqa: BLE001 (logged here without its text)
            log(f"a worker fails\n{frames(error)}")
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
            if worker.is_ready:
                worker.handed.popleft().close()
                continue
            worker.is_ready = True
            if not (self._is_open or self._is_stopping):
                self._is_open = True
                self._opened()

    def _end(self, worker: _Worker, channel: socket.socket) -> None:
        """Note that a worker has ended. Others get the connections that had not reached it."""
        channel.close()
        worker.channel, worker.is_ready = None, False
        left, worker.handed = worker.handed, deque()
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        if not (self._is_open or self._is_stopping):
            self._status, self._is_stopping = abs(status), True
        if self._is_stopping:
            return
        now_s = time.monotonic()
        worker.ends = worker.ends + 1 if now_s - worker.started_s < STEADY_SECONDS else 0
        pause_s = min(PAUSE_SECONDS * 2 ** (worker.ends - 1), PAUSE_SECONDS_MAX) if worker.ends else 0.0
        worker.start_at_s = now_s + pause_s
        _log.warning("worker_ended", extra={"status": status, "startsInSeconds": pause_s})
        for connection in left:
            self._hand(connection)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # who called has gone
            return
        self._hand(connection)

    def _hand(self, connection: socket.socket) -> None:
        """Hand a connection to the next worker that takes it. It stays open here until then."""
        for _ in self._workers:
            self._turn = (self._turn + 1) % len(self._workers)
            worker = self._workers[self._turn]
            if worker.channel and worker.is_free:
                with suppress(OSError):
                    socket.send_fds(worker.channel, [TAKE], [connection.fileno()])
                    worker.handed.append(connection)
                    return
        connection.close()

    def _stop(self) -> None:
        """Tell the workers to stop, and the second time end them."""
        is_again, self._is_stopping = self._is_stopping, True
        for worker in self._workers:
            if worker.channel and is_again:
                os.kill(worker.process, signal.SIGKILL)
            elif worker.channel:
                with suppress(OSError):  # it has just ended
                    worker.channel.send(STOP)
        if not is_again:
            self._listener.close()
            os.close(self._other)

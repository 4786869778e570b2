"""What manages the server: systemd, or another program that speaks as it does.

Sources: sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3).
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

FIRST_HANDLE = 3
"""SD_LISTEN_FDS_START: where the sockets begin that the manager has opened."""
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
TELL_SECONDS = 2.0
STOP_SECONDS = 10
"""Within how long the server has ended after it was told to."""


class Manager:
    """Who has started this process, if anybody wants to be told how it goes.

    watched_s: how often it must hear that the server serves; None: it need not.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        """environment: of this process. Raises ValueError for what is no time."""
        self._place = environment.get("NOTIFY_SOCKET", "")
        watched = environment.get("WATCHDOG_USEC", "") if self._place else ""
        if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
            watched = ""
        self.watched_s = int(watched) / 1_000_000 if watched else None
        self._told_s = 0.0

    def is_ready(self) -> None:
        self._tell("READY=1")

    def reads_anew(self) -> None:
        """Say that the settings are read anew. `is_ready` is its end."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stops(self) -> None:
        self._tell("STOPPING=1")

    def lives(self) -> None:
        """Say that the server serves, if it is time to."""
        now_s = time.monotonic()
        if self.watched_s is not None and now_s - self._told_s >= self.watched_s / 4:
            self._told_s = now_s
            self._tell("WATCHDOG=1", wait_s=0)

    def _tell(self, *lines: str, wait_s: float = TELL_SECONDS) -> None:
        """Tell something. A manager that reads nothing is waited for so long, then not told."""
        if not self._place:
            return
        place = "\0" + self._place[1:] if self._place.startswith("@") else self._place
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.settimeout(wait_s)
            sending.sendto("\n".join(lines).encode(), place)


def given_socket(environment: Mapping[str, str]) -> socket.socket | None:
    """Return the socket that the manager has opened for this process, if there is one.

    Raises ValueError if there are several, or if it does not listen for TCP.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return None
    number = environment.get("LISTEN_FDS", "")
    if number != "1":
        raise ValueError(f"the service manager gives {number or 'no'} sockets; forklore takes one")
    given = socket.socket(fileno=FIRST_HANDLE)
    given.set_inheritable(False)
    is_tcp = given.family in (socket.AF_INET, socket.AF_INET6) and given.type == socket.SOCK_STREAM
    if not (is_tcp and given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)):
        raise ValueError("the service manager gives a socket that does not listen for TCP")
    return given

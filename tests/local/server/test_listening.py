"""Servers that tests start get a port, even if another process takes the first one."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tools.harness.ports import (
    PORTS_MAX,
    ServerEndedError,
    end_session,
    free_port,
    on_free_port,
    wait_until_it_listens,
)

SECONDS_MAX = 60.0


@contextmanager
def served(port: int) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until_it_listens(process, port, seconds=SECONDS_MAX)
        yield port
    finally:
        end_session(process)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is bound by a socket that does not listen."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def test_a_server_whose_port_is_taken_gets_another_one(taken: int) -> None:
    found = [taken]

    with on_free_port(served, find=lambda: found.pop() if found else free_port()) as port:
        assert port != taken


def test_a_server_that_ends_at_every_port_is_given_up(taken: int) -> None:
    tried: list[int] = []

    def find() -> int:
        tried.append(taken)
        return taken

    with pytest.raises(ServerEndedError, match="ended with 1"), on_free_port(served, find=find):
        pass
    assert len(tried) == PORTS_MAX

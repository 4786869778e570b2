"""What a signal and a damaged file may do to those who write, and what is said of it."""

import itertools
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from forklore import Forklore, ServerError
from forklore_local.embedded import database
from forklore_local.embedded.database import DamagedRowError, Database, UnansweredError
from forklore_local.embedded.engine import Engine
from forklore_local.in_process.folder import FILE
from forklore_local.in_process.opened import open_database
from forklore_service.errors import StoreFailedError
from tests.local.conftest import Kept
from tests.local.embedded.items import everything, key, put

SECONDS = 20.0
"""Only what hangs takes as long."""
SECRET = "what nobody may read"


def after_call(place: int) -> Callable[[FrameType, str, object], None]:
    """Return a profiler that raises KeyboardInterrupt after a call that the database makes.

    Python runs the handlers of signals after calls, too. place: which call, counted from 0.
    """
    left = itertools.count(-place)

    def profile(frame: FrameType, event: str, function: object) -> None:
        if event == "c_return" and frame.f_code.co_filename == database.__file__ and next(left) == 0:
            raise KeyboardInterrupt

    return profile


def is_interrupted(stored: Database, place: int) -> bool:
    """Write in two threads, one of which a signal ends at a place; tell whether it came so far.

    The other one has joined the queue, and gets no further until then.
    """
    may_go_on = threading.Event()
    outcomes: list[str] = []

    def wait(frame: FrameType, event: str, function: Any) -> None:
        if event == "c_return" and getattr(function, "__name__", "") == "append":
            sys.setprofile(None)
            may_go_on.wait(SECONDS)

    def write() -> None:
        sys.setprofile(wait)
        try:
            outcomes.append(stored.write(lambda _: "written"))
        except UnansweredError:
            outcomes.append("unanswered")

    other = threading.Thread(target=write, daemon=True)
    other.start()
    while not stored._waiting:
        time.sleep(0.001)
    is_ended = False
    sys.setprofile(after_call(place))
    try:
        stored.write(lambda _: "written")
    except KeyboardInterrupt:
        is_ended = True
    finally:
        sys.setprofile(None)
        may_go_on.set()
    other.join(SECONDS)
    assert outcomes, f"the other waits for ever after a signal at place {place}"
    return is_ended


@pytest.mark.failure("killed-embedded")
def test_a_signal_at_any_place_of_a_write_leaves_no_other_waiting(kept: Kept) -> None:
    places = itertools.takewhile(lambda place: is_interrupted(kept.database, place), itertools.count())
    assert len(list(places)) > 10
    put(kept.client, "a", "b")


def damage(folder: Path, change: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / FILE)) as file, file:
        assert file.execute(f"UPDATE item SET attributes = {change}", values).rowcount == 1


@pytest.mark.failure("damaged-folder")
@pytest.mark.parametrize("attributes", ["x'7b22ff'", f"'{{{SECRET}'", '\'{"body": {"B": 1}}\'', "'[1]'"])
def test_a_damaged_row_is_said_to_be_one_without_its_text(kept: Kept, attributes: str) -> None:
    put(kept.client, "a", "damaged", text={"S": SECRET})
    damage(kept.folder, f"CAST({attributes} AS TEXT) WHERE SK = 'damaged'")

    for ask in (everything, lambda client: put(client, "a", "damaged")):
        with pytest.raises(StoreFailedError, match="is damaged") as caught:
            ask(kept.client)
        assert caught.value.details["reason"] == "damaged"
        assert SECRET not in str(caught.value)
        assert str(kept.folder) not in str(caught.value)


@pytest.mark.failure("damaged-folder")
def test_what_is_committed_together_with_what_reads_damage_is_written(kept: Kept) -> None:
    runs_alone = threading.Event()

    def wait(_: object) -> None:
        runs_alone.set()
        while len(kept.database._waiting) < 2:
            time.sleep(0.001)

    def read_damage(_: object) -> None:
        raise DamagedRowError

    with ThreadPoolExecutor(3) as threads:
        threads.submit(kept.database.write, wait)
        assert runs_alone.wait(60)  # what comes from now on is committed together
        failing = threads.submit(kept.database.write, read_damage)
        written = threads.submit(put, kept.client, "a", "b")
    assert isinstance(failing.exception(), StoreFailedError)
    assert written.exception() is None
    assert everything(kept.client) == [key("a", "b")]


@pytest.mark.failure("damaged-folder")
def test_a_client_is_told_of_a_damaged_file_at_once(tmp_path: Path) -> None:
    with Forklore.local(user="ann", data=tmp_path) as fl:
        fl.named("trip").say("user", SECRET)
    file = tmp_path / FILE
    stored = bytearray(file.read_bytes())
    page = int.from_bytes(stored[16:18], "big")
    stored[page:] = b"\xff" * (len(stored) - page)
    file.write_bytes(stored)

    with Forklore.local(user="ann", data=tmp_path) as fl, pytest.raises(ServerError) as caught:
        fl.named("trip").say("user", "more")
    assert (caught.value.status, caught.value.reason, caught.value.attempts) == (507, "damaged", 1)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("keeps", [True, False], ids=["a folder", "memory"])
def test_the_moment_is_another_one_after_each_commit_and_after_nothing_else(
    tmp_path: Path, *, keeps: bool
) -> None:
    stored = open_database(tmp_path if keeps else None)
    client = Engine(stored)
    moments = [stored.moment()]
    for number in range(3):
        put(client, "a", f"{number}")
        moments.append(stored.moment())
    everything(client)
    assert stored.moment() == moments[-1]
    if keeps:
        other = open_database(tmp_path)  # as another process: nothing is shared but the file
        put(Engine(other), "a", "of another")
        moments.append(stored.moment())
        other.close()
    assert len({*moments, None}) == len(moments) + 1

    stored.close()
    assert stored.moment() is None


def test_the_log_is_emptied_unless_somebody_still_reads_an_older_state(tmp_path: Path) -> None:
    with closing(Forklore.local(user="ann", data=tmp_path)) as client:
        client.named("trip").say("user", SECRET)
    stored = open_database(tmp_path)
    log = tmp_path / f"{FILE}-wal"
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM item").fetchone()
        stored.write(lambda connection: connection.execute("DELETE FROM item"))
        is_emptied = stored.empty_log()
        other.execute("ROLLBACK")
        assert not is_emptied
        assert log.stat().st_size
        assert stored.empty_log()
        assert log.stat().st_size == 0
    stored.close()

"""Random histories of two service processes, simulated in this process, on one table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from forklore_service.usecases.deletion import trash
from tests.service.model.asking import Caller
from tests.service.model.history import History
from tests.service.model.services import InProcess, Worker
from tests.service.reliability.service import Endpoint, Process, new_store
from tests.support.mailbox import Mailbox
from tests.support.tables import Store, WrongClock

CLOCKS_MS = (300_000, -300_000)
"""How wrong the clocks of the two processes are."""
USERS = ("ann", "bob", "cat", "dan", "eve")
DAYS = 30
"""For how long a deleted tree is in the trash."""
ADMINS = (Caller("root", roles=frozenset({"admin", "auditor"})), Caller("aud", roles=frozenset({"auditor"})))


@dataclass(frozen=True)
class World:
    """A history and the processes that it runs on. workers: one in each process."""

    history: History
    store: Store
    services: Sequence[InProcess]
    workers: Sequence[Worker]


@contextmanager
def new_world(endpoint: Endpoint, random: Random, *, bits: int) -> Iterator[World]:
    """Yield an empty world. random: chooses the history. bits: the seed of the service's ids."""
    with new_store(endpoint) as store:
        seeded = Random(bits).getrandbits
        processes = [
            Process(store, clock=WrongClock(off_ms), in_order=True, random=seeded) for off_ms in CLOCKS_MS
        ]
        workers = [Worker(process) for process in processes]
        services = [InProcess(process) for process in processes]
        for process in processes:
            process.deleted_days = DAYS
        ahead = Process(store, clock=WrongClock(2 * max(CLOCKS_MS)))

        def limit(entries_max: int) -> None:
            for process in processes:
                process.table.entries_max = entries_max

        history = History(
            services,
            random,
            users=USERS,
            admins=ADMINS,
            work=lambda: random.choice(workers).work(random),
            is_alone=True,
            days=DAYS,
            limit=limit,
            end_trash=lambda: trash.empty_trash(ahead.table, Mailbox().queue, days=0, report=_fail),
        )
        yield World(history, store, services, workers)


def _fail(error: Exception) -> None:
    raise error

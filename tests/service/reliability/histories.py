"""Random histories of two service processes, simulated in this process, on one table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tests.service.model.asking import Caller
from tests.service.model.history import History
from tests.service.model.services import InProcess, Worker
from tests.service.reliability.service import Endpoint, Process, new_store
from tests.support.tables import Store, WrongClock

CLOCKS_MS = (300_000, -300_000)
"""How wrong the clocks of the two processes are."""
USERS = ("ann", "bob", "cat", "dan", "eve")
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
        history = History(
            services,
            random,
            users=USERS,
            admins=ADMINS,
            work=lambda: random.choice(workers).work(random),
            is_alone=True,
        )
        yield World(history, store, services, workers)

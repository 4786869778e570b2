"""Workers that call the service at random and know what it must hold in the end.

A worker is a generator: it yields functions that make one call each, and is resumed with the
result. So the same worker runs in a thread, or as a task with `await`.
"""

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from forklore import AsyncForklore, Forklore, NoAnswerError, NotFoundError, ServerError, text_of
from tests.clients.python.faulty import TIMEOUT_SECONDS, proxy
from tests.service.reliability.figures import Measure
from tests.support.processes import API_KEYS

WORKERS = 8
DEADLINE_SECONDS = 120.0
Steps = Generator[Callable[[], Any], Any, None]


@dataclass
class Line:
    """A conversation as a worker knows it. shown: the texts that it shows, in order."""

    chat: Any
    shown: list[str] = field(default_factory=list)
    entries: list[Any] = field(default_factory=list)


class Worker:
    """Talks in a tree of its own and in one that all share.

    client: of the worker's user, and of an agent. shared: a conversation that all talk in.
    """

    def __init__(self, number: int, client: Any, shared: Any, random: Random) -> None:
        self.number, self._client, self._shared, self._random = number, client, shared, random
        self._texts = (f"{number} says {n}" for n in range(1_000_000))
        self.root = Line(client.named(f"worker {number}"))
        self.branches: list[Line] = []
        self.deleted: list[Any] = []
        self.names: dict[str, Any] = {}
        self.memory: list[Any] = []
        self.said: list[str] = []
        """What it said in the shared conversation."""

    def run(self, calls: int) -> Steps:
        """Make so many calls."""
        yield from self._say(self.root)
        calls -= 1
        moves = [self._say_somewhere] * 5 + [self._say_together] * 3 + [self._fork, self._delete] * 2
        moves += [self._sync, self._sync, self._name, self._unname, self._update, self._several]
        while calls > 0:
            calls -= yield from self._random.choice(moves)()

    def _say(self, line: Line) -> Generator[Any, Any, int]:
        text = next(self._texts)
        entry = yield lambda: line.chat.say("user", text)
        line.shown.append(text)
        line.entries.append(entry)
        return 1

    def _say_somewhere(self) -> Generator[Any, Any, int]:
        return (yield from self._say(self._random.choice([self.root, *self.branches])))

    def _say_together(self) -> Generator[Any, Any, int]:
        text = next(self._texts)
        yield lambda: self._shared.say("user", text)
        self.said.append(text)
        return 1

    def _several(self) -> Generator[Any, Any, int]:
        line, texts = self._random.choice([self.root, *self.branches]), [next(self._texts) for _ in range(3)]
        drafts = [{"contentType": "history", "content": [{"role": "USER", "text": text}]} for text in texts]
        line.entries += yield lambda: line.chat.append_all(drafts)
        line.shown += texts
        return 1

    def _fork(self) -> Generator[Any, Any, int]:
        line = self._random.choice([self.root, *self.branches])
        at = self._random.randrange(len(line.entries))
        count = self._random.choice([None, 2])
        made = yield lambda: line.chat.fork(after=line.entries[at], count=count)
        for one in [made] if count is None else made:
            self.branches.append(Line(one, line.shown[: at + 1], line.entries[: at + 1]))
        return 1

    def _delete(self) -> Generator[Any, Any, int]:
        """Delete a conversation of its own, that one append has made, with its entry."""
        line = Line(self._client.conversation())
        yield from self._say(line)
        yield line.chat.delete
        self.deleted.append(line.chat)
        return 2

    def _sync(self) -> Generator[Any, Any, int]:
        self.memory.append({"n": len(self.memory), "exact": 0.5})
        yield lambda: self.root.chat.context.sync(self.memory)
        return 1

    def _name(self) -> Generator[Any, Any, int]:
        line = self._random.choice([self.root, *self.branches])
        name = f"{self.number} {self._random.randrange(3)}"
        pointed = yield lambda: line.chat.point(name)
        self.names[name] = pointed
        return 1

    def _unname(self) -> Generator[Any, Any, int]:
        if not self.names:
            return 0
        name = self._random.choice(sorted(self.names))
        known = self.names[name].revision
        yield lambda: self._client.api.delete_name(name=name, expect_revision=known)
        del self.names[name]
        return 1

    def _update(self) -> Generator[Any, Any, int]:
        line, title = self._random.choice([self.root, *self.branches]), next(self._texts)
        updated = yield _unless_lost(lambda: line.chat.update(title=title))
        assert updated is None or updated.title == title
        return 1

    def check(self, client: Forklore) -> None:
        """Compare what the service holds with what this worker did. client: without faults."""
        for line in (self.root, *self.branches):
            chat = client.conversation(line.chat.id)
            shown = [text_of(one) for one in chat.entries(channel="history")]
            assert shown == line.shown, f"{chat} shows {shown} in place of {line.shown}"
        tree = client.conversation(self.root.chat.id)
        forks = sorted(one.conversation_id for one in tree.forks())
        assert forks == sorted(line.chat.id for line in (self.root, *self.branches)), "forks lost or doubled"
        stored = [part for one in tree.context.entries(epoch="all") for part in one.content]
        assert stored == tree.context.latest() == self.memory, f"{stored} in place of {self.memory}"
        for chat in self.deleted:
            try:
                client.conversation(chat.id).details()
            except NotFoundError:
                continue
            raise AssertionError(f"{chat} is there again")
        named = {one.name: one.conversation_id for one in client.names(prefix=f"{self.number} ")}
        wanted = {name: pointed.conversation_id for name, pointed in self.names.items()}
        assert named == wanted, f"{named} in place of {wanted}"


def _unless_lost(ask: Callable[[], Any]) -> Callable[[], Any]:
    """Return what does the same, or returns None if nobody knows whether it was done.

    A PATCH is not sent again then.
    """
    lost = (NoAnswerError, ServerError)

    async def awaited(made: Any) -> Any:
        try:
            return await made
        except lost:
            return None

    def do() -> Any:
        try:
            made = ask()
        except lost:
            return None
        return awaited(made) if inspect.isawaitable(made) else made

    return do


def run_and_compare(address: str, mode: str, calls: int, measure: Measure) -> None:
    """Let the workers make so many calls through a faulty proxy; compare what is stored.

    address: of the real local server. mode: `sync` runs threads, others tasks on that event loop.
    """
    random = measure.random
    settings: dict[str, Any] = {"token": f"ann {mode}", "client_key": API_KEYS["planner"]}
    with Forklore(address, **settings) as direct, proxy(address, random.getrandbits(32)) as faulty:
        settings |= {"timeout": TIMEOUT_SECONDS, "deadline": DEADLINE_SECONDS}
        portion = -(-calls // WORKERS)
        if mode == "sync":
            workers = _in_threads(faulty.url, settings, portion, random)
        else:
            workers = anyio.run(_in_tasks, faulty.url, settings, portion, random, backend=mode)
        planted = faulty.planted
        faulty.wait_until_idle()
        for worker in workers:
            worker.check(direct)
        found = Counter(text_of(one) or "" for one in direct.named("shared").entries(channel="history"))
        said = Counter(["begin", *(text for worker in workers for text in worker.said)])
        assert found == said, f"doubled: {found - said}; lost: {said - found}"
        del planted["no_fault"]
        measure.count(calls=portion * WORKERS, **planted)


def _workers(client: Any, random: Random) -> Iterator[Worker]:
    for number in range(WORKERS):
        yield Worker(number, client, client.named("shared"), Random(random.getrandbits(32)))


def _in_threads(url: str, settings: dict[str, Any], calls: int, random: Random) -> list[Worker]:
    errors: list[BaseException] = []

    def work(worker: Worker) -> None:
        steps, result = worker.run(calls), None
        try:
            while True:
                result = steps.send(result)()
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001 (raised below)
            errors.append(error)

    with Forklore(url, **settings) as client:
        client.named("shared").say("user", "begin")
        workers = list(_workers(client, random))
        threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return workers


async def _in_tasks(url: str, settings: dict[str, Any], calls: int, random: Random) -> list[Worker]:
    async def work(worker: Worker) -> None:
        steps, result = worker.run(calls), None
        try:
            while True:
                result = await steps.send(result)()
        except StopIteration:
            pass

    async with AsyncForklore(url, **settings) as client:
        await client.named("shared").say("user", "begin")
        workers = list(_workers(client, random))
        async with anyio.create_task_group() as group:
            for worker in workers:
                group.start_soon(work, worker)
    return workers

"""Carries plans out in threads: several trees at a time, and several batches of one tree."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from forklore.client.decoding import failure, result_of
from forklore.client.errors import (
    ApiError,
    NoAnswerError,
    NotFoundError,
    UnauthorizedError,
    is_forklores,
)
from forklore.importing.loading import (
    ImportAnswer,
    ImportCall,
    ImportRefusal,
    ImportRefusedError,
    Loading,
)
from forklore.importing.plan import Plan

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore
    from forklore.importing.brought_files import Brought

Send = Callable[[ImportCall], ImportAnswer | ImportRefusal]
UNAUTHORIZED = 401
AHEAD = 2
"""How many batches wait for each thread before another tree is begun."""
GRACE_S = 10.0
"""How long to wait for the calls that are under way, after an interruption."""
FATAL = (NoAnswerError, NotFoundError, UnauthorizedError)
"""The errors after which no other tree would fare better."""


@dataclass(slots=True)
class Carried:
    """What became of a plan.

    number: its place among the plans. problems: why parts of it are missing. skipped:
    how many entries are missing.
    """

    number: int
    plan: Plan
    loading: Loading
    problems: list[Exception] = field(default_factory=list)
    skipped: int = 0

    @property
    def entries(self) -> int:
        """How many entries of the source are there."""
        return len(self.loading.placed) - self.loading.others

    @property
    def found(self) -> int:
        """How many of these were there before."""
        return self.loading.found - self.loading.others

    @property
    def tree_id(self) -> str:
        """The id of the tree in the file."""
        return self.plan.tree_id

    @property
    def title(self) -> str:
        """What the root is called."""
        return self.plan.title

    @property
    def conversation_id(self) -> str:
        """The current branch."""
        return self.loading.conversation_id(self.plan.current)

    @property
    def root_id(self) -> str:
        """The first conversation: where several sources tell of one tree, the same for each."""
        return self.loading.conversation_id(0)

    @property
    def conversations(self) -> int:
        """How many conversations the tree has."""
        return len(self.plan.conversations)


class Wait:
    """Stands before a plan that is made when all plans before it are carried out."""


@dataclass(slots=True)
class Unchanged:
    """A tree that an earlier import has brought, as the file has it. The members are Carried's."""

    tree_id: str
    title: str
    root_id: str
    conversation_id: str
    conversations: int
    entries: int
    number: int = 0
    problems: list[Exception] = field(default_factory=list)
    skipped: int = 0

    @property
    def found(self) -> int:
        """How many entries were there before: all."""
        return self.entries


def carry_out(
    plans: Iterable[Plan | Unchanged | Wait],
    send: Send,
    *,
    threads: int,
    since: str = "",
    on_begin: Callable[[Carried], None] = lambda _: None,
    on_entries: Callable[[int], None] = lambda _: None,
) -> Generator[Carried | Unchanged]:
    """Yield each plan as soon as nothing more of it can be done.

    plans: taken one by one, when the threads need more; the one behind a `Wait` when all before it
    have ended. since: when the run began, as for `Loading`. on_begin: called with each plan that
    begins. on_entries: called with a number of entries that are done or
    skipped. A problem of one tree does not stop the others. Raises the ApiError that ends all, and
    what `plans` raises.
    Whatever ends it, also when the caller does not go on, the calls under way are waited for, and
    nothing else is sent.
    """
    crew = _Crew(send, threads)
    source, numbers = iter(plans), count()
    is_open, waits = True, False
    try:
        while True:
            waits = waits and crew.count > 0
            while is_open and not waits and crew.count < threads * AHEAD:
                plan = next(source, None)
                is_open = plan is not None
                if isinstance(plan, Unchanged):
                    plan.number = next(numbers)
                    on_entries(plan.entries)
                    yield plan
                elif isinstance(plan, Plan):
                    carried = Carried(next(numbers), plan, Loading(plan, since=since))
                    on_begin(carried)
                    _Run(carried).hand_out(crew)
                elif plan is not None:
                    waits = crew.count > 0
            if not crew.count:
                return
            run, number, error = crew.wait()
            done = run.finish(number, error)
            on_entries(done)
            if run.left:
                run.hand_out(crew)
            else:
                yield run.carried
    finally:
        crew.stop()


class _Run:
    """A plan that is under way. left: how many of its batches are neither done nor skipped."""

    def __init__(self, carried: Carried) -> None:
        self.carried = carried
        batches = carried.plan.batches
        self.left = len(batches)
        self._missing = [len(batch.needs) for batch in batches]
        self._ready = [number for number, batch in enumerate(batches) if not batch.needs]
        self._wanting: dict[int, list[int]] = {}
        for number, batch in enumerate(batches):
            for need in batch.needs:
                self._wanting.setdefault(need, []).append(number)

    def hand_out(self, crew: "_Crew") -> None:
        """Give the crew every batch that can begin."""
        for number in self._ready:
            crew.put(self, number)
        self._ready = []

    def finish(self, number: int, error: Exception | None) -> int:
        """Note the end of a batch; return how many entries are done or skipped by it."""
        if error is not None:
            self.carried.problems.append(error.with_traceback(None))
            lost = self._skip(number)
            self.carried.skipped += lost
            return lost
        self.left -= 1
        for wanting in self._wanting.get(number, ()):
            self._missing[wanting] -= 1
            if not self._missing[wanting]:
                self._ready.append(wanting)
        return self._size(number)

    def _skip(self, number: int) -> int:
        """Give up a batch and all that needs it; return how many entries they have."""
        lost, reached = 0, [number]
        while reached:
            at = reached.pop()
            if self._missing[at] < 0:
                continue
            self._missing[at] = -1 - len(self.carried.plan.batches)  # never ready again
            self.left -= 1
            lost += self._size(at)
            reached += self._wanting.get(at, ())
        return lost

    def _size(self, number: int) -> int:
        batch = self.carried.plan.batches[number]
        return batch.end - batch.start


_Done = tuple[_Run, int, Exception | None]


class _Crew:
    """Threads that carry batches out. count: of those that were put in and not waited for."""

    def __init__(self, send: Send, threads: int) -> None:
        self._send = send
        self.count = 0
        self._work: queue.Queue[tuple[_Run, int] | None] = queue.Queue()
        self._done: queue.Queue[_Done] = queue.Queue()
        self._is_over = threading.Event()
        # Daemons: a second interruption need not wait for an answer that does not come.
        self._threads = [threading.Thread(target=self._labour, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def put(self, run: _Run, number: int) -> None:
        """Let a thread carry a batch out."""
        self.count += 1
        self._work.put((run, number))

    def wait(self) -> _Done:
        """Return the next batch that has ended. Raises what must end all."""
        run, number, error = self._done.get()
        self.count -= 1
        if isinstance(error, FATAL) or not (
            error is None or isinstance(error, ImportRefusedError | ApiError)
        ):
            raise error
        return run, number, error

    def stop(self) -> None:
        """Let no other call begin; wait for those under way."""
        self._is_over.set()
        for _ in self._threads:
            self._work.put(None)
        give_up_at = time.monotonic() + GRACE_S
        for thread in self._threads:
            thread.join(max(0.0, give_up_at - time.monotonic()))

    def _labour(self) -> None:
        while (task := self._work.get()) is not None:
            run, number = task
            error: Exception | None = None
            try:
                self._carry_out(run, number)
            except Exception as raised:  # noqa: BLE001 (handed to the thread that waits)
                error = raised
            self._done.put((run, number, error))

    def _carry_out(self, run: _Run, number: int) -> None:
        steps = run.carried.loading.batch(number)
        try:
            call = next(steps)
            while not self._is_over.is_set():
                call = steps.send(self._send(call))
        except StopIteration:
            return


def sender(client: "Forklore", brought: "Brought | None" = None) -> Send:
    """Return what sends a call, with the client's retries. Threads may share it.

    brought: uploads the files that entries name, before the call. What it returns raises an
    ApiError for what no step of an import can answer: without an answer, for bad credentials, for a
    404 of another service at the address, for an error of the service, and for what cannot be sent.
    """

    def send(call: ImportCall) -> ImportAnswer | ImportRefusal:
        given = call.given
        entries = given.get("entries")
        if brought is not None and isinstance(entries, list):
            given = {**given, "entries": [brought.entry(client, one) for one in entries]}
        answer = client.call(
            call.operation, given, idempotency_key=call.idempotency_key, if_match=call.if_match
        )
        if 400 <= answer.status < 500 and answer.status != UNAUTHORIZED:
            error = failure(answer)
            if isinstance(error, NotFoundError) and not is_forklores(error):
                raise error
            return ImportRefusal(answer.status, error.reason, error.message, error.field)
        return ImportAnswer(result_of(answer, lambda body: body))

    return send

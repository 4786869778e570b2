"""Workers that are killed again and again delete families of trees while others write to them."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, JobKind
from forklore_service.errors import NotFoundError
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Item
from forklore_service.storage.queue import Queue
from forklore_service.usecases.background import worker
from forklore_service.usecases.background.sweeper import CREATION_SECONDS_MAX, sweep
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from tests.service.reliability.faults import WRITE, Call, Fault, Killed, at
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.planting import Planted, plant
from tests.service.reliability.service import Process
from tests.support.mailbox import Mailbox, run_deletion
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Wire

ANN, BOB = Caller("ann"), Caller("bob")
PLANNER = Caller("ann", "planner")
WRITERS, WORKERS = 6, 2
SLOW_RATE, SLOW_S = 0.5, 1.0
"""The share of the writers' transactions that are delayed, and their longest delay in seconds. The
state that these transactions were decided on is old when they arrive."""
LIVES = (4, 8, 12, 40)
"""A process is killed within so many writes. With the larger numbers, it may come to its end."""
KILLS_OF_A_FAMILY_MAX = 80
LEASES_S = (0, 0, 1)
"""How long a worker's lease lasts. A killed worker keeps its lease for that time."""
MEMBERS = 55
"""More members than one transaction can copy to a child."""
LARGE = Random(5).randbytes(30_000).hex() * 3


def text(value: str) -> dict[str, Any]:
    return {"contentType": "text/plain", "content": [value]}


class Post:
    """A queue that loses messages, or delivers them twice, late, and in any order."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lock = threading.Lock()
        self._lying: list[worker.JobMessage] = []

    @property
    def queue(self) -> Queue:
        return Queue(self, "https://sqs/jobs")

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        for entry in Entries:
            body = json.loads(entry["MessageBody"])
            branch = body.pop("conversationId", None)
            self.put(worker.JobMessage(body.pop("groupId"), conversation_id=branch, **body))
        return {}

    def put(self, message: worker.JobMessage) -> None:
        with self._lock:
            self._lying.append(message)

    def take(self) -> worker.JobMessage | None:
        """Return a message; None if there is none or the message is lost."""
        with self._lock:
            if not self._lying:
                return None
            place = self._random.randrange(len(self._lying))
            message = self._lying[place]
            roll = self._random.random()
            if roll > 0.25:  # otherwise it is delivered a second time
                del self._lying[place]
            return None if roll > 0.85 else message


@dataclass
class Family:
    """A tree to delete, with its children and their children.

    known: all its acknowledged conversations. alive: those that no answer has called deleted yet.
    at_once: those of the tree and of its direct children, which are closed when the deletion is
    answered. warm: a process that has appended to each of these and so has them in its cache.
    """

    root: str
    warm: Process
    known: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    at_once: list[str] = field(default_factory=list)

    def add(self, conversation_ids: list[str]) -> None:
        self.known += conversation_ids
        self.alive += conversation_ids


class Service:
    """The service on one table, and the answers that its callers have got."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store = store
        self.random = random
        self.post = Post(Random(random.random()))
        self.kills = 0
        self.acknowledged = 0
        self.said: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def new_id(self, random: Random) -> str:
        return str(uuid.UUID(int=random.getrandbits(128), version=4))

    def say(self, process: Process, conversation_id: str, **given: Any) -> None:
        answer = process.ask("appendEntry", ANN, conversationId=conversation_id, **text("x"), **given)
        assert answer.status == 201, answer

    def make_family(self, parent: str, random: Random, *, forks: int) -> Family:
        """Make a child tree of `parent` with three levels of children, and forks in all of them."""
        process = Process(self.store)
        family = Family(self.new_id(random), process)
        self.say(process, family.root, startedByConversationId=parent)
        trees = {0: [family.root]}
        for level, width in ((1, 3), (2, 5), (3, 4)):
            trees[level] = [self.new_id(random) for _ in range(width)]
            for child in trees[level]:
                self.say(process, child, startedByConversationId=random.choice(trees[level - 1]))
        everyone = [tree for level in trees.values() for tree in level]
        family.add(everyone)
        family.at_once += [*trees[0], *trees[1]]
        for _ in range(forks):
            source, fork = random.choice(family.known), self.new_id(random)
            made = process.ask("forkConversation", ANN, conversationId=source, id=fork)
            assert made.status == 201
            family.add([fork])
            if source in family.at_once:
                family.at_once.append(fork)
                self.say(process, fork)
        for tree in everyone:
            process.ask("shareConversation", ANN, conversationId=tree, userId="bob", accessLevel="writer")
            thought = process.ask(
                "appendEntry", PLANNER, conversationId=tree, channel="context", **text(LARGE)
            )
            assert thought.status == 201
        offered = process.ask("requestTransfer", ANN, conversationId=trees[1][0], newOwnerUserId="bob")
        assert offered.status == 201
        return family

    # Writers

    def write(self, family: Family, number: int, stop: threading.Event) -> None:
        """Append, fork, start children, share and transfer until `stop` is set."""
        random = Random(f"{self.random.random()} {number}")

        def hold_up(call: Call) -> None:
            if call.operation == WRITE and random.random() < SLOW_RATE:
                time.sleep(random.random() * SLOW_S)

        process = Process(self.store, hold_up)
        while family.alive and not stop.is_set():
            target, new = random.choice([*family.alive, family.root]), self.new_id(random)
            what = random.choice(["append"] * 5 + ["think", "fork", "fork", "child", "child", "share"])
            idempotency_key = {"idempotency_key": new} if random.random() < 0.3 else {}
            match what:
                case "append":
                    answer = process.ask(
                        "appendEntry", ANN, conversationId=target, **text("more"), **idempotency_key
                    )
                case "think":
                    given = {"channel": "context", "conversationId": target}
                    answer = process.ask("appendEntry", PLANNER, **given, **text("more"), **idempotency_key)
                case "fork":
                    answer = process.ask(
                        "forkConversation", ANN, conversationId=target, id=new, **idempotency_key
                    )
                case "child":
                    given = {"conversationId": new, "startedByConversationId": target}
                    answer = process.ask("appendEntry", ANN, **given, **text("a task"), **idempotency_key)
                case _:
                    given = {"conversationId": target, "userId": new, "accessLevel": "reader"}
                    answer = process.ask("shareConversation", ANN, **given, **idempotency_key)
            assert answer.status in (201, 404, 503), answer
            with self._lock:
                if answer.status == 201:
                    self.acknowledged += 1
                    family.add([new] if what in ("fork", "child") else [])
                elif answer.status == 404 and target in family.alive:
                    family.alive.remove(target)

    def write_beside(self, conversation_id: str, stop: threading.Event) -> None:
        """Append to a tree that is not deleted."""
        process, said = Process(self.store), self.said.setdefault(conversation_id, [])
        while not stop.is_set():
            answer = process.ask("appendEntry", BOB, conversationId=conversation_id, **text("here"))
            said.append(answer.id)
            time.sleep(0.01)

    # Deletion

    def mortal(self, random: Random) -> Process:
        """Return a process that is killed before or after one of its writes."""
        fault = random.choice([Fault.KILL, Fault.KILL_AFTER])
        left = random.randint(1, random.choice(LIVES))

        def choose(call: Call) -> Fault | None:
            nonlocal left
            left -= "Write" in call.operation
            return fault if left == 0 else None

        return Process(self.store, choose, in_order=random.random() < 0.5)

    def survives(self, act: Callable[[], object]) -> bool:
        """Run `act`; tell whether it came to its end without being killed."""
        try:
            act()
        except Killed:
            with self._lock:
                self.kills += 1
            return False
        return True

    def delete(self, family: Family, random: Random) -> None:
        """Repeat the deletion until it answers 204, or 404 after an attempt that succeeded."""
        is_shut = False

        def ask() -> None:
            nonlocal is_shut
            table, queue = self.mortal(random).table, self.post.queue
            try:
                is_shut = delete_conversation(table, queue, caller=ANN, conversation_id=family.root, wait_s=0)
            except NotFoundError:
                is_shut = True

        while not is_shut:
            self.survives(ask)

    def work(self, random: Random) -> None:
        """Handle a message, or sweep. The process may be killed."""
        process = self.mortal(random)
        message = self.post.take() if random.random() < 0.9 else None
        if message is None:
            self.survives(lambda: sweep(process.table, self.post.queue))
            return
        given = {"lease_s": random.choice(LEASES_S), "wait_s": 0}
        is_done = self.survives(lambda: worker.work(process.table, self.post.queue, message, **given))
        if not is_done and random.random() < 0.5:  # the message returns to the queue
            self.post.put(message)

    def finish(self, clock: Clock | None = None) -> None:
        """Sweep and work without kills until no deletion is left.

        With a late clock, no unfinished creation is left either.
        """
        while True:
            mailbox, process = Mailbox(), Process(self.store, clock=clock)
            sweep(process.table, mailbox.queue)
            for message in mailbox.take():
                message.work(process.table, mailbox.queue, wait_s=-1_000 if clock else 0)
            if not self.has_jobs("" if clock else JobKind.DELETION):
                return

    def has_jobs(self, kind: str) -> bool:
        """Tell whether there is a job of a kind. An empty `kind` means any kind."""
        rows = self.store.client.query(
            TableName=self.store.name,
            KeyConditionExpression="PK = :job AND SK BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":job": {"S": "JOB"},
                ":first": {"S": kind or " "},
                ":last": {"S": f"{kind}~"},
            },
            ConsistentRead=True,
        )
        return bool(rows["Items"])

    @contextmanager
    def written_to(self, family: Family, beside: str) -> Iterator[None]:
        """Let writers write while the block runs."""
        stop = threading.Event()
        with ThreadPoolExecutor(WRITERS + 1) as threads:
            running = [threads.submit(self.write, family, number, stop) for number in range(WRITERS)]
            running.append(threads.submit(self.write_beside, beside, stop))
            try:
                yield
            finally:
                stop.set()
        for one in running:
            one.result()


def kill_a_staged_child(service: Service, parent: str, random: Random) -> str:
    """Leave the creation of a child with many members unfinished; return the child's id."""
    process = Process(service.store)
    for number in range(MEMBERS):
        given = {"conversationId": parent, "userId": f"user {number}", "accessLevel": "reader"}
        assert process.ask("shareConversation", ANN, **given).status == 201
    child = service.new_id(random)
    given = {"conversationId": child, "startedByConversationId": parent}
    killed = Process(service.store, at(5, Fault.KILL_AFTER), in_order=True)
    assert not service.survives(lambda: killed.ask("appendEntry", ANN, **given, **text("a task")))
    return child


def is_rest(key: Key, item: Item) -> bool:
    """Tell whether an item remains for some time after its tree is deleted."""
    return "ttl" in item and (key.partition.startswith("IDEM#") or "retired" in item)


@pytest.mark.failure("killed-between-calls", "write-during-deletion", "unreliable-messages", "late-cleanup")
def test_a_family_is_deleted_whole_and_nothing_else(store: Store, measure: Measure) -> None:
    """Workers are killed, messages come twice, late or never, and others write until the end."""
    kills, forks = measure.goal(ci=50, gate=500), measure.goal(ci=60, gate=150)
    service = Service(store, measure.random)
    plain = Process(store)
    neighbour, beside = service.new_id(service.random), service.new_id(service.random)
    service.say(plain, neighbour)
    sibling = service.make_family(neighbour, service.random, forks=20)
    busy = plain.ask("appendEntry", BOB, conversationId=beside, **text("here"))
    service.said[beside] = [busy.id]
    before = store.contents()
    while service.kills < kills:
        random = Random(service.random.random())
        family = service.make_family(neighbour, random, forks=forks)
        never_live = kill_a_staged_child(service, family.root, random)
        enough = min(kills, service.kills + KILLS_OF_A_FAMILY_MAX)
        with service.written_to(family, beside), ThreadPoolExecutor(WORKERS) as threads:
            time.sleep(random.random())
            service.delete(family, random)
            for conversation_id in family.at_once:
                given = {"conversationId": conversation_id, **text("late")}
                refused = [process.ask("appendEntry", ANN, **given) for process in (family.warm, plain)]
                assert [answer.status for answer in refused] == [404, 404], (conversation_id, refused)
            randoms = [Random(random.random()) for _ in range(WORKERS)]
            while service.kills < enough and service.has_jobs(JobKind.DELETION):
                list(threads.map(service.work, randoms))
            service.finish()
        service.finish(WrongClock((CREATION_SECONDS_MAX + 60) * 1000))
        assert_intact(store, settled=True)
        fresh = Process(store)
        for conversation_id in family.known:
            shown = fresh.ask("getConversation", ANN, conversationId=conversation_id)
            late = fresh.ask("appendEntry", ANN, conversationId=conversation_id, **text("late"))
            assert (shown.status, late.status) == (404, 404), (conversation_id, shown, late)
        measure.count(families=1, conversations=len(family.known))
        assert keys.pointer(never_live) not in store.contents()
    left = store.contents()
    of_busy = {key for key in left if beside in (key.partition, key.sort[-36:])}
    assert {key: left.get(key) for key in before if key not in of_busy} == {
        key: item for key, item in before.items() if key not in of_busy
    }
    rest = {key: item for key, item in left.items() if key not in before and key not in of_busy}
    assert [key for key, item in rest.items() if not is_rest(key, item)] == []
    shown = plain.ask("listEntries", BOB, conversationId=beside, limit=1_000)
    assert [entry["id"] for entry in shown.body["data"]] == service.said[beside][:1_000]
    assert sibling.known
    measure.count(kills=service.kills, acknowledged=service.acknowledged)


def test_a_large_tree_is_deleted_in_few_requests(store: Store, measure: Measure) -> None:
    """The gate deletes 100,000 items."""
    items = measure.goal(ci=3_000, gate=100_000)
    forks = items // 100
    tree = Planted(
        0xE000_0000, "ann", int(time.time() * 1000) - 60_000, entries=10, forks=forks, own_entries=95
    )
    planted = plant(store, tree.items())
    process, mailbox = Process(store), Mailbox()
    wire = Wire.of(process.table)
    assert delete_conversation(
        process.table, mailbox.queue, caller=ANN, conversation_id=tree.group_id, wait_s=0
    )
    while not run_deletion(process.table, mailbox.queue, tree.group_id, wait_s=0):
        pass
    measure.count(items=planted, requests=len(wire.requests))
    assert len(wire.requests) <= planted / 8
    assert_intact(store, settled=True)
    assert all(is_rest(key, item) for key, item in store.contents().items())

"""Each change is told by one event, whatever happens to the publisher (docs/events.md).

The records come from a real stream of DynamoDB Local, and are filtered as the template says.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

from forklore_service.events.around import Around
from forklore_service.events.changes import change_of
from forklore_service.events.from_changes import ENTRIES_MAX, events_of
from forklore_service.storage import bus as bus_module
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion import branch_removal
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import notes, transfers
from forklore_service.usecases.writing import conversations
from tests.service.events.delivery import BATCH_SECONDS, Delivery, EventBridge, filters, fits
from tests.service.events.recording import Record, Stream
from tests.service.model.asking import Answer, Request
from tests.service.model.history import MOVES
from tests.service.model.oracle import NOT_CHOSEN, Conversation, Oracle
from tests.service.reliability.faults import Choose, Fault, at, randomly
from tests.service.reliability.figures import Measure
from tests.service.reliability.histories import World, new_world
from tests.service.reliability.service import Process
from tests.service.usecases import members
from tests.service.usecases.builders import (
    BOB,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    create,
    fork,
    large,
    promote,
    say,
    thought,
)
from tests.support.mailbox import Mailbox, run_deletion
from tests.support.tables import Store
from tools.deployment.replay_events import as_lambda_sends, records_at

STEPS = 60
BATCH_MAX = 12
RATES = {Fault.KILL: 0.02, Fault.KILL_AFTER: 0.02, Fault.THROTTLE: 0.05, Fault.AFTER: 0.03}
RATES |= {Fault.EMPTY_PAGE: 0.05}
MISHAPS = ("kill", "kill after", "timeout", "partial")

Told = tuple[str, ...]
"""An event as far as the oracle knows it: its type and what it is about."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "BACKOFF_FIRST_S", 0.0)


class State(NamedTuple):
    """A tree at one moment. live: its conversations, each with its number of own entries.

    changes: how often what is said of each was changed. notes: those on own entries of any, also of
    a removed one.
    """

    levels: dict[str, str]
    current: str
    live: dict[str, int]
    changes: dict[str, int]
    notes: dict[str, int]


def state_of(oracle: Oracle) -> dict[str, State]:
    """Return the trees by id."""
    found: dict[str, State] = {}
    for c in oracle.conversations.values():
        tree = c.tree
        current = tree.current.id if tree.current else tree.all[0].id
        noted = {one.id: sum(len(oracle.notes.get(e["id"], [])) for e in one.own) for one in tree.all}
        state = found.setdefault(tree.all[0].id, State(dict(tree.levels), current, {}, {}, noted))
        state.live[c.id], state.changes[c.id] = len(c.own), c.changes
    return found


def changes_between(
    before: dict[str, State], after: dict[str, State], asked: Request, made: Oracle
) -> Iterator[Told]:
    """Yield what one request has changed, as events tell it."""
    if asked.name.endswith("estoreConversation"):  # what comes back with it makes no events
        of = [
            tree for tree in after.keys() - before.keys() if asked.given["conversationId"] in after[tree].live
        ]
        yield from (("TreeRestored", tree) for tree in of)
        return
    deleted = before.keys() - after.keys()
    if deleted:  # the trees that it has started are deleted with it, which makes no events
        of = [tree for tree in deleted if asked.given["conversationId"] in before[tree].live]
        yield from (("TreeDeleted", tree) for tree in of)
    for tree, now in after.items():
        was = before.get(tree, State(now.levels, now.current, {}, {}, {}))
        for conversation_id, count in now.live.items():
            if conversation_id not in was.live:
                kind = kind_of(made.conversations[conversation_id])
                yield "ConversationCreated", tree, conversation_id, kind
            appended = count - was.live.get(conversation_id, 0)
            if appended:
                yield "EntriesAppended", tree, conversation_id, str(appended)
            for _ in range(now.changes[conversation_id] - was.changes.get(conversation_id, 0)):
                yield "ConversationChanged", tree, conversation_id
        for conversation_id in was.live.keys() - now.live.keys():
            yield "BranchDeleted", tree, conversation_id
        for noted, count in now.notes.items():
            yield from [("NoteAdded", tree, noted)] * (count - was.notes.get(noted, 0))
        if now.current != was.current:
            yield "BranchPromoted", tree, now.current, was.current
        yield from _changes_of_members(tree, was.levels, now.levels)


def _changes_of_members(tree: str, was: dict[str, str], now: dict[str, str]) -> Iterator[Told]:
    [old], [new] = ([user for user in levels if levels[user] == "owner"] for levels in (was, now))
    if old != new:
        yield "OwnershipTransferred", tree, old, new
        return
    for user in was.keys() | now.keys():
        if was.get(user) != now.get(user):
            yield "MembershipChanged", tree, user, str(was.get(user)), str(now.get(user))


def kind_of(made: Conversation) -> str:
    return "fork" if made.id != made.tree.all[0].id else "child" if made.tree.started_by else "root"


def summary(event: dict[str, Any]) -> Told:
    """Return an event in the form of `changes_between`."""
    tree, of = event["treeId"], event.get("conversationId", "")
    match event["type"]:
        case "ConversationCreated":
            return event["type"], tree, of, event["kind"]
        case "EntriesAppended":
            return event["type"], tree, of, str(event["entryCount"])
        case "BranchPromoted":
            return event["type"], tree, of, event["previousConversationId"]
        case "MembershipChanged":
            levels = (str(event.get(name)) for name in ("previousAccessLevel", "accessLevel"))
            return event["type"], tree, event["userId"], *levels
        case "OwnershipTransferred":
            return event["type"], tree, event["fromUserId"], event["toUserId"]
        case "TreeDeleted" | "TreeRestored":
            return event["type"], tree
    return event["type"], tree, of


class Watched:
    """A world whose changes are noted as the oracle sees them, and read from the stream."""

    def __init__(self, world: World, stream: Stream) -> None:
        self.expected = Counter[Told]()
        self.store = world.store
        self._stream = stream
        self._patterns = filters()
        self.waiting: list[Record] = []
        self.dropped: list[Record] = []
        both, ask = world.history.both, world.history.both.ask

        def noted(request: Request) -> Answer:
            before = state_of(both.oracle)
            answer = ask(request)
            changes = changes_between(before, state_of(both.oracle), request, both.oracle)
            self.expected.update(changes)
            return answer

        both.ask = noted  # type: ignore[method-assign]

    def read(self) -> None:
        """Take what is new in the stream, filtered as the template says."""
        for record in map(as_lambda_sends, self._stream.read()):
            is_wanted = any(fits(pattern, record) for pattern in self._patterns)
            (self.waiting if is_wanted else self.dropped).append(record)


@pytest.mark.failure("lost-event")
def test_random_histories_are_told_change_by_change(dynamodb_local_endpoint: str, measure: Measure) -> None:
    """The publisher is killed and throttled, batches are cut anywhere and come again later."""
    goal, random = measure.goal(ci=240, gate=4_000), measure.random
    while measure.counts["steps"] < goal:
        with new_world(dynamodb_local_endpoint, random, bits=random.getrandbits(32)) as world:
            watched = Watched(world, Stream(world.store))
            bus = EventBridge(lambda _number: random.choice(MISHAPS) if random.random() < 0.1 else None)
            delivery = Delivery(
                lambda: faulty(world.store, randomly(random, RATES)),
                bus,
                seconds=lambda: 0.0 if random.random() < 0.1 else BATCH_SECONDS,
            )
            world.history.begin()
            old: list[Record] = []
            for _ in range(STEPS):
                world.history.move(random.choices(list(MOVES), list(MOVES.values()))[0])
                if random.random() < 0.3:
                    watched.read()
                while len(watched.waiting) > random.randrange(BATCH_MAX):
                    old += deliver_some(watched, delivery, random)
                if old and random.random() < 0.1:
                    begin = random.randrange(len(old))
                    delivery.deliver(old[begin : begin + BATCH_MAX])
            watched.read()
            while watched.waiting:
                old += deliver_some(watched, delivery, random)
            check(watched, delivery, world.history.both.oracle)
            measure.count(steps=STEPS, records=len(old), events=len(bus.once()), deliveries=len(bus.taken))
            measure.count(kills=delivery.kills, repeats=delivery.repeats)
    assert measure.counts["kills"]
    assert measure.counts["repeats"]


def faulty(store: Store, choose: Choose) -> Table:
    return Process(store, choose, in_order=True, seconds=5.0).table


def deliver_some(watched: Watched, delivery: Delivery, random: Random) -> Sequence[Record]:
    """Deliver the next records, as many as a random batch has."""
    size = random.randint(1, BATCH_MAX)
    batch, watched.waiting = watched.waiting[:size], watched.waiting[size:]
    delivery.deliver(batch)
    return batch


def check(watched: Watched, delivery: Delivery, oracle: Oracle) -> None:
    """Assert that the events are those of the history, and that they name the entries."""
    events = list(delivery.bus.once().values())
    assert Counter(map(summary, events)) == watched.expected
    assert (delivery.lot.bodies, delivery.errors) == ([], [])
    for c in oracle.conversations.values():
        own = [entry["id"] for entry in c.own]
        of = [event for event in events if event.get("conversationId") == c.id and "lastEntryId" in event]
        of.sort(key=lambda event: str(event["lastEntryId"]))
        named = [entry["entryId"] for event in of for entry in event["entries"]]
        assert [event.get("afterEntryId") for event in of[1:]] == [event["lastEntryId"] for event in of[:-1]]
        if NOT_CHOSEN not in own and all(event["entryCount"] <= ENTRIES_MAX for event in of):
            assert named == own
    around = Around(watched.store.process())
    told = [event for record in watched.dropped for event in events_of(change_of(record), around)]
    assert told == [], "the filter drops what tells something"


def live(table: Table) -> None:
    """Make changes of all kinds."""
    mail = Mailbox()
    create(table, by=PLANNER)
    [one] = say(table, ROOT, "one", by=PLANNER)
    say(table, ROOT, "two", thought("three"), large(90_000), by=PLANNER)
    members.share(table, "bob")
    fork(table, anchor=one, by=BOB)
    [four] = say(table, FORK, "four", by=BOB)
    promote(table)
    conversations.update_conversation(
        table, caller=BOB, conversation_id=FORK, change=conversations.Patch({"title": "five"})
    )
    transfers.accept_transfer(table, caller=BOB, transfer_id=members.offer(table).transfer_id)
    members.remove(table, "ann", by=BOB)
    fork(table, FORK, TWIG, by=BOB)
    branch_removal.remove_branch(table, mail.queue, caller=BOB, conversation_id=TWIG, wait_s=0)
    say(table, OTHER, "six")
    delete_conversation(table, mail.queue, caller=PLANNER, conversation_id=OTHER, wait_s=0)
    run_deletion(table, mail.queue, OTHER, wait_s=0)
    notes.add_note(table, caller=BOB, request=notes.NoteRequest(FORK, four, "so"))


@pytest.fixture
def lived(served_store: Store) -> list[Record]:
    """The records of a history with events of all types, as the function gets them."""
    stream, patterns = Stream(served_store), filters()
    live(served_store.process())
    records = map(as_lambda_sends, stream.read())
    return [record for record in records if any(fits(pattern, record) for pattern in patterns)]


@pytest.mark.failure("lost-event", "killed-between-calls")
@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_publisher_that_is_killed_at_any_call_and_started_again_tells_the_same(
    served_store: Store, lived: list[Record], size: int, measure: Measure
) -> None:
    batches = [lived[begin : begin + size] for begin in range(0, len(lived), size)]
    whole = EventBridge()
    for batch in batches:
        Delivery(served_store.process, whole).deliver(batch)
    assert {event["type"] for event in whole.once().values()} == {
        "ConversationCreated",
        "ConversationChanged",
        "EntriesAppended",
        "NoteAdded",
        "BranchPromoted",
        "BranchDeleted",
        "TreeDeleted",
        "MembershipChanged",
        "OwnershipTransferred",
    }
    points = [point for batch in batches for point in kills_of(served_store, batch)]
    for some, number, fault in measure.some(points, ci=40):
        faultless, bus = EventBridge(), EventBridge()
        Delivery(served_store.process, faultless).deliver(some)
        delivery = kill_once(served_store, bus, number, fault)
        delivery.deliver(some)
        assert delivery.kills == 1
        assert bus.once() == faultless.once()
        assert not delivery.lot.bodies
        measure.count(points=1)


def test_the_records_of_a_parked_batch_are_found_in_the_stream(served_store: Store) -> None:
    """Lambda parks only the place of a batch that ended the function."""
    stream = Stream(served_store)
    live(served_store.process())
    records = stream.read()
    some = records[3:9]
    place = {
        "streamArn": stream.arn,
        "shardId": stream.shards[0],
        "startSequenceNumber": some[0]["dynamodb"]["SequenceNumber"],
        "endSequenceNumber": some[-1]["dynamodb"]["SequenceNumber"],
        "batchSize": len(some),
    }

    found = records_at(stream.client, place)

    assert found == [as_lambda_sends(record) for record in some]
    bus = EventBridge()
    Delivery(served_store.process, bus).deliver(found)
    assert bus.taken


Point = tuple[Sequence[Record], int, str]
"""A batch, and where its publisher is killed: before or after a call of DynamoDB or of the bus."""


def kills_of(store: Store, batch: Sequence[Record]) -> Iterator[Point]:
    """Yield each place to be killed while a batch is published."""
    process, bus = Process(store, in_order=True), EventBridge()
    Delivery(lambda: process.table, bus).deliver(batch)
    for call in process.faults.calls:
        yield from ((batch, call.number, str(fault)) for fault in (Fault.KILL, Fault.KILL_AFTER))
    for number in range(1, bus.calls + 1):
        yield from ((batch, number, f"bus {how}") for how in ("kill", "kill after"))


def kill_once(store: Store, bus: EventBridge, number: int, fault: str) -> Delivery:
    """Return a delivery whose first publisher is killed at this place."""
    opened: list[Table] = []

    def open_table() -> Table:
        is_first = not opened
        choose: Choose = at(number, Fault(fault)) if is_first and not fault.startswith("bus") else _never
        opened.append(Process(store, choose, in_order=True).table)
        return opened[-1]

    if fault.startswith("bus"):
        bus.choose = lambda call: fault.removeprefix("bus ") if call == number else None
    return Delivery(open_table, bus)


def _never(_call: object) -> None:
    return None

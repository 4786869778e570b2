"""Messages of the queue: which of several messages works on a job, and the result of the work."""

from collections.abc import Callable

import pytest

from forklore_service.domain import keys
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.clock import system_ms
from forklore_service.storage.table import Table
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.background.worker import RETRY_SECONDS, Outcome
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import transfers
from tests.service.usecases.builders import ANN, FORK, ROOT, fork, say
from tests.service.usecases.members import accept, offer, owner_of_heads, share
from tests.support.mailbox import Mailbox, Message
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Request, Wire

LEASE_S = 290
"""How long a worker may run."""
SWEEPS_EVERY_S = 300
FOREVER_S = 100_000
"""A wait that makes a deletion take long."""


def at(store: Store, seconds: float) -> Table:
    """Return the table as a process sees it after some seconds."""
    return store.process(clock=WrongClock(int(seconds * 1000)))


def long_work(message: Message, table: Table, mailbox: Mailbox) -> Outcome:
    return message.work(table, mailbox.queue, lease_s=LEASE_S, wait_s=FOREVER_S)


@pytest.fixture
def deleted(store: Store) -> Mailbox:
    """The queue after a request deleted a tree. It has the message of that request."""
    mailbox = Mailbox()
    say(store.process(), ROOT, "a")
    assert delete_conversation(store.process(), mailbox.queue, caller=ANN, conversation_id=ROOT)
    assert mailbox.messages == [Message(ROOT, WAIT_SECONDS + 1)]
    return mailbox


@pytest.mark.parametrize("sweep_at", [5, 150, 295], ids=["early", "between", "late"])
@pytest.mark.parametrize("order", [list, reversed], ids=["in order", "last first"])
def test_after_seven_sweeps_only_one_message_works_on_a_tree(
    store: Store, deleted: Mailbox, sweep_at: int, order: Callable[[list[Message]], list[Message]]
) -> None:
    """This is true for repeated announcements, and for messages in any order."""
    for number in range(7):
        now_s = SWEEPS_EVERY_S * number
        for message in order(deleted.take()):
            long_work(message, at(store, now_s), deleted)
        sweep(at(store, now_s + sweep_at), deleted.queue)
    for message in order(deleted.take()):
        long_work(message, at(store, SWEEPS_EVERY_S * 7), deleted)

    assert len(deleted.messages) == 1


def test_a_message_is_dropped_if_another_message_works_on_the_job(store: Store, deleted: Mailbox) -> None:
    [message] = deleted.take()
    assert long_work(message, store.process(), deleted) is Outcome.LEFT
    before = list(deleted.messages)

    with store.unchanged():
        assert long_work(message, at(store, LEASE_S - 1), deleted) is Outcome.DROPPED
    assert deleted.messages == before


def test_the_next_message_of_a_worker_continues_with_its_lease(store: Store, deleted: Mailbox) -> None:
    [first] = deleted.take()
    long_work(first, store.process(), deleted)
    [second] = deleted.take()

    assert first.lease is None
    assert second.lease == items.job(store.item(keys.job("delete", ROOT))).leased_until
    assert long_work(second, at(store, 1), deleted) is Outcome.LEFT
    assert long_work(second, at(store, 2), deleted) is Outcome.DROPPED, "delivered twice"


def test_the_lease_of_a_killed_worker_runs_out(store: Store, deleted: Mailbox) -> None:
    [message] = deleted.take()
    long_work(message, store.process(), deleted)
    deleted.take()  # The worker was killed before it sent a message.

    sweep(at(store, LEASE_S - 1), deleted.queue)
    assert deleted.messages == []
    sweep(at(store, LEASE_S + 1), deleted.queue)
    [again] = deleted.take()
    assert again == Message(ROOT, 0)
    assert again.work(at(store, LEASE_S + 1), deleted.queue) is Outcome.DONE
    assert keys.job("delete", ROOT) not in store.contents()


def test_only_one_of_two_workers_takes_a_job_within_one_millisecond(store: Store, deleted: Mailbox) -> None:
    """The second one does not take the first one's lease for its own."""
    [message] = deleted.take()
    now_ms, clock = system_ms(), WrongClock(0)
    clock.own_ms = lambda: now_ms
    first, second = (store.process(clock=clock) for _ in range(2))
    inside = list[Outcome]()
    Wire.of(second).just_before(
        "TransactWriteItems", lambda: inside.append(long_work(message, first, deleted))
    )

    assert long_work(message, second, deleted) is Outcome.DROPPED
    assert inside == [Outcome.LEFT]


def test_a_finished_job_is_not_begun_again_after_a_stale_read(store: Store, deleted: Mailbox) -> None:
    [message] = deleted.take()
    process = store.process()
    Wire.of(process).just_before("TransactWriteItems", lambda: message.work(store.process(), deleted.queue))

    assert message.work(process, deleted.queue) is Outcome.DROPPED
    assert keys.job("delete", ROOT) not in store.contents()


def test_a_job_of_an_older_version_is_done_without_a_lease(store: Store, deleted: Mailbox) -> None:
    job = store.item(keys.job("delete", ROOT))
    del job["leasedUntil"]
    store.put(job)
    [message] = deleted.take()

    assert message.work(store.process(), deleted.queue) is Outcome.DONE
    assert keys.group(ROOT) not in store.contents()


def test_a_late_message_of_a_finished_job_does_nothing(store: Store, deleted: Mailbox) -> None:
    [message] = deleted.take()
    message.work(store.process(), deleted.queue)

    with store.unchanged():
        assert message.work(store.process(), deleted.queue) is Outcome.DONE
    assert deleted.messages == []


@pytest.mark.parametrize(("seconds", "delay_s"), [(0.0, 0), (20.0, RETRY_SECONDS)])
def test_a_worker_that_cannot_take_the_lease_sends_another_message(
    store: Store, deleted: Mailbox, seconds: float, delay_s: int
) -> None:
    deleted.take()
    table = store.process(seconds=seconds)

    def refuse(_request: Request) -> None:
        raise UnavailableError("the store is busy; try again")

    Wire.of(table).before(refuse)
    message = Message(ROOT, 0, lease="2026-03-01T09:15:00.000Z")

    assert message.work(table, deleted.queue) is Outcome.LEFT
    assert deleted.messages == [Message(ROOT, delay_s, lease=message.lease)]


@pytest.fixture
def handed_over(store: Store) -> Store:
    """A tree whose HEADs name the former owner: the acceptance had no time to rewrite them."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    share(table, "bob")
    transfer, process = offer(table), store.process()
    Wire.of(process).before(_no_query)
    assert accept(process, transfer) == ROOT
    assert owner_of_heads(store) == {"ann"}
    return store


def _no_query(request: Request) -> None:
    if request.operation == "Query":
        raise UnavailableError("there is no time left for this request")


def test_a_complete_acceptance_leaves_no_work_for_a_worker(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    share(table, "bob")

    assert accept(table, offer(table)) is None


def test_the_sweep_announces_a_rewriting_and_a_worker_does_it(handed_over: Store) -> None:
    mailbox = Mailbox()
    sweep(handed_over.process(), mailbox.queue)
    [message] = mailbox.take()

    assert message == Message(ROOT, 0, kind="transfer")
    assert message.work(handed_over.process(), mailbox.queue) is Outcome.DONE
    assert owner_of_heads(handed_over) == {"bob"}
    assert keys.job("transfer", ROOT) not in handed_over.contents()
    assert mailbox.messages == []


def test_an_unfinished_rewriting_continues_in_the_next_message_without_a_sweep(
    handed_over: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "HEADS_AT_ONCE", 1)
    mailbox, message, worker = Mailbox(), Message(ROOT, 0, kind="transfer"), handed_over.process()
    wire = Wire.of(worker)

    def refuse(request: Request) -> None:
        if wire.operations.count("TransactWriteItems") > len(["lease", "first HEAD"]):
            raise UnavailableError("the store is busy; try again")

    wire.before(refuse)
    assert message.work(worker, mailbox.queue, lease_s=LEASE_S) is Outcome.LEFT
    assert owner_of_heads(handed_over) == {"ann", "bob"}
    sweep(handed_over.process(), mailbox.queue)
    [following] = mailbox.take()

    lease = items.job(handed_over.item(keys.job("transfer", ROOT))).leased_until
    assert following == Message(ROOT, RETRY_SECONDS, kind="transfer", lease=lease)
    assert following.work(handed_over.process(), mailbox.queue) is Outcome.DONE
    assert owner_of_heads(handed_over) == {"bob"}
    assert keys.head(ROOT, FORK) in handed_over.contents()

"""The table is intact after each call of work that takes several calls."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore_service.usecases.background import sweeper
from forklore_service.usecases.deletion import branch_removal
from tests.local.fsck import world
from tests.local.fsck.world import ANN, BOB, CHILD, PLAIN, ROOT, conversation, say
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.support.mailbox import Mailbox, run_deletion
from tests.support.tables import Store, fresh_store


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as store:
        yield store


def checked(store: Store) -> tuple[Process, list[str]]:
    """Return a process, and a list of its calls. The table is checked after each call."""
    process = Process(store, in_order=True)
    calls: list[str] = []

    def check(model: Any, **_: Any) -> None:
        calls.append(model.name)
        assert_intact(store)

    process.table.connection.client.meta.events.register("after-call.dynamodb", check)
    return process, calls


def share(process: Process, conversation_id: str, users: int) -> None:
    for at in range(users):
        given = {"conversationId": conversation_id, "userId": f"user {at}", "accessLevel": "reader"}
        assert process.ask("shareConversation", ANN, **given).status == 201


def delete(process: Process) -> None:
    world.delete(process)


def delete_child(process: Process) -> None:
    world.delete_tree(process, world.DYING_CHILD)


def prepare_removal(process: Process) -> None:
    for text in ("a", "b"):
        say(process, ROOT, text)
    forked = process.ask("forkConversation", ANN, conversationId=ROOT, id=world.FORK)
    assert forked.status == 201
    say(process, world.FORK, "c", key="c")
    world.think(process, world.FORK, "d")
    forked = process.ask("forkConversation", ANN, conversationId=world.FORK, id=world.TWIG)
    assert forked.status == 201
    say(process, world.TWIG, world._large(40_000))
    say(process, CHILD, "go", startedByConversationId=world.FORK)


def remove_all_branches(process: Process) -> None:
    """Remove a branch that another shows, then that other one, then the root."""
    for one in (world.FORK, world.TWIG, ROOT):
        mailbox = Mailbox()
        queue = mailbox.queue
        branch_removal.remove_branch(process.table, queue, caller=ANN, conversation_id=one, wait_s=0)
        while mailbox.messages:
            for message in mailbox.take():
                message.work(process.table, queue, wait_s=-2)


def start_child_of_many(process: Process) -> None:
    say(process, CHILD, "with all members", startedByConversationId=PLAIN)


def give_up_creation(process: Process) -> None:
    """Clear what is left of a tree that was being made."""
    assert sweeper._give_up_creation(process.table, world.CREATING)
    assert run_deletion(process.table, Mailbox().queue, world.CREATING, wait_s=-2)


def hand_over(process: Process) -> None:
    given = {"conversationId": ROOT, "newOwnerUserId": "bob"}
    offered = process.ask("requestTransfer", ANN, **given)
    assert process.ask("acceptTransfer", BOB, transferId=offered.id).status == 204


def prepare_deletion(process: Process) -> None:
    world.dying(process)


def prepare_child(process: Process) -> None:
    say(process, PLAIN, "a parent")
    share(process, PLAIN, 55)


def prepare_creation(process: Process) -> None:
    say(process, PLAIN, "a parent", by=BOB)
    world.begin(process.table, world.CREATING, world.OLD, "u1", "u2")


def prepare_transfer(process: Process) -> None:
    say(process, ROOT, "mine")
    for number in range(40, 70):
        given = {"conversationId": ROOT, "id": conversation(number)}
        assert process.ask("forkConversation", ANN, **given).status == 201
    given = {"conversationId": ROOT, "userId": "bob", "accessLevel": "writer"}
    assert process.ask("shareConversation", ANN, **given).status == 201


@pytest.mark.parametrize(
    ("prepare", "run", "calls_least"),
    [
        (prepare_deletion, delete, 30),
        (prepare_deletion, delete_child, 12),
        (prepare_child, start_child_of_many, 5),
        (prepare_creation, give_up_creation, 8),
        (prepare_transfer, hand_over, 7),
        (prepare_removal, remove_all_branches, 40),
    ],
)
def test_the_table_is_intact_after_each_call(
    store: Store, prepare: Callable[[Process], None], run: Callable[[Process], None], calls_least: int
) -> None:
    prepare(Process(store, in_order=True))
    process, calls = checked(store)

    run(process)

    assert_intact(store, settled=True)
    assert len(calls) >= calls_least, calls

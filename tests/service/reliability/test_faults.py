"""The faults of these tests really happen, because a test that injects nothing proves nothing."""

from typing import Any

import pytest

from forklore_service.domain.keys import TREE_SHARDS
from forklore_service.domain.model import Caller
from forklore_service.storage.connection import ATTEMPTS_MAX, CONFLICTS_MAX
from tests.service.reliability.faults import Fault, Killed, at, lasting
from tests.service.reliability.service import Process
from tests.support.tables import Store

ANN, ADMIN = Caller("ann"), Caller("ann", None, frozenset({"admin"}))
ROOT = "00000000-0000-4000-8000-000000000001"
BOTH_ORDERS = 2
"""A list by use is read from the table and from its index."""
TEXT: dict[str, Any] = {"contentType": "text/plain", "content": ["x"]}


def append(process: Process) -> int:
    return process.ask("appendEntry", ANN, conversationId=ROOT, **TEXT).status


def shown(store: Store) -> int:
    answer = Process(store).ask("listEntries", ANN, conversationId=ROOT)
    return len(answer.body["data"]) if answer.status == 200 else 0


@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER, Fault.THROTTLE, Fault.CONFLICT])
def test_a_fault_costs_a_call_and_changes_nothing(store: Store, fault: Fault) -> None:
    plain = Process(store)
    append(plain)
    warm = len(plain.faults.calls)
    process = Process(store, at(warm, fault))

    assert append(process) == 201
    assert [name for _, name in process.faults.injected] == [fault]
    assert shown(store) == 2


@pytest.mark.failure("busy-database")
@pytest.mark.parametrize(
    ("fault", "done"), [(Fault.BEFORE, 0), (Fault.AFTER, 1), (Fault.THROTTLE, 0), (Fault.CONFLICT, 0)]
)
def test_a_lasting_fault_befalls_every_attempt(store: Store, fault: Fault, done: int) -> None:
    """The process gives up."""
    plain = Process(store)
    append(plain)
    last = len(plain.faults.calls)
    process = Process(store, lasting(last, fault))

    assert append(process) == 503
    most = CONFLICTS_MAX if fault is Fault.CONFLICT else ATTEMPTS_MAX
    assert [call.number for call, _ in process.faults.injected] == list(range(last, last + most))
    assert shown(store) == 1 + done


@pytest.mark.parametrize(("fault", "left"), [(Fault.KILL, 0), (Fault.KILL_AFTER, 1)])
def test_a_killed_process_does_nothing_more(store: Store, fault: Fault, left: int) -> None:
    plain = Process(store)
    append(plain)
    process = Process(store, at(len(plain.faults.calls), fault))

    with pytest.raises(Killed):
        append(process)
    with pytest.raises(Killed):
        append(process)
    assert shown(store) == 1 + left


@pytest.mark.parametrize("fault", [Fault.PARTIAL, Fault.EMPTY_PAGE, Fault.EXACT_END])
def test_reads_in_parts_show_the_same(store: Store, fault: Fault) -> None:
    plain = Process(store)
    for _ in range(5):
        append(plain)
    expected = Process(store).ask("listEntries", ANN, conversationId=ROOT)
    process = Process(store, lambda call: fault if call.number in (1, 2, 3) else None)

    assert process.ask("listEntries", ANN, conversationId=ROOT) == expected
    assert fault in [name for _, name in process.faults.injected]


@pytest.mark.failure("misleading-query-page")
@pytest.mark.parametrize(
    ("name", "trees", "fault", "pages"),
    [
        ("listConversations", 1, Fault.EMPTY_PAGE, BOTH_ORDERS),
        ("listConversations", 0, Fault.EMPTY_PAGE, BOTH_ORDERS),
        ("listConversations", 1, Fault.EXACT_END, 1),
        ("adminListConversations", 1, Fault.EMPTY_PAGE, TREE_SHARDS),
        ("adminListConversations", 0, Fault.EMPTY_PAGE, TREE_SHARDS),
        ("adminListConversations", 1, Fault.EXACT_END, 1),
    ],
)
def test_a_list_whose_first_pages_end_early_shows_the_same(
    store: Store, name: str, trees: int, fault: Fault, pages: int
) -> None:
    """Early pages may be empty or not, and come from the table or from its index."""
    if trees:
        append(Process(store))
    expected = Process(store).ask(name, ADMIN)
    process = Process(store, lambda call: None if "ExclusiveStartKey" in call.body else fault)

    assert process.ask(name, ADMIN) == expected
    assert len(expected.body["data"]) == trees
    assert [name for _, name in process.faults.injected] == [fault] * pages

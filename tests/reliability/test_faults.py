"""What the faults of these tests do: a test that injects nothing shows nothing."""

from typing import Any

import pytest

from forklore.domain.model import Caller
from tests.reliability.faults import Fault, Killed, at
from tests.reliability.service import Process
from tests.support.tables import Store

ANN = Caller("ann")
ROOT = "00000000-0000-4000-8000-000000000001"
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


@pytest.mark.parametrize("fault", [Fault.PARTIAL, Fault.EMPTY_PAGE])
def test_reads_in_parts_show_the_same(store: Store, fault: Fault) -> None:
    plain = Process(store)
    for _ in range(5):
        append(plain)
    expected = Process(store).ask("listEntries", ANN, conversationId=ROOT)
    process = Process(store, lambda call: fault if call.number in (1, 2, 3) else None)

    assert process.ask("listEntries", ANN, conversationId=ROOT) == expected
    assert fault in [name for _, name in process.faults.injected]

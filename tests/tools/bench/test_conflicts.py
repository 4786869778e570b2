"""The injected conflicts between transactions are like those of AWS."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest

from forklore.storage.table import Table
from tests.usecases.builders import conversation, create, say
from tools.bench.throughput import Conflicts

SECONDS_MAX = 60.0
TRANSACTION = "TransactWriteItems"


def overlap(table: Table) -> None:
    """Let the next two transactions overlap.

    One that is refused is retried after the other has ended.
    """
    both, one_has_arrived = Barrier(2, timeout=SECONDS_MAX), Event()

    def leave(model: Any, **_: Any) -> None:
        if model.name == TRANSACTION and not one_has_arrived.is_set():
            both.wait()

    def arrive(model: Any, parsed: dict[str, Any], **_: Any) -> None:
        if model.name != TRANSACTION:
            return
        if "Error" in parsed and not one_has_arrived.is_set():
            both.wait()
            assert one_has_arrived.wait(SECONDS_MAX)
        one_has_arrived.set()

    # registered after Conflicts, so these handlers run after its handlers
    events = table.connection.client.meta.events
    events.register("before-call.dynamodb", leave)
    events.register("after-call.dynamodb", arrive)


@pytest.mark.parametrize(("is_shared", "refused"), [(True, 1), (False, 0)])
def test_transactions_on_one_item_refuse_each_other_and_others_do_not(
    table: Table, is_shared: bool, refused: int
) -> None:
    one, two = conversation(1), conversation(2)
    for each in (one, two):
        create(table, each)
        say(table, each, "warm")
    conflicts = Conflicts(table, latency_s=0)
    overlap(table)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda to: say(table, to, "at once"), [one, one if is_shared else two]))

    assert conflicts.count == refused

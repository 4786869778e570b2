"""What stands for AWS's conflicts between transactions."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.throughput import Conflicts
from forklore.storage.table import Table
from tests.usecases.builders import conversation, create, say


@pytest.mark.parametrize(("is_shared", "least", "most"), [(True, 1, 10), (False, 0, 0)])
def test_transactions_on_one_item_refuse_each_other_and_others_do_not(
    table: Table, is_shared: bool, least: int, most: int
) -> None:
    one, two = conversation(1), conversation(2)
    for each in (one, two):
        create(table, each)
        say(table, each, "warm")
    conflicts = Conflicts(table, latency_s=0.3)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda to: say(table, to, "at once"), [one, one if is_shared else two]))

    assert least <= conflicts.count <= most

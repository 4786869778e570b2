"""Exports and imports of whole trees, on DynamoDB Local: with faults, and while others write."""

import threading
from itertools import count
from pathlib import Path

import pytest

from tests.local.fsck import world
from tests.local.fsck.world import ANN, PLANNER, say, think
from tests.local.porting.failing import Failing, build
from tests.local.porting.round_trip import exported, held, imported
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint, Process, new_store
from tests.support.tables import Store

EXPORTS = 4
BRANCH = "branch"


@pytest.fixture
def failing(endpoint: Endpoint, store: Store, tmp_path: Path) -> Failing:
    build(store)
    exported(store, tmp_path / "whole")
    return Failing(store, tmp_path / "whole", tmp_path, lambda: new_store(endpoint))


@pytest.mark.failure("killed-export-or-import")
def test_an_export_is_the_same_with_a_fault_at_any_call(failing: Failing, measure: Measure) -> None:
    points = failing.points_of_export()
    for point in measure.some(points, ci=40):
        measure.count(faults=failing.export_with(point))


@pytest.mark.failure("killed-export-or-import")
def test_an_import_is_the_same_with_a_fault_at_any_call(failing: Failing, measure: Measure) -> None:
    points = failing.points_of_import()
    for point in measure.some(points, ci=20):
        measure.count(faults=failing.import_with(point))


@pytest.mark.failure("killed-export-or-import")
def test_an_import_that_nobody_goes_on_with_is_removed(failing: Failing, measure: Measure) -> None:
    calls = sorted({number for number, _ in failing.points_of_import()})
    for number in measure.some(calls, ci=5):
        failing.abandon(number)
        measure.count(abandoned=1)


@pytest.mark.failure("killed-export-or-import")
def test_two_imports_of_a_file_at_once_do_no_harm(
    failing: Failing, endpoint: Endpoint, measure: Measure
) -> None:
    with new_store(endpoint) as other:
        done = [0, 0]

        def run(at: int) -> None:
            result = imported(Process(other).table, failing.file, threads=2)
            done[at] = result.made + result.there

        racing = [threading.Thread(target=run, args=(at,)) for at in range(2)]
        for thread in racing:
            thread.start()
        for thread in racing:
            thread.join()
        assert_intact(other, settled=True)
        assert held(other) == failing.whole
    assert done[0] == done[1] > 0
    measure.count(trees=done[0])


@pytest.mark.failure("export-amid-writes")
def test_an_export_of_trees_that_are_written_to_is_of_one_state(
    endpoint: Endpoint, store: Store, tmp_path: Path, measure: Measure
) -> None:
    """What is imported is intact, and the entries of a conversation are its first ones."""
    root = world.conversation(1)
    process = Process(store)
    say(process, root, "the first")
    stop = threading.Event()

    def write() -> None:
        for number in count():
            if stop.is_set():
                return
            said = say(process, root, f"{number}", usage={"inputTokens": 1})
            think(process, root, f"{number}", PLANNER, epoch=1 + number // 7)
            one = world.conversation(1_000 + number)
            process.ask("forkConversation", ANN, conversationId=root, id=one, atEntryId=said)
            think(process, one, "in a fork")
            if number % 3 == 2:
                gone = world.conversation(1_000 + number - 1)
                removed = process.ask("deleteConversation", ANN, conversationId=gone, scope=BRANCH)
                assert removed.status < 300, removed
            if number % 5 == 4:
                child = world.conversation(5_000 + number)
                say(process, child, "do it", startedByConversationId=root, startedByEntryId=said)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for number in range(measure.goal(ci=EXPORTS, gate=50)):
            done = exported(store, tmp_path / f"{number}")
            measure.count(exports=1, entries=done.entries)
            with new_store(endpoint) as other:
                result = imported(other, tmp_path / f"{number}")
                assert_intact(other, settled=True)
                assert (result.made, result.refused) == (done.trees, [])
    finally:
        stop.set()
        writing.join()

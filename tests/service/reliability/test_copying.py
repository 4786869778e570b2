"""Copies of whole tables with faults in their calls, and whose process is killed."""

from pathlib import Path

import pytest

from tests.local.copying.moves import build, held, restored, saved
from tests.service.reliability.faults import Call, Fault, Killed, at
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint, Process, new_store
from tests.service.reliability.violation import hold
from tests.support.tables import Store

Point = tuple[int, Fault]
"""The number of a call, from 1, and what goes wrong with it."""


def points(calls: list[Call]) -> list[Point]:
    """Return each call with each fault that it can have."""
    return [(call.number, fault) for call in calls for fault in Fault if fault.concerns(call)]


@pytest.fixture
def whole(store: Store) -> Store:
    build(store)
    return store


@pytest.mark.failure("killed-copy")
def test_a_file_is_whole_or_not_there_with_a_fault_at_any_call(
    whole: Store, endpoint: Endpoint, tmp_path: Path, measure: Measure
) -> None:
    path, counted = tmp_path / "all.jsonl.gz", Process(whole, in_order=True)
    saved(counted.table, tmp_path / "counted.jsonl.gz")
    for point in measure.some(points(counted.faults.calls), ci=6):
        process = Process(whole, at(*point), in_order=True)
        try:
            saved(process.table, path)
        except Killed:
            hold(not path.exists(), point)
            saved(whole, path)
        measure.count(faults=bool(process.faults.injected))
        with new_store(endpoint) as other:
            restored(path, other)
            hold(held(other) == held(whole), point)
        path.unlink()
        for left in path.with_name(f"{path.name}.files").rglob("*"):
            if left.is_file():
                left.unlink()
        path.with_name(f"{path.name}.files").rename(tmp_path / f"{point}")


@pytest.mark.failure("killed-copy")
def test_a_table_gets_everything_with_a_fault_at_any_call(
    whole: Store, endpoint: Endpoint, tmp_path: Path, measure: Measure
) -> None:
    path = tmp_path / "all.jsonl.gz"
    saved(whole, path)
    with new_store(endpoint) as other:
        counted = Process(other, in_order=True)
        restored(path, counted.table)
    for point in measure.some(points(counted.faults.calls), ci=20):
        with new_store(endpoint) as other:
            process = Process(other, at(*point), in_order=True)
            try:
                restored(path, process.table)
            except Killed:
                restored(path, other)
            measure.count(faults=bool(process.faults.injected))
            hold(held(other) == held(whole), point)
            assert_intact(other)

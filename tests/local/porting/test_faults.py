"""A sample of the runs of tests/service/reliability/test_porting.py, on moto."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.porting.failing import Failing, build
from tests.local.porting.round_trip import exported
from tests.service.reliability.conftest import measure
from tests.service.reliability.figures import Measure
from tests.support.tables import fresh_store

__all__ = ["measure"]


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    with fresh_store() as store:
        build(store)
        exported(store, tmp_path / "whole")
        yield Failing(store, tmp_path / "whole", tmp_path, lambda: fresh_store("other"))


@pytest.mark.failure("killed-export-or-import")
def test_a_fault_of_one_call_changes_nothing_of_what_comes_out(failing: Failing, measure: Measure) -> None:
    for point in measure.some(failing.points_of_export(), ci=2):
        measure.count(faults=failing.export_with(point))
    points = failing.points_of_import()
    for point in measure.some(points, ci=2):
        measure.count(faults=failing.import_with(point))
    for number in measure.some(sorted({number for number, _ in points}), ci=2):
        failing.abandon(number)
        measure.count(abandoned=1)

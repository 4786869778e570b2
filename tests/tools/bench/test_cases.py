"""Every operation is measured."""

from tools.bench.cases import CASES
from tools.harness.service import OPERATIONS


def test_every_operation_is_measured() -> None:
    assert {case.operation for case in CASES.values()} == set(OPERATIONS)

"""What is measured is everything."""

from bench.cases import CASES
from tests.reliability.service import OPERATIONS


def test_every_operation_is_measured() -> None:
    assert {case.operation for case in CASES.values()} == set(OPERATIONS)

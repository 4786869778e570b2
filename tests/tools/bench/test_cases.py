"""What is measured is everything."""

from tests.reliability.service import OPERATIONS
from tools.bench.cases import CASES


def test_every_operation_is_measured() -> None:
    assert {case.operation for case in CASES.values()} == set(OPERATIONS)

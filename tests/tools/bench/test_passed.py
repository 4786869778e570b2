"""A request passes no more functions than a reader should have to follow."""

from forklore_service.domain import ids
from tools.bench.passed import MOST, measured, passed_by


def test_an_append_and_a_page_pass_no_more_functions_than_they_may() -> None:
    passed = {operation: by.number for operation, by in measured().items()}
    assert all(0 < number <= MOST[operation] for operation, number in passed.items()), passed


def test_each_function_of_the_service_counts_once_and_others_do_not() -> None:
    passed = passed_by(lambda: sorted(map(ids.next_id, [ids.FIRST, ids.FIRST])))
    assert passed.functions == {"domain/ids.py": ["_of_number", "spelled", "_number", "next_id"]}
    assert (passed.number, passed.chain) == (4, 3)

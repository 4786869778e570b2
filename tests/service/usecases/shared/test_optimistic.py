"""How often and how soon a request decides again."""

import pytest

from forklore_service.errors import UnavailableError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.optimistic import APPEND, CHANGE, RetryPolicy, attempts


def test_a_change_pauses_longer_before_each_attempt_but_the_first() -> None:
    assert [CHANGE.pause_before(attempt) for attempt in range(5)] == [0, 1, 2, 3, 4]


def test_an_append_pauses_shortly_and_not_before_it_knows_what_stands_there() -> None:
    pauses = [APPEND.pause_before(attempt) for attempt in range(48)]
    assert [pause for pause in pauses if pause] == [1, 2, 3, 4, 4]
    assert [attempt for attempt, pause in enumerate(pauses) if pause] == [8, 16, 24, 32, 40]


def test_there_are_as_many_attempts_as_the_policy_allows(table: Table) -> None:
    assert list(attempts(table, RetryPolicy(3))) == [0, 1, 2]


def test_there_is_no_attempt_without_time(table: Table) -> None:
    with pytest.raises(UnavailableError):
        list(attempts(table.within(0), CHANGE))

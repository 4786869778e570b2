from typing import Any

import pytest

from forklore_service.domain import ids
from forklore_service.domain.names import Name, NameMove, NameOwner, NameRef, name_moved
from forklore_service.errors import NameMovedError
from tests.service.domain.builders import FORK, ROOT

EARLY, NOW = "2026-03-01T09:15:00.000Z", "2026-03-02T09:15:00.000Z"
TRIP = NameRef(NameOwner("ann", "planner"), "trip")
WAS = Name(TRIP, ROOT, 7, EARLY, EARLY, "old", '{"a":1}')


def moved(was: Name | None, *, now: str = NOW, **what: Any) -> Name:
    return NameMove(TRIP, **what).decide(was, conversation_id=FORK, now=now, nonce="n", first_revision=41)


def test_a_new_name_begins_with_the_revision_that_is_drawn_for_it() -> None:
    assert moved(None) == Name(TRIP, FORK, 41, NOW, NOW, "n")
    assert moved(None, data='{"b":2}', expect_revision=0).data == '{"b":2}'


def test_a_name_that_moves_keeps_its_beginning_and_its_data_and_gets_the_next_revision() -> None:
    assert moved(WAS) == Name(TRIP, FORK, 8, EARLY, NOW, "n", '{"a":1}', ROOT)
    assert moved(WAS, data="{}", expect_revision=7).data == "{}"


def test_a_name_knows_where_it_was_until_it_points_elsewhere() -> None:
    again = moved(moved(WAS), data="{}")

    assert (again.conversation_id, again.previous_id) == (FORK, ROOT)
    assert moved(WAS._replace(previous_id=FORK)).previous_id == ROOT


def test_each_move_is_later_than_the_one_before() -> None:
    late = WAS._replace(updated_at=NOW)

    assert moved(late, now=NOW).updated_at == moved(late, now=EARLY).updated_at
    assert ids.milliseconds(moved(late, now=EARLY).updated_at) == ids.milliseconds(NOW) + 1


@pytest.mark.parametrize(
    ("was", "expected", "said", "told"),
    [
        (None, 7, "there is no such name", {"revision": 0}),
        (WAS, 0, 'the name "trip" is in use', {"revision": 7, "conversationId": ROOT}),
        (WAS, 6, "the name is at another revision", {"revision": 7, "conversationId": ROOT}),
        (WAS, 8, "the name is at another revision", {"revision": 7, "conversationId": ROOT}),
    ],
)
def test_a_name_at_another_revision_than_expected_is_not_moved(
    was: Name | None, expected: int, said: str, told: dict[str, Any]
) -> None:
    with pytest.raises(NameMovedError) as refused:
        moved(was, expect_revision=expected)

    assert str(refused.value) == said
    assert told.items() <= refused.value.details.items()
    assert str(name_moved(was, was_new=expected == 0)) == said

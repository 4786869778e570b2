"""C17: the checker says nothing of a table that is intact, and the right thing of each that is not."""

import pytest

from forklore.storage import items
from fsck.check import check
from fsck.shapes import Kind, kind_of
from tests.fsck import world
from tests.fsck.corruptions import CORRUPTIONS, Corruption
from tests.fsck.made import Made, record_item
from tests.fsck.world import conversation
from tests.support.tables import DAY_S, fresh_store


@pytest.fixture(scope="module")
def intact(moto: None) -> Made:
    """What the service made, with all that may be under way, and what has expired."""
    with fresh_store() as store:
        made = world.build(store)
        now_s = store.process().now_s()
        expired = items.gone_item(conversation(77), ttl_s=now_s - 1)
        store.put(expired, record_item(conversation(78), conversation(79), [], ttl_s=now_s - DAY_S))
        return Made(store.contents(), made, now_s)


def test_what_the_service_makes_is_intact_and_holds_every_kind(intact: Made) -> None:
    """C17."""
    assert check(intact.contents.values(), now_s=intact.now_s) == []
    assert {kind_of(key) for key in intact.contents} == set(Kind)


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=str)
def test_each_planted_corruption_is_found_as_what_it_is(intact: Made, corruption: Corruption) -> None:
    """C17."""
    spoilt = intact.copy()
    corruption.spoil(spoilt)

    assert spoilt.kinds_found == corruption.kinds


def test_many_kinds_of_corruption_are_planted() -> None:
    """C17: at least 30 kinds."""
    assert len({kind for corruption in CORRUPTIONS for kind in corruption.kinds}) >= 45

"""Capacity units follow AWS's rules."""

from typing import Any

import pytest

from forklore_service.storage.connection import Item
from tools.bench.units import item_bytes, units_of_get, units_of_query, units_of_write

KEY: Item = {"PK": {"S": "g"}, "SK": {"S": "s"}}  # 2 + 1 + 2 + 1 bytes


def filled(size: int, **more: Any) -> Item:
    """Return an item of `size` bytes, and in addition the attributes `more`."""
    return {**KEY, "b": {"B": bytes(size - item_bytes(KEY) - 1)}, **more}


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"é": {"S": "é"}}, 4),
        ({"n": {"N": "0"}}, 2),
        ({"n": {"N": "1000000"}}, 3),
        ({"n": {"N": "-123"}}, 5),
        ({"b": {"BOOL": True}}, 2),
        ({"m": {"M": {"a": {"S": "b"}}}}, 7),
        ({"l": {"L": [{"S": "b"}, {"NULL": True}]}}, 8),
        (filled(1024), 1024),
    ],
)
def test_the_size_of_an_item(item: Item, size: int) -> None:
    assert item_bytes(item) == size


def test_an_attribute_that_forklore_does_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="SS"):
        item_bytes({"s": {"SS": ["a"]}})


def test_a_query_adds_up_what_it_reads_and_a_batch_does_not() -> None:
    assert units_of_query([100] * 82) == 3
    assert sum(units_of_get(100) for _ in range(82)) == 82
    assert units_of_query([]) == units_of_get(0) == 1
    assert units_of_query([4096]) == 1
    assert units_of_query([4096, 1], is_consistent=False) == 1


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_write_takes_the_larger_of_before_and_after_and_twice_that_in_a_transaction(
    in_transaction: bool,
) -> None:
    times = 2 if in_transaction else 1

    def units(before: Item | None, after: Item | None) -> int:
        return units_of_write(before, after, in_transaction=in_transaction)

    assert units(None, filled(1024)) == times
    assert units(filled(1025), KEY) == 2 * times
    assert units(KEY, None) == times
    assert units(None, None) == times


def test_an_append_takes_6_units() -> None:
    entry: Item = {**KEY, "L1": {"S": "a"}}

    head = units_of_write(KEY, KEY, in_transaction=True)
    assert head + units_of_write(None, entry, in_transaction=True) == 6
    assert units_of_write(None, entry, in_transaction=False) == 2


def test_an_index_takes_a_write_for_each_copy_that_changes() -> None:
    entry, other = (filled(500, L1={"S": at}) for at in "ab")
    longer = {**entry, "more": {"S": "x" * 1000}}
    tree = {**KEY, "G1": {"S": "t"}, "G1S": {"S": "t"}, "members": {"N": "1"}}

    def units(before: Item | None, after: Item | None) -> int:
        return units_of_write(before, after, in_transaction=False)

    assert units(None, entry) == units(entry, None) == 1 + 1
    assert units(entry, entry) == 1
    assert units(entry, other) == 1 + 2
    assert units(entry, longer) == 2 + 2
    assert units(tree, {**tree, "members": {"N": "2"}}) == 1, "the index holds keys only"

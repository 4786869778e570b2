"""The checker finds nothing in an intact table, and finds each planted corruption."""

import re
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forklore_local.fsck import other_partitions
from forklore_local.fsck.check import check
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.recheck import by_tree, look_again
from forklore_local.fsck.shapes import SHAPES, Kind, kind_of
from forklore_local.fsck.source import Source
from forklore_service.domain import keys
from forklore_service.domain.keys import Key, SortRange
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from tests.local.fsck import world
from tests.local.fsck.corruptions import CORRUPTIONS, Corruption
from tests.local.fsck.made import Contents, Made, record_item
from tests.local.fsck.world import (
    ANSWER,
    ANSWERED,
    DYING,
    FORMER,
    GONE,
    LATER,
    LATER_CHILD,
    PLAIN,
    UNBORN,
    conversation,
)
from tests.service.reliability.figures import Measure
from tests.support.tables import DAY_S, fresh_store


@pytest.fixture(scope="module")
def intact() -> Made:
    """A table that the service made. It has unfinished work of all kinds, and expired items."""
    with fresh_store() as store:
        made = world.build(store)
        now_s = store.process().now_s()
        expired = items.retired_item(conversation(77), ttl_s=now_s - 1)
        store.put(expired, record_item(conversation(78), conversation(79), [], ttl_s=now_s - DAY_S))
        return Made(store.contents(), made, now_s)


def test_what_the_service_makes_is_intact_and_holds_every_kind(intact: Made) -> None:
    assert check(intact.contents.values(), now_s=intact.now_s) == []
    assert {kind_of(key) for key in intact.contents} == set(Kind)


def test_every_kind_of_finding_is_planted() -> None:
    """A kind is a word with underscores in the source, or it is made of the kind of the item."""
    planted = {kind for corruption in CORRUPTIONS for kind in corruption.kinds}
    sources = "\n".join(path.read_text() for path in Path(other_partitions.__file__).parent.glob("*.py"))
    words = set(re.findall(r'"([a-z]+(?:_[a-z0-9]+)+)"', sources))
    of_items = {f"malformed_{kind}" for kind in Kind if SHAPES[kind].needed or SHAPES[kind].possible}
    of_items |= {f"{how}_{kind}" for kind in other_partitions.INVARIANTS for how in ("missing", "orphan")}
    of_items.remove(f"missing_{Kind.ERASED_TREE}")  # no item implies one
    of_items.remove(f"orphan_{Kind.SHELF}")  # a user without trees may have one

    of_folders = {
        "damaged_file",
        "damaged_row",
        "missing_object",
        "orphan_object",
    }  # tests/local/in_process/test_upkeep.py, tests/clients/cli/test_copy_table.py, test_objects.py
    assert (words - {*Kind} - of_folders) | of_items <= planted, "see tests/local/fsck/corruptions.py"


class InMemory(Source):
    """A source that reads from a dictionary."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def range(self, of: SortRange) -> Contents:
        return {
            key: item
            for key, item in sorted(self._contents.items())
            if key.partition == of.partition and of.first <= key.sort <= of.last
        }

    def get(self, wanted: Iterable[Key]) -> Contents:
        return {key: self._contents[key] for key in wanted if key in self._contents}


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=str)
def test_each_planted_corruption_is_found_with_exactly_its_kinds_and_again_while_it_lasts(
    intact: Made, corruption: Corruption, measure: Measure
) -> None:
    spoilt = intact.copy()
    corruption.spoil(spoilt)
    suspects = check(spoilt.contents.values(), now_s=spoilt.now_s)

    assert {finding.kind for finding in suspects} == corruption.kinds
    again: list[Finding] = []
    for group_id, some in by_tree(suspects):
        again += look_again(InMemory(spoilt.contents), group_id, some, now_s=spoilt.now_s)
        assert look_again(InMemory(intact.contents), group_id, some, now_s=intact.now_s) == []
    assert set(again) == set(suspects)
    assert len(again) == len(suspects)
    measure.count(corruptions=1)


_NONSENSE: list[Any] = [
    *({"S": ""}, {"S": "x"}, {"S": "#"}, {"S": "9" * 40}, {"S": "é\0"}, {"S": "9999-99-99T00:00:00.000Z"}),
    *({"N": "-1"}, {"N": "1.5"}, {"N": "1" + "0" * 37}, {"B": b""}, {"B": b"x" * 32}, {"B": b"[]"}),
    *({"BOOL": False}, {"M": {}}, {"NULL": True}, {"L": []}),
]


def test_each_missing_item_is_found(intact: Made) -> None:
    """Each item is removed in turn."""
    missed = intact.contents.keys() - _free(intact)

    assert [key for key in missed if not intact.copy().take(key).kinds_found] == []


def _free(made: Made) -> set[Key]:
    """Return the keys of items that no other item implies, or that may be deleted already.

    These are: vectors; pins; links; notes; records, also of erasures that are done; ids of deleted
    trees; the rest of a tree that was never live; CHILD items of a tree that is being deleted; what
    the worker removes of a removed branch and of its child; the first part of an ended log, and the
    last of an open one.
    """
    parts = (keys.part(PLAIN, ANSWERED, 0), keys.part(PLAIN, ANSWER, 2))
    ended = (GONE, UNBORN, conversation(77))
    return {
        key
        for key, item in made.contents.items()
        if kind_of(key)
        in {Kind.IDEM, Kind.LINK, Kind.NAME, Kind.NOTE, Kind.RATE, Kind.ERASED_TREE, Kind.RETENTION}
        | {Kind.VEC, Kind.PINS}
        or "finishedAt" in item
        or ("retired" in item and key.partition.endswith(ended))
        or UNBORN in f"{key.partition}/{key.sort}"
        or (kind_of(key) is Kind.CHILD and key.partition == DYING)
        or key in parts
        or _may_be_pruned(key, item)
    }


def _may_be_pruned(key: Key, item: Item) -> bool:
    """Tell whether an item belongs to a branch that waits for the worker, or to its child."""
    is_entry = kind_of(key) is Kind.ENTRY
    of_branch = key == keys.path(FORMER, LATER) or (is_entry and LATER in item["L1"]["S"])
    of_both = key.partition.startswith(f"BLOB#{FORMER}") or (is_entry and key.partition == LATER_CHILD)
    return of_branch or of_both


@pytest.mark.parametrize("number", range(100))
def test_random_values_never_raise(intact: Made, number: int) -> None:
    """Attributes of random items get random values."""
    random = Random(number)
    spoilt = intact.copy()
    for _ in range(1 + number % 3):
        key = random.choice(sorted(spoilt.contents))
        name = random.choice(sorted(spoilt.contents[key]))
        value = random.choice([*_NONSENSE, *random.choice(list(intact.contents.values())).values()])
        if name in ("PK", "SK") and not value.get("S"):
            continue  # DynamoDB itself refuses these
        spoilt.contents[key] = {**spoilt.contents[key], name: value}

    for finding in check(list(spoilt.contents.values()), now_s=spoilt.now_s):
        assert finding.kind.islower()
        assert str(finding)

import pytest

from forklore_service.domain.listing import EVERYTHING, Ancestry, Archived, Filter, Tag
from forklore_service.domain.model import Conversation, Description

AT = "2026-03-01T09:15:00.000Z"
TRIP = Conversation(
    "c",
    "c",
    AT,
    described=Description(title="Zwei Nächte in LISSABON", tags={"kind": "travel", "x": ""}),
    agent_id="planner",
)
PLAIN = Conversation("d", "d", AT)


CASES = [
    (EVERYTHING, [TRIP, PLAIN]),
    (Filter(query=""), [TRIP, PLAIN]),
    (Filter(query="NÄCHTE"), [TRIP]),
    (Filter(query="nachte"), []),
    (Filter(agent_id="planner"), [TRIP]),
    (Filter(agent_id="Planner"), []),
    (Filter(tag="kind"), [TRIP]),
    (Filter(tag="x"), [TRIP]),
    (Filter(tag="x:"), [TRIP]),
    (Filter(tag="kind:travel"), [TRIP]),
    (Filter(tag="kind:trav"), []),
    (Filter(tag="kind:"), []),
    (Filter(tag="travel"), []),
    (Filter(query="lissabon", agent_id="planner", tag="kind"), [TRIP]),
    (Filter(query="lissabon", agent_id="other", tag="kind"), []),
    (Filter(created_since=AT), [TRIP, PLAIN]),
    (Filter(created_since="2026-03-01T09:15:00.001Z"), []),
]
"""Filters, each with what it lets pass."""


@pytest.mark.parametrize(("wanted", "expected"), CASES)
def test_a_conversation_passes_if_it_has_all_that_is_named(
    wanted: Filter, expected: list[Conversation]
) -> None:
    assert [one for one in (TRIP, PLAIN) if wanted.passes(one)] == expected
    assert wanted.is_open == (wanted in (EVERYTHING, Filter(query="")))


def test_each_part_of_a_filter_is_tried_alone() -> None:
    named = [{name for name, held in wanted._asdict().items() if held is not None} for wanted, _ in CASES]
    assert [name for name in Filter._fields if {name} not in named] == []


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("kind", Tag("kind")),
        ("kind:", Tag("kind", "")),
        ("kind:travel", Tag("kind", "travel")),
        ("kind:a:b ", Tag("kind", "a:b ")),
    ],
)
def test_the_first_colon_ends_the_name_of_a_tag(text: str, tag: Tag) -> None:
    assert Tag.of(text) == tag


def test_roots_children_or_both_are_listed() -> None:
    listed = {one: [child for child in (True, False) if one.includes(child)] for one in Ancestry}

    assert listed == {Ancestry.ROOTS: [False], Ancestry.CHILDREN: [True], Ancestry.ALL: [True, False]}


def test_archived_trees_are_left_out_or_listed_or_listed_alone() -> None:
    listed = {one: [held for held in (True, False) if one.includes(held)] for one in Archived}

    assert listed == {Archived.EXCLUDE: [False], Archived.INCLUDE: [True, False], Archived.ONLY: [True]}

"""Cursors of lists: what they hold, which text is refused, and walks over whole lists."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.api import cursors
from forklore_service.domain.keys import ListKey
from forklore_service.domain.listing import TOP, ListPlace, Walk
from forklore_service.errors import InvalidCursorError
from forklore_service.usecases.shared.cursors import valid
from tests.service.aws.world import (
    FOREIGN,
    PLAIN,
    Ask,
    World,
    append,
    children,
    conversation_id,
    conversations,
    create,
    fork,
    forks,
)
from tests.service.domain.builders import examples

RESOURCE = "forks/of-one"
EARLIER = ListKey("2026-01-01T00:00:00.000Z", conversation_id(1))
LATER = ListKey("2026-01-02T00:00:00.000Z", conversation_id(2))
SHOWN = (conversation_id(3), conversation_id(4))
PLACES = [
    ListPlace(EARLIER),
    ListPlace(LATER, EARLIER),
    ListPlace(EARLIER, walk=Walk(LATER)),
    ListPlace(EARLIER, EARLIER, Walk(TOP, SHOWN)),
]


def test_the_end_of_a_list_has_no_cursor() -> None:
    assert cursors.of_list_key(RESOURCE, None) is None
    assert cursors.of_place(RESOURCE, None) is None
    assert cursors.to_list_key(RESOURCE, None) is None
    assert cursors.to_place(RESOURCE, None) is None


def test_a_cursor_names_the_place_that_it_was_made_of() -> None:
    assert cursors.to_list_key(RESOURCE, cursors.of_list_key(RESOURCE, EARLIER)) == EARLIER
    assert [cursors.to_place(RESOURCE, cursors.of_place(RESOURCE, place)) for place in PLACES] == PLACES


def test_a_cursor_needs_no_encoding_in_a_query_string() -> None:
    for number in range(300):
        cursor = cursors.of_list_key(f"resource {number}", EARLIER)
        assert cursor
        assert cursor.replace("-", "").replace("_", "").isalnum()
        assert cursor.isascii()


@pytest.mark.failure("foreign-id")
def test_a_cursor_of_another_resource_is_refused() -> None:
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_list_key("forks/of-another", cursors.of_list_key(RESOURCE, EARLIER)))
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_place("another", cursors.of_place(RESOURCE, PLACES[1])))


def forged(text: str, resource: str = RESOURCE) -> str:
    """Return a cursor of `resource` that holds `text` in place of its position."""
    made = cursors.of_list_key(resource, EARLIER)
    assert made is not None
    digest = base64.urlsafe_b64decode(made + "=" * (-len(made) % 4)).removesuffix(EARLIER.sort.encode())
    return base64.urlsafe_b64encode(digest + text.encode()).decode().rstrip("=")


def test_the_forger_of_these_tests_can_make_a_good_one() -> None:
    assert cursors.to_list_key(RESOURCE, forged(LATER.sort)) == LATER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#",
        "/",
        EARLIER.created_at,
        EARLIER.conversation_id,
        EARLIER.sort + "\n",
        EARLIER.sort + "/",
        "/" + EARLIER.sort,
        f"{EARLIER.sort}/{LATER.sort}/{LATER.sort}",
        EARLIER.sort[:-1] + "A",
        EARLIER.sort.replace(".000", ""),
        EARLIER.sort.replace("2026", "\u0662026"),
        EARLIER.sort.replace("#", "#" * 2),
        "x" * 5000,
    ],
)
def test_a_cursor_that_holds_no_position_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_list_key(RESOURCE, forged(text)))
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_place(RESOURCE, forged(text)))


def test_a_list_without_levels_takes_no_cursor_of_two() -> None:
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_list_key(RESOURCE, cursors.of_place(RESOURCE, PLACES[1])))


@given(text=st.one_of(st.text(), st.from_regex(r"[A-Za-z0-9_=+/-]{1,80}", fullmatch=True)))
@examples(400)
def test_random_text_is_refused_and_raises_no_other_error(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        valid(cursors.to_place(RESOURCE, text))


@given(data=st.data())
@examples(400)
def test_a_cursor_with_a_changed_character_is_refused_or_names_a_place(data: st.DataObject) -> None:
    cursor = cursors.of_place(RESOURCE, PLACES[1]) or ""
    at = data.draw(st.integers(0, len(cursor) - 1))
    changed = cursor[:at] + data.draw(st.characters()) + cursor[at + 1 :]
    try:
        place = valid(cursors.to_place(RESOURCE, changed))
    except InvalidCursorError:
        return
    assert isinstance(place, ListPlace)
    assert cursors.to_place(RESOURCE, cursors.of_place(RESOURCE, place)) == place


@pytest.fixture(scope="module")
def forest(open_world: World) -> World:
    """Flora's three trees, with four, one and two conversations. The last has two children."""
    for root, others in ((10, (11, 12, 13)), (20, ()), (30, (31,))):
        open_world.send(create({"id": conversation_id(root), "title": f"tree {root}"}, user="flora"))
        for number in others:
            body = {"id": conversation_id(number), "title": f"tree {number}"}
            open_world.send(fork(body, of=conversation_id(root), user="flora"))
    for number in (40, 41):
        body = {**PLAIN, "startedByConversationId": conversation_id(30)}
        open_world.send(append(body, to=conversation_id(number), user="flora"))
    return open_world


def walk(world: World, resource: Any, filters: str, limit: int) -> list[int]:
    """Return the last digits of the ids in a whole list, page by page."""
    seen: list[int] = []
    cursor = ""
    for _ in range(20):
        page = world.send(resource(f"limit={limit}{filters}{cursor}", user="flora")).json
        assert set(page) == {"data", "afterCursor"}
        assert len(page["data"]) <= limit
        seen += [int((one.get("id") or one["conversationId"])[-2:]) for one in page["data"]]
        if page["afterCursor"] is None:
            return seen
        cursor = f"&afterCursor={page['afterCursor']}"
    raise AssertionError("the list has no end")


def forks_of_10(query: str, **more: Any) -> Ask:
    return forks(query, of=conversation_id(10), **more)


def children_of_30(query: str, **more: Any) -> Ask:
    return children(query, of=conversation_id(30), **more)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
@pytest.mark.parametrize(
    ("resource", "filters", "whole"),
    [
        (conversations, "&mode=all", [31, 30, 20, 13, 12, 11, 10]),
        (conversations, "&mode=roots", [30, 20, 10]),
        (conversations, "", [31, 20, 13]),
        (conversations, "&mode=all&query=TREE+1", [13, 12, 11, 10]),
        (conversations, "&ancestry=children", [41, 40]),
        (forks_of_10, "", [10, 11, 12, 13]),
    ],
    ids=["all", "roots", "latest forks", "by title", "children", "forks"],
)
def test_a_walk_over_pages_of_any_size_is_the_whole_list_in_order(
    forest: World, resource: Any, filters: str, whole: list[int], limit: int
) -> None:
    assert walk(forest, resource, filters, limit) == whole


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(
    ("resource", "filters", "whole"),
    [
        (conversations, "&mode=all", [31, 30, 20, 13, 12, 11, 10]),
        (conversations, "&mode=roots", [30, 20, 10]),
        (conversations, "", [31, 20, 13]),
        (conversations, "&ancestry=all", [41, 40, 31, 20, 13]),
        (forks_of_10, "", [10, 11, 12, 13]),
        (children_of_30, "", [40, 41]),
    ],
    ids=["all", "roots", "latest forks", "with children", "forks", "children"],
)
def test_a_list_continues_after_the_id_of_a_conversation_that_it_has_shown(
    forest: World, resource: Any, filters: str, whole: list[int], limit: int
) -> None:
    for at, number in enumerate(whole):
        query = f"limit={limit}{filters}&afterCursor={conversation_id(number)}"
        page = forest.send(resource(query, user="flora")).json
        assert [int((one.get("id") or one["conversationId"])[-2:]) for one in page["data"]] == whole[
            at + 1 : at + 1 + limit
        ]
        assert (page["afterCursor"] is None) == (at + 1 + limit >= len(whole))


@pytest.mark.failure("foreign-id")
@pytest.mark.parametrize("resource", [conversations, forks_of_10, children_of_30])
def test_the_id_of_a_conversation_that_is_not_in_the_list_is_refused_as_a_cursor(
    forest: World, resource: Any
) -> None:
    """The error is the same for another user's id, an unknown id and an id in another tree."""
    others = [FOREIGN, conversation_id(999), conversation_id(10).upper().replace("0000-4", "000A-4")]
    others += [conversation_id(20)] if resource is not conversations else []
    others += [conversation_id(30)] if resource is children_of_30 else []
    answers = [forest.send(resource(f"afterCursor={other}", user="flora")) for other in others]

    bodies = {json.dumps(answer.json | {"requestId": ""}, sort_keys=True) for answer in answers}
    assert {answer.status for answer in answers} == {400}
    assert len(bodies) == 1
    assert "invalid_cursor" in bodies.pop()


@pytest.mark.failure("foreign-id")
@pytest.mark.parametrize(
    "position",
    [
        "0000-00-00T00:00:00.000Z#00000000-0000-0000-0000-000000000000",
        "9999-99-99T99:99:99.999Z#ffffffff-ffff-ffff-ffff-ffffffffffff",
        f"2026-01-01T00:00:00.000Z#{conversation_id(999)}",
    ],
)
def test_a_forged_position_shows_only_items_of_the_same_list(forest: World, position: str) -> None:
    cursor = forged(position, resource=f"forks/{conversation_id(10)}")
    page = forest.send(forks_of_10(f"afterCursor={cursor}", user="flora"))
    stranger = forest.send(forks_of_10(f"afterCursor={cursor}", user="ann"))

    assert page.status == 200
    assert {int(one["conversationId"][-2:]) for one in page.json["data"]} <= {10, 11, 12, 13}
    assert stranger.status == 403

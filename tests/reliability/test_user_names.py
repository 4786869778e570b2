"""User ids that look like parts of keys and paths. None is taken for another user."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.aws.world import CONVERSATIONS, conversation_id, path_of
from tests.reliability.intact import assert_intact
from tests.support.tables import Store
from tools.harness.functions import functions_on
from tools.harness.gateway import Gateway

ROOT = conversation_id(1)
NAMES = [
    *(
        "a",
        "a#",
        "ab",
        "a b",
        "a/b",
        "a%2Fb",
        "a%252Fb",
        "a%",
        "%61",
        "..",
        "#",
        "/",
        "%",
        "a#GROUP",
        "MEM#a",
    ),
    *(
        "USER#a",
        "a\\b",
        "é",
        "e\u0301",
        "😀" * 63,
        "😀" * 63 + "abc",
        "x" * 255,
        "a?b=c",
        "a&b",
        "a+b",
        "~",
        "null",
    ),
]
"""User ids that are hard to handle. The longest have 255 bytes."""


@pytest.fixture
def gateway(store: Store) -> Iterator[Gateway]:
    with functions_on(store) as template:
        yield Gateway(template)


@pytest.mark.failure("unusual-user-id")
def test_a_name_in_a_body_a_query_or_a_list_is_that_user_and_no_other(store: Store, gateway: Gateway) -> None:
    """User ids are escaped in keys and decoded once in queries. No key ranges overlap."""
    assert gateway.send("POST", CONVERSATIONS, body={"id": ROOT}).status == 201
    for name in NAMES:
        body = {"userId": name, "accessLevel": "reader"}
        made = gateway.send("POST", f"{path_of(ROOT)}/memberships", body=body)
        assert (made.status, made.json["userId"]) == (201, name)
    listed = gateway.send("GET", f"{path_of(ROOT)}/memberships", query="limit=200").json["data"]
    assert sorted(one["userId"] for one in listed) == sorted(["ann", *NAMES])
    for at, name in enumerate(NAMES):
        one, query = f"{path_of(ROOT)}/memberships", f"userId={quote(name, safe='')}"
        changed = gateway.send("PATCH", one, query=query, body={"accessLevel": "writer"})
        assert (changed.status, changed.json["userId"]) == (200, name)
        assert gateway.send("DELETE", one, query=query).status == 204
        left = gateway.send("GET", f"{path_of(ROOT)}/memberships", query="limit=200").json["data"]
        assert sorted(one["userId"] for one in left) == sorted(["ann", *NAMES[at + 1 :]])
        assert {one["accessLevel"] for one in left} <= {"owner", "reader"}
    assert_intact(store)


@pytest.mark.failure("unusual-user-id")
def test_each_user_lists_only_their_own(store: Store, gateway: Gateway) -> None:
    """A user's lists and transfers show nothing of a user whose id has the same beginning."""
    names = [name for name in NAMES if name.isascii()]
    for name in names:
        assert gateway.send("POST", CONVERSATIONS, body={"title": name}, user=name).status == 201
    for name in names:
        [own] = gateway.send("GET", CONVERSATIONS, query="limit=200", user=name).json["data"]
        assert (own["title"], own["ownerUserId"]) == (name, name)
        for other in names:
            shown = gateway.send("GET", path_of(own["id"]), user=other)
            assert shown.status == (200 if other == name else 403)
    assert_intact(store)


@pytest.mark.failure("unusual-user-id")
@pytest.mark.parametrize(
    "name", ["", " ", "\t", "\u2003", "a\x00", "a\n", "\x7f", "a\u0085", "x" * 256, "😀" * 64]
)
def test_a_user_id_that_is_blank_too_long_or_has_control_characters_is_refused(
    gateway: Gateway, name: str
) -> None:
    """A body with such a user id is refused with 400."""
    assert gateway.send("POST", CONVERSATIONS, body={"id": ROOT}).status == 201
    body = {"userId": name, "accessLevel": "reader"}

    assert gateway.send("POST", f"{path_of(ROOT)}/memberships", body=body).status == 400

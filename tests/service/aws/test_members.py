"""Which member a request names. The gateway decodes paths as API Gateway does."""

from urllib.parse import quote

import pytest

from tests.service.aws.world import CONVERSATIONS, ROOT, path_of
from tools.harness.gateway import Answer, Gateway

MEMBERS = f"{path_of(ROOT)}/memberships"
READER = {"accessLevel": "reader"}
AWKWARD = [
    *["a/b", "//", "YWJj/ZGVm+Z2hp==", "a?b=c", "a%2Fb", "a%252Fb", "100%done", "a#b", "a&b", "a b", "😀"],
    *["../x", "%", ";", "a=b", "userId=a"],
]
PLAIN = ["a", "B-2", "x_y.z", "a@b.example", "auth0:1", "a+b"]
"""User ids that can be named in a path."""


def members(gateway: Gateway) -> dict[str, str]:
    page = gateway.send("GET", MEMBERS, query="limit=200").json["data"]
    return {one["userId"]: one["accessLevel"] for one in page}


@pytest.fixture
def shared(gateway: Gateway) -> Gateway:
    """The gateway, with a conversation of Ann's. Its members are writers with similar names."""
    gateway.send("POST", CONVERSATIONS, body={"id": ROOT})
    there = members(gateway)
    for user in [*AWKWARD, *PLAIN]:
        if there.get(user) != "writer":
            gateway.send("DELETE", MEMBERS, query=f"userId={quote(user, safe='')}")
            body = {"userId": user, "accessLevel": "writer"}
            assert gateway.send("POST", MEMBERS, body=body).status == 201
    return gateway


def refusal(answer: Answer) -> tuple[int, str, str | None]:
    return answer.status, answer.json["code"], answer.json["details"].get("field")


@pytest.mark.parametrize("user", [*AWKWARD, *PLAIN])
def test_the_query_parameter_names_exactly_one_member(shared: Gateway, user: str) -> None:
    before, query = members(shared), f"userId={quote(user, safe='')}"

    changed = shared.send("PATCH", MEMBERS, query=query, body=READER)
    assert (changed.status, changed.json["userId"]) == (200, user)
    assert members(shared) == before | {user: "reader"}
    assert shared.send("DELETE", MEMBERS, query=query).status == 200
    assert members(shared) == {name: level for name, level in before.items() if name != user}


@pytest.mark.parametrize("user", PLAIN)
def test_a_path_can_name_a_member_whose_id_has_plain_characters(shared: Gateway, user: str) -> None:
    for sent in (user, quote(user, safe="")):
        changed = shared.send("PATCH", f"{MEMBERS}/{sent}", body=READER)
        assert (changed.status, changed.json["userId"]) == (200, user)
    assert shared.send("DELETE", f"{MEMBERS}/{user}").status == 200
    assert user not in members(shared)


@pytest.mark.parametrize("user", ["a b", "a&b", "a=b", "é", ";", "a#b", "\x00", "x" * 300 + " "])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_any_other_member_in_the_path_is_refused_and_the_error_names_the_query_parameter(
    shared: Gateway, method: str, user: str
) -> None:
    before = members(shared)
    body = READER if method == "PATCH" else None
    refused = shared.send(method, f"{MEMBERS}/{quote(user, safe='')}", body=body)

    assert refusal(refused) == (400, "validation_error", "userId")
    assert "?userId=" in refused.json["details"]["message"]
    assert members(shared) == before


@pytest.mark.parametrize("user", ["a/b", "a%2Fb", "YWJj/ZGVm+Z2hp=="])
def test_a_member_with_a_slash_is_not_found_by_path(shared: Gateway, user: str) -> None:
    """The gateway decodes the slash before it matches a route.

    The answer says how to name the member.
    """
    before = members(shared)
    refused = shared.send("DELETE", f"{MEMBERS}/{quote(user, safe='')}")

    assert (refused.status, refused.json["code"]) == (404, "not_found")
    assert "?userId=" in refused.json["details"]["message"]
    assert members(shared) == before


@pytest.mark.parametrize("path", ["", "/a"])
@pytest.mark.parametrize(("method", "body"), [("PATCH", READER), ("DELETE", None)])
def test_a_member_is_named_exactly_once(shared: Gateway, method: str, body: object, path: str) -> None:
    before = members(shared)
    wrong = ["userId=B-2"] if path else ["", "userId=a&userId=B-2", "userid=a", "user_id=a"]
    for query in wrong:
        assert shared.send(method, MEMBERS + path, query=query, body=body).status == 400, query
    if body is not None:
        named = {**READER, "userId": "B-2"}
        assert (
            shared.send(method, MEMBERS + path, query="userId=a" if not path else "", body=named).status
            == 400
        )
    assert members(shared) == before

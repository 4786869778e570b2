"""A parameter of a query that an operation takes is used and known wherever it has to be.

A new parameter needs a line only if its schema leads to no good value (TEXTS in samples.py), or if
it is left out on purpose; then the reason stands here.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from forklore_service.api import operations
from forklore_service.api.operation import Operation
from tests.service.api import reference
from tests.service.api.samples import (
    AUDITED,
    LISTS,
    PAGING,
    TEXTS,
    WITHOUT_EFFECT,
    bodies_of,
    filters_of,
    names_of,
    value_of,
)
from tests.service.aws.world import (
    FOREIGN,
    FORK,
    NOTED,
    ROOT,
    SAID,
    Ask,
    World,
    append,
    archive,
    conversation_id,
    create,
    offer,
    pin,
    share,
)
from tools.catalogue import PHOTO as CONTENT_OF_PHOTO
from tools.catalogue import STORY
from tools.harness.gateway import Answer, Gateway, table_in_memory

BY_NAME = {operation.name: operation for operation in operations.ALL}
OWN_CURSORS = [one for one in LISTS if "beforeCursor" not in one.query_names]
"""The lists whose cursors belong to that list. A cursor of entries is an entry, for any filter."""
FILTERS = [(operation, name) for operation in LISTS for name in filters_of(operation)]

BESIDE: Mapping[str, dict[str, str]] = {"epoch": {"channel": "context"}, "tail": {"limit": "1"}}
"""What a filter needs beside it to have an effect."""
OF_FORKS = {"own"}
"""The filters that leave something out of a fork, and nothing of a root."""
NAMED = {ROOT: "trip", FORK: "trip again"}
"""The names of the planner's that the lists by a name ask for."""
NEEDED = {"userId": "bob"}
"""A value of each other parameter that some list cannot do without. A filter has another value."""
WITHOUT_AUDITOR = {
    "checkHealth": "it asks nothing of the table",
    "listTransfers": "a transfer is between two users",
    "getTransfer": "a transfer is between two users",
    "openLink": "an auditor opens the conversation",
    "listLinkedEntries": "an auditor lists the entries of the conversation",
    "listEntriesByName": "an auditor looks the name up, and lists the entries of its conversation",
}
"""What a user may ask for and an auditor may not, and why."""
NOT_OF_AUDITORS = {
    ("listConversations", "query"): "an auditor finds conversations by their users",
    ("listConversations", "order"): "all trees are listed by creation",
    ("listConversations", "archived"): "what a member has archived is nothing to an auditor",
    ("listConversations", "pinned"): "what a member has pinned is nothing to an auditor",
    ("listEntries", "epoch"): "an auditor sees all epochs",
    ("getAttachment", "conversationId"): "an auditor sees every attachment",
    ("listNames", "prefix"): "an auditor sees the names of all clients, client by client",
}
PHOTO = {name: held for name, held in CONTENT_OF_PHOTO.items() if name != "content"}
OF_AN_AGENT = {"agentId": TEXTS["agentId"], "tags": dict([TEXTS["tag"].split(":")])}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A world in which every filter leaves something out.

    Two pages are left of each list with cursors.
    """
    with table_in_memory() as template:
        os.environ["FORKLORE_DELETED_DAYS"] = "30"
        world = World(Gateway(template, FORKLORE_AUDITORS="aude"))
        world.send(append({**NOTED, "epoch": 6}, agent="planner"))
        by_nobody = {**SAID, "startedByConversationId": ROOT}
        world.send(append(by_nobody, to=conversation_id(73)))
        for number in (71, 72):
            child = {**by_nobody, "startedByEntryId": "<first>"}
            world.send(append(child, to=conversation_id(number)))
            own, other = conversation_id(number + 10), conversation_id(number + 20)
            made = world.send(create({"id": own, "title": "one of Ann"} | OF_AN_AGENT))
            world.made.setdefault("begun", made.json["createdAt"])
            world.send(create({"id": other}, user="bob"))
            for of, user, heir in ((own, "ann", "will"), (other, "bob", "ann")):
                world.send(share({"userId": heir, "accessLevel": "reader"}, of=of, user=user))
                world.send(archive(of=of, user="ann"))
                world.send(pin(of=of, user="ann"))
                offered = offer({"conversationId": of, "newOwnerUserId": heir}, user=user)
                assert world.send(offered).status == 201
        for to, name in [*NAMED.items(), (ROOT, "work")]:
            assert world.send(point(name, to, agent="planner")).status == 200
        for user in ("ann", "bob"):
            for digit in "01":
                uploaded = Ask("POST", "/v1/attachments", {**PHOTO, "sha256": digit * 64}, user=user)
                assert world.send(uploaded).status == 201
        for name in ("one of Bob", "another of Bob"):
            assert world.send(point(name, FOREIGN, user="bob")).status == 200
        for _ in range(2):
            linked = world.send(Ask("POST", f"/v1/conversations/{ROOT}/links", {"allForks": True}))
            world.made["secret"] = linked.json["secret"]
            for of, entry in ((ROOT, "<first>"), (ROOT, "<first>"), (ROOT, "<second>"), (FORK, "<of fork>")):
                noted = Ask("POST", f"/v1/conversations/{of}/entries/{entry}/notes", {"score": 1})
                assert world.send(noted).status == 201
        for number in (101, 102, 103, 104):
            user, deleted = ("ann", "bob")[number % 2], conversation_id(number)
            world.send(create({"id": deleted}, user=user))
            assert world.send(Ask("DELETE", f"/v1/conversations/{deleted}", user=user)).status == 204
        yield world


def point(name: str, to: str, **more: Any) -> Ask:
    return Ask("POST", "/v1/names", {"name": name, "conversationId": to}, **more)


def ask_page(world: World, operation: Operation, query: Mapping[str, Any], *, of: str = ROOT) -> Answer:
    needed = operation.query.model_json_schema().get("required", [])
    usual = {**NEEDED, "name": NAMED[of]}
    given = {**{name: usual[name] for name in needed}, **query}
    spelled = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()
    }
    path = operation.path.replace("{conversationId}", of).replace("{secret}", world.made["secret"])
    user = "aude" if operation.role else "ann"
    agent = None if operation.role else "planner"
    return world.send(Ask("GET", path, query=urlencode(world.named(spelled)), user=user, agent=agent))


@pytest.mark.parametrize(("operation", "name"), FILTERS, ids=lambda one: getattr(one, "name", one))
def test_a_filter_changes_what_is_listed(world: World, operation: Operation, name: str) -> None:
    plain = {"limit": "200"} | BESIDE.get(name, {})
    values = filters_of(operation)[name] or [value_of(name, [])]
    of = FORK if name in OF_FORKS else ROOT
    answers = [ask_page(world, operation, plain | {name: value}, of=of) for value in values]

    assert {answer.status for answer in answers} == {200}, [answer.text for answer in answers]
    everything = ask_page(world, operation, plain, of=of)
    assert everything.status == 200, everything.text
    assert any(answer.json != everything.json for answer in answers), f"{name} is taken and changes nothing"


@pytest.mark.parametrize("operation", OWN_CURSORS, ids=lambda operation: operation.name)
def test_a_cursor_fits_only_the_filters_that_it_was_made_with(world: World, operation: Operation) -> None:
    """Every filter is a part of what the cursor belongs to."""
    filters = {name: value_of(name, words) for name, words in filters_of(operation).items()}
    for plain in ({}, filters):
        cursor = ask_page(world, operation, {**plain, "limit": "1"}).json["afterCursor"]
        assert cursor, "the list has a second page"
        page = {"limit": "1", "afterCursor": cursor}
        assert ask_page(world, operation, plain | page).status == 200
        for name, value in filters.items():
            other = {n: plain[n] for n in plain if n != name} if plain else {name: value}
            refused = ask_page(world, operation, other | page)
            assert (refused.status, refused.code) == (400, "invalid_cursor"), name


def test_the_lists_are_found() -> None:
    assert {one.name for one in OWN_CURSORS} >= {"listConversations", "listTransfers", "listForks"}
    assert {one.name for one in LISTS} - {one.name for one in OWN_CURSORS} == {
        "listEntries",
        "listEntriesByName",
        "listLinkedEntries",
        "adminListEntries",
    }
    assert {("listConversations", "mode"), ("adminListConversations", "userId")} <= {
        (one.name, name) for one, name in FILTERS
    }


def test_an_auditor_can_read_all_that_a_user_can_with_the_same_parameters() -> None:
    own = [one for one in operations.ALL if one.is_read and one.role is None]
    twins = {one.name: BY_NAME.get(f"admin{one.name[0].upper()}{one.name[1:]}") for one in own}
    missing = {
        (one.name, name)
        for one in own
        if (twin := twins[one.name])
        for name in _fields_of(one) - _fields_of(twin)
    }

    assert {name for name, twin in twins.items() if twin is None} == set(WITHOUT_AUDITOR)
    assert missing == set(NOT_OF_AUDITORS)


def _fields_of(operation: Operation) -> set[str]:
    return operation.query_names | {name for body in bodies_of(operation) for name in names_of(body)}


@pytest.mark.parametrize("operation", LISTS, ids=lambda operation: operation.name)
def test_the_story_asks_for_a_list_with_every_filter(operation: Operation) -> None:
    """So each transport and each client sends it."""
    asked = {name for step in STORY if step.operation == operation.name for name in step.given}

    assert set(filters_of(operation)) - asked == set(), "see tools/catalogue.py"


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_the_reference_names_every_operation_and_every_parameter(operation: Operation) -> None:
    """What an auditor's list shares with a user's may be named with the user's."""
    own = operation.name.removeprefix("admin")
    said = reference.said_of(operation.name) + reference.said_of(own[0].lower() + own[1:])

    assert operation.query_names - PAGING <= reference.names_in(said), "see docs/api.md"
    path = operation.path.removeprefix("/v1").replace("/conversations/{conversationId}", "…")
    row = rf"\| `{operation.name}` \| `{operation.method} {re.escape(path)}(\?\w+=)?` \|"
    assert re.search(row, reference.sections()[reference.TABLE])


def test_the_exceptions_are_those_of_parameters_that_there_are() -> None:
    names = {name for _, name in FILTERS}

    assert names >= set(BESIDE)
    assert all(name in BY_NAME[of].query_names for of, name in NOT_OF_AUDITORS)
    assert {name for one in operations.ALL for name in one.query_names} >= PAGING | AUDITED | WITHOUT_EFFECT

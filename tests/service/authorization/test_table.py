"""Who may do what: every route by every kind of caller, for a live and a deleted conversation."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from forklore_service.api import operations
from tests.service.reliability.figures import Measure
from tools.catalogue import CATALOGUE, PHOTO, SAID, SHOWN, Step, card_of
from tools.harness.gateway import Answer, Gateway, table_in_memory
from tools.harness.sample_events import request_of

TABLE = Path(__file__).with_name("table.txt")
USERS = {
    "stranger": "stan",
    "reader": "rita",
    "writer": "will",
    "manager": "mia",
    "owner": "ann",
    "former": "fred",
    "parent-former": "pia",
    "parent-only": "paul",
    "other-client": "otto",
    "auditor": "aude",
    "admin": "adam",
}
"""The callers with good credentials, by kind."""
LEVELS = {
    "rita": "reader",
    "will": "writer",
    "mia": "manager",
    "fred": "writer",
    "otto": "writer",
    "pia": "writer",
}
KINDS_MIN = 13
"""The check `who-may-what` of docs/reliability.md promises at least this many kinds of caller."""
BOUND, OTHER = "planner", "coder"
NAMED = [one.operation for one in CATALOGUE.values() if "name" in one.sample.given]
"""The operations on names. Each has a name of its own, which the owner gives the conversation."""
numbers = itertools.count(1)


def fresh() -> str:
    """Return an id that no conversation has."""
    return f"{next(numbers):08x}-0000-4000-8000-000000000000"


def read_table() -> tuple[list[str], dict[str, list[tuple[str, str]]]]:
    """Return the kinds of callers, and for each row their two cells: (live, deleted)."""
    lines = [line.split("|") for line in TABLE.read_text().splitlines() if line[:1] != "#"]
    rows: dict[str, list[tuple[str, str]]] = {}
    for name, cells in lines[1:]:
        assert name.strip() not in rows, f"{name} twice"
        rows[name.strip()] = [(live, gone) for live, _, gone in (one.partition("/") for one in cells.split())]
    return lines[0][1].split(), rows


KINDS, ROWS = read_table()
BY_NAME = {operation.name: operation for operation in operations.ROUTES}
CARDS = {name: card_of(name) for name in BY_NAME}
"""The card of each route."""


def expected(operation: str, *, deleted: bool) -> dict[str, set[int]]:
    """Return by kind the statuses that the table accepts."""
    good = {BY_NAME[operation].status, *BY_NAME[operation].also}
    cells = (cell[deleted] for cell in ROWS[CARDS[operation].may])
    return {kind: good if cell == "good" else {int(cell)} for kind, cell in zip(KINDS, cells, strict=True)}


@dataclass(frozen=True)
class Tree:
    """A child with members of every kind. transfer: the pending transfer's id, or an unused id.

    erasure: the id of an erasure of somebody else. answer: that of the owner's open answer.
    photo: that of an attachment. link, secret: of a link for readers. note: by the owner.
    """

    conversation: str
    transfer: str
    erasure: str
    entry: str = ""
    answer: str = ""
    photo: str = ""
    link: str = ""
    secret: str = ""
    note: str = ""

    def asked(self, operation: str) -> Step:
        """Return the sample of the operation's card, for this tree."""
        names = {
            **dict.fromkeys(("root", "fork", "child", "copy"), self.conversation),
            **dict.fromkeys(("first", "second", "noted"), self.entry),
            "transfer": self.transfer,
            "erasure": self.erasure,
            "answer": self.answer,
            "photo": self.photo,
            "link": self.link,
            "secret": self.secret,
            "note": self.note,
        }
        sample = CARDS[operation].sample.named(names)
        given = {name: held for name, held in sample.given.items() if name != "idempotencyKey"}
        return replace(sample, given=given | ({"name": sample.operation} if "name" in given else {}))


class World:
    """The service with a table of its own."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def send(self, method: str, path: str, **what: Any) -> Answer:
        return self._gateway.send(method, path, **what)

    def made(self, method: str, path: str, **what: Any) -> Answer:
        answer = self.send(method, path, **what)
        assert answer.status < 300, answer.text
        return answer

    def plant(self, *, with_transfer: bool, with_answer: bool) -> Tree:
        """Make a child conversation with members of every kind."""
        parent, child = fresh(), fresh()
        self.made("POST", "/v1/conversations", body={"id": parent}, agent=BOUND)
        for user, level in {**LEVELS, "bob": "reader", "nora": "reader"}.items():
            self._share(parent, user, level)
        started = {**SAID, "startedByConversationId": parent, "key": "k 1"}
        entry = self.made("POST", f"/v1/conversations/{child}/entries", body=started, agent=BOUND).json["id"]
        self.made("DELETE", f"/v1/conversations/{child}/memberships", query="userId=fred")
        self.made("DELETE", f"/v1/conversations/{parent}/memberships", query="userId=pia")
        self._share(parent, "paul", "manager")
        for name in NAMED:
            self.made("POST", "/v1/names", body={"name": name, "conversationId": child})
        somebody = {"userId": "somebody"}
        erasure = self.made("POST", "/v1/admin/erasures", body=somebody, user="adam").json["id"]
        only = PHOTO | {"contentType": f"image/{fresh()}"}  # no other tree names it
        photo = self.made("POST", "/v1/attachments", body=only).json["id"]
        shows = Step("appendEntry", SHOWN).named({"photo": photo}).given
        self.made("POST", f"/v1/conversations/{child}/entries", body=shows)
        link = self.made("POST", f"/v1/conversations/{child}/links", body={"keepOnTransfer": True}).json
        note = self.made("POST", f"/v1/conversations/{child}/entries/{entry}/notes", body={"score": 1}).json
        tree = Tree(child, fresh(), erasure, entry, fresh(), photo, link["id"], link["secret"], note["id"])
        if with_answer:
            begun = self.made("POST", f"/v1/conversations/{child}/answers", agent=BOUND)
            tree = replace(tree, answer=begun.json["id"])
        if with_transfer:
            offer = {"conversationId": child, "newOwnerUserId": "mia"}
            transfer = self.made("POST", "/v1/ownership-transfers", body=offer).json["id"]
            tree = replace(tree, transfer=transfer)
        return tree

    def _share(self, conversation: str, user: str, level: str) -> None:
        body = {"userId": user, "accessLevel": level}
        self.made("POST", f"/v1/conversations/{conversation}/memberships", body=body)

    def call(self, operation: str, kind: str, tree: Tree) -> Answer:
        """Send the operation's request as a caller of the kind."""
        step = tree.asked(operation)
        agent = OTHER if kind == "other-client" else step.agent
        request = request_of(BY_NAME[operation], step.given)
        if kind == "bad-token":
            request["headers"].append(("Authorization", "Bearer "))
        return self.send(**request, user=USERS.get(kind), agent=agent)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with table_in_memory() as template:
        yield World(Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude"))


class Live:
    """Live trees."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: dict[tuple[bool, bool], Tree] = {}

    def tree_for(self, operation: str) -> Tree:
        """Return a live tree. No request has changed who may do what."""
        names = BY_NAME[operation].path_names
        needs = "transferId" in names, "answerId" in names
        if needs not in self._kept:
            self._kept[needs] = self._world.plant(with_transfer=needs[0], with_answer=needs[1])
        return self._kept[needs]

    def note(self, operation: str, answer: Answer) -> None:
        """Make new trees if the answered request has changed the last one."""
        if answer.status < 300 and not (BY_NAME[operation].is_read or CARDS[operation].only_adds):
            self._kept.clear()


@pytest.fixture(scope="module")
def live(world: World) -> Live:
    return Live(world)


@pytest.fixture(scope="module")
def deleted(world: World) -> Tree:
    """A deleted tree that had a pending transfer, and an answer."""
    tree = world.plant(with_transfer=True, with_answer=True)
    world.made("DELETE", f"/v1/conversations/{tree.conversation}")
    return tree


def test_the_table_has_every_route_and_every_kind_of_caller(measure: Measure) -> None:
    assert {one.may for one in CARDS.values()} == ROWS.keys()
    assert ["anonymous", "bad-token", *USERS] == KINDS
    assert len(KINDS) >= KINDS_MIN
    assert all(len(row) == len(KINDS) for row in ROWS.values())
    measure.count(routes=len(CARDS), kinds=len(KINDS), cells=2 * len(CARDS) * len(KINDS))


@pytest.mark.parametrize("operation", BY_NAME)
def test_each_kind_of_caller_gets_the_status_of_the_table_for_a_live_conversation(
    world: World, live: Live, operation: str
) -> None:
    answered = {}
    for kind in KINDS:
        tree = live.tree_for(operation)
        if operation == "createConversation":
            tree = Tree(fresh(), fresh(), fresh())
        answer = world.call(operation, kind, tree)
        answered[kind] = answer.status
        live.note(operation, answer)

    assert wrong(answered, expected(operation, deleted=False)) == {}


@pytest.mark.parametrize("operation", sorted(BY_NAME, key="adminRemoveAttachment".__eq__))  # the last one
def test_each_kind_of_caller_gets_the_status_of_the_table_for_a_deleted_one(
    world: World, deleted: Tree, operation: str
) -> None:
    answered = {kind: world.call(operation, kind, deleted).status for kind in KINDS}

    assert wrong(answered, expected(operation, deleted=True)) == {}


def wrong(answered: Mapping[str, int], accepted: Mapping[str, set[int]]) -> dict[str, int]:
    """Return the kinds of callers who got another status than the table says, with that status."""
    return {kind: status for kind, status in answered.items() if status not in accepted[kind]}


@pytest.mark.failure("foreign-id")
@pytest.mark.parametrize("kind", ["stranger", "former", "parent-former", "parent-only"])
def test_a_refusal_contains_nothing_of_the_conversation(world: World, live: Live, kind: str) -> None:
    """No refusal contains data of another tenant."""
    tree = live.tree_for("getConversation")
    texts = [
        answer.text
        for answer in (world.call(operation, kind, tree) for operation in BY_NAME)
        if answer.status in (403, 404)
    ]

    assert texts
    assert not any("ann" in text or "hello" in text or "planner" in text for text in texts)

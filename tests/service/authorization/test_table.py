"""Who may do what: every route by every kind of caller, for a live and a deleted conversation."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forklore_service.api import operations
from tests.service.reliability.figures import Measure
from tools.harness.gateway import Answer, Gateway, table_in_memory
from tools.harness.sample_events import sample_event

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
SAID = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hello"}]}
NAMES = ("named", "appended to", "deleted", "deleted by an admin")
"""Names that the owner gives to the conversation."""
QUERIES = {
    "lookUpEntry": "key=k",
    "adminLookUpEntry": "key=k",
    "lookUpName": "name=named",
    "listEntriesByName": "name=named",
    "deleteName": "name=deleted",
    "adminListNames": "userId=ann",
    "adminLookUpName": "userId=ann&name=named",
    "adminDeleteName": "userId=ann&name=deleted%20by%20an%20admin",
}
ONLY_ADD = {
    "updateConversation",
    "forkConversation",
    "promoteConversation",
    "appendEntry",
    "syncContext",
    "mergeConversation",
    "copyConversation",
    "archiveConversation",
    "unarchiveConversation",
    "setName",
    "appendEntryByName",
}
"""Writes after which every other caller still gets the same status."""
numbers = itertools.count(1)


def fresh() -> str:
    """Return an id that no conversation has."""
    return f"{next(numbers):08x}-0000-4000-8000-000000000000"


def read_table() -> tuple[list[str], dict[str, dict[str, tuple[int, int]]]]:
    """Return the kinds of callers, and by operation and kind the two statuses: (live, deleted)."""
    lines = [line.split() for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    kinds = lines[0][1:]
    rows: dict[str, dict[str, tuple[int, int]]] = {}
    for name, *cells in lines[1:]:
        assert name not in rows, f"{name} twice"
        statuses = [cell.split("/") for cell in cells]
        rows[name] = dict(zip(kinds, ((int(live), int(gone)) for live, gone in statuses), strict=True))
    return kinds, rows


KINDS, ROWS = read_table()
BY_NAME = {operation.name: operation for operation in operations.ROUTES}


@dataclass(frozen=True)
class Tree:
    """A child with members of every kind. transfer: the pending transfer's id, or an unused id.

    erasure: the id of an erasure of somebody else.
    """

    conversation: str
    transfer: str
    erasure: str
    entry: str = ""

    def path_of(self, operation: str) -> str:
        names = {
            "conversationId": self.conversation,
            "userId": "tess",
            "transferId": self.transfer,
            "entryId": self.entry,
            "erasureId": self.erasure,
        }
        return BY_NAME[operation].path.format(**names)

    def query_of(self, operation: str) -> str:
        if operation in QUERIES:
            return QUERIES[operation]
        if "with" in BY_NAME[operation].query_names:
            return f"with={self.conversation}"
        of_member = "userId" in BY_NAME[operation].query_names and not BY_NAME[operation].role
        return "userId=tess" if of_member else ""

    def body_of(self, operation: str) -> Any:
        """Return the body of the sample event, where no other is needed here."""
        plain: Mapping[str, Any] = {
            "createConversation": {"id": self.conversation},
            "appendEntry": SAID,
            "syncContext": {"contentType": "x", "content": [next(numbers)]},
            "forkConversation": {},
            "setName": {"name": "a name", "conversationId": self.conversation},
            "appendEntryByName": {**SAID, "name": "appended to"},
            "mergeConversation": {"fromConversationId": self.conversation},
            "copyConversation": {},
            "shareConversation": {"userId": "nora", "accessLevel": "reader"},
            "updateMembership": {"accessLevel": "writer"},
            "updateMembershipByPath": {"accessLevel": "writer"},
            "requestTransfer": {"conversationId": self.conversation, "newOwnerUserId": "mia"},
        }
        sample = sample_event(operation).get("body")
        return plain.get(operation, sample and json.loads(sample))


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

    def plant(self, *, with_transfer: bool) -> Tree:
        """Make a child conversation with members of every kind."""
        parent, child = fresh(), fresh()
        self.made("POST", "/v1/conversations", body={"id": parent}, agent=BOUND)
        for user, level in {**LEVELS, "tess": "reader"}.items():
            self._share(parent, user, level)
        started = {**SAID, "startedByConversationId": parent, "key": "k"}
        entry = self.made("POST", f"/v1/conversations/{child}/entries", body=started, agent=BOUND).json["id"]
        self.made("DELETE", f"/v1/conversations/{child}/memberships", query="userId=fred")
        self.made("DELETE", f"/v1/conversations/{parent}/memberships", query="userId=pia")
        self._share(parent, "paul", "manager")
        for name in NAMES:
            self.made("POST", "/v1/names", body={"name": name, "conversationId": child})
        somebody = {"userId": "somebody"}
        erasure = self.made("POST", "/v1/admin/erasures", body=somebody, user="adam").json["id"]
        if not with_transfer:
            return Tree(child, fresh(), erasure, entry)
        offer = {"conversationId": child, "newOwnerUserId": "mia"}
        transfer = self.made("POST", "/v1/ownership-transfers", body=offer).json["id"]
        return Tree(child, transfer, erasure, entry)

    def _share(self, conversation: str, user: str, level: str) -> None:
        body = {"userId": user, "accessLevel": level}
        self.made("POST", f"/v1/conversations/{conversation}/memberships", body=body)

    def call(self, operation: str, kind: str, tree: Tree) -> Answer:
        """Send the operation's request as a caller of the kind."""
        agent = BOUND if operation == "syncContext" else None
        agent = OTHER if kind == "other-client" else agent
        headers = [("Authorization", "Bearer ")] if kind == "bad-token" else []
        return self.send(
            BY_NAME[operation].method,
            tree.path_of(operation),
            query=tree.query_of(operation),
            user=USERS.get(kind),
            agent=agent,
            body=tree.body_of(operation),
            headers=headers,
        )


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with table_in_memory() as template:
        yield World(Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude"))


class Live:
    """Live trees."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: dict[bool, Tree] = {}

    def tree_for(self, operation: str) -> Tree:
        """Return a live tree. No request has changed who may do what."""
        with_transfer = operation in ("getTransfer", "deleteTransfer", "acceptTransfer")
        if with_transfer not in self._kept:
            self._kept[with_transfer] = self._world.plant(with_transfer=with_transfer)
        return self._kept[with_transfer]

    def note(self, operation: str, answer: Answer) -> None:
        """Make new trees if the answered request has changed the last one."""
        if answer.status < 300 and not (BY_NAME[operation].is_read or operation in ONLY_ADD):
            self._kept.clear()


@pytest.fixture(scope="module")
def live(world: World) -> Live:
    return Live(world)


@pytest.fixture(scope="module")
def deleted(world: World) -> Tree:
    """A deleted tree that had a pending transfer."""
    tree = world.plant(with_transfer=True)
    world.made("DELETE", f"/v1/conversations/{tree.conversation}")
    return tree


def test_the_table_has_every_route_and_every_kind_of_caller(measure: Measure) -> None:
    assert ROWS.keys() == BY_NAME.keys()
    assert ["anonymous", "bad-token", *USERS] == KINDS
    assert len(KINDS) >= KINDS_MIN
    assert all(row.keys() == set(KINDS) for row in ROWS.values())
    measure.count(routes=len(ROWS), kinds=len(KINDS), cells=2 * len(ROWS) * len(KINDS))


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

    assert answered == {kind: statuses[0] for kind, statuses in ROWS[operation].items()}


@pytest.mark.parametrize("operation", BY_NAME)
def test_each_kind_of_caller_gets_the_status_of_the_table_for_a_deleted_one(
    world: World, deleted: Tree, operation: str
) -> None:
    answered = {kind: world.call(operation, kind, deleted).status for kind in KINDS}

    assert answered == {kind: statuses[1] for kind, statuses in ROWS[operation].items()}


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

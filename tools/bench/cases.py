"""The requests that are measured: every operation of the API, each with its floor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forklore.domain.model import Caller
from forklore.fsck.shapes import Kind
from tools.bench.shapes import ADMIN, ANN, BASE, BATCH_ENTRIES, BOB, PLANNER, Shape, World
from tools.harness.service import OPERATIONS

PAGE, ROWS = 50, 20
LARGE_BYTES = 200_000
"""The size of a text that does not fit into its entry's item."""

E, C, P, H, M = Kind.ENTRY, Kind.CONV, Kind.PATH, Kind.HEAD, Kind.MEM


@dataclass(frozen=True)
class Floor:
    """The smallest cost of the same result on DynamoDB, without forklore's guarantees.

    writes: the kinds of items that hold the result. Each is written on its own, without a
    transaction. reads: the kinds of items that hold what is shown. One Query reads those that are
    shown. requests: how many requests that takes.
    """

    writes: frozenset[Kind] = frozenset()
    reads: frozenset[Kind] = frozenset()
    requests: int = 1


def puts(*kinds: Kind, requests: int = 1) -> Floor:
    return Floor(writes=frozenset(kinds), requests=requests)


def shows(*kinds: Kind, requests: int = 1) -> Floor:
    return Floor(reads=frozenset(kinds), requests=requests)


class Knows(Enum):
    """What a process has done before. It always knows the time."""

    NOTHING = "nothing"
    READ = "read the conversation"
    DONE = "done the same"


@dataclass(frozen=True)
class Case:
    """A request to measure.

    given: makes what the request needs, in another process, and returns its fields. knows: what the
    process has done before, for this caller. key: whether the request has an Idempotency-Key.
    needs: the axis of the shape that must not be 0. base_only: measured on the base shape only,
    because it runs the same code as another case. is_end: deletes the tree.
    """

    operation: str
    given: Callable[[World], Mapping[str, Any]]
    floor: Floor
    caller: Caller = ANN
    knows: Knows = Knows.NOTHING
    key: bool = False
    needs: str | None = None
    base_only: bool = False
    is_end: bool = False

    def __post_init__(self) -> None:
        assert self.operation in OPERATIONS

    @property
    def is_read(self) -> bool:
        return OPERATIONS[self.operation].method == "GET"

    def suits(self, shape: Shape) -> bool:
        """Tell whether the case is measured on this shape."""
        return (not self.base_only or shape == BASE) and (
            self.needs is None or getattr(shape, self.needs) > 0
        )


def subject(world: World) -> dict[str, Any]:
    return {"conversationId": world.subject}


def fork(world: World) -> dict[str, Any]:
    """Return a fork of the root, in the middle of the others."""
    return {"conversationId": world.forks[len(world.forks) // 2]}


def middle(world: World) -> str:
    return world.entry_ids[len(world.entry_ids) // 2]


def _append(
    of: Callable[[World], dict[str, Any]] = subject, **more: Any
) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**of(world), **world.said(), **more}


def _context(world: World) -> dict[str, Any]:
    return {**subject(world), **world.thought()}


def _sync(world: World) -> dict[str, Any]:
    """Return a sync that adds one text to the latest epoch, which holds ROWS texts."""
    known = [world.texts.of(world.shape.entry_bytes) for _ in range(ROWS)]
    sync = {**subject(world), "contentType": "note"}
    world.ask("syncContext", PLANNER, **sync, content=known)
    return {**sync, "content": [*known, world.texts.of(world.shape.entry_bytes)]}


def _shared(level: str | None = None) -> Callable[[World], dict[str, Any]]:
    """Return a request about a user who has just become a member."""

    def given(world: World) -> dict[str, Any]:
        user = world.new_id()
        world.ask("shareConversation", **subject(world), userId=user, accessLevel="writer")
        return {**subject(world), "userId": user, **({"accessLevel": level} if level else {})}

    return given


def _offered(world: World) -> dict[str, Any]:
    """Return a request about the only pending transfer."""
    offer = {"conversationId": _small(world), "newOwnerUserId": "bob"}
    return {"transferId": world.ask("requestTransfer", ANN, **offer).id}


def _offers(world: World) -> dict[str, Any]:
    _offered(world)
    return {"role": "all"}


def _offer(world: World) -> dict[str, Any]:
    return {"conversationId": _small(world), "newOwnerUserId": "bob"}


def _small(world: World) -> str:
    """Make a tree of one entry, with bob as a member; return its id."""
    made = world.new_id()
    world.ask("appendEntry", conversationId=made, **world.said())
    world.ask("shareConversation", conversationId=made, userId="bob", accessLevel="writer")
    return made


def _branch(world: World, **more: Any) -> str:
    """Fork the root at its head, and append to the fork; return its id."""
    made = world.new_id()
    world.ask("forkConversation", **subject(world), id=made, **more)
    world.ask("appendEntry", conversationId=made, **world.said())
    return made


def _new(world: World) -> dict[str, Any]:
    return {"id": world.new_id()}


def _page(of: Callable[[World], dict[str, Any]] = subject, **query: Any) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**of(world), "limit": PAGE, **query}


def _rows(**query: Any) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**subject(world), "limit": ROWS, **query}


CASES: dict[str, Case] = {
    "append": Case("appendEntry", _append(), puts(E), knows=Knows.READ),
    "append, cold": Case("appendEntry", _append(), puts(E)),
    "append, with a key": Case("appendEntry", _append(), puts(E), knows=Knows.READ, key=True),
    "append, other member": Case("appendEntry", _append(), puts(E), caller=BOB, knows=Knows.READ),
    "append, to a fork": Case("appendEntry", _append(fork), puts(E), knows=Knows.READ, needs="forks"),
    "append, to a fork, cold": Case("appendEntry", _append(fork), puts(E), needs="forks"),
    "append, context": Case("appendEntry", _context, puts(E), caller=PLANNER, knows=Knows.DONE),
    "append, context, cold": Case("appendEntry", _context, puts(E), caller=PLANNER),
    f"append, {BATCH_ENTRIES} at once": Case(
        "appendEntry",
        lambda world: {**subject(world), "entries": [world.said() for _ in range(BATCH_ENTRIES)]},
        puts(E, requests=2),
        knows=Knows.READ,
    ),
    "append, 200 KB": Case(
        "appendEntry",
        lambda world: {**subject(world), **world.said(LARGE_BYTES)},
        puts(E, Kind.BLOB),
        knows=Knows.READ,
    ),
    "append, to a new conversation": Case(
        "appendEntry", _append(lambda world: {"conversationId": world.new_id()}), puts(E, C)
    ),
    "append, to a new fork": Case(
        "appendEntry",
        lambda world: {
            "conversationId": world.new_id(),
            "forkedAtConversationId": world.subject,
            "forkedAtEntryId": middle(world),
            **world.said(),
        },
        puts(E, C, P),
    ),
    "append, to a new child": Case(
        "appendEntry",
        lambda world: {
            "conversationId": world.new_id(),
            "startedByConversationId": world.subject,
            **world.said(),
        },
        puts(E, C, M),
    ),
    "sync": Case("syncContext", _sync, puts(E), caller=PLANNER),
    "create": Case("createConversation", _new, puts(C)),
    "fork, before an entry": Case(
        "forkConversation", lambda world: {**subject(world), "atEntryId": middle(world)}, puts(C, P)
    ),
    "fork, at the head": Case("forkConversation", subject, puts(C, P)),
    "fork, of a fork": Case("forkConversation", fork, puts(C, P), needs="forks"),
    "show": Case("getConversation", subject, shows(C, H)),
    "change": Case("updateConversation", lambda world: {**subject(world), "title": "new"}, puts(C)),
    "newest page": Case("listEntries", _page(tail=True), shows(E)),
    "newest page, warm": Case("listEntries", _page(tail=True), shows(E), knows=Knows.READ),
    "newest page, of a fork": Case("listEntries", _page(fork, tail=True), shows(E), needs="forks"),
    "newest page, of a fork, warm": Case(
        "listEntries", _page(fork, tail=True), shows(E), knows=Knows.READ, needs="forks"
    ),
    "newest page, an agent's": Case("listEntries", _page(tail=True), shows(E), caller=PLANNER),
    "first page": Case("listEntries", _page(), shows(E)),
    "page after a cursor": Case(
        "listEntries",
        lambda world: {**subject(world), "limit": PAGE, "afterCursor": middle(world)},
        shows(E),
    ),
    "page, all forks": Case("listEntries", _page(allForks=True), shows(E)),
    "latest epoch": Case("listEntries", _page(channel="context"), shows(E), caller=PLANNER),
    "forks": Case("listForks", _rows(), shows(C)),
    "children": Case("listChildren", _rows(), shows(C)),
    "members": Case("listMemberships", _rows(), shows(M)),
    "conversations, roots": Case("listConversations", lambda _: {"mode": "roots", "limit": ROWS}, shows(C)),
    "conversations, latest forks": Case("listConversations", lambda _: {"limit": ROWS}, shows(C)),
    "conversations, all": Case("listConversations", lambda _: {"mode": "all", "limit": ROWS}, shows(C)),
    "share": Case(
        "shareConversation",
        lambda world: {**subject(world), "userId": world.new_id(), "accessLevel": "writer"},
        puts(M),
    ),
    "change a member": Case("updateMembership", _shared("manager"), puts(M)),
    "remove a member": Case("removeMembership", _shared(), puts(M)),
    "offer": Case("requestTransfer", _offer, puts(Kind.XFER)),
    "offers": Case("listTransfers", _offers, shows(Kind.XFER)),
    "show an offer": Case("getTransfer", _offered, shows(Kind.XFER)),
    "withdraw an offer": Case("deleteTransfer", _offered, puts(Kind.XFER)),
    "accept an offer": Case("acceptTransfer", _offered, puts(M), caller=BOB),
    "delete": Case("deleteConversation", lambda world: {"conversationId": _small(world)}, puts(Kind.GROUP)),
    "delete a branch": Case(
        "deleteConversation",
        lambda world: {"conversationId": _branch(world), "scope": "branch"},
        puts(Kind.GROUP, Kind.GONE, Kind.JOB),
    ),
    "delete a branch, the current one": Case(
        "deleteConversation",
        lambda world: {"conversationId": _branch(world, promote=True), "scope": "branch"},
        puts(Kind.GROUP, Kind.GONE, Kind.JOB),
    ),
    "delete, all": Case("deleteConversation", subject, puts(Kind.GROUP), is_end=True),
    "health": Case("checkHealth", lambda _: {}, Floor(requests=0)),
    "admin: conversations": Case(
        "adminListConversations", lambda _: {"limit": ROWS}, shows(C), caller=ADMIN, base_only=True
    ),
    "admin: show": Case("adminGetConversation", subject, shows(C, H), caller=ADMIN, base_only=True),
    "admin: newest page": Case("adminListEntries", _page(tail=True), shows(E), caller=ADMIN, base_only=True),
    "admin: members": Case("adminListMemberships", _rows(), shows(M), caller=ADMIN, base_only=True),
    "admin: forks": Case("adminListForks", _rows(), shows(C), caller=ADMIN, base_only=True),
    "admin: children": Case("adminListChildren", _rows(), shows(C), caller=ADMIN, base_only=True),
    "admin: delete": Case(
        "adminDeleteConversation",
        lambda world: {"conversationId": _small(world)},
        puts(Kind.GROUP),
        caller=ADMIN,
        base_only=True,
    ),
}
"""The cases, in the order in which the tables show them."""

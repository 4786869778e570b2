"""The requests that are measured: every operation of the API, each with its floor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forklore.api.fields import FORKS_AT_ONCE
from forklore.domain.model import Caller
from forklore.fsck.shapes import Kind
from tools.bench.shapes import ADMIN, ANN, BASE, BATCH_ENTRIES, BOB, PLANNER, Shape, World
from tools.harness.service import OPERATIONS

PAGE, ROWS = 50, 20
NAME = "trip"
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
        return OPERATIONS[self.operation].is_read

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


def _turn(world: World, **more: Any) -> dict[str, Any]:
    """Return an append whose present context adds one text to the latest epoch of ROWS texts."""
    context = {"contentType": "note", "content": _sync(world)["content"]}
    return {**subject(world), **world.said(), "context": context, **more}


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


def _erasure(world: World) -> dict[str, Any]:
    """Return a request about an erasure that waits for the worker."""
    return {"erasureId": world.ask("adminEraseUser", ADMIN, userId=world.new_id()).body["id"]}


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


def _named(world: World, **more: Any) -> dict[str, Any]:
    """Return a request about a name that points to the subject."""
    world.ask("setName", name=NAME, **subject(world))
    return {"name": NAME, **more}


def _by_name(world: World) -> dict[str, Any]:
    return _named(world, **world.said())


def _names(world: World) -> dict[str, Any]:
    """Return a list of ROWS names."""
    for number in range(ROWS):
        world.ask("setName", name=f"name {number}", **subject(world))
    return {"limit": ROWS}


def _keyed(world: World) -> dict[str, Any]:
    """Return a request about an entry that has a key."""
    key = world.new_id()
    world.ask("appendEntry", **subject(world), **world.said(), key=key)
    return {**subject(world), "key": key}


def _of_ann(given: Callable[[World], dict[str, Any]]) -> Callable[[World], dict[str, Any]]:
    return lambda world: {"userId": ANN.user_id, **given(world)}


def _new(world: World) -> dict[str, Any]:
    return {"id": world.new_id()}


def _page(of: Callable[[World], dict[str, Any]] = subject, **query: Any) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**of(world), "limit": PAGE, **query}


def _rows(**query: Any) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**subject(world), "limit": ROWS, **query}


def _compared(world: World) -> dict[str, Any]:
    """Return a comparison of the subject with a fork at its first entry, of PAGE entries."""
    made = {"conversationId": world.new_id(), "forkedAtConversationId": world.subject}
    entries = [world.said() for _ in range(PAGE)]
    world.ask("appendEntry", ANN, **made, forkedAtEntryId=world.entry_ids[0], entries=entries)
    return {"conversationId": made["conversationId"], "with": world.subject, "limit": PAGE}


def _merged(world: World) -> dict[str, Any]:
    """Return a merge of ROWS entries of a new fork."""
    branch = world.ask("forkConversation", **subject(world)).id
    world.ask("appendEntry", conversationId=branch, entries=[world.said() for _ in range(ROWS)])
    return {**subject(world), "fromConversationId": branch}


def _copied(count: int) -> Callable[[World], dict[str, Any]]:
    """Return a copy of a new conversation of so many entries."""

    def given(world: World) -> dict[str, Any]:
        made = world.new_id()
        for at in range(0, count, PAGE):
            entries = [world.said() for _ in range(min(PAGE, count - at))]
            world.ask("appendEntry", conversationId=made, entries=entries)
        return {"conversationId": made}

    return given


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
    "append, by a name": Case("appendEntryByName", _by_name, puts(E, Kind.NAME), knows=Knows.DONE),
    "append, by a name, cold": Case("appendEntryByName", _by_name, puts(E, Kind.NAME)),
    "append, by a new name": Case(
        "appendEntryByName",
        lambda world: {"name": world.new_id(), **world.said()},
        puts(E, C, Kind.NAME),
    ),
    "append, with a key of its own": Case(
        "appendEntry",
        lambda world: {**subject(world), **world.said(), "key": world.new_id()},
        puts(E, Kind.KEY),
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
    "append with context": Case("appendEntry", _turn, puts(E, E), caller=PLANNER, knows=Knows.READ),
    "append with context, cold": Case("appendEntry", _turn, puts(E, E), caller=PLANNER),
    "append with context, to a new fork": Case(
        "appendEntry",
        lambda world: _turn(
            world,
            conversationId=world.new_id(),
            forkedAtConversationId=world.subject,
            forkedAtPosition="head",
        ),
        puts(E, E, C, P),
        caller=PLANNER,
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
    "fork, at the head, that moves a name": Case(
        "forkConversation",
        lambda world: {**subject(world), "name": _named(world)},
        puts(C, P, Kind.NAME),
    ),
    "fork, before an entry, that moves a name": Case(
        "forkConversation",
        lambda world: {**subject(world), "atEntryId": middle(world), "name": _named(world)},
        puts(C, P, Kind.NAME),
    ),
    "fork, at a key": Case(
        "forkConversation",
        lambda world: {**subject(world), "atKey": _keyed(world)["key"]},
        puts(C, P),
    ),
    "fork, 10 at once": Case(
        "forkConversation",
        lambda world: {**subject(world), "atEntryId": middle(world), "count": FORKS_AT_ONCE},
        puts(C, P, requests=2),
    ),
    "promote": Case("promoteConversation", fork, puts(Kind.GROUP), knows=Knows.READ, needs="forks"),
    "promote, other member": Case(
        "promoteConversation", fork, puts(Kind.GROUP), caller=BOB, knows=Knows.READ, needs="forks"
    ),
    "promote, cold": Case("promoteConversation", fork, puts(Kind.GROUP), needs="forks"),
    "append, a summary": Case(
        "appendEntry",
        lambda world: {**_append()(world), "mergedFromConversationId": fork(world)["conversationId"]},
        puts(E),
        knows=Knows.READ,
        needs="forks",
    ),
    f"merge, {ROWS} entries": Case("mergeConversation", _merged, puts(E, requests=2)),
    f"copy, {ROWS} entries": Case("copyConversation", _copied(ROWS), puts(E, C, M)),
    f"copy, {3 * PAGE} entries": Case("copyConversation", _copied(3 * PAGE), puts(E, C, M), base_only=True),
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
    "newest page, with alternatives": Case("listEntries", _page(tail=True, alternatives=True), shows(E)),
    "first page, with alternatives": Case("listEntries", _page(alternatives=True), shows(E)),
    "newest page, of a fork, with alternatives": Case(
        "listEntries", _page(fork, tail=True, alternatives=True), shows(E), needs="forks"
    ),
    "own entries": Case("listEntries", _page(fork, own=True), shows(E), needs="forks"),
    "show an entry": Case("getEntry", lambda world: {**subject(world), "entryId": middle(world)}, shows(E)),
    "compare": Case("compareConversations", _compared, shows(E, requests=2)),
    "ancestors": Case("listAncestors", subject, shows(C, E)),
    "latest epoch": Case("listEntries", _page(channel="context"), shows(E), caller=PLANNER),
    "forks": Case("listForks", _rows(), shows(C)),
    "children": Case("listChildren", _rows(), shows(C)),
    "members": Case("listMemberships", _rows(), shows(M)),
    "conversations, roots": Case("listConversations", lambda _: {"mode": "roots", "limit": ROWS}, shows(C)),
    "conversations, current": Case(
        "listConversations", lambda _: {"mode": "current", "limit": ROWS}, shows(C)
    ),
    "conversations, latest forks": Case("listConversations", lambda _: {"limit": ROWS}, shows(C)),
    "conversations, all": Case("listConversations", lambda _: {"mode": "all", "limit": ROWS}, shows(C)),
    "search, a page": Case("searchConversations", lambda _: {"query": "their", "limit": ROWS}, shows(E)),
    "search, nothing found": Case("searchConversations", lambda _: {"query": "0"}, Floor()),
    "entry of a key": Case("lookUpEntry", _keyed, shows(E), knows=Knows.READ),
    "entry of a key, cold": Case("lookUpEntry", _keyed, shows(E)),
    "newest page, by a name": Case("listEntriesByName", lambda w: _named(w, tail=True, limit=PAGE), shows(E)),
    "move a name": Case("setName", lambda w: {**_named(w), **subject(w)}, puts(Kind.NAME)),
    "make a name": Case("setName", lambda w: {"name": w.new_id(), **subject(w)}, puts(Kind.NAME)),
    "names": Case("listNames", _names, shows(Kind.NAME)),
    "show a name": Case("lookUpName", _named, shows(Kind.NAME)),
    "delete a name": Case("deleteName", _named, puts(Kind.NAME)),
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
    "admin: search": Case(
        "adminSearchConversations",
        lambda _: {"query": "their", "limit": ROWS},
        shows(E),
        caller=ADMIN,
        base_only=True,
    ),
    "admin: show": Case("adminGetConversation", subject, shows(C, H), caller=ADMIN, base_only=True),
    "admin: newest page": Case("adminListEntries", _page(tail=True), shows(E), caller=ADMIN, base_only=True),
    "admin: show an entry": Case(
        "adminGetEntry",
        lambda world: {**subject(world), "entryId": middle(world)},
        shows(E),
        caller=ADMIN,
        base_only=True,
    ),
    "admin: compare": Case(
        "adminCompareConversations", _compared, shows(E, requests=2), caller=ADMIN, base_only=True
    ),
    "admin: ancestors": Case("adminListAncestors", subject, shows(C, E), caller=ADMIN, base_only=True),
    "admin: entry of a key": Case("adminLookUpEntry", _keyed, shows(E), caller=ADMIN, base_only=True),
    "admin: names": Case("adminListNames", _of_ann(_names), shows(Kind.NAME), caller=ADMIN, base_only=True),
    "admin: show a name": Case(
        "adminLookUpName", _of_ann(_named), shows(Kind.NAME), caller=ADMIN, base_only=True
    ),
    "admin: delete a name": Case(
        "adminDeleteName", _of_ann(_named), puts(Kind.NAME), caller=ADMIN, base_only=True
    ),
    "admin: members": Case("adminListMemberships", _rows(), shows(M), caller=ADMIN, base_only=True),
    "admin: forks": Case("adminListForks", _rows(), shows(C), caller=ADMIN, base_only=True),
    "admin: children": Case("adminListChildren", _rows(), shows(C), caller=ADMIN, base_only=True),
    "admin: erase a user": Case(
        "adminEraseUser",
        lambda world: {"userId": world.new_id()},
        puts(Kind.ERASURE, Kind.JOB),
        caller=ADMIN,
        base_only=True,
    ),
    "admin: show an erasure": Case(
        "adminGetErasure", _erasure, shows(Kind.ERASURE), caller=ADMIN, base_only=True
    ),
    "admin: delete": Case(
        "adminDeleteConversation",
        lambda world: {"conversationId": _small(world)},
        puts(Kind.GROUP),
        caller=ADMIN,
        base_only=True,
    ),
}
"""The cases, in the order in which the tables show them."""

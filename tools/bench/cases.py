"""The requests that are measured: every operation of the API."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from forklore_service.domain import keys
from forklore_service.domain.model import Caller
from forklore_service.limits import FORKS_AT_ONCE
from forklore_service.storage.items import key_of, text
from tools.bench.shapes import ADMIN, ANN, BASE, BATCH_ENTRIES, BOB, PLANNER, Shape, World
from tools.catalogue import CARDS, Card
from tools.harness.service import OPERATIONS, Process

PAGE, ROWS, DAYS = 50, 20, 30
NAME = "trip"
_PIECE = "About so much a model says in half a second. "
LARGE_BYTES = 200_000
"""The size of a text that does not fit into its entry's item."""


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
    needs: the axis of the shape that must not be 0. is_end: deletes the tree.
    days: for how long what is deleted can be restored.
    """

    operation: str
    given: Callable[[World], Mapping[str, Any]]
    caller: Caller = ANN
    knows: Knows = Knows.NOTHING
    key: bool = False
    needs: str | None = None
    is_end: bool = False
    days: int = 0

    def __post_init__(self) -> None:
        assert self.operation in OPERATIONS

    @property
    def is_read(self) -> bool:
        return OPERATIONS[self.operation].is_read

    def suits(self, shape: Shape) -> bool:
        """Tell whether the case is measured on this shape. An auditor's is on the base only."""
        return (self.caller != ADMIN or shape == BASE) and (
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


def _used_hours_ago(world: World) -> dict[str, Any]:
    """Return a conversation that was used two times, hours ago. Its owner is alone in it."""
    made = {"conversationId": world.new_id()}
    for hours in (3, 2):
        world.ask_earlier(hours, "appendEntry", **made, **world.said())
    return made


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


def _linked(*names: str) -> Callable[[World], dict[str, Any]]:
    """Return a request about a link that was just made. names: of what it gives of that."""

    def given(world: World) -> dict[str, Any]:
        made = world.ask("createLink", **subject(world)).body
        known = {**subject(world), "linkId": made["id"], "secret": made["secret"]}
        return {name: known[name] for name in names}

    return given


def _of_entry(world: World) -> dict[str, Any]:
    return {**subject(world), "entryId": middle(world)}


def _noted(world: World) -> dict[str, Any]:
    """Return a request about a note that was just written."""
    of = _of_entry(world)
    return {**of, "noteId": world.ask("addNote", **of, score=1).id}


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


def _trashed(world: World) -> str:
    """Make such a tree, and put it into the trash; return its id."""
    made = _small(world)
    process = Process(world.store)
    process.deleted_days = DAYS
    assert process.ask("deleteConversation", ANN, conversationId=made).status == 204
    return made


def _with_child(level: str | None = None) -> Callable[[World], dict[str, Any]]:
    """Return a request about Bob, who is a member of a tree of one entry, and of its child."""

    def given(world: World) -> dict[str, Any]:
        parent = _small(world)
        world.ask(
            "appendEntry", conversationId=world.new_id(), startedByConversationId=parent, **world.said()
        )
        return {"conversationId": parent, "userId": "bob", **({"accessLevel": level} if level else {})}

    return given


def _parent(world: World) -> dict[str, Any]:
    """Return a request about a tree of one entry that has started another one."""
    return {"conversationId": _with_child()(world)["conversationId"]}


def _small_branch(world: World, *, with_child: bool = False) -> dict[str, Any]:
    """Return a request that deletes the fork of a tree of one entry.

    with_child: the fork has started another tree.
    """
    made = world.new_id()
    world.ask("forkConversation", conversationId=_small(world), id=made)
    if with_child:
        world.ask("appendEntry", conversationId=world.new_id(), startedByConversationId=made, **world.said())
    return {"conversationId": made, "scope": "branch"}


def _let_in(world: World) -> dict[str, Any]:
    """Return a request that lets a user into a tree of one entry, and into its child."""
    made = {"conversationId": _with_child()(world)["conversationId"], "userId": world.new_id()}
    return {**made, "accessLevel": "writer", "children": "include"}


def _archived(world: World) -> dict[str, Any]:
    """Return a request about a tree of one entry that its owner has archived."""
    given = {"conversationId": _small(world)}
    world.ask("archiveConversation", **given)
    return given


def _pinned(world: World) -> dict[str, Any]:
    """Return a request about a tree of one entry that its owner has pinned."""
    given = {"conversationId": _small(world)}
    world.ask("pinConversation", **given)
    return given


def _pins(world: World) -> dict[str, Any]:
    """Return a request for two trees of one entry that their owner has pinned."""
    for _ in range(2):
        world.ask("pinConversation", conversationId=_small(world))
    return {"pinned": True, "limit": ROWS}


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


def _forked_at(name: str) -> Callable[[World], dict[str, Any]]:
    """Return an append to a fork, which names where the fork was made by an id or by a key."""

    def given(world: World) -> dict[str, Any]:
        keyed = _keyed(world)["key"]
        anchor = world.ask("lookUpEntry", **subject(world), key=keyed).body["id"]
        at = {"forkedAtEntryId": anchor, "forkedAtKey": keyed}
        made = {"conversationId": world.new_id(), "forkedAtConversationId": world.subject, name: at[name]}
        world.ask("appendEntry", **made, **world.said())
        return {**made, **world.said()}

    return given


def _of_ann(given: Callable[[World], dict[str, Any]]) -> Callable[[World], dict[str, Any]]:
    return lambda world: {"userId": ANN.user_id, **given(world)}


def _new(world: World) -> dict[str, Any]:
    return {"id": world.new_id()}


def _begun(by: Caller = ANN, **more: Any) -> Callable[[World], dict[str, Any]]:
    """Return a request about an answer of one piece, in a tree of one entry. more: fields of it."""

    def given(world: World) -> dict[str, Any]:
        of = {"conversationId": _small(world)}
        answer = {**of, "answerId": world.ask("beginAnswer", by, **of).id}
        world.ask("appendToAnswer", by, **answer, after=0, content=[_PIECE])
        return {**answer, **more}

    return given


def _silent(world: World) -> dict[str, Any]:
    """Return a conversation with an answer that nobody writes any more."""
    of = {"conversationId": _small(world)}
    begun = keys.part(of["conversationId"], world.ask("beginAnswer", **of).id, 0)
    world.store.new_client().update_item(
        TableName=world.store.name,
        Key=key_of(begun),
        UpdateExpression="SET createdAt = :long_ago",
        ExpressionAttributeValues={":long_ago": text("2026-01-01T00:00:00.000Z")},
    )
    return of


def _answered(world: World) -> dict[str, Any]:
    """Return a conversation in which an answer is being written."""
    return {"conversationId": _begun()(world)["conversationId"]}


def _finished(world: World) -> dict[str, Any]:
    return {**_begun()(world), **world.said()}


def _finished_in_fork(world: World) -> dict[str, Any]:
    begun = _begun()(world)
    forked = {"forkedAtConversationId": begun["conversationId"], "forkedAtPosition": "head"}
    return {**begun, **forked, **world.said(), "conversationId": world.new_id()}


def _page(of: Callable[[World], dict[str, Any]] = subject, **query: Any) -> Callable[[World], dict[str, Any]]:
    return lambda world: {**of(world), "limit": PAGE, **query}


def _compared(world: World) -> dict[str, Any]:
    """Return a comparison of the subject with a fork at its first entry, of PAGE entries."""
    made = {"conversationId": world.new_id(), "forkedAtConversationId": world.subject}
    entries = [world.said() for _ in range(PAGE)]
    world.ask("appendEntry", ANN, **made, forkedAtEntryId=world.entry_ids[0], entries=entries)
    return {"conversationId": made["conversationId"], "with": world.subject, "limit": PAGE}


def _scores(world: World, count: int) -> list[dict[str, Any]]:
    """Return scores of the conversation and of its first forks."""
    scored = [world.subject, *world.forks][:count]
    return [{"conversationId": one, "score": 0.5} for one in scored]


def _merged(world: World) -> dict[str, Any]:
    """Return a merge of ROWS entries of a new fork."""
    branch = world.ask("forkConversation", **subject(world)).id
    world.ask("appendEntry", conversationId=branch, entries=[world.said() for _ in range(ROWS)])
    return {**subject(world), "fromConversationId": branch}


def _merged_before(world: World) -> dict[str, Any]:
    """Return a second merge, which brings one entry more."""
    asked = _merged(world)
    world.ask("mergeConversation", **asked)
    world.ask("appendEntry", conversationId=asked["fromConversationId"], entries=[world.said()])
    return asked


def _copied(count: int) -> Callable[[World], dict[str, Any]]:
    """Return a copy of a new conversation of so many entries."""

    def given(world: World) -> dict[str, Any]:
        made = world.new_id()
        for at in range(0, count, PAGE):
            entries = [world.said() for _ in range(min(PAGE, count - at))]
            world.ask("appendEntry", conversationId=made, entries=entries)
        return {"conversationId": made}

    return given


def _copied_tree(branches: int) -> Callable[[World], dict[str, Any]]:
    """Return a copy of a new tree of so many branches, of which each has an entry of its own."""

    def given(world: World) -> dict[str, Any]:
        root = world.new_id()
        world.ask("appendEntry", conversationId=root, **world.said())
        for _ in range(branches - 1):
            fork = {"conversationId": world.new_id(), "forkedAtConversationId": root}
            world.ask("appendEntry", **fork, forkedAtPosition="head", **world.said())
        return {"conversationId": root}

    return given


def _file(world: World, *, is_sent: bool = True) -> dict[str, Any]:
    """Return an upload of bytes that nobody has uploaded. is_sent: whether it brings them."""
    content = world.new_id().encode()
    said = {"name": "a.txt", "contentType": "text/plain", "size": len(content)}
    sent = {"content": b64encode(content).decode()} if is_sent else {}
    return {**said, "sha256": hashlib.sha256(content).hexdigest(), **sent}


def _showing(world: World) -> dict[str, Any]:
    """Return an append that names an attachment."""
    attachment_id = world.ask("uploadAttachment", **_file(world)).id
    said = world.said(200)
    [message] = said["content"]
    content = [{**message, "attachments": [{"id": attachment_id}]}]
    return {"conversationId": _small(world), **said, "content": content}


def _shown_file(world: World) -> dict[str, Any]:
    """Return a request about an attachment that an entry names."""
    asked = _showing(world)
    world.ask("appendEntry", **asked)
    return {"attachmentId": asked["content"][0]["attachments"][0]["id"]}


def sampled(one: Card) -> Case:
    """Return the sample of an operation's card as a case."""
    step = one.sample

    def given(world: World) -> dict[str, Any]:
        names = {"root": world.subject, **dict.fromkeys(("first", "second"), middle(world))}
        if world.forks:
            names["fork"] = fork(world)["conversationId"]
        return dict(step.named(names).given)

    caller = ADMIN if step.roles else {"bob": BOB}.get(step.user, ANN)
    return Case(one.operation, given, caller, needs="forks" if "<fork>" in step.given.values() else None)


CASES: dict[str, Case] = {
    "append": Case("appendEntry", _append(), knows=Knows.READ),
    "append, cold": Case("appendEntry", _append()),
    "append, the first after a pause": Case("appendEntry", _append(_used_hours_ago), knows=Knows.READ),
    "append, with a key": Case("appendEntry", _append(), knows=Knows.READ, key=True),
    "append, other member": Case("appendEntry", _append(), caller=BOB, knows=Knows.READ),
    "append, to a fork": Case("appendEntry", _append(fork), knows=Knows.READ, needs="forks"),
    "append, to a fork, cold": Case("appendEntry", _append(fork), needs="forks"),
    "append, that promotes": Case("appendEntry", _append(promote=True), knows=Knows.READ),
    "append, that promotes, to a fork, cold": Case(
        "appendEntry", _append(fork, promote=True), caller=BOB, needs="forks"
    ),
    "append, context": Case("appendEntry", _context, caller=PLANNER, knows=Knows.DONE),
    "append, context, cold": Case("appendEntry", _context, caller=PLANNER),
    f"append, {BATCH_ENTRIES} at once": Case(
        "appendEntry",
        lambda world: {**subject(world), "entries": [world.said() for _ in range(BATCH_ENTRIES)]},
        knows=Knows.READ,
    ),
    "append, 200 KB": Case(
        "appendEntry", lambda world: {**subject(world), **world.said(LARGE_BYTES)}, knows=Knows.READ
    ),
    "append, by a name": Case("appendEntryByName", _by_name, knows=Knows.DONE),
    "append, by a name, with a key": Case("appendEntryByName", _by_name, knows=Knows.DONE, key=True),
    "append, by a name, cold": Case("appendEntryByName", _by_name),
    "append, by a new name": Case(
        "appendEntryByName", lambda world: {"name": world.new_id(), **world.said()}
    ),
    "append, with a key of its own": Case(
        "appendEntry",
        lambda world: {**subject(world), **world.said(), "key": world.new_id()},
        knows=Knows.READ,
    ),
    "append, to a new conversation": Case(
        "appendEntry", _append(lambda world: {"conversationId": world.new_id()})
    ),
    "append, to a new fork": Case(
        "appendEntry",
        lambda world: {
            "conversationId": world.new_id(),
            "forkedAtConversationId": world.subject,
            "forkedAtEntryId": middle(world),
            **world.said(),
        },
    ),
    "append, to a new fork, at a key": Case(
        "appendEntry",
        lambda world: {
            "conversationId": world.new_id(),
            "forkedAtConversationId": world.subject,
            "forkedAtKey": _keyed(world)["key"],
            **world.said(),
        },
    ),
    "append, to a fork that an entry names": Case("appendEntry", _forked_at("forkedAtEntryId")),
    "append, to a fork that a key names": Case("appendEntry", _forked_at("forkedAtKey")),
    "append with context": Case("appendEntry", _turn, caller=PLANNER, knows=Knows.READ),
    "append with context, cold": Case("appendEntry", _turn, caller=PLANNER),
    "append with context, to a new fork": Case(
        "appendEntry",
        lambda world: _turn(
            world,
            conversationId=world.new_id(),
            forkedAtConversationId=world.subject,
            forkedAtPosition="head",
        ),
        caller=PLANNER,
    ),
    "append, to a new child": Case(
        "appendEntry",
        lambda world: {
            "conversationId": world.new_id(),
            "startedByConversationId": world.subject,
            **world.said(),
        },
    ),
    "sync": Case("syncContext", _sync, caller=PLANNER),
    "create": Case("createConversation", _new),
    "fork, before an entry": Case(
        "forkConversation", lambda world: {**subject(world), "atEntryId": middle(world)}
    ),
    "fork, at the head": Case("forkConversation", subject),
    "fork, of a fork": Case("forkConversation", fork, needs="forks"),
    "fork, at the head, that moves a name": Case(
        "forkConversation", lambda world: {**subject(world), "name": _named(world)}
    ),
    "fork, before an entry, that moves a name": Case(
        "forkConversation",
        lambda world: {**subject(world), "atEntryId": middle(world), "name": _named(world)},
    ),
    "fork, at a key": Case(
        "forkConversation", lambda world: {**subject(world), "atKey": _keyed(world)["key"]}
    ),
    "fork, 10 at once": Case(
        "forkConversation",
        lambda world: {**subject(world), "atEntryId": middle(world), "count": FORKS_AT_ONCE},
    ),
    "promote": Case("promoteConversation", fork, knows=Knows.READ, needs="forks"),
    "promote, other member": Case("promoteConversation", fork, caller=BOB, knows=Knows.READ, needs="forks"),
    "promote, cold": Case("promoteConversation", fork, needs="forks"),
    "append, a summary": Case(
        "appendEntry",
        lambda world: {**_append()(world), "mergedFromConversationId": fork(world)["conversationId"]},
        knows=Knows.READ,
        needs="forks",
    ),
    f"merge, {ROWS} entries": Case("mergeConversation", _merged),
    f"merge, 1 entry after {ROWS}": Case("mergeConversation", _merged_before),
    f"copy, {ROWS} entries": Case("copyConversation", _copied(ROWS)),
    f"copy, {3 * PAGE} entries": Case("copyConversation", _copied(3 * PAGE)),
    f"copy a tree, {ROWS} entries": Case("copyTree", _copied(ROWS)),
    "copy a tree, 10 branches": Case("copyTree", _copied_tree(10)),
    "show": Case("getConversation", subject),
    "change": Case("updateConversation", lambda world: {**subject(world), "title": "new"}),
    "score": Case("setScores", lambda world: {**subject(world), "scores": _scores(world, 1)}),
    "score, 10 branches": Case(
        "setScores", lambda world: {**subject(world), "scores": _scores(world, 10)}, needs="forks"
    ),
    "newest page": Case("listEntries", _page(tail=True)),
    "newest page, warm": Case("listEntries", _page(tail=True), knows=Knows.READ),
    "newest page, of a fork": Case("listEntries", _page(fork, tail=True), needs="forks"),
    "newest page, of a fork, warm": Case(
        "listEntries", _page(fork, tail=True), knows=Knows.READ, needs="forks"
    ),
    "newest page, an agent's": Case("listEntries", _page(tail=True), caller=PLANNER),
    "first page": Case("listEntries", _page()),
    "page after a cursor": Case(
        "listEntries", lambda world: {**subject(world), "limit": PAGE, "afterCursor": middle(world)}
    ),
    "nothing after the last entry, warm": Case(
        "listEntries", lambda world: {**subject(world), "afterCursor": world.entry_ids[-1]}, knows=Knows.READ
    ),
    "page, all forks": Case("listEntries", _page(allForks=True)),
    "lines, all forks": Case("listEntries", _page(allForks=True, view="line")),
    "newest page, with alternatives": Case("listEntries", _page(tail=True, alternatives=True)),
    "first page, with alternatives": Case("listEntries", _page(alternatives=True)),
    "newest page, of a fork, with alternatives": Case(
        "listEntries", _page(fork, tail=True, alternatives=True), needs="forks"
    ),
    "own entries": Case("listEntries", _page(fork, own=True), needs="forks"),
    "show an entry": Case("getEntry", _of_entry),
    "compare": Case("compareConversations", _compared),
    "ancestors": Case("listAncestors", subject),
    "latest epoch": Case("listEntries", _page(channel="context"), caller=PLANNER),
    "children": Case("listChildren", lambda w: {**subject(w), "limit": ROWS}),
    "children, warm": Case("listChildren", lambda w: {**subject(w), "limit": ROWS}, knows=Knows.READ),
    "conversations, roots": Case("listConversations", lambda _: {"mode": "roots", "limit": ROWS}),
    "conversations, current": Case("listConversations", lambda _: {"mode": "current", "limit": ROWS}),
    "conversations, latest forks": Case("listConversations", lambda _: {"limit": ROWS}),
    "conversations, by creation": Case("listConversations", lambda _: {"order": "created", "limit": ROWS}),
    "conversations, pinned": Case("listConversations", _pins),
    "conversations, by a title": Case("listConversations", lambda _: {"query": "a", "limit": ROWS}),
    "conversations, all": Case("listConversations", lambda _: {"mode": "all", "limit": ROWS}),
    "search, a page": Case("searchConversations", lambda _: {"query": "their", "limit": ROWS}),
    "search in a conversation": Case(
        "searchConversations", lambda world: {**subject(world), "query": "their", "limit": ROWS}
    ),
    "search, nothing found": Case("searchConversations", lambda _: {"query": "0"}),
    "entry of a key": Case("lookUpEntry", _keyed, knows=Knows.READ),
    "entry of a key, cold": Case("lookUpEntry", _keyed),
    "newest page, by a name": Case("listEntriesByName", lambda w: _named(w, tail=True, limit=PAGE)),
    "move a name": Case("setName", lambda w: {**_named(w), **subject(w)}),
    "make a name": Case("setName", lambda w: {"name": w.new_id(), **subject(w)}),
    "names": Case("listNames", _names),
    "show a name": Case("lookUpName", _named),
    "delete a name": Case("deleteName", _named),
    "share": Case(
        "shareConversation",
        lambda world: {**subject(world), "userId": world.new_id(), "accessLevel": "writer"},
    ),
    "share, with a child": Case("shareConversation", _let_in),
    "archive": Case("archiveConversation", lambda world: {"conversationId": _small(world)}),
    "archive, what is archived": Case("archiveConversation", _archived),
    "unarchive": Case("unarchiveConversation", _archived),
    "pin": Case("pinConversation", lambda world: {"conversationId": _small(world)}),
    "unpin": Case("unpinConversation", _pinned),
    "change a member": Case("updateMembership", _shared("manager")),
    "remove a member": Case("removeMembership", _shared()),
    "remove a member, without children": Case(
        "removeMembership", lambda world: {"conversationId": _small(world), "userId": "bob"}
    ),
    "lower a member, with a child": Case("updateMembership", _with_child("reader")),
    "remove a member, with a child": Case("removeMembership", _with_child()),
    "offer": Case("requestTransfer", _offer),
    "offers": Case("listTransfers", _offers),
    "show an offer": Case("getTransfer", _offered),
    "withdraw an offer": Case("deleteTransfer", _offered),
    "accept an offer": Case("acceptTransfer", _offered, caller=BOB),
    "delete": Case("deleteConversation", lambda world: {"conversationId": _small(world)}),
    "delete, during an answer": Case("deleteConversation", _answered),
    "delete, into the trash": Case(
        "deleteConversation", lambda world: {"conversationId": _small(world)}, days=DAYS
    ),
    "delete, with a child": Case("deleteConversation", _parent),
    "delete, with a child, into the trash": Case("deleteConversation", _parent, days=DAYS),
    "delete, what is in the trash": Case("deleteConversation", lambda w: {"conversationId": _trashed(w)}),
    "restore": Case("restoreConversation", lambda w: {"conversationId": _trashed(w)}),
    "trash": Case("listTrash", lambda _: {"limit": ROWS}),
    "delete a branch": Case(
        "deleteConversation", lambda world: {"conversationId": _branch(world), "scope": "branch"}
    ),
    "delete a branch, the current one": Case(
        "deleteConversation",
        lambda world: {"conversationId": _branch(world, promote=True), "scope": "branch"},
    ),
    "delete a branch, into the trash": Case(
        "deleteConversation", lambda world: {"conversationId": _branch(world), "scope": "branch"}, days=DAYS
    ),
    "delete a branch, no child in the tree": Case("deleteConversation", _small_branch),
    "delete a branch, no child in the tree, trash": Case("deleteConversation", _small_branch, days=DAYS),
    "delete a branch, with a child": Case("deleteConversation", partial(_small_branch, with_child=True)),
    "delete a branch, with a child, into the trash": Case(
        "deleteConversation", partial(_small_branch, with_child=True), days=DAYS
    ),
    "delete, all": Case("deleteConversation", subject, is_end=True),
    "health": Case("checkHealth", lambda _: {}),
    "admin: conversations": Case("adminListConversations", lambda _: {"limit": ROWS}, caller=ADMIN),
    "admin: search": Case(
        "adminSearchConversations", lambda _: {"query": "their", "limit": ROWS}, caller=ADMIN
    ),
    "admin: show": Case("adminGetConversation", subject, caller=ADMIN),
    "admin: newest page": Case("adminListEntries", _page(tail=True), caller=ADMIN),
    "admin: show an entry": Case("adminGetEntry", _of_entry, caller=ADMIN),
    "admin: compare": Case("adminCompareConversations", _compared, caller=ADMIN),
    "admin: ancestors": Case("adminListAncestors", subject, caller=ADMIN),
    "admin: entry of a key": Case("adminLookUpEntry", _keyed, caller=ADMIN),
    "admin: names": Case("adminListNames", _of_ann(_names), caller=ADMIN),
    "admin: show a name": Case("adminLookUpName", _of_ann(_named), caller=ADMIN),
    "admin: delete a name": Case("adminDeleteName", _of_ann(_named), caller=ADMIN),
    "admin: erase a user": Case("adminEraseUser", lambda world: {"userId": world.new_id()}, caller=ADMIN),
    "admin: show an erasure": Case("adminGetErasure", _erasure, caller=ADMIN),
    "admin: restore": Case(
        "adminRestoreConversation", lambda w: {"conversationId": _trashed(w)}, caller=ADMIN
    ),
    "admin: trash": Case("adminListTrash", lambda _: {"limit": ROWS, "userId": "ann"}, caller=ADMIN),
    "admin: delete": Case(
        "adminDeleteConversation", lambda world: {"conversationId": _small(world)}, caller=ADMIN
    ),
    "begin an answer": Case("beginAnswer", lambda w: {"conversationId": _small(w)}, knows=Knows.READ),
    "begin an answer, other member": Case(
        "beginAnswer", lambda w: {"conversationId": _small(w)}, caller=BOB, knows=Knows.READ
    ),
    "begin an answer, over a silent one": Case("beginAnswer", _silent, knows=Knows.READ),
    "begin an answer, over one's own": Case("beginAnswer", _answered, knows=Knows.READ),
    "piece of an answer": Case("appendToAnswer", _begun(after=1, content=[_PIECE]), knows=Knows.READ),
    "piece of an answer, other member": Case(
        "appendToAnswer", _begun(BOB, after=1, content=[_PIECE]), caller=BOB, knows=Knows.READ
    ),
    "new pieces of an answer": Case("getAnswer", _begun(after=0), knows=Knows.READ),
    "stop an answer": Case("stopAnswer", _begun(), knows=Knows.READ),
    "drop an answer": Case("deleteAnswer", _begun(), knows=Knows.READ),
    "append, that finishes an answer": Case("appendEntry", _finished, knows=Knows.READ),
    "append, that finishes an answer, to a new fork": Case("appendEntry", _finished_in_fork),
    "show, during an answer": Case("getConversation", _answered, knows=Knows.READ),
    "newest page, during an answer": Case("listEntries", _page(_answered, tail=True), knows=Knows.READ),
    "upload an attachment": Case("uploadAttachment", _file),
    "upload an attachment, to be sent": Case("uploadAttachment", lambda w: _file(w, is_sent=False)),
    "append, an attachment": Case("appendEntry", _showing, knows=Knows.READ),
    "show an attachment": Case("getAttachment", _shown_file),
    "show an attachment, other member": Case("getAttachment", _shown_file, caller=BOB),
    "admin: attachments": Case("adminListAttachments", lambda _: {"userId": "ann"}, caller=ADMIN),
    "note": Case("addNote", lambda w: {**_of_entry(w), "text": "so", "score": 1}),
    "notes of an entry": Case("listNotes", _of_entry),
    "notes of a tree": Case("listNotes", lambda w: {**subject(w), "allForks": True}),
    "delete a note": Case("deleteNote", _noted),
    "admin: notes": Case("adminListNotes", _of_entry, caller=ADMIN),
    "admin: delete a note": Case("adminDeleteNote", _noted, caller=ADMIN),
    "end a link": Case("deleteLink", _linked("conversationId", "linkId")),
    "open a link": Case("openLink", _linked("secret")),
    "read by a link": Case("listLinkedEntries", _linked("secret")),
    "admin: end a link": Case("adminDeleteLink", _linked("conversationId", "linkId"), caller=ADMIN),
    "admin: show an attachment": Case("adminGetAttachment", _shown_file, caller=ADMIN),
    "admin: remove an attachment": Case("adminRemoveAttachment", _shown_file, caller=ADMIN),
    "admin: show an answer": Case("adminGetAnswer", _begun(), caller=ADMIN),
}
CASES |= {
    one.operation: sampled(one)
    for one in CARDS
    if one.operation not in {case.operation for case in CASES.values()}
}
"""The cases, in the order in which the tables show them: of each operation at least its sample."""

"""What each operation is asked with, and who may: a card for each, for all tests and measurements.

An id is written `<name>`: each world that asks says what it has under that name. The steps of all
cards, one after the other, are a story (`STORY`), in which each operation is used well and badly.
The first step of a card that is of its own operation is its sample: a request that is good in any
world that has what it names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tools.harness.service import OPERATIONS

SAID: Mapping[str, Any] = {
    "channel": "history",
    "contentType": "history",
    "content": [{"role": "USER", "text": "hello"}],
}
PLAIN: Mapping[str, Any] = {"contentType": "text/plain", "content": ["hello"]}
NOTED: Mapping[str, Any] = {"channel": "context", "contentType": "note", "content": [{"kept": True}]}
PHOTO: dict[str, Any] = {
    "name": "cat.png",
    "contentType": "image/png",
    "size": 3,
    "sha256": "77af778b51abd4a3c51c5ddd97204a9c3ae614ebccb75a606c3b6865aed6744e",
    "content": "Y2F0",
}
SHOWN: Mapping[str, Any] = {
    **SAID,
    "content": [{"role": "USER", "text": "look", "attachments": [{"id": "<photo>"}]}],
}
NOTHING = "00000000-0000-7000-8000-000000000001"
"""A valid entry id, but no entry has it."""


def conversation_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


NAMES = {
    name: conversation_id(number)
    for name, number in {"root": 1, "fork": 2, "child": 3, "copy": 4, "cut": 5, "fresh": 9}.items()
}
"""The conversations of the story. It makes all but `fresh`."""


@dataclass(frozen=True)
class Step:
    """One request.

    given: the fields of its path, query and body, by their names in the API; and `idempotencyKey`
    and `ifMatch`. keep: the name of the id in the answer, or of the revision of a name.
    """

    operation: str
    given: Mapping[str, Any] = field(default_factory=dict)
    user: str = "ann"
    agent: str | None = None
    keep: str | None = None

    @property
    def roles(self) -> list[str]:
        return {"aude": ["auditor"], "adam": ["admin", "auditor"]}.get(self.user, [])

    def named(self, names: Mapping[str, Any]) -> "Step":
        """Return the step with each `<name>` replaced by its id."""
        return replace(self, given=with_ids(self.given, names))


def with_ids(held: Any, names: Mapping[str, Any]) -> Any:
    match held:
        case str() if held.startswith("<"):
            return names[held[1:-1]]
        case list():
            return [with_ids(one, names) for one in held]
        case Mapping():
            return {key: with_ids(one, names) for key, one in held.items()}
    return held


@dataclass(frozen=True)
class Card:
    """What is known of an operation.

    may: who may use it, a row of tests/service/authorization/table.txt. steps: requests, good and
    bad; those of an operation that takes only the id of a conversation need not be written.
    only_adds: a write after which all others may still do the same.
    """

    operation: str
    may: str
    steps: Sequence[Step] = ()
    only_adds: bool = False

    @property
    def sample(self) -> Step:
        return next(step for step in self.steps if step.operation == self.operation)


def at(conversation: str, **more: Any) -> dict[str, Any]:
    return {"conversationId": f"<{conversation}>", **more}


def scored(conversation: str, score: Any) -> dict[str, Any]:
    return at(conversation, score=score)


def card(operation: str, may: str, *steps: Step, only_adds: bool = False) -> Card:
    """Return a card. Without steps it gets those of any operation on a conversation."""
    user = "aude" if OPERATIONS[operation].role else "ann"
    where = "root" if OPERATIONS[operation].is_read else "fork"
    usual = (
        Step(operation, at(where), user=user),
        Step(operation, at("fresh"), user=user),
        Step(operation, at(where), user="eve"),
    )
    return Card(operation, may, steps or usual, only_adds)


CARDS = [
    card("checkHealth", "everybody", Step("checkHealth"), Step("checkHealth", {"deep": True})),
    card(
        "createConversation",
        "users, under an unused id",
        Step(
            "createConversation",
            {"id": "<root>", "title": "of Ann", "tags": {"a": "b"}, "idempotencyKey": "k"},
        ),
        Step(
            "createConversation",
            {"id": "<root>", "title": "of Ann", "tags": {"a": "b"}, "idempotencyKey": "k"},
        ),
        Step("createConversation", {"id": "<root>", "title": "of Eve", "idempotencyKey": "k"}),
        Step("createConversation", {"id": "<root>"}),
        Step("createConversation", {"title": 5}),
        Step("createConversation", {"metadata": {"exact": 1.5}, "idempotencyKey": ""}),
    ),
    card(
        "appendEntry",
        "writers",
        Step("appendEntry", at("root", **SAID), keep="first"),
        Step("appendEntry", at("root", **PLAIN, usage={"inputTokens": 3, "costUsd": 0.25}), keep="second"),
        Step("appendEntry", at("root", entries=[PLAIN, {**PLAIN, "userId": "ann"}])),
        Step("appendEntry", at("root", **NOTED, epoch=5), agent="planner", keep="noted"),
        Step("appendEntry", at("root", **PLAIN, indexedContent="a drawing")),
        Step("appendEntry", at("root", **NOTED, indexedContent="a drawing"), agent="planner"),
        Step("appendEntry", at("root", **NOTED)),
        Step("appendEntry", at("root", **PLAIN, ifMatch=NOTHING)),
        Step("appendEntry", at("root", **PLAIN, ifMatch="*")),
        Step("appendEntry", at("root", **PLAIN, userId="bob")),
        Step("appendEntry", {"conversationId": "x", **PLAIN}),
        Step(
            "appendEntry", at("child", **PLAIN, startedByConversationId="<root>", startedByEntryId="<first>")
        ),
        Step("appendEntry", at("root", contentType="x")),
        Step("appendEntry", at("root", **PLAIN, key="k 1")),
        Step("appendEntry", at("root", **PLAIN, key="k 1")),
        Step("appendEntry", at("root", **PLAIN, key="")),
        only_adds=True,
    ),
    card(
        "syncContext",
        "writers with their own client",
        Step("syncContext", at("root", contentType="c", content=["a", 1.0]), agent="planner"),
        Step("syncContext", at("root", contentType="c", content=["a", 1]), agent="planner"),
        Step("syncContext", at("root", contentType="c", content=["a"])),
        Step("syncContext", at("root"), agent="planner"),
        only_adds=True,
    ),
    card(
        "lookUpEntry",
        "members",
        Step("lookUpEntry", at("root", key="k 1")),
        Step("lookUpEntry", at("root", key="k 2")),
        Step("lookUpEntry", at("root")),
    ),
    card(
        "adminLookUpEntry",
        "auditors of a conversation",
        Step("adminLookUpEntry", at("root", key="k 1"), user="aude"),
        Step("adminLookUpEntry", at("root", key="k 1")),
    ),
    card(
        "setName",
        "members",
        Step(
            "setName",
            {"name": "trip", "conversationId": "<root>", "data": {"exact": 1.50}, "idempotencyKey": "n"},
        ),
        Step("setName", {"name": "trip", "conversationId": "<root>", "expectRevision": 0}),
        Step("setName", {"name": "trip", "conversationId": "<fresh>"}),
        Step("setName", {"name": "", "conversationId": "<root>"}),
        Step("setName", {"name": "trip", "conversationId": "<root>"}, user="eve"),
        only_adds=True,
    ),
    card(
        "listNames",
        "users",
        Step("listNames"),
        Step("listNames", {"prefix": "tr", "limit": 1}),
        Step("listNames", {"afterCursor": "x"}),
    ),
    card(
        "lookUpName",
        "who gave the name",
        Step("lookUpName", {"name": "trip"}),
        Step("lookUpName", {"name": "trip"}, agent="planner"),
        Step("lookUpName"),
    ),
    card(
        "appendEntryByName",
        "users",
        Step("appendEntryByName", {"name": "trip", **PLAIN}),
        Step("appendEntryByName", {"name": "new", **PLAIN, "data": {"n": 1}}),
        Step("appendEntryByName", {"name": "new", **PLAIN, "ifMatch": NOTHING}),
        Step("appendEntryByName", {"name": "new"}),
        only_adds=True,
    ),
    card(
        "listEntriesByName",
        "who gave the name, of a live conversation",
        Step("listEntriesByName", {"name": "new"}),
        Step("listEntriesByName", {"name": "none"}),
        Step("listEntriesByName", {"name": "trip", "own": True, "alternatives": True, "tail": True}),
        Step("listEntriesByName", {"name": "trip", "allForks": True, "upToEntryId": "<second>"}),
        Step("listEntriesByName", {"name": "trip", "channel": "context", "epoch": 5}, agent="planner"),
        Step("listEntriesByName", {"name": "trip", "forks": "all", "view": "line"}),
        Step("listEntriesByName", {"name": "new", "limit": 0}),
    ),
    card(
        "adminListNames",
        "auditors",
        Step("adminListNames", {"userId": "ann", "limit": 1}, user="aude"),
        Step("adminListNames", user="aude"),
    ),
    card(
        "adminLookUpName",
        "auditors",
        Step("adminLookUpName", {"userId": "ann", "name": "new"}, user="aude"),
        Step("adminLookUpName", {"userId": "ann", "clientId": "planner", "name": "new"}, user="aude"),
    ),
    card(
        "adminDeleteName",
        "admins",
        Step("adminDeleteName", {"userId": "ann", "name": "new"}, user="adam"),
        Step("adminDeleteName", {"userId": "ann", "name": "new"}, user="aude"),
    ),
    card(
        "deleteName",
        "who gave the name",
        Step("deleteName", {"name": "trip"}),
        Step("setName", {"name": "trip", "conversationId": "<root>"}, keep="revision"),
        Step("deleteName", {"name": "trip", "expectRevision": 1}),
        Step("deleteName", {"name": "trip", "expectRevision": "<revision>"}),
        Step("deleteName", {"name": "trip"}),
    ),
    card(
        "forkConversation",
        "writers",
        Step("forkConversation", at("root")),
        Step(
            "forkConversation",
            at("root", id="<fork>", atEntryId="<second>", position="after", ifMatch="<second>"),
        ),
        Step("forkConversation", at("root", id="<fork>", atEntryId="<second>", position="after")),
        Step("forkConversation", at("root", id="<fork>")),
        Step("forkConversation", at("root", atEntryId=NOTHING)),
        Step("forkConversation", at("root"), user="eve"),
        Step("forkConversation", at("root", count=2, atEntryId="<second>")),
        Step("forkConversation", at("root", count=2, promote=True)),
        only_adds=True,
    ),
    card(
        "mergeConversation",
        "writers",
        Step(
            "appendEntry", at("fork", **PLAIN, mergedFromConversationId="<root>", mergedUpToEntryId="<first>")
        ),
        Step("appendEntry", at("fork", **PLAIN, mergedFromConversationId="<fresh>")),
        Step("appendEntry", at("fork", **PLAIN, mergedUpToEntryId="<first>")),
        Step("mergeConversation", at("fork", fromConversationId="<root>", upToEntryId="<second>")),
        Step(
            "mergeConversation",
            at("fork", fromConversationId="<root>", afterEntryId="<first>", idempotencyKey="m"),
        ),
        Step(
            "mergeConversation",
            at("fork", fromConversationId="<root>", afterEntryId="<first>", idempotencyKey="m"),
        ),
        Step("mergeConversation", at("fork", fromConversationId="<root>", again=True)),
        Step("mergeConversation", at("fork", fromConversationId="<root>", withContext=True), agent="planner"),
        Step("mergeConversation", at("fork", fromConversationId="<root>", withContext=True)),
        Step("mergeConversation", at("fork", fromConversationId="<root>", ifMatch=NOTHING)),
        Step("mergeConversation", at("fork", fromConversationId="<root>", afterEntryId=NOTHING)),
        Step("mergeConversation", at("fork", fromConversationId="<child>")),
        Step("mergeConversation", at("fork")),
        Step("mergeConversation", at("fork", fromConversationId="<root>"), user="eve"),
        only_adds=True,
    ),
    card(
        "copyConversation",
        "members",
        Step("copyConversation", at("fork", title="mine", upToEntryId="<first>")),
        Step("copyConversation", at("fork", id="<copy>", idempotencyKey="c")),
        Step("copyConversation", at("fork", id="<copy>", idempotencyKey="c")),
        Step("copyConversation", at("fork", id="<copy>")),
        Step("copyConversation", at("fork", upToEntryId=NOTHING)),
        Step("copyConversation", at("fork", count=2)),
        Step("copyConversation", at("fork"), user="eve"),
        only_adds=True,
    ),
    card(
        "copyTree",
        "members",
        Step("copyTree", at("fork")),
        Step("copyTree", at("fork", id="<copy>", idempotencyKey="c")),
        Step("copyTree", at("fork", id="<copy>", idempotencyKey="c")),
        Step("copyTree", at("fork", id="<copy>")),
        Step("copyTree", at("fork", title="mine")),
        Step("copyTree", at("fork"), user="eve"),
        only_adds=True,
    ),
    card(
        "listEntries",
        "members",
        Step("listEntries", at("root")),
        Step("listEntries", at("root", limit=2, tail=True)),
        Step("listEntries", at("root", limit=2, afterCursor="<first>")),
        Step("listEntries", at("root", channel="CONTEXT", epoch="all"), agent="planner"),
        Step("listEntries", at("root", channel="context", epoch=5), agent="planner"),
        Step("listEntries", at("root", channel="context")),
        Step("listEntries", at("root", afterCursor=NOTHING)),
        Step("listEntries", at("root", limit=0)),
        Step("listEntries", at("root", limit=2, tail=True, afterCursor="<first>")),
        Step("listEntries", at("root", allForks=True, limit=1)),
        Step("listEntries", at("root", forks="all", upToEntryId="<second>")),
        Step("listEntries", at("fresh")),
        Step("listEntries", at("root"), user="eve"),
        Step("listEntries", at("fork", alternatives=True)),
        Step("listEntries", at("fork", own=True)),
        Step("listEntries", at("fork", own=True, allForks=True)),
        Step("listEntries", at("root", view="line")),
        Step("listEntries", at("root", view="list")),
    ),
    card(
        "getEntry",
        "members",
        Step("getEntry", at("fork", entryId="<second>")),
        Step("getEntry", at("root", entryId="<noted>"), agent="planner"),
        Step("getEntry", at("root", entryId="<noted>")),
        Step("getEntry", at("root", entryId="x")),
        Step("getEntry", at("root", entryId="<first>"), user="eve"),
    ),
    card(
        "beginAnswer",
        "writers",
        Step("beginAnswer", at("root"), keep="answer"),
        Step("beginAnswer", at("root", takeOver=False)),
        Step("beginAnswer", at("fork", afterEntryId="<second>", agentId="planner", idempotencyKey="a")),
        Step("beginAnswer", at("fork", afterEntryId="<second>", agentId="planner", idempotencyKey="a")),
        Step("beginAnswer", at("fork", takeOver=True)),
        Step("beginAnswer", at("copy", afterEntryId=NOTHING)),
        Step("beginAnswer", at("copy", afterKey="k 1", afterEntryId="<first>")),
        Step("beginAnswer", at("copy", ifMatch=NOTHING)),
        Step("beginAnswer", at("copy", id="<answer>"), agent="planner"),
        Step("beginAnswer", at("fresh")),
        Step("beginAnswer", at("root"), user="eve"),
    ),
    card(
        "appendToAnswer",
        "who has begun the answer",
        Step("appendToAnswer", at("root", answerId="<answer>", after=0, content=["Hel", 1.50])),
        Step("appendToAnswer", at("root", answerId="<answer>", after=0, content=["Hel", 1.50])),
        Step("appendToAnswer", at("root", answerId="<answer>", after=0, content=["lo"])),
        Step("appendToAnswer", at("root", answerId="<answer>", after=1, content=[])),
        Step("appendToAnswer", at("root", answerId="<answer>", content=[])),
        Step("appendToAnswer", at("root", answerId="<answer>", after=2, content="lo")),
        Step("appendToAnswer", at("root", answerId=NOTHING, after=0, content=[])),
        Step("appendToAnswer", at("root", answerId="x", after=0, content=[])),
        Step("appendToAnswer", at("root", answerId="<answer>", after=2, content=[]), user="eve"),
        only_adds=True,
    ),
    card(
        "getAnswer",
        "members",
        Step("getAnswer", at("root", answerId="<answer>")),
        Step("getAnswer", at("root", answerId="<answer>", after=1)),
        Step("getAnswer", at("root", answerId="<answer>", after=3)),
        Step("getAnswer", at("fork", answerId="<answer>")),
        Step("getAnswer", at("root", answerId="<answer>"), user="eve"),
        Step("getConversation", at("root")),
        Step("listEntries", at("root", tail=True, limit=1)),
    ),
    card(
        "adminGetAnswer",
        "auditors of a conversation",
        Step("adminGetAnswer", at("root", answerId="<answer>"), user="aude"),
        Step("adminGetAnswer", at("root", answerId="<answer>")),
    ),
    card(
        "stopAnswer",
        "writers",
        Step("stopAnswer", at("root", answerId="<answer>")),
        Step("stopAnswer", at("root", answerId="<answer>")),
        Step("stopAnswer", at("root", answerId=NOTHING)),
        Step("stopAnswer", at("root", answerId="<answer>", after=1)),
        Step("stopAnswer", at("root", answerId="<answer>"), user="eve"),
        Step("appendToAnswer", at("root", answerId="<answer>", after=2, content=["lo"])),
        Step("appendEntry", at("root", **PLAIN, answerId=NOTHING)),
        Step("appendEntry", at("root", **PLAIN, answerId="<answer>")),
        Step("appendEntry", at("root", **PLAIN, answerId="<answer>")),
        Step("stopAnswer", at("root", answerId="<answer>")),
        Step("getAnswer", at("root", answerId="<answer>")),
    ),
    card(
        "deleteAnswer",
        "writers",
        Step("beginAnswer", at("root"), keep="answer"),
        Step("deleteAnswer", at("root", answerId="<answer>")),
        Step("deleteAnswer", at("root", answerId="<answer>")),
        Step("deleteAnswer", at("root", answerId=NOTHING)),
        Step("deleteAnswer", at("root", answerId="<answer>"), user="eve"),
        Step("getAnswer", at("root", answerId="<answer>")),
    ),
    card(
        "compareConversations",
        "members",
        Step("compareConversations", at("fork", **{"with": "<root>", "limit": 1})),
        Step("compareConversations", at("fork", **{"with": "<child>"})),
        Step("compareConversations", at("fork")),
        Step("compareConversations", at("fork", **{"with": "<root>"}), user="eve"),
    ),
    card(
        "listAncestors",
        "members",
        Step("listAncestors", at("fork")),
        Step("listAncestors", at("fresh")),
        Step("listAncestors", at("fork"), user="eve"),
    ),
    card(
        "promoteConversation",
        "writers",
        Step("promoteConversation", at("fork")),
        Step("promoteConversation", at("fresh")),
        Step("promoteConversation", at("fork"), user="eve"),
        Step("promoteConversation", at("fork", idempotencyKey="once")),
        Step("promoteConversation", at("fork", idempotencyKey="once")),
        only_adds=True,
    ),
    card(
        "listForks",
        "members",
        Step("listForks", at("root")),
        Step("listForks", at("fork", limit=1)),
        Step("listForks", at("fork", afterCursor="x")),
        Step("listForks", at("fresh")),
        Step("listForks", at("fresh", missing="empty")),
    ),
    card(
        "listChildren",
        "members",
        Step("listChildren", at("root")),
        Step("listChildren", at("root", startedByEntryId="<first>")),
        Step("listChildren", at("root", startedByEntryId="<second>")),
        Step("listChildren", at("child")),
        Step("listChildren", at("fresh")),
    ),
    card(
        "updateConversation",
        "writers",
        Step("updateConversation", at("fork", title="two", metadata={"n": 1.50})),
        Step("updateConversation", at("fork", title=None)),
        Step("updateConversation", at("fork", title="x", ifMatch="2020-01-01T00:00:00.000Z")),
        Step("updateConversation", at("fork", title="x", ifMatch=NOTHING)),
        Step("updateConversation", at("fork", name="x")),
        only_adds=True,
    ),
    card(
        "setScores",
        "writers",
        Step("setScores", at("root", scores=[scored("fork", 0.5)])),
        Step("setScores", at("root", scores=[scored("fork", None), scored("root", -1.5e308)])),
        Step("setScores", at("root", scores=[scored("child", 1)])),
        Step("setScores", at("root", scores=[scored("fork", 1), scored("fork", 2)])),
        Step("setScores", at("root", scores=[scored("fork", "1")])),
        Step("setScores", at("root", scores=[])),
        Step("setScores", at("fresh", scores=[scored("fresh", 1)])),
        Step("setScores", at("root", scores=[scored("fork", 1)]), user="eve"),
        Step("setScores", at("root", scores=[scored("root", 2)], idempotencyKey="once")),
        Step("setScores", at("root", scores=[scored("root", 2)], idempotencyKey="once")),
        only_adds=True,
    ),
    card(
        "getConversation",
        "members",
        Step("getConversation", at("fork")),
        Step("getConversation", {"conversationId": "not an id"}),
        Step("getConversation", at("fork"), user="eve"),
    ),
    card(
        "listConversations",
        "users",
        Step("listConversations"),
        Step("listConversations", {"mode": "all", "ancestry": "all", "limit": 1}),
        Step("listConversations", {"mode": "current", "tag": "a:b"}),
        Step("listConversations", {"order": "created", "limit": 1}),
        Step("listConversations", {"order": "newest"}),
        Step("listConversations", {"mode": "all", "agentId": "x"}),
        Step("listConversations", {"createdSince": "2026-01-01T00:00:00.000Z"}),
        Step("listConversations", {"tag": "a b"}),
        Step("listConversations", {"mode": "none"}),
        Step("listConversations", {"query": "OF", "afterCursor": "x"}),
    ),
    card(
        "searchConversations",
        "users",
        Step("searchConversations", {"query": "HELLO", "includeEntry": False}),
        Step("searchConversations", {"query": "hello", "searchType": ["semantic", "fulltext"], "limit": 1}),
        Step("searchConversations", {"query": "hello", "searchType": "semantic"}),
        Step("searchConversations", {"query": "hello", "searchType": ["auto"]}),
        Step("searchConversations", {"query": "hello", "afterCursor": "x"}),
        Step("searchConversations", {"query": " "}),
        Step("searchConversations", {"query": "hello"}, user="eve"),
        Step("searchConversations", at("root", query="hello")),
        Step("searchConversations", at("root", query="hello"), user="eve"),
        Step("searchConversations", {"query": "hello", "conversationId": "x"}),
    ),
    card(
        "shareConversation",
        "managers",
        Step("shareConversation", at("root", userId="dora", accessLevel="reader")),
        Step("shareConversation", at("root", userId="nora", accessLevel="reader")),
        Step("shareConversation", at("root", userId="bob", accessLevel="reader")),
        Step("shareConversation", at("root", userId="bob", accessLevel="reader")),
        Step("shareConversation", at("root", userId="", accessLevel="reader")),
        Step("shareConversation", at("root", userId="cy", accessLevel="owner")),
    ),
    card(
        "updateMembership",
        "managers",
        Step("updateMembership", at("root", userId="bob", accessLevel="writer")),
        Step("updateMembership", at("root", userId="bob", accessLevel="manager")),
        Step("updateMembership", at("root", userId="eve", accessLevel="reader")),
        Step("updateMembership", at("root", userId="ann", accessLevel="reader")),
    ),
    card(
        "createLink",
        "managers",
        Step("createLink", at("root", days=30, userIds=True), keep="link"),
        Step("createLink", at("root", upToEntryId="<first>")),
        Step("createLink", at("root", allForks=True, keepOnTransfer=True)),
        Step("createLink", at("root", upToEntryId=NOTHING)),
        Step("createLink", at("root", days=366)),
        Step("createLink", at("fork"), user="eve"),
        only_adds=True,
    ),
    card("listLinks", "managers"),
    card(
        "openLink",
        "who has a link",
        Step("openLink", {"secret": "<secret>"}),
        Step("openLink", {"secret": "none"}),
    ),
    card(
        "listLinkedEntries",
        "who has a link",
        Step("listLinkedEntries", {"secret": "<secret>"}),
        Step("listLinkedEntries", {"secret": "<secret>", "limit": 1, "tail": True}),
        Step("listLinkedEntries", {"secret": "<secret>", "conversationId": "<fork>"}),
        Step("listLinkedEntries", {"secret": "<secret>", "afterCursor": NOTHING}),
        Step("listLinkedEntries", {"secret": "none"}),
    ),
    card(
        "deleteLink",
        "managers",
        Step("deleteLink", at("root", linkId="<link>")),
        Step("deleteLink", at("root", linkId="<link>")),
        Step("openLink", {"secret": "<secret>"}),
        Step("deleteLink", at("root", linkId="none"), user="eve"),
    ),
    card(
        "addNote",
        "writers",
        Step("addNote", at("root", entryId="<first>", text="too short", score=0.5), keep="note"),
        Step("addNote", at("fork", entryId="<first>", score=-1)),
        Step("addNote", at("root", entryId="<first>", pinned=True)),
        Step("addNote", at("root", entryId="<first>", pinned=True)),
        Step("addNote", at("root", entryId="<first>", pinned=True, text="why")),
        Step("addNote", at("root", entryId="<first>")),
        Step("addNote", at("root", entryId="<first>", text=" ")),
        Step("addNote", at("root", entryId="<first>", score="good")),
        Step("addNote", at("root", entryId=NOTHING, score=1)),
        only_adds=True,
    ),
    card(
        "listNotes",
        "members",
        Step("listNotes", at("root")),
        Step("listNotes", at("fork", entryId="<first>", limit=1)),
        Step("listNotes", at("root", entryId=NOTHING)),
        Step("listNotes", at("root", limit=201)),
        Step("listNotes", at("fork", allForks=True, limit=1)),
        Step("listNotes", at("root", allForks=True, entryId="<second>")),
    ),
    card(
        "deleteNote",
        "managers",
        Step("deleteNote", at("root", entryId="<first>", noteId="<note>")),
        Step("deleteNote", at("root", entryId="<first>", noteId="<note>")),
        Step("deleteNote", at("root", entryId="<first>", noteId="none")),
    ),
    card(
        "archiveConversation",
        "members",
        Step("archiveConversation", at("fork")),
        Step("archiveConversation", at("fresh")),
        Step("archiveConversation", at("fork"), user="eve"),
        Step("getConversation", at("root")),
        Step("listConversations", {"mode": "all", "archived": "only"}),
        Step("listConversations", {"archived": "yes"}),
        only_adds=True,
    ),
    card("unarchiveConversation", "members", only_adds=True),
    card(
        "pinConversation",
        "members",
        Step("pinConversation", at("fork")),
        Step("pinConversation", at("child")),
        Step("pinConversation", at("child", afterConversationId="<fork>")),
        Step("pinConversation", at("fork", afterConversationId="x")),
        Step("pinConversation", at("fresh")),
        Step("pinConversation", at("fork"), user="eve"),
        Step("listConversations", {"pinned": True, "ancestry": "all", "limit": 1}),
        Step("listConversations", {"mode": "all"}),
        only_adds=True,
    ),
    card("unpinConversation", "members", only_adds=True),
    card(
        "listMemberships",
        "members",
        Step("listMemberships", at("root")),
        Step("listMemberships", at("root", limit=1), user="bob"),
        Step("listMemberships", at("fresh")),
    ),
    card(
        "requestTransfer",
        "the owner",
        Step("requestTransfer", {"conversationId": "<fork>", "newOwnerUserId": "bob"}, keep="transfer"),
        Step("requestTransfer", {"conversationId": "<fork>", "newOwnerUserId": "bob"}),
        Step("requestTransfer", {"conversationId": "<fork>", "newOwnerUserId": "eve"}),
    ),
    card(
        "listTransfers",
        "users",
        Step("listTransfers", {"role": "recipient"}, user="bob"),
        Step("listTransfers", {"role": "none"}),
    ),
    card(
        "getTransfer",
        "both sides of a transfer",
        Step("getTransfer", {"transferId": "<transfer>"}),
        Step("getTransfer", {"transferId": "<transfer>"}, user="eve"),
    ),
    card(
        "acceptTransfer",
        "the recipient of a transfer",
        Step("acceptTransfer", {"transferId": "<transfer>"}),
    ),
    card(
        "deleteTransfer",
        "both sides, to end it",
        Step("deleteTransfer", {"transferId": "<transfer>"}),
        Step("deleteTransfer", {"transferId": "<transfer>"}),
        Step("requestTransfer", {"conversationId": "<root>", "newOwnerUserId": "bob"}, keep="again"),
        Step("acceptTransfer", {"transferId": "<again>"}, user="bob"),
    ),
    card(
        "adminListConversations",
        "auditors",
        Step("adminListConversations", user="aude"),
        Step("adminListConversations", {"userId": "bob", "mode": "all", "limit": 1}, user="aude"),
        Step("adminListConversations", {"query": "x"}, user="aude"),
        Step("adminListConversations", {"ancestry": "all", "agentId": "x", "tag": "a:b"}, user="aude"),
        Step("adminListConversations", {"createdSince": "2026-01-01T00:00:00.000Z"}, user="aude"),
        Step("adminListConversations", {"afterCursor": "x"}, user="aude"),
        Step("adminListConversations"),
    ),
    card(
        "adminSearchConversations",
        "auditors",
        Step("adminSearchConversations", {"query": "hello", "justification": "a ticket"}, user="aude"),
        Step("adminSearchConversations", {"query": "hello", "userId": "bob", "limit": 2}, user="aude"),
        Step("adminSearchConversations", {"query": "hello", "userId": ""}, user="aude"),
        Step("adminSearchConversations", at("root", query="hello"), user="aude"),
        Step("adminSearchConversations", {"query": "hello"}),
    ),
    card(
        "adminGetConversation",
        "auditors of a conversation",
        Step("adminGetConversation", at("root", justification="a ticket"), user="aude"),
        Step("adminGetConversation", at("root", justification="x" * 1001), user="aude"),
        Step("adminGetConversation", at("fresh"), user="aude"),
        Step("adminGetConversation", at("fresh")),
    ),
    card(
        "adminListEntries",
        "auditors of a conversation",
        Step("adminListEntries", at("root", channel="context", tail=True, limit=1), user="aude"),
        Step("adminListEntries", at("root", epoch="all"), user="aude"),
        Step(
            "adminListEntries", at("fork", own=True, alternatives=True, upToEntryId="<second>"), user="aude"
        ),
        Step("adminListEntries", at("root", allForks=True), user="aude"),
        Step("adminListEntries", at("root", forks="all", view="line"), user="aude"),
        Step("adminListEntries", at("fresh"), user="aude"),
    ),
    card(
        "adminGetEntry",
        "auditors of a conversation",
        Step("adminGetEntry", at("root", entryId="<noted>"), user="aude"),
        Step("adminGetEntry", at("root", entryId="<noted>")),
    ),
    card(
        "adminCompareConversations",
        "auditors of a conversation",
        Step("adminCompareConversations", at("root", **{"with": "<fork>"}), user="aude"),
        Step("adminCompareConversations", at("root", **{"with": "<fork>", "limit": 0}), user="aude"),
    ),
    card(
        "adminListAncestors",
        "auditors of a conversation",
        Step("adminListAncestors", at("fork"), user="aude"),
        Step("adminListAncestors", at("fork", limit=1), user="aude"),
    ),
    card("adminListLinks", "auditors of a conversation"),
    card(
        "adminDeleteLink",
        "admins of a conversation",
        Step("adminDeleteLink", at("root", linkId="<link>"), user="adam"),
        Step("adminDeleteLink", at("root", linkId="<link>"), user="aude"),
        Step("createLink", at("root", allForks=True), keep="link"),
        Step("listLinkedEntries", {"secret": "<secret>", "conversationId": "<fork>"}),
        Step("adminDeleteLink", at("root", linkId="<link>"), user="adam"),
    ),
    card("adminListNotes", "auditors of a conversation"),
    card(
        "adminDeleteNote",
        "admins of a conversation",
        Step("addNote", at("root", entryId="<first>", score=1), keep="note"),
        Step("adminListNotes", at("root", entryId="<first>", allForks=True), user="aude"),
        Step("adminDeleteNote", at("root", entryId="<first>", noteId="<note>"), user="aude"),
        Step("adminDeleteNote", at("root", entryId="<first>", noteId="<note>"), user="adam"),
    ),
    card(
        "adminListForks",
        "auditors of a conversation",
        Step("adminListForks", at("root"), user="aude"),
        Step("adminListForks", at("fork", limit=1), user="aude"),
        Step("adminListForks", at("fork", limit=0), user="bob"),
        Step("adminListForks", at("fresh"), user="aude"),
    ),
    card(
        "adminListChildren",
        "auditors of a conversation",
        Step("adminListChildren", at("root"), user="aude"),
        Step("adminListChildren", at("root", startedByEntryId="<first>"), user="aude"),
        Step("adminListChildren", at("root", startedByEntryId="x"), user="aude"),
    ),
    card("adminListMemberships", "auditors of a conversation"),
    card(
        "adminDeleteConversation",
        "admins of a conversation",
        Step("adminDeleteConversation", at("child"), user="adam"),
        Step("adminDeleteConversation", at("child"), user="adam"),
        Step("adminDeleteConversation", at("child"), user="aude"),
    ),
    card(
        "adminEraseUser",
        "admins",
        Step("adminEraseUser", {"userId": "zed", "justification": "ticket 812"}, user="adam", keep="erasure"),
        Step("adminEraseUser", {"userId": "zed", "idempotencyKey": "z"}, user="adam"),
        Step("adminEraseUser", {"userId": "zed", "idempotencyKey": "z"}, user="adam"),
        Step("adminEraseUser", {"userId": ""}, user="adam"),
        Step("adminEraseUser", {}, user="adam"),
        Step("adminEraseUser", {"userId": "zed"}, user="aude"),
    ),
    card(
        "adminGetErasure",
        "admins",
        Step("adminGetErasure", {"erasureId": "<erasure>"}, user="adam"),
        Step("adminGetErasure", {"erasureId": "<fresh>"}, user="adam"),
        Step("adminGetErasure", {"erasureId": "<erasure>"}, user="aude"),
    ),
    card(
        "uploadAttachment",
        "users",
        Step("uploadAttachment", PHOTO, keep="photo"),
        Step("uploadAttachment", PHOTO),
        Step("appendEntry", at("root", **SHOWN)),
        Step("appendEntry", at("root", **SHOWN), user="eve"),
        Step("appendEntry", at("fresh", **SHOWN), user="eve"),
        Step("uploadAttachment", {**PHOTO, "content": "AAAA"}),
        Step("uploadAttachment", {**PHOTO, "content": "?"}),
        Step("uploadAttachment", {**PHOTO, "name": "../cat.png"}),
        Step("uploadAttachment", {**PHOTO, "size": 0}),
        Step("uploadAttachment", {**PHOTO, "contentType": "photo"}),
    ),
    card(
        "getAttachment",
        "who has uploaded it, and members",
        Step("getAttachment", {"attachmentId": "<photo>"}),
        Step("getAttachment", {"attachmentId": "<photo>", "conversationId": "<root>"}, user="bob"),
        Step("getAttachment", {"attachmentId": "<photo>", "conversationId": "<child>"}, user="bob"),
        Step("getAttachment", {"attachmentId": "<photo>"}, user="eve"),
        Step("getAttachment", {"attachmentId": "<fresh>"}),
        Step("getAttachment", {"attachmentId": "x"}),
    ),
    card(
        "adminListAttachments",
        "auditors",
        Step("adminListAttachments", {"userId": "ann"}, user="aude"),
        Step("adminListAttachments", {"userId": "ann", "afterCursor": "x"}, user="aude"),
        Step("adminListAttachments", {"userId": "ann"}),
    ),
    card(
        "adminGetAttachment",
        "auditors",
        Step("adminGetAttachment", {"attachmentId": "<photo>", "justification": "a ticket"}, user="aude"),
        Step("adminGetAttachment", {"attachmentId": "<fresh>"}, user="aude"),
        Step("adminGetAttachment", {"attachmentId": "<photo>"}),
    ),
    card(
        "adminRemoveAttachment",
        "admins",
        Step("adminRemoveAttachment", {"attachmentId": "<photo>"}, user="adam"),
        Step("adminRemoveAttachment", {"attachmentId": "<photo>"}, user="adam"),
        Step("adminRemoveAttachment", {"attachmentId": "<fresh>"}, user="adam"),
        Step("adminRemoveAttachment", {"attachmentId": "<photo>"}, user="aude"),
        Step("getAttachment", {"attachmentId": "<photo>"}),
        Step("appendEntry", at("root", **SHOWN)),
    ),
    card(
        "removeMembership",
        "managers",
        Step("removeMembership", at("root", userId="nora"), user="bob"),
        Step("removeMembership", at("root", userId="ann")),
        Step("removeMembership", at("root", userId="bob")),
        Step("removeMembership", at("root", userId="ann")),
    ),
    card(
        "listTrash",
        "users",
        Step("listTrash", {"limit": 1}, user="eve"),
        Step("listTrash", {"afterCursor": "x"}),
        only_adds=True,
    ),
    card(
        "adminListTrash",
        "auditors",
        Step("adminListTrash", {"userId": "eve", "justification": "a ticket"}, user="aude"),
        Step("adminListTrash", user="aude"),
        Step("adminListTrash", {"userId": "ann"}),
    ),
    card(
        "restoreConversation",
        "managers",
        Step("restoreConversation", at("copy")),
        Step("restoreConversation", at("fresh")),
        Step("restoreConversation", at("copy"), user="eve"),
        only_adds=True,
    ),
    card(
        "adminRestoreConversation",
        "admins of a conversation",
        Step("adminRestoreConversation", at("copy", justification="a ticket"), user="adam"),
        Step("adminRestoreConversation", at("copy"), user="aude"),
        only_adds=True,
    ),
    card(
        "deleteConversation",
        "the owner",
        Step("deleteConversation", at("copy")),
        Step("forkConversation", at("root", id="<cut>"), user="bob"),
        Step("forkConversation", at("root"), user="bob", keep="again"),
        Step("deleteConversation", at("cut", scope="branch"), user="cy"),
        Step("deleteConversation", at("cut", scope="twig"), user="bob"),
        Step("deleteConversation", at("cut", scope="branch"), user="bob"),
        Step("deleteConversation", at("cut", scope="branch"), user="bob"),
        Step("adminDeleteConversation", at("again", scope="branch"), user="adam"),
        Step("deleteConversation", at("fork")),
        Step("deleteConversation", at("fork", scope="tree"), user="bob"),
        Step("deleteConversation", at("fork"), user="bob"),
        Step("deleteConversation", at("fork", forGood=True), user="eve"),
        Step("deleteConversation", at("fork", forGood="no"), user="bob"),
        Step("restoreConversation", at("fork"), user="eve"),
        Step("deleteConversation", {"conversationId": "x"}),
    ),
]
"""The order matters: a step may need what steps before it have made."""
CATALOGUE = {one.operation: one for one in CARDS}


def operation_of(route: str) -> str:
    """Return the operation of a route. A second route of an operation has one more word."""
    return route.removesuffix("ByPath").removesuffix("Content")


def card_of(route: str) -> Card:
    """Return the card of a route's operation."""
    return CATALOGUE[operation_of(route)]


STORY = [step for one in CARDS for step in one.steps]

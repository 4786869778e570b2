"""A list of steps that uses every operation, well and badly; each transport can run it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.service.aws.world import NOTED, PLAIN, SAID, conversation_id
from tools.harness.service import OF_A_CONVERSATION, WITHOUT_FIELDS

ROOT, FORK, CHILD, COPY, FRESH, CUT = (conversation_id(number) for number in (1, 2, 3, 4, 9, 5))
NOTHING = "00000000-0000-7000-8000-000000000001"
"""A valid entry id, but no entry has it."""


@dataclass(frozen=True)
class Step:
    """One request. `<name>` in it stands for the id in the answer of the step that keeps `name`.

    Of a name it stands for the revision.
    """

    operation: str
    given: Mapping[str, Any] = field(default_factory=dict)
    user: str = "ann"
    agent: str | None = None
    keep: str | None = None

    @property
    def roles(self) -> list[str]:
        return {"aude": ["auditor"], "adam": ["admin", "auditor"]}.get(self.user, [])


def at(conversation: str, **more: Any) -> dict[str, Any]:
    return {"conversationId": conversation, **more}


STORY = [
    Step("checkHealth"),
    Step("checkHealth", {"deep": True}),
    Step("createConversation", {"id": ROOT, "title": "of Ann", "tags": {"a": "b"}, "idempotencyKey": "k"}),
    Step("createConversation", {"id": ROOT, "title": "of Ann", "tags": {"a": "b"}, "idempotencyKey": "k"}),
    Step("createConversation", {"id": ROOT, "title": "of Eve", "idempotencyKey": "k"}),
    Step("createConversation", {"id": ROOT}),
    Step("createConversation", {"title": 5}),
    Step("createConversation", {"metadata": {"exact": 1.5}, "idempotencyKey": ""}),
    Step("appendEntry", at(ROOT, **SAID), keep="first"),
    Step("appendEntry", at(ROOT, **PLAIN, usage={"inputTokens": 3, "costUsd": 0.25}), keep="second"),
    Step("appendEntry", at(ROOT, entries=[PLAIN, {**PLAIN, "userId": "ann"}])),
    Step("appendEntry", at(ROOT, **NOTED, epoch=5), agent="planner", keep="noted"),
    Step("appendEntry", at(ROOT, **PLAIN, indexedContent="a drawing")),
    Step("appendEntry", at(ROOT, **NOTED, indexedContent="a drawing"), agent="planner"),
    Step("appendEntry", at(ROOT, **NOTED)),
    Step("appendEntry", at(ROOT, **PLAIN, ifMatch=NOTHING)),
    Step("appendEntry", at(ROOT, **PLAIN, ifMatch="*")),
    Step("appendEntry", at(ROOT, **PLAIN, userId="bob")),
    Step("appendEntry", at("x", **PLAIN)),
    Step("appendEntry", at(CHILD, **PLAIN, startedByConversationId=ROOT, startedByEntryId="<first>")),
    Step("appendEntry", at(ROOT, contentType="x")),
    Step("syncContext", at(ROOT, contentType="c", content=["a", 1.0]), agent="planner"),
    Step("syncContext", at(ROOT, contentType="c", content=["a", 1]), agent="planner"),
    Step("syncContext", at(ROOT, contentType="c", content=["a"])),
    Step("syncContext", at(ROOT), agent="planner"),
    Step("listEntries", at(ROOT)),
    Step("listEntries", at(ROOT, limit=2, tail=True)),
    Step("listEntries", at(ROOT, limit=2, afterCursor="<first>")),
    Step("listEntries", at(ROOT, channel="CONTEXT", epoch="all"), agent="planner"),
    Step("listEntries", at(ROOT, channel="context", epoch=5), agent="planner"),
    Step("listEntries", at(ROOT, channel="context")),
    Step("listEntries", at(ROOT, afterCursor=NOTHING)),
    Step("listEntries", at(ROOT, limit=0)),
    Step("listEntries", at(ROOT, limit=2, tail=True, afterCursor="<first>")),
    Step("listEntries", at(ROOT, allForks=True, limit=1)),
    Step("listEntries", at(FRESH)),
    Step("listEntries", at(ROOT), user="eve"),
    Step("appendEntry", at(ROOT, **PLAIN, key="k 1")),
    Step("appendEntry", at(ROOT, **PLAIN, key="k 1")),
    Step("appendEntry", at(ROOT, **PLAIN, key="")),
    Step("lookUpEntry", at(ROOT, key="k 1")),
    Step("lookUpEntry", at(ROOT, key="k 2")),
    Step("lookUpEntry", at(ROOT)),
    Step("setName", {"name": "trip", "conversationId": ROOT, "data": {"exact": 1.50}, "idempotencyKey": "n"}),
    Step("setName", {"name": "trip", "conversationId": ROOT, "expectRevision": 0}),
    Step("setName", {"name": "trip", "conversationId": FRESH}),
    Step("setName", {"name": "", "conversationId": ROOT}),
    Step("setName", {"name": "trip", "conversationId": ROOT}, user="eve"),
    Step("listNames"),
    Step("listNames", {"prefix": "tr", "limit": 1}),
    Step("listNames", {"afterCursor": "x"}),
    Step("lookUpName", {"name": "trip"}, keep="revision"),
    Step("lookUpName", {"name": "trip"}, agent="planner"),
    Step("lookUpName"),
    Step("appendEntryByName", {"name": "trip", **PLAIN}),
    Step("appendEntryByName", {"name": "new", **PLAIN, "data": {"n": 1}}),
    Step("appendEntryByName", {"name": "new", **PLAIN, "ifMatch": NOTHING}),
    Step("appendEntryByName", {"name": "new"}),
    Step("listEntriesByName", {"name": "new"}),
    Step("listEntriesByName", {"name": "none"}),
    Step("listEntriesByName", {"name": "new", "limit": 0}),
    Step("adminLookUpEntry", at(ROOT, key="k 1"), user="aude"),
    Step("adminLookUpEntry", at(ROOT, key="k 1")),
    Step("adminListNames", {"userId": "ann", "limit": 1}, user="aude"),
    Step("adminListNames", user="aude"),
    Step("adminLookUpName", {"userId": "ann", "name": "new"}, user="aude"),
    Step("adminLookUpName", {"userId": "ann", "clientId": "planner", "name": "new"}, user="aude"),
    Step("adminDeleteName", {"userId": "ann", "name": "new"}, user="aude"),
    Step("adminDeleteName", {"userId": "ann", "name": "new"}, user="adam"),
    Step("deleteName", {"name": "trip", "expectRevision": 1}),
    Step("deleteName", {"name": "trip", "expectRevision": "<revision>"}),
    Step("deleteName", {"name": "trip"}),
    Step("forkConversation", at(ROOT, id=FORK, atEntryId="<second>", position="after", ifMatch="<second>")),
    Step("forkConversation", at(ROOT, id=FORK, atEntryId="<second>", position="after")),
    Step("forkConversation", at(ROOT, id=FORK)),
    Step("forkConversation", at(ROOT, atEntryId=NOTHING)),
    Step("forkConversation", at(ROOT), user="eve"),
    Step("appendEntry", at(FORK, **PLAIN, mergedFromConversationId=ROOT, mergedUpToEntryId="<first>")),
    Step("appendEntry", at(FORK, **PLAIN, mergedFromConversationId=FRESH)),
    Step("appendEntry", at(FORK, **PLAIN, mergedUpToEntryId="<first>")),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT, upToEntryId="<second>")),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT, afterEntryId="<first>", idempotencyKey="m")),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT, afterEntryId="<first>", idempotencyKey="m")),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT, ifMatch=NOTHING)),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT, afterEntryId=NOTHING)),
    Step("mergeConversation", at(FORK, fromConversationId=CHILD)),
    Step("mergeConversation", at(FORK)),
    Step("mergeConversation", at(FORK, fromConversationId=ROOT), user="eve"),
    Step("copyConversation", at(FORK, title="mine", upToEntryId="<first>")),
    Step("copyConversation", at(FORK, id=COPY, idempotencyKey="c")),
    Step("copyConversation", at(FORK, id=COPY, idempotencyKey="c")),
    Step("copyConversation", at(FORK, id=COPY)),
    Step("copyConversation", at(FORK, upToEntryId=NOTHING)),
    Step("copyConversation", at(FORK, count=2)),
    Step("copyConversation", at(FORK), user="eve"),
    Step("listEntries", at(FORK, alternatives=True)),
    Step("listEntries", at(FORK, own=True)),
    Step("listEntries", at(FORK, own=True, allForks=True)),
    Step("getEntry", at(FORK, entryId="<second>")),
    Step("getEntry", at(ROOT, entryId="<noted>"), agent="planner"),
    Step("getEntry", at(ROOT, entryId="<noted>")),
    Step("getEntry", at(ROOT, entryId="x")),
    Step("getEntry", at(ROOT, entryId="<first>"), user="eve"),
    Step("compareConversations", at(FORK, **{"with": ROOT, "limit": 1})),
    Step("compareConversations", at(FORK, **{"with": CHILD})),
    Step("compareConversations", at(FORK)),
    Step("compareConversations", at(FORK, **{"with": ROOT}), user="eve"),
    Step("listAncestors", at(FORK)),
    Step("forkConversation", at(ROOT, count=2, atEntryId="<second>")),
    Step("forkConversation", at(ROOT, count=2, promote=True)),
    *(
        Step(one.name, at(conversation), user=user)
        for one in WITHOUT_FIELDS
        for conversation, user in ((FORK, "ann"), (FRESH, "ann"), (FORK, "eve"))
    ),
    Step("promoteConversation", at(FORK, idempotencyKey="once")),
    Step("promoteConversation", at(FORK, idempotencyKey="once")),
    Step("listForks", at(ROOT, limit=1)),
    Step("listForks", at(FORK)),
    Step("listForks", at(FORK, afterCursor="x")),
    Step("listChildren", at(ROOT)),
    Step("listChildren", at(ROOT, startedByEntryId="<first>")),
    Step("listChildren", at(ROOT, startedByEntryId="<second>")),
    Step("listChildren", at(CHILD)),
    Step("updateConversation", at(FORK, title="two", metadata={"n": 1.50})),
    Step("updateConversation", at(FORK, title=None)),
    Step("updateConversation", at(FORK, title="x", ifMatch="2020-01-01T00:00:00.000Z")),
    Step("updateConversation", at(FORK, title="x", ifMatch=NOTHING)),
    Step("updateConversation", at(FORK, name="x")),
    Step("getConversation", at(FORK)),
    Step("getConversation", at("not an id")),
    Step("getConversation", at(FORK), user="eve"),
    Step("listConversations"),
    Step("listConversations", {"mode": "all", "ancestry": "all", "limit": 1}),
    Step("listConversations", {"mode": "current", "tag": "a:b"}),
    Step("listConversations", {"mode": "all", "agentId": "x"}),
    Step("listConversations", {"tag": "a b"}),
    Step("listConversations", {"mode": "none"}),
    Step("listConversations", {"query": "OF", "afterCursor": "x"}),
    Step("searchConversations", {"query": "HELLO", "includeEntry": False}),
    Step("searchConversations", {"query": "hello", "searchType": ["semantic", "fulltext"], "limit": 1}),
    Step("searchConversations", {"query": "hello", "searchType": "semantic"}),
    Step("searchConversations", {"query": "hello", "searchType": ["auto"]}),
    Step("searchConversations", {"query": "hello", "afterCursor": "x"}),
    Step("searchConversations", {"query": " "}),
    Step("searchConversations", {"query": "hello"}, user="eve"),
    Step("shareConversation", at(ROOT, userId="bob", accessLevel="reader")),
    Step("shareConversation", at(ROOT, userId="bob", accessLevel="reader")),
    Step("shareConversation", at(ROOT, userId="", accessLevel="reader")),
    Step("shareConversation", at(ROOT, userId="cy", accessLevel="owner")),
    Step("updateMembership", at(ROOT, userId="bob", accessLevel="manager")),
    Step("updateMembership", at(ROOT, userId="eve", accessLevel="reader")),
    Step("updateMembership", at(ROOT, userId="ann", accessLevel="reader")),
    Step("archiveConversation", at(FORK)),
    Step("getConversation", at(ROOT)),
    Step("listConversations", {"mode": "all", "archived": "only"}),
    Step("listConversations", {"archived": "yes"}),
    Step("unarchiveConversation", at(ROOT)),
    Step("listMemberships", at(ROOT), user="bob"),
    Step("listMemberships", at(ROOT, limit=1)),
    Step("requestTransfer", {"conversationId": FORK, "newOwnerUserId": "eve"}),
    Step("requestTransfer", {"conversationId": FORK, "newOwnerUserId": "bob"}, keep="transfer"),
    Step("requestTransfer", {"conversationId": FORK, "newOwnerUserId": "bob"}),
    Step("listTransfers", {"role": "recipient"}, user="bob"),
    Step("listTransfers", {"role": "none"}),
    Step("getTransfer", {"transferId": "<transfer>"}),
    Step("getTransfer", {"transferId": "<transfer>"}, user="eve"),
    Step("acceptTransfer", {"transferId": "<transfer>"}),
    Step("deleteTransfer", {"transferId": "<transfer>"}),
    Step("deleteTransfer", {"transferId": "<transfer>"}),
    Step("requestTransfer", {"conversationId": ROOT, "newOwnerUserId": "bob"}, keep="again"),
    Step("acceptTransfer", {"transferId": "<again>"}, user="bob"),
    Step("adminListConversations", user="aude"),
    Step("adminListConversations", {"userId": "bob", "mode": "all", "limit": 1}, user="aude"),
    Step("adminListConversations", {"query": "x"}, user="aude"),
    Step("adminListConversations", {"afterCursor": "x"}, user="aude"),
    Step("adminListConversations"),
    Step("adminSearchConversations", {"query": "hello", "justification": "a ticket"}, user="aude"),
    Step("adminSearchConversations", {"query": "hello", "userId": "bob", "limit": 2}, user="aude"),
    Step("adminSearchConversations", {"query": "hello", "userId": ""}, user="aude"),
    Step("adminSearchConversations", {"query": "hello"}),
    Step("adminGetConversation", at(ROOT, justification="a ticket"), user="aude"),
    Step("adminGetConversation", at(ROOT, justification="x" * 1001), user="aude"),
    Step("adminGetConversation", at(FRESH)),
    Step("adminListEntries", at(ROOT, channel="context", tail=True, limit=1), user="aude"),
    Step("adminListEntries", at(ROOT, epoch="all"), user="aude"),
    Step("adminGetEntry", at(ROOT, entryId="<noted>"), user="aude"),
    Step("adminGetEntry", at(ROOT, entryId="<noted>")),
    Step("adminCompareConversations", at(ROOT, **{"with": FORK}), user="aude"),
    Step("adminCompareConversations", at(ROOT, **{"with": FORK, "limit": 0}), user="aude"),
    Step("adminListAncestors", at(FORK), user="aude"),
    Step("adminListAncestors", at(FORK, limit=1), user="aude"),
    Step("adminListForks", at(FORK, limit=1), user="aude"),
    Step("adminListForks", at(FORK, limit=0), user="bob"),
    *(
        Step(one.name, at(conversation), user="aude" if one.role else "ann")
        for one in OF_A_CONVERSATION
        for conversation in (ROOT, FRESH)
    ),
    Step("adminDeleteConversation", at(CHILD), user="aude"),
    Step("adminDeleteConversation", at(CHILD), user="adam"),
    Step("adminDeleteConversation", at(CHILD), user="adam"),
    Step("adminEraseUser", {"userId": "zed", "justification": "ticket 812"}, user="adam", keep="erasure"),
    Step("adminEraseUser", {"userId": "zed", "idempotencyKey": "z"}, user="adam"),
    Step("adminEraseUser", {"userId": "zed", "idempotencyKey": "z"}, user="adam"),
    Step("adminEraseUser", {"userId": ""}, user="adam"),
    Step("adminEraseUser", {}, user="adam"),
    Step("adminEraseUser", {"userId": "zed"}, user="aude"),
    Step("adminGetErasure", {"erasureId": "<erasure>"}, user="adam"),
    Step("adminGetErasure", {"erasureId": FRESH}, user="adam"),
    Step("adminGetErasure", {"erasureId": "<erasure>"}, user="aude"),
    Step("removeMembership", at(ROOT, userId="bob")),
    Step("removeMembership", at(ROOT, userId="ann")),
    Step("removeMembership", at(ROOT, userId="ann")),
    Step("forkConversation", at(ROOT, id=CUT), user="bob"),
    Step("forkConversation", at(ROOT), user="bob", keep="cut"),
    Step("deleteConversation", at(CUT, scope="branch"), user="cy"),
    Step("deleteConversation", at(CUT, scope="twig"), user="bob"),
    Step("deleteConversation", at(CUT, scope="branch"), user="bob"),
    Step("deleteConversation", at(CUT, scope="branch"), user="bob"),
    Step("adminDeleteConversation", at("<cut>", scope="branch"), user="adam"),
    Step("deleteConversation", at(FORK)),
    Step("deleteConversation", at(FORK, scope="tree"), user="bob"),
    Step("deleteConversation", at(FORK), user="bob"),
    Step("deleteConversation", at("x")),
]

Ask = Callable[[Step], tuple[int, Any]]
"""Sends a step. Returns the status and the body; None if there is no body."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PSEUDONYM = re.compile(r"erased-[0-9a-f]{32}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def tell(ask: Ask) -> list[tuple[Step, int, Any]]:
    """Return the answer to every step. Ids are numbered, times and revisions are replaced."""
    kept: dict[str, Any] = {}
    numbers: dict[str, str] = {}
    told = []
    for step in STORY:
        given = {name: _filled(held, kept) for name, held in step.given.items()}
        status, body = ask(Step(step.operation, given, step.user, step.agent))
        if step.keep:
            kept[step.keep] = body["revision" if "revision" in body else "id"]
        told.append((step, status, _still(body, numbers)))
    return told


def _filled(held: Any, kept: Mapping[str, Any]) -> Any:
    return kept[held[1:-1]] if isinstance(held, str) and held.startswith("<") else held


def _still(body: Any, numbers: dict[str, str]) -> Any:
    match body:
        case dict():
            return {
                name: f"a {name}" if name in ("afterCursor", "revision") and held else _still(held, numbers)
                for name, held in body.items()
                if name != "requestId"
            }
        case list():
            return [_still(held, numbers) for held in body]
        case str():
            numbered = _UUID.sub(lambda match: numbers.setdefault(match[0], f"id {len(numbers)}"), body)
            return _PSEUDONYM.sub("a pseudonym", _TIME.sub("a time", numbered))
        case _:
            return body

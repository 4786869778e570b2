"""Every valid request of one user, with each of its ids replaced by another user's id."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.service.aws.direct import Direct
from tests.service.aws.story import Ask
from tests.service.aws.test_both_ways import by_http, directly
from tests.service.reliability.figures import Measure
from tests.support.tables import Store
from tools.catalogue import CATALOGUE, NOTED, NOTHING, PHOTO, PLAIN, SAID, Step, with_ids
from tools.harness.functions import functions_on
from tools.harness.gateway import Answer, Gateway
from tools.harness.service import OPERATIONS

CLIENTS = {"ann": "planner", "bob": "coder"}
"""The two tenants. Each has its own client."""
ROLES = {"FORKLORE_ADMINS": "adam", "FORKLORE_AUDITORS": "aude"}


def of(conversation: str, **more: Any) -> dict[str, Any]:
    return {"conversationId": f"<{conversation}>", **more}


@dataclass(frozen=True)
class Valid:
    """A valid request of a tenant. `<name>` stands for an id that the tenant has under that name.

    other: for a field, the status if its id is the other tenant's and the status is not the usual
    one. by: the user who makes the request, if it is not the tenant.
    """

    operation: str
    given: Mapping[str, Any]
    other: Mapping[str, int] = field(default_factory=dict)
    is_agents: bool = False
    by: str | None = None

    @property
    def swaps(self) -> dict[str, int]:
        """For each field with an id, the status if it is the other tenant's."""
        ids = [name for name, held in self.given.items() if isinstance(held, str) and held.startswith("<")]
        usual = dict.fromkeys(ids, 403) if self.by else {name: REFUSED.get(name, 400) for name in ids}
        return {**usual, **self.other}


REFUSED = {
    "conversationId": 403,
    **dict.fromkeys(("entryId", "atEntryId", "forkedAtEntryId", "answerId", "attachmentId", "linkId"), 404),
    "noteId": 404,
    **dict.fromkeys(("id", "ifMatch"), 409),
    **dict.fromkeys(("forkedAtConversationId", "startedByConversationId", "transferId"), 403),
}
"""The status for another tenant's id in a field, where it is not 400. On admin routes it is 403."""


WRITTEN = [
    Valid("listConversations", {"afterCursor": "<conversations>", "limit": 1}),
    Valid("searchConversations", {"query": "mark", "limit": 1, "afterCursor": "<search>"}),
    Valid("listEntries", of("root", afterCursor="<first>")),
    Valid("listEntries", of("fork", beforeCursor="<second>")),
    Valid("listEntries", of("root", upToEntryId="<second>", tail=True)),
    Valid("listEntries", of("fork", allForks=True, afterCursor="<first>")),
    Valid("listEntries", of("root", channel="context", epoch="all"), is_agents=True),
    Valid("listEntries", of("fork", own=True, alternatives=True)),
    Valid("getEntry", of("fork", entryId="<first>")),
    Valid("getEntry", of("root", entryId="<noted>"), is_agents=True),
    Valid("listForks", of("root", limit=1, afterCursor="<forks>")),
    Valid("listChildren", of("root", limit=1, afterCursor="<children>")),
    Valid("listMemberships", of("root", limit=1, afterCursor="<members>")),
    Valid("listTransfers", {"limit": 1, "afterCursor": "<transfers>"}),
    Valid("getTransfer", {"transferId": "<transfer>"}, {"transferId": 404}),
    Valid("createConversation", {"id": "<new>", "title": "x", "userId": "<user>"}),
    Valid("setScores", of("fork", scores=[{"conversationId": "<fork>", "score": 1}])),
    Valid("updateConversation", of("fork", title="changed", userId="<user>")),
    Valid("appendEntry", of("root", **PLAIN, userId="<user>")),
    Valid("forkConversation", of("root 2", id="<new 5>", ifMatch="<other first>")),
    Valid(
        "mergeConversation",
        of("root 2", fromConversationId="<root 2>", ifMatch="<other first>"),
    ),
    Valid("appendEntry", of("root 2", **PLAIN, ifMatch="<other first>")),
    Valid("appendEntry", of("root", entries=[PLAIN, SAID])),
    Valid("appendEntry", of("root", **NOTED), is_agents=True),
    Valid(
        "appendEntry",
        of("new 2", **PLAIN, forkedAtConversationId="<root>", forkedAtEntryId="<second>"),
    ),
    Valid(
        "appendEntry",
        of("new 3", **PLAIN, startedByConversationId="<root>", startedByEntryId="<first>"),
    ),
    Valid("syncContext", of("root", contentType="c", content=["a"]), is_agents=True),
    Valid(
        "forkConversation",
        of("root", id="<new 4>", atEntryId="<second>", userId="<user>"),
    ),
    Valid(
        "appendEntry", of("root", **PLAIN, mergedFromConversationId="<fork>", mergedUpToEntryId="<second>")
    ),
    Valid(
        "mergeConversation",
        of("fork", fromConversationId="<root>", afterEntryId="<first>", upToEntryId="<second>"),
    ),
    Valid(
        "copyConversation",
        of("fork", id="<new 6>", upToEntryId="<second>"),
    ),
    Valid("copyTree", of("fork", id="<new 7>")),
    Valid("forkConversation", of("root", count=2, atEntryId="<second>")),
    Valid("listChildren", of("root", startedByEntryId="<first>"), {"startedByEntryId": 200}),
    Valid("shareConversation", of("root", userId="somebody", accessLevel="reader")),
    Valid("updateMembership", of("root", userId="<member>", accessLevel="manager"), {"userId": 404}),
    Valid("removeMembership", of("root", userId="<member>"), {"userId": 404}),
    Valid("createLink", of("root", upToEntryId="<first>")),
    Valid("listLinkedEntries", {"secret": "<secret>", "afterCursor": "<first>"}),
    Valid(
        "listLinkedEntries",
        {"secret": "<secret>", "conversationId": "<root>"},
        {"secret": 404, "conversationId": 404},
    ),
    Valid("adminDeleteLink", of("root", linkId="<other link>"), by="adam"),
    Valid("deleteLink", of("root", linkId="<link>")),
    Valid("addNote", of("root", entryId="<second>", score=1)),
    Valid("listNotes", of("root", entryId="<second>")),
    Valid("adminDeleteNote", of("root", entryId="<first>", noteId="<other note>"), by="adam"),
    Valid("deleteNote", of("root", entryId="<first>", noteId="<note>")),
    Valid("requestTransfer", of("root 2", newOwnerUserId="<heir>", userId="<user>")),
    Valid("acceptTransfer", {"transferId": "<incoming>"}),
    Valid("deleteTransfer", {"transferId": "<transfer>"}),
    Valid("appendEntry", of("root 2", **PLAIN, key="a key")),
    Valid("lookUpEntry", of("root 2", key="a key")),
    Valid("adminLookUpEntry", of("root 2", key="a key"), by="aude"),
    Valid("setName", {"name": "a name", "conversationId": "<root>"}),
    Valid("setName", {"name": "another", "conversationId": "<root 2>", "data": {"a": 1}}),
    Valid("listNames", {"limit": 1, "afterCursor": "<names>"}),
    Valid("lookUpName", {"name": "a name"}),
    Valid("appendEntryByName", {"name": "a name", **PLAIN}),
    Valid("listEntriesByName", {"name": "another", "afterCursor": "<other first>"}),
    Valid("adminListNames", {"userId": "<user>"}, by="aude"),
    Valid("adminLookUpName", {"userId": "<user>", "name": "a name"}, by="aude"),
    Valid("adminDeleteName", {"userId": "<user>", "name": "a name"}, by="adam"),
    Valid("adminEraseUser", {"userId": "<user>"}, by="adam"),
    Valid("adminGetErasure", {"erasureId": "<erasure>"}, by="adam"),
    Valid("appendToAnswer", of("root", answerId="<answer>", after=0, content=["a"])),
    Valid("getAnswer", of("root", answerId="<answer>")),
    Valid("adminGetAnswer", of("root", answerId="<answer>"), by="aude"),
    Valid("stopAnswer", of("root", answerId="<answer>")),
    Valid("appendEntry", of("root", **PLAIN, answerId="<answer>")),
    Valid("beginAnswer", of("root", afterEntryId="<first>"), {"afterEntryId": 404}),
    Valid("deleteAnswer", of("root 2", answerId="<other answer>")),
    Valid("deleteName", {"name": "another"}),
    Valid("adminListConversations", {"userId": "<user>"}, by="aude"),
    Valid("adminSearchConversations", {"query": "x", "userId": "<user>"}, by="aude"),
    Valid("adminListTrash", {"userId": "<user>"}, by="aude"),
    Valid("restoreConversation", of("root 2")),
    Valid("adminRestoreConversation", of("root 2"), by="adam"),
    Valid("adminDeleteConversation", of("child"), by="adam"),
    Valid("deleteConversation", {**of("fork"), "scope": "branch"}),
    Valid("deleteConversation", of("root")),
]
"""The order matters: each request is valid after the ones before it."""
REQUESTS = [
    *(
        Valid(name, one.sample.given, by=one.sample.user if OPERATIONS[name].role else None)
        for name, one in CATALOGUE.items()
        if name not in {valid.operation for valid in WRITTEN} | {"checkHealth", "openLink"}
    ),
    *WRITTEN,
]
"""Of an operation without a request above it is the sample of its card.

Who has the secret of another tenant's link may read by it.
"""
SAME_AS_UNKNOWN = {
    *("afterCursor", "beforeCursor", "upToEntryId", "atEntryId", "forkedAtEntryId", "startedByEntryId"),
    *("ifMatch", "mergedFromConversationId", "mergedUpToEntryId", "fromConversationId", "afterEntryId"),
    *("entryId", "with", "answerId", "attachmentId", "linkId", "noteId"),
}
"""Fields where the answer is the same for another tenant's id and for an unknown id."""


class Tenant:
    """A user with conversations, members and transfers. made: their ids, by name."""

    def __init__(self, user: str, number: int, ask: Ask) -> None:
        self.user = user
        self.agent = CLIENTS[user]
        self.mark = f"mark-of-{user}-{number}"
        """A text in everything that the tenant writes, and nowhere else."""
        self._ask = ask
        roots = [f"{number:08}-0000-4000-8000-{at:012}" for at in range(12)]
        names = [
            "root",
            "root 2",
            "root of heir",
            "fork",
            "child",
            "new",
            "new 2",
            "new 3",
            "new 4",
            "new 5",
            "new 6",
            "new 7",
        ]
        self.made = dict(zip(names, roots, strict=False))
        self.made |= {"user": user, "member": f"{self.mark}-member", "heir": f"{self.mark}-heir"}
        text = {**SAID, "content": [{"role": "USER", "text": self.mark}]}
        plain = {**PLAIN, "content": [self.mark]}
        for root in ("root", "root 2"):
            body = {"id": self.made[root], "title": self.mark, "tags": {"tag": self.mark}}
            self._make("createConversation", body, agent=self.agent)
        self._keep("first", "appendEntry", of("root", **text))
        self._keep("second", "appendEntry", of("root", **plain))
        self._keep("noted", "appendEntry", of("root", **{**NOTED, "content": [self.mark]}), agent=self.agent)
        self._keep("other first", "appendEntry", of("root 2", **plain))
        self._make("forkConversation", of("root", id="<fork>"))
        for child in ("child", "root of heir"):
            self._make("appendEntry", of(child, **text, startedByConversationId="<root>"))
        for root in ("root", "root 2"):
            for who in ("member", "heir"):
                self._make("shareConversation", of(root, userId=f"<{who}>", accessLevel="writer"))
        self._keep("transfer", "requestTransfer", of("root", newOwnerUserId="<heir>"))
        self._make("shareConversation", of("root of heir", userId="<heir>", accessLevel="reader"))
        for name in ("outgoing", "incoming"):
            self._keep(
                name,
                "requestTransfer",
                of("root of heir", newOwnerUserId="<heir>" if name == "outgoing" else "<user>"),
                user=user if name == "outgoing" else self.made["heir"],
            )
            if name == "outgoing":
                self._make("acceptTransfer", {"transferId": "<outgoing>"}, user=self.made["heir"])
        self._keep("other link", "createLink", of("root"))
        link = self._make("createLink", of("root", allForks=True))
        self.made |= {"link": link["id"], "secret": link["secret"]}
        for note in ("note", "other note"):
            self._keep(note, "addNote", of("root", entryId="<first>", text=self.mark))
        self._keep("answer", "beginAnswer", of("root"))
        self._keep("other answer", "beginAnswer", of("root 2"))
        self._keep("erasure", "adminEraseUser", {"userId": "nobody"}, user="adam")
        self._keep("photo", "uploadAttachment", {**PHOTO, "name": self.mark})
        for name, root in (("a name", "<root>"), ("another", "<root 2>")):
            self._make("setName", {"name": name, "conversationId": root})
        for name, operation, given in (
            ("conversations", "listConversations", {"limit": 1}),
            ("search", "searchConversations", {"query": "mark", "limit": 1}),
            ("forks", "listForks", of("root", limit=1)),
            ("children", "listChildren", of("root", limit=1)),
            ("members", "listMemberships", of("root", limit=1)),
            ("transfers", "listTransfers", {"limit": 1}),
            ("names", "listNames", {"limit": 1}),
        ):
            self.made[name] = self._make(operation, given)["afterCursor"]
        assert all(self.made.values()), self.made

    def _keep(self, name: str, operation: str, given: Mapping[str, Any], **by: str) -> None:
        self.made[name] = self._make(operation, given, **by)["id"]

    def _make(
        self, operation: str, given: Mapping[str, Any], *, user: str | None = None, agent: str | None = None
    ) -> Any:
        step = Step(operation, named(given, self.made), user or self.user, agent)
        status, body = self._ask(step)
        assert status < 300, (step, status, body)
        return body

    def ask(self, valid: Valid, given: Mapping[str, Any], *, by: str | None = None) -> tuple[int, Any]:
        """Return the answer to a request of the tenant, or of the user `by`."""
        return self._ask(
            Step(valid.operation, given, by or self.user, self.agent if valid.is_agents else None)
        )

    @property
    def secrets(self) -> set[str]:
        """The ids, cursors and names that no answer to another tenant may hold."""
        return {self.mark, *self.made.values()}


def named(given: Mapping[str, Any], made: Mapping[str, str]) -> dict[str, Any]:
    """Return a request with each `<name>` replaced by its id."""
    filled: dict[str, Any] = with_ids(given, made)
    return filled


def swaps(valid: Valid, own: Tenant, other: Tenant) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the request with each id replaced by the other's in turn, then with all ids replaced.

    Each comes with the name of the replaced field and the expected status.
    """
    mine = named(valid.given, own.made)
    for name, status in valid.swaps.items():
        there = str(valid.given[name])[1:-1]
        yield name, status, {**mine, name: other.made["root" if there.startswith("new") else there]}
    if (
        len(valid.swaps) > 1
        and "conversationId" in valid.swaps
        and not {"userId", "secret"} & set(valid.swaps)
    ):
        everything = dict(other.made)
        everything |= {name: other.made["root"] for name in other.made if name.startswith("new")}
        yield "everything", 403, named(valid.given, everything)


class Listening(Gateway):
    """A gateway that keeps its last answer."""

    last: Answer

    def send(self, method: str, path: str, **what: Any) -> Answer:
        self.last = super().send(method, path, **what)
        return self.last


@pytest.mark.failure("foreign-id")
@pytest.mark.parametrize("way", ["http", "direct"])
def test_the_id_of_another_tenant_gives_nothing_away_and_changes_nothing(
    store: Store, measure: Measure, way: str
) -> None:
    """In every valid request, each id is replaced by the other tenant's id, in both directions.

    Ids are in paths, bodies, cursors and If-Match. The answer is 403 or 404, but 400 for a cursor,
    and 409 for an id that must be new.
    """
    with functions_on(store, FORKLORE_DIRECT_ROLES="allowed") as template:
        gateway = Listening(template, **ROLES)
        ask = by_http(gateway) if way == "http" else directly(Direct(template))
        tenants = [Tenant("ann", 1, ask), Tenant("bob", 2, ask)]
        for own, other in (tenants, tenants[::-1]):
            before = store.contents()
            for valid in REQUESTS:
                for name, expected, given in swaps(valid, own, other):
                    status, body = own.ask(valid, given)
                    told = json.dumps(body) + (str(dict(gateway.last.headers)) if way == "http" else "")
                    sent = json.dumps(given)

                    assert status == expected, (valid, name, body)
                    leaked = [secret for secret in other.secrets if secret in told and secret not in sent]
                    assert leaked == [], (valid, name, told)
                    assert store.contents() == before, (valid, name)
                    if name in SAME_AS_UNKNOWN:
                        unknown, as_unknown = own.ask(valid, {**given, name: NOTHING})
                        shown = _without(as_unknown, NOTHING)
                        assert (unknown, shown) == (status, _without(body, given[name])), (valid, name)
                    measure.count(swaps=1)
            for valid in REQUESTS:
                if valid.by:
                    assert own.ask(valid, named(valid.given, own.made))[0] == 403, valid

        own, _ = tenants
        for valid in REQUESTS:
            status, body = own.ask(valid, named(valid.given, own.made), by=valid.by)
            assert status < 300, (valid, body)
            measure.count(valid_requests=1)


def _without(error: Any, sent: str) -> str:
    """Return the text of an error without the id that was sent."""
    return json.dumps({**error, "requestId": ""}).replace(sent, "the id")

"""Sends each request to the service and to the oracle, and compares the two answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.service.model.asking import Answer, Caller, Json, Outcome, Request, Service, comparable
from tests.service.model.oracle import Conversation, Oracle

LIMITS = (1, 3, 20, 200, 200)
TOLD = (
    "lastEntryId",
    "existingTransferId",
    "reason",
    "entryId",
    "revision",
    "conversationId",
    "updatedAt",
    "latestEpoch",
    "userId",
    "clientId",
    "entriesMax",
)
"""The members of an error's `details` that docs/api.md names."""
TRANSCRIPT_LINES = 12
OF_CONVERSATIONS = {"listconversations", "listforks", "listchildren"}


class Divergence(AssertionError):
    """The service and the oracle do not agree. The message lists the requests up to this one."""


@dataclass(frozen=True)
class Whole:
    """The answer of a list, read to its end."""

    status: int
    body: Json


class Comparison:
    """The service and the oracle, which get the same requests.

    asked: how many requests there were, by operation and status.
    services: each request goes to one of them. is_alone: nobody else writes to their table. days:
    for how long they keep what is deleted.
    """

    def __init__(self, services: Sequence[Service], random: Random, *, is_alone: bool, days: int = 0) -> None:
        self.oracle = Oracle(days)
        self.asked: Counter[tuple[str, int]] = Counter()
        self.services = services
        self._random = random
        self.is_alone = is_alone
        self._transcript: list[str] = []
        self._cursors: dict[tuple[str, str | None], str] = {}
        self._known: set[str] = set()

    @property
    def requests(self) -> int:
        return len(self._transcript)

    @property
    def entries(self) -> int:
        return sum(len(conversation.own) for conversation in self.oracle.conversations.values())

    @property
    def forks(self) -> int:
        return sum(conversation.source is not None for conversation in self.oracle.conversations.values())

    def ask(self, request: Request) -> Answer:
        """Return the service's answer. Raises Divergence if the oracle's answer differs."""
        answer = self._send(request)
        chosen = answer.body if answer.status < 400 and answer.body is not None else {}
        if request.name == "copyTree" and chosen:
            chosen = {**chosen, "branches": self._listed(request.caller.user, chosen["id"])}
        self._agree(self.oracle.answer(request, chosen), answer)
        if request.name == "copyConversation" and answer.status == 201:
            self._learn_ids(request.caller, answer.body["id"])
        self._learn_revisions(request.caller)
        return answer

    def _learn_revisions(self, caller: Caller) -> None:
        """Let the oracle learn the first revision of a name that an append or a fork has made."""
        for name, known in self.oracle.names.get((caller.user, caller.client), {}).items():
            if known.said["revision"] is None:
                self.ask(Request("lookUpName", caller, {"name": name}))

    def _learn_ids(self, owner: Caller, copy_id: str) -> None:
        """Let the oracle learn the ids of the entries of a copy, if it does not know them yet."""
        made = self.oracle.conversations[copy_id]
        if not made.are_ids_known:
            whole = Request("listEntries", Caller(owner.user), {"conversationId": copy_id, "limit": 1_000})
            self.oracle.learn_ids(copy_id, self._send(whole).body["data"])
            self.ask_page(whole)

    def _listed(self, owner: str, copy_id: str) -> list[Json]:
        """Return each branch of a copy of a tree, as it is shown, with its `views`.

        These are what it shows of the history, by None, and of the context of each client, by it;
        None if that client has no context there.
        """
        clients = [None, *{e["clientId"] for c in self._everything() for e in c.own if "epoch" in e}]
        forks = Request("listForks", Caller(owner), {"conversationId": copy_id, "limit": 200})
        branches = []
        for row in self._send(forks).body.get("data", []):
            at = {"conversationId": row["conversationId"]}
            views = {}
            for client in clients:
                show = {"channel": "context", "epoch": "all"} if client else {"channel": "history"}
                page = self._send(Request("listEntries", Caller(owner, client), at | show | {"limit": 1_000}))
                views[client] = page.body["data"] if page.status == 200 else None
            shown = self._send(Request("getConversation", Caller(owner), at)).body
            branches.append(shown | {"views": views})
        return branches

    def _everything(self) -> list[Conversation]:
        return [c for tree in self.oracle.kept for c in tree.all]

    def ask_page(self, request: Request) -> Json:
        """Return a page of entries; None for an error. Raises Divergence."""
        if "alternatives" in request.given or request.name == "listLinkedEntries":
            self.learn_times(list(self.oracle.conversations.values()))
        answer = self._send(request)
        status, expected = self.oracle.answer(request, {})
        if answer.status != 200 or status != 200:
            self._agree((status, expected), answer)
            return None
        is_backward = {"tail", "beforeCursor"} & request.given.keys()
        goes_on = answer.body["beforeCursor" if is_backward else "afterCursor"] is not None
        shown = {name: held for name, held in answer.body.items() if not name.endswith("Cursor")}
        self._agree((200, expected), Whole(200, shown | {"goes_on": goes_on}))
        times = [entry["createdAt"] for entry in answer.body["data"]]
        self.hold(times == sorted(times), "an entry is older than its predecessor")
        return answer.body

    def ask_list(self, request: Request) -> list[Json]:
        """Return all rows of a list, read page by page; none for an error. Raises Divergence."""
        rows: list[Json] = []
        following: dict[str, Json] = {}
        while True:
            limit = self._random.choice(LIMITS)
            page = replace(request, given=request.given | {"limit": limit} | following)
            answer = self._send(page)
            if answer.status != 200:
                self.hold(not following, f"a page of a list is refused: {answer}")
                self._agree(self.oracle.answer(request, {}), answer)
                return []
            data, cursor = answer.body["data"], answer.body["afterCursor"]
            data = [{name: row[name] for name in row if name != "highlights"} for row in data]
            self.hold(len(data) <= limit, f"more than {limit} rows")
            rows += data if self.is_alone else filter(self._is_known, data)
            if cursor is None:
                self._agree(self.oracle.answer(request, rows), Whole(200, rows))
                return rows
            self._cursors[_list_of(request)] = cursor
            following = {"afterCursor": self._random.choice([cursor, *_ids_of_last(request, data)])}

    def learn_times(self, conversations: Sequence[Conversation]) -> None:
        """Let the oracle learn when conversations were made, which decides what is oldest."""
        for c in conversations:
            if not c.said.get("createdAt") or not c.said.get("updatedAt"):
                member = Caller(self._random.choice(list(c.tree.levels)))
                self.ask(Request("getConversation", member, {"conversationId": c.id}))

    def misfit(self, request: Request) -> str | None:
        """Return a cursor of another list than the request's; None if there was none yet."""
        others = [cursor for of, cursor in self._cursors.items() if of != _list_of(request)]
        return self._random.choice(others) if others else None

    def hold(self, holds: bool, message: str) -> None:
        if not holds:
            raise Divergence("\n".join(["", *self._transcript[-TRANSCRIPT_LINES:], message]))

    def _is_known(self, row: Json) -> bool:
        """Tell whether a row belongs to this history. Others may use the same table."""
        return (row.get("conversationId") or row["id"]) in self._known | self.oracle.files.keys()

    def _send(self, request: Request) -> Answer:
        at = self._random.randrange(len(self.services))
        self._transcript.append(f"{request} at {at}")
        self._known |= self.oracle.conversations.keys() | self.oracle.trashed.keys()
        try:
            answer = self.services[at].answer(request)
        except AssertionError as error:
            self.hold(False, str(error))
            raise
        self.asked[request.name, answer.status] += 1
        return answer

    def _agree(self, expected: Outcome, answer: Answer) -> None:
        body = answer.body
        if answer.status >= 400:
            details = {name: told for name, told in body.get("details", {}).items() if name in TOLD}
            body = {"code": body["code"], **details}
        status, wanted = expected
        body = _without_unforeseen(_awake(body))
        if answer.status == status and comparable(body) == comparable(wanted):
            return
        wanted, body = differing(wanted, body) if answer.status == status else (wanted, body)
        self.hold(False, f"expected {status} {wanted}\n but got {answer.status} {body}")


def _awake(body: Json) -> Json:
    """Return a body in which a silent answer is an open one, as it always is for the oracle."""
    if not isinstance(body, dict):
        return body
    awake = {**body, "answering": _awake(body["answering"])} if "answering" in body else body
    return {**awake, "state": "open"} if awake.get("state") == "silent" else awake


UNFORESEEN = ("url", "urlExpiresAt", "version", "commit", "startedAt")


def _without_unforeseen(body: Json) -> Json:
    """Return a body without links to attachments and the version, which the service chooses."""
    match body:
        case dict():
            return {name: _without_unforeseen(held) for name, held in body.items() if name not in UNFORESEEN}
        case list():
            return [_without_unforeseen(one) for one in body]
    return body


def differing(wanted: Json, told: Json) -> tuple[Json, Json]:
    """Return the parts of two values that differ.

    >>> differing({"a": 1, "b": [1, {"c": 2}]}, {"a": 1, "b": [1, {"c": 3}]})
    ({'b': {1: {'c': 2}}}, {'b': {1: {'c': 3}}})
    """
    if isinstance(wanted, list) and isinstance(told, list) and len(wanted) == len(told):
        wanted, told = dict(enumerate(wanted)), dict(enumerate(told))
    if not isinstance(wanted, dict) or not isinstance(told, dict):
        return wanted, told
    pairs = {name: (wanted.get(name), told.get(name)) for name in {**wanted, **told}}
    found = {n: differing(*pair) for n, pair in pairs.items() if comparable(pair[0]) != comparable(pair[1])}
    return {name: one for name, (one, _) in found.items()}, {name: one for name, (_, one) in found.items()}


def _ids_of_last(request: Request, page: Sequence[Json]) -> list[str]:
    """Return the id that may serve as a cursor: the last one of a page of conversations."""
    if request.name.removeprefix("admin").lower() not in OF_CONVERSATIONS:
        return []
    return [row.get("conversationId") or row["id"] for row in page[-1:]]


def _list_of(request: Request) -> tuple[str, str | None]:
    """Return the list that a cursor belongs to: the operation and the path's id or user."""
    return request.name.removeprefix("admin").lower(), request.place

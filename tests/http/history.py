"""Random histories: every request goes to the service and to the oracle, and every answer is compared."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID, uuid4

from tests.http.client import Answer, Json, Service
from tests.oracle import Caller, Conversation, Oracle, Outcome

CLIENTS = (None, "planner", "coder")
KEYS = 2
MODES = ("all", "roots", "latest-fork")  # `all` first: it shows every `updatedAt`
QUERIES = ("e", "TEA", "zÜR", "🫖", "nothing such")
WORDS = ("tea", "Zürich", "🫖", "brew", "a\nline", "NULL", "  ", "Straße", "#1")
FIRST_ENTRY = "00000000-0000-7000-8000-000000000000"
TRANSCRIPT_LINES = 12


class Divergence(AssertionError):
    """The service and the oracle do not agree; the message shows the requests that led there."""


class History:
    """A history of a few conversations of one user, with two apps and a stranger.

    services: the addresses of one service; each request goes to one of them. random: decides everything.
    """

    def __init__(self, services: Sequence[Service], random: Random) -> None:
        self._services = services
        self._random = random
        self._oracle = Oracle()
        self._name = str(uuid4())  # a user may have a past, with keys
        self._user, self._stranger = services[0].new_user(), services[0].new_user()
        self._replayed: list[Callable[[], None]] = []
        self._transcript: list[str] = []

    @property
    def requests(self) -> int:
        return len(self._transcript)

    @property
    def entries(self) -> int:
        return sum(len(conversation.own) for conversation in self._conversations)

    @property
    def forks(self) -> int:
        return sum(conversation.source is not None for conversation in self._conversations)

    @property
    def _conversations(self) -> list[Conversation]:
        return list(self._oracle.conversations.values())

    def run(self, steps: int) -> None:
        """Change things `steps` times, reading now and then; at last read everything in every way."""
        moves: dict[Callable[[], None], int] = {
            self._create: 2,
            self._append: 32,
            self._fork: 6,
            self._fork_by_append: 6,
            self._change: 4,
            self._replay: 8,
            self._look: 10,
            self._miss: 1,
        }
        for _ in range(steps):
            self._random.choices(list(moves), list(moves.values()))[0]()
        self._read_back()

    # Changes

    def _create(self) -> None:
        body = self._some_of(title=self._text(), tags=self._tags(), metadata=self._metadata(), agentId="ag-1")
        if self._chance(0.6):
            body["id"] = self._new_id()
        elif self._conversations and self._chance(0.1):
            body["id"] = self._random.choice(self._conversations).id
        self._post("createConversation", self._caller(), None, body)

    def _append(self) -> None:
        into = self._any() if self._chance(0.85) else None
        caller = self._caller()
        body = self._drafts(caller, into)
        headers = {}
        if self._chance(0.12) and not _has_context(body):
            headers["If-Match"] = f'"{self._expectation(into)}"'
        if into is not None and self._chance(0.1):  # ignored: the conversation exists
            body["forkedAtConversationId"] = self._any_id()
        self._post("appendEntry", caller, into.id if into else self._new_id(), body, headers)

    def _fork(self) -> None:
        source = self._any()
        if source is None:
            return self._create()
        body = self._some_of(
            title=self._text(),
            tags=self._tags(),
            metadata=self._metadata(),
            agentId="ag-2",
            position=self._random.choice(("before", "after")),
            resetMetrics=self._chance(0.5),
        )
        anchor, is_good = self._anchor(source)
        if anchor is not None and self._chance(0.8):
            body["atEntryId"] = anchor
        else:
            body.pop("position", None)
        if self._chance(0.5):
            body["id"] = self._new_id()
        elif is_good and self._chance(0.1):
            body["id"] = self._random.choice(self._conversations).id
        self._post("forkConversation", self._caller(), source.id, body)
        return None

    def _fork_by_append(self) -> None:
        source, caller = self._any(), self._caller()
        if source is None:
            return self._append()
        anchor, is_good = self._anchor(source)
        body = self._drafts(caller if is_good else Caller(caller.user), None)
        body["forkedAtConversationId"] = source.id
        if anchor is not None and self._chance(0.85):
            body["forkedAtEntryId"] = anchor
        self._post("appendEntry", caller, self._new_id(), body)
        return None

    def _change(self) -> None:
        body = self._some_of(
            title=self._random.choice((None, self._text())), tags=self._tags(), metadata=self._metadata()
        )
        changed, caller = self._any_id(), self._caller()
        answer = self._ask("updateConversation", caller, changed, body=body)
        self._agree(self._oracle.change(caller, changed, body, chosen=_success(answer)), answer)

    def _replay(self) -> None:
        """Send an earlier request with an Idempotency-Key again."""
        if self._replayed:
            self._random.choice(self._replayed)()

    def _miss(self) -> None:
        """Ask for what does not exist."""
        caller, nowhere = self._caller(), self._new_id()
        for name in ("getConversation", "listForks", "listEntries"):
            self._agree((404, {"code": "not_found"}), self._ask(name, caller, nowhere))
        self._post("forkConversation", caller, nowhere, {})
        anchor = {"forkedAtConversationId": nowhere, "forkedAtEntryId": self._new_id()}
        self._post("appendEntry", caller, self._new_id(), self._draft("history") | anchor)
        change = self._ask("updateConversation", caller, nowhere, body={"title": "x"})
        self._agree((404, {"code": "not_found"}), change)

    def _post(
        self,
        name: str,
        caller: Caller,
        conversation_id: str | None,
        body: Json,
        headers: dict[str, str] | None = None,
    ) -> None:
        headers = {**(headers or {})}
        if self._chance(0.3):
            headers["Idempotency-Key"] = f"{self._name} {self._random.randrange(KEYS)}"

        def send() -> None:
            answer = self._ask(name, caller, conversation_id, body=body, headers=headers)
            chosen, oracle = _success(answer), self._oracle
            if name == "createConversation":
                expected = oracle.create(caller, body, headers, chosen)
            elif name == "forkConversation":
                expected = oracle.fork(caller, str(conversation_id), body, headers, chosen)
            else:
                expected = oracle.append(caller, str(conversation_id), body, headers, chosen)
            self._agree(expected, answer)

        send()
        if "Idempotency-Key" in headers:
            self._replayed.append(send)

    # Reads

    def _look(self) -> None:
        if conversation := self._any():
            self._walk(self._caller(), conversation, self._query(conversation), forward=self._chance(0.5))

    def _read_back(self) -> None:
        for conversation in self._conversations:
            self._read_conversation(Caller(conversation.owner), conversation)
            self._read_view(conversation)
            if conversation.source is None:
                self._read_forks(conversation)
                self._walk(self._caller(), conversation, {"allForks": True}, forward=self._chance(0.5))
        for mode in MODES:
            self._read_list(self._user, {"mode": mode})
        self._read_list(self._stranger, {"mode": MODES[0]})
        query = {"mode": self._random.choice(MODES), "query": self._random.choice(QUERIES)}
        self._read_list(self._user, query)

    def _read_conversation(self, caller: Caller, conversation: Conversation) -> None:
        answer = self._ask("getConversation", caller, conversation.id)
        self._agree(self._oracle.get(caller, conversation.id, chosen=_success(answer)), answer)

    def _read_view(self, conversation: Conversation) -> None:
        callers = [Caller(conversation.owner, client) for client in CLIENTS]
        self._walk(self._random.choice(callers), conversation, {}, forward=True)
        self._walk(self._random.choice(callers), conversation, {}, forward=False)
        for query in ({"channel": "history"}, self._query(conversation)):
            self._walk(self._random.choice(callers), conversation, query, forward=self._chance(0.5))
        for caller in callers[1:]:
            epoch = self._random.choice((None, "latest", "all", 1, 2))
            query = {"channel": "context"} | ({"epoch": epoch} if epoch else {})
            self._walk(caller, conversation, query, forward=self._chance(0.5))

    def _walk(self, caller: Caller, conversation: Conversation, query: Json, *, forward: bool) -> None:
        """Read from page to page in one direction, and sometimes the page that a page says is behind it."""
        onward, back = ("afterCursor", "beforeCursor") if forward else ("beforeCursor", "afterCursor")
        following = {} if forward or onward in query or back in query else {"tail": True}
        while True:
            limit = self._random.choice((1, 2, 3, 7, 50))
            page = self._page(caller, conversation, query | following | {"limit": limit})
            if page is None:
                return
            if page[back] is not None and self._chance(0.2):
                rest = {name: value for name, value in query.items() if name not in (onward, back)}
                self._page(caller, conversation, rest | {back: page[back], "limit": limit})
            if page[onward] is None or back in query:
                return
            following = {onward: page[onward]}

    def _page(self, caller: Caller, conversation: Conversation, query: Json) -> Json:
        """Return a page, compared; None for an error."""
        answer = self._ask("listEntries", caller, conversation.id, query=query)
        status, expected = self._oracle.page(caller, conversation.id, query)
        if answer.status != 200 or status != 200:
            self._agree((status, expected), answer)
            return None
        onward = "beforeCursor" if query.get("tail") or "beforeCursor" in query else "afterCursor"
        goes_on = answer.body[onward] is not None
        seen = Answer(200, {"data": answer.body["data"], "goes_on": goes_on})
        self._agree((200, expected), seen)
        times = [entry["createdAt"] for entry in answer.body["data"]]
        self._hold(times == sorted(times), "an entry is older than the one before it")
        return answer.body

    def _read_forks(self, conversation: Conversation) -> None:
        caller = Caller(conversation.owner, self._random.choice(CLIENTS))
        rows = self._all_pages("listForks", caller, conversation.id, {})
        expected = self._oracle.list_forks(caller, conversation.id, chosen=rows)
        self._agree(expected, Answer(200, rows))
        place = {row["conversationId"]: at for at, row in enumerate(rows)}
        sources = [(row["forkedAtConversationId"], row["conversationId"]) for row in rows[1:]]
        self._hold(all(place[s] < place[f] for s, f in sources), "a fork is listed before its source")

    def _read_list(self, user: str, query: Json) -> None:
        caller = Caller(user, self._random.choice(CLIENTS))
        rows = self._all_pages("listConversations", caller, None, query)
        known = [row for row in rows if row["id"] in self._oracle.conversations]
        self._agree((200, self._oracle.list_conversations(caller, query, chosen=known)), Answer(200, known))

    def _all_pages(self, name: str, caller: Caller, conversation_id: str | None, query: Json) -> list[Json]:
        rows: list[Json] = []
        following: Json = {}
        while True:
            limit = self._random.choice((1, 2, 3, 20, 200))
            answer = self._ask(name, caller, conversation_id, query=query | following | {"limit": limit})
            self._hold(answer.status == 200 and len(answer.body["data"]) <= limit, f"no page: {answer}")
            rows += answer.body["data"]
            if answer.body["afterCursor"] is None:
                return rows
            following = {"afterCursor": answer.body["afterCursor"]}

    # Choices

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _caller(self) -> Caller:
        user = self._stranger if self._conversations and self._chance(0.06) else self._user
        return Caller(user, self._random.choices(CLIENTS, (2, 4, 3))[0])

    def _any(self) -> Conversation | None:
        return self._random.choice(self._conversations) if self._conversations else None

    def _any_id(self) -> str:
        found = self._any()
        return found.id if found else self._new_id()

    def _new_id(self) -> str:
        some = str(UUID(int=self._random.getrandbits(128), version=4))
        return some if self._chance(0.5) else f"{some[:14]}7{some[15:]}"

    def _some_of(self, **members: Json) -> dict[str, Json]:
        return {name: value for name, value in members.items() if self._chance(0.4)}

    def _text(self) -> str:
        return " ".join(self._random.choices(WORDS, k=self._random.choice((1, 2, 5, 30))))

    def _tags(self) -> Json:
        return {name: self._random.choice(WORDS) for name in ("a", "b.c_-", "N9") if self._chance(0.4)}

    def _metadata(self) -> Json:
        return self._some_of(n=self._random.randint(-9, 2**53), deep={"x": [1.5, None, True, WORDS[2]]})

    def _drafts(self, caller: Caller, into: Conversation | None) -> Json:
        """Return the body of an append that `caller` may make, now and then one they may not."""
        channels = ["history", "history", None, "HISTORY"]
        has_context = into.has_context_for(caller) if into else caller.client is not None
        if has_context or self._chance(0.08):
            channels += ["context", "context", "Context"]
        count = self._random.randint(1, 4) if self._chance(0.25) else 0
        drafts = [self._draft(self._random.choice(channels)) for _ in range(count or 1)]
        return {"entries": drafts} if count else drafts[0]

    def _draft(self, channel: str | None) -> Json:
        message: Json = {"role": self._random.choice(("USER", "AI", "SYSTEM")), "text": self._text()}
        if self._chance(0.15):
            message = {"role": "AI", "events": [{"kind": WORDS[1]}, []]}
        draft: Json = {"contentType": self._random.choice(("history", "history/x")), "content": [message]}
        if channel is None:
            opaque: list[Json] = [[], [None], [{"text": 5}], [message, message], ["text"], [[1.25]]]
            draft = {"contentType": "any/thing", "content": self._random.choice(opaque)}
        elif channel.lower() == "context":
            draft = {"contentType": "state", "content": [message] * self._random.randint(0, 2)}
            if self._chance(0.4):
                draft["epoch"] = self._random.randint(1, 4)
        usage = self._some_of(inputTokens=3, outputTokens=2**40, cachedInputTokens=0, costUsd=Decimal("0.25"))
        if self._chance(0.1):
            usage["costUsd"] = Decimal("0.000000001")
        user = self._random.choice((self._user, self._user, self._stranger)) if self._chance(0.04) else None
        given = {
            "channel": channel,
            "userId": user,
            "agentId": "ag-3" if self._chance(0.2) else None,
            "usage": usage if self._chance(0.4) else None,
        }
        return draft | {name: value for name, value in given.items() if value is not None}

    def _expectation(self, into: Conversation | None) -> str:
        """Return a last history entry for If-Match, mostly the right one."""
        last = into.last_history() if into else None
        return last if last and self._chance(0.7) else self._an_entry() or self._new_id()

    def _an_entry(self) -> str | None:
        ids = [entry.id for conversation in self._conversations for entry in conversation.own]
        return self._random.choice(ids) if ids else None

    def _anchor(self, source: Conversation) -> tuple[str | None, bool]:
        """Return an entry to fork at, and whether it can be forked at; None when there is none."""
        good = [entry.id for entry in source.view() if entry.channel == "history"]
        if self._chance(0.85):
            return (self._random.choice(good), True) if good else (None, True)
        bad = self._an_entry() if self._chance(0.6) else None
        return bad or self._new_id(), bad in good

    def _query(self, conversation: Conversation) -> Json:
        """Return a query that begins at a random place of a view that ends at a random place."""
        query: dict[str, Any] = {}
        whole = [entry.id for entry in conversation.view()]
        if whole and self._chance(0.5):
            query["upToEntryId"] = self._random.choice(whole)
            whole = whole[: whole.index(query["upToEntryId"]) + 1]
        if whole and self._chance(0.7):
            query[self._random.choice(("afterCursor", "beforeCursor"))] = self._random.choice(whole)
        elif self._chance(0.15):
            other = self._an_entry() or FIRST_ENTRY
            query["afterCursor"] = other if self._chance(0.5) else f"{other[:-4]}{self._new_id()[-4:]}"
        if self._chance(0.2):
            query["allForks"] = True
        if self._chance(0.4):
            query["channel"] = self._random.choice(("history", "context"))
        return query

    # Comparing

    def _ask(self, name: str, caller: Caller, conversation_id: str | None, **request: Json) -> Answer:
        at = self._random.randrange(len(self._services))
        shown = {part: value for part, value in request.items() if value}
        self._transcript.append(
            f"{name} {conversation_id or ''} by {caller.user}/{caller.client} at {at}: {shown}"
        )
        try:
            return self._services[at].ask(caller, name, conversation_id, **request)
        except AssertionError as error:
            raise self._diverged(str(error)) from None

    def _agree(self, expected: Outcome, answer: Answer) -> None:
        body = answer.body
        if answer.status >= 400:
            details = {k: v for k, v in body.get("details", {}).items() if k == "lastEntryId"}
            body = {"code": body["code"], **details}
        if (answer.status, body) == expected:
            return
        status, wanted = expected
        if answer.status == status and isinstance(body, dict) and isinstance(wanted, dict):
            names = [name for name in {**wanted, **body} if wanted.get(name) != body.get(name)]
            wanted, body = ({name: held.get(name) for name in names} for held in (wanted, body))
        raise self._diverged(f"expected {status} {wanted}\n but got {answer.status} {body}")

    def _hold(self, holds: bool, message: str) -> None:
        if not holds:
            raise self._diverged(message)

    def _diverged(self, message: str) -> Divergence:
        return Divergence("\n".join(["", *self._transcript[-TRANSCRIPT_LINES:], message]))


def _success(answer: Answer) -> Json:
    return answer.body if answer.status < 400 else {}


def _has_context(body: Json) -> bool:
    """Tell whether an append can be refused for its epochs, or as another client's context, too."""
    return any(str(draft.get("channel")).lower() == "context" for draft in body.get("entries", [body]))

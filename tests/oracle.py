"""What the API promises, said as plainly as it can be: lists, dictionaries and recursive views.

Covered: create, show, change and list conversations; append one entry or several; read entries in every way;
fork, by an append and by the fork route; list forks; Idempotency-Key and If-Match. Only owners have access.

The model shares nothing with forklore, no code and no idea of how it is done. What the service is free to
choose (ids, times) is taken from its answer, `chosen`; everything else is predicted. Requests are taken to be
well formed, but for the rules that need more than one field. Where the contract is silent, the model says:

* the text of a history entry is the non-empty `text` of its first element, with a channel named or without;
* a conversation made by an append has the agent of its first entry, a fork without one that of its source;
* `query` is applied to the conversations that `mode` has chosen; equal times are ordered by id;
* the latest epoch of a whole tree is the highest in it; a view has no more than one, so lower ones are over.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec

Json = Any
Outcome = tuple[int, Json]
P = ParamSpec("P")
COUNTED = ("inputTokens", "outputTokens", "cachedInputTokens", "costUsd")
KEY = "Idempotency-Key"
NOT_CHOSEN = "what the service has not chosen"


@dataclass(frozen=True)
class Caller:
    """A user, and the app that sends the request for them, if any."""

    user: str
    client: str | None = None


class Refusal(Exception):
    """The request is refused. details: the members of `details` that the contract names."""

    def __init__(self, status: int, code: str, **details: Json) -> None:
        super().__init__(code)
        self.outcome: Outcome = (status, {"code": code, **details})


def answered(effect: Callable[P, Outcome]) -> Callable[P, Outcome]:
    """Return `effect` with a Refusal as the answer that it is."""

    @wraps(effect)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Outcome:
        try:
            return effect(*args, **kwargs)
        except Refusal as refusal:
            return refusal.outcome

    return answer


@dataclass(eq=False)
class Entry:
    """What was appended, as it is shown."""

    shown: Json

    def __post_init__(self) -> None:
        self.id: str = self.shown["id"]
        self.channel: str = self.shown["channel"]
        self.client: str | None = self.shown.get("clientId")
        self.epoch: int = self.shown.get("epoch", 0)

    @property
    def text(self) -> str | None:
        content = self.shown["content"]
        first = content[0] if self.channel == "history" and content else None
        text = first.get("text") if isinstance(first, dict) else None
        return text if isinstance(text, str) else None


@dataclass(eq=False)
class Conversation:
    """A root, or a fork that shows what `source` shows up to `cut`; cut None: nothing of it."""

    id: str
    owner: str
    client: str | None
    title: str | None = None
    was_titled: bool = False
    tags: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    agent: str | None = None
    source: "Conversation | None" = None
    cut: Entry | None = None
    cut_included: bool = False
    fork_point: dict[str, str] = field(default_factory=dict)
    preview: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    own: list[Entry] = field(default_factory=list)
    totals: dict[str, Decimal] = field(
        default_factory=lambda: dict.fromkeys(("entries", *COUNTED), Decimal())
    )

    @property
    def root(self) -> "Conversation":
        return self.source.root if self.source else self

    def view(self) -> list[Entry]:
        """Return all that the conversation shows: what its source showed up to the cut, then its own."""
        if self.source is None or self.cut is None:
            return [*self.own]
        shown = self.source.view()
        return shown[: shown.index(self.cut) + self.cut_included] + self.own

    def last_history(self) -> str | None:
        history = [entry.id for entry in self.view() if entry.channel == "history"]
        return history[-1] if history else None

    def has_context_for(self, caller: Caller) -> bool:
        return caller.client is not None and self.client in (None, caller.client)

    def take_in(self, entry: Entry) -> None:
        self.own.append(entry)
        self.updated_at = None
        self.totals["entries"] += 1
        for name in COUNTED:
            self.totals[name] += Decimal(entry.shown.get("usage", {}).get(name, 0))
        if entry.text:
            self.preview = entry.text[:100]
            if not self.was_titled:
                self.title, self.was_titled = entry.text[:40], True


class Oracle:
    """The service, in memory. Each method returns a request's status and body; of errors the code."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self._answers: dict[Any, tuple[Json, Outcome]] = {}

    @answered
    def create(self, caller: Caller, body: Json, headers: Json, chosen: Json) -> Outcome:
        def effect() -> Outcome:
            made = Conversation(self._new_id(body, chosen), caller.user, caller.client)
            return self._begin(made, body, chosen)

        return self._once((caller, "create", headers.get(KEY)), body, effect)

    @answered
    def get(self, caller: Caller, conversation_id: str, chosen: Json) -> Outcome:
        return 200, self._shown(self._opened(caller, conversation_id), chosen)

    @answered
    def change(self, caller: Caller, conversation_id: str, body: Json, chosen: Json) -> Outcome:
        changed = self._opened(caller, conversation_id)
        if "title" in body:
            changed.title, changed.was_titled = body["title"], True
        changed.tags = body.get("tags", changed.tags)
        changed.metadata = body.get("metadata", changed.metadata)
        changed.updated_at = None
        return 200, self._shown(changed, chosen)

    def list_conversations(self, caller: Caller, query: Json, chosen: Json) -> list[Json]:
        """Return the caller's whole list. Every conversation has been shown since its last change."""
        mode, wanted = query.get("mode", "latest-fork"), query.get("query", "").casefold()
        rows = {row["id"]: row for row in chosen}
        mine = [c for c in self.conversations.values() if c.root.owner == caller.user]
        shown = {c.id: self._shown(c, rows.get(c.id, {})) for c in mine}
        listed: list[Conversation] = []
        for root in newest_first(c for c in mine if c.source is None):
            tree = newest_first(c for c in mine if c.root is root)
            latest = max(tree, key=lambda c: (c.updated_at or "", c.id))
            listed += {"roots": [root], "all": tree, "latest-fork": [latest]}[mode]
        return [shown[c.id] for c in listed if wanted in (c.title or "").casefold()]

    @answered
    def fork(self, caller: Caller, source_id: str, body: Json, headers: Json, chosen: Json) -> Outcome:
        source = self._opened(caller, source_id)

        def effect() -> Outcome:
            fork_id, shown = self._new_id(body, chosen), source.view()
            if "atEntryId" in body:
                cut, position = self._anchor(source, body["atEntryId"]), body.get("position", "before")
                made = self._fork(caller, source, fork_id, cut, position)
            else:
                made = self._fork(caller, source, fork_id, shown[-1] if shown else None, "after")
            if not body.get("resetMetrics", True):
                made.totals = dict(source.totals)
            return self._begin(made, body, chosen)

        return self._once((caller, "fork", source_id, headers.get(KEY)), body, effect)

    @answered
    def list_forks(self, caller: Caller, conversation_id: str, chosen: Json) -> Outcome:
        """Return the whole list, without pages."""
        root = self._opened(caller, conversation_id).root
        rows = {row["conversationId"]: row for row in chosen}
        tree = [c for c in self.conversations.values() if c.root is root]
        for c in tree:
            c.created_at = c.created_at or rows.get(c.id, {}).get("createdAt")
        return 200, [
            {"conversationId": c.id, "title": c.title, **c.fork_point, "createdAt": c.created_at}
            for c in newest_first(tree)[::-1]
        ]

    @answered
    def append(self, caller: Caller, into_id: str, body: Json, headers: Json, chosen: Json) -> Outcome:
        """Append the body's entry, or all of its `entries`; an unknown conversation begins with them."""
        drafts = body.get("entries", [body])
        for draft in drafts:
            if draft.get("userId", caller.user) != caller.user or ("epoch" in draft and is_history(draft)):
                raise Refusal(400, "validation_error")
        is_known = into_id in self.conversations
        known = self._opened(caller, into_id) if is_known else None

        def effect() -> Outcome:
            into = known or self._begun_by_append(caller, into_id, body, drafts[0])
            if not all(map(is_history, drafts)) and not into.has_context_for(caller):
                raise Refusal(403, "forbidden")
            expected, last = headers.get("If-Match"), into.last_history()
            if expected is not None and expected != f'"{last}"':
                raise Refusal(409, "conflict", lastEntryId=last)
            epochs = self._epochs(caller, into, drafts)
            answers = chosen.get("data", []) if "entries" in body else [chosen]
            answers = [*answers, *({} for _ in drafts)]
            made = [self._entry(caller, into, *each) for each in zip(drafts, epochs, answers, strict=False)]
            self.conversations[into.id] = into
            for entry in made:
                into.take_in(entry)
            shown = [entry.shown for entry in made]
            return 201, {"data": shown} if "entries" in body else shown[0]

        return self._once((caller, "append", into_id, headers.get(KEY)), body, effect)

    @answered
    def page(self, caller: Caller, conversation_id: str, query: Json) -> Outcome:
        """Return a page as its data, and whether the list goes on in the direction of reading."""
        channel, epoch, limit = query.get("channel"), query.get("epoch"), query.get("limit", 50)
        after, before, tail = query.get("afterCursor"), query.get("beforeCursor"), query.get("tail", False)
        if (after is not None) + (before is not None) + tail > 1 or (epoch and channel != "context"):
            raise Refusal(400, "validation_error")
        opened = self._opened(caller, conversation_id)
        has_context = opened.has_context_for(caller)
        if channel == "context" and not has_context:
            raise Refusal(403, "forbidden")
        whole = self._entries_of_tree(opened) if query.get("allForks") else opened.view()
        whole = whole[: place_of(query["upToEntryId"], whole) + 1] if "upToEntryId" in query else whole
        first = 0 if after is None else place_of(after, whole) + 1
        end = len(whole) if before is None else place_of(before, whole)
        context = [e for e in whole if e.channel == "context" and e.client == caller.client]
        if channel == "context":
            kept = context if epoch == "all" else of_epoch(context, epoch or "latest")
        else:
            with_context = channel is None and has_context
            kept = [e for e in whole if e.channel == "history" or (with_context and e in context)]
        inside = [entry.shown for entry in whole[first:end] if entry in kept]
        data = inside[-limit:] if tail or before is not None else inside[:limit]
        return 200, {"data": data, "goes_on": len(inside) > limit}

    # How they do it

    def _opened(self, caller: Caller, conversation_id: str) -> Conversation:
        found = self.conversations.get(conversation_id)
        if found is None:
            raise Refusal(404, "not_found")
        if found.root.owner != caller.user:
            raise Refusal(403, "forbidden")
        return found

    def _once(self, scope: Any, body: Json, effect: Callable[[], Outcome]) -> Outcome:
        """Return the effect's outcome, or what it was. scope: ends with the Idempotency-Key, if any."""
        if scope[-1] is None:
            return effect()
        if scope not in self._answers:
            self._answers[scope] = (body, effect())
        asked, outcome = self._answers[scope]
        if asked != body:
            raise Refusal(422, "idempotency_mismatch")
        return outcome

    def _new_id(self, body: Json, chosen: Json) -> str:
        new: str = body.get("id") or chosen.get("id", NOT_CHOSEN)
        if new in self.conversations:
            raise Refusal(409, "conflict")
        return new

    def _begin(self, made: Conversation, body: Json, chosen: Json) -> Outcome:
        """Take in a conversation that a request made without an entry."""
        made.title, made.was_titled = body.get("title"), body.get("title") is not None
        made.tags, made.metadata = body.get("tags", {}), body.get("metadata", {})
        made.agent = body.get("agentId") or made.agent
        self.conversations[made.id] = made
        return 201, self._shown(made, chosen)

    def _begun_by_append(self, caller: Caller, conversation_id: str, body: Json, first: Json) -> Conversation:
        made = Conversation(conversation_id, caller.user, caller.client)
        if "forkedAtConversationId" in body:
            source, anchor_id = (
                self._opened(caller, body["forkedAtConversationId"]),
                body.get("forkedAtEntryId"),
            )
            cut = None if anchor_id is None else self._anchor(source, anchor_id)
            made = self._fork(caller, source, conversation_id, cut, "before")
        made.agent = first.get("agentId") or made.agent
        return made

    def _fork(
        self, caller: Caller, source: Conversation, fork_id: str, cut: Entry | None, position: str
    ) -> Conversation:
        """Return a fork; at the head of a source that ends with context, its last history entry is shown."""
        made = Conversation(fork_id, source.root.owner, caller.client, agent=source.agent)
        made.source, made.cut, made.cut_included = source, cut, position == "after"
        made.fork_point = {
            "forkedAtConversationId": source.id,
            "forkedAtPosition": position if cut else "blank",
        }
        anchor = cut.id if cut and cut.channel == "history" else source.last_history()
        made.fork_point |= {"forkedAtEntryId": anchor} if cut and anchor else {}
        return made

    def _anchor(self, source: Conversation, entry_id: str) -> Entry:
        anchor = next((e for e in self._entries_of_tree(source) if e.id == entry_id), None)
        if anchor is None:
            raise Refusal(404, "not_found")
        if anchor not in source.view() or anchor.channel != "history":
            raise Refusal(400, "validation_error")
        return anchor

    def _epochs(self, caller: Caller, into: Conversation, drafts: Sequence[Json]) -> list[int | None]:
        latest = max((e.epoch for e in into.view() if e.client == caller.client), default=0)
        epochs: list[int | None] = []
        for draft in drafts:
            epoch = None if is_history(draft) else draft.get("epoch", max(latest, 1))
            if epoch is not None and epoch < latest:
                raise Refusal(409, "conflict")
            latest = epoch or latest
            epochs.append(epoch)
        return epochs

    def _entry(
        self, caller: Caller, into: Conversation, draft: Json, epoch: int | None, answer: Json
    ) -> Entry:
        entry_id = answer.get("id", NOT_CHOSEN)
        used = any(entry.id == entry_id for c in self.conversations.values() for entry in c.own)
        shown = {
            "id": "an id of its own" if used else entry_id,
            "conversationId": into.id,
            "userId": caller.user,
            "clientId": caller.client,
            "channel": "history" if is_history(draft) else "context",
            "epoch": epoch,
            **{name: draft.get(name) for name in ("agentId", "contentType", "content", "usage")},
            "createdAt": answer.get("createdAt", NOT_CHOSEN),
        }
        return Entry({name: value for name, value in shown.items() if value is not None})

    def _entries_of_tree(self, of: Conversation) -> list[Entry]:
        """Return every entry of the tree; across conversations, time is the only order there is."""
        entries = [e for c in self.conversations.values() if c.root is of.root for e in c.own]
        return sorted(entries, key=lambda entry: (entry.shown["createdAt"], entry.id))

    def _shown(self, c: Conversation, chosen: Json) -> Json:
        c.created_at = c.created_at or chosen.get("createdAt")
        c.updated_at = c.updated_at or chosen.get("updatedAt")
        shown = {
            "id": c.id,
            "ownerUserId": c.root.owner,
            "accessLevel": "owner",
            "agentId": c.agent,
            "tags": c.tags,
            "metadata": c.metadata,
            "createdAt": c.created_at,
            "updatedAt": c.updated_at,
            "lastMessagePreview": c.preview,
            **c.fork_point,
            "metrics": dict(c.totals),
        }
        return {"title": c.title} | {name: value for name, value in shown.items() if value is not None}


def is_history(draft: Json) -> bool:
    return str(draft.get("channel", "history")).lower() == "history"


def newest_first(some: Iterable[Conversation]) -> list[Conversation]:
    return sorted(some, key=lambda c: (c.created_at or "", c.id), reverse=True)


def place_of(entry_id: str, whole: Sequence[Entry]) -> int:
    for place, entry in enumerate(whole):
        if entry.id == entry_id:
            return place
    raise Refusal(400, "invalid_cursor")


def of_epoch(context: Sequence[Entry], epoch: str | int) -> list[Entry]:
    """Return the entries of that epoch; `latest`: of the highest seen, which drops all before it."""
    latest = max((entry.epoch for entry in context), default=0)
    return [entry for entry in context if entry.epoch == (latest if epoch == "latest" else epoch)]

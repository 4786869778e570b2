"""The random parts of requests. Most of them fit the existing conversations; some do not."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from random import Random
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from forklore_service.api import operations
from forklore_service.api.entry_requests import EntryFields, PresentContext
from forklore_service.api.requests import Described
from tests.service.api.samples import bodies_of, filters_of, good_values, names_of, schemas_of
from tests.service.model.asking import Caller, Json, is_history
from tests.service.model.oracle import LEVELS, Conversation, Oracle
from tests.service.model.oracle.lists import latest_epoch

OPERATIONS = {operation.name: operation for operation in operations.ALL}
CLIENTS = (None, "planner", "coder")
WORDS = ("tea", "Zürich", "🫖", "brew", "a\nline", "NULL", "  ", "Straße", "#1")
ELEMENTS: Sequence[Json] = (
    "a",
    "b",
    1,
    1.0,
    True,
    0,
    False,
    None,
    {"k": [1], "l": 2},
    {"l": 2.0, "k": [1]},
    [[]],
)
"""Elements of a context. Some are equal as JSON, and some are equal only in Python."""
NAMES = ("trip", "thread-17", "Zürich #1", "🫖", "a/b?c&d", "trip 2", "tri")
OF_DRAFTS = {"channel", "contentType", "content", "userId", "agentId", "epoch", "key", "usage"}
OF_DRAFTS |= {"indexedContent", "mergedFromConversationId", "mergedUpToEntryId", "basedOnEntryId"}
"""The fields of entries and of present contexts that are chosen one by one."""
TEXT_FILTERS = {"query", "agentId", "tag", "createdSince", "userId"}
"""The filters of lists that are chosen one by one."""
FIRST_ENTRY = "00000000-0000-7000-8000-000000000000"

T = TypeVar("T")


class Choices:
    """Random choices. random: the source of all choices. users: the existing users."""

    def __init__(self, random: Random, oracle: Oracle, users: Sequence[str]) -> None:
        self.random = random
        self.users = users
        self._oracle = oracle

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one_of(self, *some: T) -> T:
        return self.random.choice(some)

    def some_of(self, **members: Json) -> dict[str, Json]:
        return {name: value for name, value in members.items() if self.chance(0.4)}

    # Callers and conversations

    def user(self) -> str:
        return self.random.choice(self.users)

    def caller(self, at: Conversation | None = None, minimum: str = "reader") -> Caller:
        """Return a random caller. at: a conversation where most callers have the level."""
        able = [user for user in self.users if at and _level(at, user) >= LEVELS.index(minimum)]
        user = self.random.choice(able) if able and self.chance(0.85) else self.user()
        return Caller(user, self.random.choices(CLIENTS, (2, 4, 3))[0])

    @property
    def conversations(self) -> list[Conversation]:
        return list(self._oracle.conversations.values())

    @property
    def offers(self) -> list[dict[str, str]]:
        """The transfers that are pending."""
        return [tree.transfer for tree in self._oracle.trees if tree.transfer]

    def any(self) -> Conversation | None:
        return self.random.choice(self.conversations) if self.conversations else None

    def target(self) -> tuple[str, Conversation | None]:
        """Return an id, and its conversation; None if it is deleted or never existed."""
        found = self.any()
        if found and self.chance(0.95):
            return found.id, found
        gone = self.gone
        return (self.random.choice(gone) if gone and self.chance(0.6) else self.new_id()), None

    @property
    def gone(self) -> list[str]:
        """The ids of what is deleted, also of what can be restored."""
        return [*self._oracle.gone, *self._oracle.trashed]

    def in_trash(self) -> tuple[str, Conversation | None]:
        """Return a conversation that is in the trash, mostly one that was deleted by itself."""
        trashed = list(self._oracle.trashed.values())
        alone = [c for c in trashed if c.is_trashed or c.tree.deleted_with is c.tree]
        some = alone if alone and self.chance(0.85) else trashed
        found = self.random.choice(some) if some else None
        return (found.id if found else self.new_id()), found

    def beside(self, one: Conversation | None) -> tuple[str, Conversation | None]:
        """Return another conversation, mostly one of the same tree."""
        if one and one.tree.live() and self.chance(0.9):
            other = self.random.choice(one.tree.live())
            return other.id, other
        return self.target()

    def id_in_use(self) -> str:
        return self.random.choice([*self._oracle.conversations, *self.gone] or [self.new_id()])

    def new_id(self) -> str:
        some = str(UUID(int=self.random.getrandbits(128), version=4))
        return some if self.chance(0.5) else f"{some[:14]}7{some[15:]}"

    # Contents

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.one_of(1, 2, 5, 30)))

    def description(self, operation: str, caller: Caller) -> dict[str, Json]:
        """Return some of the fields that describe a conversation and that the operation takes."""
        values = {
            "title": self.text(),
            "tags": self.tags(),
            "metadata": self.metadata(),
            "agentId": self.one_of("ag-1", "ag-2"),
            "userId": caller.user,
        }
        names = {name for body in bodies_of(OPERATIONS[operation]) for name in names_of(body)}
        known = self.some_of(**{name: values[name] for name in values if name in names})
        return known | self.others(Described, values)

    def described(self, caller: Caller) -> dict[str, Json]:
        """Return what an append may say of the conversation that it creates."""
        said = self.description("appendEntry", caller)
        return {name: said[name] for name in names_of(Described) if name in said}

    def others(self, model: type[BaseModel], known: Collection[str]) -> dict[str, Json]:
        """Return some of the fields of a model that no choice here makes, as their schemas say."""
        values = {name: good_values(name, some) for name, some in schemas_of(model).items()}
        return self.some_of(
            **{name: self.one_of(*some) for name, some in values.items() if some and name not in known}
        )

    def filters(self, operation: str) -> dict[str, Json]:
        """Return some filters of a list, each with one of its values, but none of TEXT_FILTERS."""
        query, filters = OPERATIONS[operation].query, filters_of(OPERATIONS[operation])
        words = {name: self.one_of(*some) for name, some in filters.items() if some}
        others = {name for name, some in filters.items() if not some} - TEXT_FILTERS
        chosen = {name: value for name, value in words.items() if self.chance(2 / 3)}
        return chosen | self.others(query, {*names_of(query)} - others)

    def description_filters(self) -> dict[str, Json]:
        """Return some filters of lists of conversations by what is said of them."""
        tag = self.one_of("a", "b.c_-", "N9", "a:tea", "N9:Zürich", "b.c_-:#1", "none")
        times = [time for one in self.conversations if (time := one.said.get("createdAt"))]
        since = self.one_of(*times, "9999-12-31T23:59:59.999Z")
        agent = self.one_of("ag-1", "ag-2", "ag-3")
        return self.some_of(agentId=agent, tag=tag, createdSince=since) if self.chance(0.4) else {}

    def justification(self) -> dict[str, Json]:
        """Return the reason of an auditor's request, or nothing."""
        return {"justification": "a complaint"} if self.chance(0.5) else {}

    def tags(self) -> Json:
        return {name: self.random.choice(WORDS) for name in ("a", "b.c_-", "N9") if self.chance(0.4)}

    def metadata(self) -> Json:
        return self.some_of(n=self.random.randint(-9, 2**53), deep={"x": [1.5, None, True, WORDS[2]]})

    def drafts(self, caller: Caller, into: Conversation | None, *, is_batch: bool) -> Json:
        """Return the body of an append that `caller` may make. Sometimes it is not allowed."""
        channels = ["history", "history", None, "HISTORY"]
        has_context = into.context_for(caller, []) is not None if into else caller.client is not None
        if has_context or self.chance(0.08):
            channels += ["context", "context", "Context"]
        count = self.random.randint(1, 4) if is_batch else 1
        drafts = [self.draft(self.random.choice(channels)) for _ in range(count)]
        drafts = [draft | (self.merged(into) if self.chance(0.06) else {}) for draft in drafts]
        for draft in drafts:
            if draft["contentType"].lower().startswith("history") and self.chance(0.25):
                message = draft["content"][0] if self.chance(0.7) else {"role": "USER"}
                draft["content"] = [{**message, **self.attachments(caller)}]
        body = {"entries": drafts} if is_batch else drafts[0]
        if self.chance(0.25 if has_context else 0.02) and (all(map(is_history, drafts)) or self.chance(0.1)):
            given = {"agentId": "ag-5", "basedOnEntryId": self.based_on(caller, into)}
            sent = self.context(caller, into)
            others = self.others(PresentContext, OF_DRAFTS)
            body["context"] = {"contentType": "state", "content": sent, **self.some_of(**given), **others}
        return body

    def merged(self, into: Conversation | None) -> Json:
        """Return what a summary says of the branch that it sums up."""
        other_id, other = self.beside(into)
        shown = [entry["id"] for entry in other.view()] if other else []
        up_to = self.one_of(*shown) if shown and self.chance(0.9) else self.entry_id() or FIRST_ENTRY
        return {"mergedFromConversationId": other_id, **self.some_of(mergedUpToEntryId=up_to)}

    def draft(self, channel: str | None) -> Json:
        message: Json = {
            "role": self.one_of("USER", "AI", "SYSTEM", "user", "Ai", "tool"),
            "text": self.text(),
        }
        if self.chance(0.1):
            del message["role"]
        if self.chance(0.1):
            parts = [{"type": "text", "text": message.pop("text")}, {"type": "image_url"}, {"text": WORDS[0]}]
            message["content"] = parts
        if self.chance(0.15):
            message = {"role": "AI", "events": [{"kind": WORDS[1]}, []]}
        if self.chance(0.1):
            state = self.one_of("output-available", "output-error")
            message["message"] = {"parts": [{"type": "tool-pay", "state": state, "output": [self.text()]}]}
        if self.chance(0.1):
            message["source"] = {
                "createdAt": self.one_of("2019-03-01T09:15:00.000Z", "0001-01-01T00:00:01+1010")
            }
        draft: Json = {"contentType": self.one_of("history", "history/x", "HISTORY"), "content": [message]}
        if channel is None and self.chance(0.7):
            opaque: list[Json] = [[], [None], [{"text": 5}], [message, message], ["text"], [[1.25]]]
            draft = {"contentType": "any/thing", "content": self.random.choice(opaque)}
        elif channel and channel.lower() == "context":
            draft = {"contentType": "state", "content": [message] * self.random.randint(0, 2)}
            if self.chance(0.4):
                draft["epoch"] = self.random.randint(1, 4)
        if self.chance(0.04):
            draft["userId"] = self.user()
        given = {"channel": channel, "agentId": "ag-3" if self.chance(0.2) else None}
        given |= {"key": self.key() if self.chance(0.15) else None}
        given |= {"metadata": self.metadata() if self.chance(0.1) else None}
        if is_history(draft | given) and self.chance(0.1):
            given["indexedContent"] = self.text()
        usage = {"usage": self.usage()} if self.chance(0.4) else {}
        draft |= self.others(EntryFields, OF_DRAFTS)
        return draft | usage | {name: value for name, value in given.items() if value is not None}

    def attachments(self, caller: Caller) -> Json:
        """Return what a message names of attachments, mostly of those that the caller may name."""
        sure = [one for one, file in self._oracle.files.items() if self._oracle.is_sure(caller, file)]
        own = [one for one in sure if self._oracle.files[one].owner == caller.user]
        some = own if own and self.chance(0.8) else sure or [self.new_id()]
        chosen = self.random.sample(some, self.random.randint(1, min(2, len(some))))
        return {"attachments": [{"id": one, **self.some_of(name=self.file_name())} for one in chosen]}

    def file_name(self) -> str:
        return self.one_of("cat.png", "Zürich 🫖.txt", "a b.pdf")

    def key(self) -> str:
        return self.one_of("k1", "k2", "a key #3", "/?%")

    def key_of(self, of: Conversation) -> str:
        """Return a key, mostly one of an entry that the conversation shows."""
        keys = [entry["key"] for entry in of.view() if "key" in entry]
        return self.random.choice(keys) if keys and self.chance(0.8) else self.key()

    def name(self, of: Caller) -> dict[str, Json]:
        """Return a name of a caller's, mostly one that exists, and perhaps a revision."""
        mine = self._oracle.names.get((of.user, of.client), {})
        name = self.one_of(*mine) if mine and self.chance(0.6) else self.one_of(*NAMES)
        revision = mine[name].said["revision"] if name in mine else 0
        of_deleted = sorted(self._oracle.deleted.get(name, ()))[:2]
        return {
            "name": name,
            **self.some_of(expectRevision=self.one_of(revision, revision, 0, 1, *of_deleted)),
        }

    def usage(self) -> Json:
        usage = self.some_of(inputTokens=3, outputTokens=2**40, cachedInputTokens=0, costUsd=Decimal("0.25"))
        odd = self.one_of(Decimal("0.000000001"), Decimal("0.30000000000000004"), Decimal("0.0000000015"))
        return usage | ({"costUsd": odd} if self.chance(0.1) else {})

    def context(self, caller: Caller, of: Conversation | None) -> list[Json]:
        """Return a whole context to sync: the known one, or a longer, shorter or different one."""
        known: list[Json] = []
        if of:
            for entry in latest_epoch(of.context_for(caller, of.view()) or [])[1]:
                known += entry["content"]
        more = self.random.choices(ELEMENTS, k=self.random.randint(0, 3))
        return self.random.choices((known + more, known, known[:-1], more, []), (8, 2, 1, 3, 1))[0]

    def based_on(self, caller: Caller, of: Conversation | None) -> str:
        """Return the entry that a present context is based on, mostly the last one known."""
        known = latest_epoch(of.context_for(caller, of.view()) or [])[1] if of else []
        last = known[-1]["id"] if known else "none"
        return self.one_of(last, last, last, "none", self.entry_id() or "none")

    # Entries that requests name

    def entry_id(self) -> str | None:
        ids = [entry["id"] for conversation in self.conversations for entry in conversation.own]
        return self.random.choice(ids) if ids else None

    def last_history(self, of: Conversation | None) -> str:
        """Return an entry for If-Match. Mostly it is the last one of a channel."""
        last = of.last_history() if of else None
        context = [entry["id"] for entry in of.view() if not is_history(entry)] if of else []
        if context and self.chance(0.3):
            last = context[-1]
        return last if last and self.chance(0.7) else self.entry_id() or self.new_id()

    def anchor(self, source: Conversation) -> str | None:
        """Return an entry to fork at, mostly a right one; None if the source shows none."""
        shown = source.view() if self.chance(0.3) else source.history()
        if self.chance(0.85):
            return self.random.choice(shown)["id"] if shown else None
        other = self.entry_id() if self.chance(0.6) else None
        return other or self.new_id()

    def lineage(self, into: Conversation) -> Json:
        """Return fork or child fields for an append to a conversation, right or wrong ones."""
        names = ("forkedAtConversationId", "forkedAtEntryId", "startedByConversationId", "startedByEntryId")
        given = {name: into.said[name] for name in names if name in into.said}
        shown = {entry["id"]: entry for entry in into.tree.entries()}
        if given.get("forkedAtEntryId") in shown and self.chance(0.4):
            anchor = shown[given.pop("forkedAtEntryId")]
            given["forkedAtKey"] = anchor["key"] if "key" in anchor and self.chance(0.8) else self.key()
        if not given or self.chance(0.3):
            given = {self.one_of(names[0], names[2]): self.target()[0]}
        return given

    def page_query(self, conversation: Conversation) -> Json:
        """Return a query for entries with a random cursor and a random end of the view."""
        query: dict[str, Json] = {}
        whole = [entry["id"] for entry in conversation.view()]
        if whole and self.chance(0.5):
            query["upToEntryId"] = self.random.choice(whole)
            whole = whole[: whole.index(query["upToEntryId"]) + 1]
        if whole and self.chance(0.7):
            query[self.one_of("afterCursor", "beforeCursor")] = self.random.choice(whole)
        elif self.chance(0.15):
            other = self.entry_id() or FIRST_ENTRY
            query["afterCursor"] = other if self.chance(0.5) else f"{other[:-4]}{self.new_id()[-4:]}"
        if self.chance(0.2):
            query |= self.one_of({"allForks": True}, {"forks": "all"})
        elif self.chance(0.3):
            query |= self.one_of({"own": True}, {"alternatives": True}, {"alternatives": True})
        if self.chance(0.4):
            query["channel"] = self.one_of("history", "context")
        if self.chance(0.2):
            query["view"] = self.one_of("line", "full")
        return query


def _level(at: Conversation, user: str) -> int:
    return LEVELS.index(at.tree.levels.get(user))

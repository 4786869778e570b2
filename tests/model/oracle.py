"""What docs/api.md promises, as plainly as possible: lists, dictionaries and recursive views.

There is one method for each operation. The model shares no code with forklore. It takes what the
service may choose (ids, times) from the service's answer, `chosen`. It returns whole lists, so it
refuses every `afterCursor` of a list. It also fixes these rules: equal times are ordered by id; a
whole tree's latest epoch is its highest; every member may replay; other trees are unknown.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from tests.model.asking import (
    Caller,
    Json,
    Outcome,
    Refusal,
    Request,
    comparable,
    is_history,
    require,
    text_of,
)
from tests.model.lists import latest_epoch, place_of

COUNTED = ("inputTokens", "outputTokens", "cachedInputTokens", "costUsd")
LEVELS = (None, "reader", "writer", "manager", "owner")
GRANTS = {"owner": {"manager", "writer", "reader"}, "manager": {"writer", "reader"}}
OF_OTHERS = {"shareConversation", "updateMembership", "removeMembership", "adminListConversations"}
INVALID, FORBIDDEN, NOT_FOUND = (400, "validation_error"), (403, "forbidden"), (404, "not_found")
CONFLICT, NOT_CHOSEN = (409, "conflict"), "what the service has not chosen"


@dataclass(eq=False)
class Tree:
    """A fork tree. levels, since: by member. transfer: the pending transfer, or empty."""

    levels: dict[str, str]
    started_by: "Conversation | None" = None
    since: dict[str, str] = field(default_factory=dict)
    transfer: dict[str, str] = field(default_factory=dict)

    def level_of(self, caller: Caller) -> str | None:
        return "owner" if caller.bypasses_membership else self.levels.get(caller.user)


@dataclass(eq=False)
class Conversation:
    """A root, or a fork that shows the first entries of its source. said: its other fields."""

    id: str
    tree: Tree
    client: str | None
    source: "Conversation | None" = None
    inherits: int = 0
    own: list[Json] = field(default_factory=list)
    said: Json = field(default_factory=dict)
    totals: Json = field(default_factory=lambda: dict.fromkeys(("entries", *COUNTED), Decimal()))

    def view(self) -> list[Json]:
        """Return all that the conversation shows: the inherited entries, then its own."""
        return (self.source.view()[: self.inherits] if self.source else []) + self.own

    def last_history(self) -> str | None:
        return next((entry["id"] for entry in self.view()[::-1] if is_history(entry)), None)

    def require_last(self, r: Request) -> None:
        last = self.last_history()
        require(r.if_match in (None, last), *CONFLICT, lastEntryId=last)

    def context_for(self, caller: Caller, whole: list[Json]) -> list[Json] | None:
        """Return the caller's context in `whole`; None if the caller may have no context here."""
        sees_all = caller.bypasses_membership
        if not sees_all and (caller.client is None or self.client not in (None, caller.client)):
            return None
        return [e for e in whole if not is_history(e) and (sees_all or e["clientId"] == caller.client)]

    def member(self, user: str) -> Json:
        member = {"conversationId": self.id, "userId": user, "accessLevel": self.tree.levels[user]}
        return member | {"createdAt": self.tree.since.get(user, NOT_CHOSEN)}


class Oracle:
    """The service, in memory. gone: the ids of deleted conversations, each with its tree."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self.gone: dict[str, Tree] = {}
        self._answers: dict[Json, tuple[Json, str, Outcome]] = {}

    def answer(self, r: Request, chosen: Json) -> Outcome:
        """Return status and body; of an error its code. chosen: the service's answer, if good."""
        for row in chosen if isinstance(chosen, list) else [chosen]:  # Learn the times that are shown.
            known = self.conversations.get(row.get("id", row.get("conversationId")))
            if known and "title" in row:
                known.said |= {t: known.said.get(t) or row.get(t) for t in ("createdAt", "updatedAt")}
            elif known and "accessLevel" in row:
                known.tree.since.setdefault(row["userId"], row["createdAt"])
        try:
            check_form(r)
            if r.name.startswith("admin"):
                may = {"admin"} if r.name == "adminDeleteConversation" else {"admin", "auditor"}
                require(may & r.caller.roles, *FORBIDDEN)
                caller = replace(r.caller, bypasses_membership=True)
                r = replace(r, name=r.name.removeprefix("admin"), caller=caller)
            return self._once(r, chosen)
        except Refusal as refusal:
            return refusal.args[0], refusal.args[1]

    def _once(self, r: Request, chosen: Json) -> Outcome:
        """Return the outcome: of the effect, or the recorded one if the caller may still see it."""
        effect = getattr(self, re.sub("(?<!^)([A-Z])", r"_\1", r.name).lower())
        scope = (r.caller, r.name, r.place, r.key)
        if scope in self._answers:
            asked, about, before = self._answers[scope]
            if self._is_used(about):
                self._opened(r, about)
            require(asked == (r.given, r.if_match), 422, "idempotency_mismatch")
            return before
        of = self._offered(r).transfer if r.name == "acceptTransfer" else r.given
        outcome: Outcome = effect(r, chosen)
        require("afterCursor" not in r.given or effect == self.list_entries, 400, "invalid_cursor")
        if r.key is not None:
            about = of.get("conversationId") or outcome[1]["id"]
            self._answers[scope] = ((r.given, r.if_match), about, outcome)
        return outcome

    def check_health(self, _r: Request, _chosen: Json) -> Outcome:
        return 200, {"status": "ok"}

    def create_conversation(self, r: Request, chosen: Json) -> Outcome:
        return self._begin(r, self._made(r, r.given), chosen)

    def get_conversation(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._shown(r, self._opened(r))

    def update_conversation(self, r: Request, chosen: Json) -> Outcome:
        changed = self._opened(r, minimum="writer")
        changed.said |= {name: r.given[name] for name in ("title", "tags", "metadata") if name in r.given}
        times = (changed.said.get("updatedAt") or "", chosen.get("updatedAt", NOT_CHOSEN))
        changed.said["updatedAt"] = max(times)
        return 200, self._shown(r, changed)

    def list_conversations(self, r: Request, _chosen: Json) -> Outcome:
        mode, ancestry = r.given.get("mode", "latest-fork"), r.given.get("ancestry", "roots")
        user, wanted = r.given.get("userId", r.caller.user), r.given.get("query", "").casefold()
        everyone = r.caller.bypasses_membership and "userId" not in r.given
        mine = newest_first(c for c in self.conversations.values() if everyone or user in c.tree.levels)
        listed: list[Conversation] = []
        for root in mine:
            if not root.source and ancestry in ("all", "children" if root.tree.started_by else "roots"):
                tree = [c for c in mine if c.tree is root.tree]
                latest = max([root, *tree[:25]], key=lambda c: (c.said.get("updatedAt") or "", c.id))
                listed += {"roots": [root], "all": tree, "latest-fork": [latest]}[mode]
        return 200, [self._shown(r, c) for c in listed if wanted in (c.said.get("title") or "").casefold()]

    def delete_conversation(self, r: Request, _chosen: Json) -> Outcome:
        self.delete_with_children(self._opened(r, minimum="owner").tree)
        return 204, None

    def delete_with_children(self, tree: Tree) -> None:
        """Delete a tree and its children. The children of these are deleted later, tree by tree."""
        for c in [*self.conversations.values()]:
            if tree in (c.tree, c.tree.started_by and c.tree.started_by.tree):
                self.gone[c.id] = self.conversations.pop(c.id).tree

    def fork_conversation(self, r: Request, chosen: Json) -> Outcome:
        at = {"forkedAtEntryId": r.given["atEntryId"]} if "atEntryId" in r.given else {"position": "head"}
        made = self._made(r, {"forkedAtConversationId": r.id, **r.given, **at})
        made.require_last(r)
        made.totals = made.totals if r.given.get("resetMetrics", True) else self._opened(r).totals
        return self._begin(r, made, chosen)

    def list_forks(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        tree = newest_first(c for c in self.conversations.values() if c.tree is opened.tree)[::-1]
        rows = [{n: v for n, v in c.said.items() if re.match("title|createdAt|forked", n)} for c in tree]
        return 200, [{"conversationId": c.id, "title": None} | row for c, row in zip(tree, rows, strict=True)]

    def list_children(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        roots = [c for c in self.conversations.values() if not c.source and c.tree.started_by is opened]
        return 200, [self._shown(r, c) for c in newest_first(roots)[::-1] if c.tree.level_of(r.caller)]

    def append_entry(self, r: Request, chosen: Json) -> Outcome:
        drafts = r.given.get("entries", [r.given])
        into = self._to_write(r, drafts[0])
        context = into.context_for(r.caller, into.view())
        require(all(map(is_history, drafts)) or context is not None, *FORBIDDEN)
        into.require_last(r)
        latest, _ = latest_epoch(context or [])
        epochs: list[int | None] = []
        for draft in drafts:
            epochs.append(None if is_history(draft) else draft.get("epoch", max(latest, 1)))
            latest = max(latest, epochs[-1] or 0)
            require(epochs[-1] in (None, latest), *CONFLICT)
        answers = [*(chosen.get("data", []) if "entries" in r.given else [chosen]), *({} for _ in drafts)]
        made = [self._take_in(r, into, *each) for each in zip(drafts, epochs, answers, strict=False)]
        return 201, {"data": made} if "entries" in r.given else made[0]

    def sync_context(self, r: Request, chosen: Json) -> Outcome:
        sent, into = r.given["content"], self._to_write(r, r.given)
        context = into.context_for(r.caller, into.view())
        require(context is not None, *FORBIDDEN)
        epoch, entries = latest_epoch(context or [])
        known = [element for entry in entries for element in entry["content"]]
        if comparable(known) == comparable(sent):
            return 200, {"epoch": epoch or None, "noOp": True, "epochIncremented": False, "entry": None}
        goes_on = epoch > 0 and sent != [] and comparable(known) == comparable(sent[: len(known)])
        starts = not goes_on and (epoch > 0 or into.id not in self.conversations)
        epoch, rest = (epoch, sent[len(known) :]) if goes_on else (epoch + 1, sent)
        draft = r.given | {"channel": "context", "content": rest}
        made = self._take_in(r, into, draft, epoch, chosen.get("entry") or {})
        return 200, {"epoch": epoch, "noOp": False, "epochIncremented": starts, "entry": made}

    def list_entries(self, r: Request, _chosen: Json) -> Outcome:
        """Return a page's data, and whether more follows in the direction of reading."""
        given, opened = r.given, self._opened(r)
        channel, limit, epoch = given.get("channel"), given.get("limit", 50), given.get("epoch", "latest")
        whole = self._entries_of(opened.tree) if given.keys() & {"allForks", "forks"} else opened.view()
        require(channel != "context" or opened.context_for(r.caller, whole) is not None, *FORBIDDEN)
        if "upToEntryId" in given:
            whole = whole[: place_of(given["upToEntryId"], whole) + 1]
        first = place_of(given["afterCursor"], whole) + 1 if "afterCursor" in given else 0
        end = place_of(given["beforeCursor"], whole) if "beforeCursor" in given else len(whole)
        kept = [] if channel == "history" else opened.context_for(r.caller, whole) or []
        if channel != "context":
            kept = [*kept, *filter(is_history, whole)]
        elif epoch != "all" and not r.caller.bypasses_membership:
            kept = latest_epoch(kept)[1] if epoch == "latest" else [e for e in kept if e["epoch"] == epoch]
        inside = [entry for entry in whole[first:end] if entry in kept]
        data = inside[-limit:] if "tail" in given or "beforeCursor" in given else inside[:limit]
        return 200, {"data": data, "goes_on": len(inside) > limit}

    def list_memberships(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        members = [opened.member(user) for user in opened.tree.levels]
        return 200, sorted(members, key=lambda m: (m["createdAt"], m["userId"]))

    def share_conversation(self, r: Request, chosen: Json) -> Outcome:
        opened, user, level = self._opened(r), r.given["userId"], r.given["accessLevel"]
        require(level in GRANTS.get(opened.tree.levels[r.caller.user], ()), *FORBIDDEN)
        require(user not in opened.tree.levels, *CONFLICT)
        opened.tree.levels[user], opened.tree.since[user] = level, chosen.get("createdAt", NOT_CHOSEN)
        return 201, opened.member(user)

    def update_membership(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened_to_change(r)
        opened.tree.levels[r.given["userId"]] = r.given["accessLevel"]
        return 200, opened.member(r.given["userId"])

    def remove_membership(self, r: Request, _chosen: Json) -> Outcome:
        tree, user = self._opened_to_change(r).tree, r.given["userId"]
        del tree.levels[user]
        tree.transfer = {} if tree.transfer.get("toUserId") == user else tree.transfer
        return 204, None

    def request_transfer(self, r: Request, chosen: Json) -> Outcome:
        tree, to = self._opened(r, minimum="owner").tree, r.given["newOwnerUserId"]
        require(to != r.caller.user and to in tree.levels, 400, "bad_request")
        pending = tree.transfer.get("id")
        require(not pending, 409, "TRANSFER_ALREADY_PENDING", existingTransferId=pending)
        tree.transfer = {"conversationId": r.id, "fromUserId": r.caller.user, "toUserId": to}
        tree.transfer |= {name: chosen.get(name, NOT_CHOSEN) for name in ("id", "createdAt")}
        return 201, tree.transfer

    def list_transfers(self, r: Request, _chosen: Json) -> Outcome:
        other = {"sender": "toUserId", "recipient": "fromUserId"}.get(r.given.get("role", "all"))
        sides = {"fromUserId", "toUserId"} - {other}
        offers = [c.tree.transfer for c in self.conversations.values() if not c.source]
        mine = [offer for offer in offers if r.caller.user in [offer.get(side) for side in sides]]
        return 200, sorted(mine, key=lambda offer: (offer["createdAt"], offer["id"]))

    def get_transfer(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._offered(r, "fromUserId", "toUserId", otherwise=NOT_FOUND).transfer

    def delete_transfer(self, r: Request, _chosen: Json) -> Outcome:
        self._offered(r, "fromUserId", "toUserId").transfer = {}
        return 204, None

    def accept_transfer(self, r: Request, _chosen: Json) -> Outcome:
        tree = self._offered(r, "toUserId")
        tree.levels |= {tree.transfer["fromUserId"]: "manager", tree.transfer["toUserId"]: "owner"}
        tree.transfer = {}
        return 204, None

    def _offered(self, r: Request, *to: str, otherwise: tuple[int, str] = FORBIDDEN) -> Tree:
        wanted, known = r.given["transferId"], self.conversations.values()
        trees = [c.tree for c in known if c.tree.transfer.get("id") == wanted]
        require(trees, *NOT_FOUND)
        require(not to or r.caller.user in [trees[0].transfer[side] for side in to], *otherwise)
        return trees[0]

    def _opened(self, r: Request, conversation_id: str = "", *, minimum: str = "reader") -> Conversation:
        found = self.conversations.get(conversation_id or r.id)
        if found is None:
            raise Refusal(404, {"code": "not_found"})
        require(LEVELS.index(found.tree.level_of(r.caller)) >= LEVELS.index(minimum), *FORBIDDEN)
        return found

    def _opened_to_change(self, r: Request) -> Conversation:
        opened, user = self._opened(r), r.given["userId"]
        levels, is_leaving = opened.tree.levels, r.name == "removeMembership" and user == r.caller.user
        may = GRANTS.get(levels[r.caller.user], set())
        require(may or is_leaving, *FORBIDDEN)
        require(user in levels, *NOT_FOUND)
        require(levels[user] != "owner", *INVALID)
        require(is_leaving or {levels[user], r.given.get("accessLevel", levels[user])} <= may, *FORBIDDEN)
        return opened

    def _to_write(self, r: Request, first: Json) -> Conversation:
        if not self._is_used(r.id):
            return self._made(r, first | r.given)
        opened, ids = self._opened(r, minimum="writer"), re.compile("(forkedAt|startedBy).*Id")
        asked, said = ({n: v for n, v in some.items() if ids.match(n)} for some in (r.given, opened.said))
        is_that = asked == said and opened.said.get("forkedAtPosition") != "after"
        require(is_that or not asked, *CONFLICT)
        return opened

    def _is_used(self, conversation_id: str) -> bool:
        return conversation_id in self.conversations or conversation_id in self.gone

    def _begin(self, r: Request, made: Conversation, chosen: Json) -> Outcome:
        made.id = r.given.get("id") or chosen.get("id", NOT_CHOSEN)
        require(not self._is_used(made.id), *CONFLICT)
        made.said |= {name: r.given[name] for name in ("title", "tags", "metadata") if name in r.given}
        made.said |= {name: chosen.get(name) for name in ("createdAt", "updatedAt")}
        self.conversations[made.id] = made
        return 201, self._shown(r, made)

    def _made(self, r: Request, by: Json) -> Conversation:
        """Return a new root, fork or child, by the fields `by`. Position `head` inherits all."""
        made = Conversation(r.place or "", Tree({r.caller.user: "owner"}), r.caller.client)
        if "forkedAtConversationId" in by:
            source = self._opened(r, by["forkedAtConversationId"], minimum="writer")
            require(not self._is_used(r.given.get("id", "")), *CONFLICT)
            view, anchor = source.view(), by.get("forkedAtEntryId")
            position = by.get("position", "before") if anchor else "blank"
            if anchor:
                require(anchor in [entry["id"] for entry in self._entries_of(source.tree)], *NOT_FOUND)
                places = [place for place, e in enumerate(view) if e["id"] == anchor and is_history(e)]
                require(places, *INVALID)
                made.inherits = places[0] + (position == "after")
            elif by.get("position") == "head" and view:
                made.inherits, position, anchor = len(view), "after", source.last_history()
            made.source, made.tree = source, source.tree
            made.said |= {"forkedAtConversationId": source.id, "forkedAtPosition": position}
            made.said |= {"forkedAtEntryId": anchor} if anchor else {}
            kept = {"agentId", "title"} if r.name == "forkConversation" else {"agentId"}
            made.said |= {n: v for n, v in source.said.items() if n in kept and v is not None}
            texts = [*filter(None, map(text_of, made.view()))]
            made.said |= {"lastMessagePreview": texts[-1][:100]} if texts else {}
        if "startedByConversationId" in by:
            parent = self._opened(r, by["startedByConversationId"], minimum="writer")
            require(by.get("startedByEntryId") in [None, *(e["id"] for e in parent.view())], *INVALID)
            made.tree = Tree(dict(parent.tree.levels), parent)
        made.said |= {n: value for n, value in by.items() if n == "agentId" or n.startswith("startedBy")}
        return made

    def _take_in(self, r: Request, into: Conversation, draft: Json, epoch: int | None, answer: Json) -> Json:
        entry: Json = {"conversationId": into.id, "userId": r.caller.user, "clientId": r.caller.client}
        entry |= {name: draft.get(name) for name in ("agentId", "contentType", "content", "usage")}
        entry |= {name: answer.get(name, NOT_CHOSEN) for name in ("id", "createdAt")}
        entry |= {"channel": "history" if is_history(draft) else "context", "epoch": epoch}
        entry = {name: value for name, value in entry.items() if value is not None}
        self.conversations[into.id] = into
        into.own.append(entry)
        used = {"entries": 1, **entry.get("usage", {})}
        into.totals = {name: total + Decimal(used.get(name, 0)) for name, total in into.totals.items()}
        if into.said.get("updatedAt"):
            into.said["updatedAt"] = max(into.said["updatedAt"], entry["createdAt"])
        if text := text_of(entry):
            into.said = {"title": text[:40], **into.said, "lastMessagePreview": text[:100]}
        return entry

    def _entries_of(self, tree: Tree) -> list[Json]:
        entries = [entry for c in self.conversations.values() if c.tree is tree for entry in c.own]
        return sorted(entries, key=lambda entry: (entry["createdAt"], entry["id"]))

    def _shown(self, r: Request, c: Conversation) -> Json:
        owner = {level: user for user, level in c.tree.levels.items()}["owner"]
        shown = {"id": c.id, "ownerUserId": owner, "accessLevel": c.tree.level_of(r.caller)}
        client = {"clientId": c.client} if r.caller.bypasses_membership and c.client else {}
        return {"title": None, "tags": {}, "metadata": {}, **c.said, **shown, "metrics": c.totals, **client}


def check_form(r: Request) -> None:
    given, drafts = r.given, r.given.get("entries", [r.given])
    users = {r.caller.user} if r.name in OF_OTHERS else {d.get("userId", r.caller.user) for d in drafts}
    require(users == {r.caller.user} and given.get("accessLevel") != "owner", *INVALID)
    require(not any("epoch" in draft and is_history(draft) for draft in drafts), *INVALID)
    require(len({"afterCursor", "beforeCursor", "tail"} & given.keys()) < 2, *INVALID)
    require("position" not in given or "atEntryId" in given, *INVALID)
    require(not {"forkedAtConversationId", "startedByConversationId"} <= given.keys(), *INVALID)


def newest_first(some: Iterable[Conversation]) -> list[Conversation]:
    return sorted(some, key=lambda c: (c.said.get("createdAt") or "", c.id), reverse=True)

"""How conversations begin, and how they take entries in."""

from decimal import Decimal

from tests.service.model.asking import (
    Json,
    Outcome,
    Request,
    comparable,
    is_history,
    require,
    text_of,
)
from tests.service.model.oracle.attachments import Attachments
from tests.service.model.oracle.lists import latest_epoch
from tests.service.model.oracle.pointers import Pointers
from tests.service.model.oracle.refusals import FORBIDDEN, INVALID, NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import SAID, Conversation, Entry

KEPT = (
    *("agentId", "contentType", "content", "usage", "key", "metadata"),
    *("mergedFromConversationId", "mergedUpToEntryId"),
)


class Making(Attachments, Pointers):
    """The rules of new conversations and of new entries."""

    def _to_write(self, r: Request, first: Json) -> Conversation:
        if not self._is_used(r.id):
            made = self._made(r, first | r.given)
            made.said["metadata"] = r.given.get("metadata", {}) if "entries" in r.given else {}
            return made
        return self._opened(r, minimum="writer")

    def _begin(self, r: Request, made: Conversation, chosen: Json) -> Outcome:
        made.id = r.given.get("id") or chosen.get("id", NOT_CHOSEN)
        self._require_free(made.id)
        self._require_revision(r, r.given.get("name"))
        made.said |= {name: chosen.get(name) for name in ("createdAt", "updatedAt")}
        self._register(made)
        self._point_at(r, made, is_new=True)
        return 201, self._shown(r, made)

    def _point_at(self, r: Request, to: Conversation, *, is_new: bool) -> None:
        """Let a conversation become the current branch, and take a name if it is new."""
        if r.given.get("promote"):
            to.tree.promote(to)
        if is_new:
            self._move_name(r, to)

    def _made(self, r: Request, by: Json) -> Conversation:
        """Return a new root, fork or child, by the fields `by`. Position `head` inherits all."""
        made = Conversation(r.place or "", Tree({r.caller.user: "owner"}), r.caller.client)
        if "forkedAtConversationId" in by:
            source = self._opened(r, by["forkedAtConversationId"], minimum="writer")
            require_agent(r)
            view, anchor = source.view(), by.get("forkedAtEntryId")
            if key := by.get("atKey", by.get("forkedAtKey")):
                keyed = [e["id"] for e in self._shown_to(r, source) if e.get("key") == key]
                require(keyed, *NOT_FOUND)
                anchor = keyed[-1]
            position = by.get("position", by.get("forkedAtPosition", "before" if anchor else "blank"))
            if anchor:
                require(anchor in [entry["id"] for entry in source.tree.entries()], *NOT_FOUND)
                anchors = [e for e in view if e["id"] == anchor and source.may_see(r.caller, e)]
                require(anchors, *INVALID)
                turn = [place for place, e in enumerate(view) if e in anchors[0].turn]
                made.inherits = turn[-1] + 1 if position == "after" else turn[0]
            elif position == "head":
                made.inherits, anchor = len(view), source.last_history()
                position = "after" if view else "blank"
            self._require_free(r.given.get("id", ""))
            made.source, made.tree = source, source.tree
            made.said |= {"forkedAtConversationId": source.id, "forkedAtPosition": position}
            made.said |= {"forkedAtEntryId": anchor} if anchor else {}
            kept = {"agentId", "title"} if r.name == "forkConversation" else {"agentId"}
            made.said |= {n: v for n, v in source.said.items() if n in kept and v is not None}
            made.titled_by = source.titled_by if "title" in kept and "title" not in by else ""
            for entry in made.view():
                made.show(entry)
        if "startedByConversationId" in by:
            parent = self._opened(r, by["startedByConversationId"], minimum="writer")
            require_agent(r)
            require(by.get("startedByEntryId") in [None, *(e["id"] for e in parent.view())], *INVALID)
            made.tree = Tree(dict(parent.tree.levels), parent, copied=set(parent.tree.levels))
        made.said |= {n: value for n, value in by.items() if n == "agentId" or n.startswith("startedBy")}
        made.said |= {name: by[name] for name in SAID if name in by}
        return made

    def _take_in(self, r: Request, into: Conversation, draft: Json, epoch: int | None, answer: Json) -> Entry:
        entry = Entry({"conversationId": into.id, "userId": r.caller.user, "clientId": r.caller.client})
        entry |= {name: draft.get(name) for name in KEPT} | {"attachments": self._attached(draft) or None}
        entry |= {name: answer.get(name, NOT_CHOSEN) for name in ("id", "createdAt")}
        entry |= {"channel": "history" if is_history(draft) else "context", "epoch": epoch}
        entry = Entry({name: value for name, value in entry.items() if value is not None})
        entry["parentId"] = into.last_history()
        entry.turn, entry.indexed = [entry], draft.get("indexedContent") or ""
        self._register(into)
        into.own.append(entry)
        used = {"entries": 1, **entry.get("usage", {})}
        into.totals = {
            name: total + round(Decimal(used.get(name, 0)), 9) for name, total in into.totals.items()
        }
        if into.said.get("updatedAt"):
            into.said["updatedAt"] = max(into.said["updatedAt"], entry["createdAt"])
        if (text := text_of(entry)) and "title" not in into.said:
            into.said["title"], into.titled_by = text[:40], r.caller.user
        into.show(entry)
        return entry

    def _is_news(self, r: Request, into: Conversation, given: Json) -> bool:
        """Tell whether a sync makes an entry."""
        _, _, known = self._synced(r, into)
        return bool(comparable(known) != comparable(given["content"]))

    def _synced(self, r: Request, into: Conversation) -> tuple[int, list[Entry], list[Json]]:
        """Return the epoch that the caller sees, its entries, and their elements."""
        epoch, entries = latest_epoch(into.context_for(r.caller, into.view()) or [])
        return epoch, entries, [element for entry in entries for element in entry["content"]]

    def _sync(self, r: Request, into: Conversation, given: Json, told: Json, *, is_new: bool) -> Json:
        sent = given["content"]
        epoch, entries, known = self._synced(r, into)
        if comparable(known) == comparable(sent):
            last = entries[-1]["id"] if entries else None
            told = {"epoch": epoch or None, "noOp": True, "epochIncremented": False}
            return told | {"entry": None, "lastEntryId": last}
        goes_on = epoch > 0 and sent != [] and comparable(known) == comparable(sent[: len(known)])
        starts = not goes_on and (epoch > 0 or is_new)
        epoch, rest = (epoch, sent[len(known) :]) if goes_on else (epoch + 1, sent)
        made = self._take_in(r, into, given | {"channel": "context", "content": rest}, epoch, told)
        told = {"epoch": epoch, "noOp": False, "epochIncremented": starts}
        return told | {"entry": made, "lastEntryId": made["id"]}


def require_agent(r: Request) -> None:
    """Refuse context from a plain user."""
    drafts = r.given.get("entries", [r.given])
    has_context = "context" in r.given or not all(map(is_history, drafts))
    require(r.caller.client or not has_context, *FORBIDDEN)

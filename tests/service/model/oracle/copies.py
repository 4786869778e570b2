"""What of a conversation comes into another one, and into a tree of one's own."""

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.branches import Branches, common, end_of_turn, ids_to_name
from tests.service.model.oracle.lists import group_turns, latest_epoch
from tests.service.model.oracle.making import KEPT
from tests.service.model.oracle.refusals import FORBIDDEN, INVALID
from tests.service.model.oracle.views import Conversation, Entry

OF_THE_ORIGINAL = {"usage", "key", "mergedFromConversationId", "mergedUpToEntryId"}
"""What a copy does not have of its original."""


class Copies(Branches):
    """The operations that copy entries."""

    def merge_conversation(self, r: Request, chosen: Json) -> Outcome:
        into = self._opened(r, minimum="writer")
        brings = r.given.get("withContext")
        require(not brings or into.context_for(r.caller, []) is not None, *FORBIDDEN)
        other = self._beside(r, into, r.given["fromConversationId"])
        view, base = other.view(), common(into, other)
        start = end_of_turn(view, base[-1]["id"]) if base else 0
        start = end_named(r, view, "afterEntryId", start)
        end = end_named(r, view, "upToEntryId", len(view))
        into.require_last(r)
        copied = [entry for entry in view[start:end] if is_history(entry)]
        if not r.given.get("again"):
            copied = [entry for entry in copied if not has(into, entry, other)]
        require(len(copied) <= 50, 413, "payload_too_large")
        own = [e for e in view[:end] if not is_history(e) and e.get("clientId") == r.caller.client]
        _, theirs = latest_epoch(own)
        given: Json = {}
        if brings and theirs:
            given = {name: theirs[-1][name] for name in ("contentType", "agentId") if name in theirs[-1]}
            given |= {"content": [element for entry in theirs for element in entry["content"]]}
        self._require_room(into, len(copied) + (given != {} and self._is_news(r, into, given)))
        answers = [*chosen.get("data", []), *({} for _ in copied)]
        made = [self._copy(r, into, *each) for each in zip(copied, answers, strict=False)]
        answer: Json = {"data": made}
        if given:
            told = (chosen.get("context") or {}).get("entry") or {}
            answer["context"] = self._sync(r, into, given, told, is_new=False)
            made = made + ([answer["context"]["entry"]] if answer["context"]["entry"] else [])
            group_turns(made)
        return 201 if made else 200, answer

    def copy_conversation(self, r: Request, chosen: Json) -> Outcome:
        """Copy into a new tree. The ids of its entries are learned when they are first listed."""
        source = self._opened(r)
        view = source.view()
        end = end_named(r, view, "upToEntryId", len(view))
        said = {name: source.said.get(name) for name in ("title", "agentId")} | r.given
        by = {name: said[name] for name in ("title", "agentId") if said[name] is not None}
        made = self._made(r, by)
        status, _ = self._begin(r, made, chosen)
        made.said = {"title": None, **made.said}  # A copied text gives no title.
        made.titled_by = "" if "title" in r.given else source.titled_by
        for entry in view[:end]:
            if is_history(entry):
                self._copy(r, made, entry, {})
        if made.said["title"] is None:
            del made.said["title"]  # The first text that is appended later gives one.
        made.said["updatedAt"] = chosen.get("updatedAt")
        return status, self._shown(r, made)

    def learn_ids(self, conversation_id: str, rows: list[Json]) -> None:
        """Learn the ids and times of the entries of a copy, from its whole list."""
        made = self.conversations[conversation_id]
        if not made.are_ids_known:
            before = None
            for entry, row in zip(made.own, rows, strict=False):
                entry |= {"id": row["id"], "createdAt": row["createdAt"], "parentId": before}
                before = row["id"]

    def _copy(self, r: Request, into: Conversation, of: Entry, answer: Json) -> Entry:
        draft = {name: of[name] for name in ("channel", *KEPT) if name in of and name not in OF_THE_ORIGINAL}
        made = self._take_in(r, into, draft, None, answer)
        made |= {"copiedFromConversationId": of["conversationId"], "copiedFromEntryId": of["id"]}
        made |= {"userId": of["userId"]} | ({"clientId": of["clientId"]} if "clientId" in of else {})
        if "clientId" not in of:
            made.pop("clientId", None)
        made |= {"erased": True} if "erased" in of else {}
        made.indexed = of.indexed
        return made


def has(one: Conversation, entry: Entry, other: Conversation) -> bool:
    """Tell whether a conversation has an entry of another one: itself, as a copy, or summed up."""
    shown = one.history()
    ids = {entry["id"], entry.get("copiedFromEntryId", "")}
    sums = [e for e in shown if e.get("mergedFromConversationId") == other.id]
    summed_up = [e.get("mergedUpToEntryId", "") for e in sums]
    had = {held for e in shown for held in (e["id"], e.get("copiedFromEntryId"))}
    return bool(ids & had) or entry["id"] <= max(summed_up, default="")


def end_named(r: Request, view: list[Entry], name: str, otherwise: int) -> int:
    """Return the place after the entry that a request names; it may be of the caller's context."""
    if name not in r.given:
        return otherwise
    require(r.given[name] in ids_to_name(r, view), *INVALID)
    return end_of_turn(view, r.given[name])

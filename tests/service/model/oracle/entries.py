"""Entries: appended, synced, listed."""

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.branches import alternatives, ids_to_name, require_lineage
from tests.service.model.oracle.lines import as_line
from tests.service.model.oracle.lists import group_turns, latest_epoch, place_of, require_based
from tests.service.model.oracle.logs import Logs
from tests.service.model.oracle.refusals import CONFLICT, FORBIDDEN, INVALID, NOT_FOUND
from tests.service.model.oracle.views import Conversation, Entry


class Entries(Logs):
    """The operations on entries."""

    def append_entry(self, r: Request, chosen: Json) -> Outcome:
        drafts = r.given.get("entries", [r.given])
        into = self._to_write(r, drafts[0])
        is_new = into.id not in self.conversations
        context = into.context_for(r.caller, into.view())
        require(
            context is not None or (all(map(is_history, drafts)) and "context" not in r.given), *FORBIDDEN
        )
        self._require_merged(r, into, drafts)
        if not is_new:
            require_lineage(r, into)
        last_of = into.source if is_new and into.source else into
        last_of.require_last(r)
        if "context" in r.given:
            require_based(context, r.given["context"])
        self._require_attachments(r, drafts)
        latest, _ = latest_epoch(context or [])
        epochs: list[int | None] = []
        for draft in drafts:
            epochs.append(None if is_history(draft) else draft.get("epoch", max(latest, 1)))
            latest = max(latest, epochs[-1] or 0)
            require(epochs[-1] in (None, latest), *CONFLICT, reason="epoch_over", latestEpoch=latest)
        self._require_revision(r, r.given.get("name") if is_new else None)
        finished = self._to_finish(r, into, chosen)
        if finished is None:
            synced = [r.given["context"]] if "context" in r.given else []
            self._require_room(into, len(drafts) + sum(self._is_news(r, into, each) for each in synced))
        self._require_free_keys(into, drafts)
        answers = [*(chosen.get("data", []) if "entries" in r.given else [chosen]), *({} for _ in drafts)]
        made = [self._take_in(r, into, *each) for each in zip(drafts, epochs, answers, strict=False)]
        self._end(finished, made)
        answer: Json = {"data": made} if "entries" in r.given else made[0]
        if "context" in r.given:
            told = (chosen.get("context") or {}).get("entry") or {}
            synced = self._sync(r, into, r.given["context"], told, is_new=is_new)
            answer = answer | {"context": synced}
            made = made + ([synced["entry"]] if synced["entry"] else [])
        group_turns(made)
        self._point_at(r, into, is_new=is_new)
        return 201, answer

    def sync_context(self, r: Request, chosen: Json) -> Outcome:
        into = self._to_write(r, r.given)
        context = into.context_for(r.caller, into.view())
        require(context is not None, *FORBIDDEN)
        require_based(context, r.given)
        is_new = into.id not in self.conversations
        self._require_room(into, int(self._is_news(r, into, r.given)))
        return 200, self._sync(r, into, r.given, chosen.get("entry") or {}, is_new=is_new)

    def get_entry(self, r: Request, _chosen: Json) -> Outcome:
        shown = [e for e in self._shown_to(r, self._opened(r)) if e["id"] == r.given["entryId"]]
        require(shown, *NOT_FOUND)
        return 200, shown[0]

    def look_up_entry(self, r: Request, _chosen: Json) -> Outcome:
        shown = [e for e in self._shown_to(r, self._opened(r)) if e.get("key") == r.given["key"]]
        require(shown, *NOT_FOUND)
        return 200, shown[-1]

    def list_entries(self, r: Request, _chosen: Json) -> Outcome:
        """Return a page's data, and whether more follows in the direction of reading."""
        given, opened = r.given, self._opened(r)
        channel, limit, epoch = given.get("channel"), given.get("limit", 50), given.get("epoch", "latest")
        whole = opened.tree.entries() if given.keys() & {"allForks", "forks"} else opened.view()
        require(channel != "context" or opened.context_for(r.caller, whole) is not None, *FORBIDDEN)
        if "upToEntryId" in given:
            turn = whole[place_of(given["upToEntryId"], whole)].turn
            whole = whole[: max(place_of(entry["id"], whole) for entry in turn) + 1]
        first = place_of(given["afterCursor"], whole) + 1 if "afterCursor" in given else 0
        end = place_of(given["beforeCursor"], whole) if "beforeCursor" in given else len(whole)
        kept = [] if channel == "history" else opened.context_for(r.caller, whole) or []
        if channel != "context":
            kept = [*kept, *filter(is_history, whole)]
        elif epoch != "all" and not r.caller.bypasses_membership:
            kept = latest_epoch(kept)[1] if epoch == "latest" else [e for e in kept if e["epoch"] == epoch]
        if given.get("own"):
            kept = [entry for entry in kept if entry["conversationId"] == opened.id]
        inside = [entry for entry in whole[first:end] if entry in kept]
        is_backward = "tail" in given or "beforeCursor" in given
        data = inside[-limit:] if is_backward else inside[:limit]
        page: Json = {"data": data, "goes_on": len(inside) > limit}
        if given.get("alternatives") and channel != "context":
            page["data"] = [with_alternatives(opened, entry) for entry in data]
            is_end = "tail" in given or len(inside) <= limit
            if is_end and not given.keys() & {"beforeCursor", "upToEntryId"}:
                page["alternativesAtEnd"] = alternatives(opened, opened.history())[:100]
        if given.get("view") == "line":
            page["data"] = [as_line(entry) for entry in page["data"]]
        return 200, page

    def _require_merged(self, r: Request, into: Conversation, drafts: list[Json]) -> None:
        """Refuse a summary of anything but what a conversation of this tree shows."""
        for draft in drafts:
            if "mergedFromConversationId" in draft:
                merged = self.conversations.get(draft["mergedFromConversationId"])
                require(merged and merged.tree is into.tree, *INVALID)
                shown = ids_to_name(r, merged.view()) if merged else []
                require(draft.get("mergedUpToEntryId") in [None, *shown], *INVALID)

    def _require_free_keys(self, into: Conversation, drafts: list[Json]) -> None:
        used = {entry["key"]: entry["id"] for entry in into.own if "key" in entry}
        for draft in drafts:
            key = draft.get("key")
            require(key not in used, *CONFLICT, reason="key_in_use", entryId=used.get(key))


def with_alternatives(of: Conversation, entry: Entry) -> Json:
    """Return an entry as a page with alternatives shows it."""
    if not is_history(entry):
        return entry
    history = of.history()
    others = alternatives(of, history[: history.index(entry)])
    return {**entry, "alternatives": others[:100]} if others else entry

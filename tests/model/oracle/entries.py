"""Entries: appended, synced, listed."""

from tests.model.asking import Json, Outcome, Request, comparable, is_history, require
from tests.model.oracle.lists import latest_epoch, place_of
from tests.model.oracle.making import Making
from tests.model.oracle.refusals import CONFLICT, FORBIDDEN


class Entries(Making):
    """The operations on entries."""

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

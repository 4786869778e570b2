"""Notes on entries."""

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.links import Links
from tests.service.model.oracle.refusals import CONFLICT, FORBIDDEN, NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.views import Entry


class Notes(Links):
    """The operations on notes. An entry has its own ones, whoever shows it."""

    def add_note(self, r: Request, chosen: Json) -> Outcome:
        noted = _noted(r, self._opened(r, minimum="writer").view())
        there = self.notes.setdefault(noted["id"], [])
        pins = [note for note in there if "pinned" in note]
        if r.given.get("pinned") and pins:
            return 201, pins[0]
        require(len(there) < 100, *CONFLICT, reason="too_many_notes")
        note = {"id": chosen.get("id", NOT_CHOSEN), "createdAt": chosen.get("createdAt", NOT_CHOSEN)}
        note |= {"conversationId": noted["conversationId"], "entryId": noted["id"], "userId": r.caller.user}
        note |= {"clientId": r.caller.client} if r.caller.client else {}
        note |= {name: r.given[name] for name in ("text", "score", "pinned") if name in r.given}
        there.append(note)
        return 201, note

    def list_notes(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        entries = opened.view()
        if "allForks" in r.given:
            entries = sorted(opened.tree.entries(), key=lambda entry: entry["conversationId"])
        if "entryId" in r.given:
            entries = [_noted(r, entries)]
        of_each = [self.notes.get(entry["id"], []) for entry in entries]
        return 200, [note for notes in of_each for note in notes]

    def delete_note(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        notes = self.notes.get(_noted(r, opened.view())["id"], [])
        found = [note for note in notes if note["id"] == r.given["noteId"]]
        require(found, *NOT_FOUND)
        is_own = found[0]["userId"] == r.caller.user and not r.caller.bypasses_membership
        others = ("writer", "manager", "owner") if "pinned" in found[0] else ("manager", "owner")
        require(is_own or opened.tree.level_of(r.caller) in others, *FORBIDDEN)
        notes.remove(found[0])
        return 204, None


def _noted(r: Request, shown: list[Entry]) -> Entry:
    found = [e for e in shown if e["id"] == r.given["entryId"] and is_history(e)]
    require(found, *NOT_FOUND)
    return found[0]

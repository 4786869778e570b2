"""Names: pointers of one user and one client to conversations."""

from dataclasses import dataclass, replace

from tests.model.asking import Json, Outcome, Request, require
from tests.model.oracle.entries import Entries
from tests.model.oracle.refusals import CONFLICT, NOT_CHOSEN, NOT_FOUND
from tests.model.oracle.trees import Conversation


@dataclass
class Name:
    """Where a name points. said: its other fields."""

    to: Conversation
    said: Json


class Names(Entries):
    """The operations on names, and appends and lists by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[tuple[str, str | None], dict[str, Name]] = {}

    def list_names(self, r: Request, _chosen: Json) -> Outcome:
        """Return the names in the order of their bytes in UTF-8, which is that of code points."""
        mine, prefix = self._names_of(r), r.given.get("prefix", "")
        return 200, [self._told(mine[name]) for name in sorted(mine) if name.startswith(prefix)]

    def look_up_name(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._told(self._named(r))

    def set_name(self, r: Request, chosen: Json) -> Outcome:
        to = self._opened(r)
        self._require_revision(r, r.given)
        is_new = r.given["name"] not in self._names_of(r)
        self._point(r, r.given, to, chosen)
        return 201 if is_new else 200, self._told(self._named(r))

    def delete_name(self, r: Request, _chosen: Json) -> Outcome:
        self._named(r)
        self._require_revision(r, r.given)
        del self._names_of(r)[r.given["name"]]
        return 204, None

    def append_by_name(self, r: Request, chosen: Json) -> Outcome:
        known = self._names_of(r).get(r.given["name"])
        rest = {name: held for name, held in r.given.items() if name not in ("name", "data")}
        made_id = [*chosen.get("data", []), chosen][0].get("conversationId", NOT_CHOSEN)
        by_id = {"conversationId": known.to.id if known else made_id, **rest}
        outcome = self.append_entry(replace(r, name="appendEntry", given=by_id), chosen)
        if known:
            known.said |= {"data": r.given["data"]} if "data" in r.given else {}
            known.said["updatedAt"] = None
        else:
            self._point(r, r.given, self.conversations[made_id], {})
        return outcome

    def list_entries_by_name(self, r: Request, _chosen: Json) -> Outcome:
        rest = {name: held for name, held in r.given.items() if name != "name"}
        given = {"conversationId": self._named(r).to.id, **rest}
        return self.list_entries(replace(r, name="listEntries", given=given), {})

    def _names_of(self, r: Request) -> dict[str, Name]:
        return self.names.setdefault((r.caller.user, r.caller.client), {})

    def _named(self, r: Request) -> Name:
        require(r.given["name"] in self._names_of(r), *NOT_FOUND)
        return self._names_of(r)[r.given["name"]]

    def _require_revision(self, r: Request, by: Json) -> None:
        """Refuse a revision that is not the name's. A name that does not exist has revision 0."""
        known = self._names_of(r).get(by["name"])
        revision = known.said["revision"] if known else 0
        told = {"revision": revision, "conversationId": known.to.id if known else None}
        require(by.get("expectRevision") in (None, revision), *CONFLICT, reason="name_moved", **told)

    def _point(self, r: Request, by: Json, to: Conversation, chosen: Json) -> None:
        mine, name = self._names_of(r), by["name"]
        known = mine.get(name, Name(to, {"name": name, "revision": 0, "createdAt": chosen.get("createdAt")}))
        known.to, known.said["revision"] = to, known.said["revision"] + 1
        known.said |= {
            "updatedAt": chosen.get("updatedAt"),
            "data": by.get("data", known.said.get("data", {})),
        }
        mine[name] = known

    def _told(self, name: Name) -> Json:
        is_gone = name.to.id not in self.conversations
        return {**name.said, "conversationId": name.to.id} | ({"deleted": True} if is_gone else {})

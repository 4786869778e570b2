"""Names: pointers of one user and one client to conversations."""

from dataclasses import replace

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.entries import Entries
from tests.service.model.oracle.pointers import Name, owner_of
from tests.service.model.oracle.refusals import NOT_CHOSEN, NOT_FOUND


class Names(Entries):
    """The operations on names, and appends and lists by name."""

    def list_names(self, r: Request, chosen: Json) -> Outcome:
        """Return the names in the order of their bytes in UTF-8, which is that of code points.

        An auditor gets those without a client, then client by client. The service chooses in which
        order the clients come.
        """
        user, prefix = owner_of(r)[0], r.given.get("prefix", "")
        rows = chosen if isinstance(chosen, list) else []
        order = [None, *(row.get("clientId") for row in rows), *(client for _, client in self.names)]
        owners = sorted((of for of in self.names if of[0] == user), key=lambda of: order.index(of[1]))
        if not r.caller.bypasses_membership:
            owners = [owner_of(r)]
        found = [(of, name) for of in owners for name in sorted(self.names.get(of, {}))]
        return 200, [self._told(r, self.names[of][n], of) for of, n in found if n.startswith(prefix)]

    def look_up_name(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._told(r, self._named(r), owner_of(r))

    def set_name(self, r: Request, chosen: Json) -> Outcome:
        to = self._opened(r)
        self._require_revision(r, r.given)
        self._point(r, r.given, to, chosen)
        return 200, self._told(r, self._named(r), owner_of(r))

    def delete_name(self, r: Request, _chosen: Json) -> Outcome:
        self._named(r)
        self._require_revision(r, r.given)
        left = self._names_of(r).pop(r.given["name"])
        self.deleted.setdefault(r.given["name"], set()).add(left.said["revision"])
        return 204, None

    def append_entry_by_name(self, r: Request, chosen: Json) -> Outcome:
        known = self._names_of(r).get(r.given["name"])
        known = None if known and self._is_hidden(r, known) else known
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

    def _named(self, r: Request) -> Name:
        require(r.given["name"] in self._names_of(r), *NOT_FOUND)
        return self._names_of(r)[r.given["name"]]

    def _is_hidden(self, r: Request, name: Name) -> bool:
        return name.to.id not in self.conversations or name.to.tree.level_of(r.caller) is None

    def _told(self, r: Request, name: Name, of: tuple[str, str | None]) -> Json:
        hidden = {"deleted": True} if self._is_hidden(r, name) else {}
        told = {**name.said, "conversationId": name.to.id} | hidden
        whose = {"userId": of[0]} | ({"clientId": of[1]} if of[1] else {})
        return told | (whose if r.caller.bypasses_membership else {})

"""What names are: pointers of one user and one client to conversations."""

from dataclasses import dataclass

from tests.service.model.asking import Json, Request, require
from tests.service.model.oracle.refusals import CONFLICT
from tests.service.model.oracle.views import Conversation
from tests.service.model.oracle.world import World


@dataclass
class Name:
    """Where a name points. said: its other fields; the service chooses the first revision."""

    to: Conversation
    said: Json


class Pointers(World):
    """The names of all users and clients."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[tuple[str, str | None], dict[str, Name]] = {}
        self.deleted: dict[str, set[int]] = {}
        """The last revisions of deleted names, whosever they were."""

    def _learn_name(self, r: Request, row: Json) -> None:
        """Learn the times and the first revision that the service has chosen."""
        of = (row["userId"], row.get("clientId")) if "userId" in row else (r.caller.user, r.caller.client)
        if known := self.names.get(of, {}).get(row["name"]):
            chosen = ("createdAt", "updatedAt", "revision")
            known.said |= {t: known.said.get(t) or row.get(t) for t in chosen}
            assert known.said["revision"] not in self.deleted.get(row["name"], ()), "a revision comes back"

    def _names_of(self, r: Request) -> dict[str, Name]:
        return self.names.setdefault(owner_of(r), {})

    def _require_revision(self, r: Request, by: Json | None) -> None:
        """Refuse a revision that is not the name's. A name that does not exist has revision 0."""
        if by is None:
            return
        known = self._names_of(r).get(by["name"])
        revision = known.said["revision"] if known else 0
        told: Json = {"conversationId": known.to.id} if known else {}
        told |= {"reason": "name_moved", "revision": revision}
        require(by.get("expectRevision") in (None, revision), *CONFLICT, **told)

    def _point(self, r: Request, by: Json, to: Conversation, chosen: Json) -> None:
        mine, name = self._names_of(r), by["name"]
        known = mine.get(name, Name(to, {"name": name, "createdAt": chosen.get("createdAt")}))
        if known.to.id != to.id:
            known.said["previousConversationId"] = known.to.id
        known.to = to
        known.said |= {
            "revision": known.said["revision"] + 1 if name in mine else chosen.get("revision"),
            "updatedAt": chosen.get("updatedAt"),
            "data": by.get("data", known.said.get("data", {})),
        }
        mine[name] = known

    def _move_name(self, r: Request, to: Conversation) -> None:
        """Point the name that a fork carries to the fork."""
        if "name" in r.given:
            self._point(r, r.given["name"], to, {})


def owner_of(r: Request) -> tuple[str, str | None]:
    """Return whose names a request is about: a user's and a client's."""
    if r.caller.bypasses_membership:
        return r.given["userId"], r.given.get("clientId")
    return r.caller.user, r.caller.client

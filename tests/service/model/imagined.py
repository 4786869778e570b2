"""A service that is nothing but the oracle.

Histories run on it in no time, and show what they ask.
"""

from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

from tests.service.model.asking import Json, Request, is_history
from tests.service.model.oracle import Oracle


@dataclass(frozen=True)
class Told:
    """An answer."""

    status: int
    body: Json


class Imagined:
    """Answers as the oracle does. asked: the operations and the names of fields sent with them."""

    def __init__(self, random: Random) -> None:
        self.asked: set[tuple[str, str]] = set()
        self._random = random
        self._oracle = Oracle()
        self._now = 0

    def answer(self, request: Request) -> Told:
        drafts = request.given.get("entries", [])
        names = {*request.given, *(name for draft in drafts for name in draft)}
        self.asked |= {(request.name, name) for name in names}
        whole, after = _whole(request)
        chosen = self._chosen(len(drafts))
        if request.name == "setName":
            chosen |= {"name": request.given.get("name"), "revision": self._revision()}
        if request.name == "createLink":
            chosen |= {"secret": self._id(), "endsAt": self._time()}
        if request.name == "copyTree":
            chosen |= {"branches": self._branches(request.given["conversationId"], chosen["id"])}
        status, body = self._oracle.answer(whole, chosen)
        if status >= 400:  # a service that refuses has chosen nothing
            status, body = self._oracle.answer(whole, {})
        for name in (name for names in self._oracle.names.values() for name in names.values()):
            name.said["revision"] = name.said["revision"] or self._revision()
        for of, conversation in self._oracle.conversations.items():
            for time in ("createdAt", "updatedAt"):
                conversation.said[time] = conversation.said.get(time) or self._time()
            rows = [{"id": self._id(), "createdAt": self._time()} for _ in conversation.own]
            self._oracle.learn_ids(of, rows)
        if status >= 400:
            details = {name: told for name, told in body.items() if name != "code"}
            return Told(status, {"code": body["code"], "details": details})
        if isinstance(body, list):
            return Told(status, _page_of_rows(request, body, after))
        if isinstance(body, dict) and "goes_on" in body:
            return Told(status, _page_of_entries(request, body))
        return Told(status, body)

    def _chosen(self, entries: int) -> Json:
        """Return what a service chooses: ids, and times that only grow."""
        to = self._id()
        made = [
            {"id": self._id(), "createdAt": self._time(), "conversationId": to} for _ in range(entries + 60)
        ]
        chosen = {**made[0], "updatedAt": made[0]["createdAt"], "entry": made[0], "data": made[1:]}
        return chosen | {"context": {"entry": made.pop()}}

    def _branches(self, source_id: str, copy_id: str) -> list[Json]:
        """Return what a copy of a tree lists, branch by branch, as `Comparison` reads it."""
        source = self._oracle.conversations.get(source_id)
        if source is None:
            return []
        tree, live = source.tree, source.tree.live()
        of = {c.id: self._id() for c in tree.all} | {source_id: copy_id}
        told = {
            e["id"]: {"id": self._id(), "createdAt": self._time(), "conversationId": of[e["conversationId"]]}
            for e in tree.entries()
        }
        clients = {e["clientId"] for e in tree.entries() if not is_history(e)}
        return [
            {
                "id": of[c.id],
                "createdAt": (at := self._time()),
                "updatedAt": at,
                "forkedAtConversationId": of.get(c.said.get("forkedAtConversationId", "")),
                "forkedAtEntryId": told.get(c.said.get("forkedAtEntryId", ""), {"id": self._id()})["id"],
                "views": {None: [told[e["id"]] for e in c.view() if is_history(e)]}
                | {
                    client: [told[e["id"]] for e in c.view() if not is_history(e) and e["clientId"] == client]
                    for client in clients
                },
            }
            for c in live
        ]

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _revision(self) -> int:
        return 1 + self._random.getrandbits(52)

    def _time(self) -> str:
        self._now += 1
        return f"{self._now:012}"


def _whole(request: Request) -> tuple[Request, str | None]:
    """Return a request without what chooses a page of its list, and the cursor that it had.

    A cursor of another list stays, as the oracle refuses it.
    """
    after = request.given.get("afterCursor")
    if after is None or "Entries" in request.name or not _fits(request, after):
        return request, None
    rest = {name: value for name, value in request.given.items() if name != "afterCursor"}
    return replace(request, given=rest), after


def _fits(request: Request, cursor: str) -> bool:
    """Tell whether a cursor is one of the list, or a plain id."""
    return " " not in cursor or cursor.startswith(_prefix(request))


def _prefix(request: Request) -> str:
    return f"{request.name} {request.place} "


def _page_of_rows(request: Request, rows: list[Json], after: str | None) -> Json:
    """Return a page of a list. after: a cursor of an earlier page, or the id of a row."""
    start = 0
    if after is not None and " " in after:
        start = int(after.rpartition(" ")[2])
    elif after is not None:
        start = 1 + [row.get("conversationId") or row["id"] for row in rows].index(after)
    end = start + request.given.get("limit", 20)
    following = _prefix(request) + str(end) if end < len(rows) else None
    return {"data": rows[start:end], "afterCursor": following}


def _page_of_entries(request: Request, page: Json) -> Json:
    """Return a page of entries, with a cursor where the list goes on and one for the way back."""
    ids = [entry["id"] for entry in page["data"]]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    if {"tail", "beforeCursor"} & request.given.keys():
        is_first = "tail" in request.given
        return page | {
            "beforeCursor": first if page["goes_on"] else None,
            "afterCursor": None if is_first else last,
        }
    back = first if "afterCursor" in request.given else None
    return page | {"afterCursor": last if page["goes_on"] else None, "beforeCursor": back}

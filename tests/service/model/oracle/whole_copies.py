"""A copy of a whole tree. Its ids are told by what the service lists of it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.copies import Copies
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import Conversation, Entry

TOO_LARGE = 413, "payload_too_large"
STAYS = ("usage", "copiedFromConversationId", "copiedFromEntryId")
"""What the copy of an entry does not have of its original."""


class WholeCopies(Copies):
    """The operation that copies a tree."""

    def copy_tree(self, r: Request, chosen: Json) -> Outcome:
        """Copy. chosen: the answer, with `branches`: what is listed of each branch of the copy."""
        source = self._opened(r)
        tree, live = source.tree, source.tree.live()
        shown = {e["conversationId"] for e in tree.entries()}
        points = {c.said["forkedAtConversationId"] for c in live if c.source}
        named = {c.id for c in live} | shown | points | {tree.all[0].id}
        require(len(named) <= 30 and len(tree.entries()) <= 1_000, *TOO_LARGE)
        self._require_free(r.given.get("id", ""))
        told = chosen.get("branches", [])
        if not told:  # it was refused
            return 201, {}
        rows = dict(zip([c.id for c in live], told, strict=True))
        entries = dict(_pairs(live, rows))
        made = Tree({r.caller.user: "owner"})
        twins = {c: Conversation("", made, c.client, inherits=c.inherits) for c in tree.all}
        for c, twin in twins.items():
            twin.source = twins[c.source] if c.source else None
            twin.is_removed, twin.titled_by = c.is_removed, c.titled_by
            twin.id = self._id_of(c, rows, entries, r.given.get("id"))
        kept = {
            c.id: twin.id for c, twin in twins.items() if not c.is_removed or c.id in shown or not c.source
        }
        for c, twin in twins.items():
            twin.own = [_copied(e, entries[e["id"]], kept) for e in c.own if e["id"] in entries]
            for entry, of in zip(twin.own, c.own, strict=False):
                entry.turn = [twin.own[c.own.index(one)] for one in of.turn]
                entry.indexed = of.indexed
                if before := of.get("parentId"):
                    entry["parentId"] = entries[before]["id"]
            if twin.is_removed:
                made.all.append(twin)
                self.gone |= {twin.id: made} if twin.id else {}
            else:
                self._fill(c, twin, rows[c.id], entries)
                self._register(twin)
        if tree.all[0].is_removed:  # the tree is as old as its root, which is older by a millisecond
            made.all[0].said["createdAt"] = _just_before(told[0]["createdAt"])
        made.current = twins[tree.current or tree.all[0]]
        for c, twin in twins.items():
            if c.previewed is not None and not c.is_removed:
                own = [e for e in twin.view() if e["id"] == entries[c.previewed["id"]]["id"]]
                twin.previewed = own[0]
        return 201, self._shown(r, twins[source])

    def _id_of(self, c: Conversation, rows: Json, entries: Json, asked: str | None) -> str:
        """Return the id of the copy of a conversation; nothing if nobody tells it."""
        if c.id in rows:
            return str(rows[c.id]["id"])
        if not c.source and asked:
            return asked
        by_entries = [entries[e["id"]]["conversationId"] for e in c.own if e["id"] in entries]
        points = [
            rows[one.id]["forkedAtConversationId"]
            for one in c.tree.live()
            if one.said.get("forkedAtConversationId") == c.id
        ]
        return str([*by_entries, *points, ""][0])

    def _fill(self, c: Conversation, twin: Conversation, row: Json, entries: Json) -> None:
        twin.said = {name: held for name, held in c.said.items() if not name.startswith("startedBy")}
        twin.said |= {name: row[name] for name in ("createdAt", "updatedAt")}
        if c.source:
            at = c.said.get("forkedAtEntryId")
            twin.said["forkedAtConversationId"] = row["forkedAtConversationId"]
            twin.said |= (
                {"forkedAtEntryId": entries.get(at, {"id": row["forkedAtEntryId"]})["id"]} if at else {}
            )
        twin.totals = {**twin.totals, "entries": c.totals["entries"]}


def _just_before(time: str) -> str:
    """Return the time a millisecond earlier. That of an imagined service is only a number."""
    if time.isdigit():
        return f"{int(time) - 1:012}"
    before = datetime.fromisoformat(time) - timedelta(milliseconds=1)
    return before.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pairs(live: list[Conversation], rows: Json) -> Iterator[tuple[str, Json]]:
    """Yield each entry that is copied with what is listed of its copy."""
    for c in live:
        for client, listed in rows[c.id]["views"].items():
            own = [e for e in c.view() if (is_history(e) if client is None else _is_of(e, client))]
            if listed is not None:
                yield from zip((e["id"] for e in own), listed, strict=True)


def _is_of(entry: Entry, client: str) -> bool:
    return not is_history(entry) and entry["clientId"] == client


def _copied(of: Entry, row: Json, kept: dict[str, str]) -> Entry:
    made = Entry({name: held for name, held in of.items() if name not in STAYS})
    made |= {name: row[name] for name in ("id", "createdAt", "conversationId")}
    made |= {"copiedFromConversationId": of["conversationId"], "copiedFromEntryId": of["id"]}
    if (merged := of.get("mergedFromConversationId")) in kept:
        up_to = row.get("mergedUpToEntryId")
        made |= {"mergedFromConversationId": kept[merged]} | ({"mergedUpToEntryId": up_to} if up_to else {})
    else:
        made.pop("mergedFromConversationId", None)
        made.pop("mergedUpToEntryId", None)
    return made

"""How branches are compared, and what of one comes into another."""

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.making import KEPT, Making
from tests.service.model.oracle.refusals import INVALID
from tests.service.model.oracle.trees import Conversation, Entry, oldest_first

OF_THE_ORIGINAL = {"usage", "key", "mergedFromConversationId", "mergedUpToEntryId"}
"""What a copy does not have of its original."""


class Branches(Making):
    """The operations on two or more branches of a tree."""

    def compare_conversations(self, r: Request, _chosen: Json) -> Outcome:
        one, limit = self._opened(r), r.given.get("limit", 50)
        other = self._beside(r, one, r.given["with"])
        base = common(one, other)
        sides = [(c.id, c.history()[len(base) :]) for c in (one, other)]
        branches: list[Json] = [{"conversationId": of, "data": rest[:limit]} for of, rest in sides]
        cursors = [rest[limit - 1]["id"] if len(rest) > limit else None for _, rest in sides]
        branches = [side | {"afterCursor": at} for side, at in zip(branches, cursors, strict=True)]
        return 200, {"base": {"entryId": base[-1]["id"] if base else None}, "branches": branches}

    def merge_conversation(self, r: Request, chosen: Json) -> Outcome:
        into = self._opened(r, minimum="writer")
        other = self._beside(r, into, r.given["fromConversationId"])
        view, base = other.view(), common(into, other)
        start = end_of_turn(view, base[-1]["id"]) if base else 0
        start = end_named(r, view, "afterEntryId", start)
        end = end_named(r, view, "upToEntryId", len(view))
        into.require_last(r)
        copied = [entry for entry in view[start:end] if is_history(entry)]
        require(len(copied) <= 50, 413, "payload_too_large")
        answers = [*chosen.get("data", []), *({} for _ in copied)]
        made = [self._copy(r, into, *each) for each in zip(copied, answers, strict=False)]
        return 201 if made else 200, {"data": made}

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

    def list_ancestors(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        rows = []
        for c in [*opened.path(), opened]:
            shown = [e for e in opened.inherited() if e["conversationId"] == c.id and is_history(e)]
            inherited = [entry["id"] for entry in shown[-1:]]
            row = {"conversationId": c.id, "title": None if c.is_removed else c.said.get("title")}
            row |= {"removed": c.is_removed or None, "inheritedUpToEntryId": next(iter(inherited), None)}
            rows.append({name: held for name, held in row.items() if held is not None})
        return 200, {"data": rows}

    def _beside(self, r: Request, one: Conversation, other_id: str) -> Conversation:
        """Return another conversation of the same tree."""
        other = self.conversations.get(other_id)
        if other is None or other.tree is not one.tree:
            require(False, *INVALID)
        return self._opened(r, other_id)


def common(one: Conversation, other: Conversation) -> list[Entry]:
    """Return the history entries that two conversations both show."""
    shown = [entry["id"] for entry in other.history()]
    return [entry for entry in one.history() if entry["id"] in shown]


def end_named(r: Request, view: list[Entry], name: str, otherwise: int) -> int:
    """Return the place after the entry that a request names; it may be of the caller's context."""
    if name not in r.given:
        return otherwise
    require(r.given[name] in ids_to_name(r, view), *INVALID)
    return end_of_turn(view, r.given[name])


def ids_to_name(r: Request, view: list[Entry]) -> list[str]:
    """Return the entries of a view that the caller may name: the history and their own context."""
    return [entry["id"] for entry in view if is_history(entry) or entry["clientId"] == r.caller.client]


def end_of_turn(view: list[Entry], entry_id: str) -> int:
    """Return the place after an entry of the view and what belongs to it."""
    turns = [entry.turn for entry in view if entry["id"] == entry_id]
    return 1 + max(place for place, entry in enumerate(view) if entry in turns[0])


def alternatives(view_of: Conversation, before: list[Entry]) -> list[str]:
    """Return the conversations that go on differently after the history `before`, oldest first.

    These are the forks that leave the view here, and the root and the conversations that the view
    passes through if they go on here with other history. A fork that inherits of any other
    conversation is a fork of that one. For a removed conversation stands the oldest one that shows
    how it goes on.
    """
    path, length = view_of.path(), len(before)
    passed = {*path, view_of, view_of.tree.all[0]}
    following = view_of.history()[length : length + 1]
    found: list[Conversation] = []
    for c in view_of.tree.all:
        history, inherited = c.history(), [entry for entry in c.inherited() if is_history(entry)]
        goes_on = history[length : length + 1]
        is_beside = history[:length] == before and len(inherited) <= length
        if c is view_of or not is_beside or (goes_on and goes_on == following):
            continue
        if is_fork := c.source is not None and c not in path:
            if not passed.issuperset(c.path()):
                continue
            goes_on = c.own[:1]
        if c.is_removed:
            found += [other for other in c.tree.live() if goes_on and goes_on[0] in other.view()][:1]
        elif goes_on or is_fork:
            found.append(c)
    return [c.id for c in oldest_first(found)]

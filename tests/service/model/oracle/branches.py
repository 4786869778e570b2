"""How branches are compared, and what they show of one another."""

import re

from tests.service.model.asking import Json, Outcome, Request, is_history, require
from tests.service.model.oracle.making import Making
from tests.service.model.oracle.refusals import CONFLICT, INVALID
from tests.service.model.oracle.trees import oldest_first
from tests.service.model.oracle.views import Conversation, Entry


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


def require_lineage(r: Request, into: Conversation) -> None:
    """Refuse an append that says of a conversation that it is another fork or child than it is."""
    ids = re.compile("(forkedAt|startedBy).*Id")
    asked, said = ({n: v for n, v in some.items() if ids.match(n)} for some in (r.given, into.said))
    if "forkedAtKey" in r.given:
        at = [e for e in into.tree.entries() if e["id"] == said.get("forkedAtEntryId")]
        is_at = at and at[0].get("key") == r.given["forkedAtKey"]
        asked["forkedAtEntryId"] = said["forkedAtEntryId"] if is_at else None
    was, position = into.said.get("forkedAtPosition"), r.given.get("forkedAtPosition")
    if position == "head":
        asked |= {n: v for n, v in said.items() if n == "forkedAtEntryId"}
        position = "blank" if was == "blank" else "after"
    is_that = asked == said and (was in (position, None) or (position is None and was != "after"))
    kind = "fork" if "forkedAtConversationId" in asked else "child"
    require(is_that or not asked, *CONFLICT, reason=f"not_the_{kind}")

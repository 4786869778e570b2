"""The search of entries, which is a plain scan."""

from tests.service.model.asking import Json, Outcome, Request, is_history, require, texts_of
from tests.service.model.oracle.lines import as_line, tools_in
from tests.service.model.oracle.trees import Conversation, Entry, Tree
from tests.service.model.oracle.world import World


class Search(World):
    """The operation that finds entries by their words."""

    def search_conversations(self, r: Request, chosen: Json) -> Outcome:
        kind = r.given.get("searchType", "auto")
        require(kind not in ("semantic", ["semantic"]), 501, "search_type_unavailable")
        words = r.given["query"].casefold().split()
        everyone = r.caller.bypasses_membership and "userId" not in r.given
        user = r.given.get("userId", r.caller.user)
        inside = self._opened(r) if "conversationId" in r.given else None
        mine = [tree for tree in self.trees[::-1] if everyone or user in tree.levels]
        found = [(tree, entry) for tree in mine for entry in tree.entries()[::-1] if is_history(entry)]
        if inside is not None:
            found = [(tree, entry) for tree, entry in found if entry in inside.view()]
        told = {row["entryId"]: row["conversationId"] for row in chosen} if isinstance(chosen, list) else {}
        rows = [
            self._hit(r, entry, inside or shown_by(tree, entry, told.get(entry["id"], "")))
            for tree, entry in found
            if holds(entry, words)
        ]
        return 200, rows

    def _hit(self, r: Request, entry: Entry, shown_by: Conversation) -> Json:
        row = {"conversationId": shown_by.id, "conversationTitle": shown_by.said.get("title")}
        row |= {"entryId": entry["id"], "createdAt": entry["createdAt"], "line": as_line(entry)["line"]}
        row |= {"agentId": entry["agentId"]} if "agentId" in entry else {}
        return row | ({"entry": entry} if r.given.get("includeEntry", True) else {})


def shown_by(tree: Tree, entry: Entry, told: str) -> Conversation:
    """Return the entry's own conversation, or if that was removed, the one that the service has
    told, if it shows the entry.
    """
    showing = {c.id: c for c in tree.live() if entry in c.view()}
    oldest = next(iter(showing.values()))
    return showing.get(entry["conversationId"]) or showing.get(told) or oldest


def holds(entry: Entry, words: list[str]) -> bool:
    """Tell whether each word occurs in a text of the entry or in what it is indexed by."""
    texts = [text for element in entry["content"] for text in texts_of(element)]
    events = [element.get("events") for element in entry["content"] if isinstance(element, dict)]
    said = [*texts, *strings_in(events), *strings_in(tools_in(entry["content"]))]
    said += [file["name"] for file in entry.get("attachments", [])]
    said += [entry.indexed, entry.get("agentId", ""), "failed" * ("failed" in as_line(entry)["line"])]
    return all(any(word in text.casefold() for text in said) for word in words)


def strings_in(value: Json) -> list[str]:
    """Return all strings of a value but those that are the `type` of an object."""
    if isinstance(value, dict):
        value = [held for name, held in value.items() if name != "type"]
    if isinstance(value, list):
        return [text for held in value for text in strings_in(held)]
    return [value] if isinstance(value, str) else []

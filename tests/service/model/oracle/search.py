"""The search of entries, which is a plain scan and a ranking by brute force."""

import math
import re
from decimal import Decimal

from tests.service.model.asking import Json, Outcome, Request, is_history, require, texts_of
from tests.service.model.oracle.lines import as_line, tools_in
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import Conversation, Entry
from tests.service.model.oracle.world import World


class Search(World):
    """The operation that finds entries by their words."""

    def search_conversations(self, r: Request, chosen: Json) -> Outcome:
        kind = r.given.get("searchType", "auto")
        require(kind not in ("semantic", ["semantic"]), 501, "search_type_unavailable")
        demanded, words = asked_for(r.given["query"])
        everyone = r.caller.bypasses_membership and "userId" not in r.given
        user = r.given.get("userId", r.caller.user)
        inside = self._opened(r) if "conversationId" in r.given else None
        mine = [tree for tree in self.trees[::-1] if everyone or user in tree.levels]
        all_ = [(tree, entry) for tree in mine for entry in tree.entries()[::-1] if is_history(entry)]
        if inside is not None:
            all_ = [(tree, entry) for tree, entry in all_ if entry in inside.view()]
        found = [one for one in all_ if holds(one[1], demanded)]
        counts = {entry["id"]: [times(word, entry) for word in words] for _, entry in found}
        fitting = [one for one in found if demanded or any(counts[one[1]["id"]])]
        told = {row["entryId"]: row for row in chosen} if isinstance(chosen, list) else {}
        if inside is not None or not (self.gone or self.trashed):
            scores = ranked([entry for _, entry in found], counts)
        else:  # what was removed or deleted counts until it is gone
            scores = {entry_id: row.get("score", Decimal(0)) for entry_id, row in told.items()}
        rows = [
            self._hit(r, entry, inside or shown_by(tree, entry, told.get(entry["id"], {})))
            | {"score": scores.get(entry["id"], Decimal(0))}
            for tree, entry in fitting
        ]
        if words and "minScore" in r.given:
            rows = [row for row in rows if row["score"] >= r.given["minScore"]]
        return 200, sorted(rows, key=lambda row: -row["score"])

    def _hit(self, r: Request, entry: Entry, shown_by: Conversation) -> Json:
        row = {"conversationId": shown_by.id, "conversationTitle": shown_by.said.get("title")}
        row |= {"entryId": entry["id"], "createdAt": entry["createdAt"], "line": as_line(entry)["line"]}
        row |= {"agentId": entry["agentId"]} if "agentId" in entry else {}
        row |= {"entry": entry} if r.given.get("includeEntry", True) else {}
        return row | ({"around": around(entry, shown_by, r.given["around"])} if "around" in r.given else {})


def around(entry: Entry, shown_by: Conversation, beside: int) -> list[Entry]:
    """Return the exchange of an entry, and so many on each side. None here is a long one."""
    split: list[list[Entry]] = [[]]
    for one in filter(is_history, shown_by.view()):
        split += [[]] if (as_line(one)["line"].get("role") or "").casefold() == "user" else []
        split[-1].append(one)
    split = [some for some in split if some]
    [at] = [place for place, some in enumerate(split) if entry in some]
    return [one for some in split[max(0, at - beside) : at + beside + 1] for one in some]


def asked_for(query: str) -> tuple[list[str], list[str]]:
    """Return what a query demands, then what it ranks by."""
    pieces = re.findall(r'\+?"[^"]*"|\S+', query.casefold())
    demanded = [piece.strip('+"') for piece in pieces if piece[0] in '+"' and piece.strip('+"')]
    free = [word for piece in pieces if piece[0] not in '+"' for word in re.findall(r"\w+|🫖", piece)]
    return demanded, [*dict.fromkeys(free)]


def times(word: str, entry: Entry) -> int:
    """Return how many words of the entry begin with a word. An emoji is counted anywhere."""
    said = [text.casefold() for text in said_in(entry)]
    if not word[0].isalnum():
        return sum(text.count(word) for text in said)
    return sum(one.startswith(word) for text in said for one in re.findall(r"\w+", text))


def ranked(entries: list[Entry], counts: dict[str, list[int]]) -> dict[str, Decimal]:
    """Return the score of each entry, by BM25. counts: how often it has each word."""
    lengths = {entry["id"]: sum(len(text.casefold()) for text in said_in(entry)) for entry in entries}
    holding = [one for one in lengths if any(counts[one])]
    mean = sum(lengths[one] for one in holding) / max(1, len(holding))
    scores = dict.fromkeys(lengths, 0.0)
    for one in holding:
        for at, n in enumerate(counts[one]):
            having = sum(counts[other][at] > 0 for other in holding)
            rare = math.log(1 + (len(entries) - having + 0.5) / (having + 0.5))
            scores[one] += rare * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * lengths[one] / mean)) if n else 0
    return {one: Decimal(str(round(score, 4))) for one, score in scores.items()}


def shown_by(tree: Tree, entry: Entry, told: Json) -> Conversation:
    """Return the entry's own conversation, or if that was removed, the one that the service has
    told, if it shows the entry.
    """
    showing = {c.id: c for c in tree.live() if entry in c.view()}
    oldest = next(iter(showing.values()))
    return showing.get(entry["conversationId"]) or showing.get(told.get("conversationId", "")) or oldest


def holds(entry: Entry, demanded: list[str]) -> bool:
    """Tell whether all that is demanded occurs in what an entry is found by."""
    return all(any(part in text.casefold() for text in said_in(entry)) for part in demanded)


def said_in(entry: Entry) -> list[str]:
    """Return all texts by which the entry is found."""
    texts = [text for element in entry["content"] for text in texts_of(element)]
    elements = [element for element in entry["content"] if isinstance(element, dict)]
    events = [element.get("events") for element in elements]
    others = [{name: held for name, held in element.items() if name != "events"} for element in elements]
    said = [*texts, *strings_in(events), *strings_in(tools_in(others))]
    said += [file["name"] for file in entry.get("attachments", [])]
    return [*said, entry.indexed, entry.get("agentId", ""), "failed" * ("failed" in as_line(entry)["line"])]


def strings_in(value: Json) -> list[str]:
    """Return all strings of a value but those that are the `type` of an object."""
    if isinstance(value, dict):
        value = [held for name, held in value.items() if name != "type"]
    if isinstance(value, list):
        return [text for held in value for text in strings_in(held)]
    return [value] if isinstance(value, str) else []

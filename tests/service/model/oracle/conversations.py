"""Conversations: made, read, changed, listed, forked."""

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.deleting import Deleting
from tests.service.model.oracle.refusals import CONFLICT, INVALID, NOT_CHOSEN
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import SAID, Conversation
from tests.service.model.oracle.world import used_at


class Conversations(Deleting):
    """The operations on conversations."""

    def create_conversation(self, r: Request, chosen: Json) -> Outcome:
        return self._begin(r, self._made(r, r.given), chosen)

    def get_conversation(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._shown(r, self._opened(r))

    def update_conversation(self, r: Request, chosen: Json) -> Outcome:
        changed = self._opened(r, minimum="writer")
        before = changed.said.get("updatedAt") or ""
        require(r.if_match in (None, before), *CONFLICT, reason="stale", updatedAt=before)
        changed.said |= {name: r.given[name] for name in SAID if name in r.given}
        changed.changes += 1
        changed.titled_by = "" if "title" in r.given else changed.titled_by
        changed.said["updatedAt"] = max(before, chosen.get("updatedAt", NOT_CHOSEN))
        return 200, self._shown(r, changed)

    def set_scores(self, r: Request, _chosen: Json) -> Outcome:
        opened, scores = self._opened(r, minimum="writer"), r.given["scores"]
        live = {c.id: c for c in opened.tree.live()}
        require(all(one["conversationId"] in live for one in scores), *INVALID)
        for one in scores:
            scored, score = live[one["conversationId"]], one.get("score")
            rest = {n: v for n, v in (scored.said.get("metadata") or {}).items() if n != "score"}
            scored.said["metadata"] = rest | ({} if score is None else {"score": score})
            scored.said["updatedAt"] = None
            scored.changes += 1
        return 204, None

    def list_conversations(self, r: Request, chosen: Json) -> Outcome:
        mode, ancestry = r.given.get("mode", "latest-fork"), r.given.get("ancestry", "roots")
        user = r.given.get("userId", r.caller.user)
        everyone = r.caller.bypasses_membership and "userId" not in r.given
        pins = [] if r.caller.bypasses_membership else self.pins.get(user, [])
        trees = [one for one in pins if one in self.trees] if r.given.get("pinned") else self.trees[::-1]
        mine = [tree for tree in trees if everyone or user in tree.levels]
        of = [t for t in mine if ancestry in ("all", "children" if t.started_by else "roots")]
        hidden = {"include": None, "only": False}.get(r.given.get("archived", "exclude"), True)
        of = [tree for tree in of if tree.is_archived_by(r.caller) is not hidden]
        listed = [c for tree in of for c in _of_tree(tree, mode) if _passes(r.given, c, _also(tree, mode))]
        # When a branch was promoted or removed depends on clocks: what the service says is taken.
        rows = chosen if isinstance(chosen, list) else []
        told = {row["id"]: (place, row.get("lastUsedAt")) for place, row in reversed([*enumerate(rows)])}
        is_by_use = r.given.get("order", "used") == "used" and not r.given.get("pinned")
        if not r.caller.bypasses_membership and is_by_use:
            first = {c.tree: told.get(c.id, (0,))[0] for c in listed[::-1]}
            listed.sort(key=lambda c: first[c.tree])
        shown = [self._shown(r, c) | {"branches": len(c.tree.live())} for c in listed]
        for one, c in zip(shown, listed, strict=True):
            if c.tree in pins:
                one["pinned"] = True
            if mode != "all":
                uses = [used_at(branch) or "" for branch in c.tree.live()]
                one["lastUsedAt"] = max(*uses, told.get(one["id"], (0, ""))[1])
        return 200, shown

    def fork_conversation(self, r: Request, chosen: Json) -> Outcome:
        count = r.given.get("count", 1)
        answers = [*chosen.get("data", []), *({} for _ in range(count))] if count > 1 else [chosen]
        at: Json = {} if "atKey" in r.given else {"position": "head"}
        at = {"forkedAtEntryId": r.given["atEntryId"]} if "atEntryId" in r.given else at
        made = [self._made(r, {"forkedAtConversationId": r.id, **r.given, **at}) for _ in range(count)]
        self._opened(r).require_last(r)
        for fork in made:
            fork.totals = fork.totals if r.given.get("resetMetrics", True) else self._opened(r).totals
        begun = [self._begin(r, *each) for each in zip(made, answers, strict=False)]
        return (201, {"data": [shown for _, shown in begun]}) if "count" in r.given else begun[0]

    def promote_conversation(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r, minimum="writer")
        opened.tree.promote(opened)
        return 204, None

    def list_forks(self, r: Request, _chosen: Json) -> Outcome:
        if r.given.get("missing") and r.id not in self.conversations:
            return 200, []
        tree = self._opened(r).tree.live()
        told = {*SAID, "agentId", "createdAt"}
        said = [{n: v for n, v in c.said.items() if n in told or n.startswith("forked")} for c in tree]
        rows = [{"conversationId": c.id, "isCurrent": c is c.tree.current, **SAID} for c in tree]
        rows = [row | {"lastEntryId": c.last_history()} for row, c in zip(rows, tree, strict=True)]
        return 200, [row | more for row, more in zip(rows, said, strict=True)]

    def list_children(self, r: Request, _chosen: Json) -> Outcome:
        opened, at = self._opened(r), r.given.get("startedByEntryId")
        started = [tree for tree in self.trees if tree.started_by is opened and tree.level_of(r.caller)]
        wanted = [tree for tree in started if at in (None, tree.all[0].said.get("startedByEntryId"))]
        return 200, [self._shown(r, c) for tree in wanted for c in _of_tree(tree, "roots")]


def _of_tree(tree: Tree, mode: str) -> list[Conversation]:
    """Return the conversations that a list shows of a tree."""
    newest = tree.live()[::-1]
    assert tree.current is not None
    roots = [tree.current if tree.all[0].is_removed else tree.all[0]]
    compared = newest if len(newest) <= 100 else [*roots, tree.current, *newest[:25]]
    latest = max(compared, key=lambda c: (c.said.get("updatedAt") or "", c.id))
    return {"roots": roots, "all": newest, "current": [tree.current], "latest-fork": [latest]}[mode]


def _also(tree: Tree, mode: str) -> Conversation | None:
    """Return the conversation whose title and tags count as well: the root, if it is there."""
    return None if mode == "all" or tree.all[0].is_removed else tree.all[0]


def _passes(given: Json, c: Conversation, root: Conversation | None) -> bool:
    name, has_value, value = given.get("tag", "").partition(":")
    titled = [one for one in (c, root) if one is not None]
    tagged = [one.said.get("tags") or {} for one in titled]
    return (
        any(given.get("query", "").casefold() in (one.said.get("title") or "").casefold() for one in titled)
        and given.get("agentId") in (None, c.said.get("agentId"))
        and (not name or any(one.get(name) == value if has_value else name in one for one in tagged))
        and (c.said.get("createdAt") or "") >= given.get("createdSince", "")
    )

"""Conversations: made, read, changed, listed, forked, deleted."""

import re

from tests.model.asking import Json, Outcome, Request
from tests.model.oracle.making import Making
from tests.model.oracle.refusals import NOT_CHOSEN
from tests.model.oracle.trees import Conversation, newest_first


class Conversations(Making):
    """The operations on conversations."""

    def create_conversation(self, r: Request, chosen: Json) -> Outcome:
        return self._begin(r, self._made(r, r.given), chosen)

    def get_conversation(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._shown(r, self._opened(r))

    def update_conversation(self, r: Request, chosen: Json) -> Outcome:
        changed = self._opened(r, minimum="writer")
        changed.said |= {name: r.given[name] for name in ("title", "tags", "metadata") if name in r.given}
        times = (changed.said.get("updatedAt") or "", chosen.get("updatedAt", NOT_CHOSEN))
        changed.said["updatedAt"] = max(times)
        return 200, self._shown(r, changed)

    def list_conversations(self, r: Request, _chosen: Json) -> Outcome:
        mode, ancestry = r.given.get("mode", "latest-fork"), r.given.get("ancestry", "roots")
        user, wanted = r.given.get("userId", r.caller.user), r.given.get("query", "").casefold()
        everyone = r.caller.bypasses_membership and "userId" not in r.given
        mine = newest_first(c for c in self.conversations.values() if everyone or user in c.tree.levels)
        listed: list[Conversation] = []
        for root in mine:
            if not root.source and ancestry in ("all", "children" if root.tree.started_by else "roots"):
                tree = [c for c in mine if c.tree is root.tree]
                latest = max([root, *tree[:25]], key=lambda c: (c.said.get("updatedAt") or "", c.id))
                listed += {"roots": [root], "all": tree, "latest-fork": [latest]}[mode]
        return 200, [self._shown(r, c) for c in listed if wanted in (c.said.get("title") or "").casefold()]

    def delete_conversation(self, r: Request, _chosen: Json) -> Outcome:
        self.delete_with_children(self._opened(r, minimum="owner").tree)
        return 204, None

    def fork_conversation(self, r: Request, chosen: Json) -> Outcome:
        at = {"forkedAtEntryId": r.given["atEntryId"]} if "atEntryId" in r.given else {"position": "head"}
        made = self._made(r, {"forkedAtConversationId": r.id, **r.given, **at})
        made.require_last(r)
        made.totals = made.totals if r.given.get("resetMetrics", True) else self._opened(r).totals
        return self._begin(r, made, chosen)

    def list_forks(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        tree = newest_first(c for c in self.conversations.values() if c.tree is opened.tree)[::-1]
        rows = [{n: v for n, v in c.said.items() if re.match("title|createdAt|forked", n)} for c in tree]
        return 200, [{"conversationId": c.id, "title": None} | row for c, row in zip(tree, rows, strict=True)]

    def list_children(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        roots = [c for c in self.conversations.values() if not c.source and c.tree.started_by is opened]
        return 200, [self._shown(r, c) for c in newest_first(roots)[::-1] if c.tree.level_of(r.caller)]

"""All conversations, who may open them, and how they are shown."""

from tests.model.asking import Json, Refusal, Request, require
from tests.model.oracle.refusals import FORBIDDEN
from tests.model.oracle.trees import Conversation, Tree

LEVELS = (None, "reader", "writer", "manager", "owner")


class World:
    """The conversations that exist. gone: the ids of deleted conversations, each with its tree."""

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self.gone: dict[str, Tree] = {}

    def delete_with_children(self, tree: Tree) -> None:
        """Delete a tree and its children. The children of these are deleted later, tree by tree."""
        for c in [*self.conversations.values()]:
            if tree in (c.tree, c.tree.started_by and c.tree.started_by.tree):
                self.gone[c.id] = self.conversations.pop(c.id).tree

    def _opened(self, r: Request, conversation_id: str = "", *, minimum: str = "reader") -> Conversation:
        found = self.conversations.get(conversation_id or r.id)
        if found is None:
            raise Refusal(404, {"code": "not_found"})
        require(LEVELS.index(found.tree.level_of(r.caller)) >= LEVELS.index(minimum), *FORBIDDEN)
        return found

    def _is_used(self, conversation_id: str) -> bool:
        return conversation_id in self.conversations or conversation_id in self.gone

    def _entries_of(self, tree: Tree) -> list[Json]:
        entries = [entry for c in self.conversations.values() if c.tree is tree for entry in c.own]
        return sorted(entries, key=lambda entry: (entry["createdAt"], entry["id"]))

    def _shown(self, r: Request, c: Conversation) -> Json:
        owner = {level: user for user, level in c.tree.levels.items()}["owner"]
        shown = {"id": c.id, "ownerUserId": owner, "accessLevel": c.tree.level_of(r.caller)}
        client = {"clientId": c.client} if r.caller.bypasses_membership and c.client else {}
        return {"title": None, "tags": {}, "metadata": {}, **c.said, **shown, "metrics": c.totals, **client}

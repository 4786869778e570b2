"""All conversations, who may open them, how they are shown, and how they end."""

from tests.service.model.asking import Json, Refusal, Request, is_history, require
from tests.service.model.oracle.refusals import CONFLICT, FORBIDDEN, NOT_CHOSEN
from tests.service.model.oracle.trees import Tree, oldest_first
from tests.service.model.oracle.views import SAID, Conversation, Entry

LEVELS = (None, "reader", "writer", "manager", "owner")


class World:
    """The conversations that exist. gone: the ids of deleted conversations, each with its tree.

    days: for how long what is deleted is in the trash. trashed: the conversations that are there.
    pins: by user, the trees that they have pinned, in their order; also those that are gone.
    notes: by the id of the entry, as they are shown.
    entries_max: entries that a conversation may count; 0: any number.
    """

    def __init__(self) -> None:
        self.days = self.entries_max = 0
        self.conversations: dict[str, Conversation] = {}
        self.trashed: dict[str, Conversation] = {}
        self.deleted_at: dict[Tree | Conversation, str] = {}
        """When trees and branches in the trash were deleted, as far as the service has told."""
        self.gone: dict[str, Tree] = {}
        self.pins: dict[str, list[Tree]] = {}
        self.notes: dict[str, list[Json]] = {}

    @property
    def trees(self) -> list[Tree]:
        """The live trees, the one with the oldest root first."""
        return list(dict.fromkeys(c.tree for c in oldest_first(c.tree.all[0] for c in self._all())))

    @property
    def kept(self) -> list[Tree]:
        """The live trees, then those in the trash."""
        return list(dict.fromkeys([*self.trees, *(c.tree for c in self.trashed.values())]))

    def _all(self) -> list[Conversation]:
        return list(self.conversations.values())

    def _register(self, made: Conversation) -> None:
        """Let a conversation exist, if it does not yet. The root is the current one at first."""
        if made.id not in self.conversations:
            self.conversations[made.id] = made
            made.tree.all.append(made)
            made.tree.current = made.tree.current or made

    def delete_with_children(self, tree: Tree) -> None:
        """Delete a tree and its children. The children of these are deleted later, tree by tree."""
        for c in self._all() + list(self.trashed.values()):
            if tree in (c.tree, c.tree.started_by and c.tree.started_by.tree):
                self._close(c)

    def delete_what_waits(self) -> None:
        """Delete what was started by what is deleted, and so on, as the worker does in the end."""
        known = -1
        while known < len(self.gone):
            known = len(self.gone)
            for tree in [*self.gone.values()]:
                if not tree.live():
                    self.delete_with_children(tree)

    def _remove(self, removed: Conversation) -> None:
        """Delete one branch with the trees that it started. All others stay as they are."""
        for c in self._all() + list(self.trashed.values()):
            if c is removed or c.tree.started_by is removed:
                self._close(c)

    def _close(self, c: Conversation) -> None:
        self.gone[c.id] = (self.conversations.pop(c.id, None) or self.trashed.pop(c.id)).tree
        if c.is_trashed:
            c.is_trashed = False
            return
        c.tree.deleted_with = None
        c.tree.remove(c)

    def _opened(self, r: Request, conversation_id: str = "", *, minimum: str = "reader") -> Conversation:
        found = self.conversations.get(conversation_id or r.id)
        if found is None:
            raise Refusal(404, {"code": "not_found"})
        require(LEVELS.index(found.tree.level_of(r.caller)) >= LEVELS.index(minimum), *FORBIDDEN)
        return found

    def _require_room(self, c: Conversation, added: int) -> None:
        """Refuse more entries than a conversation may count. A new one may begin with more."""
        most = self.entries_max
        is_full = 0 < most < c.totals["entries"] + added and c.id in self.conversations
        require(not is_full, *CONFLICT, reason="conversation_full", entriesMax=most)

    def _is_used(self, conversation_id: str) -> bool:
        return any(conversation_id in some for some in (self.conversations, self.trashed, self.gone))

    def _require_free(self, conversation_id: str) -> None:
        trashed = self.trashed.get(conversation_id)
        is_gone = conversation_id in self.gone or (trashed is not None and trashed.is_trashed)
        reason = "deleted_recently" if is_gone else "id_in_use"
        require(not self._is_used(conversation_id), *CONFLICT, reason=reason)

    def _shown_to(self, r: Request, c: Conversation) -> list[Entry]:
        """Return the entries of a view that the caller may see."""
        return [entry for entry in c.view() if c.may_see(r.caller, entry)]

    def _shown(self, r: Request, c: Conversation) -> Json:
        owner = {level: user for user, level in c.tree.levels.items()}["owner"]
        shown: Json = {"id": c.id, "ownerUserId": owner, "accessLevel": c.tree.level_of(r.caller)}
        shown |= {"isCurrent": c.tree.current in (c, None), "metrics": c.totals}
        shown |= {"archived": True} if c.tree.is_archived_by(r.caller) else {}
        shown |= {"lastUsedAt": used_at(c)}
        own = sum(map(is_history, c.own))
        shown |= {"historyEntries": own} if own else {}
        client = {"clientId": c.client} if r.caller.bypasses_membership and c.client else {}
        return {**SAID, **c.said, **shown, **client}


def used_at(c: Conversation) -> str | None:
    """Return when a conversation was created or last appended to."""
    times = [c.said.get("createdAt"), *(entry["createdAt"] for entry in c.own[-1:])]
    return c.said.get("updatedAt") if NOT_CHOSEN in times else max(filter(None, times), default=None)

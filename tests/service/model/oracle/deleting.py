"""How conversations are deleted, what is in the trash, and how it comes back."""

from datetime import datetime, timedelta

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.making import Making
from tests.service.model.oracle.refusals import CONFLICT, NOT_FOUND
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import Conversation


class Deleting(Making):
    """The operations that delete and restore."""

    def delete_conversation(self, r: Request, _chosen: Json) -> Outcome:
        is_branch, days = r.given.get("scope") == "branch", self.days
        if r.given.get("forGood"):
            days = 0
        if r.id in self.trashed and not days and not is_branch:
            self.delete_with_children(self._own_in_trash(r))
            return 204, None
        if r.id in self.trashed and not days and self.trashed[r.id].is_trashed:
            self._remove(self._branch_in_trash(r))
            return 204, None
        opened = self._opened(r, minimum="manager" if is_branch else "owner")
        if is_branch and self._has_started(opened):
            opened = self._opened(r, minimum="owner")
        if is_branch and opened.tree.live() != [opened]:
            if days:
                self._branch_into_trash(opened)
            else:
                self._remove(opened)
            return 204, None
        self._opened(r, minimum="owner")
        if days:
            self._into_trash(opened.tree)
        else:
            self.delete_with_children(opened.tree)
        return 204, None

    def restore_conversation(self, r: Request, chosen: Json) -> Outcome:
        trashed = self.trashed.get(r.id)
        if trashed is not None and trashed.is_trashed:
            branch = self._branch_in_trash(r)
            require(branch.tree.deleted_with is None, *CONFLICT, reason="parent_deleted")
            self.conversations[r.id] = self.trashed.pop(r.id)
            branch.tree.bring_back(branch)
            self.deleted_at.pop(branch, None)
            self._back_with(branch)
        elif trashed is not None:
            tree = self._own_in_trash(r)
            is_free = tree.started_by is None or tree.started_by.id in self.conversations
            require(is_free, *CONFLICT, reason="parent_deleted")
            self._back_with(tree)
        opened = self._opened(r, minimum="manager")
        opened.said |= {t: opened.said.get(t) or chosen.get(t) for t in ("createdAt", "updatedAt")}
        return 200, self._shown(r, opened)

    def _back_with(self, deleted: Tree | Conversation) -> None:
        """Restore the trees that were deleted with a tree or a branch."""
        trees = [one for one in self.kept if one.deleted_with is deleted]
        for c in [c for c in self.trashed.values() if c.tree in trees and not c.is_trashed]:
            self.conversations[c.id] = self.trashed.pop(c.id)
        for one in trees:
            one.deleted_with = None
            self.deleted_at.pop(one, None)

    def list_trash(self, r: Request, chosen: Json) -> Outcome:
        """Return what a user can restore. The service chooses when it was deleted."""
        require("afterCursor" not in r.given, 400, "invalid_cursor")
        user = r.given.get("userId", r.caller.user)
        told = {row["id"]: row for row in (chosen if isinstance(chosen, list) else [])}
        own = [one for one in self.kept if one.levels.get(user) == "owner"]
        places = []
        for tree in own:
            root, branches = tree.all[0], [c for c in tree.all if c.is_trashed]
            shown = [tree] if tree.deleted_with is tree else branches if tree.deleted_with is None else []
            for one in shown:
                row = self._in_trash(tree, one, told)
                place = (root.said.get("createdAt") or "", root.id, row["createdAt"] or "", row["id"])
                places.append((place, row))
        return 200, [row for _, row in sorted(places, key=lambda one: one[0], reverse=True)]

    def end_trash(self) -> None:
        """Delete what is in the trash, because its time there is over."""
        for tree in self.kept:
            if tree.deleted_with is tree:
                self.delete_with_children(tree)
        for c in list(self.trashed.values()):
            if c.is_trashed:
                self._remove(c)

    def _has_started(self, c: Conversation) -> bool:
        """Tell whether a conversation has started trees that are live or in the trash."""
        return any(tree.started_by is c for tree in self.kept)

    def _into_trash(self, tree: Tree) -> None:
        """Put a tree into the trash with all that it has started, and what that has, and so on."""
        self._family_into_trash([tree], tree)

    def _branch_into_trash(self, branch: Conversation) -> None:
        self._family_into_trash([one for one in self.trees if one.started_by is branch], branch)
        self.trashed[branch.id] = self.conversations.pop(branch.id)
        branch.tree.remove(branch)
        branch.is_trashed = True

    def _family_into_trash(self, family: list[Tree], deleted: Tree | Conversation) -> None:
        for one in family:
            family += [child for child in self.trees if child.started_by and child.started_by.tree is one]
        for c in [c for c in self._all() if c.tree in family]:
            c.tree.deleted_with = deleted
            self.trashed[c.id] = self.conversations.pop(c.id)

    def _own_in_trash(self, r: Request) -> Tree:
        """Return a tree that was deleted by itself, and is the caller's."""
        found = self.trashed[r.id]
        is_own = found.tree.deleted_with is found.tree and found.tree.level_of(r.caller) == "owner"
        require(is_own and not found.is_trashed, *NOT_FOUND)
        return found.tree

    def _branch_in_trash(self, r: Request) -> Conversation:
        """Return a branch that is in the trash, and that the caller could remove."""
        found = self.trashed[r.id]
        levels = ("owner",) if self._has_started(found) else ("manager", "owner")
        require(found.tree.level_of(r.caller) in levels, *NOT_FOUND)
        return found

    def _in_trash(self, tree: Tree, one: Tree | Conversation, told: dict[str, Json]) -> Json:
        """Return a row of the list: of a tree, or of a branch."""
        shown = one if isinstance(one, Conversation) else tree.current or tree.all[0]
        made = one if isinstance(one, Conversation) else tree.all[0]
        row = told.get(shown.id, {})
        if "deletedAt" in row:
            self.deleted_at.setdefault(one, row["deletedAt"])
        made.said["createdAt"] = made.said.get("createdAt") or row.get("createdAt")
        owner, at = {level: user for user, level in tree.levels.items()}["owner"], self.deleted_at.get(one)
        return {
            "id": shown.id,
            "scope": "branch" if isinstance(one, Conversation) else "tree",
            "title": shown.said.get("title"),
            "ownerUserId": owner,
            "createdAt": made.said["createdAt"],
            "deletedAt": at,
            "keptUntil": at and _later(at, self.days),
        }


def _later(time: str, days: int) -> str:
    then = datetime.fromisoformat(time) + timedelta(days=days)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")

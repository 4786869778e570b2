"""How conversations are deleted, what is in the trash, and how it comes back."""

from datetime import datetime, timedelta

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.making import Making
from tests.service.model.oracle.refusals import CONFLICT, NOT_FOUND
from tests.service.model.oracle.trees import Tree


class Deleting(Making):
    """The operations that delete and restore."""

    def delete_conversation(self, r: Request, _chosen: Json) -> Outcome:
        is_branch, days = r.given.get("scope") == "branch", self.days
        if r.given.get("forGood"):
            days = 0
        if r.id in self.trashed and not days and not is_branch:
            self.delete_with_children(self._own_in_trash(r))
            return 204, None
        opened = self._opened(r, minimum="manager" if is_branch else "owner")
        if is_branch and any(tree.started_by is opened for tree in self.kept):
            opened = self._opened(r, minimum="owner")
        if is_branch and opened.tree.live() != [opened]:
            self._remove(opened)
            return 204, None
        self._opened(r, minimum="owner")
        if days:
            self._into_trash(opened.tree)
        else:
            self.delete_with_children(opened.tree)
        return 204, None

    def restore_conversation(self, r: Request, chosen: Json) -> Outcome:
        if r.id in self.trashed:
            tree = self._own_in_trash(r)
            is_free = tree.started_by is None or tree.started_by.tree in self.trees
            require(is_free, *CONFLICT, reason="parent_deleted")
            for c in [c for c in self.trashed.values() if c.tree.deleted_with is tree]:
                self.conversations[c.id] = self.trashed.pop(c.id)
            for one in self.trees:
                one.deleted_with = None
                self.deleted_at.pop(one, None)
        opened = self._opened(r, minimum="owner")
        opened.said |= {t: opened.said.get(t) or chosen.get(t) for t in ("createdAt", "updatedAt")}
        return 200, self._shown(r, opened)

    def list_trash(self, r: Request, chosen: Json) -> Outcome:
        """Return the trees that a user can restore. The service chooses when they were deleted."""
        require("afterCursor" not in r.given, 400, "invalid_cursor")
        user = r.given.get("userId", r.caller.user)
        own = [one for one in self.kept if one.deleted_with is one and one.levels.get(user) == "owner"]
        told = {row["id"]: row for row in (chosen if isinstance(chosen, list) else [])}
        shown = [self._in_trash(one, told) for one in own]
        places = [(row["createdAt"] or "", one.all[0].id) for row, one in zip(shown, own, strict=True)]
        return 200, [shown[places.index(place)] for place in sorted(places, reverse=True)]

    def end_trash(self) -> None:
        """Delete what is in the trash, because its time there is over."""
        for tree in self.kept:
            if tree.deleted_with is tree:
                self.delete_with_children(tree)

    def _into_trash(self, tree: Tree) -> None:
        """Put a tree into the trash with all that it has started, and what that has, and so on."""
        family = [tree]
        for one in family:
            family += [child for child in self.trees if child.started_by and child.started_by.tree is one]
        for c in [c for c in self._all() if c.tree in family]:
            c.tree.deleted_with = tree
            self.trashed[c.id] = self.conversations.pop(c.id)

    def _own_in_trash(self, r: Request) -> Tree:
        """Return a tree that was deleted by itself, and is the caller's."""
        tree = self.trashed[r.id].tree
        require(tree.deleted_with is tree and tree.level_of(r.caller) == "owner", *NOT_FOUND)
        return tree

    def _in_trash(self, tree: Tree, told: dict[str, Json]) -> Json:
        current, root = tree.current or tree.all[0], tree.all[0]
        row = told.get(current.id, {})
        if "deletedAt" in row:
            self.deleted_at.setdefault(tree, row["deletedAt"])
        root.said["createdAt"] = root.said.get("createdAt") or row.get("createdAt")
        [owner] = [user for user, level in tree.levels.items() if level == "owner"]
        at = self.deleted_at.get(tree)
        return {
            "id": current.id,
            "title": current.said.get("title"),
            "ownerUserId": owner,
            "createdAt": root.said["createdAt"],
            "deletedAt": at,
            "keptUntil": at and _later(at, self.days),
        }


def _later(time: str, days: int) -> str:
    then = datetime.fromisoformat(time) + timedelta(days=days)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""The erasure of a user, which is done at once here: trees, members, names, entries, titles."""

from tests.service.model.asking import Json, Outcome, Request, require, text_of
from tests.service.model.oracle.logs import Logs
from tests.service.model.oracle.making import KEPT
from tests.service.model.oracle.refusals import NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.trees import Tree

STAYS = {"agentId", "contentType", "usage", "mergedFromConversationId", "mergedUpToEntryId"}
"""What an entry keeps of what its author has said of it."""
CHOSEN = ("id", "pseudonym", "createdAt")
TOLD = ("id", "state", "pseudonym", "createdAt", "finishedAt", "trees", "memberships", "entries", "passes")


class Erasing(Logs):
    """The operations on erasures. The service chooses how far it has come."""

    def __init__(self) -> None:
        super().__init__()
        self.erasures: set[str] = set()

    def erase_user(self, r: Request, chosen: Json) -> Outcome:
        user, pseudonym = r.given["userId"], chosen.get("pseudonym", NOT_CHOSEN)
        owned = [tree for tree in self.kept if tree.levels.get(user) == "owner"]
        while owned:
            tree = owned.pop()
            owned += [one for one in self.kept if one.started_by and one.started_by.tree is tree]
            self.delete_with_children(tree)
        for tree in self.kept:
            tree.leave(user)
            tree.since.pop(user, None)
            empty(tree, user, pseudonym)
        self.pins.pop(user, None)
        self.notes = {of: [n for n in some if n["userId"] != user] for of, some in self.notes.items()}
        self.names = {of: names for of, names in self.names.items() if of[0] != user}
        self.logs = [log for log in self.logs if log.said["userId"] != user]
        for file in self.files.values():
            file.owner = None if file.owner == user else file.owner
        self.erasures.add(chosen.get("id", NOT_CHOSEN))
        begun = {"state": "running", "trees": 0, "memberships": 0, "entries": 0, "passes": 1}
        return 202, begun | {name: chosen.get(name, NOT_CHOSEN) for name in CHOSEN}

    def get_erasure(self, r: Request, chosen: Json) -> Outcome:
        require(r.given["erasureId"] in self.erasures, *NOT_FOUND)
        return 200, {name: chosen[name] for name in TOLD if name in chosen} | {"id": r.given["erasureId"]}


def empty(tree: Tree, user: str, pseudonym: str) -> None:
    """Take out of a tree what a user has said, and what was made of it.

    A title that somebody chose goes, too, if a text would give it: earlier versions kept no author.
    """
    kept = [c for c in tree.all if c.is_trashed or not c.is_removed]
    entries = [entry for c in kept for entry in c.view() if entry["userId"] == user]
    titles = [text[:40] for text in map(text_of, entries) if text]
    for c in tree.all:
        if c.titled_by == user or (not c.titled_by and c.said.get("title") in titles):
            c.said["title"], c.titled_by = None, ""
        if c.previewed and c.previewed["userId"] == user:
            c.previewed = None
            del c.said["lastMessagePreview"]
    for entry in entries:
        for name in {*KEPT, "attachments"} - STAYS:
            entry.pop(name, None)
        entry |= {"userId": pseudonym, "content": [], "erased": True}
        entry.indexed = ""

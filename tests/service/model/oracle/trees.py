"""What the oracle holds of trees."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.service.model.asking import Caller
from tests.service.model.oracle.views import Conversation, Entry


@dataclass(eq=False)
class Tree:
    """A fork tree. levels, since: by member. transfer: the pending transfer, or empty.

    archived: who has archived it. copied: the members whom a child has from its parent.
    deleted_with: if it is in the trash, what was deleted: the tree itself, or the tree or branch
    that had started it. promotions: how often a branch was made the current one.
    """

    levels: dict[str, str]
    started_by: "Conversation | None" = None
    since: dict[str, str] = field(default_factory=dict)
    transfer: dict[str, str] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)
    copied: set[str] = field(default_factory=set)
    deleted_with: "Tree | Conversation | None" = None
    promotions: int = 0
    all: "list[Conversation]" = field(default_factory=list)
    """Its conversations, the root first, also the removed ones."""
    current: "Conversation | None" = None

    def level_of(self, caller: Caller) -> str | None:
        return "owner" if caller.bypasses_membership else self.levels.get(caller.user)

    def leave(self, user: str) -> None:
        """End a membership, and a pending transfer to that member."""
        self.levels.pop(user, None)
        self.archived.discard(user)
        self.copied.discard(user)
        self.transfer = {} if self.transfer.get("toUserId") == user else self.transfer

    def is_archived_by(self, caller: Caller) -> bool:
        return caller.user in self.archived and not caller.bypasses_membership

    def live(self) -> "list[Conversation]":
        """Return the conversations that are not removed, oldest first; also of one in the trash."""
        return oldest_first(c for c in self.all if not c.is_removed)

    def entries(self) -> "list[Entry]":
        """Return all that a live conversation shows, oldest first."""
        shown = {entry["id"]: entry for c in self.live() for entry in c.view()}
        return sorted(shown.values(), key=lambda entry: (entry["createdAt"], entry["id"]))

    def fading(self) -> set[str]:
        """Return the entries of removed conversations that nobody shows, by id and by key.

        They are removed in the background, and the answer about one changes when it is gone.
        """
        shown = {entry["id"] for entry in self.entries()}
        gone = [e for c in self.all if c.is_removed for e in c.own if e["id"] not in shown]
        return {entry[name] for entry in gone for name in ("id", "key") if name in entry}

    def remove(self, removed: "Conversation") -> None:
        """Remove a conversation. After the current one comes the root, or else the oldest."""
        removed.is_removed = True
        if removed is self.current:
            self.current = next(iter([c for c in self.all[:1] if not c.is_removed] + self.live()), None)
            removed.gave_way = self.current, self.promotions

    def bring_back(self, removed: "Conversation") -> None:
        """Undo a removal. The branch is the current one again if no other was made that since."""
        removed.is_removed = removed.is_trashed = False
        if removed.gave_way == (self.current, self.promotions):
            self.current = removed

    def promote(self, one: "Conversation") -> None:
        self.current = one
        self.promotions += 1


def oldest_first(some: Iterable[Conversation]) -> list[Conversation]:
    return sorted(some, key=lambda c: (c.said.get("createdAt") or "", c.id))

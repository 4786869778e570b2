"""What the oracle holds: trees, conversations and their views."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from tests.service.model.asking import Caller, Json, Request, is_history, preview_of, require
from tests.service.model.oracle.refusals import CONFLICT, NOT_CHOSEN

SAID: Json = {"title": None, "tags": {}, "metadata": {}}
"""What is said of a conversation, with what is shown if nothing is said."""
COUNTED = ("inputTokens", "outputTokens", "cachedInputTokens", "costUsd")


class Entry(dict[str, Json]):
    """An entry as it is shown. turn: all entries of its turn. indexed: text that also finds it."""

    turn: "list[Entry]"
    indexed: str = ""


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


@dataclass(eq=False)
class Conversation:
    """A root, or a fork that shows the first entries of its source.

    said: its other fields. titled_by: whose words the title is. previewed: what the preview shows.
    changes: how often somebody has changed what is said of it. is_trashed: whether it was removed
    and can be restored. gave_way: what became the current branch when it was removed as that, with
    the promotions until then.
    """

    id: str
    tree: Tree
    client: str | None
    source: "Conversation | None" = None
    inherits: int = 0
    own: list[Entry] = field(default_factory=list)
    said: Json = field(default_factory=dict)
    titled_by: str = ""
    changes: int = 0
    previewed: Entry | None = None
    totals: Json = field(default_factory=lambda: dict.fromkeys(("entries", *COUNTED), Decimal()))
    is_removed: bool = False
    is_trashed: bool = False
    gave_way: "tuple[Conversation | None, int] | None" = None

    @property
    def are_ids_known(self) -> bool:
        """Tell whether the service has told the ids of its entries. Those of a copy come later."""
        return all(entry["id"] != NOT_CHOSEN for entry in self.own)

    def show(self, entry: Entry) -> None:
        """Make the preview of an entry, if it has one."""
        if preview := preview_of(entry):
            self.previewed, self.said["lastMessagePreview"] = entry, preview

    def inherited(self) -> list[Entry]:
        return self.source.view()[: self.inherits] if self.source else []

    def view(self) -> list[Entry]:
        """Return all that the conversation shows: the inherited entries, then its own."""
        return self.inherited() + self.own

    def history(self) -> list[Entry]:
        return [entry for entry in self.view() if is_history(entry)]

    def last_history(self) -> str | None:
        return self.history()[-1]["id"] if self.history() else None

    def require_last(self, r: Request) -> None:
        """Refuse an If-Match that is neither the last history entry nor the last one of all."""
        last = self.last_history()
        require(
            r.if_match in [None, last, *(entry["id"] for entry in self.view()[-1:])],
            *CONFLICT,
            reason="stale",
            lastEntryId=last,
        )

    def context_for(self, caller: Caller, whole: list[Entry]) -> list[Entry] | None:
        """Return the caller's context in `whole`; None if the caller may have no context here."""
        sees_all = caller.bypasses_membership
        if not sees_all and (caller.client is None or self.client not in (None, caller.client)):
            return None
        return [e for e in whole if not is_history(e) and (sees_all or e["clientId"] == caller.client)]

    def may_see(self, caller: Caller, entry: Entry) -> bool:
        return is_history(entry) or entry in (self.context_for(caller, [entry]) or [])

    def path(self) -> "list[Conversation]":
        """Return the conversations whose entries it inherits, oldest first."""
        owners = dict.fromkeys(entry["conversationId"] for entry in self.inherited())
        return [c for owner in owners for c in self.tree.all if c.id == owner]


def oldest_first(some: Iterable[Conversation]) -> list[Conversation]:
    return sorted(some, key=lambda c: (c.said.get("createdAt") or "", c.id))

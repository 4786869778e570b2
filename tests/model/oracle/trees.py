"""What the oracle holds: trees, conversations and their views."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from tests.model.asking import Caller, Json, Request, is_history, require
from tests.model.oracle.refusals import CONFLICT, NOT_CHOSEN

COUNTED = ("inputTokens", "outputTokens", "cachedInputTokens", "costUsd")


@dataclass(eq=False)
class Tree:
    """A fork tree. levels, since: by member. transfer: the pending transfer, or empty."""

    levels: dict[str, str]
    started_by: "Conversation | None" = None
    since: dict[str, str] = field(default_factory=dict)
    transfer: dict[str, str] = field(default_factory=dict)

    def level_of(self, caller: Caller) -> str | None:
        return "owner" if caller.bypasses_membership else self.levels.get(caller.user)


@dataclass(eq=False)
class Conversation:
    """A root, or a fork that shows the first entries of its source. said: its other fields."""

    id: str
    tree: Tree
    client: str | None
    source: "Conversation | None" = None
    inherits: int = 0
    own: list[Json] = field(default_factory=list)
    said: Json = field(default_factory=dict)
    totals: Json = field(default_factory=lambda: dict.fromkeys(("entries", *COUNTED), Decimal()))

    def view(self) -> list[Json]:
        """Return all that the conversation shows: the inherited entries, then its own."""
        return (self.source.view()[: self.inherits] if self.source else []) + self.own

    def last_history(self) -> str | None:
        return next((entry["id"] for entry in self.view()[::-1] if is_history(entry)), None)

    def require_last(self, r: Request) -> None:
        last = self.last_history()
        require(r.if_match in (None, last), *CONFLICT, lastEntryId=last)

    def context_for(self, caller: Caller, whole: list[Json]) -> list[Json] | None:
        """Return the caller's context in `whole`; None if the caller may have no context here."""
        sees_all = caller.bypasses_membership
        if not sees_all and (caller.client is None or self.client not in (None, caller.client)):
            return None
        return [e for e in whole if not is_history(e) and (sees_all or e["clientId"] == caller.client)]

    def member(self, user: str) -> Json:
        member = {"conversationId": self.id, "userId": user, "accessLevel": self.tree.levels[user]}
        return member | {"createdAt": self.tree.since.get(user, NOT_CHOSEN)}


def newest_first(some: Iterable[Conversation]) -> list[Conversation]:
    return sorted(some, key=lambda c: (c.said.get("createdAt") or "", c.id), reverse=True)

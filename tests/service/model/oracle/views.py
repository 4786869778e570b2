"""What the oracle holds of a conversation: its entries and its view."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from tests.service.model.asking import Caller, Json, Request, is_history, preview_of, require
from tests.service.model.oracle.refusals import CONFLICT, NOT_CHOSEN

if TYPE_CHECKING:
    from tests.service.model.oracle.trees import Tree

SAID: Json = {"title": None, "tags": {}, "metadata": {}}
"""What is said of a conversation, with what is shown if nothing is said."""
COUNTED = ("inputTokens", "outputTokens", "cachedInputTokens", "costUsd")


class Entry(dict[str, Json]):
    """An entry as it is shown. turn: all entries of its turn. indexed: text that also finds it."""

    turn: "list[Entry]"
    indexed: str = ""


@dataclass(eq=False)
class Conversation:
    """A root, or a fork that shows the first entries of its source.

    said: its other fields. titled_by: whose words the title is. previewed: what the preview shows.
    changes: how often somebody has changed what is said of it. is_trashed: whether it was removed
    and can be restored. gave_way: what became the current branch when it was removed as that, with
    the promotions until then.
    """

    id: str
    tree: "Tree"
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

"""What docs/api.md promises, as plainly as possible: lists, dictionaries and recursive views.

There is one method for each operation. The model shares no code with forklore. It takes what the
service may choose (ids, times) from the service's answer, `chosen`. It returns whole lists, so it
refuses every `afterCursor` of a list. It also fixes these rules: equal times are ordered by id; a
whole tree's latest epoch is its highest; every member may replay; other trees are unknown.
"""

import re
from dataclasses import replace

from tests.service.model.asking import Json, Outcome, Refusal, Request, is_history, require
from tests.service.model.oracle.answers import Answers
from tests.service.model.oracle.erasing import Erasing
from tests.service.model.oracle.names import Names
from tests.service.model.oracle.refusals import FORBIDDEN, INVALID, NOT_CHOSEN
from tests.service.model.oracle.repeats import aside, made_by, meaning
from tests.service.model.oracle.search import Search
from tests.service.model.oracle.sharing import Sharing
from tests.service.model.oracle.views import Conversation
from tests.service.model.oracle.whole_copies import WholeCopies
from tests.service.model.oracle.world import LEVELS

__all__ = ["LEVELS", "NOT_CHOSEN", "Conversation", "Oracle"]

OF_OTHERS = {"shareConversation", "updateMembership", "removeMembership", "adminListConversations"}
OF_OTHERS |= {"adminListNames", "adminLookUpName", "adminDeleteName", "adminSearchConversations"}
OF_OTHERS |= {"adminEraseUser", "adminListAttachments", "adminListTrash"}
FOR_ADMINS = ("adminDelete", "adminRestore", "adminEraseUser", "adminGetErasure", "adminRemoveAttachment")

MAKE = {"forkConversation", "copyConversation", "copyTree"}
"""Their answers are about what they make, and not about the conversation in their path."""


class Oracle(Answers, Names, WholeCopies, Search, Sharing, Erasing):
    """The service, in memory."""

    def __init__(self, days: int = 0) -> None:
        super().__init__()
        self.days = days
        self._answers: dict[Json, tuple[Json, str, Outcome]] = {}

    def answer(self, r: Request, chosen: Json) -> Outcome:
        """Return status and body; of an error its code. chosen: the service's answer, if good."""
        shown = chosen if isinstance(chosen, list) else [chosen]
        is_replay = any(scope in self._answers for scope in self._scopes(r))
        for row in [] if is_replay else shown:  # Learn the times of now that are shown.
            known = self.conversations.get(row.get("id", row.get("conversationId")))
            if known and "title" in row and "createdAt" in row:
                known.said |= {t: known.said.get(t) or row.get(t) for t in ("createdAt", "updatedAt")}
            elif "revision" in row:
                self._learn_name(r, row)
            elif known and "accessLevel" in row:
                known.tree.since.setdefault(row["userId"], row["createdAt"])
        try:
            check_form(r)
            if r.name.startswith("admin"):
                may = {"admin"} if r.name.startswith(FOR_ADMINS) else {"admin", "auditor"}
                require(may & r.caller.roles, *FORBIDDEN)
                caller = replace(r.caller, bypasses_membership=True)
                r = replace(r, name=r.name.removeprefix("admin"), caller=caller)
            return self._once(r, chosen)
        except Refusal as refusal:
            return refusal.args[0], refusal.args[1]

    def _once(self, r: Request, chosen: Json) -> Outcome:
        """Return the outcome: of the effect, or the recorded one if the caller may still see it."""
        effect = getattr(self, re.sub("(?<!^)([A-Z])", r"_\1", r.name).lower())
        asks = (meaning({name: held for name, held in r.given.items() if name not in aside(r)}), r.if_match)
        for scope in self._scopes(r):
            if scope in self._answers:
                asked, about, before = self._answers[scope]
                if self._is_used(about):
                    self._opened(r, about)
                require(asked == asks, 422, "idempotency_mismatch")
                # Sent by the id before, and now by a name: it counts for the name from now on, too.
                self._answers.setdefault(self._scopes(r)[0], self._answers[scope])
                return before
        of = self._offered(r).transfer if r.name == "acceptTransfer" else r.given
        outcome: Outcome = effect(r, chosen)
        pages = (self.list_entries, self.list_entries_by_name, self.list_linked_entries)
        require("afterCursor" not in r.given or effect in pages, 400, "invalid_cursor")
        if r.key is not None:
            named = None if r.name in MAKE else of.get("conversationId")
            about = named or made_by(outcome)
            for scope in self._scopes(r):
                self._answers[scope] = (asks, about, outcome)
        return outcome

    def _scopes(self, r: Request) -> list[Json]:
        """Return what an Idempotency-Key belongs to.

        That of an append by a name belongs to the name, and to the conversation as by its id.
        """
        scopes = [(r.caller, r.name, r.place, r.key)]
        to = self._names_of(r).get(r.given["name"]) if r.name == "appendEntryByName" else None
        if to and not self._is_hidden(r, to):
            scopes.append((r.caller, "appendEntry", to.to.id, r.key))
        return scopes

    def check_health(self, _r: Request, _chosen: Json) -> Outcome:
        return 200, {"status": "ok"}


def check_form(r: Request) -> None:
    given, drafts = r.given, r.given.get("entries", [r.given])
    users = {r.caller.user} if r.name in OF_OTHERS else {d.get("userId", r.caller.user) for d in drafts}
    require(users == {r.caller.user} and given.get("accessLevel") != "owner", *INVALID)
    require(not any("epoch" in draft and is_history(draft) for draft in drafts), *INVALID)
    require(len({"afterCursor", "beforeCursor", "tail"} & given.keys()) < 2, *INVALID)
    require("position" not in given or given.keys() & {"atEntryId", "atKey"}, *INVALID)
    require(not {"forkedAtConversationId", "startedByConversationId"} <= given.keys(), *INVALID)
    require(not {"answerId", "startedByConversationId"} <= given.keys(), *INVALID)
    require(not {"afterKey", "afterEntryId"} <= given.keys() or r.name != "beginAnswer", *INVALID)
    require("count" not in given or not given.keys() & {"id", "promote"}, *INVALID)
    is_head = given.get("forkedAtPosition") == "head"
    anchors = given.keys() & {"forkedAtEntryId", "forkedAtKey"}
    is_placed = "forkedAtConversationId" in given and is_head != bool(anchors)
    require("forkedAtPosition" not in given or is_placed, *INVALID)
    require(not anchors or ("forkedAtConversationId" in given and len(anchors) == 1), *INVALID)
    require(not given.keys() & {"allForks", "forks"} or not given.keys() & {"own", "alternatives"}, *INVALID)
    keys = [draft["key"] for draft in drafts if "key" in draft]
    require(len(keys) == len(set(keys)) or "entries" not in given, *INVALID)
    require("context" not in given or all(map(is_history, drafts)), *INVALID)

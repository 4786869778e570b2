"""The operations on answers that are written piece by piece, and where others show one."""

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.conversations import Conversations
from tests.service.model.oracle.entries import Entries
from tests.service.model.oracle.logs import END, STOP, Log
from tests.service.model.oracle.refusals import CONFLICT, FORBIDDEN, INVALID, NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.views import Conversation

ELSEWHERE = {"upToEntryId", "beforeCursor", "allForks", "forks"}
"""With these a page does not show the answer at the end of the view."""


class Answers(Entries, Conversations):
    """The operations on answers."""

    def begin_answer(self, r: Request, chosen: Json) -> Outcome:
        opened, given = self._opened(r, minimum="writer"), r.given
        after = opened.last_history()
        if "afterKey" in given:
            keyed = [e["id"] for e in self._shown_to(r, opened) if e.get("key") == given["afterKey"]]
            require(keyed, *NOT_FOUND)
            after = keyed[-1]
        elif "afterEntryId" in given:
            after = given["afterEntryId"]
            require(after in [e["id"] for e in self._shown_to(r, opened)], *NOT_FOUND)
        opened.require_last(r)
        standing = self._standing(opened)
        if standing and not self._is_left(standing, r) and not chosen:  # not even silent
            standing.refuse_other()
        self._require_room(opened, 1)
        used = {log.id for log in self.logs if log.begun_in.tree is opened.tree}
        require(given.get("id") not in used, *CONFLICT, reason="id_in_use")
        if standing:
            standing.parts.append(END)
            standing.is_replaced = True
        said: Json = {"conversationId": opened.id, "userId": r.caller.user, "clientId": r.caller.client}
        said |= {"agentId": given.get("agentId"), "createdAt": chosen.get("createdAt", NOT_CHOSEN)}
        said = {name: held for name, held in said.items() if held is not None} | {"afterEntryId": after}
        answer_id = given.get("id") or chosen.get("id", NOT_CHOSEN)
        self.logs.append(Log(answer_id, opened, said, [None]))
        return 201, self._status(self.logs[-1])

    def append_to_answer(self, r: Request, _chosen: Json) -> Outcome:
        log, after, content = self._log(r, minimum="writer"), r.given["after"], r.given["content"]
        follows = after < len(log.parts) and log.parts[after] not in (STOP, END)
        if not follows:
            log.refuse(after)
        require(log.said["userId"] == r.caller.user, *FORBIDDEN)
        if after + 1 < len(log.parts):
            if repr(log.parts[after + 1]) != repr(content):
                log.refuse(after)
        else:
            log.parts.append(content)
        return 201, {"position": after + 1}

    def get_answer(self, r: Request, _chosen: Json) -> Outcome:
        log, after = self._log(r), r.given.get("after", 0)
        require(after < len(log.parts), *INVALID)
        pieces = [(at, part) for at, part in enumerate(log.parts) if part not in (None, STOP, END)]
        parts = [{"position": at, "content": part} for at, part in pieces if at > after]
        return 200, self._status(log) | {"parts": parts if self._is_told(log) else []}

    def stop_answer(self, r: Request, _chosen: Json) -> Outcome:
        log = self._log(r, minimum="writer")
        if log.is_over:
            log.refuse()
        if log.parts[-1] != STOP:
            log.parts.append(STOP)
        return 200, self._status(log)

    def delete_answer(self, r: Request, _chosen: Json) -> Outcome:
        log = self._log(r, minimum="writer")
        if log.became:
            log.refuse()
        if not log.is_over:
            log.parts.append(END)
        return 204, None

    def _is_left(self, log: Log, r: Request) -> bool:
        """Tell whether an answer is ended at once for the one that a request begins."""
        own = {"userId": r.caller.user, "clientId": r.caller.client}
        is_own = all(log.said.get(name) == held for name, held in own.items())
        return log.is_orphan or bool(r.given.get("takeOver", is_own))

    def _log(self, r: Request, *, minimum: str = "reader") -> Log:
        opened = self._opened(r, minimum=minimum)
        found = [log for log in self.logs if (log.id, log.begun_in) == (r.given["answerId"], opened)]
        require(found, *NOT_FOUND)
        return found[0]

    def _is_told(self, log: Log) -> bool:
        """Tell whether the words of an answer may be read, as those of its entry may."""
        if log.became is None:
            return not log.is_replaced
        return log.became["conversationId"] in self.conversations and "erased" not in log.became

    def _status(self, log: Log) -> Json:
        became: Json = log.became or {}
        told = {"entryConversationId": became.get("conversationId"), "entryId": became.get("id")}
        shown = {"id": log.id, **log.said, "state": log.state, "position": len(log.parts) - 1}
        return shown | {name: held for name, held in told.items() if held}

    # Where others show one

    def _answering(self, c: Conversation, *, with_state: bool) -> Json:
        log = self._standing(c)
        if log is None:
            return {}
        told = {"answerId": log.id, "since": log.said["createdAt"]}
        told |= {name: log.said[name] for name in ("afterEntryId", "userId")}
        return {"answering": told | ({"state": log.state} if with_state else {})}

    def _shown(self, r: Request, c: Conversation) -> Json:
        return super()._shown(r, c) | self._answering(c, with_state=False)

    def get_conversation(self, r: Request, chosen: Json) -> Outcome:
        status, shown = super().get_conversation(r, chosen)
        return status, shown | self._answering(self._opened(r), with_state=True)

    def list_forks(self, r: Request, chosen: Json) -> Outcome:
        status, rows = super().list_forks(r, chosen)
        forks = [self.conversations[row["conversationId"]] for row in rows]
        shown = [self._answering(c, with_state=False) for c in forks]
        return status, [row | more for row, more in zip(rows, shown, strict=True)]

    def list_entries(self, r: Request, chosen: Json) -> Outcome:
        status, page = super().list_entries(r, chosen)
        is_end = ("tail" in r.given or not page["goes_on"]) and not ELSEWHERE & r.given.keys()
        return status, page | (self._answering(self._opened(r), with_state=True) if is_end else {})

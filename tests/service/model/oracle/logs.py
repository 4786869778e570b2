"""Answers that are written piece by piece, and how an append ends one.

The service may say that one is silent, whenever it does: its processes have different clocks.
"""

from dataclasses import dataclass

from tests.service.model.asking import Json, Request, is_history, require
from tests.service.model.oracle.making import Making
from tests.service.model.oracle.refusals import CONFLICT, NOT_FOUND
from tests.service.model.oracle.views import Conversation, Entry

STOP, END = "stop", "end"


@dataclass(eq=False)
class Log:
    """An answer that was begun in a conversation. said: what is always shown of it.

    parts: None for the beginning, then contents, STOP, END. became: the entry, if it is finished.
    is_replaced: whether it was ended for another one.
    """

    id: str
    begun_in: Conversation
    said: Json
    parts: list[Json]
    became: Entry | None = None
    is_replaced: bool = False

    @property
    def is_over(self) -> bool:
        return bool(self.parts[-1] == END)

    @property
    def state(self) -> str:
        if self.is_over:
            return "finished" if self.became else "dropped"
        return "stopped" if self.parts[-1] == STOP else "open"

    @property
    def is_orphan(self) -> bool:
        """Tell whether its user may not write there any more."""
        return self.begun_in.tree.levels.get(self.said["userId"]) in (None, "reader")

    def refuse_other(self) -> None:
        """Refuse what would end it before its time."""
        told = {name: self.said[name] for name in ("userId", "clientId") if name in self.said}
        require(False, *CONFLICT, reason="answer_in_progress", **told)

    def refuse(self, position: int | None = None) -> None:
        """Refuse what does not follow the last part."""
        told: Json = {"reason": "stale"} if position is not None else {}
        if self.is_over:
            told = {"reason": "answer_over"}
            told |= {"entryId": self.became["id"]} if self.became else {}
            told |= {"conversationId": self.became["conversationId"]} if self.became else {}
        elif self.parts[-1] == STOP:
            told = {"reason": "answer_stopped"}
        require(not told, *CONFLICT, **told)


class Logs(Making):
    """All answers. Those of a deleted tree are never asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: list[Log] = []

    def _standing(self, c: Conversation) -> Log | None:
        """Return the answer that is not ended in a conversation."""
        return next((log for log in self.logs if log.begun_in is c and not log.is_over), None)

    def _to_finish(self, r: Request, into: Conversation, chosen: Json) -> Log | None:
        """Return the answer that an append finishes, or refuse it."""
        if "answerId" not in r.given:
            return None
        of_tree = [log for log in self.logs if log.begun_in.tree is into.tree]
        found = [log for log in of_tree if log.id == r.given["answerId"]]
        require(found, *NOT_FOUND)
        [log] = found
        if log.is_over:
            log.refuse()
        is_free = log.state == "stopped" or log.is_orphan or bool(chosen)  # it is silent
        if log.said["userId"] != r.caller.user and not is_free:
            log.refuse_other()
        require(not log.begun_in.is_removed, *NOT_FOUND)
        return log

    def _end(self, log: Log | None, made: list[Entry]) -> None:
        """End an answer with what was appended."""
        if log is not None:
            history = [entry for entry in made if is_history(entry)]
            log.parts.append(END)
            log.became = [*made, *history][-1]

"""Random requests about answers that are written piece by piece."""

from collections.abc import Sequence

from tests.service.model.asking import Caller, Json
from tests.service.model.branching import Post
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison
from tests.service.model.oracle.logs import Log


class Answering:
    """Requests that begin, write, read, stop, drop and finish answers."""

    def __init__(self, both: Comparison, choose: Choices, admins: Sequence[Caller], post: Post) -> None:
        self._both = both
        self._admins = admins
        self._choose = choose
        self._post = post

    def begin_answer(self) -> None:
        conversation_id, found = self._choose.target()
        given: Json = {"conversationId": conversation_id, **self._choose.some_of(agentId="ag-6")}
        if self._choose.chance(0.3):
            given["takeOver"] = self._choose.chance(0.4)
        if found and self._choose.chance(0.3):
            given["afterEntryId"] = self._choose.anchor(found) or self._choose.new_id()
        if found and self._choose.chance(0.15):
            given["afterKey"] = self._choose.key_of(found)
        if self._choose.chance(0.4):
            # Only the service knows whether a standing answer is silent, so which conflict comes.
            stands = any(one.begun_in is found and not one.is_over for one in self._both.oracle.logs)
            log = None if stands else self._log()
            given["id"] = log.id if log and self._choose.chance(0.2) else self._choose.new_id()
            if stands and any(one.id == given["id"] for one in self._both.oracle.logs):
                del given["id"]  # a seed that comes again makes the same new id
        if_match = self._choose.last_history(found) if self._choose.chance(0.15) else None
        self._post("beginAnswer", self._choose.caller(found, "writer"), given, if_match)

    def append_to_answer(self) -> None:
        given, caller, log = self._asked("writer")
        end = len(log.parts) - 1 if log else 0
        given["after"] = self._choose.one_of(end, end, end, max(end - 1, 0), 0, end + 1)
        given["content"] = self._choose.one_of(["a", 1.50], ["a"], [{"text": self._choose.text()}], [])
        self._post("appendToAnswer", caller, given, None)

    def get_answer(self) -> None:
        given, caller, log = self._asked("reader")
        name = "getAnswer"
        given |= self._choose.some_of(after=self._choose.one_of(0, 1, len(log.parts) if log else 0))
        if self._admins and self._choose.chance(0.2):
            caller, name = self._choose.one_of(*self._admins), "adminGetAnswer"
            given |= self._choose.justification()
        self._post(name, caller, given, None)

    def stop_answer(self) -> None:
        given, caller, _ = self._asked("writer")
        self._post("stopAnswer", caller, given, None)

    def delete_answer(self) -> None:
        given, caller, _ = self._asked("writer")
        self._post("deleteAnswer", caller, given, None)

    def finish_answer(self) -> None:
        """Append what an answer becomes: where it was begun, to a fork of that, or elsewhere."""
        given, caller, log = self._asked("writer")
        into = log.begun_in if log else None
        given |= self._choose.drafts(caller, into, is_batch=self._choose.chance(0.3))
        if into and self._choose.chance(0.3):
            given |= {"conversationId": self._choose.new_id(), "forkedAtConversationId": into.id}
            anchor = self._choose.anchor(into)
            given |= {"forkedAtEntryId": anchor} if anchor else {"forkedAtPosition": "head"}
        elif self._choose.chance(0.2):
            given["conversationId"] = self._choose.beside(into)[0]
        if_match = self._choose.last_history(into) if self._choose.chance(0.15) else None
        self._post("appendEntry", caller, given, if_match)

    def _log(self) -> Log | None:
        """Return an answer, mostly one that is not ended."""
        logs = [log for log in self._both.oracle.logs if not log.begun_in.is_removed]
        standing = [log for log in logs if not log.is_over]
        if standing and self._choose.chance(0.8):
            return self._choose.one_of(*standing)
        return self._choose.one_of(*logs) if logs else None

    def _asked(self, minimum: str) -> tuple[Json, Caller, Log | None]:
        """Return the path of an answer, perhaps a wrong one, a caller, and the answer."""
        log = self._log() if self._choose.chance(0.95) else None
        at_id, at = self._choose.target()
        if log and self._choose.chance(0.95):
            at_id, at = log.begun_in.id, log.begun_in
        given = {"conversationId": at_id, "answerId": log.id if log else self._choose.new_id()}
        caller = self._choose.caller(at, minimum)
        if log and minimum == "writer" and self._choose.chance(0.7):
            caller = Caller(log.said["userId"], caller.client)
        return given, caller, log

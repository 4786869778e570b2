"""Random requests about names."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.service.model.asking import Caller, Json, Request
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison
from tests.service.model.oracle import Conversation, Oracle

PREFIXES = ("", "tri", "t", "🫖", "no such")

Post = Callable[[str, Caller, Json, str | None], None]


class Naming:
    """Requests that make, move, show and delete names, and appends and lists by name."""

    def __init__(
        self,
        both: Comparison,
        choose: Choices,
        admins: Sequence[Caller],
        post: Post,
    ) -> None:
        self._both = both
        self._choose = choose
        self._admins = admins
        self._post = post

    @property
    def _oracle(self) -> Oracle:
        return self._both.oracle

    def set_name(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found)
        given = {"conversationId": conversation_id, **self._choose.name(caller)}
        self._post("setName", caller, given | self._data(), None)

    def delete_name(self) -> None:
        caller = self._owner()
        self._both.ask(Request("deleteName", caller, self._choose.name(caller)))

    def append_by_name(self) -> None:
        caller = self._owner()
        name = self._choose.name(caller)["name"]
        to = self._oracle.names.get((caller.user, caller.client), {}).get(name)
        body = self._choose.drafts(caller, to.to if to else None, is_batch=self._choose.chance(0.3))
        if_match = self._choose.last_history(to.to) if to and self._choose.chance(0.1) else None
        body |= self._choose.described(caller)
        if self._choose.chance(0.2):
            body |= self._lineage(to.to if to else None)
        standing = [log.id for log in self._oracle.logs if to and log.begun_in is to.to and not log.is_over]
        if standing and self._choose.chance(0.5):
            body["answerId"] = standing[0]
        self._post("appendEntryByName", caller, body | {"name": name} | self._data(), if_match)

    def look_up_name(self) -> None:
        caller = self._owner()
        self._both.ask(Request("lookUpName", caller, {"name": self._choose.name(caller)["name"]}))

    def list_names(self) -> None:
        given = self._choose.some_of(prefix=self._choose.one_of(*PREFIXES))
        self._both.ask_list(Request("listNames", self._choose.caller(), given))

    def list_named_entries(self) -> None:
        caller = self._owner()
        name = self._choose.name(caller)["name"]
        to = self._oracle.names.get((caller.user, caller.client), {}).get(name)
        query = self._choose.page_query(to.to) if to else {}
        if to and self._choose.chance(0.4):
            query = self._choose.one_of(
                {"tail": True}, {"own": True}, {"allForks": True}, {"channel": "context", "epoch": "latest"}
            )
        self._both.ask_page(Request("listEntriesByName", caller, {"name": name, **query}))

    def administer_names(self) -> None:
        """Show or delete a name of somebody's as an administrator, or as another user."""
        if not self._admins:
            return
        by = self._choose.caller() if self._choose.chance(0.2) else self._choose.one_of(*self._admins)
        of = self._owner()
        given = {"userId": of.user, **self._choose.justification()}
        if self._choose.chance(0.4):
            self._both.ask_list(Request("adminListNames", by, given))
            return
        given |= {"clientId": of.client} if of.client else {}
        name = self._choose.name(of)
        if self._choose.chance(0.7):
            self._both.ask(Request("adminLookUpName", by, given | {"name": name["name"]}))
        else:
            self._both.ask(Request("adminDeleteName", by, given | name))

    def read_back(self) -> None:
        for user, client in list(self._oracle.names):
            self._both.ask_list(Request("listNames", replace(Caller(user), client=client), {}))

    def _owner(self) -> Caller:
        """Return a caller, mostly one that has names."""
        owners = [Caller(*of) for of, names in self._oracle.names.items() if names]
        return self._choose.one_of(*owners) if owners and self._choose.chance(0.7) else self._choose.caller()

    def _lineage(self, of: Conversation | None) -> Json:
        """Return what the new conversation of a new name is, or what the one of a name is."""
        if of:
            return self._choose.lineage(of)
        from_id, found = self._choose.target()
        shown = [entry["id"] for entry in found.history()] if found else []
        at = self._choose.one_of(*shown) if shown else None
        if self._choose.chance(0.4):
            return {"startedByConversationId": from_id} | ({"startedByEntryId": at} if at else {})
        anchor = {"forkedAtEntryId": at}
        if found and self._choose.chance(0.4):
            anchor = {"forkedAtKey": self._choose.key_of(found)}
        placed = {**anchor, "forkedAtPosition": self._choose.one_of("before", "after")}
        promoted = {"promote": True} if self._choose.chance(0.3) else {}
        return {"forkedAtConversationId": from_id} | (placed if at else {}) | promoted

    def _data(self) -> Json:
        return self._choose.some_of(data=self._choose.metadata())

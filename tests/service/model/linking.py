"""Random requests about links for readers."""

from collections.abc import Sequence

from tests.service.model.asking import Caller, Json, Request
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison


class Linking:
    """Requests that make links, end them, and read by them."""

    def __init__(self, both: Comparison, choose: Choices, admins: Sequence[Caller]) -> None:
        self._both = both
        self._admins = admins
        self._choose = choose

    def create_link(self) -> None:
        conversation_id, found = self._choose.target()
        given: Json = {"conversationId": conversation_id}
        given |= self._choose.some_of(userIds=True, keepOnTransfer=True, days=self._choose.one_of(1, 365))
        if self._choose.chance(0.4):
            given["allForks"] = True
        anchor = self._choose.anchor(found) if found else None
        if anchor is not None and self._choose.chance(0.05 if "allForks" in given else 0.5):
            given["upToEntryId"] = anchor
        self._both.ask(Request("createLink", self._choose.caller(found, "manager"), given))

    def manage_links(self) -> None:
        """List the links of a tree, and perhaps end one of them."""
        conversation_id, found = self._choose.target()
        given = {"conversationId": conversation_id}
        caller = self._choose.caller(found, "manager")
        lists, ends = "listLinks", "deleteLink"
        if self._admins and self._choose.chance(0.4):
            caller, lists, ends = self._choose.one_of(*self._admins), "adminListLinks", "adminDeleteLink"
            given |= self._choose.justification()
        links = self._both.ask_list(Request(lists, caller, given))
        if self._choose.chance(0.3):
            link_id = self._choose.one_of(*[one["id"] for one in links], self._choose.new_id())
            self._both.ask(Request(ends, caller, {**given, "linkId": link_id}))

    def read_by_link(self) -> None:
        secret = self._choose.one_of(*self._both.oracle.links, "no such secret")
        link = self._both.oracle.links.get(secret)
        caller = self._choose.caller()
        given: Json = {"secret": secret}
        if link and self._choose.chance(0.4):
            given["conversationId"] = self._choose.beside(link.to)[0]
        if self._choose.chance(0.3):
            self._both.ask(Request("openLink", caller, dict(given)))
        if link and self._choose.chance(0.5):
            shown = self._both.oracle.conversations.get(given.get("conversationId", ""), link.to)
            entry_id = self._choose.anchor(shown) or self._choose.new_id()
            given[self._choose.one_of("afterCursor", "beforeCursor")] = entry_id
        elif self._choose.chance(0.3):
            given["tail"] = True
        self._both.ask_page(
            Request("listLinkedEntries", caller, given | {"limit": self._choose.one_of(1, 3, 200)})
        )

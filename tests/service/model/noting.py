"""Random requests about notes on entries."""

from collections.abc import Callable, Sequence

from tests.service.model.asking import Caller, Json, Request
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison


class Noting:
    """Requests that write notes, list them, and delete them."""

    def __init__(
        self,
        both: Comparison,
        choose: Choices,
        admins: Sequence[Caller],
        post: Callable[[str, Caller, Json], None],
    ) -> None:
        self._both = both
        self._admins = admins
        self._choose = choose
        self._post = post

    def add_note(self) -> None:
        conversation_id, found = self._choose.target()
        entry_id = (self._choose.anchor(found) if found else None) or self._choose.new_id()
        given: Json = {"conversationId": conversation_id, "entryId": entry_id}
        said = self._choose.some_of(text="good tea", score=self._choose.one_of(0, 1, -2.5, 0.25))
        said = {"pinned": True} if self._choose.chance(0.3) else said or {"text": "so so"}
        self._post("addNote", self._choose.caller(found, "writer"), given | said)

    def manage_notes(self) -> None:
        """List the notes of a conversation or of an entry, and perhaps delete one of them."""
        conversation_id, found = self._choose.target()
        given: Json = {"conversationId": conversation_id}
        caller = self._choose.caller(found, "reader")
        lists, deletes = "listNotes", "deleteNote"
        if self._admins and self._choose.chance(0.3):
            caller, lists, deletes = self._choose.one_of(*self._admins), "adminListNotes", "adminDeleteNote"
            given |= self._choose.justification()
        entry_id = (self._choose.anchor(found) if found else None) or self._choose.new_id()
        which: Json = {"entryId": entry_id} if self._choose.chance(0.3) else {}
        which |= {"allForks": True} if self._choose.chance(0.3) else {}
        notes = self._both.ask_list(Request(lists, caller, given | which))
        if self._choose.chance(0.3):
            there = [(one["entryId"], one["id"]) for one in notes]
            entry_id, note_id = self._choose.one_of(*there, (entry_id, self._choose.new_id()))
            self._both.ask(Request(deletes, caller, {**given, "entryId": entry_id, "noteId": note_id}))

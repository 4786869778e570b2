"""Random requests about the branches of a tree."""

from collections.abc import Callable, Sequence

from tests.service.model.asking import Caller, Json, Request, is_history
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison
from tests.service.model.oracle import Conversation
from tools.harness.service import WITHOUT_FIELDS

Post = Callable[[str, Caller, Json, str | None], None]


class Branching:
    """Requests that promote, archive, merge, copy, compare and describe branches."""

    def __init__(self, both: Comparison, choose: Choices, admins: Sequence[Caller], post: Post) -> None:
        self._admins = admins
        self._both = both
        self._choose = choose
        self._post = post

    def write_without_fields(self) -> None:
        """Promote a conversation, archive it, or whatever else takes nothing but its id."""
        conversation_id, found = self._choose.target()
        name = self._choose.one_of(*WITHOUT_FIELDS).name
        given = {"conversationId": conversation_id}
        self._post(name, self._choose.caller(found, "writer"), given, None)

    def pin_conversation(self) -> None:
        """Pin a conversation first, or after another one, and see the pins."""
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found)
        given = {"conversationId": conversation_id}
        given |= self._choose.some_of(afterConversationId=self._choose.target()[0])
        self._both.ask(Request("pinConversation", caller, given))

    def set_scores(self) -> None:
        """Score some branches of a tree; now and then one of another tree."""
        conversation_id, found = self._choose.target()
        named = dict.fromkeys(self._choose.beside(found)[0] for _ in range(3))
        scores = [
            {"conversationId": one, **self._choose.some_of(score=self._choose.one_of(0, 1, -2.5))}
            for one in named
        ]
        given = {"conversationId": conversation_id, "scores": scores}
        self._post("setScores", self._choose.caller(found, "writer"), given, None)

    def merge_conversation(self) -> None:
        into_id, into = self._choose.target()
        other_id, other = self._choose.beside(into)
        given = {"conversationId": into_id, "fromConversationId": other_id}
        given |= self._some_ends(other, "afterEntryId", "upToEntryId")
        caller = self._choose.caller(into, "writer")
        given |= self._choose.some_of(again=True, withContext=caller.client is not None)
        if_match = self._choose.last_history(into) if self._choose.chance(0.1) else None
        self._post("mergeConversation", caller, given, if_match)

    def copy_conversation(self) -> None:
        """Copy a conversation for its reader."""
        source_id, source = self._choose.target()
        caller = self._choose.caller(source)
        given = {"conversationId": source_id, **self._choose.some_of(title=self._choose.text())}
        given |= self._some_ends(source, "upToEntryId")
        if self._choose.chance(0.5):
            given["id"] = self._choose.id_in_use() if self._choose.chance(0.2) else self._choose.new_id()
        self._post("copyConversation", caller, given, None)

    def copy_tree(self) -> None:
        """Copy a whole tree for its reader, if somebody can list all of it."""
        source_id, source = self._choose.target()
        if source:
            live = source.tree.live()
            self._both.learn_times(live)
            seen = [e for c in live for e in c.view() if c.client in (None, e.get("clientId"))]
            if not all(is_history(e) or e in seen for e in source.tree.entries()):
                return
        given = {"conversationId": source_id}
        if self._choose.chance(0.5):
            given["id"] = self._choose.id_in_use() if self._choose.chance(0.2) else self._choose.new_id()
        self._post("copyTree", self._choose.caller(source), given, None)

    def compare(self) -> None:
        one_id, one = self._choose.target()
        given = {"conversationId": one_id, "with": self._choose.beside(one)[0]}
        given |= self._choose.some_of(limit=self._choose.one_of(1, 2, 50))
        self._ask("compareConversations", one, given)

    def get_entry(self) -> None:
        conversation_id, found = self._choose.target()
        shown = [entry["id"] for entry in found.view()] if found else []
        entry_id = self._choose.one_of(*shown) if shown and self._choose.chance(0.8) else None
        given = {"conversationId": conversation_id}
        given["entryId"] = entry_id or self._choose.entry_id() or self._choose.new_id()
        self._ask("getEntry", found, given)

    def look_up_entry(self) -> None:
        conversation_id, found = self._choose.target()
        key = self._choose.key_of(found) if found else self._choose.key()
        self._ask("lookUpEntry", found, {"conversationId": conversation_id, "key": key})

    def list_ancestors(self) -> None:
        conversation_id, found = self._choose.target()
        self._ask("listAncestors", found, {"conversationId": conversation_id})

    def _ask(self, name: str, at: Conversation | None, given: Json) -> None:
        """Ask as a member, or on the route of auditors."""
        if not self._admins or self._choose.chance(0.75):
            self._both.ask(Request(name, self._choose.caller(at), given))
            return
        caller = self._choose.caller() if self._choose.chance(0.2) else self._choose.one_of(*self._admins)
        name = f"admin{name[0].upper()}{name[1:]}"
        self._both.ask(Request(name, caller, given | self._choose.justification()))

    def _some_ends(self, of: Conversation | None, *names: str) -> Json:
        """Return the ends of what to copy, mostly ones that the conversation shows."""
        shown = [entry["id"] for entry in of.view()] if of else []
        ids = [self._choose.one_of(*shown) for _ in names if shown]
        if self._choose.chance(0.1):
            ids = [self._choose.entry_id() or self._choose.new_id() for _ in names]
        return self._choose.some_of(**dict(zip(names, ids, strict=False)))

"""Random reads: of a conversation, of lists, of pages in both directions, and of everything."""

from collections.abc import Sequence
from dataclasses import replace

from tests.service.api.samples import LISTS
from tests.service.model.asking import Caller, Json, Request
from tests.service.model.choices import CLIENTS, WORDS, Choices
from tests.service.model.comparing import Comparison
from tests.service.model.oracle import Conversation

QUERIES = ("e", "TEA", "zÜR", "🫖", "failed", "nothing such")
ROWS_OF_ONE = [
    one.name
    for one in LISTS
    if one.role is None and one.path_names == ["conversationId"] and "beforeCursor" not in one.query_names
]
"""The lists of what a conversation has, but its entries."""
LIMITS = (1, 2, 3, 7, 50)
READ_BACK_LIMITS = (3, 50, 50, 50)
NOT_FILTERS = {"limit", "userId", "justification"}
"""The parameters of a list that leave out no conversation."""
EVERYTHING_OF_OTHERS = {"mode": "all", "ancestry": "all"}
EVERYTHING = {**EVERYTHING_OF_OTHERS, "archived": "include"}
"""What lists all conversations of a user: for an auditor, and for the user."""
GONE_MAX = 5
"""How many deleted conversations are looked for at the end."""


class Reading:
    """The requests that change nothing. admins: callers with roles, perhaps none."""

    def __init__(self, both: Comparison, choose: Choices, admins: Sequence[Caller]) -> None:
        self._both = both
        self._choose = choose
        self._admins = admins

    # One request, or one list

    def get_conversation(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found)
        self._both.ask(Request("getConversation", caller, {"conversationId": conversation_id}))

    def list_entries(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found)
        if found is None:
            self._both.ask(Request("listEntries", caller, {"conversationId": conversation_id}))
            return
        query = self._choose.page_query(found)
        self._walk(caller, found, query, forward=self._choose.chance(0.5), limits=LIMITS)

    def list_rows(self) -> None:
        conversation_id, found = self._choose.target()
        name = self._choose.one_of(*ROWS_OF_ONE)
        given = {"conversationId": conversation_id, **self._rows_filter(name)}
        self._list(Request(name, self._choose.caller(found), given))

    def _rows_filter(self, name: str) -> Json:
        """Return what a list of rows takes, or nothing.

        For children the entry that started them, mostly a right one; for forks what a missing
        conversation is.
        """
        if name.endswith("Forks"):
            return self._choose.some_of(missing="empty")
        if not name.endswith("Children") or self._choose.chance(0.5):
            return {}
        started = [
            c.said["startedByEntryId"] for c in self._choose.conversations if "startedByEntryId" in c.said
        ]
        return {"startedByEntryId": self._choose.one_of(*started) if started else self._choose.new_id()}

    def list_conversations(self) -> None:
        query = self._choose.filters("listConversations")
        query |= {"query": self._choose.one_of(*QUERIES)} if self._choose.chance(0.3) else {}
        query |= self._choose.description_filters()
        self._list_after_all(Request("listConversations", self._choose.caller(), query))

    def list_transfers(self) -> None:
        query = self._choose.filters("listTransfers")
        self._list(Request("listTransfers", self._choose.caller(), query))

    def list_trash(self) -> None:
        """List what one can restore: one's own, or as an auditor another user's."""
        if not self._admins or self._choose.chance(0.5):
            self._list(Request("listTrash", self._choose.caller()))
            return
        given = {"userId": self._choose.user(), **self._choose.justification()}
        self._list(Request("adminListTrash", self._choose.one_of(*self._admins), given))

    def check_health(self) -> None:
        self._both.ask(Request("checkHealth", self._choose.caller()))

    def administer(self) -> None:
        """Read on an admin route, as an auditor or as another user."""
        if not self._admins:
            return
        caller = self._choose.caller() if self._choose.chance(0.2) else self._choose.one_of(*self._admins)
        conversation_id, found = self._choose.target()
        why = self._choose.justification()
        given = {"conversationId": conversation_id, **why}
        which = self._choose.random.randrange(4)
        if which == 0:
            self._both.ask(Request("adminGetConversation", caller, given))
        elif which == 1 and found:
            query, forward = self._choose.page_query(found) | why, self._choose.chance(0.5)
            self._walk(caller, found, query, forward=forward, limits=LIMITS, admin=True)
        elif which == 2:
            name = self._choose.one_of(*ROWS_OF_ONE).removeprefix("list")
            self._list(Request(f"adminList{name}", caller, given | self._rows_filter(name)))
        else:
            query = self._choose.filters("adminListConversations") | why
            query |= self._choose.description_filters()
            if self._choose.chance(0.6) or not self._both.is_alone:
                query["userId"] = self._choose.user()
            self._list_after_all(Request("adminListConversations", caller, query))

    def search(self) -> None:
        """Search all conversations of a user, or one.

        First the oracle learns in which order they are.
        """
        words = self._choose.random.sample([*QUERIES, *WORDS], self._choose.one_of(1, 1, 2))
        marked = [self._marked(word) for word in words]
        query: dict[str, Json] = {"query": " ".join(marked).strip() or "tea"}
        query |= self._choose.some_of(includeEntry=self._choose.chance(0.5))
        query |= self._choose.some_of(searchType=self._choose.one_of("auto", "fulltext", ["fulltext"]))
        if self._choose.chance(0.05):
            query["searchType"] = self._choose.one_of("semantic", ["semantic"])
        query |= {"conversationId": self._choose.target()[0]} if self._choose.chance(0.4) else {}
        if self._choose.chance(0.4):
            query |= self._choose.some_of(
                around=self._choose.one_of(0, 1, 2, 3), minScore=self._choose.one_of(0, 0.3, 1.5)
            )
        self._both.learn_times(self._choose.conversations)
        if self._admins and self._choose.chance(0.3):
            query |= {"userId": self._choose.user()} if self._choose.chance(0.5) else {}
            if "userId" in query or self._both.is_alone:
                caller = self._choose.one_of(*self._admins)
                self._list(Request("adminSearchConversations", caller, query | self._choose.justification()))
                return
        query.pop("userId", None)
        self._list(Request("searchConversations", self._choose.caller(), query))

    def _marked(self, word: str) -> str:
        """Return a word of a query, sometimes so that it must occur."""
        how = self._choose.one_of("{}", "{}", "{}", "+{}", '"{}"')
        return how.format(word) if word.split() == [word] else word

    # Everything

    def read_back(self) -> None:
        """Read all conversations, lists and files, in one or another way."""
        starters = {conversation.tree.started_by for conversation in self._choose.conversations}
        for conversation in self._choose.conversations:
            given = {"conversationId": conversation.id}
            members = [Caller(user, self._choose.one_of(*CLIENTS)) for user in conversation.tree.levels]
            self._both.ask(Request("getConversation", self._choose.one_of(*members), given))
            self._read_views(conversation, members)
            if conversation in starters or self._choose.chance(0.1):
                self._list(Request("listChildren", self._choose.one_of(*members), given))
            if conversation.tree.live()[0] is conversation:
                self._list(Request("listForks", self._choose.one_of(*members), given))
                self._list(Request("listMemberships", self._choose.one_of(*members), given))
        for conversation_id in [*self._both.oracle.trashed, *self._both.oracle.gone][:GONE_MAX]:
            self._both.ask(
                Request("getConversation", self._choose.caller(), {"conversationId": conversation_id})
            )
        for user in self._choose.users:
            caller = Caller(user, self._choose.one_of(*CLIENTS))
            self._list(Request("listConversations", caller, EVERYTHING))
            self._list(Request("listTransfers", caller))
            self._list(Request("listTrash", caller))
        self.list_conversations()
        for attachment_id, file in self._both.oracle.files.items():
            caller = self._choose.caller()
            if self._both.oracle.is_sure(caller, file):
                self._both.ask(Request("getAttachmentContent", caller, {"attachmentId": attachment_id}))

    def _read_views(self, conversation: Conversation, members: Sequence[Caller]) -> None:
        def walk(caller: Caller, query: Json, *, forward: bool) -> None:
            self._walk(caller, conversation, query, forward=forward, limits=READ_BACK_LIMITS)

        whole = conversation.view()
        walk(self._choose.one_of(*members), {}, forward=self._choose.chance(0.5))
        if whole and self._choose.chance(0.4):
            walk(self._choose.one_of(*members), self._choose.page_query(conversation), forward=True)
        for client in sorted({entry["clientId"] for entry in whole if entry["channel"] == "context"}):
            epoch = self._choose.one_of(None, "latest", "all", 1, 2)
            query = {"channel": "context"} | ({"epoch": epoch} if epoch else {})
            caller = Caller(self._choose.one_of(*members).user, client)
            walk(caller, query, forward=self._choose.chance(0.5))
        tree = conversation.tree
        if tree.live()[0] is conversation and self._choose.chance(0.5):
            walk(self._choose.one_of(*members), {"allForks": True}, forward=self._choose.chance(0.5))

    # Lists and walks

    def _list(self, request: Request) -> None:
        cursor = self._both.misfit(request) if self._choose.chance(0.05) else None
        if cursor:
            self._both.ask(replace(request, given=request.given | {"afterCursor": cursor}))
        else:
            self._both.ask_list(request)

    def _list_after_all(self, request: Request) -> None:
        """Read the list. Read everything first if the oracle does not know all times yet."""
        if any(not (c.said.get("createdAt") and c.said.get("updatedAt")) for c in self._choose.conversations):
            kept = {name: held for name, held in request.given.items() if name in NOT_FILTERS}
            everything = kept | (EVERYTHING if request.name == "listConversations" else EVERYTHING_OF_OTHERS)
            self._both.ask_list(Request(request.name, request.caller, everything))
        self._list(request)

    def _walk(
        self,
        caller: Caller,
        conversation: Conversation,
        query: Json,
        *,
        forward: bool,
        limits: Sequence[int],
        admin: bool = False,
    ) -> None:
        """Read page after page in one direction. Sometimes also read the page behind."""
        onward, back = ("afterCursor", "beforeCursor") if forward else ("beforeCursor", "afterCursor")
        following = {} if forward or onward in query or back in query else {"tail": True}

        def page(query: Json) -> Json:
            given = {"conversationId": conversation.id, **query}
            return self._both.ask_page(Request("adminListEntries" if admin else "listEntries", caller, given))

        while True:
            limit = self._choose.one_of(*limits)
            shown = page(query | following | {"limit": limit})
            if shown is None:
                return
            if shown[back] is not None and self._choose.chance(0.1):
                rest = {name: value for name, value in query.items() if name not in (onward, back)}
                page(rest | {back: shown[back], "limit": limit})
            if shown[onward] is None or back in query:
                return
            following = {onward: shown[onward]}

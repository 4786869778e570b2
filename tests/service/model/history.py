"""Random histories. Every request goes to the service and to the oracle; answers are compared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from forklore_service.api.entry_requests import SyncContext
from tests.service.model.answering import Answering
from tests.service.model.asking import Caller, Json, Request, Service
from tests.service.model.attaching import Attaching
from tests.service.model.branching import Branching
from tests.service.model.choices import CLIENTS, OF_DRAFTS, Choices
from tests.service.model.comparing import Comparison
from tests.service.model.linking import Linking
from tests.service.model.naming import Naming
from tests.service.model.noting import Noting
from tests.service.model.oracle import LEVELS, Conversation
from tests.service.model.reading import Reading
from tools.harness.service import OPERATIONS

KEYS = 2
"""How many Idempotency-Keys a history has: few, so that different requests share a key."""

ENTRIES_MAX = 6
"""How many entries a conversation may have where there is a limit: few, so that some are full."""

MOVES = {
    "create_conversation": 3,
    "append_entry": 24,
    "append_entries": 8,
    "sync_context": 8,
    "fork_conversation": 8,
    "fork_by_append": 7,
    "start_child": 3,
    "update_conversation": 3,
    "set_scores": 2,
    "delete_conversation": 2,
    "restore_conversation": 3,
    "delete_for_good": 1,
    "end_trash": 1,
    "remove_branch": 4,
    "write_without_fields": 6,
    "pin_conversation": 4,
    "merge_conversation": 4,
    "copy_conversation": 2,
    "copy_tree": 2,
    "share_conversation": 3,
    "update_membership": 3,
    "remove_membership": 2,
    "request_transfer": 3,
    "accept_transfer": 2,
    "delete_transfer": 1,
    "create_link": 2,
    "manage_links": 2,
    "read_by_link": 5,
    "add_note": 4,
    "manage_notes": 3,
    "replay": 8,
    "admin_delete": 1,
    "list_trash": 1,
    "go_on_deleting": 2,
    "erase_nobody": 1,
    "get_conversation": 2,
    "list_entries": 8,
    "list_rows": 4,
    "list_conversations": 2,
    "list_transfers": 1,
    "get_transfer": 1,
    "administer": 6,
    "check_health": 1,
    "set_name": 4,
    "append_by_name": 5,
    "delete_name": 1,
    "look_up_name": 1,
    "list_names": 1,
    "list_named_entries": 4,
    "administer_names": 2,
    "compare": 3,
    "get_entry": 2,
    "look_up_entry": 2,
    "list_ancestors": 1,
    "begin_answer": 4,
    "append_to_answer": 6,
    "get_answer": 3,
    "stop_answer": 1,
    "delete_answer": 1,
    "finish_answer": 4,
    "search": 3,
    "upload_attachment": 3,
    "get_attachment": 3,
    "administer_attachments": 3,
}
"""All moves, with their relative probability."""

Work = Callable[[], str | None]


class History:
    """A history of a few conversations of some users, with two apps.

    services: processes of one service; each request goes to one of them.
    random: decides everything. name: of the keys; a user may have used others before.
    admins: callers with roles, perhaps none.
    work: does a step of one deletion and returns the tree's id, or None if there is nothing to do.
        Without it, the service works on deletions by itself.
    days: for how long a deleted tree is in the trash; 0: it is not known, so all goes for good.
    limit: lets a conversation have at most so many own entries; 0: any number.
    end_trash: lets the time of what is in the trash be over.
    is_alone: nobody else writes to the service's table.
    """

    def __init__(
        self,
        services: Sequence[Service],
        random: Random,
        *,
        users: Sequence[str],
        name: str = "",
        admins: Sequence[Caller] = (),
        work: Work | None = None,
        is_alone: bool = False,
        days: int = 0,
        end_trash: Callable[[], object] | None = None,
        limit: Callable[[int], object] | None = None,
    ) -> None:
        self.random = random
        self.both = Comparison(services, random, is_alone=is_alone, days=days)
        self._oracle = self.both.oracle
        self._choose = Choices(random, self._oracle, users)
        self._name = name
        self._admins = admins
        self._work = work
        self._end_trash, self._limit = end_trash, limit
        self._replayable: list[Request] = []
        self.reading = Reading(self.both, self._choose, admins)
        self._branching = Branching(self.both, self._choose, admins, self._post)
        self._naming = Naming(self.both, self._choose, admins, self._post)
        self._attaching = Attaching(self.both, self._choose, admins)
        self._linking = Linking(self.both, self._choose, admins)
        self._noting = Noting(self.both, self._choose, admins, self._post)
        self._answering = Answering(self.both, self._choose, admins, self._post)

    def run(self, steps: int) -> None:
        """Make `steps` moves. At the end, read everything in every way."""
        self.begin()
        for _ in range(steps):
            self.move(self.random.choices(list(MOVES), list(MOVES.values()))[0])
        self.reading.read_back()

    def begin(self) -> None:
        """Make a tree with members of every level. One history in three has a limit of entries."""
        if self._limit:
            self._oracle.entries_max = self.random.choice((0, 0, ENTRIES_MAX))
            self._limit(self._oracle.entries_max)
        root, owner = self._choose.new_id(), Caller(self._choose.users[0], self._choose.one_of(*CLIENTS))
        body = {**self._choose.draft("history"), "userId": owner.user}
        self.both.ask(Request("appendEntry", owner, {"conversationId": root, **body}))
        for user, level in zip(self._choose.users[1:], ("manager", "writer", "reader"), strict=False):
            given = {"conversationId": root, "userId": user, "accessLevel": level}
            self.both.ask(Request("shareConversation", owner, given))

    def move(self, name: str) -> None:
        """Make the move of that name."""
        more = (self._attaching, self._linking, self._noting, self._answering)
        rooms = (self, self.reading, self._branching, self._naming, *more)
        make: Callable[[], None] = next(getattr(room, name) for room in rooms if hasattr(room, name))
        make()

    # Conversations

    def create_conversation(self) -> None:
        caller = self._choose.caller()
        body = self._choose.description("createConversation", caller)
        if self._choose.chance(0.6):
            body["id"] = self._choose.id_in_use() if self._choose.chance(0.3) else self._choose.new_id()
        self._post("createConversation", caller, body)

    def update_conversation(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found, "writer")
        body = self._choose.description("updateConversation", caller)
        if "title" in body and self._choose.chance(0.5):
            body["title"] = None
        last = None
        if found and self._choose.chance(0.2):
            self.both.learn_times([found])
            last = found.said.get("updatedAt") if self._choose.chance(0.7) else found.said.get("createdAt")
        given = {"conversationId": conversation_id, **body}
        self.both.ask(Request("updateConversation", caller, given, if_match=last))

    def fork_conversation(self) -> None:
        source_id, source = self._choose.target()
        caller = self._choose.caller(source, "writer")
        anchor = self._choose.anchor(source) if source else None
        body = self._choose.description("forkConversation", caller)
        body |= self._choose.some_of(resetMetrics=self._choose.chance(0.5))
        if anchor is not None and self._choose.chance(0.8):
            body |= {
                "atEntryId": anchor,
                **self._choose.some_of(position=self._choose.one_of("before", "after")),
            }
        elif source and self._choose.chance(0.1):
            body |= {"atKey": self._choose.key_of(source), "position": self._choose.one_of("before", "after")}
        if self._choose.chance(0.15):
            body["count"] = self._choose.one_of(2, 2, 3)
        else:
            body |= self._pointers(caller)
        if self._choose.chance(0.4):
            body["id"] = self._choose.new_id()
        elif self._choose.chance(0.1):
            body["id"] = self._choose.id_in_use()
        if_match = self._choose.last_history(source) if self._choose.chance(0.15) else None
        self._post("forkConversation", caller, {"conversationId": source_id, **body}, if_match)

    def delete_conversation(self) -> None:
        conversation_id, found = self._choose.target()
        self._delete("deleteConversation", self._choose.caller(found, "owner"), conversation_id, found)

    def remove_branch(self) -> None:
        """Delete one branch, as a manager or as an administrator, and seldom the last one."""
        conversation_id, found = self._choose.target()
        if found and len(found.tree.live()) == 1 and self._choose.chance(0.8):
            return
        if found and (self._work or not self._has_grandchildren(found)):
            self.both.learn_times(found.tree.live())
        caller, name = self._choose.caller(found, "manager"), "deleteConversation"
        if self._admins and self._choose.chance(0.1):
            caller, name = self._choose.one_of(*self._admins), "adminDeleteConversation"
        self._delete(name, caller, conversation_id, found, scope="branch")

    def admin_delete(self) -> None:
        """Delete a tree as an administrator."""
        if self._admins:
            conversation_id, found = self._choose.target()
            admin = self._choose.one_of(*self._admins)
            self._delete("adminDeleteConversation", admin, conversation_id, found)

    def restore_conversation(self) -> None:
        """Restore a tree, as its owner or as an administrator."""
        conversation_id, found = (
            self._choose.target() if self._choose.chance(0.1) else self._choose.in_trash()
        )
        name, caller, why = "restoreConversation", self._choose.caller(found, "owner"), {}
        if self._admins and self._choose.chance(0.3):
            name, caller = "adminRestoreConversation", self._choose.one_of(*self._admins)
            why = self._choose.justification()
        self._post(name, caller, {"conversationId": conversation_id, **why})

    def delete_for_good(self) -> None:
        """Delete what is in the trash, or try to delete it once more."""
        conversation_id, found = self._choose.in_trash()
        caller, name = self._choose.caller(found, "owner"), "deleteConversation"
        if self._admins and self._choose.chance(0.2):
            caller, name = self._choose.one_of(*self._admins), "adminDeleteConversation"
        is_branch = found is not None and found.is_trashed
        how = {"scope": "branch"} if is_branch != self._choose.chance(0.1) else {}
        self._delete(name, caller, conversation_id, found, **how)

    def end_trash(self) -> None:
        """Let the time of all that is in the trash be over."""
        if self._end_trash:
            self._end_trash()
            self._oracle.end_trash()

    def restore_all(self) -> None:
        """Restore all that is in the trash, for its owners. What was started comes after that."""
        while self._oracle.trashed:
            kept, live = self._oracle.kept, self._oracle.conversations
            alone = [one for one in kept if one.deleted_with is one]
            ready = [one for one in alone if one.started_by is None or one.started_by.id in live]
            branches = [c for one in kept if not one.deleted_with for c in one.all if c.is_trashed]
            one = [*branches, *(tree.live()[0] for tree in ready)][0]
            [owner] = [user for user, level in one.tree.levels.items() if level == LEVELS[-1]]
            self.both.ask(Request("restoreConversation", Caller(owner), {"conversationId": one.id}))

    def erase_nobody(self) -> None:
        """Erase a user who has written nothing, mostly as an admin, and look at it."""
        if self._admins:
            caller = self._choose.caller() if self._choose.chance(0.2) else self._choose.one_of(*self._admins)
            why = self._choose.justification()
            self._post("adminEraseUser", caller, {"userId": f"nobody {self._name}"} | why)
            known = sorted(self._oracle.erasures)
            erasure_id = self._choose.one_of(*known, self._choose.new_id())
            self.both.ask(Request("adminGetErasure", caller, {"erasureId": erasure_id} | why))

    def erase(self) -> None:
        """Erase one of the users. The jobs of all earlier requests must be done."""
        self._oracle.delete_what_waits()
        admins = [caller for caller in self._admins if "admin" in caller.roles]
        if admins:
            user = self._choose.one_of(*self._choose.users)
            self.both.ask(Request("adminEraseUser", admins[0], {"userId": user}))

    def go_on_deleting(self) -> None:
        """Let the worker do a step."""
        deleted = self._work() if self._work else None
        if deleted is not None:
            self._oracle.delete_with_children(self._oracle.gone[deleted])

    def _delete(
        self, name: str, caller: Caller, conversation_id: str, found: Conversation | None, **how: str
    ) -> None:
        """Delete a tree, unless it is unknown when its grandchildren are deleted.

        For good, if nobody knows whether there is a trash.
        """
        if found is None or self._work or not self._has_grandchildren(found):
            why = self._choose.justification() if name.startswith("admin") else {}
            is_for_good = not self._oracle.days or self._choose.chance(0.4)
            given = {"conversationId": conversation_id, "forGood": is_for_good, **why, **how}
            self.both.ask(Request(name, caller, given))

    def _has_grandchildren(self, found: Conversation) -> bool:
        starters = [tree.started_by for tree in self._oracle.kept]
        parents = [parent.tree.started_by for parent in starters if parent]
        return any(parent is not None and parent.tree is found.tree for parent in parents)

    # Entries

    def append_entry(self) -> None:
        self.append_to(*self._target_or_new(), is_batch=False)

    def append_entries(self) -> None:
        self.append_to(*self._target_or_new(), is_batch=True)

    def append_to(self, into_id: str, into: Conversation | None, *, is_batch: bool) -> None:
        """Append to a conversation. into: None if there is none with this id."""
        caller = self._choose.caller(into, "writer")
        body = self._choose.drafts(caller, into, is_batch=is_batch)
        body |= {"promote": self._choose.chance(0.7)} if self._choose.chance(0.15) else {}
        if_match = self._choose.last_history(into) if self._choose.chance(0.12) else None
        if into is not None and self._choose.chance(0.15):
            body |= self._choose.lineage(into)
        if self._choose.chance(0.8 if into is None else 0.05):
            body |= self._choose.described(caller)
        self._post("appendEntry", caller, {"conversationId": into_id, **body}, if_match)

    def fork_by_append(self) -> None:
        source_id, source = self._choose.target()
        caller = self._choose.caller(source, "writer")
        anchor = self._choose.anchor(source) if source else None
        body = self._choose.drafts(caller, None, is_batch=self._choose.chance(0.25))
        body["forkedAtConversationId"] = source_id
        if source and self._choose.chance(0.2):
            body["forkedAtKey"] = self._choose.key_of(source)
            body |= self._choose.some_of(forkedAtPosition=self._choose.one_of("before", "after"))
        elif anchor is not None and self._choose.chance(0.75):
            body["forkedAtEntryId"] = anchor
            body |= self._choose.some_of(forkedAtPosition=self._choose.one_of("before", "after", "after"))
        elif self._choose.chance(0.5):
            body["forkedAtPosition"] = "head"
        body |= self._pointers(caller) | self._choose.described(caller)
        if_match = self._choose.last_history(source) if self._choose.chance(0.1) else None
        self._post("appendEntry", caller, {"conversationId": self._new_or_gone(), **body}, if_match)

    def _pointers(self, caller: Caller) -> Json:
        """Return what a fork may carry: a name that moves to it, and its promotion."""
        name = {"name": self._choose.name(caller)} if self._choose.chance(0.2) else {}
        return name | ({"promote": True} if self._choose.chance(0.2) else {})

    def start_child(self) -> None:
        parent_id, parent = self._choose.target()
        caller = self._choose.caller(parent, "writer")
        body = self._choose.drafts(caller, None, is_batch=self._choose.chance(0.25))
        body["startedByConversationId"] = parent_id
        if parent and self._choose.chance(0.6):
            shown = [entry["id"] for entry in parent.view()] or [self._choose.new_id()]
            is_shown = self._choose.chance(0.85)
            body["startedByEntryId"] = self._choose.one_of(*shown) if is_shown else self._choose.new_id()
        self._post("appendEntry", caller, {"conversationId": self._new_or_gone(), **body})

    def sync_context(self) -> None:
        into_id, into = self._target_or_new()
        caller = self._choose.caller(into, "writer")
        if caller.client is None and self._choose.chance(0.8):
            caller = Caller(caller.user, "planner")
        body = {"contentType": "state", "content": self._choose.context(caller, into)}
        body |= self._choose.some_of(agentId="ag-4", usage=self._choose.usage(), channel="context")
        body |= self._choose.some_of(userId=caller.user, basedOnEntryId=self._choose.based_on(caller, into))
        body |= self._choose.others(SyncContext, OF_DRAFTS)
        self._post("syncContext", caller, {"conversationId": into_id, **body})

    # Sharing

    def share_conversation(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found, "manager")
        body = {"userId": self._choose.user(), "accessLevel": self._level()}
        body |= self._choose.some_of(children=self._choose.one_of("include", "keep"))
        self._post("shareConversation", caller, {"conversationId": conversation_id, **body})

    def update_membership(self) -> None:
        given, caller = self._membership()
        given |= self._choose.some_of(children=self._choose.one_of("include", "keep"))
        self.both.ask(Request("updateMembership", caller, {**given, "accessLevel": self._level()}))

    def remove_membership(self) -> None:
        given, caller = self._membership()
        if self._choose.chance(0.2):
            given["userId"] = caller.user
        given |= self._choose.some_of(children=self._choose.one_of("include", "keep"))
        self.both.ask(Request("removeMembership", caller, given))

    def request_transfer(self) -> None:
        conversation_id, found = self._choose.target()
        caller = self._choose.caller(found, "owner")
        members = list(found.tree.levels) if found and self._choose.chance(0.8) else self._choose.users
        body = {"conversationId": conversation_id, "newOwnerUserId": self._choose.one_of(*members)}
        self._post("requestTransfer", caller, body | self._choose.some_of(userId=caller.user))

    def get_transfer(self) -> None:
        transfer_id, caller = self._pending_transfer()
        self.both.ask(Request("getTransfer", caller, {"transferId": transfer_id}))

    def accept_transfer(self) -> None:
        transfer_id, caller = self._pending_transfer()
        self._post("acceptTransfer", caller, {"transferId": transfer_id})

    def delete_transfer(self) -> None:
        transfer_id, caller = self._pending_transfer()
        self.both.ask(Request("deleteTransfer", caller, {"transferId": transfer_id}))

    def _pending_transfer(self) -> tuple[str, Caller]:
        """Return a pending transfer, perhaps a new one, and a caller, mostly one of its parties."""
        if self._choose.chance(0.08):
            return self._choose.new_id(), self._choose.caller()
        if not self._choose.offers:
            self._request_good_transfer()
        if not self._choose.offers:
            return self._choose.new_id(), self._choose.caller()
        offer = self._choose.one_of(*self._choose.offers)
        user = self._choose.one_of(offer["toUserId"], offer["toUserId"], offer["fromUserId"])
        return offer["id"], self._choose.caller() if self._choose.chance(0.15) else Caller(user)

    def _request_good_transfer(self) -> None:
        shared = [c for c in self._choose.conversations if len(c.tree.levels) > 1]
        if shared:
            conversation = self._choose.one_of(*shared)
            to, owner = sorted(
                conversation.tree.levels, key=lambda user: conversation.tree.levels[user] == "owner"
            )[-2:]
            self._post(
                "requestTransfer", Caller(owner), {"conversationId": conversation.id, "newOwnerUserId": to}
            )

    def _membership(self) -> tuple[dict[str, Json], Caller]:
        """Return the path of a membership, and a caller. Most callers may change it."""
        conversation_id, found = self._choose.target()
        if self._choose.offers and self._choose.chance(0.25):  # A removal of the recipient ends the transfer.
            offered = self._choose.one_of(*self._choose.offers)["conversationId"]
            found = self._oracle.conversations.get(offered, found)
            conversation_id = found.id if found else offered
        members = list(found.tree.levels) if found and self._choose.chance(0.8) else self._choose.users
        given = {"conversationId": conversation_id, "userId": self._choose.one_of(*members)}
        if found and found.tree.transfer and self._choose.chance(0.5):
            given["userId"] = found.tree.transfer["toUserId"]
        return given, self._choose.caller(found, "manager")

    def _level(self) -> str:
        return self._choose.one_of("reader", "writer", "writer", "manager", "manager", str(LEVELS[-1]))

    # Replays

    def replay(self) -> None:
        """Send an earlier request with an Idempotency-Key again, an append also by its other way.

        None is sent that forks at an entry of which the oracle cannot know whether it is gone.
        """
        fading = {name for tree in self._oracle.trees for name in tree.fading()}
        named = ("atEntryId", "forkedAtEntryId", "forkedAtKey")
        sure = [one for one in self._replayable if not fading & {one.given.get(name) for name in named}]
        if sure:
            again = self._choose.one_of(*sure)
            self.both.ask(self._by_the_other_way(again) if self._choose.chance(0.5) else again)

    def _by_the_other_way(self, append: Request) -> Request:
        """Return the same append by the id where it was by a name, or by a name of the caller's."""
        of, given = (append.caller.user, append.caller.client), dict(append.given)
        names = self._oracle.names.get(of, {})
        if append.name == "appendEntryByName" and given["name"] in names:
            given["conversationId"] = names[given.pop("name")].to.id
            given.pop("data", None)
            return replace(append, name="appendEntry", given=given)
        to_it = [name for name, held in names.items() if held.to.id == given.get("conversationId")]
        if append.name == "appendEntry" and to_it and "name" not in given:
            del given["conversationId"]
            given["name"] = self._choose.one_of(*to_it)
            return replace(append, name="appendEntryByName", given=given)
        return append

    def _post(self, name: str, caller: Caller, given: Json, if_match: str | None = None) -> None:
        takes_key = OPERATIONS[name].takes_idempotency_key and self._choose.chance(0.3)
        key = f"{self._name} {self.random.randrange(KEYS)}" if takes_key else None
        request = Request(name, caller, given, key, if_match)
        self.both.ask(request)
        if key and name != "adminEraseUser":  # the worker forgets it in the end
            self._replayable.append(request)

    def _target_or_new(self) -> tuple[str, Conversation | None]:
        return self._choose.target() if self._choose.chance(0.93) else (self._choose.new_id(), None)

    def _new_or_gone(self) -> str:
        gone = self._choose.gone
        return self._choose.one_of(*gone) if gone and self._choose.chance(0.06) else self._choose.new_id()

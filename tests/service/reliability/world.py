"""Fork trees in every state that operations can find, made by the service; and operations."""

import itertools
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any

from forklore_service.domain import ids
from forklore_service.domain.answer_logs import SILENT_SECONDS
from forklore_service.domain.model import Caller, JobKind
from forklore_service.domain.tree import MOVE_MS, Job
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.actions.group import MEMBERS_MAX
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Item
from forklore_service.usecases.background import sweeper, worker
from forklore_service.usecases.deletion import retention, trash
from forklore_service.usecases.people import spreading, transfers
from tests.service.reliability.faults import WRITE, Call, Choose, Fault, Killed, Rewrite
from tests.service.reliability.service import Endpoint, Process, new_store, random_bits
from tests.support.mailbox import Mailbox, Message
from tests.support.meaning import nearness
from tests.support.tables import Store, WrongClock
from tools.catalogue import CARDS, NAMES, PHOTO, Card
from tools.harness.service import OF_A_CONVERSATION, Answer
from tools.harness.service import OPERATIONS as CALLED

ANN, BOB, MIA, RITA, EVE = (Caller(name) for name in ("ann", "bob", "mia", "rita", "eve"))
"""The owner of every tree; a writer, a manager and a reader of some trees; and a stranger."""
PLANNER, CODER = Caller("ann", "planner"), Caller("ann", "coder")
BOBS_PLANNER = Caller("bob", "planner")
ROOT_CALLER = Caller("root", None, frozenset({"admin"}))
KEY = "the key"
CROWD_MEMBERS = 50
"""So many members that one transaction cannot create a child of the tree."""
LONG_ENTRIES = 90
"""So many entries that one transaction cannot copy the conversation."""
LAST_OF_CROWD = "user 9"
"""The member that is copied to a child in the last step."""
WORDS = "the words of a user who is to be erased"
UNSTORED = {"checkHealth"}
"""The operations that ask nothing of the table, so that nothing can fail."""
DRAINS_MAX = 50
AHEAD_MS = 24 * 3_600_000
STEP_BITS = 32
NUMBER_BITS = 16
"""The first bits of an id's random part, in which a process of a test numbers its ids."""
TWO_DAYS = 2 * 24 * 3600
UNUSED_SECONDS = 2 * 24 * 3600
"""After this time a tree is unused for a retention of one day."""
DAYS = 30
"""For so many days the trash keeps what is deleted."""
ABANDONED_SECONDS = 600
"""The age at which the sweep gives up an unfinished creation."""
NOT_YET_SILENT_SECONDS = 3600
"""So far ahead is the clock that writes an answer, so that it is open as long as the tests run."""


def conversation(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


ROOT, FORK, CHILD, GRANDCHILD, UNTITLED, GIVEN, GIVEN_FORK = (conversation(number) for number in range(1, 8))
"""Ann's tree with a fork, child and grandchild; one without a title; one offered to Bob."""
LONG, HALF_COPY = conversation(31), conversation(32)
"""A tree of many entries, and Rita's copy of it, which is unfinished."""
PASSED, PASSED_FORK, DEAD, DEAD_FORK, CROWD, HALF = (conversation(number) for number in range(11, 17))
"""A tree that has just become Bob's; one with a tombstone; one with many members, and its child,
whose creation is unfinished."""
OWN = conversation(51)
"""A tree of Bob's."""
CUT, CUT_FORK, CUT_TWIG = (conversation(number) for number in range(41, 44))
"""A tree whose fork CUT_FORK was removed, and is shown by CUT_TWIG."""
NEW, OTHER = conversation(21), conversation(22)
"""Unused ids."""
TO_SEND = {name: held for name, held in PHOTO.items() if name != "content"}
"""An upload whose bytes are sent later."""
ANSWER = conversation(61)
"""Bob's answer in a fork of Ann's tree, of two parts."""
ANNS_ANSWER = conversation(62)
"""Ann's answer in a fork of the tree that is offered to Bob."""


def said(text: str, role: str = "USER") -> dict[str, Any]:
    """Return the body of an append: a message of the history."""
    return {"channel": "history", "contentType": "history", "content": [{"role": role, "text": text}]}


def showing(attachment_id: str) -> dict[str, Any]:
    """Return the body of an append: a message of the history that names an attachment."""
    content = [{"role": "USER", "text": "look", "attachments": [{"id": attachment_id}]}]
    return {"channel": "history", "contentType": "history", "content": content}


def thought(*texts: str, **more: Any) -> dict[str, Any]:
    """Return the body of an append: an entry of the context."""
    return {"channel": "context", "contentType": "note", "content": list(texts), **more}


def turn(*context: str, text: str = "new", **more: Any) -> dict[str, Any]:
    """Return the body of an append: a message with the agent's whole present context."""
    return {**said(text), "context": {"contentType": "note", "content": list(context)}, **more}


def large(size: int = 40_000) -> dict[str, Any]:
    """Return an entry too large for its item: its `size` bytes go to BLOB chunks of 350 KB."""
    return {"contentType": "text/plain", "content": [Random(1).randbytes(size).hex()]}


@dataclass
class World:
    """The contents of a table, and the ids of its entries and of a transfer, by name.

    later_s: after how many seconds all its jobs can be done.
    """

    later_s: int = 0
    contents: list[Item] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    _saved: bytes | None = None
    _shared: Store | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def shared(self, endpoint: Endpoint) -> Store:
        """Return a table with these contents, only for reading. The endpoint removes it."""
        if self._shared is None:
            self._shared = self._open.enter_context(self.copy(endpoint))
        return self._shared

    @contextmanager
    def copy(self, endpoint: Endpoint) -> Iterator[Store]:
        """Yield a new table with these contents. In memory they are written once, then copied."""
        with new_store(endpoint) as store:
            if self._saved is None:
                store.put(*self.contents)
                self._saved = None if store.database is None else store.saved()
            else:
                store.set_back(self._saved)
            yield store


def build(
    endpoint: Endpoint, *makers: Callable[[Store, Process, dict[str, str]], None], later_s: int = 0
) -> World:
    with new_store(endpoint) as store:
        world = World(later_s)
        for make in makers:
            make(store, Process(store), world.made)
        world.contents = list(store.contents().values())
        return world


@cache
def built(make: Callable[[Endpoint], World], endpoint: Endpoint) -> World:
    """Return the world of `make`. Each is built only once."""
    return make(endpoint)


def family(endpoint: Endpoint) -> World:
    """Return the world of a tree with a fork, a child and a grandchild."""
    return build(endpoint, _family)


def archived(endpoint: Endpoint) -> World:
    """Return the world of a tree that a member has archived."""
    return build(endpoint, _family, _archived)


def pinned(endpoint: Endpoint) -> World:
    """Return the world of a member of two trees who has pinned one."""
    return build(endpoint, _family, _offered, _pinned)


def joined(endpoint: Endpoint) -> World:
    """Return the world of a tree with a member who is in no child."""
    return build(endpoint, _family, _joined)


def untitled(endpoint: Endpoint) -> World:
    """Return the world of a conversation that never had a title."""
    return build(endpoint, _untitled)


def chat(endpoint: Endpoint) -> World:
    """Return the world of a tree whose planner has appended a message with its context."""
    return build(endpoint, _family, _chat)


def offered(endpoint: Endpoint) -> World:
    """Return the world of a tree with a pending transfer."""
    return build(endpoint, _offered)


def peaceful(endpoint: Endpoint) -> World:
    """Return the world of all these trees."""
    return build(endpoint, _family, _untitled, _offered)


def linked(endpoint: Endpoint) -> World:
    """Return the world of such a tree with links for readers, of which one ends with a transfer."""
    return build(endpoint, _offered, _linked)


def noted(endpoint: Endpoint) -> World:
    """Return the world of a tree with notes on an entry of the root and on one of the fork."""
    return build(endpoint, _family, _noted)


def noted_removed(endpoint: Endpoint) -> World:
    """Return the world of the same tree whose fork was removed; it waits for the worker."""
    return build(endpoint, _family, _noted, lambda _store, process, _made: _remove(process, FORK))


def noted_erasing(endpoint: Endpoint) -> World:
    """Return the world of the same tree; the erasure of who wrote a note waits for the worker."""
    return build(endpoint, _family, _noted, _erase)


def passed(endpoint: Endpoint) -> World:
    """Return the world of a tree with a new owner; its HEADs still name the previous one."""
    return build(endpoint, _passed)


def handed_over(endpoint: Endpoint) -> World:
    """Return the world of a tree whose owner changed some time ago."""
    return build(endpoint, _passed, lambda store, _process, _made: settle(store))


def half_removed(endpoint: Endpoint) -> World:
    """Return the world of a tree that has removed a member; the process was killed then."""
    return build(endpoint, _family, _half_removed)


def ahead(endpoint: Endpoint) -> World:
    """Return the world of a tree and its fork, written by a process whose clock is a day ahead."""
    return build(endpoint, _ahead)


def full(endpoint: Endpoint) -> World:
    """Return the world of a tree that has room for one more member."""
    return build(endpoint, _full)


def given_up(endpoint: Endpoint) -> World:
    """Return the world of an unfinished child that was given up and waits for the worker."""
    return build(endpoint, _crowded, _given_up, later_s=ABANDONED_SECONDS)


def dead(endpoint: Endpoint) -> World:
    """Return the world of a deleted tree that waits for the worker."""
    return build(endpoint, _dead)


def dead_family(endpoint: Endpoint) -> World:
    """Return the world of a deleted tree with a child; the deleting process was killed at once."""
    return build(endpoint, _family, _dead_family)


def trashed(endpoint: Endpoint) -> World:
    """Return the world of a family in the trash."""
    return build(endpoint, _family, _trashed)


def fork_trashed(endpoint: Endpoint) -> World:
    """Return the world of a tree whose fork is in the trash."""
    return build(endpoint, _family, _fork_trashed)


def root_trashed(endpoint: Endpoint) -> World:
    """Return the world of a tree whose root is in the trash, with what that has started."""
    return build(endpoint, _family, _root_trashed)


def half_root_trashed(endpoint: Endpoint) -> World:
    """Return the same world, but the removing process was killed at once."""
    return build(endpoint, _family, _half_root_trashed)


def half_root_restored(endpoint: Endpoint) -> World:
    """Return the world of a tree whose root was restored; that process was killed at once."""
    return build(endpoint, _family, _root_trashed, _half_root_restored)


def child_trashed(endpoint: Endpoint) -> World:
    """Return the world of a tree whose child is in the trash, with what that has started."""
    return build(endpoint, _family, _child_trashed)


def half_trashed(endpoint: Endpoint) -> World:
    """Return the world of a family in the trash; the deleting process was killed at once."""
    return build(endpoint, _family, _half_trashed)


def half_restored(endpoint: Endpoint) -> World:
    """Return the world of a family in the trash; the restoring process was killed at once."""
    return build(endpoint, _family, _trashed, _half_restored)


def dead_offered(endpoint: Endpoint) -> World:
    """Return the world of a deleted tree with a pending transfer."""
    return build(endpoint, _offered, _dead_offered)


def dead_passed(endpoint: Endpoint) -> World:
    """Return the world of a tree that its new owner has deleted just after the transfer."""
    return build(endpoint, _passed, _dead_passed)


def dead_child(endpoint: Endpoint) -> World:
    """Return the world of a tree with a deleted child that waits for the worker."""
    return build(endpoint, _family, _dead_child)


def removed(endpoint: Endpoint) -> World:
    """Return the world of a removed branch that another branch shows, and that is pruned."""
    return build(endpoint, _removed)


def removed_first(endpoint: Endpoint) -> World:
    """Return the world of a removed branch that another branch shows; it waits for the worker."""
    return build(endpoint, _removed, _asked_again)


def twig_removed(endpoint: Endpoint) -> World:
    """Return the world of a removed branch of a live one; it waits for the worker."""
    return build(endpoint, _forked, _removed_twig)


def twig_of_trashed(endpoint: Endpoint) -> World:
    """Return the world of a removed branch of one in the trash; it waits for the worker."""
    return build(endpoint, _forked, _trashed_fork, _removed_twig)


def removed_both(endpoint: Endpoint) -> World:
    """Return the world of a removed branch, and of one that showed it and waits for the worker."""
    return build(endpoint, _removed, _removed_twig)


def removed_root(endpoint: Endpoint) -> World:
    """Return the world of a tree with a child whose root was removed; the process was killed."""
    return build(endpoint, _family, _removed_root)


def to_erase(endpoint: Endpoint) -> World:
    """Return the world of a user who has a tree, names, and entries in a tree of another user."""
    return build(endpoint, _family, _to_erase)


def unused(endpoint: Endpoint) -> World:
    """Return the world of a tree with a fork that nobody uses any more."""
    return build(endpoint, _unused)


def erasing(endpoint: Endpoint) -> World:
    """Return the world of this user, whose erasure waits for the worker."""
    return build(endpoint, _family, _to_erase, _erase)


def nearly_erased(endpoint: Endpoint) -> World:
    """Return the world of this user, whose erasure needs one more pass."""
    return build(endpoint, _family, _to_erase, _erase, _nearly_erased)


def leaving(endpoint: Endpoint) -> World:
    """Return the world of a member who wrote the only entry of a tree, and is to be erased."""
    return build(endpoint, _written, _erase)


def left(endpoint: Endpoint) -> World:
    """Return the world of such a user, who is no member any more; the tree has two forks."""
    return build(endpoint, _written, _left, _erase)


def leaving_answering(endpoint: Endpoint) -> World:
    """Return the world of such a user who writes an answer, too, and is a member yet."""
    return build(endpoint, _written, _answering_in_the_root, _erase)


def silent(endpoint: Endpoint) -> World:
    """Return the world of such a user who has written nothing: the tree still says who left it."""
    return build(endpoint, _silent, _leave, _erase)


def answering(endpoint: Endpoint) -> World:
    """Return the world of a tree in which an answer is being written."""
    return build(endpoint, _family, _answering)


def answering_removed(endpoint: Endpoint) -> World:
    """Return the world of a removed branch in which an answer was being written."""
    return build(endpoint, _family, _answering, lambda _store, process, _made: _remove(process, FORK))


def answering_revoked(endpoint: Endpoint) -> World:
    """Return the world of a tree in which a member was writing an answer, and was removed."""
    return build(endpoint, _family, _answering, _revoked)


def stopped(endpoint: Endpoint) -> World:
    """Return the world of a tree with an answer that was stopped."""
    return build(endpoint, _family, _answering, _stopped)


def hushed(endpoint: Endpoint) -> World:
    """Return the world of a tree with an answer that nobody writes any more."""
    return build(endpoint, _family, _hushed)


def offered_answering(endpoint: Endpoint) -> World:
    """Return the world of a tree with a pending transfer, in which its owner writes an answer."""
    return build(endpoint, _offered, _answering_as_the_owner)


def attached(endpoint: Endpoint) -> World:
    """Return the world of a tree whose fork has an entry with an attachment, and of another one."""
    return build(endpoint, _family, _attached, later_s=TWO_DAYS)


def attached_withdrawn(endpoint: Endpoint) -> World:
    """Return the world of the same tree, when an admin has removed the bytes."""
    return build(endpoint, _family, _attached, _withdrawn, later_s=TWO_DAYS)


def attached_removed(endpoint: Endpoint) -> World:
    """Return the world of the same tree whose fork was removed; it waits for the worker."""
    return build(endpoint, _family, _attached, lambda _store, process, _made: _remove(process, FORK))


def attached_twice(endpoint: Endpoint) -> World:
    """Return the world of two removed forks with the same attachment; they wait for the worker."""
    return build(endpoint, _family, _attached, _named_again, later_s=TWO_DAYS)


def attached_dead(endpoint: Endpoint) -> World:
    """Return the world of the same tree, which was deleted and waits for the worker."""
    return build(endpoint, _family, _attached, _delete_family)


def attached_erasing(endpoint: Endpoint) -> World:
    """Return the world of the same tree; the erasure of who has uploaded waits for the worker."""
    return build(endpoint, _family, _attached, _erase)


def crowded(endpoint: Endpoint) -> World:
    """Return the world of a tree with many members and an unfinished child.

    A child of this tree needs several transactions.
    """
    return build(endpoint, _crowded, later_s=ABANDONED_SECONDS)


def half_copied(endpoint: Endpoint) -> World:
    """Return the world of a tree with an unfinished copy of it."""
    return build(endpoint, _family, _half_copied, later_s=ABANDONED_SECONDS)


def lengthy(endpoint: Endpoint) -> World:
    """Return the world of a conversation with many entries and an unfinished copy of it."""
    return build(endpoint, _lengthy, later_s=ABANDONED_SECONDS)


def _share(process: Process, of: str, *users: tuple[Caller, str]) -> None:
    for user, level in users:
        given = {"conversationId": of, "userId": user.user_id, "accessLevel": level}
        assert process.ask("shareConversation", ANN, **given).status == 201


def _family(_store: Store, process: Process, made: dict[str, str]) -> None:
    for name, caller, entry in (
        ("first", ANN, said("first")),
        ("second", ANN, said("second", "AI")),
        ("noted", PLANNER, thought("a")),
        ("noted more", PLANNER, thought("b")),
        ("third", ANN, {**said("third"), "key": "3"}),
    ):
        made[name] = process.ask("appendEntry", caller, conversationId=ROOT, **entry).id
    members = [(MIA, "manager"), (BOB, "writer"), (RITA, "reader")]
    _share(process, ROOT, *members)
    made["updated"] = process.ask("getConversation", ANN, conversationId=ROOT).body["updatedAt"]
    forked = {"forkedAtConversationId": ROOT, "forkedAtEntryId": made["third"]}
    made["of fork"] = process.ask("appendEntry", BOB, conversationId=FORK, **said("fork"), **forked).id
    for child, parent in ((CHILD, ROOT), (GRANDCHILD, CHILD)):
        started = {"startedByConversationId": parent}
        made[child] = process.ask("appendEntry", BOB, conversationId=child, **said("task"), **started).id
    keyed = process.ask("appendEntry", PLANNER, conversationId=FORK, **said("keyed", "AI"), key="k")
    made["keyed"] = keyed.id
    pointed = [
        process.ask("setName", BOB, name="trip", conversationId=ROOT, data={"n": 1}),
        process.ask("setName", BOB, name="bare", conversationId=ROOT),
    ]
    assert [answer.status for answer in pointed] == [200, 200]


def _chat(_store: Store, process: Process, made: dict[str, str]) -> None:
    answer = process.ask("appendEntry", PLANNER, conversationId=ROOT, **turn("a", "b", "c"))
    made["turned"], made["kept"] = answer.id, answer.body["context"]["entry"]["id"]


def _answering(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _answer(store, BOB, FORK, ANSWER, in_seconds=NOT_YET_SILENT_SECONDS)


def _revoked(_store: Store, process: Process, _made: dict[str, str]) -> None:
    removed = process.ask("removeMembership", ANN, conversationId=ROOT, userId=BOB.user_id)
    assert removed.status == 200


def _hushed(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _answer(store, BOB, FORK, ANSWER, in_seconds=-SILENT_SECONDS)


def _answering_as_the_owner(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _answer(store, ANN, GIVEN_FORK, ANNS_ANSWER, in_seconds=NOT_YET_SILENT_SECONDS)


def _answering_in_the_root(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _answer(store, BOB, ROOT, ANSWER, in_seconds=NOT_YET_SILENT_SECONDS)


def _answer(store: Store, by: Caller, of: str, answer_id: str, *, in_seconds: int) -> None:
    process = Process(store, clock=later(in_seconds))
    assert process.ask("beginAnswer", by, conversationId=of, id=answer_id).status == 201
    for after, text in enumerate(("a", "b")):
        part: Any = {"conversationId": of, "answerId": answer_id, "after": after, "content": [text]}
        assert process.ask("appendToAnswer", by, **part).status == 201


def _stopped(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("stopAnswer", ANN, conversationId=FORK, answerId=ANSWER).status == 200


def _archived(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("archiveConversation", BOB, conversationId=ROOT).status == 204


def _pinned(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("pinConversation", BOB, conversationId=ROOT).status == 204


def _joined(_store: Store, process: Process, _made: dict[str, str]) -> None:
    _share(process, ROOT, (EVE, "writer"))


def _untitled(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("createConversation", ANN, id=UNTITLED).status == 201
    _share(process, UNTITLED, (BOB, "writer"))


def _offered(_store: Store, process: Process, made: dict[str, str]) -> None:
    process.ask("appendEntry", ANN, conversationId=GIVEN, **said("given"))
    _share(process, GIVEN, (BOB, "writer"), (MIA, "manager"))
    assert process.ask("forkConversation", ANN, conversationId=GIVEN, id=GIVEN_FORK).status == 201
    offer = {"conversationId": GIVEN, "newOwnerUserId": "bob"}
    made["transfer"] = process.ask("requestTransfer", ANN, **offer).id


def _linked(_store: Store, process: Process, made: dict[str, str]) -> None:
    assert process.ask("createLink", ANN, conversationId=GIVEN, keepOnTransfer=True).status == 201
    link = process.ask("createLink", ANN, conversationId=GIVEN, allForks=True)
    made |= {"link": link.id, "secret": link.body["secret"]}


def _noted(_store: Store, process: Process, made: dict[str, str]) -> None:
    for caller, to, entry, name, note in (
        (ANN, ROOT, made["first"], f"note on {ROOT}", {"text": "so"}),
        (BOB, FORK, made["of fork"], f"note on {FORK}", {"score": 0.5}),
        (ANN, FORK, made["of fork"], "pin", {"pinned": True}),
    ):
        answer = process.ask("addNote", caller, conversationId=to, entryId=entry, **note)
        made[name] = answer.id


def _passed(store: Store, process: Process, _made: dict[str, str]) -> None:
    process.ask("appendEntry", ANN, conversationId=PASSED, **large())
    _share(process, PASSED, (BOB, "writer"), (MIA, "manager"))
    assert process.ask("forkConversation", ANN, conversationId=PASSED, id=PASSED_FORK).status == 201
    offer = {"conversationId": PASSED, "newOwnerUserId": "bob"}
    transfer = process.ask("requestTransfer", ANN, **offer).id
    killed_at_write(store, 1, "acceptTransfer", BOB, transferId=transfer)


def _dead(_store: Store, process: Process, made: dict[str, str]) -> None:
    made["of dead"] = process.ask("appendEntry", ANN, conversationId=DEAD, **large()).id
    _share(process, DEAD, (BOB, "writer"))
    assert process.ask("forkConversation", ANN, conversationId=DEAD, id=DEAD_FORK).status == 201
    assert process.ask("deleteConversation", ANN, conversationId=DEAD).status == 204


def _dead_family(store: Store, process: Process, _made: dict[str, str]) -> None:
    noted = process.ask("appendEntry", PLANNER, conversationId=ROOT, **thought("c", epoch=2))
    assert noted.status == 201
    killed_at_write(store, 1, "deleteConversation", ANN, conversationId=ROOT)


def _half_removed(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "removeMembership", ANN, conversationId=ROOT, userId="bob")


def _dead_child(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("deleteConversation", ANN, conversationId=CHILD).status == 204


def _dead_offered(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("deleteConversation", ANN, conversationId=GIVEN).status == 204


def _dead_passed(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "deleteConversation", BOB, conversationId=PASSED)


def _unused(store: Store, _process: Process, made: dict[str, str]) -> None:
    _offered(store, Process(store, clock=later(-UNUSED_SECONDS)), made)


def _attached(_store: Store, process: Process, made: dict[str, str]) -> None:
    made["photo"] = process.ask("uploadAttachment", BOB, **PHOTO).id
    made["unnamed"] = process.ask("uploadAttachment", BOB, **PHOTO | {"contentType": "image/jpeg"}).id
    shown = process.ask("appendEntry", BOB, conversationId=FORK, **showing(made["photo"]))
    made["shown"] = shown.id


def _withdrawn(_store: Store, process: Process, made: dict[str, str]) -> None:
    given = {"attachmentId": made["photo"]}
    assert process.ask("adminRemoveAttachment", ROOT_CALLER, **given).status == 204


def _named_again(_store: Store, process: Process, made: dict[str, str]) -> None:
    beside = {"forkedAtConversationId": ROOT, **showing(made["photo"])}
    assert process.ask("appendEntry", BOB, conversationId=OTHER, **beside).status == 201
    _remove(process, FORK)
    _remove(process, OTHER)


def _trashed(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert in_days(process).ask("deleteConversation", ANN, conversationId=ROOT).status == 204


def _child_trashed(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert in_days(process).ask("deleteConversation", ANN, conversationId=CHILD).status == 204


def _fork_trashed(_store: Store, process: Process, _made: dict[str, str]) -> None:
    _remove(in_days(process), FORK)


def _root_trashed(_store: Store, process: Process, _made: dict[str, str]) -> None:
    _remove(in_days(process), ROOT)


def _half_root_trashed(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "deleteConversation", ANN, days=DAYS, conversationId=ROOT, scope="branch")


def _half_root_restored(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "restoreConversation", ANN, conversationId=ROOT)


def _half_trashed(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "deleteConversation", ANN, days=DAYS, conversationId=ROOT)


def _half_restored(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "restoreConversation", ANN, conversationId=ROOT)


def in_days(process: Process) -> Process:
    """Return the process, for which the trash keeps what is deleted."""
    process.deleted_days = DAYS
    return process


def _delete_family(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("deleteConversation", ANN, conversationId=ROOT).status == 204


def _to_erase(_store: Store, process: Process, _made: dict[str, str]) -> None:
    process.ask("appendEntry", BOB, conversationId=OWN, **said("own"))
    _share(process, CHILD, (EVE, "reader"))
    body = {"conversationId": ROOT, **large(), "key": "large", "indexedContent": "large"}
    assert process.ask("appendEntry", BOB, **body).status == 201


def _erase(_store: Store, process: Process, made: dict[str, str]) -> None:
    made["erasure"] = process.ask("adminEraseUser", ROOT_CALLER, userId="bob").body["id"]


def _nearly_erased(_store: Store, process: Process, _made: dict[str, str]) -> None:
    run_erasures(process)
    run_deletion(OWN)(process)


def _silent(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("createConversation", ANN, id=ROOT).status == 201
    _share(process, ROOT, (BOB, "writer"))


def _written(store: Store, process: Process, made: dict[str, str]) -> None:
    _silent(store, process, made)
    assert process.ask("appendEntry", BOB, conversationId=ROOT, **said(WORDS)).status == 201


def _leave(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert process.ask("removeMembership", BOB, conversationId=ROOT, userId="bob").status == 200


def _left(store: Store, process: Process, made: dict[str, str]) -> None:
    _leave(store, process, made)
    assert process.ask("forkConversation", ANN, conversationId=ROOT, id=FORK).status == 201
    first = process.ask("listEntries", ANN, conversationId=ROOT).body["data"][0]["id"]
    made["words"] = first
    empty = {"conversationId": ROOT, "id": OTHER, "atEntryId": first, "title": "empty"}
    assert process.ask("forkConversation", ANN, **empty).status == 201


def _removed(store: Store, process: Process, made: dict[str, str]) -> None:
    _forked(store, process, made)
    _remove(process, CUT_FORK)
    settle(store)


def _forked(_store: Store, process: Process, made: dict[str, str]) -> None:
    made["cut"] = process.ask("appendEntry", ANN, conversationId=CUT, **said("kept")).id
    assert process.ask("forkConversation", ANN, conversationId=CUT, id=CUT_FORK).status == 201
    process.ask("appendEntry", PLANNER, conversationId=CUT_FORK, **thought("shown"))
    made["of fork"] = process.ask("appendEntry", ANN, conversationId=CUT_FORK, **said("shown")).id
    assert process.ask("forkConversation", ANN, conversationId=CUT_FORK, id=CUT_TWIG).status == 201
    process.ask("appendEntry", ANN, conversationId=CUT_TWIG, **large())
    process.ask("appendEntry", ANN, conversationId=CUT_FORK, **large())


def _remove(process: Process, conversation_id: str) -> None:
    removed = process.ask("deleteConversation", ANN, conversationId=conversation_id, scope="branch")
    assert removed.status == 204, removed


def _asked_again(_store: Store, process: Process, _made: dict[str, str]) -> None:
    process.table.commit([actions.job.put_prune(CUT, CUT_FORK, at=ids.timestamp(0), nonce="again")])


def _trashed_fork(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _remove(in_days(Process(store)), CUT_FORK)


def _removed_twig(_store: Store, process: Process, _made: dict[str, str]) -> None:
    _remove(process, CUT_TWIG)


def _removed_root(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 1, "deleteConversation", ANN, conversationId=ROOT, scope="branch")


def _crowded(store: Store, process: Process, made: dict[str, str]) -> None:
    made["first"] = process.ask("appendEntry", ANN, conversationId=CROWD, **said("crowd")).id
    _share(process, CROWD, *((Caller(f"user {number}"), "writer") for number in range(CROWD_MEMBERS)))
    begin(store, {"conversationId": HALF, **said("half"), "startedByConversationId": CROWD}, steps=2)


def _half_copied(store: Store, _process: Process, _made: dict[str, str]) -> None:
    killed_at_write(store, 3, "copyTree", RITA, conversationId=FORK, id=HALF_COPY)


def _lengthy(store: Store, process: Process, _made: dict[str, str]) -> None:
    for count in (LONG_ENTRIES // 2, LONG_ENTRIES - LONG_ENTRIES // 2):
        entries = [said(str(number)) for number in range(count)]
        assert process.ask("appendEntry", ANN, conversationId=LONG, entries=entries).status == 201
    _share(process, LONG, (RITA, "reader"))
    killed_at_write(store, 2, "copyConversation", RITA, conversationId=LONG, id=HALF_COPY)


def begin(store: Store, asked: Mapping[str, Any], *, steps: int) -> None:
    """Start an append as Ann, and kill the process after `steps` writes."""
    killed_at_write(store, steps, "appendEntry", ANN, **asked)


def killed_at_write(
    store: Store,
    number: int,
    name: str,
    caller: Caller,
    /,
    *,
    rewrite: Rewrite | None = None,
    days: int = 0,
    **given: Any,
) -> None:
    """Run an operation, and kill its process after so many writes. days: those of the trash."""
    writes = 0

    def choose(call: Call) -> Fault | None:
        nonlocal writes
        writes += call.operation == WRITE
        return Fault.KILL_AFTER if call.operation == WRITE and writes == number else None

    process = Process(store, choose, rewrite=rewrite)
    process.deleted_days = days
    try:
        raise AssertionError(process.ask(name, caller, **given))
    except Killed:
        pass


def _ahead(store: Store, _process: Process, _made: dict[str, str]) -> None:
    process = Process(store, clock=WrongClock(AHEAD_MS))
    process.ask("appendEntry", ANN, conversationId=ROOT, **said("ahead"))
    assert process.ask("forkConversation", ANN, conversationId=ROOT, id=FORK).status == 201


def _full(store: Store, process: Process, _made: dict[str, str]) -> None:
    process.ask("appendEntry", ANN, conversationId=ROOT, **said("full"))
    for number in range(MEMBERS_MAX - 2):
        store.add_member(ROOT, f"user {number}")


def _given_up(store: Store, _process: Process, _made: dict[str, str]) -> None:
    _sweep(Process(store, clock=later(ABANDONED_SECONDS)))


# Jobs


def later(seconds: int) -> Clock:
    """Return a clock that is so many seconds ahead."""
    return WrongClock(seconds * 1000) if seconds else Clock()


def settle(store: Store, *, in_seconds: int = 0) -> None:
    """Run the sweep and the worker until no job is left.

    in_seconds: how far their clock is ahead, because unfinished creations are given up only later.
    """
    table = Process(store, clock=later(in_seconds)).table
    mailbox = Mailbox()
    for _ in range(DRAINS_MAX):
        swept = sweeper.sweep(table, mailbox.queue)
        messages = mailbox.take()
        for message in messages:
            message.work(table, mailbox.queue)
        if not messages and not mailbox.messages and not (swept.jobs and in_seconds):
            return
    raise AssertionError("the jobs do not come to an end")


# Operations

Run = Callable[[Process, World, str | None], Answer]


@dataclass(frozen=True)
class Operation:
    """A request to a world, by a process with an empty cache.

    run: makes the request, with or without an Idempotency-Key. of: builds the world. knows: a
    conversation that the process has just read as this caller, so that it is cached. takes_key:
    whether it is a POST. repeated: the status of a repetition without a key, if it differs.
    is_read: whether it changes nothing. in_seconds: how much later the request is made. step: how
    far the process's first id is after the last one, if that one is ahead of its clock. name: the
    operation's; None for a job.
    """

    run: Run
    name: str | None = None
    of: Callable[[Endpoint], World] = family
    knows: tuple[str, Caller] | None = None
    takes_key: bool = False
    repeated: int | None = None
    is_read: bool = False
    in_seconds: int = 0
    step: int | None = None

    def process(self, store: Store, choose: Choose, **options: Any) -> Process:
        """Return a process that can run the operation. The faults start with its first call."""
        random = _rising() if self.step is None else _first_step(self.step)
        process = Process(store, clock=later(self.in_seconds), random=random, **options)
        if self.knows is not None:
            conversation_id, caller = self.knows
            assert process.ask("getConversation", caller, conversationId=conversation_id).status == 200
        process.faults.begin(choose)
        return process


def _rising() -> Callable[[int], int]:
    """Return a source of random bits by which the ids of one millisecond are in order."""
    numbers = itertools.count(1)
    low = ids.RANDOM_BITS - NUMBER_BITS

    def bits(wanted: int) -> int:
        is_of_id = wanted == ids.RANDOM_BITS
        return next(numbers) << low | secrets.randbits(low) if is_of_id else random_bits(wanted)

    return bits


def _first_step(step: int) -> Callable[[int], int]:
    """Return a source of random bits, with a fixed first step from one id to the next."""
    left = [step - 1]
    return lambda bits: left.pop() if bits == STEP_BITS and left else random_bits(bits)


def post(
    name: str,
    caller: Caller,
    /,
    *,
    of: Any = family,
    knows: tuple[str, Caller] | None = None,
    step: int | None = None,
    **given: Any,
) -> Operation:
    return Operation(
        lambda process, world, key: _unlinked(
            process.ask(name, caller, idempotency_key=key, **_named(given, world, process))
        ),
        name=name,
        of=of,
        knows=knows,
        takes_key=True,
        step=step,
    )


def change(
    name: str, caller: Caller, /, *, of: Any = family, repeated: int | None = None, **given: Any
) -> Operation:
    return Operation(
        lambda process, world, _key: _unlinked(process.ask(name, caller, **_named(given, world, process))),
        name=name,
        of=of,
        repeated=repeated,
    )


def score(caller: Caller, scores: Mapping[str, float | None], **more: Any) -> Operation:
    """Return the operation that scores these conversations, the first of which names the tree."""
    rows = [{"conversationId": one, "score": held} for one, held in scores.items()]
    return post("setScores", caller, conversationId=next(iter(scores)), scores=rows, **more)


def delete(name: str, caller: Caller, /, *, of: Any = family, repeated: int = 404, **given: Any) -> Operation:
    return change(name, caller, of=of, repeated=repeated, **given)


def remove_note(
    caller: Caller, name: str = "deleteNote", note: str = f"<note on {FORK}>", **more: Any
) -> Operation:
    """Return the deletion of Bob's note on the fork, or of another one on the same entry."""
    return delete(name, caller, of=noted, conversationId=FORK, entryId="<of fork>", noteId=note, **more)


def into_trash(caller: Caller, conversation_id: str, *, of: Any = family, **given: Any) -> Operation:
    """Return the deletion of a tree that can be restored."""

    def run(process: Process, _world: World, _key: str | None) -> Answer:
        return in_days(process).ask("deleteConversation", caller, conversationId=conversation_id, **given)

    return Operation(run, name="deleteConversation", of=of, repeated=404)


def read(name: str, caller: Caller, /, *, of: Any = family, **given: Any) -> Operation:
    return Operation(
        lambda process, world, _key: _unlinked(process.ask(name, caller, **_named(given, world, process))),
        name=name,
        of=of,
        is_read=True,
    )


def work(job: Callable[[Process], object], *, of: Any, in_seconds: int = 0) -> Operation:
    """Return a job as an operation. Its answer is always the same."""

    def run(process: Process, _world: World, _key: str | None) -> Answer:
        try:
            job(process)
        except UnavailableError as error:
            return Answer(error.status, None)
        return Answer(200, None)

    return Operation(run, of=of, in_seconds=in_seconds)


def _named(given: Mapping[str, Any], world: World, process: Process) -> dict[str, Any]:
    """Return `given` with each `<name>` replaced by its id; `<last>` is the id made last."""
    made = {"last": process.last.body.get("id")} if process.last and process.last.body else {}
    names = {f"<{name}>": held for name, held in (NAMES | world.made | made).items() if held}

    def filled(value: Any) -> Any:
        match value:
            case str():
                return names.get(value, value)
            case list():
                return [filled(one) for one in value]
            case dict():
                return {name: filled(one) for name, one in value.items()}
        return value

    return {name: filled(value) for name, value in given.items()}


def _unlinked(answer: Answer) -> Answer:
    """Return an answer without links to attachments, which are those of one store."""

    def without(body: Any) -> Any:
        match body:
            case dict():
                links = {"url", "urlExpiresAt", "upload"}
                return {name: without(held) for name, held in body.items() if name not in links}
            case list():
                return [without(one) for one in body]
        return body

    return replace(answer, body=without(answer.body))


def append(caller: Caller = ANN, to: str = ROOT, entry: Any = None, **more: Any) -> Operation:
    return post("appendEntry", caller, conversationId=to, **(entry or said("new")), **more)


def _sync(caller: Caller, *content: Any, to: str = ROOT) -> Operation:
    return post("syncContext", caller, conversationId=to, contentType="note", content=list(content))


def _fork(caller: Caller = BOB, **more: Any) -> Operation:
    return post("forkConversation", caller, **({"conversationId": ROOT, "id": NEW} | more))


def _merge(
    caller: Caller = BOB, into: str = ROOT, of: str = FORK, *, in_: Any = family, **more: Any
) -> Operation:
    return post("mergeConversation", caller, of=in_, conversationId=into, fromConversationId=of, **more)


def _copy(source: str = FORK, to: str = NEW, **more: Any) -> Operation:
    return post("copyConversation", RITA, conversationId=source, id=to, **more)


def _copy_tree(source: str = FORK, to: str = NEW, **more: Any) -> Operation:
    return post("copyTree", RITA, conversationId=source, id=to, **more)


def by_name(caller: Caller = BOB, name: str = "trip", **more: Any) -> Operation:
    return post("appendEntryByName", caller, name=name, **(said("by name") | more))


def point(caller: Caller = BOB, to: str = FORK, name: str = "trip", **more: Any) -> Operation:
    return post("setName", caller, name=name, conversationId=to, **more)


TAKES = {"name": "trip"}
"""The name that a fork takes."""


def _remove_branch(caller: Caller, conversation_id: str, *, of: Any = family) -> Operation:
    return delete("deleteConversation", caller, of=of, conversationId=conversation_id, scope="branch")


def _list(caller: Caller, to: str, *, of: Any = family, **query: Any) -> Operation:
    return read("listEntries", caller, of=of, conversationId=to, **query)


def part(
    *content: str,
    after: int = 2,
    to: str = ANSWER,
    caller: Caller = BOB,
    of: Any = answering,
    in_: str = FORK,
) -> Operation:
    where: Any = {"conversationId": in_, "answerId": to, "after": after}
    return change("appendToAnswer", caller, of=of, **where, content=list(content))


def stop(caller: Caller = ANN, *, of: Any = answering, in_: str = FORK, what: str = ANSWER) -> Operation:
    return change("stopAnswer", caller, of=of, conversationId=in_, answerId=what)


def drop(caller: Caller = BOB, *, of: Any = answering, in_: str = FORK, what: str = ANSWER) -> Operation:
    return change("deleteAnswer", caller, of=of, conversationId=in_, answerId=what)


def answer(caller: Caller = BOB, *, of: Any = family, in_: str = ROOT, **more: Any) -> Operation:
    return post("beginAnswer", caller, of=of, conversationId=in_, **more)


def finish(caller: Caller = BOB, to: str = FORK, *, of: Any = answering, **more: Any) -> Operation:
    return append(caller, to, of=of, **({"answerId": ANSWER} | more))


def recall(caller: Caller = ANN, of_: str = ROOT, *, of: Any = family) -> Operation:
    """Return a recall by meaning, which embeds what it finds without vectors."""

    def run(process: Process, _world: World, _key: str | None) -> Answer:
        process.table.nearness = nearness()
        asked = {"conversationId": of_, "query": "lodging", "searchType": "semantic"}
        answer = process.ask("searchConversations", caller, **asked)
        return Answer(answer.status, None) if answer.status < 300 else answer

    return Operation(run, of=of)


def with_index(one: Operation) -> Operation:
    """Return an operation of a service whose table has the index of vectors."""

    def run(process: Process, world: World, key: str | None) -> Answer:
        process.table.by_meaning = True
        return one.run(process, world, key)

    return replace(one, run=run)


def _embedded(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert with_index(recall()).run(process, World(), None).status == 200


def _embedded_own(_store: Store, process: Process, _made: dict[str, str]) -> None:
    assert with_index(recall(BOB, OWN)).run(process, World(), None).status == 200


def embedded_own(endpoint: Endpoint) -> World:
    """Return the world of a user with a shelf, whose erasure waits."""
    return build(endpoint, _family, _to_erase, _embedded_own, _erase)


def embedded_erasing(endpoint: Endpoint) -> World:
    """Return the world of a user whose entries have vectors, and whose erasure waits."""
    return build(endpoint, _family, _to_erase, _embedded, _embedded_own, _erase)


def embedded_removed(endpoint: Endpoint) -> World:
    """Return the world of a removed branch whose entries have vectors; a fork shows some of it."""

    def recall_it(store: Store, process: Process, made: dict[str, str]) -> None:
        _forked(store, process, made)
        assert recall(of_=CUT_FORK).run(process, World(), None).status == 200
        _remove(process, CUT_FORK)

    return build(endpoint, recall_it)


def run_prune(group_id: str, conversation_id: str) -> Callable[[Process], object]:
    return go_on(group_id, JobKind.PRUNE, conversation_id)


def run_deletion(group_id: str) -> Callable[[Process], object]:
    return go_on(group_id, JobKind.DELETION)


def go_on(group_id: str, kind: JobKind, branch: str | None = None) -> Callable[[Process], object]:
    """Return what lets a worker without a lease go on with a job."""
    message = worker.JobMessage(group_id, kind, conversation_id=branch)
    return lambda process: worker.go_on(process.table, Mailbox().queue, message, wait_s=0)


def run_erasures(process: Process) -> None:
    """Let a worker make one pass of each erasure."""
    for job in list(process.table.read.jobs(JobKind.ERASURE)):
        assert isinstance(job, Job)
        go_on(job.name.group_id, JobKind.ERASURE)(process)


def delete_unused(process: Process) -> None:
    """Delete the trees that nobody has used for a day, as a sweep does."""
    retention.delete_unused(process.table, Mailbox().queue, days=1)


def empty_trash(process: Process) -> None:
    """End the time of the trees in the trash, as a sweep does when it is over."""
    trash.empty_trash(process.table, Mailbox().queue, days=0, report=_raised)


def _raised(error: Exception) -> None:
    raise error


def _sweep(process: Process) -> None:
    """Sweep, and do the work on members that the sweep announces, as a worker without a lease."""
    mailbox = Mailbox()
    sweeper.sweep(process.table, mailbox.queue)
    for message in mailbox.take():
        if message.kind == JobKind.TRANSFER:
            transfers.finish_rewriting(process.table, message.group_id)
        elif message.kind == JobKind.MEMBERS:
            spreading.spread(process.table, message.group_id)


def give_up_and_clear(group_id: str) -> Callable[[Process], object]:
    def do(process: Process) -> None:
        _sweep(process)
        run_deletion(group_id)(process)

    return do


def _reader_of(one: Any) -> Caller:
    """Return a caller who may send an operation that reads. Links are for managers."""
    return ROOT_CALLER if one.role else MIA if one.name == "listLinks" else RITA


def sampled(one: Card) -> Operation:
    """Return the sample of an operation's card, sent to the world `family`."""
    step, api = one.sample, CALLED[one.operation]
    caller = Caller(step.user, step.agent, frozenset(step.roles))
    make = read if api.is_read else post if api.method == "POST" else change
    return make(one.operation, caller, **step.given)


OPERATIONS: dict[str, Operation] = {
    "append": append(),
    "append by a writer": append(BOB),
    "append, cached": append(knows=(ROOT, ANN)),
    "append by a writer, cached": append(BOB, knows=(ROOT, BOB)),
    "append, ten minutes later": replace(append(BOB), in_seconds=2 * MOVE_MS // 1000),
    "append three": post("appendEntry", ANN, conversationId=ROOT, entries=[said("x"), said("y"), said("z")]),
    "append with If-Match": append(if_match="<third>", knows=(ROOT, ANN)),
    "append context": append(PLANNER, entry=thought("c")),
    "append first context": append(CODER, entry=thought("c")),
    "append context of the next epoch": append(PLANNER, entry=thought("c", epoch=2)),
    "append with context": append(PLANNER, entry=turn("a", "b", "c")),
    "append with context by a writer, cached": append(
        BOBS_PLANNER, entry=turn("a", "b", "c"), knows=(ROOT, BOBS_PLANNER)
    ),
    "append with the same context": append(PLANNER, entry=turn("a", "b")),
    "append with another context": append(PLANNER, entry=turn("z")),
    "append with a first context": append(CODER, entry=turn("c")),
    "append with no context at all": append(CODER, entry=turn()),
    "append several with context": post(
        "appendEntry",
        PLANNER,
        conversationId=ROOT,
        entries=[said("x"), said("y")],
        context={"contentType": "note", "content": ["a", "b", "c"]},
    ),
    "append with context to a new conversation": append(
        PLANNER, to=NEW, entry=turn("a", title="new", tags={"a": "b"}, metadata={"n": 1})
    ),
    "append with context to a fork": append(PLANNER, to=FORK, entry=turn("a", "b", "c")),
    "append with context and fork": append(
        PLANNER,
        to=NEW,
        entry=turn("a", "b", "c"),
        forkedAtConversationId=ROOT,
        forkedAtEntryId="<third>",
        forkedAtPosition="after",
    ),
    "append and fork at the head": append(BOB, to=NEW, forkedAtConversationId=ROOT, forkedAtPosition="head"),
    "append with context and start a child": append(
        PLANNER, to=NEW, entry=turn("a"), startedByConversationId=ROOT
    ),
    "append a large body": append(entry=large(400_000)),
    "append a first text": append(BOB, to=UNTITLED, of=untitled),
    "append to a new conversation": append(BOB, to=NEW),
    "append and fork": append(
        BOB, to=NEW, forkedAtConversationId=ROOT, forkedAtEntryId="<second>", knows=(ROOT, BOB)
    ),
    "append and start a child": append(
        BOB, to=NEW, startedByConversationId=ROOT, startedByEntryId="<second>"
    ),
    "append and start a child with many members": post(
        "appendEntry", ANN, of=crowded, conversationId=NEW, **said("new"), startedByConversationId=CROWD
    ),
    "continue an unfinished child": post(
        "appendEntry", ANN, of=crowded, conversationId=HALF, **said("half"), startedByConversationId=CROWD
    ),
    "append as the previous owner": post(
        "appendEntry", ANN, of=passed, conversationId=PASSED_FORK, **said("new")
    ),
    "append with a key": append(BOB, key="new key", knows=(ROOT, BOB)),
    "append by a name": by_name(knows=(ROOT, BOB)),
    "append by a name, cold": by_name(data={"n": 2}),
    "append context by a name": by_name(BOBS_PLANNER, name="notes", **thought("a")),
    "append by a new name": by_name(name="new"),
    "append by a name whose conversation is deleted": by_name(of=dead_family),
    "append by a new name and fork": by_name(
        name="new", forkedAtConversationId=ROOT, forkedAtEntryId="<second>"
    ),
    "append by a new name and start a child": by_name(name="new", startedByConversationId=ROOT),
    "append by a new name and start a child with many members": by_name(
        ANN, name="new", of=crowded, startedByConversationId=CROWD
    ),
    "append and fork and move a name": append(
        BOB,
        to=NEW,
        forkedAtConversationId=ROOT,
        forkedAtEntryId="<second>",
        name=TAKES | {"expectRevision": 1},
    ),
    "make a name": point(name="new", data={"n": 1}),
    "move a name": point(expectRevision=1),
    "move a name without data": point(name="bare", expectRevision=1),
    "delete a name": delete("deleteName", BOB, name="trip", expectRevision=1),
    "delete a name as an admin": delete("adminDeleteName", ROOT_CALLER, userId="bob", name="trip"),
    "sync more": _sync(PLANNER, "a", "b", "c"),
    "sync by a writer": _sync(BOBS_PLANNER, "a", "b", "c"),
    "sync something else": _sync(PLANNER, "z"),
    "sync the same": _sync(PLANNER, "a", "b"),
    "sync for the first time": _sync(CODER, "a"),
    "sync a new conversation": _sync(PLANNER, "a", to=NEW),
    "create": post("createConversation", BOB, id=NEW, title="new", metadata={"n": 1}),
    "create under a generated id": post("createConversation", BOB, title="new"),
    "fork before an entry": _fork(atEntryId="<third>"),
    "fork after an inherited entry": _fork(conversationId=FORK, atEntryId="<first>", position="after"),
    "fork before a turn": _fork(of=chat, atEntryId="<turned>"),
    "fork after a turn, at its context": _fork(PLANNER, of=chat, atEntryId="<kept>", position="after"),
    "fork before a context entry": _fork(PLANNER, atEntryId="<noted more>"),
    "fork before an entry with If-Match": _fork(atEntryId="<third>", if_match="<third>"),
    "fork at the head": _fork(ANN, resetMetrics=False, title="new"),
    "fork at a key": _fork(conversationId=FORK, atKey="k"),
    "append and fork at a key": append(BOB, to=NEW, forkedAtConversationId=FORK, forkedAtKey="k"),
    "append to a fork that a key names": append(BOB, to=FORK, forkedAtConversationId=ROOT, forkedAtKey="3"),
    "fork before an entry and move a name": _fork(atEntryId="<third>", name=TAKES),
    "fork at the head and move a name": _fork(name=TAKES | {"expectRevision": 1}),
    "fork several": post("forkConversation", BOB, conversationId=ROOT, count=3, atEntryId="<third>"),
    "fork and promote": _fork(promote=True),
    "append, fork and promote": append(BOB, to=NEW, forkedAtConversationId=ROOT, promote=True),
    "append and promote": append(ANN, to=FORK, promote=True, knows=(FORK, ANN)),
    "append and promote by a writer": append(BOB, to=FORK, promote=True),
    "promote": post("promoteConversation", ANN, conversationId=FORK),
    "promote by a writer": post("promoteConversation", BOB, conversationId=FORK),
    "fork under a generated id": post("forkConversation", BOB, conversationId=ROOT),
    "append a summary": append(BOB, mergedFromConversationId=FORK, mergedUpToEntryId="<of fork>"),
    "append a summary and fork": append(
        BOB, to=NEW, forkedAtConversationId=ROOT, mergedFromConversationId=FORK, knows=(ROOT, BOB)
    ),
    "merge": _merge(),
    "merge a part with If-Match": _merge(
        ANN, FORK, ROOT, afterEntryId="<first>", upToEntryId="<third>", if_match="<keyed>"
    ),
    "merge nothing": _merge(of=ROOT),
    "merge with the memory": _merge(PLANNER, FORK, ROOT, withContext=True),
    "copy": _copy(),
    "copy a part": _copy(ROOT, upToEntryId="<second>", title="mine"),
    "copy under a generated id": post("copyConversation", BOB, of=untitled, conversationId=UNTITLED),
    "copy a tree": _copy_tree(),
    "copy a tree with a removed fork": post(
        "copyTree", ANN, of=removed_first, conversationId=CUT_TWIG, id=NEW
    ),
    "continue an unfinished copy of a tree": _copy_tree(to=HALF_COPY, of=half_copied),
    "the sweep and the worker give up a copy of a tree": work(
        give_up_and_clear(HALF_COPY), of=half_copied, in_seconds=ABANDONED_SECONDS
    ),
    "copy many entries": _copy(LONG, of=lengthy),
    "continue an unfinished copy": _copy(LONG, HALF_COPY, of=lengthy),
    "the sweep gives up a copy": work(_sweep, of=lengthy, in_seconds=ABANDONED_SECONDS),
    "the sweep and the worker give up a copy": work(
        give_up_and_clear(HALF_COPY), of=lengthy, in_seconds=ABANDONED_SECONDS
    ),
    "begin an answer": answer(id=NEW),
    "begin an answer with If-Match": answer(PLANNER, agentId="planner", afterKey="3", if_match="<third>"),
    "begin an answer over a silent one": answer(of=hushed, in_=FORK, id=NEW),
    "begin an answer over one's own": answer(of=answering, in_=FORK, id=NEW),
    "begin an answer over any other": answer(ANN, of=answering, in_=FORK, id=NEW, takeOver=True),
    "begin an answer over a removed member's": answer(ANN, of=answering_revoked, in_=FORK, id=NEW),
    "write a part": part("c"),
    "stop an answer": stop(),
    "drop an answer": drop(),
    "drop an answer as the owner": drop(ANN),
    "finish an answer": finish(),
    "finish an answer, cached": finish(knows=(FORK, BOB)),
    "finish an answer that was stopped": finish(ANN, of=stopped),
    "finish an answer in another conversation": finish(to=ROOT),
    "finish an answer by a name": by_name(of=answering, answerId=ANSWER),
    "finish an answer and fork": finish(
        to=NEW, forkedAtConversationId=FORK, forkedAtEntryId="<of fork>", forkedAtPosition="after"
    ),
    "upload": change("uploadAttachment", ANN, of=attached, **PHOTO),
    "upload what is to be sent": change("uploadAttachment", ANN, of=attached, **TO_SEND),
    "upload the same again": change("uploadAttachment", BOB, of=attached, **PHOTO),
    "upload what was removed": change("uploadAttachment", BOB, of=attached_withdrawn, **PHOTO),
    "append an attachment": append(BOB, of=attached, entry=showing("<photo>")),
    "append an attachment of another user": append(RITA, of=attached, to=NEW, entry=showing("<photo>")),
    "append an attachment and fork": append(
        BOB, to=NEW, of=attached, entry=showing("<photo>"), forkedAtConversationId=ROOT
    ),
    "append an attachment and start a child": append(
        BOB, to=NEW, of=attached, entry=showing("<unnamed>"), startedByConversationId=ROOT
    ),
    "merge an attachment": _merge(into=ROOT, of=FORK, in_=attached),
    "copy an attachment": _copy(FORK, of=attached),
    "show an attachment": read("getAttachment", RITA, of=attached, attachmentId="<photo>"),
    "show an attachment of a tree": read(
        "getAttachment", RITA, of=attached, attachmentId="<photo>", conversationId=ROOT
    ),
    "show an attachment as an admin": read(
        "adminGetAttachment", ROOT_CALLER, of=attached, attachmentId="<photo>"
    ),
    "list attachments as an admin": read("adminListAttachments", ROOT_CALLER, of=attached, userId="bob"),
    "remove an attachment": change("adminRemoveAttachment", ROOT_CALLER, of=attached, attachmentId="<photo>"),
    "remove an attachment that nobody names": delete(
        "adminRemoveAttachment", ROOT_CALLER, of=attached, attachmentId="<unnamed>"
    ),
    "the worker, on a removed branch with an attachment": work(run_prune(ROOT, FORK), of=attached_removed),
    "the worker, on a tree with an attachment": work(run_deletion(ROOT), of=attached_dead),
    "the worker, on an erasure with attachments": work(run_erasures, of=attached_erasing),
    "the sweep, on old uploads": work(_sweep, of=attached, in_seconds=TWO_DAYS),
    "change": change("updateConversation", BOB, conversationId=ROOT, title="new", tags={"a": "b"}),
    "change with If-Match": change(
        "updateConversation", ANN, repeated=409, conversationId=ROOT, title="new", if_match="<updated>"
    ),
    "change an untitled conversation": change(
        "updateConversation", ANN, of=untitled, conversationId=UNTITLED, title=None
    ),
    "score": score(BOB, {ROOT: 0.5, FORK: 1}),
    "score as the owner": score(ANN, {FORK: None}),
    "share": post("shareConversation", ANN, conversationId=ROOT, userId="eve", accessLevel="writer"),
    "share with the children": post(
        "shareConversation", ANN, conversationId=ROOT, userId="eve", accessLevel="writer", children="include"
    ),
    "share with the children, as a member already": post(
        "shareConversation",
        MIA,
        of=joined,
        conversationId=ROOT,
        userId="eve",
        accessLevel="writer",
        children="include",
    ),
    "share as a manager": post(
        "shareConversation", MIA, conversationId=ROOT, userId="eve", accessLevel="writer"
    ),
    "change a level": change(
        "updateMembership", ANN, conversationId=ROOT, userId="bob", accessLevel="manager"
    ),
    "change a level to reader": change(
        "updateMembership", MIA, conversationId=ROOT, userId="bob", accessLevel="reader"
    ),
    "archive": change("archiveConversation", BOB, conversationId=FORK),
    "unarchive": change("unarchiveConversation", BOB, of=archived, conversationId=ROOT),
    "pin": change("pinConversation", BOB, conversationId=FORK),
    "pin after another": change(
        "pinConversation", BOB, of=pinned, conversationId=GIVEN, afterConversationId=ROOT
    ),
    "unpin": change("unpinConversation", BOB, of=pinned, conversationId=ROOT),
    "change a level of who has archived": change(
        "updateMembership", ANN, of=archived, conversationId=ROOT, userId="bob", accessLevel="reader"
    ),
    "remove a member": delete("removeMembership", ANN, conversationId=ROOT, userId="bob"),
    "remove a member, but not of children": delete(
        "removeMembership", ANN, conversationId=ROOT, userId="bob", children="keep"
    ),
    "remove a member as a manager": delete(
        "removeMembership", MIA, conversationId=ROOT, userId="bob", children="keep"
    ),
    "remove oneself": delete("removeMembership", BOB, repeated=403, conversationId=ROOT, userId="bob"),
    "remove the recipient": delete("removeMembership", ANN, of=offered, conversationId=GIVEN, userId="bob"),
    "remove the previous owner": delete(
        "removeMembership", BOB, of=passed, conversationId=PASSED, userId="ann"
    ),
    "offer": post("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId="bob"),
    "cancel": delete("deleteTransfer", ANN, of=offered, transferId="<transfer>"),
    "decline": delete("deleteTransfer", BOB, of=offered, transferId="<transfer>"),
    "accept": post("acceptTransfer", BOB, of=offered, transferId="<transfer>"),
    "accept what has links": post("acceptTransfer", BOB, of=linked, transferId="<transfer>"),
    "link": post("createLink", MIA, of=linked, conversationId=GIVEN, userIds=True),
    "link what was passed on": post("createLink", BOB, of=passed, conversationId=PASSED),
    "end a link": delete("deleteLink", ANN, of=linked, conversationId=GIVEN, linkId="<link>"),
    "end a link as an admin": delete(
        "adminDeleteLink", ROOT_CALLER, of=linked, conversationId=GIVEN, linkId="<link>"
    ),
    "open a link": change("openLink", RITA, of=linked, secret="<secret>"),
    "read by a link": read("listLinkedEntries", RITA, of=linked, secret="<secret>"),
    "note": post("addNote", BOB, of=noted, conversationId=FORK, entryId="<first>", text="so", score=1),
    "pin an entry": post("addNote", BOB, of=noted, conversationId=FORK, entryId="<first>", pinned=True),
    "pin what is pinned": post(
        "addNote", BOB, of=noted, conversationId=FORK, entryId="<of fork>", pinned=True
    ),
    "list notes": read("listNotes", RITA, of=noted, conversationId=FORK),
    "list notes of an entry": read("listNotes", RITA, of=noted, conversationId=FORK, entryId="<of fork>"),
    "delete one's own note": remove_note(BOB),
    "delete a note of another": remove_note(MIA),
    "unpin an entry": remove_note(BOB, note="<pin>"),
    "delete a note as an admin": remove_note(ROOT_CALLER, "adminDeleteNote"),
    "the worker, on a removed branch with a note": work(run_prune(ROOT, FORK), of=noted_removed),
    "the worker, on an erasure of who wrote a note": work(run_erasures, of=noted_erasing),
    "delete": delete("deleteConversation", ANN, conversationId=ROOT),
    "delete into the trash": into_trash(ANN, ROOT),
    "delete into the trash where an answer is written": into_trash(ANN, FORK, of=answering),
    "remove the last branch into the trash": into_trash(ANN, UNTITLED, of=untitled, scope="branch"),
    "remove a branch into the trash": into_trash(ANN, FORK, scope="branch"),
    "remove the root into the trash": into_trash(ANN, ROOT, scope="branch"),
    "restore a branch": change("restoreConversation", ANN, of=fork_trashed, conversationId=FORK),
    "restore a branch as a manager": change("restoreConversation", MIA, of=fork_trashed, conversationId=FORK),
    "restore the root": change("restoreConversation", ANN, of=root_trashed, conversationId=ROOT),
    "delete a branch for good": _remove_branch(ANN, FORK, of=fork_trashed),
    "delete into the trash beside a branch there": into_trash(ANN, FORK, of=root_trashed),
    "list the trash with a branch": read("listTrash", ANN, of=fork_trashed),
    "the sweep, on a branch in the trash": work(empty_trash, of=fork_trashed, in_seconds=1),
    "the worker, on a branch in the trash": work(run_prune(ROOT, ROOT), of=half_root_trashed),
    "the worker, on a restored branch": work(run_prune(ROOT, ROOT), of=half_root_restored),
    "restore": change("restoreConversation", ANN, of=trashed, conversationId=FORK),
    "restore a child": change("restoreConversation", ANN, of=child_trashed, conversationId=CHILD),
    "restore as an admin": change("adminRestoreConversation", ROOT_CALLER, of=trashed, conversationId=ROOT),
    "delete for good": delete("deleteConversation", ANN, of=trashed, conversationId=ROOT),
    "list the trash": read("listTrash", ANN, of=trashed),
    "the sweep, on the trash": work(empty_trash, of=trashed, in_seconds=1),
    "the worker, on a tree in the trash": work(run_deletion(ROOT), of=half_trashed),
    "the worker, on a restoring": work(run_deletion(ROOT), of=half_restored),
    "delete where an answer is written": delete("deleteConversation", ANN, of=answering, conversationId=FORK),
    "delete by its fork": delete("deleteConversation", ANN, conversationId=FORK),
    "remove a branch": _remove_branch(ANN, FORK),
    "remove a branch as a manager": _remove_branch(MIA, FORK),
    "remove the root": _remove_branch(ANN, ROOT),
    "remove the last branch": _remove_branch(ANN, UNTITLED, of=untitled),
    "remove a branch as an admin": delete(
        "adminDeleteConversation", ROOT_CALLER, of=offered, conversationId=GIVEN_FORK, scope="branch"
    ),
    "delete a tree with removed branches": delete(
        "deleteConversation", ANN, of=removed_both, conversationId=CUT
    ),
    "delete as an admin": delete("adminDeleteConversation", ROOT_CALLER, of=offered, conversationId=GIVEN),
    "the worker, on a removed member": work(go_on(ROOT, JobKind.MEMBERS), of=half_removed),
    "the worker": work(run_deletion(DEAD), of=dead),
    "the worker, on a removed branch": work(run_prune(CUT, CUT_FORK), of=removed_first),
    "the worker, on a removed branch with an answer": work(run_prune(ROOT, FORK), of=answering_removed),
    "the worker, on a removed branch of a live one": work(run_prune(CUT, CUT_TWIG), of=twig_removed),
    "the worker, on a removed branch of one in the trash": work(run_prune(CUT, CUT_TWIG), of=twig_of_trashed),
    "the worker, on a removed branch of a removed one": work(run_prune(CUT, CUT_TWIG), of=removed_both),
    "the worker, on a removed root": work(run_prune(ROOT, ROOT), of=removed_root),
    "the worker, on a removed branch by a message": work(
        lambda process: Message(CUT, 0, JobKind.PRUNE, None, CUT_TWIG).work(process.table, Mailbox().queue),
        of=removed_both,
    ),
    "the worker, on a family": work(run_deletion(ROOT), of=dead_family),
    "the worker, on a child": work(run_deletion(CHILD), of=dead_child),
    "the worker, by a message": work(
        lambda process: Message(DEAD, 0).work(process.table, Mailbox().queue), of=dead
    ),
    "the worker, on an offered tree": work(run_deletion(GIVEN), of=dead_offered),
    "the worker, on a transferred tree": work(run_deletion(PASSED), of=dead_passed),
    "erase a user": post("adminEraseUser", ROOT_CALLER, of=to_erase, userId="bob"),
    "the worker, on an erasure": work(run_erasures, of=erasing),
    "the worker, at the end of an erasure": work(run_erasures, of=nearly_erased),
    "the sweep, with a retention": work(delete_unused, of=unused),
    "the sweep": work(_sweep, of=passed),
    "the sweep gives up": work(_sweep, of=crowded, in_seconds=ABANDONED_SECONDS),
    "the sweep and the worker give up": work(
        give_up_and_clear(HALF), of=crowded, in_seconds=ABANDONED_SECONDS
    ),
    "read forward": _list(BOB, FORK, limit=2),
    "read the tail": _list(BOB, FORK, tail=True, limit=2),
    "read before an entry": _list(PLANNER, ROOT, beforeCursor="<third>", limit=2),
    "read up to a turn": _list(PLANNER, ROOT, of=chat, upToEntryId="<turned>", tail=True, limit=2),
    "read all forks": _list(BOB, ROOT, allForks=True, limit=3),
    "read the latest epoch": _list(PLANNER, ROOT, channel="context"),
    "read a large body": read("listEntries", ANN, of=passed, conversationId=PASSED),
    "read alternatives": _list(BOB, FORK, alternatives=True),
    "read the own tail with alternatives": _list(RITA, FORK, own=True, alternatives=True, tail=True, limit=1),
    "read an answer": read("getAnswer", RITA, of=answering, conversationId=FORK, answerId=ANSWER, after=1),
    "read an answer as an admin": read(
        "adminGetAnswer", ROOT_CALLER, of=stopped, conversationId=FORK, answerId=ANSWER
    ),
    "read to where an answer is written": _list(RITA, FORK, of=answering, tail=True),
    "show where an answer is written": read("getConversation", RITA, of=answering, conversationId=FORK),
    "read by a key": read("lookUpEntry", RITA, conversationId=FORK, key="k"),
    "read by a key as an admin": read("adminLookUpEntry", ROOT_CALLER, conversationId=FORK, key="k"),
    "read by a name": read("listEntriesByName", BOB, name="trip", limit=2),
    "list names": read("listNames", BOB, limit=1),
    "look a name up": read("lookUpName", BOB, name="trip"),
    "list names as an admin": read("adminListNames", ROOT_CALLER, userId="bob"),
    "look a name up as an admin": read("adminLookUpName", ROOT_CALLER, userId="bob", name="trip"),
    "list": read("listConversations", BOB, of=peaceful, mode="all", ancestry="all"),
    "list the current": read("listConversations", ANN, of=peaceful, mode="current", tag="a"),
    "list the latest": read("listConversations", ANN, of=peaceful),
    "search": read("searchConversations", BOB, of=peaceful, query="R", limit=2),
    "search a large body": read("searchConversations", ANN, of=passed, query="nowhere"),
    "recall": recall(BOB),
    "recall again": recall(BOB, FORK, of=embedded_erasing),
    "the worker, on an erasure of what has vectors": work(run_erasures, of=embedded_erasing),
    "the worker, on a removed branch with vectors": work(run_prune(CUT, CUT_FORK), of=embedded_removed),
    "list children of an entry": read("listChildren", BOB, conversationId=ROOT, startedByEntryId="<first>"),
    "list offers": read("listTransfers", BOB, of=offered, role="all"),
    "show an offer": read("getTransfer", ANN, of=offered, transferId="<transfer>"),
    "list as an admin": read("adminListConversations", ROOT_CALLER, of=peaceful),
    "list a user's as an admin": read("adminListConversations", ROOT_CALLER, of=peaceful, userId="bob"),
    "search as an admin": read("adminSearchConversations", ROOT_CALLER, of=peaceful, query="r"),
    "show an erasure": read("adminGetErasure", ROOT_CALLER, of=erasing, erasureId="<erasure>"),
    **{
        f"{one.name} of the {of}": read(one.name, _reader_of(one), conversationId=id_)
        for one in OF_A_CONVERSATION
        for of, id_ in (("root", ROOT), ("fork", FORK))
    },
}
OPERATIONS |= {
    one.operation: sampled(one)
    for one in CARDS
    if one.operation not in {made.name for made in OPERATIONS.values()} | UNSTORED
}
"""Requests and jobs that are run with faults: of each operation at least its sample."""

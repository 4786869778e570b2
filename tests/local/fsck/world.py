"""A table with every kind of item, made by the service itself. It also has unfinished work."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.attachments import PENDING_SECONDS
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, Conversation, JobKind, StartedBy
from forklore_service.domain.rate import window_of
from forklore_service.domain.tree import Member
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.attachments.ending import end_upload
from forklore_service.usecases.background import sweeper, worker
from forklore_service.usecases.deletion import branch_removal, retention, tree_deletion
from forklore_service.usecases.people import erasure_requests
from tests.service.reliability.faults import Call, Fault, Killed, at
from tests.service.reliability.service import Process
from tests.support.mailbox import Mailbox, run_deletion
from tests.support.meaning import nearness
from tests.support.tables import Store, WrongClock
from tools.catalogue import PHOTO

ANN, BOB, EVE = Caller("ann"), Caller("bob"), Caller("eve/#")
PLANNER, CODER = Caller("ann", "planner"), Caller("ann", "co#der")
KILLED_AT = 8
"""The process is killed before this call of a deletion: a child is closed, and HEADs are left."""
OLD = "2026-01-01T00:00:00.000Z"


def conversation(number: int) -> str:
    """Return the id of a conversation."""
    return f"{number:08x}-0000-4000-8000-000000000000"


ROOT, FORK, TWIG, BLANK, HEAD_FORK, FIRST_FORK, APPENDED_FORK = map(conversation, range(1, 8))
CHILD, HANDED, HANDED_FORK, CREATING, UNBORN, GONE, DYING, DYING_FORK, DYING_CHILD = map(
    conversation, range(11, 20)
)
PLAIN = conversation(30)
FORMER, KEPT, SHOWING, LATER, LATER_CHILD = map(conversation, range(40, 45))
"""A tree whose root FORMER and whose fork KEPT were removed, and that SHOWING still shows; and
LATER, which waits for the worker, with its child."""
VANISHED, LEFT = map(conversation, range(45, 47))
"""A tree whose root left nothing but its id, and its other branch."""
CHAT, CHAT_FORK = conversation(31), conversation(32)
ANSWERED, ANSWER = conversation(34), conversation(35)
"""A finished answer in PLAIN, and one that is being written there."""
SHOWING_FILE = conversation(36)
"""A tree with an entry that names an attachment."""
MEANT = conversation(37)
"""A tree whose entries have vectors."""
NOTES = conversation(33)
"""A tree with entries of two erased users. The erasure of the second one still runs."""


@dataclass(frozen=True)
class World:
    """The ids of what was made. said, thoughts: entries of ROOT in its history and its context.

    turn: the entries of a turn of CHAT, of which the second one is of the history. keyed: entries
    of PLAIN that have keys. meant: entries of MEANT. named, unnamed: attachments; an entry of
    SHOWING_FILE names the first.
    """

    said: list[str]
    thoughts: list[str]
    large: str
    started: str
    turn: list[str]
    keyed: list[str]
    meant: list[str]
    named: str = ""
    unnamed: str = ""


def build(store: Store) -> World:
    """Fill an empty table."""
    process = Process(store, in_order=True)
    world = _main_tree(process)
    _handed_over(store, process)
    process.table.count_requests("ann", window_of(process.table.now_s()), by=3)
    _creating(process.table)
    _never_live(process.table)
    _gone(process)
    _removed(process)
    _erased(process)
    named, unnamed = _attached(store, process)
    world = replace(world, named=named, unnamed=unnamed)
    retention.delete_unused(process.table, Mailbox().queue, days=36_500)
    dying(process)
    with pytest.raises(Killed):
        delete(Process(store, at(KILLED_AT, Fault.KILL), in_order=True))
    return world


def say(process: Process, conversation_id: str, text: str, by: Caller = ANN, **given: Any) -> str:
    content = [{"role": "USER", "text": text}]
    answer = process.ask(
        "appendEntry", by, conversationId=conversation_id, contentType="history", content=content, **given
    )
    return answer.id


def think(process: Process, conversation_id: str, text: str, by: Caller = PLANNER, **given: Any) -> str:
    answer = process.ask(
        "appendEntry",
        by,
        conversationId=conversation_id,
        channel="context",
        contentType="application/json",
        content=[text],
        **given,
    )
    return answer.id


def answer(process: Process, answer_id: str, *then: str) -> None:
    """Begin an answer of two pieces in the tree of Bob's own. then: other operations on it."""
    asked = {"conversationId": PLAIN, "answerId": answer_id}
    begun = process.ask("beginAnswer", BOB, conversationId=PLAIN, id=answer_id, agentId="helper")
    assert begun.status == 201, begun
    for after in (0, 1):
        assert process.ask("appendToAnswer", BOB, **asked, after=after, content=["a"]).status == 201
    for operation in then:
        assert process.ask(operation, BOB, **asked).status == 200


def _large(size: int) -> str:
    """Return text that takes about `size` bytes when it is compressed."""
    return Random(size).randbytes(size).hex()


def _move(table: Table, group_id: str, user_id: str) -> None:
    """Move a member's row in the list by use twice, as two uses do."""
    group = table.get([keys.group(group_id)]).group(group_id)
    assert group is not None
    key = keys.user_tree(user_id, group.created_at, group_id, is_child=group.is_child)
    for minutes in (11, 22):
        row, at = table.get([key]).tree_row(key), ids.timestamp(table.now_ms() + minutes * 60_000)
        assert row is not None
        assert table.update(actions.member.move_row(group, user_id, row, at=at))


def _main_tree(process: Process) -> World:
    said = [
        say(process, ROOT, "one", idempotency_key="k1", usage={"inputTokens": 5, "costUsd": 0.1 * 3 + 6e-10}),
        say(process, ROOT, "two"),
    ]
    thoughts = [think(process, ROOT, "a"), think(process, ROOT, "b", epoch=2), think(process, ROOT, "c")]
    think(process, ROOT, "x", by=CODER, epoch=4)
    said.append(say(process, ROOT, "three"))
    large = say(process, ROOT, _large(370_000))
    for user, level in (("bob", "writer"), ("eve/#", "manager")):
        shared = process.ask(
            "shareConversation",
            ANN,
            conversationId=ROOT,
            userId=user,
            accessLevel=level,
            idempotency_key=user,
        )
        assert shared.status == 201, shared
    forked: dict[str, Any] = {"conversationId": ROOT}
    made = [
        process.ask("forkConversation", ANN, **forked, id=FORK, atEntryId=said[2], resetMetrics=False),
        process.ask("forkConversation", ANN, **forked, id=BLANK, atEntryId=said[0]),
        process.ask("forkConversation", BOB, **forked, id=HEAD_FORK, idempotency_key="f"),
    ]
    say(process, FORK, "in the fork")
    think(process, FORK, "d")
    think(process, FORK, "e", epoch=3)
    first = say(process, HEAD_FORK, "first of the head's fork", by=BOB)
    think(process, HEAD_FORK, "f")
    made += [
        process.ask(
            "forkConversation", ANN, conversationId=FORK, id=TWIG, atEntryId=said[1], position="after"
        ),
        process.ask("forkConversation", ANN, conversationId=HEAD_FORK, id=FIRST_FORK, atEntryId=first),
    ]
    assert [answer.status for answer in made] == [201] * len(made), made
    say(
        process,
        APPENDED_FORK,
        "a fork by its first entry",
        forkedAtConversationId=FORK,
        forkedAtEntryId=said[1],
        idempotency_key="af",
    )
    started = say(
        process, CHILD, "do it", startedByConversationId=FORK, startedByEntryId=said[0], idempotency_key="c"
    )
    keyed = [
        say(process, PLAIN, "a tree of its own", by=BOB, key="k#1"),
        say(process, PLAIN, "more of it", by=BOB, key="k2"),
    ]
    named = process.ask("setName", BOB, name="tr#p", conversationId=PLAIN, data={"a": 1})
    assert named.status == 200, named
    process.ask("setName", PLANNER, name="thread", conversationId=ROOT)
    offered = process.ask("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId="bob")
    assert offered.status == 201, offered
    assert process.ask("archiveConversation", BOB, conversationId=ROOT).status == 204
    shown: dict[str, Any] = {"upToEntryId": large, "userIds": True}
    linked = process.ask("createLink", ANN, conversationId=ROOT, keepOnTransfer=True, **shown)
    assert process.ask("openLink", ANN, secret=linked.body["secret"]).status == 200
    noted = process.ask("addNote", ANN, conversationId=ROOT, entryId=large, text="so")
    assert noted.status == 201, noted
    assert process.ask("addNote", ANN, conversationId=ROOT, entryId=large, pinned=True).status == 201
    for pinned in (ROOT, FORK, PLAIN):
        assert process.ask("pinConversation", BOB, conversationId=pinned).status == 204
    _move(process.table, ROOT, "eve/#")
    answer(process, ANSWERED, "stopAnswer")
    say(process, PLAIN, "an answer", by=BOB, answerId=ANSWERED)
    answer(process, ANSWER)
    synced = process.ask(
        "syncContext",
        PLANNER,
        conversationId=APPENDED_FORK,
        contentType="application/json",
        content=["a", "z"],
        idempotency_key="s",
    )
    assert synced.status == 200, synced
    return World(said, thoughts, large, started, _chat(process), keyed, _recalled(process))


def _recalled(process: Process) -> list[str]:
    """Make a tree whose entries have vectors, one of them two. Return these entries.

    The index holds all but those of the last entry.
    """
    process.table.nearness, process.table.by_meaning = nearness(), True
    meant = []
    for text in ("The inn.", "fish " * 400, "A train."):
        meant.append(say(process, MEANT, text))
        asked = {"query": "lodging", "searchType": "semantic"}
        process.table.by_meaning = len(meant) < 3
        assert process.ask("searchConversations", ANN, conversationId=MEANT, **asked).status == 200
    return meant


def _chat(process: Process) -> list[str]:
    """Make a tree with turns, and a fork at the context of one. Return the entries of that turn."""
    say(process, CHAT, "hello", by=PLANNER, context={"contentType": "note", "content": ["hello"]})
    entries = [
        {"channel": "context", "contentType": "note", "content": ["more"]},
        {"contentType": "history", "content": [{"text": "more"}]},
        {"channel": "context", "contentType": "note", "content": ["and more"]},
    ]
    made = process.ask("appendEntry", PLANNER, conversationId=CHAT, entries=entries)
    turn = [entry["id"] for entry in made.body["data"]]
    at = {"atEntryId": turn[0], "position": "after"}
    assert process.ask("forkConversation", PLANNER, conversationId=CHAT, id=CHAT_FORK, **at).status == 201
    say(process, CHAT, "bye", by=PLANNER)
    return turn


def _handed_over(store: Store, process: Process) -> None:
    """Make a tree whose HEADs do not all name its new owner yet."""
    say(process, HANDED, "mine")
    fork = process.ask("forkConversation", ANN, conversationId=HANDED, id=HANDED_FORK)
    assert fork.status == 201, fork
    shared = process.ask("shareConversation", ANN, conversationId=HANDED, userId="bob", accessLevel="writer")
    assert shared.status == 201
    offered = process.ask("requestTransfer", ANN, conversationId=HANDED, newOwnerUserId="bob")
    committed: list[Call] = []

    def after_the_commit(call: Call) -> Fault | None:
        fault = Fault.KILL if committed else None
        committed.extend([call] if call.operation == "TransactWriteItems" else [])
        return fault

    with pytest.raises(Killed):
        Process(store, after_the_commit, in_order=True).ask("acceptTransfer", BOB, transferId=offered.id)


def begin(table: Table, group_id: str, created_at: str, *users: str) -> None:
    """Begin to create a child of PLAIN, with some of its members."""
    root = Conversation(group_id, group_id, created_at, started_by=StartedBy(PLAIN, None))
    child_key = keys.child(PLAIN, PLAIN, ListKey(created_at, group_id))
    table.commit(
        actions.group.begin_tree(
            root,
            owner="bob",
            members=70,
            child_key=child_key,
            nonce="n",
            taken_from=None,
            now_s=table.now_s(),
        )
    )
    for user in users:
        table.commit(actions.member.copy(root, Member(user, AccessLevel.WRITER, created_at)))


def _creating(table: Table) -> None:
    begin(table, CREATING, OLD, "u1", "u2")


def _never_live(table: Table) -> None:
    """Begin to create a tree, and give it up."""
    begin(table, UNBORN, OLD, "u1", "u2")
    assert sweeper._give_up_creation(table, UNBORN)


def _gone(process: Process) -> None:
    say(process, GONE, "soon gone", idempotency_key="retired")
    mailbox = Mailbox()
    tree_deletion.delete_conversation(
        process.table, mailbox.queue, caller=ANN, conversation_id=GONE, wait_s=0
    )
    assert run_deletion(process.table, mailbox.queue, GONE, wait_s=-2)


def remove(process: Process, conversation_id: str, *, then_prune: bool) -> None:
    """Remove a branch, without the usual wait."""
    mailbox = Mailbox()
    table, queue = process.table, mailbox.queue
    branch_removal.remove_branch(table, queue, caller=ANN, conversation_id=conversation_id, wait_s=0)
    while then_prune and mailbox.messages:
        for message in mailbox.take():
            message.work(table, queue)


def _removed(process: Process) -> None:
    """Make a tree with removed branches, and one whose removed root left nothing."""
    say(process, FORMER, "of the root", idempotency_key="r")
    think(process, FORMER, "known")
    _fork(process, FORMER, KEPT)
    say(process, KEPT, "of the branch", idempotency_key="rb")
    think(process, KEPT, "more", epoch=2)
    think(process, KEPT, "much more", epoch=3)
    later = say(process, KEPT, "shown by nobody")
    say(process, KEPT, _large(50_000))
    _fork(process, KEPT, SHOWING, atEntryId=later)
    say(process, SHOWING, "last")
    remove(process, FORMER, then_prune=True)
    remove(process, KEPT, then_prune=True)
    _fork(process, SHOWING, LATER)
    say(process, LATER, _large(40_000))
    think(process, LATER, "soon gone")
    say(process, LATER_CHILD, "work", startedByConversationId=LATER)
    remove(process, LATER, then_prune=False)
    first = say(process, VANISHED, "edited")
    _fork(process, VANISHED, LEFT, atEntryId=first)
    remove(process, VANISHED, then_prune=True)


def _fork(process: Process, source: str, fork: str, **given: Any) -> None:
    forked = process.ask("forkConversation", ANN, conversationId=source, id=fork, **given)
    assert forked.status == 201, forked


def _erased(process: Process) -> None:
    """Erase a user, and begin to erase another one."""
    say(process, NOTES, "by ann")
    for user, passes in (("zoe", 2), ("yan", 1)):
        shared = {"conversationId": NOTES, "userId": user, "accessLevel": "writer"}
        assert process.ask("shareConversation", ANN, **shared).status == 201
        say(process, NOTES, _large(40_000), by=Caller(user), key=user)
        queue = Mailbox().queue
        erasure = erasure_requests.erase_user(process.table, queue, caller=ANN, user_id=user)
        for _ in range(passes):
            message = worker.JobMessage(erasure.erasure_id, JobKind.ERASURE)
            worker.go_on(process.table, queue, message, wait_s=0)


def _attached(store: Store, process: Process) -> tuple[str, str]:
    """Upload two attachments, and name the first one in an entry."""
    named, unnamed = (
        process.ask("uploadAttachment", EVE, **PHOTO | {"contentType": kind}).id
        for kind in ("image/png", "image/gif")
    )
    content = [{"text": "look", "attachments": [{"id": named}]}]
    said = process.ask(
        "appendEntry", EVE, conversationId=SHOWING_FILE, contentType="history", content=content
    )
    assert said.status == 201, said
    in_a_day = store.process(clock=WrongClock((PENDING_SECONDS + 1) * 1000))
    file = in_a_day.get([keys.file(named)]).file(named)
    assert file is not None
    end_upload(in_a_day, named, file.due)
    return named, unnamed


def dying(process: Process) -> None:
    """Make a tree to delete: with a fork, a child, context, a large body and a pending transfer."""
    say(process, DYING, "to be deleted", idempotency_key="d")
    think(process, DYING, "deep")
    say(process, DYING, _large(40_000))
    fork = process.ask("forkConversation", ANN, conversationId=DYING, id=DYING_FORK)
    assert fork.status == 201
    say(process, DYING_FORK, "also")
    say(process, DYING_CHILD, "work", startedByConversationId=DYING)
    process.ask("shareConversation", ANN, conversationId=DYING, userId="bob", accessLevel="writer")
    process.ask("requestTransfer", ANN, conversationId=DYING, newOwnerUserId="bob")


def delete(process: Process) -> None:
    """Delete DYING and its child completely."""
    delete_tree(process, DYING)


def delete_tree(process: Process, root: str) -> None:
    """Delete a tree and its children completely, without the usual wait."""
    mailbox = Mailbox()
    tree_deletion.delete_conversation(
        process.table, mailbox.queue, caller=ANN, conversation_id=root, wait_s=0
    )
    for message in mailbox.take():
        assert run_deletion(process.table, mailbox.queue, message.group_id, wait_s=-2)

"""Corruptions of a table, each with the kinds of findings that must report it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.ancestry import Segment
from forklore_service.domain.attachments import Reference
from forklore_service.domain.epochs import digest_of
from forklore_service.domain.erasures import NO_CONTENT
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import Channel, LastEntries
from forklore_service.domain.names import NameOwner, NameRef
from forklore_service.domain.notes import NoteRef
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ForkRecord
from forklore_service.storage import bodies, items
from forklore_service.storage.connection import Item
from forklore_service.storage.items import binary, number, text
from forklore_service.storage.table import COUNT_SECONDS
from tests.local.fsck.made import Made, record_item
from tests.local.fsck.world import (
    ANSWER,
    ANSWERED,
    APPENDED_FORK,
    BLANK,
    CHAT,
    CHAT_FORK,
    CHILD,
    CREATING,
    DYING,
    DYING_FORK,
    FIRST_FORK,
    FORK,
    FORMER,
    GONE,
    HANDED,
    HANDED_FORK,
    HEAD_FORK,
    KEPT,
    LATER,
    MEANT,
    PLAIN,
    ROOT,
    SHOWING,
    SHOWING_FILE,
    TWIG,
    UNBORN,
    VANISHED,
    conversation,
)
from tests.support.tables import DAY_S

STRANGER = conversation(99)
NOW = "2026-03-01T09:15:00.000Z"
LATE = EntryId("019ca8ad-fa20-7000-8000-000000000005")
LATE_IN_2099 = EntryId("03b63b45-c000-7000-8000-000000000005")


@dataclass(frozen=True)
class Corruption:
    """A change to an intact table, and the kinds of findings that it causes: these and no others.

    does: the change in words. It is the id of the test.
    """

    does: str
    spoil: Callable[[Made], object]
    kinds: frozenset[str]

    def __str__(self) -> str:
        return self.does


def a(does: str, kinds: str, spoil: Callable[[Made], object]) -> Corruption:
    return Corruption(does, spoil, frozenset(kinds.split()))


def head(conversation_id: str, group_id: str = ROOT) -> Key:
    return keys.head(group_id, conversation_id)


def conv(conversation_id: str, group_id: str = ROOT) -> Key:
    return keys.conversation(group_id, conversation_id)


def in_trash(group_id: str) -> dict[str, Any]:
    """Return what GROUP has of a tree in the trash."""
    partition, sort = keys.trashed_tree(group_id, NOW)
    return {"state": text("trash"), "trashedAt": text(NOW), "G1": text(partition), "G1S": text(sort)}


def branch_in_trash(group_id: str, branch_id: str, removed_at: str) -> dict[str, Any]:
    """Return what GONE has of a branch in the trash."""
    partition, sort = keys.trashed_tree(group_id, removed_at, branch_id)
    return {"G1": text(partition), "G1S": text(sort)}


def keyed(key: str) -> Key:
    """Return the key of the item for an entry's key."""
    return keys.entry_key(PLAIN, PLAIN, key)


def meant(m: Made, at: int) -> Key:
    """Return the key of the first vector of an entry of MEANT."""
    return keys.vector(MEANT, MEANT, EntryId(m.world.meant[at]), 0)


def part(at: int, answer_id: str = ANSWERED) -> Key:
    return keys.part(PLAIN, answer_id, at)


def _listed_file(m: Made, attachment_id: str) -> Key:
    """Return the key of the item that names an attachment among those of its owner."""
    found = (key for key, item in m.contents.items() if kind_of(key) is Kind.USER_FILE)
    return next(key for key in found if m.contents[key]["file"] == text(attachment_id))


A_ROW = keys.user_tree("bob", NOW, PLAIN, is_child=False).sort
NAME = keys.name(NameRef(NameOwner("bob", None), "tr#p"))


def _entry_of_nobody(m: Made) -> None:
    m.copy_to(m.said(0), Key(PLAIN, m.said(0).sort))


def _widen(m: Made) -> None:
    """Let a fork of a fork show more of the root than its source shows."""
    m.set_path(TWIG, (Segment(ROOT, ids.next_id(EntryId(m.world.said[2]))),))
    m.change(conv(TWIG), forkedAtEntryId=text(m.world.said[2]))
    m.change(head(TWIG), floor=text(m.path(TWIG)[-1].stop), last=text(m.path(TWIG)[-1].stop))
    m.change(head(TWIG), lastHistory=text(m.world.said[2]))


def _swap_segments(m: Made) -> None:
    near, far = m.path(FIRST_FORK), m.path(HEAD_FORK)
    assert near == far
    first, *_ = far
    m.set_path(FIRST_FORK, (first, Segment(HEAD_FORK, FIRST)))


def _swallow(m: Made) -> None:
    """Let a path contain its own conversation."""
    m.set_path(HEAD_FORK, (*m.path(HEAD_FORK), Segment(HEAD_FORK, ids.next_id(m.path(HEAD_FORK)[-1].stop))))


def _place(m: Made, conversation_id: str) -> ListKey:
    return ListKey(m.created_at(conversation_id), conversation_id)


def _remnant_of_nothing() -> Item:
    record = ForkRecord(PLAIN, FIRST, NOW, STRANGER, is_removed=True)
    return items.remnant_item(Remnant(PLAIN, STRANGER, NOW, "n", record))


def _live_again(m: Made) -> None:
    """Give a removed branch a HEAD and a CONV."""
    m.copy_to(head(SHOWING, FORMER), head(KEPT, FORMER))
    m.copy_to(conv(SHOWING, FORMER), conv(KEPT, FORMER))


def _child_of_nobody(m: Made) -> None:
    """Let a child name a parent that does not exist."""
    child_key = keys.child(ROOT, STRANGER, ListKey(m.created_at(CHILD, CHILD), CHILD))
    m.move(m.key(Kind.CHILD, CHILD), child_key)
    m.change(conv(CHILD, CHILD), startedByConversationId=text(STRANGER))
    m.change(keys.group(CHILD), childKey=text(child_key.sort))


def _erased(m: Made) -> Key:
    """Return the key of the first entry that was erased."""
    return next(key for key, item in sorted(m.contents.items()) if "erased" in item)


def _erasure(m: Made, *, is_done: bool) -> Key:
    records = (key for key in m.contents if kind_of(key) is Kind.ERASURE)
    return next(key for key in records if ("finishedAt" in m.contents[key]) == is_done)


CORRUPTIONS = [
    # GROUP
    a("a tree without its GROUP", "missing_group orphan_user_tree", lambda m: m.take(keys.group(PLAIN))),
    a(
        "a live tree with the state of a creation",
        "early_conv missing_job wrong_state",
        lambda m: m.change(keys.group(PLAIN), state=text("creating")),
    ),
    a(
        "a deleted tree without its deletion time",
        "wrong_state",
        lambda m: m.change(keys.group(DYING), deletedAt=None),
    ),
    a(
        "a live tree with a deletion time",
        "wrong_state",
        lambda m: m.change(keys.group(PLAIN), deletedAt=text(NOW)),
    ),
    a(
        "a HEAD that is shut in a live tree",
        "shut_head",
        lambda m: m.change(head(PLAIN, PLAIN), last=None, shut=m.contents[head(PLAIN, PLAIN)]["last"]),
    ),
    a(
        "a tree in the trash with a HEAD that is open",
        "open_head",
        lambda m: m.change(keys.group(PLAIN), **in_trash(PLAIN)),
    ),
    a(
        "a child that went into the trash with a live tree",
        "wrong_cascaded",
        lambda m: m.change(
            keys.group(CHILD), **in_trash(CHILD) | {"G1": None, "G1S": None, "cascaded": {"BOOL": True}}
        ),
    ),
    a(
        "a tree in the trash without the time",
        "open_head wrong_g1 wrong_state",
        lambda m: m.change(keys.group(PLAIN), state=text("trash")),
    ),
    a(
        "an unknown state",
        "malformed_group orphan_user_tree",
        lambda m: m.change(keys.group(PLAIN), state=text("asleep")),
    ),
    a(
        "GROUP names another owner",
        "wrong_head_owner wrong_owner",
        lambda m: m.change(keys.group(PLAIN), owner=text("eve")),
    ),
    a("GROUP counts too many members", "wrong_members", lambda m: m.add(keys.group(PLAIN), "members", 1)),
    a("GROUP counts too few children", "wrong_children", lambda m: m.add(keys.group(ROOT), "children", -1)),
    a(
        "GROUP counts a child that does not exist",
        "wrong_children",
        lambda m: m.change(keys.group(PLAIN), children=number(1)),
    ),
    a(
        "GROUP counts too few conversations",
        "wrong_conversations",
        lambda m: m.add(keys.group(ROOT), "conversations", -1),
    ),
    a(
        "GROUP has another creation time",
        "missing_user_tree orphan_user_tree wrong_created_at wrong_g1",
        lambda m: m.change(keys.group(PLAIN), createdAt=text(NOW)),
    ),
    a(
        "a tree missing in the list of all trees",
        "wrong_g1",
        lambda m: m.change(keys.group(PLAIN), G1=None, G1S=None),
    ),
    a(
        "a tree in the wrong shard of the list of all trees",
        "wrong_g1",
        lambda m: m.change(keys.group(PLAIN), G1=text("TREES#9")),
    ),
    a(
        "a deleted tree in the list of all trees",
        "wrong_g1",
        lambda m: m.change(keys.group(DYING), G1=text("TREES#1"), G1S=text("x")),
    ),
    a(
        "the former owner is not a member",
        "wrong_head_owner wrong_rewriting",
        lambda m: m.change(keys.group(HANDED), rewriting=text("eve")),
    ),
    a(
        "a change that spreads, and is not noted",
        "wrong_spreading missing_job",
        lambda m: m.change(keys.group(HANDED), spreading=text("x")),
    ),
    # Members
    a(
        "a membership is missing",
        "wrong_members orphan_user_tree",
        lambda m: m.take(keys.member(ROOT, "eve/#")),
    ),
    a(
        "a tree without an owner",
        "wrong_owner wrong_user_tree",
        lambda m: m.change(keys.member(PLAIN, "bob"), level=text("writer")),
    ),
    a(
        "two owners",
        "wrong_owner wrong_user_tree",
        lambda m: m.change(keys.member(ROOT, "eve/#"), level=text("owner")),
    ),
    a(
        "an unknown access level",
        "malformed_mem orphan_user_tree wrong_members",
        lambda m: m.change(keys.member(ROOT, "eve/#"), level=text("god")),
    ),
    a(
        "a member under another's key",
        "malformed_mem orphan_user_tree wrong_members",
        lambda m: m.change(keys.member(ROOT, "eve/#"), userId=text("eve")),
    ),
    a("a list row is missing", "missing_user_tree", lambda m: m.take(m.mine("bob"))),
    a(
        "a list row with another level",
        "wrong_user_tree",
        lambda m: m.change(m.mine("bob"), level=text("reader")),
    ),
    a(
        "a list row that is archived alone",
        "wrong_user_tree",
        lambda m: m.change(m.mine("ann"), archived={"BOOL": True}),
    ),
    a(
        "a list row that is no longer archived, alone",
        "wrong_user_tree",
        lambda m: m.change(m.mine("bob"), archived=None),
    ),
    a(
        "a list row with an unknown level",
        "malformed_user_tree",
        lambda m: m.change(m.mine("bob"), level=text("god")),
    ),
    a(
        "a list row that stands elsewhere than its last move",
        "malformed_user_tree",
        lambda m: m.change(m.mine("eve/#"), L1=text(m.mine("eve/#").sort)),
    ),
    a(
        "a list row that is in the list by use, and tells of no move",
        "malformed_user_tree",
        lambda m: m.change(m.mine("eve/#"), moves=None),
    ),
    a(
        "a list row whose moves go back",
        "malformed_user_tree",
        lambda m: m.change(m.mine("eve/#"), moves={"B": m.contents[m.mine("eve/#")]["moves"]["B"][:6] * 2}),
    ),
    a(
        "a list row of a user who is not a member",
        "orphan_user_tree",
        lambda m: m.copy_to(m.mine("bob"), keys.user_tree("zoe", m.created_at(ROOT), ROOT, is_child=False)),
    ),
    a(
        "a list row with another time",
        "missing_user_tree orphan_user_tree",
        lambda m: m.move(m.mine("bob"), keys.user_tree("bob", NOW, ROOT, is_child=False)),
    ),
    a(
        "a root listed as a child",
        "missing_user_tree orphan_user_tree",
        lambda m: m.move(m.mine("ann"), keys.user_tree("ann", m.created_at(ROOT), ROOT, is_child=True)),
    ),
    a(
        "a child listed as a root",
        "missing_user_tree orphan_user_tree",
        lambda m: m.move(
            m.mine("bob", CHILD), keys.user_tree("bob", m.created_at(CHILD, CHILD), CHILD, is_child=False)
        ),
    ),
    a(
        "a list row outside both ranges",
        "malformed_user_tree missing_user_tree",
        lambda m: m.move(m.mine("bob"), Key("USER#bob", f"OTHER#{m.mine('bob').sort}")),
    ),
    a(
        "a list row missing while a tree is created",
        "missing_user_tree",
        lambda m: m.take(
            keys.user_tree("u1", m.contents[keys.group(CREATING)]["createdAt"]["S"], CREATING, is_child=True)
        ),
    ),
    # Conversations
    a(
        "a fork without its CONV",
        "orphan_head orphan_ptr orphan_tree wrong_conversations",
        lambda m: m.take(conv(BLANK)),
    ),
    a(
        "a root without its CONV",
        "missing_conv orphan_entry orphan_head orphan_key orphan_ptr orphan_tree",
        lambda m: m.take(conv(PLAIN, PLAIN)),
    ),
    a("a live conversation without its HEAD", "missing_head", lambda m: m.take(head(BLANK))),
    a("a HEAD without a conversation", "orphan_head", lambda m: m.copy_to(head(BLANK), head(STRANGER))),
    a("a conversation is not listed", "missing_tree", lambda m: m.take(m.listed(FORK))),
    a(
        "a listed conversation that does not exist",
        "orphan_tree",
        lambda m: m.copy_to(m.listed(FORK), keys.tree_row(ROOT, NOW, STRANGER)),
    ),
    a(
        "a conversation listed twice",
        "orphan_tree",
        lambda m: m.copy_to(m.listed(FORK), keys.tree_row(ROOT, NOW, FORK)),
    ),
    a(
        "a conversation in a tree that is being created",
        "early_conv missing_head",
        lambda m: m.put(m.contents[conv(PLAIN, PLAIN)] | items.key_of(conv(CREATING, CREATING))),
    ),
    # HEAD
    a("HEAD is behind", "wrong_head_last", lambda m: m.change(head(PLAIN, PLAIN), last=text(FIRST))),
    a(
        "HEAD is ahead",
        "wrong_head_last",
        lambda m: m.change(
            head(PLAIN, PLAIN), last=text(ids.next_id(EntryId(m.contents[head(PLAIN, PLAIN)]["last"]["S"])))
        ),
    ),
    a("HEAD without the first entry", "wrong_head_first", lambda m: m.change(head(PLAIN, PLAIN), first=None)),
    a(
        "HEAD counts one entry too many",
        "wrong_head_counts wrong_metrics",
        lambda m: m.add(head(ROOT), "history", 1),
    ),
    a(
        "HEAD swaps the channels",
        "wrong_head_counts",
        lambda m: (m.add(head(ROOT), "history", 1), m.add(head(ROOT), "context", -1)),
    ),
    a("HEAD sums up more entries than there are", "wrong_metrics", lambda m: m.add(head(ROOT), "entries", 1)),
    a(
        "HEAD sums up fewer entries than its own",
        "wrong_metrics",
        lambda m: m.add(head(BLANK), "entries", -1),
    ),
    a("HEAD sums up too many tokens", "wrong_metrics", lambda m: m.add(head(ROOT), "inputTokens", 1)),
    a("HEAD sums up too little cost", "wrong_metrics", lambda m: m.add(head(ROOT), "costNanoUsd", -1)),
    a(
        "a fork sums up more than its source",
        "wrong_metrics",
        lambda m: m.add(head(FORK), "costNanoUsd", 5_000_000_000),
    ),
    a("HEAD has another owner", "wrong_head_owner", lambda m: m.change(head(BLANK), owner=text("eve"))),
    a(
        "a HEAD that names neither owner during a transfer",
        "wrong_head_owner",
        lambda m: m.change(head(HANDED_FORK, HANDED), owner=text("eve")),
    ),
    a("HEAD with another floor", "wrong_floor", lambda m: m.change(head(FORK), floor=text(FIRST))),
    a(
        "HEAD with another last history entry",
        "wrong_last_history",
        lambda m: m.change(head(ROOT), lastHistory=text(m.world.said[0])),
    ),
    a(
        "HEAD with another last context entry",
        "wrong_last_context",
        lambda m: m.change(head(ROOT), lastContext=text(m.world.thoughts[0])),
    ),
    a(
        "an entry that does not name the one before it",
        "wrong_prev",
        lambda m: m.change(m.said(2), prev=m.contents[m.said(1)]["prev"]),
    ),
    a("an entry that names nothing before it", "wrong_prev", lambda m: m.change(m.said(1), prev=None)),
    a(
        "an entry that names no context entry before it",
        "wrong_prev",
        lambda m: m.change(m.thought(1), prev=None),
    ),
    a(
        "a fork without the last history entry that it inherits",
        "wrong_last_history",
        lambda m: m.change(head(TWIG), lastHistory=None),
    ),
    a(
        "an untitled HEAD although there is a title",
        "wrong_untitled",
        lambda m: m.change(head(ROOT), untitled={"BOOL": True}),
    ),
    a(
        "a HEAD that does not count a change of CONV",
        "wrong_changes",
        lambda m: m.change(conv(ROOT), changes={"N": "7"}),
    ),
    # Turns
    a(
        "an entry of a turn that names no turn",
        "wrong_fork_point wrong_turn",
        lambda m: m.change(m.turned(0), turn=None),
    ),
    a(
        "a history entry that does not name its turn",
        "wrong_turn",
        lambda m: m.change(m.turned(1), turn=None),
    ),
    a(
        "an entry that names the turn of another",
        "wrong_turn",
        lambda m: m.change(m.turned(2), turn=m.contents[m.turn_of_two()]["turn"]),
    ),
    a(
        "a turn that names something else before it",
        "wrong_turn",
        lambda m: m.spoil_turn(before=LastEntries(None, None)),
    ),
    a(
        "a turn that names something else after it",
        "wrong_turn",
        lambda m: m.spoil_turn(after=LastEntries(None, None)),
    ),
    a(
        "a turn that ends too early, and the fork that it splits",
        "wrong_fork_point wrong_turn",
        lambda m: m.spoil_turn(last=EntryId(m.world.turn[1])),
    ),
    a(
        "a fork that ends inside a turn",
        "wrong_floor wrong_fork_point wrong_last_context wrong_last_history wrong_record",
        lambda m: m.change(
            keys.path(CHAT, CHAT_FORK),
            path=binary(ancestry.pack((Segment(CHAT, EntryId(m.world.turn[1])),))),
        ),
    ),
    # Entries
    a(
        "a missing entry",
        "wrong_fork_point wrong_head_counts wrong_last_history wrong_prev",
        lambda m: m.take(m.said(1)),
    ),
    a(
        "the last entry is missing",
        "wrong_head_counts wrong_head_first wrong_head_last wrong_idem wrong_last_history",
        lambda m: m.take(m.entry(m.world.started, CHILD)),
    ),
    a(
        "one entry too many",
        "wrong_head_counts wrong_head_first wrong_head_last wrong_last_history wrong_metrics",
        lambda m: m.put(
            m.contents[m.said(0)]
            | items.key_of(keys.entry(ROOT, LATE))
            | {"L1": text(keys.by_conversation(BLANK, Channel.HISTORY, LATE))}
        ),
    ),
    a("an entry of a conversation of another tree", "orphan_entry", _entry_of_nobody),
    a(
        "an entry of a child that is still being created",
        "orphan_entry",
        lambda m: m.put(
            {name: held for name, held in m.contents[m.said(0)].items() if name != "prev"}
            | items.key_of(keys.entry(CREATING, LATE))
            | {"L1": text(keys.by_conversation(CREATING, Channel.HISTORY, LATE))}
        ),
    ),
    a(
        "an entry moved to another conversation",
        "entry_below_floor wrong_fork_point wrong_head_counts wrong_head_first wrong_last_history wrong_prev",
        lambda m: m.give(m.said(1), FORK),
    ),
    a(
        "an entry whose index key names another position",
        "wrong_l1",
        lambda m: m.change(m.said(1), L1=text(keys.by_conversation(ROOT, Channel.HISTORY, LATE))),
    ),
    a(
        "an entry with the key of another time",
        "malformed_entry wrong_fork_point wrong_head_counts wrong_last_history wrong_prev",
        lambda m: m.move(m.said(1), Key(ROOT, f"{NOW}#{m.world.said[1]}")),
    ),
    a(
        "an entry without its index key",
        "malformed_entry wrong_fork_point wrong_head_counts wrong_last_history wrong_prev",
        lambda m: m.change(m.said(1), L1=None),
    ),
    a("a body that is not JSON", "unreadable_body", lambda m: m.change(m.said(1), body=binary(b"[{"))),
    a(
        "a body that cannot be decompressed",
        "unreadable_body",
        lambda m: m.change(m.said(1), body=binary(b"x123")),
    ),
    a(
        "a body that is not an array",
        "unreadable_body",
        lambda m: m.change(m.said(1), body=binary(b'{"a":1}')),
    ),
    a("an entry without a body", "unreadable_body", lambda m: m.change(m.said(1), body=None)),
    a(
        "a malformed usage",
        "malformed_entry wrong_fork_point wrong_head_counts wrong_last_history wrong_prev",
        lambda m: m.change(m.said(1), usage=text('{"inputTokens":"many"}')),
    ),
    a("history with an epoch", "wrong_epoch", lambda m: m.change(m.said(1), epoch=number(1))),
    a("context without an epoch", "wrong_ctx wrong_epoch", lambda m: m.change(m.thought(2), epoch=None)),
    a("a missing chunk", "missing_blob", lambda m: m.take(keys.blob(ROOT, EntryId(m.world.large), 1))),
    a(
        "one chunk too many",
        "orphan_blob",
        lambda m: m.copy_to(
            keys.blob(ROOT, EntryId(m.world.large), 1), keys.blob(ROOT, EntryId(m.world.large), 2)
        ),
    ),
    a(
        "chunks without an entry",
        "orphan_blob",
        lambda m: m.copy_to(keys.blob(ROOT, EntryId(m.world.large), 0), keys.blob(ROOT, LATE, 0)),
    ),
    a(
        "a damaged chunk",
        "unreadable_body",
        lambda m: m.change(keys.blob(ROOT, EntryId(m.world.large), 0), data=binary(b"x")),
    ),
    a(
        "two chunks in each other's place",
        "unreadable_body",
        lambda m: m.move(
            keys.blob(ROOT, EntryId(m.world.large), 1), keys.blob(ROOT, EntryId(m.world.large), 7)
        ),
    ),
    # Paths
    a(
        "a fork without its path",
        "missing_path wrong_floor wrong_last_history wrong_record",
        lambda m: m.take(keys.path(ROOT, TWIG)),
    ),
    a(
        "a blank fork gets a path",
        "wrong_floor wrong_fork_point wrong_last_history wrong_record",
        lambda m: m.put(m.contents[keys.path(ROOT, TWIG)] | items.key_of(keys.path(ROOT, BLANK))),
    ),
    a(
        "a path without a conversation",
        "orphan_path",
        lambda m: m.copy_to(keys.path(ROOT, TWIG), keys.path(ROOT, STRANGER)),
    ),
    a(
        "a path of half a segment",
        "malformed_path wrong_floor wrong_last_history wrong_record",
        lambda m: m.change(keys.path(ROOT, TWIG), path=binary(b"0123456789")),
    ),
    a(
        "a path into another tree",
        "path_leaves_tree wrong_last_history wrong_record",
        lambda m: m.set_path(TWIG, (Segment(PLAIN, m.path(TWIG)[-1].stop),)),
    ),
    a("a path through itself", "broken_path wrong_floor wrong_fork_point wrong_record", _swallow),
    a("stops that do not ascend", "broken_path wrong_floor wrong_record", _swap_segments),
    a("a fork sees more than its source", "path_widened wrong_last_context wrong_record", _widen),
    a(
        "a fork with another stop",
        "path_widened wrong_floor wrong_fork_point wrong_prev wrong_record",
        lambda m: m.set_path(FORK, (Segment(ROOT, EntryId(m.world.said[1])),)),
    ),
    a(
        "a fork of a younger conversation",
        "wrong_fork_point wrong_metrics",
        lambda m: m.change(conv(FORK), forkedAtConversationId=text(TWIG)),
    ),
    a(
        "a fork without a fork point",
        "wrong_fork_point",
        lambda m: m.change(conv(FORK), forkedAtConversationId=text(STRANGER)),
    ),
    a(
        "a root with a fork point",
        "wrong_fork_point",
        lambda m: m.change(
            conv(PLAIN, PLAIN), forkedAtConversationId=text(PLAIN), forkedAtPosition=text("blank")
        ),
    ),
    a(
        "a second root in a tree",
        "wrong_fork_point",
        lambda m: m.change(
            conv(BLANK), forkedAtConversationId=None, forkedAtPosition=None, forkedAtEntryId=None
        ),
    ),
    a(
        "an entry below the floor",
        "entry_below_floor missing_path wrong_fork_point wrong_head_counts wrong_head_first wrong_idem"
        " wrong_metrics wrong_prev wrong_started_by",
        lambda m: m.give(m.said(0), APPENDED_FORK),
    ),
    # Context
    a("a missing CTX", "missing_ctx", lambda m: m.take(m.key(Kind.CTX, ROOT, "planner"))),
    a(
        "a CTX without a context entry",
        "orphan_ctx",
        lambda m: m.copy_to(m.key(Kind.CTX, ROOT, "planner"), keys.context(ROOT, ROOT, "zoe")),
    ),
    a(
        "a CTX with an older epoch",
        "wrong_ctx",
        lambda m: m.add(keys.context(ROOT, ROOT, "planner"), "epoch", -1),
    ),
    a(
        "a CTX that counts one entry too many",
        "wrong_ctx",
        lambda m: m.add(keys.context(ROOT, ROOT, "planner"), "count", 1),
    ),
    a(
        "a CTX that is behind",
        "wrong_ctx",
        lambda m: m.change(keys.context(ROOT, ROOT, "planner"), last=text(m.world.thoughts[1])),
    ),
    a(
        "a CTX with the digest of another context",
        "wrong_ctx",
        lambda m: m.change(keys.context(ROOT, ROOT, "planner"), digest=binary(b"\1" * 32)),
    ),
    a(
        "a CTX of a fork with the digest of what it has itself, without what it inherits",
        "wrong_ctx",
        lambda m: m.change(keys.context(ROOT, HEAD_FORK, "planner"), digest=binary(digest_of(["f"]))),
    ),
    a(
        "a remnant without the time of the removal",
        "malformed_gone orphan_entry",
        lambda m: m.change(keys.remnant(FORMER, FORMER), removedAt=None),
    ),
    a(
        "a CTX with a digest that is none",
        "malformed_ctx",
        lambda m: m.change(keys.context(ROOT, ROOT, "planner"), digest=binary(b"1")),
    ),
    a(
        "a CTX with another first entry of the epoch",
        "wrong_ctx",
        lambda m: m.change(keys.context(ROOT, HEAD_FORK, "planner"), first=text(LATE)),
    ),
    a(
        "an epoch that goes down in a conversation",
        "fallen_epoch wrong_ctx",
        lambda m: m.change(m.thought(1), epoch=number(9)),
    ),
    a(
        "an epoch below an inherited one",
        "fallen_epoch wrong_ctx",
        lambda m: (
            m.change(m.thought(1), epoch=number(9)),
            m.change(m.thought(2), epoch=number(9)),
            m.change(keys.context(ROOT, ROOT, "planner"), epoch=number(9)),
        ),
    ),
    a(
        "context of another client than the bound one",
        "foreign_context",
        lambda m: m.change(conv(ROOT), clientId=text("zoe")),
    ),
    # Pointers
    a("a missing pointer", "missing_ptr", lambda m: m.take(keys.pointer(FORK))),
    a("a pointer to another tree", "wrong_ptr", lambda m: m.change(keys.pointer(FORK), group=text(PLAIN))),
    a("a pointer to nothing", "orphan_ptr", lambda m: m.copy_to(keys.pointer(FORK), keys.pointer(STRANGER))),
    a(
        "a retired pointer of a live conversation",
        "wrong_ptr",
        lambda m: m.put(items.retired_item(FORK, ttl_s=m.now_s + 9)),
    ),
    a("a closed conversation with a live pointer", "wrong_ptr", lambda m: m.take(head(DYING_FORK, DYING))),
    a("an id that is retired for ever", "malformed_ptr", lambda m: m.change(keys.pointer(GONE), ttl=None)),
    a(
        "an id that rests for a tree which does not need it",
        "orphan_ptr",
        lambda m: m.put(items.resting_item(STRANGER, ROOT)),
    ),
    a(
        "an id of a live conversation that is retired for ever",
        "wrong_ptr",
        lambda m: m.put(items.resting_item(FORK, ROOT)),
    ),
    a(
        "an id that is retired for years",
        "wrong_ttl",
        lambda m: m.add(keys.pointer(GONE), "ttl", 365 * DAY_S),
    ),
    a(
        "a live pointer that expires",
        "malformed_ptr",
        lambda m: m.change(keys.pointer(FORK), ttl=number(m.now_s)),
    ),
    # Transfers
    a(
        "a transfer missing in its recipient's list",
        "missing_xfer",
        lambda m: m.take(m.key(Kind.XFER, "USER#bob")),
    ),
    a(
        "a transfer that is left only in the users' lists",
        "orphan_xfer",
        lambda m: m.take(keys.transfer_of_group(ROOT)),
    ),
    a(
        "two items of a transfer that differ",
        "wrong_xfer",
        lambda m: m.change(m.key(Kind.XFER, "XFER#"), to=text("eve/#")),
    ),
    a(
        "a transfer that is not from the owner",
        "missing_xfer orphan_xfer wrong_xfer",
        lambda m: [
            m.change(key, **{"from": text("eve/#")})
            for key in m.contents
            if m.contents[key].get("group") == text(ROOT) and "to" in m.contents[key]
        ],
    ),
    a(
        "a transfer to a user who is not a member",
        "wrong_xfer",
        lambda m: (m.take(keys.member(ROOT, "bob"), m.mine("bob")), m.add(keys.group(ROOT), "members", -1)),
    ),
    # Links for readers
    a(
        "a link to a conversation that is not there",
        "wrong_link",
        lambda m: m.change(m.key(Kind.LINK, ROOT), conversation=text(STRANGER)),
    ),
    a(
        "a link up to an entry that is not there",
        "wrong_link",
        lambda m: m.change(m.key(Kind.LINK, ROOT), upTo=text(LATE)),
    ),
    a(
        "a link without its time",
        "malformed_link",
        lambda m: m.change(m.key(Kind.LINK, ROOT), createdAt=text("now")),
    ),
    a(
        "a link that ends in two years",
        "wrong_ttl",
        lambda m: m.change(m.key(Kind.LINK, ROOT), ttl=number(m.now_s + 730 * DAY_S)),
    ),
    # Notes
    a(
        "a note on an entry that is not there",
        "orphan_note",
        lambda m: m.copy_to(m.key(Kind.NOTE, ROOT), keys.note(ROOT, NoteRef(ROOT, LATE, LATE))),
    ),
    a(
        "a note that says nothing",
        "malformed_note",
        lambda m: m.change(m.key(Kind.NOTE, ROOT), text=text("")),
    ),
    a(
        "a pin that says something",
        "malformed_note",
        lambda m: m.change(m.key(Kind.NOTE, ROOT), pinned={"BOOL": True}),
    ),
    # Children
    a("a child is missing in its parent's list", "missing_child", lambda m: m.take(m.key(Kind.CHILD, CHILD))),
    a(
        "a listed child that does not exist",
        "orphan_child wrong_children",
        lambda m: m.copy_to(m.key(Kind.CHILD, CHILD), keys.child(ROOT, FORK, ListKey(NOW, STRANGER))),
    ),
    a(
        "a listed child that is still being created",
        "orphan_child wrong_children",
        lambda m: m.copy_to(
            m.key(Kind.CHILD, CHILD), items.group(m.contents[keys.group(CREATING)]).child_key or Key("", "")
        ),
    ),
    a(
        "a child listed with another starting entry",
        "wrong_child",
        lambda m: m.change(m.key(Kind.CHILD, CHILD), startedByEntryId=text(m.world.said[1])),
    ),
    a(
        "a child of an entry that its parent does not show",
        "wrong_started_by",
        lambda m: (
            m.change(m.key(Kind.CHILD, CHILD), startedByEntryId=text(m.world.said[2])),
            m.change(conv(CHILD, CHILD), startedByEntryId=text(m.world.said[2])),
        ),
    ),
    a(
        "a child whose CONV names no parent",
        "wrong_started_by",
        lambda m: m.change(conv(CHILD, CHILD), startedByConversationId=None, startedByEntryId=None),
    ),
    a(
        "a child whose items name two parents",
        "wrong_started_by",
        lambda m: m.change(conv(CHILD, CHILD), startedByConversationId=text(ROOT)),
    ),
    a(
        "a child of a tree that does not exist",
        "missing_child orphan_child",
        lambda m: m.change(keys.group(CHILD), parent=text(STRANGER)),
    ),
    # Keys of entries
    a("a key without its item", "missing_key", lambda m: m.take(keyed("k#1"))),
    a(
        "a key that names another entry",
        "wrong_key",
        lambda m: m.change(keyed("k#1"), entry=text(m.world.keyed[1])),
    ),
    a("a key that no entry has", "orphan_key", lambda m: m.copy_to(keyed("k2"), keyed("k3"))),
    a(
        "a key of a conversation that does not exist",
        "orphan_key",
        lambda m: m.copy_to(keyed("k2"), keys.entry_key(PLAIN, STRANGER, "k2")),
    ),
    a(
        "two entries with one key",
        "orphan_key repeated_key wrong_key",
        lambda m: m.change(m.entry(m.world.keyed[1], PLAIN), key=text("k#1")),
    ),
    a(
        "a key that names no entry id",
        "malformed_key",
        lambda m: m.change(keyed("k2"), entry=text("k")),
    ),
    # Vectors
    a(
        "vectors in a tree that says it has none",
        "wrong_embedded",
        lambda m: m.change(keys.group(MEANT), embedded=None),
    ),
    a(
        "a vector of an entry that does not exist",
        "orphan_vec",
        lambda m: m.copy_to(
            meant(m, 0), keys.vector(MEANT, MEANT, ids.next_id(EntryId(m.world.meant[0])), 0)
        ),
    ),
    a(
        "a vector of another conversation's entry",
        "orphan_vec",
        lambda m: m.copy_to(meant(m, 2), keys.vector(MEANT, STRANGER, EntryId(m.world.meant[2]), 0)),
    ),
    a(
        "a vector of an erased entry",
        "erased_vec",
        lambda m: m.change(
            m.entry(m.world.meant[0], MEANT),
            erased={"BOOL": True},
            userId=text("erased-1"),
            body=binary(bodies.encode(NO_CONTENT)),
        ),
    ),
    a("a vector as long as no other", "wrong_vec", lambda m: m.change(meant(m, 2), v=binary(b"12"))),
    a(
        "a vector on another shelf",
        "stray_vec",
        lambda m: m.change(meant(m, 0), shelf=text("0" * 16)),
    ),
    a(
        "a vector in the index that is another one",
        "malformed_vec",
        lambda m: m.change(meant(m, 0), g=text(PLAIN)),
    ),
    a("a pin twice", "malformed_pins", lambda m: m.change(keys.pins("bob"), rows=text(f"{A_ROW},{A_ROW}"))),
    a("a pin of no tree", "malformed_pins", lambda m: m.change(keys.pins("bob"), rows=text("x#y"))),
    a("pins of nothing", "malformed_pins", lambda m: m.change(keys.pins("bob"), rows=text(""))),
    a("a shelf without an id", "malformed_shelf", lambda m: m.change(keys.shelf("ann"), shelf=text(""))),
    a("an owner who has lost their shelf", "missing_shelf", lambda m: m.take(keys.shelf("ann"))),
    a("another shelf", "wrong_shelf", lambda m: m.change(keys.shelf("ann"), shelf=text("0" * 16))),
    a(
        "a row that names another shelf",
        "wrong_user_tree",
        lambda m: m.change(m.mine("ann", MEANT), shelf=text("0" * 16)),
    ),
    a("no numbers, but in the index", "malformed_vec", lambda m: m.change(meant(m, 0), v=binary(b""))),
    a(
        "a vector of a piece that no entry has",
        "malformed_vec",
        lambda m: m.copy_to(meant(m, 0), keys.vector(MEANT, MEANT, EntryId(m.world.meant[0]), 8)),
    ),
    # Names
    a("a name at revision 0", "malformed_name", lambda m: m.change(NAME, revision=number(0))),
    a(
        "a name of another client than its key says",
        "malformed_name",
        lambda m: m.change(NAME, clientId=text("planner")),
    ),
    a("a name that points to no id", "malformed_name", lambda m: m.change(NAME, conversation=text("trip"))),
    a("a name whose data are no object", "malformed_name", lambda m: m.change(NAME, data=text("[]"))),
    a("a name whose data nest too deep", "malformed_name", lambda m: m.change(NAME, data=text("[" * 5000))),
    a("a name that was at no id", "malformed_name", lambda m: m.change(NAME, previous=text("trip"))),
    a(
        "a name that has moved to where it was",
        "malformed_name",
        lambda m: m.change(NAME, previous=m.contents[NAME]["conversation"]),
    ),
    a("a name with no revision", "malformed_name", lambda m: m.change(NAME, revision=None)),
    a(
        "a name that is not escaped",
        "malformed_name",
        lambda m: m.move(NAME, Key(NAME.partition, f"{NAME.sort}~zz")),
    ),
    # Removed branches
    a(
        "a removed branch with a HEAD",
        "orphan_head",
        lambda m: m.copy_to(head(SHOWING, FORMER), head(KEPT, FORMER)),
    ),
    a(
        "a removed branch with a HEAD and a CONV",
        "entry_below_floor missing_tree wrong_conversations wrong_gone wrong_head_counts wrong_head_first"
        " wrong_head_last wrong_last_history wrong_floor wrong_ptr",
        _live_again,
    ),
    a(
        "entries of a removed branch without its job",
        "idle_gone unshown_entry",
        lambda m: m.take(keys.job("prune", FORMER, LATER)),
    ),
    a(
        "an entry of a removed branch that nobody shows",
        "unshown_entry wrong_prev",
        lambda m: m.put(
            m.contents[m.key(Kind.ENTRY, FORMER)]
            | items.key_of(keys.entry(FORMER, LATE_IN_2099))
            | {"L1": text(keys.by_conversation(KEPT, Channel.HISTORY, LATE_IN_2099))}
        ),
    ),
    a(
        "entries of a removed branch that left nothing else",
        "orphan_entry orphan_job orphan_path orphan_ptr",
        lambda m: m.take(keys.remnant(FORMER, LATER)),
    ),
    a(
        "a removed branch without its path",
        "broken_path wrong_prev wrong_record",
        lambda m: m.take(keys.path(FORMER, KEPT)),
    ),
    a(
        "a fork without its record",
        "idle_gone unshown_entry wrong_record",
        lambda m: m.change(m.listed(SHOWING, FORMER), L1=None),
    ),
    a(
        "a fork whose record names another stop",
        "wrong_record",
        lambda m: m.change(m.listed(TWIG), L1=text(keys.fork_record(ROOT, LATE, _place(m, TWIG)))),
    ),
    a(
        "a root with a record",
        "wrong_record",
        lambda m: m.change(m.listed(ROOT), L1=text(keys.fork_record(ROOT, LATE, _place(m, ROOT)))),
    ),
    a(
        "a removed branch whose record names another stop",
        "wrong_record",
        lambda m: m.change(
            keys.remnant(FORMER, KEPT),
            L1=text(keys.fork_record(FORMER, LATE_IN_2099, ListKey(NOW, KEPT))),
        ),
    ),
    a(
        "a removed branch that nobody shows any more",
        "idle_gone missing_ptr",
        lambda m: m.put(_remnant_of_nothing()),
    ),
    a(
        "a current branch that does not exist",
        "wrong_current",
        lambda m: m.change(keys.group(ROOT), current=text(STRANGER)),
    ),
    a(
        "a current branch that was removed",
        "wrong_current",
        lambda m: m.change(keys.group(FORMER), current=text(KEPT)),
    ),
    a(
        "a current branch without the append that promoted it",
        "wrong_current",
        lambda m: m.change(keys.group(ROOT), current=text(ROOT), promotedBy=text(LATE_IN_2099)),
    ),
    a(
        "a removed root that is still the current branch",
        "wrong_current",
        lambda m: m.change(keys.group(VANISHED), current=None),
    ),
    a(
        "a removed branch whose id may be used again",
        "missing_ptr",
        lambda m: m.take(keys.pointer(KEPT)),
    ),
    a(
        "a removed branch whose id may be used again in time",
        "wrong_ptr",
        lambda m: m.put(items.retired_item(KEPT, ttl_s=m.now_s + 9)),
    ),
    a(
        "a tree whose id may be used again",
        "wrong_ptr",
        lambda m: m.put(items.retired_item(VANISHED, ttl_s=m.now_s + 9)),
    ),
    a(
        "a removed branch with a live pointer",
        "wrong_ptr",
        lambda m: m.copy_to(keys.pointer(SHOWING), keys.pointer(KEPT)),
    ),
    a(
        "context of a branch that left nothing",
        "orphan_ctx",
        lambda m: m.copy_to(keys.context(FORMER, KEPT, "planner"), keys.context(FORMER, STRANGER, "planner")),
    ),
    a(
        "context of a removed branch is missing",
        "missing_ctx",
        lambda m: m.take(keys.context(FORMER, KEPT, "planner")),
    ),
    a(
        "a branch in the trash without its hidden items",
        "missing_kept wrong_trashed_branches",
        lambda m: m.change(
            keys.remnant(FORMER, KEPT),
            **branch_in_trash(FORMER, KEPT, m.contents[keys.remnant(FORMER, KEPT)]["removedAt"]["S"]),
        ),
    ),
    a(
        "a hidden item of a branch that is not in the trash",
        "wrong_kept",
        lambda m: m.put(
            items.key_of(keys.tree_row(FORMER, NOW, STRANGER)) | {"kept": text(NOW)},
        ),
    ),
    a(
        "a job to prune a live branch",
        "orphan_job",
        lambda m: m.put(items.job_item("prune", FORMER, SHOWING, created_at=NOW, nonce="n")),
    ),
    a(
        "a job to prune a tree that does not exist",
        "orphan_job",
        lambda m: m.put(items.job_item("prune", STRANGER, STRANGER, created_at=NOW, nonce="n")),
    ),
    a(
        "a job to prune without a nonce",
        "malformed_job",
        lambda m: m.put(items.job_item("prune", FORMER, KEPT, created_at=NOW)),
    ),
    a(
        "a live child of a branch that was removed long ago",
        "wrong_started_by",
        _child_of_nobody,
    ),
    # Jobs
    a("a deletion without its job", "missing_job", lambda m: m.take(keys.job("delete", DYING))),
    a("a creation without its job", "missing_job", lambda m: m.take(keys.job("create", CREATING))),
    a("an entry that names an attachment without a REF", "missing_ref", lambda m: m.take(m.key(Kind.REF))),
    a(
        "an entry that names an attachment that is not there",
        "missing_file orphan_user_file",
        lambda m: m.take(keys.file(m.world.named)),
    ),
    a(
        "an upload that is not there",
        "orphan_job orphan_user_file",
        lambda m: m.take(keys.file(m.world.unnamed)),
    ),
    a(
        "one more REF than the entries that name the attachment",
        "orphan_ref wrong_file",
        lambda m: m.copy_to(
            m.key(Kind.REF), keys.reference(Reference(m.world.named, SHOWING_FILE, LATE_IN_2099))
        ),
    ),
    a(
        "an attachment that the list of its owner lacks",
        "missing_user_file",
        lambda m: m.take(_listed_file(m, m.world.named)),
    ),
    a(
        "a list with another size than its attachment",
        "wrong_user_file",
        lambda m: m.change(_listed_file(m, m.world.named), size=number(7)),
    ),
    a(
        "an attachment that nothing names, without its job",
        "missing_job",
        lambda m: m.take(m.key(Kind.JOB, "upload", m.world.unnamed)),
    ),
    a(
        "a job of an attachment at another time than it says",
        "missing_job orphan_job",
        lambda m: m.move(
            m.key(Kind.JOB, "upload", m.world.unnamed), keys.job("upload", m.world.unnamed, due=NOW)
        ),
    ),
    a(
        "a job of an attachment that needs none",
        "orphan_job",
        lambda m: m.put(items.job_item("upload", m.world.named, created_at=NOW, due=NOW)),
    ),
    a(
        "a job of an attachment that is due at no time",
        "malformed_job missing_job",
        lambda m: m.move(
            m.key(Kind.JOB, "upload", m.world.unnamed), keys.job("upload", m.world.unnamed, due="soon")
        ),
    ),
    a(
        "an attachment without a size",
        "malformed_file",
        lambda m: m.change(keys.file(m.world.named), size=None),
    ),
    a(
        "a list that names no attachment",
        "malformed_user_file",
        lambda m: m.change(_listed_file(m, m.world.named), file=None),
    ),
    a("a rewriting of owners without its job", "missing_job", lambda m: m.take(keys.job("transfer", HANDED))),
    a(
        "a job to delete a live tree",
        "orphan_job",
        lambda m: m.put(items.job_item("delete", PLAIN, created_at=NOW)),
    ),
    a(
        "a job to delete a tree that does not exist",
        "orphan_job",
        lambda m: m.put(items.job_item("delete", STRANGER, created_at=NOW)),
    ),
    a(
        "a job to create a tree that is live",
        "orphan_job",
        lambda m: m.put(items.job_item("create", PLAIN, created_at=NOW)),
    ),
    a(
        "a job with a malformed lease",
        "malformed_job",
        lambda m: m.change(keys.job("delete", DYING), leasedUntil=text("never")),
    ),
    a(
        "a job of an unknown kind",
        "malformed_job",
        lambda m: m.put(items.job_item("dance", PLAIN, created_at=NOW)),
    ),
    # Records
    a(
        "a record of an entry that does not exist",
        "wrong_idem",
        lambda m: m.put(record_item(PLAIN, PLAIN, [LATE], ttl_s=m.now_s + 9)),
    ),
    a(
        "a record of an entry of another conversation",
        "wrong_idem",
        lambda m: m.put(record_item(ROOT, FORK, [m.world.said[0]], ttl_s=m.now_s + 9)),
    ),
    a(
        "a record of a conversation that does not exist",
        "wrong_idem",
        lambda m: m.put(record_item(PLAIN, STRANGER, [], ttl_s=m.now_s + 9)),
    ),
    a(
        "a record that expires only after years",
        "wrong_ttl",
        lambda m: m.put(record_item(PLAIN, PLAIN, [], ttl_s=m.now_s + 365 * DAY_S)),
    ),
    a(
        "a record that cannot be decompressed",
        "malformed_idem",
        lambda m: m.change(m.record(ROOT), body=binary(b"x12")),
    ),
    a(
        "a count of requests of half a minute",
        "malformed_rate",
        lambda m: m.move(m.key(Kind.RATE), keys.requests("ann", m.now_s // 60 * 60 + 30)),
    ),
    a(
        "a count of requests that outlives its minute",
        "malformed_rate",
        lambda m: m.add(m.key(Kind.RATE), "ttl", 3600),
    ),
    a(
        "a count of no requests",
        "malformed_rate",
        lambda m: m.change(m.key(Kind.RATE), requests=number(0)),
    ),
    a(
        "a count of requests of a minute in a week",
        "wrong_ttl",
        lambda m: m.put(
            items.key_of(keys.requests("ann", m.now_s // 60 * 60 + 7 * DAY_S))
            | {"requests": number(1), "ttl": number(m.now_s // 60 * 60 + 7 * DAY_S + COUNT_SECONDS)}
        ),
    ),
    # The middle of a deletion
    a(
        "an entry removed while there are HEADs",
        "wrong_head_counts wrong_head_first wrong_prev",
        lambda m: m.take(m.key(Kind.ENTRY, DYING)),
    ),
    a(
        "chunks left after their entry",
        "orphan_blob wrong_fork_point wrong_head_counts wrong_head_last wrong_last_history wrong_prev",
        lambda m: m.take(keys.entry(DYING, EntryId(m.key(Kind.BLOB, DYING).partition[-36:]))),
    ),
    a(
        "a list row left after its membership",
        "orphan_user_tree",
        lambda m: m.take(keys.member(UNBORN, "u1")),
    ),
    a(
        "members removed before entries",
        "wrong_members wrong_xfer",
        lambda m: m.take(keys.member(DYING, "bob"), m.mine("bob", DYING)),
    ),
    a(
        "a tree removed before its chunks",
        "orphan_blob orphan_job orphan_user_tree orphan_ptr orphan_xfer",
        lambda m: m.take(*[key for key in m.contents if key.partition == DYING]),
    ),
    # Anything else
    a(
        "a chunk without a number",
        "malformed_blob missing_blob",
        lambda m: m.move(
            keys.blob(ROOT, EntryId(m.world.large), 1), Key(m.key(Kind.BLOB, m.world.large)[0], "1")
        ),
    ),
    a(
        "an epoch that is not a number",
        "malformed_ctx",
        lambda m: m.change(keys.context(ROOT, ROOT, "planner"), epoch=text("1")),
    ),
    a(
        "a child of a malformed conversation id",
        "malformed_child",
        lambda m: m.copy_to(m.key(Kind.CHILD, CHILD), Key(ROOT, f"CHILD#x#{NOW}#y")),
    ),
    a(
        "a user's id that is not escaped",
        "malformed_user_tree",
        lambda m: m.copy_to(m.mine("bob"), Key("USER#b b", m.mine("bob").sort)),
    ),
    a(
        "a list key with a malformed time",
        "malformed_tree",
        lambda m: m.copy_to(m.listed(FORK), Key(ROOT, f"TREE#today#{FORK}")),
    ),
    a(
        "a transfer with another time",
        "malformed_xfer",
        lambda m: m.change(m.key(Kind.XFER, "USER#bob"), createdAt=text(NOW)),
    ),
    a("an item of an unknown kind", "unknown_item", lambda m: m.put(items.key_of(Key("NOTE#1", "NOTE")))),
    a(
        "an item of an unknown kind in a tree",
        "unknown_item",
        lambda m: m.put(items.key_of(Key(ROOT, "MEMO#1"))),
    ),
    a("an unknown attribute", "unknown_attribute", lambda m: m.change(head(ROOT), secret=text("x"))),
    a(
        "an attribute of a wrong type",
        "malformed_head",
        lambda m: m.change(head(PLAIN, PLAIN), history=text("1")),
    ),
    a(
        "a malformed id of a conversation",
        "malformed_conv",
        lambda m: m.copy_to(conv(BLANK), conv("Nobody")),
    ),
    # Erasures
    a(
        "an erased entry that still has its content",
        "wrong_erased",
        lambda m: m.change(_erased(m), body=binary(b'["x"]')),
    ),
    a(
        "an erased entry that still has a key",
        "missing_key wrong_erased",
        lambda m: m.change(_erased(m), key=text("k")),
    ),
    a(
        "an erased entry that still names its author",
        "wrong_erased",
        lambda m: m.change(_erased(m), userId=text("zoe")),
    ),
    a(
        "an erased entry that a search still finds",
        "wrong_erased",
        lambda m: m.change(_erased(m), indexed=binary(b'"x"')),
    ),
    a(
        "a finished erasure that still names the user",
        "malformed_erasure",
        lambda m: m.change(_erasure(m, is_done=True), userId=text("zoe")),
    ),
    a(
        "a running erasure without its user",
        "malformed_erasure orphan_erased_tree orphan_job",
        lambda m: m.change(_erasure(m, is_done=False), userId=None),
    ),
    a("an erasure without its job", "missing_job", lambda m: m.take(m.key(Kind.JOB, "erase#"))),
    a(
        "the job of an erasure that does not exist",
        "orphan_job",
        lambda m: m.copy_to(m.key(Kind.JOB, "erase#"), keys.job("erase", STRANGER)),
    ),
    a(
        "a changed tree of an erasure that does not exist",
        "orphan_erased_tree",
        lambda m: m.put(items.key_of(keys.erased_tree(STRANGER, ROOT))),
    ),
    a("a log without a part in the middle", "wrong_part", lambda m: m.take(part(1))),
    a("an open log without its beginning", "wrong_part", lambda m: m.take(part(0, ANSWER))),
    a("a log without its end", "wrong_part", lambda m: m.take(part(4))),
    a("a second beginning in a log", "wrong_part", lambda m: m.copy_to(part(0, ANSWER), part(3, ANSWER))),
    a("a part after the end of a log", "wrong_part", lambda m: m.copy_to(part(1), part(5))),
    a("a part after a stop", "wrong_part", lambda m: m.copy_to(part(1), part(4))),
    a("a part of another log", "wrong_part", lambda m: m.change(part(2), conversation=text(ROOT))),
    a("a part that expires later", "wrong_part", lambda m: m.add(part(2), "ttl", 1)),
    a("a part that expires never", "wrong_part wrong_ttl", lambda m: m.add(part(2), "ttl", 10 * DAY_S)),
    a(
        "an end that names a user",
        "malformed_part wrong_part",
        lambda m: m.change(part(4), userId=text("ann")),
    ),
    a(
        "an answer whose entry does not exist",
        "wrong_part",
        lambda m: m.change(part(4), entry=text(f"{PLAIN}#{LATE}")),
    ),
    a(
        "a conversation without the answer that is written there",
        "wrong_part",
        lambda m: m.change(head(PLAIN, PLAIN), answer=None, answerBy=None, answerSince=None),
    ),
    a(
        "a conversation with an answer that nobody has begun",
        "wrong_head_answer wrong_part",
        lambda m: m.change(head(PLAIN, PLAIN), answer=text(STRANGER)),
    ),
    a(
        "an open conversation with an answer that goes with its tree",
        "early_answer",
        lambda m: m.change(conv(ROOT), answer=text(ANSWER)),
    ),
    a(
        "a record of the retention without a time",
        "malformed_retention",
        lambda m: m.change(keys.retention(), begunAt=text("today")),
    ),
]

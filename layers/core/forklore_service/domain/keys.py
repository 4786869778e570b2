"""How partition keys and sort keys are spelled (docs/architecture.md). Nothing else spells a key.

Only entries have a sort key that begins with a digit; every other kind begins with a letter. Text
of users and clients is percent-escaped, so that it holds no `#` and can enter no other kind's
range.
"""

import hashlib
import re
import uuid
from typing import NamedTuple
from urllib.parse import quote, unquote

from forklore_service.domain import ids
from forklore_service.domain.attachments import Reference, digest_of_type
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Channel, JobKind, Transfer
from forklore_service.domain.names import NameOwner, NameRef
from forklore_service.domain.notes import NoteRef

TREE_SHARDS = 8
CHANNEL_LETTERS = {Channel.HISTORY: "H", Channel.CONTEXT: "C"}


class Key(NamedTuple):
    """A primary key."""

    partition: str
    sort: str


class SortRange(NamedTuple):
    """The sort keys of one partition between two bounds, both included.

    by_conversation: whether they are keys of the local index.
    """

    partition: str
    first: str
    last: str
    by_conversation: bool = False

    def holds(self, key: Key) -> bool:
        """Tell whether a key of an item, not one of the local index, is in the range."""
        return key.partition == self.partition and self.first <= key.sort <= self.last


def _all(partition: str, prefix: str) -> SortRange:
    """Return the range of all sort keys that begin with `prefix`.

    It ends with `#`; `$` comes next.
    """
    return SortRange(partition, prefix, f"{prefix.removesuffix('#')}$")


def escape(text: str) -> str:
    """Return text of a user or client in a form that a key may hold.

    >>> escape("a#b/ü")
    'a%23b%2F%C3%BC'
    """
    return quote(text, safe="")


def position(entry_id: EntryId) -> str:
    """Return an entry's sort key, `createdAt#entryId`: string order is the order of the ids.

    Source: string sort keys order by UTF-8 bytes (DynamoDB API, Query, ScanIndexForward).

    >>> position(EntryId('019ca8ad-fa20-7000-8000-000000000005'))
    '2026-03-01T09:15:00.000Z#019ca8ad-fa20-7000-8000-000000000005'
    """
    return f"{ids.created_at(entry_id)}#{entry_id}"


def entry_id_of(sort_key: str) -> EntryId:
    """Return the entry id that ends an entry's sort key or its key in `byConversation`."""
    return EntryId(sort_key[-36:])


def by_conversation(conversation_id: str, channel: Channel, entry_id: EntryId) -> str:
    """Return an entry's key in the local index, by conversation, then channel, then position."""
    return f"{conversation_id}#{CHANNEL_LETTERS[channel]}#{position(entry_id)}"


def in_by_conversation(key: str) -> str:
    """Return the conversation that an entry's key in the local index names."""
    return key.partition("#")[0]


_FORKS = "F"
"""The letter of the records of forks in the local index, beside those of the channels."""


def fork_record(owner: str, stop: EntryId, fork: "ListKey") -> str:
    """Return a fork's key in the local index: by where it leaves, then by its age."""
    return f"{owner}#{_FORKS}#{position(stop)}#{fork.sort}"


def in_fork_record(record: str) -> tuple[str, EntryId, "ListKey"]:
    """Return the conversation that a fork leaves, the stop, and the place of the fork."""
    owner, _, _, stop, created_at, conversation_id = record.split("#")
    return owner, EntryId(stop), ListKey(created_at, conversation_id)


def fork_records_range(group_id: str, owner: str, *, first: EntryId, last: EntryId) -> SortRange:
    """Return the range of the forks that leave `owner` at a stop from `first` to `last`."""
    of = f"{owner}#{_FORKS}#"
    return SortRange(group_id, of + position(first), f"{of}{position(last)}$", by_conversation=True)


def own_entries_range(
    group_id: str, conversation_id: str, channel: Channel, *, first: EntryId, last: EntryId | None = None
) -> SortRange:
    """Return the range of a conversation's own entries in a channel between two positions."""
    end = f"{conversation_id}#{CHANNEL_LETTERS[channel]}#:"
    if last is not None:
        end = f"{by_conversation(conversation_id, channel, last)}$"
    return SortRange(group_id, by_conversation(conversation_id, channel, first), end, by_conversation=True)


def is_entry(key: Key) -> bool:
    """Tell whether a key is that of an entry."""
    return ids.is_uuid(key.partition) and key.sort[:1].isdigit()


def entry(group_id: str, entry_id: EntryId) -> Key:
    return Key(group_id, position(entry_id))


def entries_range(group_id: str) -> SortRange:
    """Return the range of every entry of a tree."""
    return SortRange(group_id, "0", ":")


def entries_before(group_id: str, before: EntryId) -> SortRange:
    """Return the range of a tree's entries before a position, which is not FIRST."""
    return SortRange(group_id, "0", position(ids.previous_id(before)))


def others_range(group_id: str) -> SortRange:
    """Return the range of all items in a tree's partition that are not entries."""
    return SortRange(group_id, ":", "\U0010ffff")


def blob(group_id: str, entry_id: EntryId, chunk: int) -> Key:
    return Key(f"BLOB#{group_id}#{entry_id}", f"{chunk:04}")


def group(group_id: str) -> Key:
    """Return the key of a fork tree's own item. In code a fork tree is a group."""
    return Key(group_id, "GROUP")


_CONVERSATION = "CONV#"


def conversation(group_id: str, conversation_id: str) -> Key:
    return Key(group_id, f"{_CONVERSATION}{conversation_id}")


def conversations_range(group_id: str) -> SortRange:
    """Return the range of every CONV of a tree."""
    return _all(group_id, _CONVERSATION)


def in_conversation(sort_key: str) -> str:
    """Return the conversation id that a CONV item's sort key names."""
    return sort_key.removeprefix(_CONVERSATION)


def path(group_id: str, conversation_id: str) -> Key:
    return Key(group_id, f"PATH#{conversation_id}")


_HEAD = "HEAD#"


def head(group_id: str, conversation_id: str) -> Key:
    return Key(group_id, f"{_HEAD}{conversation_id}")


def is_member(sort_key: str) -> bool:
    """Tell whether a sort key in a tree's partition is that of a MEM."""
    return sort_key.startswith(_MEMBER)


def is_head(sort_key: str) -> bool:
    """Tell whether a sort key in a tree's partition is that of a HEAD."""
    return sort_key.startswith(_HEAD)


def in_head(sort_key: str) -> str:
    """Return the conversation id that a HEAD item's sort key names."""
    return sort_key.removeprefix(_HEAD)


def heads_range(group_id: str) -> SortRange:
    """Return the range of every HEAD of a tree."""
    return _all(group_id, _HEAD)


def conversations_and_heads_range(group_id: str) -> SortRange:
    """Return the range of every CONV and HEAD of a tree. Every CTX and GONE is in it, too."""
    return conversations_range(group_id)._replace(last=heads_range(group_id).last)


_CONTEXT = "CTX#"


def context(group_id: str, conversation_id: str, client_id: str) -> Key:
    return Key(group_id, f"{_CONTEXT}{conversation_id}#{escape(client_id)}")


def contexts_range(group_id: str) -> SortRange:
    """Return the range of every CTX of a tree."""
    return _all(group_id, _CONTEXT)


def contexts_of_range(group_id: str, conversation_id: str) -> SortRange:
    """Return the range of every CTX of a conversation."""
    return _all(group_id, f"{_CONTEXT}{conversation_id}#")


def in_context(sort_key: str) -> tuple[str, str]:
    """Return the conversation and the client that a CTX item's sort key names.

    >>> in_context(context("g", "c", "a#1").sort)
    ('c', 'a#1')
    """
    _, conversation_id, client_id = sort_key.split("#")
    return conversation_id, unquote(client_id)


class ListKey(NamedTuple):
    """A place in a list that is ordered by `createdAt`, then by id."""

    created_at: str
    conversation_id: str

    @property
    def sort(self) -> str:
        return f"{self.created_at}#{self.conversation_id}"

    @property
    def just_before(self) -> str:
        """A bound above every earlier place of the list, and below this one."""
        number = uuid.UUID(self.conversation_id).int
        return f"{self.created_at}#{uuid.UUID(int=number - 1) if number else ''}"

    @property
    def just_after(self) -> str:
        """A bound above this place and below every later one. All places are equally long."""
        return f"{self.sort} "


def list_key(sort_key: str) -> ListKey:
    """Return the place in the sort key of a TREE, USER_TREE, CHILD, a user's XFER or a GROUP."""
    created_at, conversation_id = sort_key.split("#")[-2:]
    return ListKey(created_at, conversation_id)


_GONE = "GONE#"


def remnant(group_id: str, conversation_id: str) -> Key:
    """Return the key of what stays of a removed branch."""
    return Key(group_id, f"{_GONE}{conversation_id}")


def remnants_range(group_id: str) -> SortRange:
    """Return the range of what stays of all removed branches of a tree."""
    return _all(group_id, _GONE)


def in_remnant(sort_key: str) -> str | None:
    """Return the conversation id that a GONE item's sort key names; None for any other key."""
    return sort_key.removeprefix(_GONE) if sort_key.startswith(_GONE) else None


_TREE = "TREE#"


def tree_row(group_id: str, created_at: str, conversation_id: str) -> Key:
    """Return the key of TREE: the row of one conversation in the list of its fork tree's."""
    return Key(group_id, _TREE + ListKey(created_at, conversation_id).sort)


def tree_rows_range(
    group_id: str, *, after: ListKey | None = None, before: ListKey | None = None
) -> SortRange:
    """Return the range of a tree's conversations, strictly after and before two places."""
    return SortRange(
        group_id,
        _TREE + (after.just_after if after else "0"),
        _TREE + (before.just_before if before else ":"),
    )


_MEMBER = "MEM#"


def member(group_id: str, user_id: str) -> Key:
    return Key(group_id, f"{_MEMBER}{escape(user_id)}")


def members_range(group_id: str) -> SortRange:
    """Return the range of every membership of a tree."""
    return _all(group_id, _MEMBER)


_LINK = "LINK#"


def link(group_id: str, link_id: str) -> Key:
    """Return the key of a link by which people without an account read the tree."""
    return Key(group_id, f"{_LINK}{link_id}")


def links_range(group_id: str) -> SortRange:
    """Return the range of every link of a tree."""
    return _all(group_id, _LINK)


def in_link(sort_key: str) -> str:
    """Return the id that a LINK item's sort key names."""
    return sort_key.removeprefix(_LINK)


_NOTE = "NOTE#"


def note(group_id: str, ref: NoteRef) -> Key:
    """Return the key of a note on an own entry of a conversation."""
    return Key(group_id, f"{_NOTE}{'#'.join(ref)}")


def notes_range(
    group_id: str, conversation_id: str, *, first: EntryId, last: EntryId, after: NoteRef | None = None
) -> SortRange:
    """Return the range of the notes on a conversation's own entries between two positions.

    after: only those after this one, which is on one of these entries.
    """
    of = f"{_NOTE}{conversation_id}#"
    begin = of + first if after is None else f"{note(group_id, after).sort} "
    return SortRange(group_id, begin, f"{of}{last}$")


def all_notes_range(group_id: str, *, after: NoteRef | None) -> SortRange:
    """Return the range of every note of a tree, after this one."""
    whole = _all(group_id, _NOTE)
    return whole if after is None else whole._replace(first=f"{note(group_id, after).sort} ")


def in_note(sort_key: str) -> NoteRef:
    """Return the note that a NOTE item's sort key names.

    >>> in_note(note("g", NoteRef("c", EntryId("e"), EntryId("n"))).sort)
    NoteRef(conversation_id='c', entry_id='e', note_id='n')
    """
    _, conversation_id, entry_id, note_id = sort_key.split("#")
    return NoteRef(conversation_id, EntryId(entry_id), EntryId(note_id))


def is_note(sort_key: str) -> bool:
    """Tell whether a sort key in a tree's partition is that of a NOTE."""
    return sort_key.startswith(_NOTE)


_TRANSFER = "XFER"


def transfer_by_id(transfer_id: str) -> Key:
    return Key(f"{_TRANSFER}#{transfer_id}", _TRANSFER)


def transfer_of_group(group_id: str) -> Key:
    """Return the key that makes a tree's pending transfer the only one."""
    return Key(group_id, _TRANSFER)


def transfer_of_user(user_id: str, list_key: ListKey) -> Key:
    return Key(_user(user_id), f"{_TRANSFER}#{list_key.sort}")


def transfer_keys(transfer: Transfer) -> list[Key]:
    """Return the keys of a pending transfer's items.

    The first makes it the only one of its tree.
    """
    place = ListKey(transfer.created_at, transfer.transfer_id)
    return [
        transfer_of_group(transfer.group_id),
        transfer_by_id(transfer.transfer_id),
        transfer_of_user(transfer.from_user_id, place),
        transfer_of_user(transfer.to_user_id, place),
    ]


def transfers_range(user_id: str, *, after: ListKey | None = None) -> SortRange:
    """Return the range of a user's pending transfers, strictly after a place."""
    return SortRange(
        _user(user_id),
        f"{_TRANSFER}#" + (after.just_after if after else "0"),
        f"{_TRANSFER}#:",
    )


_CHILDREN = "CHILD#"


def child(parent_group_id: str, parent_id: str, child: ListKey) -> Key:
    """Return the key of a started child in its parent's tree."""
    return Key(parent_group_id, f"{_CHILDREN}{parent_id}#{child.sort}")


def children_range(parent_group_id: str, parent_id: str, *, after: ListKey | None = None) -> SortRange:
    """Return the range of a conversation's children, oldest first, strictly after a place."""
    of = f"{_CHILDREN}{parent_id}#"
    return SortRange(parent_group_id, of + (after.just_after if after else "0"), f"{of}:")


def in_child(sort_key: str) -> tuple[str, ListKey]:
    """Return the conversation that a CHILD item's sort key names, and the place of the child."""
    return sort_key.removeprefix(_CHILDREN).partition("#")[0], list_key(sort_key)


def all_children_range(parent_group_id: str) -> SortRange:
    """Return the range of every child that a conversation of the tree has started."""
    return _all(parent_group_id, _CHILDREN)


_JOB = "JOB"


class JobName(NamedTuple):
    """Work in progress on a tree, or on one conversation of a tree.

    For an erasure or an attachment, `group_id` is its id. due: when an attachment is looked at, a
    timestamp, by which its jobs are in order.
    """

    kind: str
    group_id: str
    conversation_id: str | None = None
    due: str | None = None


def job(kind: str, group_id: str, conversation_id: str | None = None, due: str | None = None) -> Key:
    """Return the key of work in progress: what the sweeper looks for."""
    return Key(_JOB, "#".join(part for part in (kind, due, group_id, conversation_id) if part is not None))


def in_job(sort_key: str) -> JobName:
    """Return the work that a JOB item's sort key names.

    >>> in_job(job("delete", "g").sort)
    JobName(kind='delete', group_id='g', conversation_id=None, due=None)
    >>> in_job(job("prune", "g", "c").sort)
    JobName(kind='prune', group_id='g', conversation_id='c', due=None)
    >>> in_job(job("upload", "f", due="2026-03-01T09:15:00.000Z").sort)
    JobName(kind='upload', group_id='f', conversation_id=None, due='2026-03-01T09:15:00.000Z')
    """
    kind, _, of = sort_key.partition("#")
    first, _, second = of.partition("#")
    if kind == JobKind.UPLOAD and second:
        return JobName(kind, second, due=first)
    return JobName(kind, first, second or None)


def jobs_range(kind: str, *, before: str | None = None) -> SortRange:
    """Return the range of all work in progress of a kind. before: only what is due before that."""
    of = _all(_JOB, f"{kind}#")
    return of if before is None else of._replace(last=f"{of.first}{before}")


def pointer(conversation_id: str) -> Key:
    return Key(f"PTR#{conversation_id}", "PTR")


def _user(user_id: str) -> str:
    return f"USER#{escape(user_id)}"


_STARTED = "STARTED#"


def user_tree(user_id: str, root_created_at: str, group_id: str, *, is_child: bool) -> Key:
    """Return the key of a tree in a member's list; started children have a range of their own."""
    return Key(_user(user_id), _of_user_trees(is_child) + ListKey(root_created_at, group_id).sort)


def used_user_tree(place: ListKey, *, is_child: bool) -> str:
    """Return the key in the local index of a tree that stands at this place by its last use.

    It is spelled as the sort key, with the time of the use.
    """
    return _of_user_trees(is_child) + place.sort


def user_trees_range(
    user_id: str,
    *,
    is_child: bool,
    after: ListKey | None = None,
    before: ListKey | None = None,
    through: ListKey | None = None,
    by_use: bool = False,
) -> SortRange:
    """Return the range of a user's trees strictly before a place, or up to one, oldest first.

    is_child: the trees that a conversation has started; False: the others. after: only the trees
    strictly after this place. by_use: in the local index, which has only trees that were moved.
    """
    prefix = _of_user_trees(is_child)
    first = prefix + (after.just_after if after else "0")
    return SortRange(_user(user_id), first, prefix + _last_of(before, through), by_conversation=by_use)


def _of_user_trees(is_child: bool) -> str:
    return _STARTED if is_child else ""


def in_user_tree(sort_key: str) -> tuple[ListKey, bool]:
    """Return the tree that a USER_TREE item's sort key names, and whether it is a started child's.

    >>> in_user_tree(user_tree("u", "2026-03-01T09:15:00.000Z", "g", is_child=True).sort)
    (ListKey(created_at='2026-03-01T09:15:00.000Z', conversation_id='g'), True)
    """
    return list_key(sort_key), sort_key.startswith(_STARTED)


def _last_of(before: ListKey | None, through: ListKey | None) -> str:
    return before.just_before if before else through.sort if through else ":"


def user_range(user_id: str) -> SortRange:
    """Return the range of all items in a user's own partition: lists, names, transfers."""
    return SortRange(_user(user_id), " ", "\U0010ffff")


def is_user_tree(sort_key: str) -> bool:
    """Tell whether an item in a user's partition is a row of the user's list of trees."""
    return sort_key[:1].isdigit() or sort_key.startswith(_STARTED)


def is_name(sort_key: str) -> bool:
    """Tell whether an item in a user's partition is a name."""
    return sort_key.startswith(_NAME)


_NAME = "NAME#"


def name(ref: NameRef) -> Key:
    """Return the key of a name, among all names of its user. It has at most 835 bytes."""
    return Key(_user(ref.owner.user_id), _names_of(ref.owner.client_id) + escape_in_order(ref.name))


def in_name(key: Key) -> tuple[str, str]:
    """Return the user and the name that the key of a NAME item names."""
    return unquote(key.partition.partition("#")[2]), in_order(key.sort.split("#")[2])


def names_range(owner: NameOwner, *, prefix: str = "", after: str | None = None) -> SortRange:
    """Return the range of the names of an owner that begin with `prefix`, in the order of names.

    after: only the names after this one.
    """
    of = _names_of(owner.client_id)
    first = of + escape_in_order(prefix)
    begin = max(first, f"{of}{escape_in_order(after)} ") if after is not None else first
    return SortRange(_user(owner.user_id), begin, f"{first}\x7f")


def all_names_range(user_id: str, *, after: NameRef | None = None) -> SortRange:
    """Return the range of all names of a user, client by client. after: only those after this."""
    of = _all(_user(user_id), _NAME)
    return of if after is None else of._replace(first=f"{name(after).sort} ")


def _names_of(client_id: str | None) -> str:
    """Return what the keys of an owner's names begin with.

    A digest names the client, because an escaped id may be three times as long as the id.
    Source: a sort key has at most 1,024 bytes (DynamoDB constraints).
    """
    client = "" if client_id is None else hashlib.sha256(client_id.encode()).hexdigest()
    return f"{_NAME}{client}#"


def escape_in_order(text: str) -> str:
    """Return text of a user in a form that a key may hold, and that sorts as the text does.

    Bytes up to `%` become `%` and two digits. Bytes from `~` on become `~` and two digits. All
    other bytes are between `%` and `~` and stay. So the order of the bytes is kept, and `#` is
    never in the result.

    >>> escape_in_order("a#b/ü")
    'a%23b/~c3~bc'
    """
    return "".join(
        f"%{byte:02x}" if byte <= ord("%") else f"~{byte:02x}" if byte >= ord("~") else chr(byte)
        for byte in text.encode()
    )


def in_order(escaped: str) -> str:
    """Return the text that `escape_in_order` has escaped. Raises ValueError if it has not.

    >>> in_order(escape_in_order("a#b/ü"))
    'a#b/ü'
    """
    text = unquote(escaped.replace("~", "%"), errors="strict")
    if escape_in_order(text) != escaped:
        raise ValueError(f"{escaped!r} is not escaped in order")
    return text


_ANSWER = "ANSWER#"


def _answer(group_id: str, answer_id: str) -> str:
    return f"{_ANSWER}{group_id}#{answer_id}"


def part(group_id: str, answer_id: str, position: int) -> Key:
    """Return the key of a part of an answer that is being written."""
    return Key(_answer(group_id, answer_id), f"{position:04}")


def in_part(sort_key: str) -> int:
    """Return the position that a PART item's sort key names."""
    return int(sort_key)


def parts_range(group_id: str, answer_id: str, *, first: int = 0) -> SortRange:
    """Return the range of the parts of an answer from a position on."""
    return parts_in(_answer(group_id, answer_id), first=first)


def in_answer(key: Key) -> tuple[str, str]:
    """Return the tree and the answer that the key of a part names."""
    _, group_id, answer_id = key.partition.split("#")
    return group_id, answer_id


def parts_in(partition: str, *, first: int = 0) -> SortRange:
    """Return the range of the parts in the partition of an answer."""
    return SortRange(partition, f"{first:04}", ":")


def is_part(key: Key) -> bool:
    """Tell whether a key is that of a part of an answer."""
    return key.partition.startswith(_ANSWER)


_ENTRY_KEY = "KEY#"


def entry_key(group_id: str, conversation_id: str, key: str) -> Key:
    """Return the key of the item that says which own entry of a conversation has `key`."""
    return Key(group_id, f"{_ENTRY_KEY}{conversation_id}#{escape(key)}")


def entry_keys_range(group_id: str, conversation_id: str) -> SortRange:
    """Return the range of the keys of a conversation's own entries."""
    return _all(group_id, f"{_ENTRY_KEY}{conversation_id}#")


def in_entry_key(sort_key: str) -> tuple[str, str]:
    """Return the conversation and the entry's key that a KEY item's sort key names.

    >>> in_entry_key(entry_key("g", "c", "a#1").sort)
    ('c', 'a#1')
    """
    _, conversation_id, key = sort_key.split("#")
    return conversation_id, unquote(key)


_VECTOR, _SHELF = "VEC#", "SHELF"


def shelf(user_id: str) -> Key:
    """Return the key of the item that names the shelf of a user's trees."""
    return Key(_user(user_id), _SHELF)


def is_shelf(sort_key: str) -> bool:
    """Tell whether an item in a user's partition names the shelf of the user's trees."""
    return sort_key == _SHELF


_PINS = "PINS"


def pins(user_id: str) -> Key:
    """Return the key of the item that names the trees that a user has pinned."""
    return Key(_user(user_id), _PINS)


def is_pins(sort_key: str) -> bool:
    """Tell whether an item in a user's partition names the trees that the user has pinned."""
    return sort_key == _PINS


def vector(group_id: str, conversation_id: str, entry_id: EntryId, piece: int) -> Key:
    """Return the key of the vector of a piece of an own entry of a conversation."""
    return Key(group_id, f"{_VECTOR}{conversation_id}#{entry_id}#{piece}")


def vectors_range(group_id: str, conversation_id: str, *, first: EntryId, last: EntryId) -> SortRange:
    """Return the range of the vectors of a conversation's own entries between two positions."""
    of = f"{_VECTOR}{conversation_id}#"
    return SortRange(group_id, of + first, f"{of}{last}$")


def in_vector(sort_key: str) -> tuple[str, EntryId, int]:
    """Return the conversation, the entry and the piece that a VEC item's sort key names.

    >>> in_vector(vector("g", "c", EntryId("e"), 2).sort)
    ('c', 'e', 2)
    """
    _, conversation_id, entry_id, piece = sort_key.split("#")
    return conversation_id, EntryId(entry_id), int(piece)


_FILE, _REFERENCE = "FILE", "REF#"


def file(attachment_id: str) -> Key:
    return Key(f"{_FILE}#{attachment_id}", _FILE)


def reference(of: Reference) -> Key:
    """Return the key of the item that says that an entry names an attachment."""
    return Key(file(of.attachment_id).partition, f"{_REFERENCE}{of.group_id}#{of.entry_id}")


def references_range(attachment_id: str, group_id: str | None = None) -> SortRange:
    """Return the range of the entries that name an attachment: all, or those of a tree."""
    partition = file(attachment_id).partition
    return _all(partition, _REFERENCE if group_id is None else f"{_REFERENCE}{group_id}#")


def references_after(attachment_id: str, group_id: str) -> SortRange:
    """Return the range of the entries that name it in the trees after this one."""
    return references_range(attachment_id)._replace(first=references_range(attachment_id, group_id).last)


def in_reference(key: Key) -> Reference:
    """Return what the key of a REF item says.

    >>> in_reference(reference(Reference("a", "g", "e")))
    Reference(attachment_id='a', group_id='g', entry_id='e')
    """
    _, group_id, entry_id = key.sort.split("#")
    return Reference(in_file(key), group_id, entry_id)


def in_file(key: Key) -> str:
    """Return the attachment in whose partition a key is."""
    return key.partition.partition("#")[2]


def is_file(key: Key) -> bool:
    """Tell whether a key is that of an attachment."""
    return key.partition.startswith(f"{_FILE}#") and key.sort == _FILE


def user_file(user_id: str, sha256: str, content_type: str) -> Key:
    """Return the key of the item that names a user's attachment with these bytes and type."""
    return Key(_user(user_id), f"{_FILE}#{sha256}#{digest_of_type(content_type)}")


def user_files_range(user_id: str, *, after: str | None = None) -> SortRange:
    """Return the range of a user's attachments. after: only those after this sort key."""
    of = _all(_user(user_id), f"{_FILE}#")
    return of if after is None else of._replace(first=f"{after} ")


_USER_FILE = re.compile(f"{_FILE}#[0-9a-f]{{64}}#[0-9a-f]{{16}}", re.ASCII)


def is_user_file(sort_key: str) -> bool:
    """Tell whether an item in a user's partition names an attachment of the user."""
    return _USER_FILE.fullmatch(sort_key) is not None


RECORDS = "IDEM#"
"""How the partition keys of idempotency records begin."""


def idempotency(scope: str) -> Key:
    """Return the key of the record for `scope`, which names caller, route, path ids and key."""
    return Key(f"{RECORDS}{hashlib.sha256(scope.encode()).hexdigest()}", "IDEM")


def is_idempotency(key: Key) -> bool:
    """Tell whether a key is that of an idempotency record."""
    return key.partition.startswith(RECORDS)


_ERASURE = "ERASURE"
ERASURES = f"{_ERASURE}#"
"""How the partition keys of erasures begin."""


def erasure(erasure_id: str) -> Key:
    """Return the key of the record of a user's erasure."""
    return Key(f"{ERASURES}{erasure_id}", _ERASURE)


def erased_tree(erasure_id: str, group_id: str) -> Key:
    """Return the key of the item that says that an erasure has changed a tree."""
    return Key(f"{ERASURES}{erasure_id}", f"{_TREE}{group_id}")


def in_erased_tree(place: Key) -> str:
    """Return the tree that such an item names."""
    return place.sort.removeprefix(_TREE)


def erased_trees_range(erasure_id: str) -> SortRange:
    """Return the range of the trees that an erasure has changed."""
    return _all(f"{ERASURES}{erasure_id}", _TREE)


def requests(user_id: str, window_s: int) -> Key:
    """Return the key of the count of a user's requests in a minute, which begins at that second.

    It names the user by a digest.
    """
    return Key(f"RATE#{hashlib.sha256(user_id.encode()).hexdigest()}", ids.timestamp(window_s * 1000))


def all_trees(group_id: str, created_at: str) -> tuple[str, str]:
    """Return a tree's partition and sort key in the index of all trees, spread over TREE_SHARDS."""
    shard = hashlib.sha256(group_id.encode()).digest()[0] % TREE_SHARDS
    return f"TREES#{shard}", f"{created_at}#{group_id}"


def trashed_tree(group_id: str, trashed_at: str, branch_id: str | None = None) -> tuple[str, str]:
    """Return the partition and sort key in the same index of a tree in the trash.

    branch_id: of one of its branches that is there alone.
    """
    shard = hashlib.sha256(group_id.encode()).digest()[0] % TREE_SHARDS
    return f"TRASH#{shard}", f"{trashed_at}#{branch_id or group_id}"


def trash_range(shard: int, *, after: ListKey, before: str) -> SortRange:
    """Return the range of one shard of what is in the trash: after a place, put there before."""
    return SortRange(f"TRASH#{shard}", after.just_after, before)


def old_trees_range(shard: int, *, after: ListKey, before: str) -> SortRange:
    """Return the range of one shard of that index after a place, and made before a time."""
    return SortRange(f"TREES#{shard}", after.just_after, before)


def retention() -> Key:
    """Return the key of the record of the deletion of unused trees."""
    return Key("RETENTION", "RETENTION")


def all_trees_ranges(*, before: ListKey | None = None, through: ListKey | None = None) -> list[SortRange]:
    """Return a range of each shard of the index of all trees: before a place, or up to one.

    `list_key` reads the places in their sort keys.
    """
    last = _last_of(before, through)
    return [SortRange(f"TREES#{shard}", "0", last) for shard in range(TREE_SHARDS)]

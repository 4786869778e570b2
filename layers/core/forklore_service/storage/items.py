"""Values to DynamoDB items and back. Only here are attributes named."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.attachments import File, Reference
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.erasures import Erasure, Mention
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import JobName, Key, ListKey
from forklore_service.domain.links import ReaderLink
from forklore_service.domain.model import (
    NOTHING,
    Answering,
    Attached,
    Conversation,
    Description,
    Entry,
    EntryLayout,
    EntryRef,
    ForkPoint,
    Head,
    LastEntries,
    Metrics,
    StartedBy,
    StoredEntry,
    TokenUsage,
    Transfer,
    Turn,
    Words,
)
from forklore_service.domain.names import Name, NameOwner, NameRef
from forklore_service.domain.notes import Note
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.retention import Round
from forklore_service.domain.tree import (
    BranchTip,
    ChildRow,
    ClientContext,
    ForkRecord,
    Group,
    HeadRow,
    IdempotencyRecord,
    Job,
    Member,
    MemberChange,
    Moves,
    Pointer,
    TreeRow,
)
from forklore_service.domain.vectors import INDEXED_MAX, Vector, indexed
from forklore_service.storage import bodies, schema
from forklore_service.storage.codec import Codec, Packed
from forklore_service.storage.connection import Item

_NO_ID = ids.FIRST.replace("-", "")
_CHANNELS = {letter: channel for channel, letter in keys.CHANNEL_LETTERS.items()}


def text(value: str) -> dict[str, str]:
    return {"S": str(value)}  # a member of an Enum becomes text


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def binary(value: bytes) -> dict[str, bytes]:
    return {"B": value}


def present(attributes: Mapping[str, Any]) -> Item:
    """Return the attributes that are not None: str as S, int as N, bytes as B, True as BOOL."""
    return {name: _typed(value) for name, value in attributes.items() if value is not None}


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return text(value)
        case int():
            return number(value)
        case bytes():
            return binary(value)
        case Mapping():
            return {"M": present(value)}
        case _:
            raise AssertionError(f"no attribute type for {type(value)}")


def key_of(key: Key) -> Item:
    return {"PK": text(key.partition), "SK": text(key.sort)}


def _item(key: Key, attributes: Mapping[str, Any]) -> Item:
    return key_of(key) | present(attributes)


def key(item: Item) -> Key:
    """Return an item's key."""
    return Key(item["PK"]["S"], item["SK"]["S"])


def plain(item: Item) -> dict[str, Any]:
    """Return an item's attributes as Python values; absent ones are simply absent."""
    return {
        name: held["S"] if "S" in held else int(held["N"]) if "N" in held else _plain(held)
        for name, held in item.items()
    }


def _plain(value: Mapping[str, Any]) -> Any:
    [(kind, held)] = value.items()
    match kind:
        case "M":
            return plain(held)
        case "B":
            return bytes(held)
        case _:
            return held


_MEMBER_CHANGE = Codec(MemberChange, user_id="user")
_GROUP = Codec(
    Group,
    elsewhere=["group_id"],
    always=["state", "members", "version", "conversations", "children"],
    promoted="current",
    child_key=Codec(Key, partition="parent", sort="childKey"),
    member_change=Packed("memberChange", _MEMBER_CHANGE.attributes, _MEMBER_CHANGE.value),
)


def group_item(group: Group) -> Item:
    """Return the item of a new tree."""
    partition, sort = keys.all_trees(group.group_id, group.created_at)
    listed = {schema.TREE_PARTITION_KEY: partition, schema.TREE_SORT_KEY: sort}
    return _item(keys.group(group.group_id), _GROUP.attributes(group) | listed)


def group(item: Item) -> Group:
    a = plain(item)
    return _GROUP.value(a, group_id=a["PK"])


def member_change_map(change: MemberChange) -> dict[str, Any]:
    """Return the typed value of GROUP's `memberChange`."""
    return {"M": present(_MEMBER_CHANGE.attributes(change))}


def as_imported(item: Item) -> Item:
    """Return an item that says that it was copied. So it is no news, and makes no event."""
    return item | {"imported": {"BOOL": True}}


def is_imported(item: Item) -> bool:
    """Tell whether the item was copied from another table."""
    return "imported" in item


def is_copied(item: Item) -> bool:
    """Tell whether the entry in `item` is a copy of another one."""
    return "copiedFrom" in item


_DESCRIPTION = Codec(Description)
_CONVERSATION = Codec(
    Conversation,
    elsewhere=["conversation_id", "group_id"],
    described=_DESCRIPTION,
    fork_point=Codec(
        ForkPoint,
        conversation_id="forkedAtConversationId",
        entry_id="forkedAtEntryId",
        position="forkedAtPosition",
    ),
    started_by=Codec(StartedBy, conversation_id="startedByConversationId", entry_id="startedByEntryId"),
)


def conversation_item(conversation: Conversation) -> Item:
    key = keys.conversation(conversation.group_id, conversation.conversation_id)
    return _item(key, _CONVERSATION.attributes(conversation))


def conversation(item: Item) -> Conversation:
    a = plain(item)
    return _CONVERSATION.value(a, group_id=a["PK"], conversation_id=keys.in_conversation(a["SK"]))


def described(conversation: Conversation, fields: Iterable[str]) -> dict[str, dict[str, Any] | None]:
    """Return the attributes of these fields of the description; None for one that is left out."""
    said = present(_DESCRIPTION.attributes(conversation.described))
    names = _DESCRIPTION.names
    return {names[field]: said.get(names[field]) for field in fields}


def path_item(conversation: Conversation, path: ancestry.Path) -> Item:
    return key_of(keys.path(conversation.group_id, conversation.conversation_id)) | {
        "path": binary(ancestry.pack(path))
    }


def path(item: Item | None) -> ancestry.Path:
    return ancestry.unpack(plain(item)["path"]) if item else ()


def tree_item(conversation: Conversation, path: ancestry.Path = ()) -> Item:
    """Return a conversation's row in the list of its tree. A fork's row records where it leaves."""
    key = keys.tree_row(conversation.group_id, conversation.created_at, conversation.conversation_id)
    if conversation.is_root:
        return key_of(key)
    return key_of(key) | {schema.ENTRY_SORT_KEY: text(_record_key(ForkRecord.of(conversation, path)))}


def _record_key(record: ForkRecord) -> str:
    """Return a fork's key in the local index."""
    return keys.fork_record(record.owner, record.stop, ListKey(record.created_at, record.conversation_id))


def fork_record(item: Item) -> ForkRecord:
    """Return where a fork leaves, from its TREE item, or from GONE if it was removed."""
    a = plain(item)
    owner, stop, place = keys.in_fork_record(a[schema.ENTRY_SORT_KEY])
    is_removed = KEPT in item or keys.in_remnant(a["SK"]) is not None
    return ForkRecord(owner, stop, *place, is_removed)


def remnant_item(remnant: Remnant) -> Item:
    """Return what stays of a removed branch. It keeps the record of where the branch left.

    One that is in the trash has a place in the list of the trash.
    """
    record = remnant.record
    partition, sort = keys.trashed_tree(remnant.group_id, remnant.removed_at, remnant.conversation_id)
    place = {schema.TREE_PARTITION_KEY: partition, schema.TREE_SORT_KEY: sort} if remnant.in_trash else {}
    return _item(
        keys.remnant(remnant.group_id, remnant.conversation_id),
        {
            schema.ENTRY_SORT_KEY: _record_key(record) if record else None,
            "removedAt": remnant.removed_at,
            "nonce": remnant.nonce,
            "answer": remnant.answer_id,
            "successor": remnant.successor,
            "promotions": None if remnant.successor is None else remnant.promotions,
            **place,
        },
    )


def remnant(item: Item) -> Remnant:
    a = plain(item)
    record = fork_record(item) if schema.ENTRY_SORT_KEY in a else None
    conversation_id = a["SK"].partition("#")[2]
    return Remnant(
        a["PK"],
        conversation_id,
        a["removedAt"],
        a["nonce"],
        record,
        a.get("answer"),
        schema.TREE_PARTITION_KEY in a,
        a.get("successor"),
        a.get("promotions", 0),
    )


_ANSWERING = Codec(
    Answering, answer_id="answer", after="answerAfter", user_id="answerBy", since="answerSince"
)
_METRICS = Codec(Metrics, always=Metrics._fields, usage=Codec(TokenUsage, always=TokenUsage._fields))
_HEAD = Codec(
    Head,
    always=["floor", "last", "history", "context", "metrics"],
    lasts=Codec(LastEntries, history="lastHistory", context="lastContext"),
    metrics=_METRICS,
    preview=Codec(Words, left_out={"by": ""}, text="preview", by="previewBy"),
    answer=_ANSWERING,
)


_BRANCH_TIP = Codec(BranchTip, answer=_ANSWERING)
_OF_BRANCH_TIP = (*_BRANCH_TIP.names.values(), *_ANSWERING.names.values())


def branch_tip(item: Item) -> BranchTip:
    """Return what a list of forks shows of a HEAD."""
    return _BRANCH_TIP.value(plain({name: item[name] for name in _OF_BRANCH_TIP if name in item}))


def answering(answer: Answering) -> dict[str, Any]:
    """Return what HEAD says of an answer, as typed values."""
    return present(_ANSWERING.attributes(answer))


ANSWERING = tuple(_ANSWERING.names.values())
"""The attributes of it."""


def counters(metrics: Metrics) -> dict[str, int]:
    """Return sums under the names that they have in HEAD."""
    return _METRICS.attributes(metrics)


def head_item(conversation: Conversation, head: Head) -> Item:
    key = keys.head(conversation.group_id, conversation.conversation_id)
    return _item(key, _HEAD.attributes(head))


def changes(item: Item) -> int:
    """Return how often a transaction has changed CONV, as CONV and HEAD both count."""
    return int(item["changes"]["N"]) if "changes" in item else 0


def last(item: Item) -> EntryId:
    """Return the last own entry that a HEAD names, or its floor."""
    return EntryId(item["last" if "last" in item else SHUT]["S"])


KEPT = "kept"
"""The attribute of CONV, HEAD and TREE of a branch that is in the trash. No read sees such an item,
but those that ask for it."""
SHUT = "shut"
"""The attribute of a HEAD in the trash that holds `last`, on which every append depends."""
LAST = ("last", SHUT)
"""The attributes of HEAD that `last` reads."""
HEAD_ROW = ("owner", "answer", SHUT)
"""The attributes of HEAD that `head_row` reads."""


def head_row(item: Item) -> HeadRow:
    return HeadRow(keys.in_head(item["SK"]["S"]), item["owner"]["S"], answer_id(item), SHUT in item)


def answer_id(item: Item) -> str | None:
    """Return the answer that a HEAD, a GONE or a CONV names."""
    return str(item["answer"]["S"]) if "answer" in item else None


def head(item: Item) -> Head:
    return _HEAD.value(plain({**item, "last": item[SHUT]} if SHUT in item else item))


_MEMBER = Codec(Member)


def member_item(group_id: str, member: Member, *, nonce: str | None = None) -> Item:
    key = keys.member(group_id, member.user_id)
    return _item(key, _MEMBER.attributes(member) | {"nonce": nonce})


def member(item: Item) -> Member:
    return _MEMBER.value(plain(item))


_LINK = Codec(ReaderLink, elsewhere=["link_id"], conversation_id="conversation")


def link_item(group_id: str, link: ReaderLink) -> Item:
    return _item(keys.link(group_id, link.link_id), _LINK.attributes(link))


def link(item: Item, *, now_s: int) -> ReaderLink | None:
    """Return a link; None if it has ended."""
    a = plain(item)
    link = _LINK.value(a, link_id=keys.in_link(a["SK"]))
    return link if link.is_open(now_s=now_s) else None


_NOTE = Codec(Note, elsewhere=["ref"], score=Packed("score", json.dumps, json.loads))
"""A score is stored as JSON: DynamoDB's numbers are no doubles."""


def note_item(group_id: str, note: Note) -> Item:
    return _item(keys.note(group_id, note.ref), _NOTE.attributes(note))


def note(item: Item) -> Note:
    return _NOTE.value(plain(item), ref=keys.in_note(item["SK"]["S"]))


def text_in(item: Item, attribute: str) -> str | None:
    """Return the text of an attribute; None if the item does not have it."""
    return str(item[attribute]["S"]) if attribute in item else None


def user_id(item: Item) -> str:
    """Return the user that a membership names."""
    return str(item["userId"]["S"])


_MOVE_BYTES = 6


def _packed_moves(moves: Sequence[str]) -> bytes:
    return b"".join(ids.milliseconds(at).to_bytes(_MOVE_BYTES, "big") for at in moves)


def _moves(packed: bytes) -> tuple[str, ...]:
    starts = range(0, len(packed), _MOVE_BYTES)
    return tuple(ids.timestamp(int.from_bytes(packed[at : at + _MOVE_BYTES], "big")) for at in starts)


_TREE_ROW = Codec(TreeRow, elsewhere=["place"], moves=Packed("moves", _packed_moves, _moves))


def user_tree_item(
    group_id: str,
    user_id: str,
    level: AccessLevel,
    *,
    created_at: str,
    is_child: bool,
    is_archived: bool = False,
    used_at: str | None = None,
) -> Item:
    """Return a tree's row in the list of a member.

    created_at: the tree's. used_at: when it was used last, if it was after that.
    """
    key = keys.user_tree(user_id, created_at, group_id, is_child=is_child)
    row = TreeRow(ListKey(created_at, group_id), level, is_archived, (used_at,) if used_at else ())
    place = {schema.ENTRY_SORT_KEY: keys.used_user_tree(row.used, is_child=is_child)} if used_at else {}
    return _item(key, _TREE_ROW.attributes(row) | place)


def moves(row: TreeRow) -> dict[str, Any]:
    """Return the typed value of what a row of a user's list knows of its moves."""
    return binary(_packed_moves(row.moves))


def tree_row(item: Item) -> TreeRow:
    """Return a row of a user's list. Rows of earlier versions have no level."""
    a = plain(item)
    return _TREE_ROW.value(a, place=keys.list_key(a["SK"]))


def child_item(child_key: Key, started_by: StartedBy) -> Item:
    """Return a started child's row in the list of its parent's."""
    return _item(child_key, {"startedByEntryId": started_by.entry_id})


def child_row(item: Item) -> ChildRow:
    return ChildRow(keys.list_key(item["SK"]["S"]), text_in(item, "startedByEntryId"))


_TRANSFER = Codec(
    Transfer,
    transfer_id="id",
    group_id="group",
    conversation_id="conversation",
    from_user_id="from",
    to_user_id="to",
)


def transfer_items(transfer: Transfer, *, nonce: str) -> list[Item]:
    """Return a pending transfer's items: for its tree, by its id, and for both parties."""
    held = present(_TRANSFER.attributes(transfer) | {"nonce": nonce})
    return [key_of(key) | held for key in keys.transfer_keys(transfer)]


def transfer(item: Item) -> Transfer:
    return _TRANSFER.value(plain(item))


def pointer_item(conversation: Conversation, nonce: str) -> Item:
    return _item(keys.pointer(conversation.conversation_id), {"group": conversation.group_id, "nonce": nonce})


def resting_item(conversation_id: str, group_id: str) -> Item:
    """Return the item that replaces the pointer of a removed branch, as long as its tree needs it.

    It becomes a retired item when nothing of the branch is shown any more; that of a root, with
    its tree.
    """
    return _item(keys.pointer(conversation_id), {"retired": True, "group": group_id})


def retired_item(conversation_id: str, *, ttl_s: int) -> Item:
    """Return the item that replaces a pointer until its id may be used again."""
    return _item(keys.pointer(conversation_id), {"retired": True, "ttl": ttl_s})


FREE = ids.timestamp(0)
"""The end of the lease of a JOB that no worker holds: long ago by every clock."""
_JOB = Codec(Job, elsewhere=["name"])


def job_item(
    kind: str,
    group_id: str,
    conversation_id: str | None = None,
    *,
    created_at: str,
    due: str | None = None,
    nonce: str | None = None,
    moves: Moves | None = None,
    leased_until: str = FREE,
) -> Item:
    """Return a JOB. created_at: when the work began. leased_until: FREE if nobody holds it."""
    name = JobName(kind, group_id, conversation_id, due)
    job = Job(name, created_at, leased_until, nonce=nonce, moves=moves)
    return _item(keys.job(*name), _JOB.attributes(job))


def job(item: Item) -> Job:
    """Return the work in progress that a JOB item names.

    Raises KeyError or ValueError if it is malformed.
    """
    a = plain(item)
    return _JOB.value(a, name=keys.in_job(a["SK"]))


_CONTEXT = Codec(ClientContext, epoch=Codec(Epoch, always=["first"], number="epoch"), entries="count")


def context_item(group_id: str, conversation_id: str, client_id: str, context: ClientContext) -> Item:
    return _item(keys.context(group_id, conversation_id, client_id), _CONTEXT.attributes(context))


def context(item: Item) -> ClientContext:
    return _CONTEXT.value(plain(item))


_NAME = Codec(Name, elsewhere=["ref"], conversation_id="conversation", previous_id="previous")


def name(item: Item) -> Name:
    user_id, name = keys.in_name(key(item))
    return _NAME.value(plain(item), ref=NameRef(NameOwner(user_id, text_in(item, "clientId")), name))


def entry_key_item(group_id: str, conversation_id: str, key: str, entry_id: EntryId) -> Item:
    """Return the item that says which own entry of the conversation has `key`."""
    return key_of(keys.entry_key(group_id, conversation_id, key)) | {"entry": text(entry_id)}


def keyed_entry(item: Item) -> EntryId:
    """Return the entry that a KEY item names."""
    return EntryId(item["entry"]["S"])


def nonce(item: Item) -> str | None:
    """Return the mark of the request that wrote the item."""
    return item["nonce"]["S"] if "nonce" in item else None


def pointer(item: Item, *, now_s: int) -> Pointer | None:
    """Return the pointer; None if it has expired, as only that of a deleted conversation does."""
    a = plain(item)
    if "ttl" in a and a["ttl"] < now_s:
        return None
    is_retired = a.get("retired", False)
    return Pointer(None, a.get("group")) if is_retired else Pointer(a["group"])


def chunks(item: Item) -> int:
    """Return how many BLOB items hold an entry's body."""
    return int(item["chunks"]["N"]) if "chunks" in item else 0


def _packed_ids(named: Sequence[EntryId | None]) -> bytes:
    """Return entry ids in 16 bytes each. FIRST, which no entry has, stands for None."""
    return bytes.fromhex("".join(one or ids.FIRST for one in named).replace("-", ""))


def _unpacked_ids(packed: bytes) -> list[EntryId | None]:
    digits = packed.hex()
    return [_id_of(digits[at : at + 32]) for at in range(0, len(digits), 32)]


def _id_of(digits: str) -> EntryId | None:
    return None if digits == _NO_ID else ids.spelled(digits)


def _lasts_in(packed: bytes) -> LastEntries:
    return LastEntries(*_unpacked_ids(packed))


def _packed_turn(turn: Turn) -> bytes:
    return _packed_ids([turn.first, turn.last, *turn.before, *turn.after])


def _turn_in(packed: bytes) -> Turn:
    first, last, *shown = _unpacked_ids(packed)
    assert first is not None, "a turn begins with an entry"
    assert last is not None, "a turn ends with an entry"
    return Turn(first, last, LastEntries(*shown[:2]), LastEntries(*shown[2:]))


def lasts(item: Item) -> LastEntries:
    """Return what an ENTRY item names as shown last before it."""
    return _lasts_in(item["prev"]["B"]) if "prev" in item else NOTHING


def turn(item: Item) -> Turn | None:
    """Return the turn that an ENTRY item belongs to; None if it has no other entry."""
    return _turn_in(item["turn"]["B"]) if "turn" in item else None


def _packed_ref(of: EntryRef) -> str:
    return f"{of.conversation_id}#{of.entry_id or ''}"


def _ref_in(packed: str) -> EntryRef:
    conversation_id, _, entry_id = packed.partition("#")
    return EntryRef(conversation_id, EntryId(entry_id) if entry_id else None)


def _packed_text(any_text: str) -> bytes:
    """Return any text as a body. As JSON text it cannot begin like a compressed one."""
    return bodies.encode(json.dumps(any_text, ensure_ascii=False))


def _text_in(packed: bytes) -> str:
    text_in: str = json.loads(bodies.decode(packed))
    return text_in


def _packed_attachments(attachments: Sequence[Attached]) -> str:
    stored = [[one.attachment_id, one.name, one.content_type, one.size] for one in attachments]
    return json.dumps(stored, ensure_ascii=False, separators=(",", ":"))


def _attachments_in(packed: str) -> tuple[Attached, ...]:
    return tuple(Attached(*one) for one in json.loads(packed))


_ENTRY = Codec(
    Entry,
    elsewhere=["entry_id", "conversation_id", "channel", "content"],
    after=Packed("prev", _packed_ids, _lasts_in),
    turn=Packed("turn", _packed_turn, _turn_in),
    merged_from=Packed("mergedFrom", _packed_ref, _ref_in),
    copied_from=Packed("copiedFrom", _packed_ref, _ref_in),
    indexed_content=Packed("indexed", _packed_text, _text_in),
    attachments=Packed("files", _packed_attachments, _attachments_in),
)

LAYOUT = ("chunks", "files")
"""The attributes of ENTRY that `entry_layout` reads."""


def entry_layout(item: Item) -> EntryLayout:
    """Return what there is beside an ENTRY item."""
    files = _attachments_in(item["files"]["S"]) if "files" in item else ()
    return EntryLayout(
        keys.entry_id_of(item["SK"]["S"]), chunks(item), tuple(one.attachment_id for one in files)
    )


_SAID_OF_FILE = ("content_type", "size", "sha256", "name")
_FILE = Codec(
    File, elsewhere=["attachment_id", "named_by"], always=["named", *_SAID_OF_FILE], content_type="type"
)
_GOING_FILE = Codec(File, elsewhere=["attachment_id", "named_by"], always=["named"], content_type="type")
FORGOTTEN_OF_FILE = ("owner", "type", "size", "sha256", "name", "pending")
"""The attributes that FILE loses when it is going."""


def file_item(file: File) -> Item:
    codec = _GOING_FILE if file.is_going else _FILE
    return _item(keys.file(file.attachment_id), codec.attributes(file))


def file(item: Item) -> File:
    of = key(item)
    last = text_in(item, "namedBy")
    named_by = None if last is None else keys.in_reference(Key(of.partition, last))
    codec = _GOING_FILE if "going" in item else _FILE
    return codec.value(plain(item), attachment_id=keys.in_file(of), named_by=named_by)


def reference_item(reference: Reference) -> Item:
    """Return the item that says that an entry names an attachment."""
    return key_of(keys.reference(reference))


def user_file_item(owner: str, file: File) -> Item:
    """Return the item that names an attachment among those of its owner."""
    said = {"file": file.attachment_id, "size": file.size}
    return _item(keys.user_file(owner, file.sha256, file.content_type), said)


def user_file(item: Item) -> str:
    """Return the attachment that such an item names."""
    attachment_id: str = item["file"]["S"]
    return attachment_id


def user_file_size(item: Item) -> int:
    """Return the bytes of the attachment that such an item names; 0 if it does not say."""
    return int(item["size"]["N"]) if "size" in item else 0


def size(item: Item) -> int:
    """Return about how many bytes DynamoDB counts for an item: its names and its values."""
    return sum(len(name) + value_bytes(held) for name, held in item.items())


def value_bytes(held: dict[str, Any]) -> int:
    """Return about how many bytes DynamoDB counts for a value."""
    [value] = held.values()
    return len(value) if isinstance(value, bytes) else len(str(value).encode())


def entry_items(group_id: str, entry: Entry, *, nonce: str, escaped_bytes: int) -> tuple[Item, list[Item]]:
    """Return the entry's item and those of its chunks."""
    body = bodies.encode(entry.content)
    cut = bodies.chunks(body)
    item = _item(
        keys.entry(group_id, entry.entry_id),
        {
            schema.ENTRY_SORT_KEY: keys.by_conversation(entry.conversation_id, entry.channel, entry.entry_id),
            **_ENTRY.attributes(entry),
            "body": None if cut else body,
            "chunks": len(cut) or None,
            "size": escaped_bytes,
            "nonce": nonce,
        },
    )
    blobs = [
        key_of(keys.blob(group_id, entry.entry_id, at)) | {"data": binary(chunk)}
        for at, chunk in enumerate(cut)
    ]
    return item, blobs


def stored_entry(item: Item) -> StoredEntry:
    """Return the entry in `item`. Table.with_bodies reads its content."""
    a = plain(item)
    conversation_id, letter, _ = a[schema.ENTRY_SORT_KEY].split("#", 2)
    return StoredEntry(
        entry=_ENTRY.value(
            a,
            entry_id=keys.entry_id_of(a["SK"]),
            conversation_id=conversation_id,
            channel=_CHANNELS[letter],
            content="",
        ),
        body=a.get("body", b""),
        chunks=a.get("chunks", 0),
        escaped_bytes=a["size"],
        nonce=a["nonce"],
    )


_VECTOR = Codec(Vector, elsewhere=["conversation_id", "entry_id", "piece"], model="m", packed="v")


VECTOR_FIELDS = ("m", "v", "shelf")
"""The attributes of VEC that `vector` reads."""


def vector_item(group_id: str, vector: Vector) -> Item:
    """Return the item of a vector. The index holds those that have a shelf."""
    key = keys.vector(group_id, vector.conversation_id, vector.entry_id, vector.piece)
    item = _item(key, _VECTOR.attributes(vector))
    if vector.shelf is None:
        return item
    found_by = {schema.VECTOR_TREE: group_id, schema.VECTOR_CONVERSATION: vector.conversation_id}
    return item | present(found_by) | {schema.VECTOR: vector_list(indexed(vector.packed))}


_indexed = lru_cache(maxsize=2 * INDEXED_MAX + 1)(number)


def vector_list(numbers: Iterable[int]) -> dict[str, Any]:
    """Return the typed value of a vector in the index."""
    return {"L": [*map(_indexed, numbers)]}


def shelf_item(user_id: str, shelf: str) -> Item:
    """Return the item that names a user's shelf."""
    return _item(keys.shelf(user_id), {schema.SHELF: shelf})


def pins_item(user_id: str, rows: Sequence[str]) -> Item:
    """Return the item of a user's pins. rows: the sort keys of the trees in the user's list."""
    return _item(keys.pins(user_id), {"rows": ",".join(rows)})


def pins(item: Item) -> tuple[str, ...]:
    return tuple(item["rows"]["S"].split(","))


def vector(item: Item) -> Vector:
    conversation_id, entry_id, piece = keys.in_vector(item["SK"]["S"])
    return _VECTOR.value(plain(item), conversation_id=conversation_id, entry_id=entry_id, piece=piece)


_PART = Codec(
    Part,
    elsewhere=["position"],
    conversation_id="conversation",
    content=Packed("body", bodies.encode, bodies.decode),
    entry=Packed("entry", _packed_ref, _ref_in),
    next_id="next",
)


def part_item(group_id: str, answer_id: str, part: Part) -> Item:
    return _item(keys.part(group_id, answer_id, part.position), _PART.attributes(part))


def part(item: Item, *, now_s: int) -> Part | None:
    """Return a part of a log; None if the log has expired."""
    a = plain(item)
    return None if a["ttl"] < now_s else _PART.value(a, position=keys.in_part(a["SK"]))


_RECORD = Codec(
    IdempotencyRecord,
    left_out={"entry_ids": ()},
    request_hash="request",
    group_id="group",
    conversation_id="conversation",
    entry_ids=Packed("entries", ",".join, lambda packed: tuple(map(EntryId, packed.split(",")))),
    body=Packed("body", bodies.encode, bodies.decode),
)


def idempotency_record_item(key: Key, record: IdempotencyRecord, *, ttl_s: int) -> Item:
    return _item(key, _RECORD.attributes(record) | {"ttl": ttl_s})


def idempotency_record(item: Item, *, now_s: int) -> IdempotencyRecord | None:
    """Return what was answered; None where 24 hours have passed."""
    a = plain(item)
    return None if a["ttl"] < now_s else _RECORD.value(a)


def _packed_places(places: Sequence[Key | ListKey | None]) -> str:
    return json.dumps(places, separators=(",", ":"))


_OF_RUNNING = ("user_id", "changes", "not_before", "changes_before", "waits", "places", "step")
"""The fields that only the record of a running erasure has."""
_COUNTED = ("trees", "memberships", "entries", "passes")
_DONE = Codec(Erasure, elsewhere=["erasure_id", *_OF_RUNNING], always=_COUNTED)
_RUNNING = Codec(
    Erasure,
    elsewhere=["erasure_id"],
    always=[*_COUNTED, *(field for field in _OF_RUNNING if field != "waits")],
    places=Packed("places", _packed_places, lambda packed: tuple(Key(*one) for one in json.loads(packed))),
)
OF_RUNNING = tuple(_RUNNING.names[field] for field in _OF_RUNNING)
"""The attributes that only the record of a running erasure has."""


def erasure_item(erasure: Erasure) -> Item:
    """Return the record of a user's erasure."""
    codec = _DONE if erasure.is_done else _RUNNING
    return _item(keys.erasure(erasure.erasure_id), codec.attributes(erasure))


def erasure(item: Item) -> Erasure:
    a = plain(item)
    codec = _DONE if "finishedAt" in a else _RUNNING
    return codec.value(a, erasure_id=a["PK"].partition("#")[2])


_ROUND = Codec(
    Round,
    always=["places"],
    places=Packed(
        "places", _packed_places, lambda packed: tuple(one and ListKey(*one) for one in json.loads(packed))
    ),
)


def retention_item(begun: Round) -> Item:
    """Return the record of a look through old trees."""
    return _item(keys.retention(), _ROUND.attributes(begun))


def retention(item: Item) -> Round:
    return _ROUND.value(plain(item))


def mention(item: Item) -> Mention:
    """Return an item that names a user, or an idempotency record even if it has expired."""
    of = key(item)
    if keys.is_idempotency(of):
        return Mention(of, record=idempotency_record(item, now_s=0))
    if keys.is_part(of):
        return Mention(of, answer=keys.in_answer(of), answer_by=text_in(item, "userId"))
    return Mention(
        of,
        entry=stored_entry(item) if keys.is_entry(of) else None,
        words_of=text_in(item, "previewBy") or text_in(item, "titledBy"),
        answer=(of.partition, item["answer"]["S"]) if "answer" in item else None,
        answer_by=text_in(item, "answerBy"),
    )

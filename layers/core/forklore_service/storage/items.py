"""Values to DynamoDB items and back. Only here are attributes named."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.erasures import Erasure, Mention
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import (
    NOTHING,
    Conversation,
    Description,
    Entry,
    EntryRef,
    ForkPoint,
    ForkPosition,
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
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.retention import Round
from forklore_service.domain.spelling import camel
from forklore_service.domain.tree import (
    ChildRow,
    ClientContext,
    ForkRecord,
    Group,
    IdempotencyRecord,
    Job,
    Member,
    MemberChange,
    Pointer,
    State,
    TreeRow,
)
from forklore_service.storage import bodies, schema
from forklore_service.storage.connection import Item

_NO_ID = uuid.UUID(ids.FIRST).bytes
_DESCRIBED = {field: camel(field) for field in Description._fields}
_PACKED = {"entry_id", "conversation_id", "channel", "content", "after", "turn"}
_PACKED |= {"merged_from", "copied_from", "indexed_content"}
"""The fields of an entry that its key and its other attributes hold."""
_ENTRY = {field: camel(field) for field in Entry._fields if field not in _PACKED}
_CHANNELS = {letter: channel for channel, letter in keys.CHANNEL_LETTERS.items()}


def text(value: str) -> dict[str, str]:
    return {"S": value}


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
            return text(str(value))
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


def key(item: Item) -> Key:
    """Return an item's key."""
    return Key(item["PK"]["S"], item["SK"]["S"])


def plain(item: Item) -> dict[str, Any]:
    """Return an item's attributes as Python values; absent ones are simply absent."""
    return {name: held["S"] if "S" in held else _plain(held) for name, held in item.items()}


def _plain(value: Mapping[str, Any]) -> Any:
    [(kind, held)] = value.items()
    match kind:
        case "N":
            return int(held)
        case "M":
            return plain(held)
        case "B":
            return bytes(held)
        case _:
            return held


def group_item(
    conversation: Conversation,
    *,
    owner: str,
    members: int = 1,
    child_key: Key | None = None,
    state: State = State.LIVE,
    nonce: str | None = None,
    is_import: bool = False,
) -> Item:
    partition, sort = keys.all_trees(conversation.group_id, conversation.created_at)
    return key_of(keys.group(conversation.group_id)) | present(
        {
            "owner": owner,
            "createdAt": conversation.created_at,
            "state": state,
            "members": members,
            "version": 1,
            "conversations": 1,
            "children": 0,
            "parent": child_key.partition if child_key else None,
            "childKey": child_key.sort if child_key else None,
            "nonce": nonce,
            "importing": is_import or None,
            schema.TREE_PARTITION_KEY: partition,
            schema.TREE_SORT_KEY: sort,
        }
    )


def group(item: Item) -> Group:
    a = plain(item)
    return Group(
        group_id=a["PK"],
        owner=a["owner"],
        created_at=a["createdAt"],
        state=State(a["state"]),
        conversations=a["conversations"],
        children=a["children"],
        members=a["members"],
        version=a["version"],
        promoted=a.get("current"),
        promoted_by=a.get("promotedBy"),
        promotions=a.get("promotions", 0),
        used_at=a.get("usedAt"),
        member_change=_member_change(a.get("memberChange")),
        spreading=a.get("spreading"),
        rewriting=a.get("rewriting"),
        child_key=Key(a["parent"], a["childKey"]) if "childKey" in a else None,
        nonce=a.get("nonce"),
        deleted_at=a.get("deletedAt"),
        never_live=a.get("neverLive", False),
        cascaded=a.get("cascaded", False),
        is_import=a.get("importing", False),
    )


def member_change_map(change: MemberChange) -> dict[str, Any]:
    """Return the typed value of GROUP's `memberChange`."""
    held = {"user": change.user_id, "was": change.was, "level": change.level, "nonce": change.nonce}
    return {"M": present(held)}


def _member_change(held: Mapping[str, Any] | None) -> MemberChange | None:
    if held is None:
        return None
    was, level = (AccessLevel(held[name]) if name in held else None for name in ("was", "level"))
    return MemberChange(held["user"], was, level, held["nonce"])


def as_imported(item: Item) -> Item:
    """Return an item that says that an import has put it. So it is no news, and makes no event."""
    return item | {"imported": {"BOOL": True}}


def is_imported(item: Item) -> bool:
    """Tell whether an import has put the item."""
    return "imported" in item


def is_copied(item: Item) -> bool:
    """Tell whether the entry in `item` is a copy of another one."""
    return "copiedFrom" in item


def conversation_item(conversation: Conversation) -> Item:
    fork, started = conversation.fork_point, conversation.started_by
    return key_of(keys.conversation(conversation.group_id, conversation.conversation_id)) | present(
        {
            **_changed(conversation.described, _DESCRIBED, Description._field_defaults),
            "agentId": conversation.agent_id,
            "clientId": conversation.client_id,
            "createdAt": conversation.created_at,
            "forkedAtConversationId": fork.conversation_id if fork else None,
            "forkedAtEntryId": fork.entry_id if fork else None,
            "forkedAtPosition": fork.position if fork else None,
            "startedByConversationId": started.conversation_id if started else None,
            "startedByEntryId": started.entry_id if started else None,
            "titledBy": conversation.titled_by or None,
        }
    )


def conversation(item: Item) -> Conversation:
    a = plain(item)
    fork, started = a.get("forkedAtConversationId"), a.get("startedByConversationId")
    return Conversation(
        conversation_id=a["SK"].partition("#")[2],
        group_id=a["PK"],
        created_at=a["createdAt"],
        described=Description(**{field: a[name] for field, name in _DESCRIBED.items() if name in a}),
        agent_id=a.get("agentId"),
        client_id=a.get("clientId"),
        fork_point=ForkPoint(fork, a.get("forkedAtEntryId"), ForkPosition(a["forkedAtPosition"]))
        if fork
        else None,
        started_by=StartedBy(started, a.get("startedByEntryId")) if started else None,
        titled_by=a.get("titledBy", ""),
    )


def _changed(value: NamedTuple, names: Mapping[str, str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a value's fields, without those that have their default.

    names: of the attributes, by the field. Items leave out what has its default.
    """
    held = {field: getattr(value, field) for field in names}
    return {
        names[field]: one for field, one in held.items() if field not in defaults or one != defaults[field]
    }


def described(conversation: Conversation, fields: Iterable[str]) -> dict[str, dict[str, Any] | None]:
    """Return the attributes of these fields of the description; None for one that is left out."""
    said = present(_changed(conversation.described, _DESCRIBED, Description._field_defaults))
    return {_DESCRIBED[field]: said.get(_DESCRIBED[field]) for field in fields}


def path_item(conversation: Conversation, path: ancestry.Path) -> Item:
    return key_of(keys.path(conversation.group_id, conversation.conversation_id)) | {
        "path": binary(ancestry.pack(path))
    }


def path(item: Item | None) -> ancestry.Path:
    return ancestry.unpack(plain(item)["path"]) if item else ()


def tree_item(conversation: Conversation, path: ancestry.Path = ()) -> Item:
    """Return a conversation's row in the list of its tree. A fork's row records where it leaves."""
    key = keys.tree(conversation.group_id, conversation.created_at, conversation.conversation_id)
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
    return ForkRecord(owner, stop, *place, is_removed=keys.in_remnant(a["SK"]) is not None)


def remnant_item(remnant: Remnant) -> Item:
    """Return what stays of a removed branch. It keeps the record of where the branch left."""
    record = remnant.record
    return key_of(keys.remnant(remnant.group_id, remnant.conversation_id)) | present(
        {
            schema.ENTRY_SORT_KEY: _record_key(record) if record else None,
            "removedAt": remnant.removed_at,
            "nonce": remnant.nonce,
        }
    )


def remnant(item: Item) -> Remnant:
    a = plain(item)
    record = fork_record(item) if schema.ENTRY_SORT_KEY in a else None
    conversation_id = a["SK"].partition("#")[2]
    return Remnant(a["PK"], conversation_id, a["removedAt"], a["nonce"], record)


COUNTERS = ("entries", "inputTokens", "outputTokens", "cachedInputTokens", "costNanoUsd")
"""The sums in HEAD: base of the fork and own appends together."""


def counters(metrics: Metrics) -> dict[str, int]:
    """Return the sums under their attributes' names."""
    u = metrics.usage
    sums = (metrics.entries, u.input_tokens, u.output_tokens, u.cached_input_tokens, u.cost_nano_usd)
    return dict(zip(COUNTERS, sums, strict=True))


def head_item(conversation: Conversation, head: Head) -> Item:
    return key_of(keys.head(conversation.group_id, conversation.conversation_id)) | present(
        {
            "owner": head.owner,
            "changedAt": head.changed_at,
            "floor": head.floor,
            "first": head.first,
            "last": head.last,
            "lastHistory": head.lasts.history,
            "lastContext": head.lasts.context,
            "history": head.history,
            "context": head.context,
            **counters(head.metrics),
            "untitled": head.untitled or None,
            "preview": head.preview.text if head.preview else None,
            "previewBy": (head.preview.by or None) if head.preview else None,
            "promotedAt": head.promoted_at,
        }
    )


def changes(item: Item) -> int:
    """Return how often a transaction has changed CONV, as CONV and HEAD both count."""
    return int(item["changes"]["N"]) if "changes" in item else 0


def last(item: Item) -> EntryId:
    """Return the last own entry that a HEAD names, or its floor."""
    return EntryId(item["last"]["S"])


def owner(item: Item) -> str:
    """Return the owner that a HEAD names."""
    return str(item["owner"]["S"])


def head(item: Item) -> Head:
    a = plain(item)
    entries, *usage = (a[name] for name in COUNTERS)
    return Head(
        owner=a["owner"],
        changed_at=a["changedAt"],
        floor=a["floor"],
        first=a.get("first"),
        last=a["last"],
        lasts=LastEntries(a.get("lastHistory"), a.get("lastContext")),
        history=a["history"],
        context=a["context"],
        metrics=Metrics(entries, TokenUsage(*usage)),
        untitled=a.get("untitled", False),
        preview=Words(a["preview"], a.get("previewBy", "")) if "preview" in a else None,
        promoted_at=a.get("promotedAt"),
    )


def member_item(group_id: str, member: Member, *, nonce: str | None = None) -> Item:
    return key_of(keys.member(group_id, member.user_id)) | present(
        {
            "userId": member.user_id,
            "level": member.level,
            "createdAt": member.created_at,
            "nonce": nonce,
            "archived": member.is_archived or None,
        }
    )


def member(item: Item) -> Member:
    a = plain(item)
    return Member(a["userId"], AccessLevel(a["level"]), a["createdAt"], a.get("archived", False))


def text_in(item: Item, attribute: str) -> str | None:
    """Return the text of an attribute; None if the item does not have it."""
    return str(item[attribute]["S"]) if attribute in item else None


def user_id(item: Item) -> str:
    """Return the user that a membership names."""
    return str(item["userId"]["S"])


def user_tree_item(
    group_id: str,
    user_id: str,
    level: AccessLevel,
    *,
    created_at: str,
    is_child: bool,
    is_archived: bool = False,
) -> Item:
    """Return a tree's row in the list of a member. created_at: the tree's."""
    key = keys.user_tree(user_id, created_at, group_id, is_child=is_child)
    return key_of(key) | present({"level": level, "archived": is_archived or None})


def tree_row(item: Item) -> TreeRow:
    """Return a row of a user's list. Rows of earlier versions have no level."""
    a = plain(item)
    level = AccessLevel(a["level"]) if "level" in a else None
    return TreeRow(keys.list_key(a["SK"]), level, a.get("archived", False))


def child_row(item: Item) -> ChildRow:
    a = plain(item)
    return ChildRow(keys.list_key(a["SK"]), a.get("startedByEntryId"))


def child_item(child_key: Key, started_by: StartedBy) -> Item:
    """Return a started child's row in the list of its parent's."""
    return key_of(child_key) | present({"startedByEntryId": started_by.entry_id})


def transfer_items(transfer: Transfer, *, nonce: str) -> list[Item]:
    """Return a pending transfer's items: for its tree, by its id, and for both parties."""
    held = present(
        {
            "id": transfer.transfer_id,
            "group": transfer.group_id,
            "conversation": transfer.conversation_id,
            "from": transfer.from_user_id,
            "to": transfer.to_user_id,
            "createdAt": transfer.created_at,
            "nonce": nonce,
        }
    )
    return [key_of(key) | held for key in keys.transfer_keys(transfer)]


def transfer(item: Item) -> Transfer:
    a = plain(item)
    return Transfer(a["id"], a["group"], a["conversation"], a["from"], a["to"], a["createdAt"])


def pointer_item(conversation: Conversation, nonce: str) -> Item:
    return key_of(keys.pointer(conversation.conversation_id)) | present(
        {"group": conversation.group_id, "nonce": nonce}
    )


def resting_item(conversation_id: str, group_id: str) -> Item:
    """Return the item that replaces the pointer of a removed branch, as long as its tree needs it.

    It becomes a retired item when nothing of the branch is shown any more; that of a root, with
    its tree.
    """
    return key_of(keys.pointer(conversation_id)) | present({"retired": True, "group": group_id})


def retired_item(conversation_id: str, *, ttl_s: int) -> Item:
    """Return the item that replaces a pointer until its id may be used again."""
    return key_of(keys.pointer(conversation_id)) | present({"retired": True, "ttl": ttl_s})


FREE = ids.timestamp(0)
"""The end of the lease of a JOB that no worker holds: long ago by every clock."""


def job_item(
    kind: str,
    group_id: str,
    conversation_id: str | None = None,
    *,
    created_at: str,
    nonce: str | None = None,
    leased_until: str = FREE,
) -> Item:
    """Return a JOB. created_at: when the work began. leased_until: FREE if nobody holds it."""
    return key_of(keys.job(kind, group_id, conversation_id)) | present(
        {"createdAt": created_at, "leasedUntil": leased_until, "nonce": nonce}
    )


def job(item: Item) -> Job:
    """Return the work in progress that a JOB item names.

    Raises KeyError or ValueError if it is malformed.
    """
    a = plain(item)
    return Job(
        keys.in_job(a["SK"]),
        created_at=a.get("createdAt"),
        leased_until=a.get("leasedUntil"),
        holder=a.get("holder"),
        nonce=a.get("nonce"),
    )


def context_item(group_id: str, conversation_id: str, client_id: str, held: ClientContext) -> Item:
    """Return what says which context a client holds in a conversation."""
    return key_of(keys.context(group_id, conversation_id, client_id)) | present(
        {
            "epoch": held.epoch.number,
            "first": held.epoch.first,
            "last": held.last,
            "count": held.entries,
            "digest": held.epoch.digest,
        }
    )


def context(item: Item) -> ClientContext:
    a = plain(item)
    epoch = Epoch(a["epoch"], EntryId(a["first"]), a.get("digest"))
    return ClientContext(epoch, last=EntryId(a["last"]), entries=a["count"])


def name_item(name: Name) -> Item:
    return key_of(keys.name(name.ref)) | present(
        {
            "conversation": name.conversation_id,
            "revision": name.revision,
            "createdAt": name.created_at,
            "updatedAt": name.updated_at,
            "nonce": name.nonce,
            "clientId": name.ref.owner.client_id,
            "data": name.data,
        }
    )


def name(item: Item) -> Name:
    a = plain(item)
    user_id, name = keys.in_name(key(item))
    return Name(
        ref=NameRef(NameOwner(user_id, a.get("clientId")), name),
        conversation_id=a["conversation"],
        revision=a["revision"],
        created_at=a["createdAt"],
        updated_at=a["updatedAt"],
        nonce=a["nonce"],
        data=a.get("data"),
    )


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
    return Pointer(None if is_retired else a["group"], is_resting=is_retired and "ttl" not in a)


def tree_of_pointer(item: Item) -> str | None:
    """Return the tree that a pointer names, also that of a removed branch."""
    return item["group"]["S"] if "group" in item else None


def chunks(item: Item) -> int:
    """Return how many BLOB items hold an entry's body."""
    return int(item["chunks"]["N"]) if "chunks" in item else 0


def _packed_ids(named: Sequence[EntryId | None]) -> bytes:
    """Return entry ids in 16 bytes each. FIRST, which no entry has, stands for None."""
    return b"".join(uuid.UUID(one or ids.FIRST).bytes for one in named)


def _unpacked_ids(packed: bytes) -> list[EntryId | None]:
    return [_unpacked_id(packed[at : at + 16]) for at in range(0, len(packed), 16)]


def _unpacked_id(packed: bytes) -> EntryId | None:
    if packed == _NO_ID:
        return None
    digits = packed.hex()  # uuid.UUID takes three times as long, and a page has thousands of ids
    return EntryId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")


def lasts(item: Item) -> LastEntries:
    """Return what an ENTRY item names as shown last before it."""
    return LastEntries(*_unpacked_ids(bytes(item["prev"]["B"]))) if "prev" in item else NOTHING


def _packed_turn(turn: Turn) -> bytes:
    named = (turn.first, turn.last, turn.before.history, turn.before.context)
    return _packed_ids([*named, turn.after.history, turn.after.context])


def turn(item: Item) -> Turn | None:
    """Return the turn that an ENTRY item belongs to; None if it has no other entry."""
    if "turn" not in item:
        return None
    first, last, *shown = _unpacked_ids(bytes(item["turn"]["B"]))
    assert first is not None, "a turn begins with an entry"
    assert last is not None, "a turn ends with an entry"
    return Turn(first, last, LastEntries(*shown[:2]), LastEntries(*shown[2:]))


def _ref(of: EntryRef | None) -> str | None:
    return None if of is None else f"{of.conversation_id}#{of.entry_id or ''}"


def _ref_of(text: str | None) -> EntryRef | None:
    if text is None:
        return None
    conversation_id, _, entry_id = text.partition("#")
    return EntryRef(conversation_id, EntryId(entry_id) if entry_id else None)


def _packed_text(any_text: str) -> bytes:
    """Return any text as a body. As JSON text it cannot begin like a compressed one."""
    return bodies.encode(json.dumps(any_text, ensure_ascii=False))


def _text_of(packed: bytes) -> str:
    text_of: str = json.loads(bodies.decode(packed))
    return text_of


def size(item: Item) -> int:
    """Return about how many bytes DynamoDB counts for an item: its names and its values."""
    return sum(len(name) + _value_bytes(held) for name, held in item.items())


def _value_bytes(held: dict[str, Any]) -> int:
    [value] = held.values()
    return len(value) if isinstance(value, bytes) else len(str(value).encode())


def entry_items(group_id: str, entry: Entry, *, nonce: str, escaped_bytes: int) -> tuple[Item, list[Item]]:
    """Return the entry's item and those of its chunks."""
    body = bodies.encode(entry.content)
    cut = bodies.chunks(body)
    item = key_of(keys.entry(group_id, entry.entry_id)) | present(
        {
            schema.ENTRY_SORT_KEY: keys.by_conversation(entry.conversation_id, entry.channel, entry.entry_id),
            **_changed(entry, _ENTRY, Entry._field_defaults),
            "prev": _packed_ids([entry.after.history, entry.after.context])
            if entry.after != NOTHING
            else None,
            "turn": _packed_turn(entry.turn) if entry.turn else None,
            "mergedFrom": _ref(entry.merged_from),
            "copiedFrom": _ref(entry.copied_from),
            "indexed": _packed_text(entry.indexed_content) if entry.indexed_content is not None else None,
            "body": None if cut else body,
            "chunks": len(cut) or None,
            "size": escaped_bytes,
            "nonce": nonce,
        }
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
        entry=Entry(
            entry_id=keys.entry_id_of(a["SK"]),
            conversation_id=conversation_id,
            channel=_CHANNELS[letter],
            content="",
            after=lasts(item),
            turn=turn(item),
            merged_from=_ref_of(a.get("mergedFrom")),
            copied_from=_ref_of(a.get("copiedFrom")),
            indexed_content=_text_of(a["indexed"]) if "indexed" in a else None,
            **{field: a[name] for field, name in _ENTRY.items() if name in a},
        ),
        body=a.get("body", b""),
        chunks=a.get("chunks", 0),
        escaped_bytes=a["size"],
        nonce=a["nonce"],
    )


def idempotency_record_item(key: Key, record: IdempotencyRecord, *, ttl_s: int) -> Item:
    return key_of(key) | present(
        {
            "request": record.request_hash,
            "group": record.group_id,
            "conversation": record.conversation_id,
            "entries": ",".join(record.entry_ids) or None,
            "body": bodies.encode(record.body),
            "ttl": ttl_s,
        }
    )


def idempotency_record(item: Item, *, now_s: int) -> IdempotencyRecord | None:
    """Return what was answered; None where 24 hours have passed."""
    a = plain(item)
    if a["ttl"] < now_s:
        return None
    return IdempotencyRecord(
        request_hash=a["request"],
        group_id=a["group"],
        conversation_id=a["conversation"],
        entry_ids=tuple(map(EntryId, a["entries"].split(","))) if "entries" in a else (),
        body=bodies.decode(a["body"]),
    )


OF_RUNNING = ("userId", "changes", "notBefore", "changesBefore", "waits", "places", "step")
"""The attributes that only the record of a running erasure has."""


def erasure_item(erasure: Erasure) -> Item:
    """Return the record of a user's erasure."""
    running = {
        "userId": erasure.user_id,
        "changes": erasure.changes,
        "notBefore": erasure.not_before,
        "changesBefore": erasure.changes_before,
        "waits": erasure.waits or None,
        "places": json.dumps(erasure.places, separators=(",", ":")),
        "step": erasure.step,
    }
    return key_of(keys.erasure(erasure.erasure_id)) | present(
        {
            "pseudonym": erasure.pseudonym,
            "createdAt": erasure.created_at,
            "finishedAt": erasure.finished_at,
            "trees": erasure.trees,
            "memberships": erasure.memberships,
            "entries": erasure.entries,
            "passes": erasure.passes,
            **({} if erasure.is_done else running),
        }
    )


def erasure(item: Item) -> Erasure:
    a = plain(item)
    common = Erasure(
        erasure_id=a["PK"].partition("#")[2],
        pseudonym=a["pseudonym"],
        created_at=a["createdAt"],
        finished_at=a.get("finishedAt"),
        trees=a["trees"],
        memberships=a["memberships"],
        entries=a["entries"],
        passes=a["passes"],
    )
    if common.is_done:
        return common
    return common._replace(
        user_id=a["userId"],
        changes=a["changes"],
        not_before=a["notBefore"],
        changes_before=a["changesBefore"],
        waits=a.get("waits", False),
        places=tuple(Key(*place) for place in json.loads(a["places"])),
        step=a["step"],
    )


def retention_item(begun: Round) -> Item:
    """Return the record of a look through old trees."""
    places = json.dumps(begun.places, separators=(",", ":"))
    return key_of(keys.retention()) | present({"begunAt": begun.begun_at, "places": places})


def retention(item: Item) -> Round:
    a = plain(item)
    places = json.loads(a["places"])
    return Round(a["begunAt"], tuple(None if place is None else ListKey(*place) for place in places))


def mention(item: Item) -> Mention:
    """Return an item that names a user, or an idempotency record even if it has expired."""
    of = key(item)
    if keys.is_idempotency(of):
        return Mention(of, record=idempotency_record(item, now_s=0))
    words_of = item.get("previewBy") or item.get("titledBy")
    return Mention(
        of,
        entry=stored_entry(item) if keys.is_entry(of) else None,
        words_of=words_of["S"] if words_of else None,
    )

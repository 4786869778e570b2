"""The survey of a table: it takes items in any order, and collects facts about trees."""

import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from forklore_local.fsck.chunks import Chunks, content_of
from forklore_local.fsck.facts import ContextEntry, Conv, Ctx, Kept, Own, Recorded, Tree, is_time
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.shapes import SHAPES, Kind, kind_of
from forklore_service.domain import ids, jsontext, keys
from forklore_service.domain.ancestry import SEGMENT_BYTES
from forklore_service.domain.answer_logs import KEPT_SECONDS, Part, PartKind
from forklore_service.domain.attachments import File, Reference, check_name
from forklore_service.domain.epochs import NO_ELEMENTS, hash_of
from forklore_service.domain.erasures import NO_CONTENT, PSEUDONYM_PREFIX, SEGMENTS, Erasure
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import CHANNEL_LETTERS, Key
from forklore_service.domain.links import DAY_SECONDS
from forklore_service.domain.meaning import PIECES_MAX
from forklore_service.domain.model import Channel, JobKind, TokenUsage
from forklore_service.domain.names import is_name
from forklore_service.domain.rate import window_of
from forklore_service.errors import ForkloreError
from forklore_service.limits import LINK_DAYS_MAX, PINS_MAX
from forklore_service.storage import bodies, items, schema
from forklore_service.storage.actions.conversation import RETIRED_SECONDS
from forklore_service.storage.actions.idempotency import IDEMPOTENCY_SECONDS
from forklore_service.storage.connection import Item
from forklore_service.storage.table import COUNT_SECONDS

COST_DECIMALS = 9
CLOCK_SECONDS_MAX = 24 * 3600
"""How much later a `ttl` may be than a correct clock would make it."""

RETIRED: Final = "retired"
"""The value in `Survey.outside` of a pointer whose id may not be used again for some time."""


class Resting(NamedTuple):
    """The same for a removed branch, as long as its tree needs the id."""

    group_id: str


_CHANNELS = {letter: channel for channel, letter in CHANNEL_LETTERS.items()}
_RECORD = re.compile(r"IDEM#[0-9a-f]{64}")
_REQUESTS = re.compile(r"RATE#[0-9a-f]{64}")
_UNREADABLE = (
    AttributeError,
    ArithmeticError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AssertionError,
    RecursionError,
    zlib.error,
    ForkloreError,
)


class Survey:
    """What a table holds.

    outside: by key, the items outside of trees, and those that name another tree. A value is what
        the item says: the tree of a pointer or RETIRED; a transfer; the entry that started a child;
        None for other items.
    files: the attachments, by id. references: which entries name them, as REFs say.
    user_files: by key, the attachment that an item of its owner names. user_file_sizes: its bytes,
    if that item says them.
    logs: by tree and answer, then by position, the parts that have not expired.
    erasures: by id. jobs: by key, the time at which the job was created, if the job names it.
    unreadable: the keys of malformed items.
    """

    def __init__(self, *, now_s: int) -> None:
        self.now_s = now_s
        self.trees: dict[str, Tree] = {}
        self.outside: dict[Key, object] = {}
        self.jobs: dict[Key, str | None] = {}
        self.records: list[Recorded] = []
        self.logs: dict[tuple[str, str], dict[int, Part]] = {}
        self.erasures: dict[str, Erasure] = {}
        self.files: dict[str, File] = {}
        self.references: set[Reference] = set()
        self.user_files: dict[Key, str] = {}
        self.user_file_sizes: dict[Key, int] = {}
        self.chunks = Chunks()
        self.findings: list[Finding] = []
        self.unreadable: set[Key] = set()
        self.items = 0

    @property
    def conversations(self) -> int:
        return sum(len(tree.conversations) for tree in self.trees.values())

    @property
    def entries(self) -> int:
        return sum(len(own) for tree in self.trees.values() for own in tree.own.values())

    def take_all(self, some: Iterable[Item]) -> None:
        for item in some:
            self.take(item)

    def take(self, item: Item) -> None:
        """Note what an item says. Add a finding if it is unknown or malformed."""
        self.items += 1
        key = items.key(item)
        kind = kind_of(key)
        if kind is None:
            self.find(key, "unknown_item", "forklore writes no such item")
            return
        for name in SHAPES[kind].unknown(item):
            self.find(key, "unknown_attribute", name)
        malformed = SHAPES[kind].malformed(item)
        if not malformed:
            try:
                _TAKE[kind](self, key, item)
            except _UNREADABLE as error:
                malformed = [type(error).__name__]
        if malformed:
            self.unreadable.add(key)
            self.find(key, f"malformed_{kind}", ", ".join(malformed))

    def finish(self) -> None:
        """Check the last bodies, and note what concerns whole trees. Call it once, at the end."""
        self.chunks.finish()
        for tree in self.trees.values():
            for own in tree.own.values():
                own.sort()
            tree.gone.update(filter(self._is_retired, unknown(tree)))
            tree.gone.update(long_unknown(tree, self.now_s))
        for key in self.jobs:
            _, group_id, conversation_id, _ = keys.in_job(key.sort)
            if conversation_id is not None and group_id in self.trees:
                of = self.trees[group_id]
                of.to_prune |= set() if of.is_in_trash(conversation_id) else {conversation_id}
        for record in self.records:
            if record.group_id in self.trees and self._is_retired(record.conversation_id):
                self.trees[record.group_id].gone.add(record.conversation_id)

    def _is_retired(self, conversation_id: str) -> bool:
        said = self.outside.get(keys.pointer(conversation_id))
        return said == RETIRED or isinstance(said, Resting)

    def find(self, key: Key, kind: str, detail: str, invariant: int | None = None) -> None:
        group_id = key.partition if ids.is_uuid(key.partition) else None
        self.findings.append(Finding(key, kind, detail, invariant, group_id))

    def _tree(self, key: Key) -> Tree:
        tree = self.trees.get(key.partition)
        if tree is None:
            tree = self.trees[key.partition] = Tree(key.partition)
        return tree

    # One method for each kind of item

    def _group(self, key: Key, item: Item) -> None:
        tree = self._tree(key)
        _require(key.sort == "GROUP" and is_time(item["createdAt"]["S"]))
        tree.group = items.group(item)
        tree.listing = item.get("G1", {}).get("S"), item.get("G1S", {}).get("S")

    def _conversation(self, key: Key, item: Item) -> None:
        tree, conversation = self._tree(key), items.conversation(item)
        _require(is_time(conversation.created_at))
        read = Conv(
            conversation.created_at,
            conversation.client_id,
            conversation.fork_point,
            conversation.started_by,
            has_title=conversation.described.title is not None,
            changes=items.changes(item),
            names_answer=items.answer_id(item) is not None,
        )
        conversation_id = _conversation_in(key, 2)
        if kept := self._kept(tree, conversation_id, item):
            kept.conversation = read
        else:
            tree.conversations[conversation_id] = read

    def _kept(self, tree: Tree, conversation_id: str, item: Item) -> Kept | None:
        """Return where a hidden item of a branch in the trash is noted; None for any other item."""
        if items.KEPT not in item:
            return None
        kept = tree.kept.setdefault(conversation_id, Kept())
        kept.at.add(item[items.KEPT]["S"])
        return kept

    def _path(self, key: Key, item: Item) -> None:
        packed = bytes(item["path"]["B"])
        _require(bool(packed) and len(packed) % SEGMENT_BYTES == 0)
        self._tree(key).paths[_conversation_in(key, 2)] = packed

    def _head(self, key: Key, item: Item) -> None:
        _require(("last" in item) != ("shut" in item))
        _require((items.KEPT in item) == ("owner" not in item) and ("last" not in item or "owner" in item))
        head = items.head({"owner": items.text(""), **item})
        _require(is_time(head.changed_at))
        _require(ids.is_entry_id(head.last) and ids.is_entry_id(head.floor))
        tree, conversation_id = self._tree(key), _conversation_in(key, 2)
        tree.changes[conversation_id] = items.changes(item)
        if kept := self._kept(tree, conversation_id, item):
            kept.head = head
            return
        tree.heads[conversation_id] = head
        if "shut" in item:
            tree.shut.add(conversation_id)

    def _part(self, key: Key, item: Item) -> None:
        part = items.part(item, now_s=0)
        assert part is not None
        _, group_id, answer_id = key.partition.split("#")
        _require(ids.is_uuid(group_id) and ids.is_uuid(answer_id))
        _require(key == keys.part(group_id, answer_id, part.position) and is_time(part.created_at))
        writes = part.kind in (PartKind.BEGIN, PartKind.DATA)
        _require(writes == (part.user_id is not None) and isinstance(jsontext.read_value(part.content), list))
        self._require_ttl(key, part.ttl, KEPT_SECONDS)
        if part.ttl >= self.now_s:
            self.logs.setdefault((group_id, answer_id), {})[part.position] = part

    def _context(self, key: Key, item: Item) -> None:
        client = key.sort.split("#")[2]
        _require_escaped(client)
        a = items.plain(item)
        ctx = Ctx(a["epoch"], a["first"], a["last"], a["count"], a.get("digest"))
        _require(ctx.digest is None or len(ctx.digest) == len(NO_ELEMENTS))
        self._tree(key).contexts[_conversation_in(key, 3), client] = ctx

    def _listed(self, key: Key, item: Item) -> None:
        _, created_at, conversation_id = key.sort.split("#")
        _require(is_time(created_at) and ids.is_uuid(conversation_id))
        tree = self._tree(key)
        place, record = keys.list_key(key.sort), item.get("L1", {}).get("S")
        if kept := self._kept(tree, conversation_id, item):
            kept.place, kept.record = place, record
            return
        tree.listed.add(place)
        tree.records[conversation_id] = record

    def _remnant(self, key: Key, item: Item) -> None:
        remnant = items.remnant(item)
        _require(ids.is_uuid(remnant.conversation_id) and is_time(remnant.removed_at))
        _require(remnant.is_root == (remnant.record is None))
        listed = keys.trashed_tree(key.partition, remnant.removed_at, remnant.conversation_id)
        listing = item.get("G1", {}).get("S"), item.get("G1S", {}).get("S")
        _require(listing == (listed if remnant.in_trash else (None, None)))
        _require(remnant.record is None or remnant.record.conversation_id == remnant.conversation_id)
        self._tree(key).remnants[_conversation_in(key, 2)] = remnant

    def _member(self, key: Key, item: Item) -> None:
        member = items.member(item)
        _require(is_time(member.created_at) and keys.member(key.partition, member.user_id) == key)
        self._tree(key).members[member.user_id] = member

    def _link(self, key: Key, item: Item) -> None:
        link = items.link(item, now_s=0)
        assert link is not None
        _require(ids.is_uuid(link.link_id) and is_time(link.created_at))
        _require(ids.is_uuid(link.conversation_id) and link.opens >= 0)
        _require(link.up_to is None or ids.is_entry_id(link.up_to))
        self._require_ttl(key, link.ttl, LINK_DAYS_MAX * DAY_SECONDS)
        if link.is_open(now_s=self.now_s):
            self._tree(key).links[link.link_id] = link

    def _note(self, key: Key, item: Item) -> None:
        note = items.note(item)
        _require(keys.note(key.partition, note.ref) == key and ids.is_uuid(note.ref.conversation_id))
        _require(ids.is_entry_id(note.ref.entry_id) and ids.is_entry_id(note.ref.note_id))
        _require((bool(note.text) or note.score is not None) != note.pinned)
        self._tree(key).notes.add(note.ref)

    def _entry(self, key: Key, item: Item) -> None:
        entry_id = EntryId(sys.intern(keys.entry_id_of(key.sort)))
        _require(ids.is_entry_id(entry_id) and keys.position(entry_id) == key.sort)
        conversation_id, letter, _ = item["L1"]["S"].split("#", 2)
        channel = _CHANNELS[letter]
        if keys.by_conversation(conversation_id, channel, entry_id) != item["L1"]["S"]:
            self.find(key, "wrong_l1", "the index key names another position", 3)
        epoch, client = item.get("epoch", {}).get("N"), item.get("clientId", {}).get("S")
        tree = self._tree(key)
        own = tree.own.setdefault(conversation_id, Own())
        named = items.lasts(item)
        own.after[entry_id] = _interned(named.history), _interned(named.context)
        turn = items.turn(item)
        if turn is not None:
            own.turns[entry_id] = turn
        if "key" in item:
            key_of_entry = item["key"]["S"]
            if key_of_entry in own.keys:
                self.find(key, "repeated_key", "another entry of the conversation has its key")
            own.keys[key_of_entry] = entry_id
        if "usage" in item:
            own.usage = TokenUsage.total([own.usage, _usage(item["usage"]["S"])])
        content = content_of(bytes(item["body"]["B"])) if "body" in item else None
        if channel is Channel.HISTORY:
            own.history.append(entry_id)
        else:
            is_known = content is not None and "erased" not in item
            hashes = tuple(map(hash_of, content or ())) if is_known else None
            own.context.append(ContextEntry(entry_id, client, int(epoch) if epoch else None, hashes))
        if (channel is Channel.CONTEXT) != (epoch is not None) or (epoch is not None and client is None):
            self.find(key, "wrong_epoch", "context has a client and an epoch, history has no epoch", 8)
        if "chunks" in item:
            tree.chunked[entry_id] = items.chunks(item)
        if named_files := items.entry_layout(item).attachment_ids:
            _require(all(map(ids.is_uuid, named_files)))
            tree.naming[entry_id], tree.naming_by[entry_id] = named_files, item["userId"]["S"]
        if ("chunks" in item) == ("body" in item):
            self.find(key, "unreadable_body", "the body must be either in the entry or in chunks", 13)
        elif "body" in item and content is None:
            self.find(key, "unreadable_body", "no JSON array", 13)
        if "erased" in item:
            tree.erased.add(entry_id)
        if "erased" in item and not _has_nothing_left(item):
            self.find(key, "wrong_erased", "an erased entry has content, a key or its author", 19)

    def _entry_key(self, key: Key, item: Item) -> None:
        conversation_id, text = keys.in_entry_key(key.sort)
        _require(ids.is_uuid(conversation_id) and bool(text))
        _require(keys.entry_key(key.partition, conversation_id, text) == key)
        entry_id = items.keyed_entry(item)
        _require(ids.is_entry_id(entry_id))
        self._tree(key).keyed[conversation_id, text] = entry_id

    def _vector(self, key: Key, item: Item) -> None:
        vector = items.vector(item)
        _require(ids.is_uuid(vector.conversation_id) and ids.is_entry_id(vector.entry_id))
        _require(keys.vector(key.partition, *vector[:3]) == key and 0 <= vector.piece < PIECES_MAX)
        _require(bool(vector.model) and (bool(vector.packed) or vector.shelf is None))
        whole = items.vector_item(key.partition, vector)
        _require(all(item.get(name) == whole.get(name) for name in ("V", "g", "c")))
        of = vector.conversation_id, vector.entry_id
        told = vector.model, len(vector.packed), vector.shelf
        self._tree(key).vectors.setdefault(of, {})[vector.piece] = told

    def _shelf(self, key: Key, item: Item) -> None:
        _require(item["shelf"]["S"] != "")
        self.outside[key] = item["shelf"]["S"]

    def _pins(self, _key: Key, item: Item) -> None:
        rows = items.pins(item)  # the user may not be a member any more
        _require(len(set(rows)) == len(rows) <= PINS_MAX)
        for row in rows:
            (created_at, group_id), is_child = keys.in_user_tree(row)
            _require(is_time(created_at) and ids.is_uuid(group_id))
            _require(keys.user_tree("u", created_at, group_id, is_child=is_child).sort == row)

    def _child(self, key: Key, item: Item) -> None:
        _, parent_id, created_at, child_id = key.sort.split("#")
        _require(ids.is_uuid(parent_id) and is_time(created_at) and ids.is_uuid(child_id))
        self.outside[key] = item.get("startedByEntryId", {}).get("S")

    def _blob(self, key: Key, item: Item) -> None:
        _, group_id, entry_id = key.partition.split("#")
        _require(ids.is_uuid(group_id) and ids.is_entry_id(entry_id))
        self.chunks.take(key, bytes(item["data"]["B"]))

    def _file(self, key: Key, item: Item) -> None:
        file = items.file(item)
        _require(ids.is_uuid(file.attachment_id) and key == keys.file(file.attachment_id))
        _require(is_time(file.created_at) and (file.named == 0) == (file.named_by is None))
        if not file.is_going:
            check_name(file.name)
        _require(file.due is None or is_time(file.due))
        self.files[file.attachment_id] = file

    def _reference(self, key: Key, _item: Item) -> None:
        reference = keys.in_reference(key)
        _require(all(map(ids.is_uuid, reference)) and key == keys.reference(reference))
        self.references.add(reference)

    def _user_file(self, key: Key, item: Item) -> None:
        _require_escaped(key.partition.removeprefix("USER#"))
        _require(keys.is_user_file(key.sort) and ids.is_uuid(items.user_file(item)))
        self.user_files[key] = items.user_file(item)
        if "size" in item:
            self.user_file_sizes[key] = items.user_file_size(item)

    def _pointer(self, key: Key, item: Item) -> None:
        conversation_id = _conversation_of(key.partition)
        _require(key == keys.pointer(conversation_id))
        if "retired" in item and "ttl" not in item:
            self.outside[key] = Resting(item["group"]["S"])
        elif "retired" in item:
            ttl_s = int(item["ttl"]["N"])
            _require("group" not in item)
            self._require_ttl(key, ttl_s, RETIRED_SECONDS)
            if ttl_s >= self.now_s:
                self.outside[key] = RETIRED
        else:
            _require("ttl" not in item and "nonce" in item)
            self.outside[key] = item["group"]["S"]

    def _user_tree(self, key: Key, item: Item) -> None:
        place, is_child = keys.in_user_tree(key.sort)
        _require(is_time(place.created_at) and ids.is_uuid(place.conversation_id))
        _require(key.sort == keys.user_tree("", *place, is_child=is_child).sort)
        _require_escaped(key.partition.removeprefix("USER#"))
        row = items.tree_row(item)
        _require(all(earlier < later for earlier, later in pairwise([place.created_at, *row.moves])))
        used = keys.used_user_tree(row.used, is_child=is_child) if row.moves else None
        _require(
            items.text_in(item, schema.ENTRY_SORT_KEY) == used
            and items.moves(row) == item.get("moves", {"B": b""})
        )
        self.outside[key] = row

    def _name(self, key: Key, item: Item) -> None:
        name = items.name(item)
        _require(keys.name(name.ref) == key and is_name(name.ref.name) and ids.is_uuid(name.conversation_id))
        _require(name.revision >= 1 and is_time(name.created_at) and is_time(name.updated_at))
        _require(name.data is None or isinstance(jsontext.read_value(name.data), dict))
        _require(name.previous_id is None or ids.is_uuid(name.previous_id))
        _require(name.previous_id != name.conversation_id)

    def _transfer(self, key: Key, item: Item) -> None:
        transfer = items.transfer(item)
        _require(ids.created_at(EntryId(transfer.transfer_id)) == transfer.created_at)
        if ids.is_uuid(key.partition):
            _require(key.sort == "XFER")
            self._tree(key).transfer = transfer
        else:
            self.outside[key] = transfer

    def _record(self, key: Key, item: Item) -> None:
        _require(_RECORD.fullmatch(key.partition) is not None and key.sort == "IDEM")
        bodies.decode(bytes(item["body"]["B"]))
        record = items.idempotency_record(item, now_s=self.now_s)
        self._require_ttl(key, int(item["ttl"]["N"]), IDEMPOTENCY_SECONDS)
        if record is not None:
            _require(all(map(ids.is_entry_id, record.entry_ids)))
            entry_ids = tuple(map(EntryId, record.entry_ids))
            self.records.append(Recorded(key, record.group_id, record.conversation_id, entry_ids))

    def _requests(self, key: Key, item: Item) -> None:
        _require(_REQUESTS.fullmatch(key.partition) is not None and is_time(key.sort))
        window_s, count = ids.milliseconds(key.sort) // 1000, int(item["requests"]["N"])
        ttl_s = int(item["ttl"]["N"])
        _require(count > 0 and window_of(window_s) == window_s and ttl_s == window_s + COUNT_SECONDS)
        self._require_ttl(key, ttl_s, COUNT_SECONDS)

    def _job(self, key: Key, item: Item) -> None:
        kind, group_id, conversation_id, due = keys.in_job(key.sort)
        _require(key.partition == "JOB" and kind in set(JobKind) and ids.is_uuid(group_id))
        _require(conversation_id is None or ids.is_uuid(conversation_id))
        job = items.job(item)
        _require(due is None or is_time(due))
        _require((kind == JobKind.PRUNE) == (conversation_id is not None) == (job.nonce is not None))
        _require(all(at is None or is_time(at) for at in (job.created_at, job.leased_until)))
        self.outside[key] = job.moves
        self.jobs[key] = job.created_at

    def _erasure(self, key: Key, item: Item) -> None:
        erasure = items.erasure(item)
        _require(ids.is_uuid(erasure.erasure_id) and key == keys.erasure(erasure.erasure_id))
        _require(erasure.pseudonym.startswith(PSEUDONYM_PREFIX))
        _require(is_time(erasure.created_at) and is_time(erasure.finished_at or erasure.not_before))
        _require(item.keys() == items.erasure_item(erasure).keys())
        _require(len(erasure.places) == SEGMENTS)
        self.erasures[erasure.erasure_id] = erasure

    def _erased_tree(self, key: Key, _item: Item) -> None:
        erasure_id, group_id = key.partition.split("#")[1], key.sort.split("#")[1]
        _require(ids.is_uuid(erasure_id) and ids.is_uuid(group_id))
        _require(key == keys.erased_tree(erasure_id, group_id))
        self.outside[key] = None

    def _retention(self, key: Key, item: Item) -> None:
        begun = items.retention(item)
        _require(key == keys.retention() and is_time(begun.begun_at))
        _require(len(begun.places) == keys.TREE_SHARDS)

    def _require_ttl(self, key: Key, ttl_s: int, seconds: int) -> None:
        if ttl_s > self.now_s + seconds + CLOCK_SECONDS_MAX:
            self.find(key, "wrong_ttl", f"it expires only in {ttl_s - self.now_s} seconds")


def _has_nothing_left(entry: Item) -> bool:
    """Tell whether an erased entry has no content, no text for a search, no key and no author."""
    is_empty = bytes(entry.get("body", {}).get("B", b"")) == bodies.encode(NO_CONTENT)
    is_named = entry["userId"]["S"].startswith(PSEUDONYM_PREFIX)
    return is_empty and is_named and not entry.keys() & {"indexed", "key", "chunks", "files"}


def unknown(tree: Tree) -> Iterator[str]:
    """Yield the conversations that items of a tree name and that are not live in it."""
    points = (one.fork_point for one in tree.conversations.values())
    named = {
        tree.group_id,
        *(point.conversation_id for point in points if point),
        *([tree.transfer.conversation_id] if tree.transfer else []),
    }
    yield from named - tree.conversations.keys()


def long_unknown(tree: Tree, now_s: int) -> Iterator[str]:
    """Yield the unknown sources of forks that are older than a removed branch's id rests."""
    for one in tree.conversations.values():
        source = one.fork_point.conversation_id if one.fork_point else tree.group_id
        is_old = ids.milliseconds(one.created_at) // 1000 + RETIRED_SECONDS < now_s
        if is_old and source != tree.group_id and not tree.knows(source):
            yield source


def _usage(text: str) -> TokenUsage:
    """Return what an entry's usage adds to the sums. Raises ValueError if it is not readable."""
    told = jsontext.read_value(text)
    tokens = [int(told.get(name, 0)) for name in ("inputTokens", "outputTokens", "cachedInputTokens")]
    cost = Decimal(told.get("costUsd", 0)).scaleb(COST_DECIMALS)
    return TokenUsage(tokens[0], tokens[1], tokens[2], round(cost))


def _interned(entry_id: str | None) -> str | None:
    """Return the id as one shared string, so that all items that name it use it."""
    return sys.intern(entry_id) if entry_id else None


def _require(is_so: bool) -> None:
    if not is_so:
        raise ValueError


def _require_escaped(text: str) -> None:
    _require(bool(text) and keys.escape(unquote(text)) == text)


def _conversation_of(partition: str) -> str:
    conversation_id = partition.split("#")[1]
    _require(ids.is_uuid(conversation_id))
    return conversation_id


def _conversation_in(key: Key, parts: int) -> str:
    """Return the conversation that a sort key names. Raises ValueError if it has other parts."""
    _require(len(key.sort.split("#")) == parts)
    return _conversation_of(key.sort)


_TAKE: dict[Kind, Callable[[Survey, Key, Item], Any]] = {
    Kind.GROUP: Survey._group,
    Kind.CONV: Survey._conversation,
    Kind.PATH: Survey._path,
    Kind.HEAD: Survey._head,
    Kind.CTX: Survey._context,
    Kind.TREE: Survey._listed,
    Kind.GONE: Survey._remnant,
    Kind.MEM: Survey._member,
    Kind.LINK: Survey._link,
    Kind.NOTE: Survey._note,
    Kind.ENTRY: Survey._entry,
    Kind.KEY: Survey._entry_key,
    Kind.VEC: Survey._vector,
    Kind.SHELF: Survey._shelf,
    Kind.PINS: Survey._pins,
    Kind.CHILD: Survey._child,
    Kind.BLOB: Survey._blob,
    Kind.PTR: Survey._pointer,
    Kind.USER_TREE: Survey._user_tree,
    Kind.NAME: Survey._name,
    Kind.PART: Survey._part,
    Kind.XFER: Survey._transfer,
    Kind.IDEM: Survey._record,
    Kind.RATE: Survey._requests,
    Kind.FILE: Survey._file,
    Kind.REF: Survey._reference,
    Kind.USER_FILE: Survey._user_file,
    Kind.JOB: Survey._job,
    Kind.ERASURE: Survey._erasure,
    Kind.ERASED_TREE: Survey._erased_tree,
    Kind.RETENTION: Survey._retention,
}

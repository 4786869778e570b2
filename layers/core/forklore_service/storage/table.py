"""The one table: a method for each access pattern.

Reads are strongly consistent, but for `newest_trees` and what a search looks through.
"""

import heapq
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from forklore_service.domain import ids, keys
from forklore_service.domain.clock_offset import OFFSET_MAX_MS
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key, ListKey, SortRange
from forklore_service.domain.meaning import Nearness
from forklore_service.domain.model import Attached, Conversation, Entry, StoredEntry
from forklore_service.domain.names import REVISION_BITS
from forklore_service.domain.paging import RangeAnswer, RangeRead
from forklore_service.domain.tree import BranchTip, HeadRow
from forklore_service.errors import ConflictError, GroupFullError, UnavailableError
from forklore_service.storage import bodies, items, schema
from forklore_service.storage.actions import Action, ConditionFailed
from forklore_service.storage.cache import ConversationCache
from forklore_service.storage.connection import (
    ATTEMPTS_MAX,
    BUDGET_MAX_S,
    Connection,
    Deadline,
    Item,
    TransactionRefused,
)
from forklore_service.storage.consumption import UNREAD, Consumption
from forklore_service.storage.found import Found
from forklore_service.storage.items import key_of, number, text
from forklore_service.storage.objects import Objects
from forklore_service.storage.reads import Reads
from forklore_service.storage.vector_cache import VectorCache

BATCH_KEYS_MAX = 100
"""DynamoDB's own limit for BatchGetItem."""
BATCH_DELETES_MAX = 25
"""DynamoDB's own limit for BatchWriteItem."""
BLOBS_AT_ONCE = 40
"""Chunks of at most 350 KB, so that a BatchGetItem answer stays below 16 MB."""
GROUP_GIGABYTES_MAX = 9.0
"""Less than the 10 GB of an item collection, so that a tombstone always fits."""
READS_AT_ONCE = 16
SCANNED_AT_ONCE = 1_000
"""Items of a scan: DynamoDB Local takes longer for a whole megabyte than a call may last."""
NO_ITEM = keys.pointer("date")
"""The key of an item that never exists, because no conversation has this id."""
LOOKS_MAX = 5
"""How often a read is tried for an item that a transaction has written."""
QUERY_BYTES_MAX = 1 << 20
"""DynamoDB's own limit for what one Query reads."""
COUNT_SECONDS = 120
"""The time from the beginning of a minute after which its counts of requests expire."""

A = TypeVar("A")
B = TypeVar("B")


class NewestEntries(NamedTuple):
    """Entries of a tree, newest first.

    reached: how far the tree was read; None: to its first entry. read_bytes: how much was read.
    """

    entries: Sequence[StoredEntry]
    reached: EntryId | None
    read_bytes: int


class NearVector(NamedTuple):
    """Whose vector was found. near: 1 at most, -1 at least."""

    group_id: str
    entry_id: EntryId
    near: float


class Table:
    """The table as one request sees it.

    deadline: when the request must have its answer.
    cache: what this process knows about conversations.
    random: returns the given number of random bits.
    objects: the bytes of attachments; None: this deployment keeps none.
    nearness: what a search by meaning asks; None: there is no such search.
    vectors: those that this process has read.
    by_meaning: whether the table has the index of vectors. embedded_elsewhere: whether entries get
    their vectors without being searched. entries_max: own entries that a conversation may have; 0:
    any number.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        cache: ConversationCache | None = None,
        deadline: Deadline | None = None,
        random: Callable[[int], int] = secrets.randbits,
        threads: ThreadPoolExecutor | None = None,
        objects: Objects | None = None,
        nearness: Nearness | None = None,
        vectors: VectorCache | None = None,
        by_meaning: bool = False,
        embedded_elsewhere: bool = False,
        entries_max: int = 0,
    ) -> None:
        self.connection = connection
        self.by_meaning, self.embedded_elsewhere = by_meaning, embedded_elsewhere
        self.entries_max = entries_max
        self.objects = objects
        self.nearness = nearness
        self.vectors = vectors or VectorCache()
        self.cache = cache or ConversationCache()
        self._deadline = deadline
        self._random = random
        self._threads = threads or ThreadPoolExecutor(READS_AT_ONCE, thread_name_prefix="read")

    def within(
        self, seconds: float, *, most: float = BUDGET_MAX_S, usage: Consumption | None = None
    ) -> "Table":
        """Return the same table for a request that has `seconds` left and may take `most` seconds.

        usage: counts the request's calls; None: they are not counted. An earlier deadline stays.
        """
        left = seconds if self._deadline is None else min(seconds, self._deadline.seconds_left)
        return Table(
            self.connection.counted_in(usage or UNREAD),
            cache=self.cache,
            deadline=Deadline.after(left, most=most),
            random=self._random,
            threads=self._threads,
            objects=self.objects,
            nearness=self.nearness,
            vectors=self.vectors,
            by_meaning=self.by_meaning,
            embedded_elsewhere=self.embedded_elsewhere,
            entries_max=self.entries_max,
        )

    @property
    def read(self) -> Reads:
        """The ranges of the table."""
        return Reads(self)

    # Time and fresh ids

    def now_ms(self) -> int:
        """Return the time for a new item or id.

        The first call in a process asks DynamoDB for the date.
        Raises UnavailableError if this machine's clock is far off.
        """
        if not self.connection.clock.was_compared:
            self.compare_clock()
        return self.connection.clock.minting_ms()

    def now(self) -> str:
        """Return the same time as text, as items hold it."""
        return ids.timestamp(self.now_ms())

    def compare_clock(self) -> None:
        """Get the date from DynamoDB. Every answer has it, so the item need not exist."""
        self.items_at([NO_ITEM])

    def now_s(self) -> int:
        """Return the corrected time in whole seconds, the unit of `ttl`."""
        return self.connection.clock.corrected_ms() // 1000

    def mint(self, last: EntryId) -> EntryId:
        """Return the id of a new entry after `last`. Count a `last` far ahead of the clock."""
        now_ms = self.now_ms()
        if ids.milliseconds_of(last) - now_ms > OFFSET_MAX_MS:
            self.connection.usage.count_head_ahead()
        return ids.mint_id(
            now_ms,
            last=last,
            random=self._random(ids.RANDOM_BITS),
            step=1 + self._random(32),
        )

    def mint_conversation(self) -> str:
        """Return the id of a new conversation."""
        return ids.fresh_id(self.now_ms(), self._random(ids.RANDOM_BITS))

    def nonce(self) -> str:
        """Return a mark by which a request recognises its own earlier attempt."""
        return f"{self._random(64):016x}"

    def first_revision(self) -> int:
        """Return the revision of a new name."""
        return self._random(REVISION_BITS) + 1

    # Writing

    def commit(self, actions: Sequence[Action]) -> None:
        """Write all actions or none. Raises ConditionFailed, and what Connection.call raises."""
        refused = self.try_commit(actions)
        if refused is not None:
            raise refused

    def try_commit(self, actions: Sequence[Action]) -> ConditionFailed | None:
        """Write all actions or none. Return the refusal; None if the actions are written.

        Raises what Connection.call raises.
        """
        assert len({action.id for action in actions}) == len(actions), "two actions of one id"
        name = self.connection.table_name
        try:
            answer = self.connection.transact([action.request_to(name) for action in actions], self._until())
        except TransactionRefused as refused:
            return ConditionFailed({actions[at].id: item for at, item in refused.failed.items()})
        except UnavailableError:
            self._note_change(action.target for action in actions)  # it may have been written
            raise
        self._note_change(action.target for action in actions)
        for collection in answer.get("ItemCollectionMetrics", {}).get(name, []):
            gigabytes = collection["SizeEstimateRangeGB"][0]
            self.connection.usage.note_tree(gigabytes)
            if gigabytes >= GROUP_GIGABYTES_MAX:
                self.cache.mark_full(collection["ItemCollectionKey"]["PK"]["S"])
        return None

    def try_put(self, put: Action, *, group_id: str) -> ConditionFailed | None:
        """Write a single put, which costs half of what it costs as a transaction.

        Return the refusal; None if it is written. A put that is sent again, because its answer was
        lost, is refused by itself. group_id: the tree that it is about. Raises what Connection.call
        raises.
        """
        request = put.request_to(self.connection.table_name)["Put"]
        try:
            self.connection.call("put_item", self._until(), **request)
        except TransactionRefused as refused:
            return ConditionFailed({put.id: refused.failed[0]})
        except UnavailableError:
            self.connection.usage.note_change([group_id])  # it may have been written
            raise
        self.connection.usage.note_change([group_id])
        return None

    def _note_change(self, targets: Iterable[Item]) -> None:
        """Note a write. targets: the items or keys that it writes and checks."""
        partitions = (target["PK"]["S"] for target in targets)
        self.connection.usage.note_change(filter(ids.is_uuid, partitions))

    def commit_each(self, transactions: Sequence[Sequence[Action]]) -> list[bool]:
        """Commit several transactions at the same time. Return for each whether it was written.

        A transaction is not written if one of its conditions does not hold.
        """
        return [refused is None for refused in self.side_by_side(self.try_commit, transactions)]

    def update(self, action: Action) -> bool:
        """Write one update alone, for half of what it costs in a transaction.

        Return whether its condition held. Raises UnavailableError.
        """
        request = action.request_to(self.connection.table_name)[action.verb]
        try:
            self.connection.call("update_item", self._until(), **request)
        except TransactionRefused:
            return False
        return True

    def refuse_if_full(self, group_id: str) -> None:
        """Raise GroupFullError if an earlier write of this process found the tree nearly full."""
        if self.cache.is_full(group_id):
            raise GroupFullError("this fork tree is full")

    def refuse_beyond(self, entries: int) -> None:
        """Raise ConflictError if a conversation may not have so many own entries."""
        if 0 < self.entries_max < entries:
            raise ConflictError(
                f"a conversation has at most {self.entries_max:,} entries of its own here",
                reason="conversation_full",
                entriesMax=self.entries_max,
            )

    def delete(self, unwanted: Iterable[Key]) -> None:
        """Delete any number of items, in any order. Keys without an item are allowed.

        Raises UnavailableError.
        """
        left = list(dict.fromkeys(unwanted))
        batches = [left[at : at + BATCH_DELETES_MAX] for at in range(0, len(left), BATCH_DELETES_MAX)]
        for _ in self.side_by_side(self._delete_batch, batches):
            pass

    def _delete_batch(self, unwanted: Sequence[Key]) -> None:
        name, until = self.connection.table_name, self._until()
        left = [{"DeleteRequest": {"Key": key_of(key)}} for key in unwanted]
        self._note_change(map(key_of, unwanted))
        for attempt in range(ATTEMPTS_MAX):
            if not left or not self.connection.pause(attempt, until):
                break
            answer = self.connection.call("batch_write_item", until, RequestItems={name: left})
            left = answer["UnprocessedItems"].get(name, [])
        if left:
            raise UnavailableError("the store is busy; try again")

    def has_time(self, seconds: float = 0) -> bool:
        """Return whether the request will have time left in so many seconds to start a call."""
        return self._until().allows(seconds)

    def turn(self, conversation_id: str) -> AbstractContextManager[None]:
        """Wait for this thread's turn to write to a conversation, while the request has time."""
        return self.cache.turn(conversation_id, seconds=self._until().seconds_left)

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from writing, where all of them are on one machine."""
        return self.connection.alone()

    def pause(self, attempt: int) -> None:
        """Sleep a little before an attempt. The first attempt is 0.

        Raises UnavailableError if there is no time left for the attempt.
        """
        if not self.connection.pause(attempt, self._until()):
            raise UnavailableError("there is no time left for this request")

    def wait(self, seconds: float) -> None:
        """Sleep. Raises UnavailableError if there is no time left for that."""
        if not self.connection.wait(seconds, self._until()):
            raise UnavailableError("there is no time left for this request")

    def count_requests(self, user_id: str, window_s: int, *, by: int) -> int:
        """Add to the count of a user's requests in a minute. Return the new count.

        window_s: the second at which the minute begins. It is tried once: a second attempt could
        count twice. Raises UnavailableError.
        """
        answer = self.connection.call(
            "update_item",
            self._until(),
            attempts=1,
            TableName=self.connection.table_name,
            Key=key_of(keys.requests(user_id, window_s)),
            UpdateExpression="SET #ttl = :ttl ADD #requests :by",
            ExpressionAttributeNames={"#ttl": "ttl", "#requests": "requests"},
            ExpressionAttributeValues={":ttl": number(window_s + COUNT_SECONDS), ":by": number(by)},
            ReturnValues="UPDATED_NEW",
        )
        return int(answer["Attributes"]["requests"]["N"])

    # Reading items

    def get(self, wanted: Iterable[Key], *, kept: bool = False) -> Found:
        """Return the items that exist among any number of wanted keys.

        kept: whether those of branches in the trash are among them.
        What `untorn` looks at belongs together. Nothing else is sure to: a batch read is no
        snapshot.
        """
        found = Found(self.items_at(wanted, kept=kept))
        return found if kept else self.untorn(found)

    def untorn(self, found: Found) -> Found:
        """Return what was found; items that do not belong together are read again (`Found.torn`).

        A GROUP that is perhaps older than a HEAD is read again once (`Found.doubted`): then it is
        the newer one. Raises UnavailableError if items change at every look.
        """
        settled: dict[tuple[Key, str], Key] = {}
        for attempt in range(LOOKS_MAX):
            doubted = {mark: group for mark, group in found.doubted().items() if mark not in settled}
            torn = [*found.torn(after_looks=attempt + 1 == LOOKS_MAX), *doubted.values()]
            if not torn:
                return found
            settled |= doubted
            self.pause(attempt)
            found = found.without(torn) | Found(self.items_at(torn))
        raise UnavailableError("the conversation keeps changing; try again")

    def items_at(
        self, wanted: Iterable[Key], *, is_consistent: bool = True, kept: bool = False
    ) -> dict[Key, Item]:
        """Return the items that exist among `wanted`, as DynamoDB returns them.

        kept: whether those of branches in the trash are among them.

        is_consistent: whether an item that was just written is sure to be among them. Otherwise the
        read costs half as much.
        """
        found: dict[Key, Item] = {}
        left = [key_of(key) for key in dict.fromkeys(wanted)]
        name, until = self.connection.table_name, self._until()
        attempt = 0
        while left and attempt < ATTEMPTS_MAX and self.connection.pause(attempt, until):
            now, left = left[:BATCH_KEYS_MAX], left[BATCH_KEYS_MAX:]
            request = {name: {"Keys": now, "ConsistentRead": is_consistent}}
            answer = self.connection.call("batch_get_item", until, RequestItems=request)
            for item in answer["Responses"].get(name, []):
                if kept or items.KEPT not in item:
                    found[Key(item["PK"]["S"], item["SK"]["S"])] = item
            unprocessed = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
            attempt = attempt + 1 if unprocessed else 0
            left += unprocessed
        if left:
            raise UnavailableError("the store is busy; try again")
        return found

    def query(
        self,
        of: SortRange,
        *,
        backward: bool = False,
        limit: int | None = None,
        page: int | None = None,
        only: tuple[str, ...] | None = None,
        kept: bool = False,
    ) -> Iterator[Item]:
        """Yield the items of a range in key order, or backward.

        kept: whether those of branches in the trash are among them.

        limit: how many items to yield at most.
        page: how many items the first request reads, if the caller may need fewer than all. Each
            further one reads twice as many as the one before it.
        only: the attributes to read beside the keys of the item and of its index. None: all.
        """
        start: Item | None = None
        sort_key = schema.ENTRY_SORT_KEY if of.by_conversation else schema.SORT_KEY
        read = [] if only is None else dict.fromkeys(["PK", schema.SORT_KEY, sort_key, *only, items.KEPT])
        wanted = {f"#{at}": name for at, name in enumerate(read)}
        while True:
            at_once = min((n for n in (page, limit) if n is not None), default=None)
            answer = self._query(
                ConsistentRead=True,
                KeyConditionExpression=f"PK = :p AND {sort_key} BETWEEN :first AND :last",
                ExpressionAttributeValues={
                    ":p": text(of.partition),
                    ":first": text(of.first),
                    ":last": text(of.last),
                },
                ScanIndexForward=not backward,
                **({"IndexName": schema.BY_CONVERSATION} if of.by_conversation else {}),
                **(
                    {"ProjectionExpression": ", ".join(wanted), "ExpressionAttributeNames": wanted}
                    if wanted
                    else {}
                ),
                **({"Limit": at_once} if at_once else {}),
                **({"ExclusiveStartKey": start} if start else {}),
            )
            for item in answer["Items"]:
                if kept or items.KEPT not in item:
                    yield item
                    limit = None if limit is None else limit - 1
            start = answer.get("LastEvaluatedKey")
            if start is None or limit == 0:
                return
            page = None if page is None else 2 * page

    def newest_trees(self, ranges: Sequence[SortRange], *, page: int) -> Iterator[ListKey]:
        """Yield the trees in these ranges of the index of all trees, the newest of all first.

        This is the only eventually consistent read, because the index is global. It may miss a new
        tree, or yield a tree that is gone. page: how many items to read of each range per request.
        """
        firsts = self.side_by_side(lambda of: self._trees(of, page, False, None), ranges)
        shards = [self._trees_of(of, page, first) for of, first in zip(ranges, list(firsts), strict=True)]
        return heapq.merge(*shards, reverse=True)

    def oldest_trees(self, of: SortRange, *, limit: int) -> list[ListKey]:
        """Return the first trees of a range of the index of all trees, the oldest first.

        Eventually consistent, as `newest_trees`.
        """
        return [place for place, _ in self.oldest_trashed(of, limit=limit)]

    def oldest_trashed(self, of: SortRange, *, limit: int) -> list[tuple[ListKey, Key]]:
        """Return the same places in that index, each with the key of the item: GROUP or GONE."""
        found: list[tuple[ListKey, Key]] = []
        start: Item | None = None
        while True:
            answer = self._trees(of, limit - len(found), True, start)
            rows = answer["Items"]
            found += [(keys.list_key(row[schema.TREE_SORT_KEY]["S"]), items.key(row)) for row in rows]
            start = answer.get("LastEvaluatedKey")
            if start is None or len(found) == limit:
                return found

    def _trees_of(self, of: SortRange, page: int, answer: dict[str, Any]) -> Iterator[ListKey]:
        while True:
            for item in answer["Items"]:
                yield keys.list_key(item[schema.TREE_SORT_KEY]["S"])
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return
            answer = self._trees(of, page, False, start)

    def _trees(self, of: SortRange, page: int, oldest_first: bool, start: Item | None) -> dict[str, Any]:
        return self._query(
            IndexName=schema.ALL_TREES,
            KeyConditionExpression=f"{schema.TREE_PARTITION_KEY} = :p AND "
            f"{schema.TREE_SORT_KEY} BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":p": text(of.partition),
                ":first": text(of.first),
                ":last": text(of.last),
            },
            ScanIndexForward=oldest_first,
            Limit=page,
            **({"ExclusiveStartKey": start} if start else {}),
        )

    # Searching vectors

    def nearest_vectors(self, vector: Sequence[int], top: int, wanted: Mapping[str, str]) -> list[NearVector]:
        """Return the vectors of a part of the index that are nearest to one, the nearest first.

        vector: as `domain.vectors.indexed` returns it. wanted: what they must have, also a shelf.
        Eventually consistent: it may miss a new vector, or show one that is gone. Raises
        UnavailableError also while the index is being made.
        """
        if not hasattr(self.connection.client, "search_vectors"):
            raise UnavailableError("this boto3 cannot search vectors: 1.43.64 can")
        answer = self.connection.call(
            "search_vectors",
            self._until(),
            TableName=self.connection.table_name,
            IndexName=schema.BY_MEANING,
            SearchVector=items.vector_list(vector)["L"],
            TopK=top,
            SearchConditionExpression=" AND ".join(f"#{name} = :{name}" for name in wanted),
            ExpressionAttributeNames={f"#{name}": name for name in wanted},
            ExpressionAttributeValues={f":{name}": text(held) for name, held in wanted.items()},
        )
        return [
            NearVector(
                one["Item"][schema.PARTITION_KEY]["S"],
                keys.in_vector(one["Item"][schema.SORT_KEY]["S"])[1],
                1 - one["Score"],
            )
            for one in answer["SearchResults"]
        ]

    # Reading all items

    def scan(
        self, *, segment: int, segments: int, start: Key | None, **only: Any
    ) -> tuple[list[Item], Key | None]:
        """Return some items of a segment of the table, and where to go on; None at its end.

        start: where to go on; None: where the segment begins.
        only: a FilterExpression and what it needs.
        """
        after: dict[str, Any] = {"ExclusiveStartKey": key_of(start)} if start else {}
        answer = self.connection.call(
            "scan",
            self._until(),
            TableName=self.connection.table_name,
            ConsistentRead=True,
            Segment=segment,
            TotalSegments=segments,
            Limit=SCANNED_AT_ONCE,
            **after,
            **only,
        )
        end = answer.get("LastEvaluatedKey")
        return answer["Items"], items.key(end) if end else None

    # Reading entries

    def read_ranges(self, group_id: str, reads: Sequence[RangeRead], *, backward: bool) -> list[RangeAnswer]:
        """Return the answers of several reads that are made at the same time."""
        if len(reads) == 1:
            return [self._read_range(group_id, reads[0], backward)]
        return list(self.side_by_side(lambda read: self._read_range(group_id, read, backward), reads))

    def heads_of(self, group_ids: Sequence[str]) -> Iterator[tuple[str, list[HeadRow]]]:
        """Yield each tree with what its HEADs name. The reads start immediately."""
        heads = self.side_by_side(lambda group_id: list(self.read.head_rows(group_id)), group_ids)
        return zip(group_ids, heads, strict=True)

    def start_range(self, group_id: str, read: RangeRead, *, backward: bool) -> Future[RangeAnswer]:
        """Start a read in another thread and return the future of its answer."""
        return self._threads.submit(self._read_range, group_id, read, backward)

    def start(self, call: Callable[[], B]) -> Future[B]:
        """Start a call in another thread and return the future of its result."""
        return self._threads.submit(call)

    def side_by_side(self, call: Callable[[A], B], arguments: Iterable[A]) -> Iterator[B]:
        """Yield what `call` returns for each argument, in order. The calls overlap."""
        return self._threads.map(call, arguments)

    def _read_range(self, group_id: str, read: RangeRead, backward: bool) -> RangeAnswer:
        first, last = read.window.start, ids.previous_id(read.window.stop)
        if read.conversation_id is None or read.channel is None:
            sort_key, index = schema.SORT_KEY, {}
            bounds = keys.position(first), keys.position(last)
        else:
            sort_key, index = schema.ENTRY_SORT_KEY, {"IndexName": schema.BY_CONVERSATION}
            bounds = (
                keys.by_conversation(read.conversation_id, read.channel, first),
                keys.by_conversation(read.conversation_id, read.channel, last),
            )
        answer = self._query(
            ConsistentRead=True,
            KeyConditionExpression=f"PK = :p AND {sort_key} BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":p": text(group_id),
                ":first": text(bounds[0]),
                ":last": text(bounds[1]),
            },
            ScanIndexForward=not backward,
            Limit=read.limit,
            **index,
        )
        found = [items.stored_entry(item) for item in answer["Items"]]
        end = answer.get("LastEvaluatedKey")
        return RangeAnswer(found, keys.entry_id_of(end["SK"]["S"]) if end else None)

    def conversations(
        self, group_id: str, places: Sequence[ListKey], known: Found
    ) -> list[tuple[Conversation, BranchTip]]:
        """Return the conversations in these places of a tree's list, in order, with their tips.

        One that was removed meanwhile is left out. known: what of them was read already. Raises
        UnavailableError if one cannot be read yet.
        """

        of = {one: (keys.conversation(group_id, one[1]), keys.head(group_id, one[1])) for one in places}
        found, left = known, list(places)
        for attempt in range(LOOKS_MAX):
            self.pause(attempt)
            found |= self.get(key for place in left for key in of[place] if key not in found)
            branches = {place: found.branch(*of[place]) for place in left}
            whole = [branch for branch in branches.values() if branch is not None]
            missing = [place for place, branch in branches.items() if branch is None]
            rows = self.items_at(keys.tree_row(group_id, *place) for place in missing)
            left = [
                place for place in left if place not in missing or keys.tree_row(group_id, *place) in rows
            ]
            if len(whole) == len(left):
                return whole
        raise UnavailableError("a fork that was made cannot be read yet; try again")

    def _all_items_at(self, wanted: Sequence[Key]) -> dict[Key, Item]:
        """Return items that are known to exist. Read an item again if a read missed it.

        The items of a transaction become visible one by one. Raises UnavailableError if some items
        are still missing after LOOKS_MAX reads.
        """
        found: dict[Key, Item] = {}
        for attempt in range(LOOKS_MAX):
            self.pause(attempt)
            found |= self.items_at(key for key in wanted if key not in found)
            if len(found) == len(set(wanted)):
                return found
        raise UnavailableError("something that was written cannot be read yet; try again")

    def entries(self, group_id: str, entry_ids: Sequence[EntryId]) -> list[Entry]:
        """Return the entries with these ids, in this order. All must exist.

        Raises UnavailableError if one cannot be read yet.
        """
        wanted = [keys.entry(group_id, entry_id) for entry_id in entry_ids]
        found = self._all_items_at(wanted)
        return self.with_bodies(group_id, [items.stored_entry(found[key]) for key in wanted])

    def stored_entries(self, places: Iterable[tuple[str, EntryId]]) -> list[StoredEntry]:
        """Return the entries that exist, in this order. places: their trees and ids."""
        wanted = [keys.entry(*place) for place in places]
        found = self.items_at(wanted)
        return [items.stored_entry(found[key]) for key in wanted if key in found]

    def with_bodies(
        self, group_id: str, stored: Sequence[StoredEntry], *, linked: bool = True
    ) -> list[Entry]:
        """Return the entries with their content, in order.

        Large bodies come from BLOB items. linked: whether they are answered, with links.
        """
        wanted = [keys.blob(group_id, s.entry_id, at) for s in stored for at in range(s.chunks)]
        blobs: dict[Key, Item] = {}
        for at in range(0, len(wanted), BLOBS_AT_ONCE):
            blobs |= self._all_items_at(wanted[at : at + BLOBS_AT_ONCE])
        return [
            s.entry._replace(
                content=bodies.decode(_whole_body(group_id, s, blobs)),
                attachments=self.linked(s.entry.attachments) if linked else s.entry.attachments,
            )
            for s in stored
        ]

    def linked(self, attachments: tuple[Attached, ...]) -> tuple[Attached, ...]:
        """Return attachments with the links that an answer shows. It asks nobody."""
        if self.objects is None or not attachments:
            return attachments
        links = [
            self.objects.link(one.attachment_id, name=one.name, content_type=one.content_type)
            for one in attachments
        ]
        return tuple(
            one._replace(url=link.url, url_expires_at=link.expires_at)
            for one, link in zip(attachments, links, strict=True)
        )

    # Looking through entries

    def newest_entries(self, group_id: str, *, before: EntryId) -> NewestEntries:
        """Return the entries of a tree before a position, newest first, as many as one Query reads.

        The read is eventually consistent: an entry that was just written may be missing.
        """
        of = keys.entries_before(group_id, before)
        answer = self._query(
            ConsistentRead=False,
            KeyConditionExpression="PK = :p AND SK BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":p": text(of.partition),
                ":first": text(of.first),
                ":last": text(of.last),
            },
            ScanIndexForward=False,
        )
        end = answer.get("LastEvaluatedKey")
        return NewestEntries(
            entries=[items.stored_entry(item) for item in answer["Items"]],
            reached=keys.entry_id_of(end["SK"]["S"]) if end else None,
            read_bytes=sum(map(items.size, answer["Items"])),
        )

    def content_of(self, group_id: str, stored: StoredEntry, *, is_consistent: bool = False) -> str | None:
        """Return the content of an entry; None if a part of it cannot be read.

        is_consistent: as of `items_at`.
        """
        body = self.body_of(group_id, stored, is_consistent=is_consistent)
        return None if body is None else bodies.decode(body)

    def body_of(self, group_id: str, stored: StoredEntry, *, is_consistent: bool = False) -> bytes | None:
        """Return the content of an entry as it is stored; None if a part of it cannot be read."""
        wanted = [keys.blob(group_id, stored.entry_id, at) for at in range(stored.chunks)]
        blobs = self.items_at(wanted, is_consistent=is_consistent)
        return None if len(blobs) < len(wanted) else _whole_body(group_id, stored, blobs)

    def _query(self, **parameters: Any) -> dict[str, Any]:
        name = self.connection.table_name
        return self.connection.call("query", self._until(), TableName=name, **parameters)

    def _until(self) -> Deadline:
        """Return the deadline of the next call, which lasts as long as a request's at the most."""
        most = Deadline.after(BUDGET_MAX_S)
        return most if self._deadline is None else min(self._deadline, most)


def _whole_body(group_id: str, stored: StoredEntry, blobs: Mapping[Key, Item]) -> bytes:
    if not stored.chunks:
        return stored.body
    found = (blobs[keys.blob(group_id, stored.entry_id, at)] for at in range(stored.chunks))
    return b"".join(bytes(item["data"]["B"]) for item in found)

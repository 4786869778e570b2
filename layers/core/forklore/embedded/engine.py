"""DynamoDB's calls, answered from SQLite: the methods of a client of botocore that forklore uses.

A value comes in as it goes out, with bytes as bytes: nothing is signed, sent or parsed. What
DynamoDB answers with an error is raised as CallRefused, in botocore's form.

Left out: tables but the one of storage/schema.py, expressions and parameters that `storage` does
not use (a call with one is refused), reserved words, Scans in parallel (the first segment has all
items), throttling, the limit of an item collection, and conflicts of transactions, which run one
after another. A ClientRequestToken is known to the process that sent it, for the last TOKENS_MAX
transactions. An index is never behind.

Sources: DynamoDB API reference; DynamoDB developer guide, "Quotas" and "Constraints".
"""

import base64
import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore.embedded import expressions
from forklore.embedded.capacity import IN_TRANSACTION, TREE_KEYS, units_to_read, units_to_write
from forklore.embedded.database import Database, UnansweredError
from forklore.embedded.expressions import Condition, Names, Update, Values
from forklore.embedded.values import (
    ITEM_BYTES_MAX,
    InvalidError,
    Value,
    checked_item,
    checked_value,
    item_bytes,
    text_bytes,
)
from forklore.storage import schema
from forklore.storage.connection import CallRefused, Item

NAME = "forklore"
TTL = "ttl"
"""The attribute with the second from which on an item is not needed any more."""
PAGE_BYTES_MAX = 1 << 20
TRANSACTION_BYTES_MAX, TRANSACTION_ACTIONS_MAX = 4 << 20, 100
BATCH_WRITES_MAX, BATCH_KEYS_MAX, BATCH_BYTES_MAX = 25, 100, 16 << 20
PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX = 2048, 1024
TTL_MAX = 1 << 40
TOKENS_MAX = 10_000
LAYOUT = f"""\
CREATE TABLE item (
    PK TEXT NOT NULL, SK TEXT NOT NULL, L1 TEXT, G1 TEXT, G1S TEXT, ttl INTEGER,
    size INTEGER NOT NULL, attributes TEXT NOT NULL, PRIMARY KEY (PK, SK)
) WITHOUT ROWID;
CREATE UNIQUE INDEX {schema.BY_CONVERSATION} ON item (PK, L1, SK) WHERE L1 IS NOT NULL;
CREATE UNIQUE INDEX {schema.ALL_TREES} ON item (G1, G1S, PK, SK) WHERE G1 IS NOT NULL;
CREATE INDEX expiry ON item (ttl) WHERE ttl IS NOT NULL;
"""
"""The keys of the table and of its indexes stand in columns, the whole item as JSON in another."""
_PUT = "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM item WHERE PK = ? AND SK = ?"
_FIND = "SELECT size, attributes FROM item WHERE PK = ? AND SK = ?"

Answer = dict[str, Any]
Place = tuple[str, str]


class Found(NamedTuple):
    """An item and its size."""

    item: Item
    size: int


class Change(NamedTuple):
    """An item before and after a write. None: there is none."""

    place: Place
    before: Found | None
    after: Found | None

    @property
    def is_one(self) -> bool:
        """Whether the write has changed the item."""
        return self.before != self.after


Told = Callable[[sqlite3.Connection, Sequence[Change]], object]
"""Is called in the transaction of a write, after its changes."""


class _ConditionError(Exception):
    """The condition of a write does not hold. shown: what is told of the item as it stands."""

    def __init__(self, shown: Answer) -> None:
        super().__init__("The conditional request failed")
        self.shown = shown


class _Action(NamedTuple):
    """One write or check of one item.

    item: what is put. update: how the item is changed. Neither: it is deleted, or only checked.
    """

    place: Place
    size: int
    item: Found | None = None
    update: Update | None = None
    is_check: bool = False
    condition: Condition | None = None
    names: Names = MappingProxyType({})
    values: Values = MappingProxyType({})
    shows_item: bool = False

    def after(self, before: Found | None) -> Found | None:
        """Return the item after the write.

        Raises InvalidError, and _ConditionError if the condition does not hold.
        """
        if self.item is not None:
            _require_indexed(self.item)
        if self.condition is not None:
            was = before.item if before else {}
            if not self.condition.holds(was, self.names, self.values):
                shown = {"Item": was} if before and self.shows_item else {}
                raise _ConditionError(shown)
        if self.update is None:
            return before if self.is_check else self.item
        old = before.item if before else {"PK": {"S": self.place[0]}, "SK": {"S": self.place[1]}}
        changed = _checked(self.update.changed(old, self.names, self.values))
        _require_indexed(changed)
        return changed


class Engine:
    """A client of the one table in `database`. Any number of threads may use it.

    name: of the table. told: of each write.
    """

    @classmethod
    def in_memory(cls, *, name: str = NAME) -> "Engine":
        """Return an empty table that is kept nowhere."""
        return cls(Database.in_memory(LAYOUT), name=name)

    def __init__(
        self, database: Database, *, name: str = NAME, told: Told = lambda _connection, _changes: None
    ) -> None:
        self._database, self._name, self._told = database, name, told
        self._tokens: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    # Reads

    def describe_table(self, *, TableName: str) -> Answer:
        """Return the keys and indexes of the table, and how many items it has."""
        self._require(TableName)
        with self._database.reading() as connection:
            [(count,)] = connection.execute("SELECT count(*) FROM item")
        return _success(Table={**schema.TABLE, "TableName": TableName, "ItemCount": count})

    def get_item(
        self, *, TableName: str, Key: Item, ConsistentRead: bool = False, ReturnConsumedCapacity: str = "NONE"
    ) -> Answer:
        """Return one item, if there is one."""
        self._require(TableName)
        with _validated(), self._database.reading() as connection:
            found = _find(connection, _place(Key))
        units = units_to_read(found.size if found else 0, is_consistent=ConsistentRead)
        consumed = self._consumed(ReturnConsumedCapacity, units)
        return _success(**({"Item": found.item} if found else {}), **consumed)

    def batch_get_item(
        self, *, RequestItems: Mapping[str, Mapping[str, Any]], ReturnConsumedCapacity: str = "NONE"
    ) -> Answer:
        """Return the items that exist among up to 100 keys, as far as they have 16 MB together."""
        asked = self._only(RequestItems, {"Keys", "ConsistentRead"})
        wanted: Sequence[Item] = asked["Keys"]
        with _validated(), self._database.reading() as connection:
            places = [_place(key) for key in wanted]
            _require_number(len(places), BATCH_KEYS_MAX)
            _require_different(places)
            found: list[Item] = []
            left: list[Item] = []
            total, units = 0, 0.0
            is_consistent = asked.get("ConsistentRead", False)
            for key, place in zip(wanted, places, strict=True):
                one = None if left else _find(connection, place)
                total += one.size if one else 0
                if left or (total > BATCH_BYTES_MAX and found):
                    left.append(key)
                    continue
                units += units_to_read(one.size if one else 0, is_consistent=is_consistent)
                if one is not None:
                    found.append(one.item)
        return _success(
            Responses={self._name: found},
            UnprocessedKeys={self._name: {**asked, "Keys": left}} if left else {},
            **self._consumed(ReturnConsumedCapacity, units, is_batch=True),
        )

    def query(
        self,
        *,
        TableName: str,
        KeyConditionExpression: str,
        ExpressionAttributeValues: Values,
        ExpressionAttributeNames: Names | None = None,
        IndexName: str | None = None,
        ConsistentRead: bool = False,
        ScanIndexForward: bool = True,
        Limit: int | None = None,
        ExclusiveStartKey: Item | None = None,
        ProjectionExpression: str | None = None,
        ReturnConsumedCapacity: str = "NONE",
    ) -> Answer:
        """Return a page of a range of one partition of the table or of an index."""
        self._require(TableName)
        names = ExpressionAttributeNames or {}
        with _validated():
            index = _INDEXES.get(IndexName)
            if index is None:
                raise InvalidError(f"The table does not have the specified index: {IndexName}")
            if index.partition != "PK" and ConsistentRead:
                raise InvalidError("Consistent reads are not supported on global secondary indexes")
            asked = expressions.key_condition(KeyConditionExpression)
            if (asked.partition, asked.sort) != (index.partition, index.sort):
                raise InvalidError("Query condition missed key schema element")
            shown = expressions.projection(ProjectionExpression) if ProjectionExpression else ()
            used = {asked.value, asked.first, asked.last, *(name for name in shown if name[0] == "#")}
            _require_used(frozenset(used), names, ExpressionAttributeValues)
            partition, first, last = (
                _text(ExpressionAttributeValues[name]) for name in (asked.value, asked.first, asked.last)
            )
            if first > last:
                raise InvalidError("The BETWEEN operator requires upper bound to be greater than lower bound")
            _require_limit(Limit)
            after = None
            if ExclusiveStartKey:
                after = index.start(ExclusiveStartKey, partition, first, last, ScanIndexForward)
        with self._database.reading() as connection:
            rows = index.rows(connection, partition, first, last, after, ScanIndexForward, Limit)
            page, size = _page(rows, Limit)
        items = [row.item for row in page.items]
        # Nothing comes after the end of a range, so DynamoDB names no key to go on with.
        is_over = bool(items) and items[-1][index.sort]["S"] == (last if ScanIndexForward else first)
        end = _keys_of(items[-1], index.keys) if page.has_more and not is_over else None
        if shown:
            wanted = [names.get(name, name) for name in shown]
            items = [{name: item[name] for name in wanted if name in item} for item in items]
        units = units_to_read(size, is_consistent=ConsistentRead)
        return _success(
            Items=items,
            Count=len(items),
            ScannedCount=len(items),
            **({"LastEvaluatedKey": end} if end else {}),
            **self._consumed(ReturnConsumedCapacity, units),
        )

    def scan(
        self,
        *,
        TableName: str,
        ConsistentRead: bool = False,
        Limit: int | None = None,
        ExclusiveStartKey: Item | None = None,
        Segment: int = 0,
        TotalSegments: int = 1,
        FilterExpression: str | None = None,
        ExpressionAttributeNames: Names | None = None,
        ExpressionAttributeValues: Values | None = None,
        Select: str = "ALL_ATTRIBUTES",
        ReturnConsumedCapacity: str = "NONE",
    ) -> Answer:
        """Return a page of all items. The first segment has all of them."""
        self._require(TableName)
        names, values = ExpressionAttributeNames or {}, _checked_values(ExpressionAttributeValues or {})
        with _validated():
            if not 0 <= Segment < TotalSegments:
                raise InvalidError("The Segment parameter is zero-based and less than TotalSegments")
            _require_limit(Limit)
            after = _place(ExclusiveStartKey) if ExclusiveStartKey else ("", "")
            wanted = expressions.condition(FilterExpression) if FilterExpression else None
            _require_used(wanted.used if wanted else frozenset(), names, values)
            if wanted is not None:
                wanted.check(values)
        found: list[Found] = []
        has_more, size = False, 0
        if Segment == 0:
            with self._database.reading() as connection:
                rows = connection.execute(
                    "SELECT size, attributes FROM item WHERE (PK, SK) > (?, ?) ORDER BY PK, SK LIMIT ?",
                    (*after, -1 if Limit is None else Limit),
                )
                page, size = _page((Found(_item(text), taken) for taken, text in rows), Limit)
                rows.close()
            found, has_more = page.items, page.has_more
        kept = [one.item for one in found if wanted is None or wanted.holds(one.item, names, values)]
        return _success(
            **({} if Select == "COUNT" else {"Items": kept}),
            Count=len(kept),
            ScannedCount=len(found),
            **({"LastEvaluatedKey": _keys_of(found[-1].item, ("PK", "SK"))} if has_more else {}),
            **self._consumed(ReturnConsumedCapacity, units_to_read(size, is_consistent=ConsistentRead)),
        )

    # Writes

    def put_item(self, *, ReturnConsumedCapacity: str = "NONE", **request: Any) -> Answer:
        """Put one item."""
        return self._write_one("Put", request, ReturnConsumedCapacity)[0]

    def delete_item(self, *, ReturnConsumedCapacity: str = "NONE", **request: Any) -> Answer:
        """Delete one item."""
        return self._write_one("Delete", request, ReturnConsumedCapacity)[0]

    def update_item(
        self, *, ReturnValues: str = "NONE", ReturnConsumedCapacity: str = "NONE", **request: Any
    ) -> Answer:
        """Change one item, or make it."""
        answer, change = self._write_one("Update", request, ReturnConsumedCapacity)
        assert change.after is not None
        match ReturnValues:
            case "NONE":
                return answer
            case "ALL_NEW":
                return {**answer, "Attributes": change.after.item}
            case "UPDATED_NEW":
                names = request.get("ExpressionAttributeNames", {})
                updated = expressions.update(request["UpdateExpression"]).attributes
                shown = {names.get(name, name) for name in updated} & change.after.item.keys()
                return {**answer, "Attributes": {name: change.after.item[name] for name in shown}}
        raise _refusal("ValidationException", "this store knows no such ReturnValues")

    def _write_one(self, verb: str, request: Mapping[str, Any], asked: str) -> tuple[Answer, Change]:
        with _validated():
            action = self._action(verb, request)

            def work(connection: sqlite3.Connection) -> Change:
                before = _find(connection, action.place)
                try:
                    change = Change(action.place, before, action.after(before))
                except _ConditionError as error:
                    raise _refusal("ConditionalCheckFailedException", str(error), **error.shown) from None
                self._store(connection, [change])
                return change

            change = self._write(work)
        return _success(**self._consumed(asked, _write_units([change]))), change

    def batch_write_item(
        self,
        *,
        RequestItems: Mapping[str, Sequence[Mapping[str, Any]]],
        ReturnConsumedCapacity: str = "NONE",
    ) -> Answer:
        """Put or delete up to 25 items."""
        [(name, requests)] = RequestItems.items()
        self._require(name)
        with _validated():
            actions = [
                self._action(_BATCHED[kind], {"TableName": name, **asked})
                for request in requests
                for kind, asked in request.items()
            ]
            _require_number(len(actions), BATCH_WRITES_MAX)
            _require_different([action.place for action in actions])
            if sum(action.size for action in actions) > BATCH_BYTES_MAX:
                raise InvalidError("Collection size exceeded")

            def work(connection: sqlite3.Connection) -> list[Change]:
                changes = [
                    Change(action.place, _find(connection, action.place), action.after(None))
                    for action in actions
                ]
                self._store(connection, changes)
                return changes

            changes = self._write(work)
        consumed = self._consumed(ReturnConsumedCapacity, _write_units(changes), is_batch=True)
        return _success(UnprocessedItems={}, **consumed)

    def transact_write_items(
        self,
        *,
        TransactItems: Sequence[Mapping[str, Mapping[str, Any]]],
        ClientRequestToken: str | None = None,
        ReturnConsumedCapacity: str = "NONE",
        ReturnItemCollectionMetrics: str = "NONE",
    ) -> Answer:
        """Write up to 100 items or none of them."""
        with _validated():
            _require_number(len(TransactItems), TRANSACTION_ACTIONS_MAX)
            actions = [self._action(verb, asked) for part in TransactItems for verb, asked in part.items()]
            _require_number(len(actions), len(TransactItems))
            if len({action.place for action in actions}) < len(actions):
                raise InvalidError("Transaction request cannot include multiple operations on one item")
            if sum(action.size for action in actions) > TRANSACTION_BYTES_MAX:
                raise InvalidError("Collection size has exceeded the maximum allowed size")
        if not self._was_done(ClientRequestToken, TransactItems):
            changes = self._write(lambda connection: self._transact(connection, actions))
            self._note_done(ClientRequestToken, TransactItems)
            consumed = self._consumed(
                ReturnConsumedCapacity, _write_units(changes, times=IN_TRANSACTION), of_write=True
            )
        else:
            with self._database.reading() as connection:
                sizes = [_find(connection, action.place) for action in actions]
            units = sum(2 * units_to_read(one.size if one else 0, is_consistent=True) for one in sizes)
            consumed = self._consumed(ReturnConsumedCapacity, units, of_read=True)
        metrics = {}
        if ReturnItemCollectionMetrics == "SIZE":
            metrics = {"ItemCollectionMetrics": {self._name: self._collections(actions)}}
        return _success(**consumed, **metrics)

    def _transact(self, connection: sqlite3.Connection, actions: Sequence[_Action]) -> list[Change]:
        """Write all actions. Raises CallRefused with a reason for each of them."""
        changes, reasons, is_refused = [], [], False
        for action in actions:
            before = _find(connection, action.place)
            reason: Answer = {"Code": "None"}
            try:
                changes.append(Change(action.place, before, action.after(before)))
            except _ConditionError as error:
                reason = {"Code": "ConditionalCheckFailed", "Message": str(error), **error.shown}
            except InvalidError as error:
                reason = {"Code": "ValidationError", "Message": str(error)}
            is_refused |= reason["Code"] != "None"
            reasons.append(reason)
        if is_refused:
            told = ", ".join(reason["Code"] for reason in reasons)
            raise _refusal(
                "TransactionCanceledException",
                f"Transaction cancelled, please refer cancellation reasons for specific reasons [{told}]",
                CancellationReasons=reasons,
            )
        self._store(connection, changes)
        return changes

    def expire(self, now_s: int) -> None:
        """Delete the items whose time is over. Nobody is told of that."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM item WHERE ttl <= ?", (now_s,))

        with self._database.reading() as connection:
            is_any = connection.execute("SELECT 1 FROM item WHERE ttl <= ? LIMIT 1", (now_s,)).fetchone()
        if is_any:
            self._write(work)

    def _store(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
        rows = [(change, change.after and _row(change.place, change.after)) for change in changes]
        for change, row in rows:
            if row is None:
                connection.execute(_DELETE, change.place)
            elif change.is_one:
                connection.execute(_PUT, row)
        self._told(connection, changes)

    def _write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        try:
            return self._database.write(work)
        except UnansweredError as error:
            raise _refusal("InternalServerError", "a signal ended the commit", status=500) from error

    def _was_done(self, token: str | None, request: Any) -> bool:
        """Tell whether this request was written with its token. Raises CallRefused for another."""
        if token is None or (done := self._tokens.get(token)) is None:
            return False
        if done != hash(repr(request)):
            raise _refusal("IdempotentParameterMismatchException", "another request had this token")
        return True

    def _note_done(self, token: str | None, request: Any) -> None:
        if token is not None:
            with self._lock:
                self._tokens[token] = hash(repr(request))
                if len(self._tokens) > TOKENS_MAX:
                    self._tokens.popitem(last=False)

    # Requests

    def _action(self, verb: str, request: Mapping[str, Any]) -> _Action:
        """Return what a part of a request asks for. Raises InvalidError, CallRefused."""
        members = _MEMBERS.get(verb)
        if members is None or not members >= request.keys():
            raise InvalidError(f"this store knows no such request: {verb} with {sorted(request)}")
        self._require(request["TableName"])
        names = request.get("ExpressionAttributeNames", {})
        values = _checked_values(request.get("ExpressionAttributeValues", {}))
        text, change = request.get("ConditionExpression"), request.get("UpdateExpression")
        condition = expressions.condition(text) if text is not None else None
        update = expressions.update(change) if change is not None else None
        if verb == "ConditionCheck" and condition is None:
            raise InvalidError("The expression can not be empty")
        used = [parsed.used for parsed in (condition, update) if parsed is not None]
        _require_used(frozenset().union(*used), names, values)
        if condition is not None:
            condition.check(values)
        if update is not None and {names.get(name, name) for name in update.attributes} & {"PK", "SK"}:
            raise InvalidError("Cannot update attribute: This attribute is part of the key")
        item = _checked(request["Item"]) if verb == "Put" else None
        place = _place(request["Key"]) if item is None else _place_of(item.item)
        return _Action(
            place,
            item.size if item else _asked_bytes(place, values),
            item,
            update,
            is_check=verb == "ConditionCheck",
            condition=condition,
            names=names,
            values=values,
            shows_item=request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
        )

    def _require(self, name: str) -> None:
        if name != self._name:
            raise _refusal("ResourceNotFoundException", "Cannot do operations on a non-existent table")

    def _only(self, request_items: Mapping[str, Mapping[str, Any]], members: set[str]) -> Mapping[str, Any]:
        [(name, asked)] = request_items.items()
        self._require(name)
        if not members >= asked.keys():
            raise _refusal("ValidationException", f"this store knows no such request: {sorted(asked)}")
        return asked

    # Answers

    def _consumed(
        self,
        asked: str,
        units: float,
        *,
        is_batch: bool = False,
        of_write: bool = False,
        of_read: bool = False,
    ) -> Answer:
        """Return the member of an answer that says what the call has consumed."""
        if asked == "NONE":
            return {}
        if asked != "TOTAL":
            raise _refusal("ValidationException", "this store knows the TOTAL of what is consumed only")
        consumed: Answer = {"TableName": self._name, "CapacityUnits": units}
        if of_write or of_read:
            consumed["WriteCapacityUnits" if of_write else "ReadCapacityUnits"] = units
        return {"ConsumedCapacity": [consumed] if is_batch or of_write or of_read else consumed}

    def _collections(self, actions: Iterable[_Action]) -> list[Answer]:
        partitions = dict.fromkeys(action.place[0] for action in actions if not action.is_check)
        return [
            {"ItemCollectionKey": {"PK": {"S": partition}}, "SizeEstimateRangeGB": [0.0, 1.0]}
            for partition in partitions
        ]


class _Page(NamedTuple):
    items: list[Found]
    has_more: bool


class _Index(NamedTuple):
    """The table or one of its indexes: the keys that order it."""

    partition: str
    sort: str
    more: tuple[str, ...] = ()
    holds_keys_only: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.partition, self.sort, *self.more)

    def start(self, key: Item, partition: str, first: str, last: str, is_forward: bool) -> tuple[str, ...]:
        """Return the values of a start key that order the items. Raises InvalidError."""
        if set(key) != set(self.keys):
            raise InvalidError("The provided starting key is invalid")
        sort = _text(key[self.sort])
        is_inside = first <= sort < last if is_forward else first < sort <= last
        if _text(key[self.partition]) != partition or not is_inside:
            raise InvalidError("The provided starting key is outside query boundaries")
        return tuple(_text(key[name]) for name in (self.sort, *self.more))

    def rows(
        self,
        connection: sqlite3.Connection,
        partition: str,
        first: str,
        last: str,
        after: tuple[str, ...] | None,
        is_forward: bool,
        limit: int | None,
    ) -> Iterator[Found]:
        """Yield the items of a range in the order of the index."""
        order = (self.sort, *self.more)
        way, sign = ("ASC", ">") if is_forward else ("DESC", "<")
        follows = f" AND ({', '.join(order)}) {sign} ({', '.join('?' * len(order))})" if after else ""
        columns = ", ".join(TREE_KEYS) if self.holds_keys_only else "size, attributes"
        rows = connection.execute(
            f"SELECT {columns} FROM item WHERE {self.partition} = ?"  # nosec B608 # names of ours
            f" AND {self.sort} >= ? AND {self.sort} <= ?{follows}"
            f" ORDER BY {', '.join(f'{name} {way}' for name in order)} LIMIT ?",
            (partition, first, last, *(after or ()), -1 if limit is None else limit),
        )
        try:
            for row in rows:
                if self.holds_keys_only:
                    copy = {name: {"S": text} for name, text in zip(TREE_KEYS, row, strict=True)}
                    yield Found(copy, item_bytes(copy))
                else:
                    yield Found(_item(row[1]), row[0])
        finally:
            rows.close()


_INDEXES: Mapping[str | None, _Index] = {
    None: _Index("PK", "SK"),
    schema.BY_CONVERSATION: _Index("PK", "L1", ("SK",)),
    schema.ALL_TREES: _Index("G1", "G1S", ("PK", "SK"), holds_keys_only=True),
}
_BATCHED = {"PutRequest": "Put", "DeleteRequest": "Delete"}
_CONDITIONAL = {
    *("TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"),
    "ReturnValuesOnConditionCheckFailure",
}
_MEMBERS = {
    "Put": _CONDITIONAL | {"Item"},
    "Update": _CONDITIONAL | {"Key", "UpdateExpression"},
    "Delete": _CONDITIONAL | {"Key"},
    "ConditionCheck": _CONDITIONAL | {"Key"},
}


# Items


def _find(connection: sqlite3.Connection, place: Place) -> Found | None:
    row = connection.execute(_FIND, place).fetchone()
    return None if row is None else Found(_item(row[1]), row[0])


def _item(text: str) -> Item:
    """Return an item of its text."""
    item: Item = json.loads(text)
    if '"B' in text:
        for name, value in item.items():
            item[name] = _with_bytes(value)
    return item


def _with_bytes(value: Value) -> Value:
    [(kind, held)] = value.items()
    match kind:
        case "B":
            return {"B": base64.b64decode(held)}
        case "BS":
            return {"BS": [base64.b64decode(one) for one in held]}
        case "L":
            return {"L": [_with_bytes(one) for one in held]}
        case "M":
            return {"M": {name: _with_bytes(one) for name, one in held.items()}}
    return value


def to_text(value: object) -> str:
    """Return values as JSON; bytes are in base64."""
    return _ENCODER.encode(value)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64)


def _checked(item: Item) -> Found:
    """Return an item as it is kept. Raises InvalidError."""
    found = Found(*checked_item(item))
    _place_of(found.item)
    return found


def _require_indexed(found: Found) -> None:
    """Raise InvalidError if an index cannot hold the item."""
    if schema.ENTRY_SORT_KEY in found.item and 2 * found.size > ITEM_BYTES_MAX:
        raise InvalidError("Item size with its copy in the local index has exceeded the maximum size")
    for name in _INDEX_KEYS & found.item.keys():
        bytes_max = PARTITION_KEY_BYTES_MAX if name == schema.TREE_PARTITION_KEY else SORT_KEY_BYTES_MAX
        _require_key(name, found.item[name], bytes_max)


_INDEX_KEYS = {schema.ENTRY_SORT_KEY, schema.TREE_PARTITION_KEY, schema.TREE_SORT_KEY}


def _place(key: Item) -> Place:
    """Return the place that a key names. Raises InvalidError."""
    if key.keys() != {"PK", "SK"}:
        raise InvalidError("The provided key element does not match the schema")
    return _place_of(key)


def _place_of(item: Item) -> Place:
    return (
        _require_key("PK", item.get("PK"), PARTITION_KEY_BYTES_MAX),
        _require_key("SK", item.get("SK"), SORT_KEY_BYTES_MAX),
    )


def _require_key(name: str, value: Value | None, bytes_max: int) -> str:
    text = None if value is None else value.get("S")
    if not isinstance(text, str) or not 0 < text_bytes(text) <= bytes_max:
        raise InvalidError(f"One or more parameter values were invalid: key {name}")
    return text


def _text(value: Value) -> str:
    text = value.get("S")
    if not isinstance(text, str):
        raise InvalidError("One or more parameter values were invalid: a key is a text")
    return text


def _row(place: Place, found: Found) -> tuple[Any, ...]:
    item = found.item
    entry, tree, sort = (item[name]["S"] if name in item else None for name in _COLUMNS)
    if tree is None or sort is None:  # the index holds the items that have both
        tree = sort = None
    expiry = item.get(TTL, {}).get("N")
    ttl = None if expiry is None else min(float(expiry), float(TTL_MAX))
    return (*place, entry, tree, sort, ttl, found.size, to_text(item))


def row_of(stored: Item) -> tuple[Any, ...]:
    """Return the row of an item whose bytes are in base64, as an earlier format has it.

    Raises KeyError, TypeError, ValueError for what is no item.
    """
    try:
        found = _checked({name: _with_bytes(value) for name, value in stored.items()})
        return _row(_place_of(found.item), found)
    except InvalidError as error:
        raise ValueError(str(error)) from error


_COLUMNS = (schema.ENTRY_SORT_KEY, schema.TREE_PARTITION_KEY, schema.TREE_SORT_KEY)


def _keys_of(item: Item, names: Iterable[str]) -> Item:
    return {name: item[name] for name in names}


def _page(rows: Iterable[Found], limit: int | None) -> tuple[_Page, int]:
    """Return the items of a page and their size. A page ends before 1 MB is exceeded."""
    found: list[Found] = []
    size = 0
    for row in rows:
        if found and size + row.size > PAGE_BYTES_MAX:
            return _Page(found, has_more=True), size
        found.append(row)
        size += row.size
    return _Page(found, has_more=limit is not None and len(found) == limit), size


# Requests and answers


def _checked_values(values: Values) -> dict[str, Value]:
    return {name: checked_value(value) for name, value in values.items()}


def _asked_bytes(place: Place, values: Values) -> int:
    """Return what a part that puts no item counts for in the size of a transaction."""
    return sum(map(text_bytes, place)) + item_bytes(values)


def _require_used(used: frozenset[str], names: Names, values: Values) -> None:
    """Raise InvalidError unless exactly the placeholders that were given are used."""
    if used != names.keys() | values.keys():
        raise InvalidError("a placeholder of an expression is not given, or is unused")


def _require_number(number: int, most: int) -> None:
    if not 0 < number <= most:
        raise InvalidError(f"Member must have length between 1 and {most}")


def _require_different(places: Sequence[Place]) -> None:
    if len(set(places)) < len(places):
        raise InvalidError("Provided list of item keys contains duplicates")


def _require_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise InvalidError("Limit must be greater than or equal to 1")


def _write_units(changes: Iterable[Change], *, times: int = 1) -> float:
    return sum(
        units_to_write(
            before.item if before else None,
            after.item if after else None,
            (before.size if before else 0, after.size if after else 0),
            times=times,
        )
        for _, before, after in changes
    )


def _success(**members: Any) -> Answer:
    return {**members, "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}}}


@contextmanager
def _validated() -> Iterator[None]:
    try:
        yield
    except InvalidError as error:
        raise _refusal("ValidationException", str(error)) from error


def _refusal(code: str, message: str, *, status: int = 400, **members: Any) -> CallRefused:
    """Return an error as DynamoDB answers it."""
    told = {"Code": code, "Message": message}
    return CallRefused(
        {**members, "Error": told, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}}}
    )

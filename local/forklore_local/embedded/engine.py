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

import marshal
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from forklore_local.embedded import expressions, rows, vectors
from forklore_local.embedded.actions import (
    Action,
    ConditionError,
    action_of,
    require_different,
    require_limit,
    require_number,
    require_used,
)
from forklore_local.embedded.capacity import IN_TRANSACTION, bytes_to_search, units_to_read, units_to_write
from forklore_local.embedded.database import Database, UnansweredError
from forklore_local.embedded.expressions import Names, Values
from forklore_local.embedded.items import Change, Found, Place, key_of, place_named, text_of
from forklore_local.embedded.values import InvalidError, Value, checked_values
from forklore_service.storage import schema
from forklore_service.storage.connection import CallRefused, Item

NAME = "forklore"
TRANSACTION_BYTES_MAX, TRANSACTION_ACTIONS_MAX = 4 << 20, 100
BATCH_WRITES_MAX, BATCH_KEYS_MAX, BATCH_BYTES_MAX = 25, 100, 16 << 20
TOKENS_MAX = 10_000
_BATCHED = {"PutRequest": "Put", "DeleteRequest": "Delete"}

Answer = dict[str, Any]
Told = Callable[[sqlite3.Connection, Sequence[Change]], object]
"""Is called in the transaction of a write, after its changes."""


class Engine:
    """A client of the one table in `database`. Any number of threads may use it.

    name: of the table. told: of each write.
    """

    @classmethod
    def in_memory(cls, *, name: str = NAME) -> "Engine":
        """Return an empty table that is kept nowhere."""
        return cls(Database.in_memory(rows.LAYOUT), name=name)

    def __init__(
        self, database: Database, *, name: str = NAME, told: Told = lambda _connection, _changes: None
    ) -> None:
        self._database, self._name, self._told = database, name, told
        self._vectors = vectors.Vectors()
        self._tokens: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    # Reads

    def describe_table(self, *, TableName: str) -> Answer:
        """Return the keys and indexes of the table, and how many items it has."""
        self._require(TableName)
        with self._database.reading() as connection:
            count = rows.count(connection)
        return _success(Table={**schema.TABLE_BY_MEANING, "TableName": TableName, "ItemCount": count})

    def get_item(
        self, *, TableName: str, Key: Item, ConsistentRead: bool = False, ReturnConsumedCapacity: str = "NONE"
    ) -> Answer:
        self._require(TableName)
        with _validated():
            place = place_named(Key)
        with self._database.reading() as connection:
            found = rows.find(connection, [place]).get(place)
        units = units_to_read(found.size if found else 0, is_consistent=ConsistentRead)
        consumed = self._consumed(ReturnConsumedCapacity, units)
        return _success(**({"Item": found.item} if found else {}), **consumed)

    def batch_get_item(
        self, *, RequestItems: Mapping[str, Mapping[str, Any]], ReturnConsumedCapacity: str = "NONE"
    ) -> Answer:
        """Return the items that exist among up to 100 keys, as far as they have 16 MB together."""
        asked = self._only(RequestItems, {"Keys", "ConsistentRead"})
        wanted: Sequence[Item] = asked["Keys"]
        with _validated():
            places = [place_named(key) for key in wanted]
            require_number(len(places), BATCH_KEYS_MAX)
            require_different(places)
        with self._database.reading() as connection:
            at_places = rows.find(connection, places)
        found: list[Item] = []
        left: list[Item] = []
        total, units = 0, 0.0
        is_consistent = asked.get("ConsistentRead", False)
        for key, place in zip(wanted, places, strict=True):
            one = at_places.get(place)
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
            index = rows.INDEXES.get(IndexName)
            if index is None:
                raise InvalidError(f"The table does not have the specified index: {IndexName}")
            if index.partition != "PK" and ConsistentRead:
                raise InvalidError("Consistent reads are not supported on global secondary indexes")
            asked = expressions.key_condition(KeyConditionExpression)
            if (asked.partition, asked.sort) != (index.partition, index.sort):
                raise InvalidError("Query condition missed key schema element")
            shown = expressions.projection(ProjectionExpression) if ProjectionExpression else ()
            used = {asked.value, asked.first, asked.last, *(name for name in shown if name[0] == "#")}
            require_used(frozenset(used), names, ExpressionAttributeValues)
            partition = text_of(ExpressionAttributeValues[asked.value])
            first, last = (
                key_of({index.sort: ExpressionAttributeValues[name]}, index.sort)
                for name in (asked.first, asked.last)
            )
            if first > last:
                raise InvalidError("The BETWEEN operator requires upper bound to be greater than lower bound")
            require_limit(Limit)
            after = None
            if ExclusiveStartKey:
                after = index.start(ExclusiveStartKey, partition, first, last, ScanIndexForward)
        wanted = [names.get(name, name) for name in shown]
        only_keys = bool(shown) and {*wanted} <= {*index.keys}
        with self._database.reading() as connection:
            page = index.page(
                connection, partition, first, last, after, ScanIndexForward, Limit, only_keys=only_keys
            )
        items = [found.item for found in page.items]
        # Nothing comes after the end of a range, so DynamoDB names no key to go on with.
        is_over = bool(items) and items[-1][index.sort]["S"] == (last if ScanIndexForward else first)
        end = _keys_of(items[-1], index.keys) if page.has_more and not is_over else None
        if shown:
            items = [{name: item[name] for name in wanted if name in item} for item in items]
        units = units_to_read(page.size, is_consistent=ConsistentRead)
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
        names = ExpressionAttributeNames or {}
        with _validated():
            values, _ = checked_values(ExpressionAttributeValues or {})
            if not 0 <= Segment < TotalSegments:
                raise InvalidError("The Segment parameter is zero-based and less than TotalSegments")
            require_limit(Limit)
            after = place_named(ExclusiveStartKey) if ExclusiveStartKey else ("", "")
            wanted = expressions.condition(FilterExpression) if FilterExpression else None
            require_used(wanted.used if wanted else frozenset(), names, values)
            if wanted is not None:
                wanted.check(names, values)
        page = rows.Page([], 0, has_more=False)
        if Segment == 0:
            with self._database.reading() as connection:
                page = rows.scanned(connection, after, Limit)
        found = [one.item for one in page.items]
        kept = [item for item in found if wanted is None or wanted.holds(item, names, values)]
        return _success(
            **({} if Select == "COUNT" else {"Items": kept}),
            Count=len(kept),
            ScannedCount=len(found),
            **({"LastEvaluatedKey": _keys_of(found[-1], ("PK", "SK"))} if page.has_more else {}),
            **self._consumed(ReturnConsumedCapacity, units_to_read(page.size, is_consistent=ConsistentRead)),
        )

    def search_vectors(
        self,
        *,
        TableName: str,
        IndexName: str,
        SearchVector: Sequence[Value],
        TopK: int,
        SearchConditionExpression: str,
        ExpressionAttributeValues: Values,
        ExpressionAttributeNames: Names | None = None,
        ReturnConsumedCapacity: str = "NONE",
    ) -> Answer:
        """Return the items of the index of vectors that are nearest to one, the nearest first."""
        self._require(TableName)
        with _validated():
            search = vectors.search_of(
                IndexName,
                SearchVector,
                TopK,
                SearchConditionExpression,
                ExpressionAttributeNames or {},
                ExpressionAttributeValues,
            )
        with self._database.reading() as connection:
            found = self._vectors.nearest(connection, search)
        consumed = {} if ReturnConsumedCapacity == "NONE" else {"ConsumedCapacity": bytes_to_search(TopK)}
        return _success(
            SearchResults=[{"Item": one.item, "Score": one.distance} for one in found], **consumed
        )

    # Writes

    def put_item(self, *, ReturnConsumedCapacity: str = "NONE", **request: Any) -> Answer:
        return self._write_one("Put", request, ReturnConsumedCapacity)[0]

    def delete_item(self, *, ReturnConsumedCapacity: str = "NONE", **request: Any) -> Answer:
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
                attributes = {name: change.after.item[name] for name in shown}
                return {**answer, **({"Attributes": attributes} if attributes else {})}
        raise _refusal("ValidationException", "this store knows no such ReturnValues")

    def _write_one(self, verb: str, request: Mapping[str, Any], asked: str) -> tuple[Answer, Change]:
        with _validated():
            action = self._action(verb, request)

            def work(connection: sqlite3.Connection) -> Change:
                before = rows.find(connection, [action.place]).get(action.place)
                try:
                    change = Change(action.place, before, action.after(before))
                except ConditionError as error:
                    raise _refusal("ConditionalCheckFailedException", str(error), **error.shown) from None
                self._store(connection, [change])
                return change

            change = self._write(work)
        return _success(**self._consumed_by_write(asked, [change])), change

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
            require_number(len(actions), BATCH_WRITES_MAX)
            require_different([action.place for action in actions])
            if sum(action.size for action in actions) > BATCH_BYTES_MAX:
                raise InvalidError("Collection size exceeded")

            def work(connection: sqlite3.Connection) -> list[Change]:
                found = _seen(connection, actions, ReturnConsumedCapacity)
                changes = [
                    Change(action.place, found.get(action.place), action.after(None)) for action in actions
                ]
                self._store(connection, changes)
                return changes

            changes = self._write(work)
        consumed = self._consumed_by_write(ReturnConsumedCapacity, changes, is_batch=True)
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
            require_number(len(TransactItems), TRANSACTION_ACTIONS_MAX)
            actions = [self._action(verb, asked) for part in TransactItems for verb, asked in part.items()]
            require_number(len(actions), len(TransactItems))
            require_different([action.place for action in actions])
            if sum(action.size for action in actions) > TRANSACTION_BYTES_MAX:
                raise InvalidError("Collection size has exceeded the maximum allowed size")
        mark = hash(marshal.dumps(list(TransactItems), 0))  # another request has another one
        if not self._was_done(ClientRequestToken, mark):
            asked = ReturnConsumedCapacity
            changes = self._write(lambda connection: self._transact(connection, actions, asked))
            self._note_done(ClientRequestToken, mark)
            consumed = self._consumed_by_write(asked, changes, times=IN_TRANSACTION, of_write=True)
        else:
            with self._database.reading() as connection:
                found = rows.find(connection, [action.place for action in actions])
            sizes = [found[action.place].size if action.place in found else 0 for action in actions]
            units = sum(2 * units_to_read(size, is_consistent=True) for size in sizes)
            consumed = self._consumed(ReturnConsumedCapacity, units, of_read=True)
        metrics = {}
        if ReturnItemCollectionMetrics == "SIZE":
            metrics = {"ItemCollectionMetrics": {self._name: self._collections(actions)}}
        return _success(**consumed, **metrics)

    def _transact(
        self, connection: sqlite3.Connection, actions: Sequence[Action], asked: str
    ) -> list[Change]:
        """Write all actions. Raises CallRefused with a reason for each of them."""
        changes: list[Change] = []
        reasons: list[Answer] = []
        found = _seen(connection, actions, asked)
        for action in actions:
            before = found.get(action.place)
            try:
                changes.append(Change(action.place, before, action.after(before)))
                reasons.append({"Code": "None"})
            except ConditionError as error:
                reasons.append({"Code": "ConditionalCheckFailed", "Message": str(error), **error.shown})
            except InvalidError as error:
                reasons.append({"Code": "ValidationError", "Message": str(error)})
        if len(changes) < len(actions):
            told = ", ".join(reason["Code"] for reason in reasons)
            raise _refusal(
                "TransactionCanceledException",
                f"Transaction cancelled, please refer cancellation reasons for specific reasons [{told}]",
                CancellationReasons=reasons,
            )
        self._store(connection, changes)
        return changes

    def alone(self) -> AbstractContextManager[None]:
        """Let no other process write while a request decides again, and writes what it decides."""
        return self._database.turn.taken()

    def expire(self, now_s: int) -> None:
        """Delete the items whose time is over. Nobody is told of that."""
        with self._database.reading() as connection:
            is_any = rows.has_expired(connection, now_s)
        if is_any:
            self._write(lambda connection: rows.delete_expired(connection, now_s))

    def _store(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
        rows.write(connection, changes)
        vectors.write(connection, changes)
        self._told(connection, changes)

    def _write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        try:
            return self._database.write(work)
        except UnansweredError as error:
            raise _refusal("InternalServerError", "a signal ended the commit", status=500) from error

    def _was_done(self, token: str | None, mark: int) -> bool:
        """Tell whether a request was written with its token. Raises CallRefused for another one.

        mark: of the request.
        """
        if token is None or (done := self._tokens.get(token)) is None:
            return False
        if done != mark:
            raise _refusal("IdempotentParameterMismatchException", "another request had this token")
        return True

    def _note_done(self, token: str | None, mark: int) -> None:
        if token is not None:
            with self._lock:
                self._tokens[token] = mark
                if len(self._tokens) > TOKENS_MAX:
                    self._tokens.popitem(last=False)

    # Requests

    def _action(self, verb: str, request: Mapping[str, Any]) -> Action:
        self._require(request.get("TableName"))
        return action_of(verb, request)

    def _require(self, name: str | None) -> None:
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

    def _consumed_by_write(
        self, asked: str, changes: Iterable[Change], *, times: int = 1, **of: bool
    ) -> Answer:
        """Return the same of a write, whose units are counted only if they were asked for."""
        return {} if asked == "NONE" else self._consumed(asked, _write_units(changes, times=times), **of)

    def _collections(self, actions: Iterable[Action]) -> list[Answer]:
        partitions = dict.fromkeys(action.place[0] for action in actions if not action.is_check)
        return [
            {"ItemCollectionKey": {"PK": {"S": partition}}, "SizeEstimateRangeGB": [0.0, 1.0]}
            for partition in partitions
        ]


def _keys_of(item: Item, names: Iterable[str]) -> Item:
    return {name: item[name] for name in names}


def _seen(connection: sqlite3.Connection, actions: Sequence[Action], asked: str) -> dict[Place, Found]:
    """Return the items that writes look at: all of them if units were asked for."""
    return rows.find(connection, [one.place for one in actions if asked != "NONE" or not one.is_blind])


def _write_units(changes: Iterable[Change], *, times: int) -> float:
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

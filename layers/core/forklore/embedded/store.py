"""The table: moto's DynamoDB in memory, for this store alone, and the journal that keeps it.

One call runs at a time. What a call changed is in the journal before the call is answered. A call
that failed has changed nothing, neither in memory nor in the journal. A signal ends no call midway:
see `whole`.
"""

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import MockRawResponse
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.request import Request, normalize_request
from moto.core.responses import BaseResponse
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from forklore.embedded.clients import REGION, make_client
from forklore.embedded.journal import Change, Journal
from forklore.embedded.moto_speed import lighten_moto, query_partition, update_a_copy
from forklore.embedded.outbox import HeldMessages, Message, Messages, Outbox, Waiting
from forklore.embedded.whole import whole
from forklore.embedded.written import to_item, to_record, to_text
from forklore.storage import schema

NAME = "forklore"
TTL = "ttl"
"""The attribute with the second from which on an item is not needed any more."""
READS = frozenset({"BatchGetItem", "DescribeTable", "GetItem", "ListTables", "Query", "Scan"})
FAILED = 500
_log = logging.getLogger("forklore")

Status = tuple[int, dict[str, Any], str | bytes]
"""A status, headers and a body."""
Place = tuple[DynamoType, DynamoType]
"""The partition key and the sort key of an item."""


class _Table(Table):
    """A table that moto copies before each part of a transaction, to undo it if another fails.

    Nothing is copied here, because the store itself puts back what a failed call has changed.
    """

    query = query_partition

    def __deepcopy__(self, _memo: dict[int, Any]) -> "_Table":
        return self


class _Backend(DynamoDBBackend):
    update_item = update_a_copy


class _Handler(DynamoHandler):
    """Answers one call, from the backend of its store."""

    def __init__(self, backend: DynamoDBBackend) -> None:
        super().__init__()
        self._backend = backend

    @property
    def dynamodb_backend(self) -> DynamoDBBackend:
        return self._backend

    def call_action(self) -> Status:
        self.body = self.params  # as moto's own does, without its lock and its checksum
        return BaseResponse.call_action(self)


class Store:
    """One table. name: of the table. journal: None forgets everything at the end.

    on_failure: called when the journal fails. From then on every call is refused.
    outbox: what is told of the changes, and to whom; None: nothing.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        name: str = NAME,
        definition: Mapping[str, Any] = schema.TABLE,
        on_failure: Callable[[], object] = lambda: None,
        outbox: Outbox | None = None,
    ) -> None:
        """Raises DataError if the journal cannot be read, ValueError if a key is no string."""
        lighten_moto()
        self.name = name
        self._backend = _Backend(REGION, DEFAULT_ACCOUNT_ID)
        self._backend.tables[name] = _table(name, definition)
        self._journal = journal
        self._on_failure = on_failure
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._refusal: str | None = None
        self._outbox = outbox
        self._messages: Messages = journal or HeldMessages()
        self._left = self._messages.waiting(outbox.receivers) if outbox else []
        for text in journal.items() if journal else ():
            self._load(text)

    @property
    def refusal(self) -> str | None:
        """Why every call is refused: the journal has failed, or is closed. None: it is not."""
        if os.getpid() != self._process:
            return "the store was opened by another process"
        return self._refusal

    def make_client(self) -> Any:
        """Return a DynamoDB client that this store answers."""
        return make_client(self.answer)

    def answer(self, request: AWSPreparedRequest) -> AWSResponse:
        """Return the answer to a request of botocore."""
        normal = normalize_request(request)
        status, headers, body = self.dispatch(normal, normal.raw_url, normal.headers)
        return AWSResponse(request.url, status, HTTPHeaders.from_dict(headers), MockRawResponse(body))

    def dispatch(self, request: Request, full_url: str, headers: Any) -> Status:
        """Return the answer to a request, as moto's own DynamoHandler.dispatch does."""
        handler = _Handler(self._backend)
        handler.setup_class(request, full_url, headers)
        if os.getpid() != self._process:  # a copy of the lock could be locked for ever
            return _failure(500, "InternalServerError", str(self.refusal))
        return whole(lambda: self._run(handler, str(handler.get_endpoint_name(headers))))

    def expire(self, now_s: int) -> None:
        """Delete the items whose time is over."""
        whole(lambda: self._expire(now_s))

    def _expire(self, now_s: int) -> None:
        with self._lock:
            if self.refusal is None:
                over = [place for place, item in self._items() if _is_over(item, now_s)]
                before = {place: self._find(place) for place in over}
                for place in over:
                    self._put(place, None)
                self._record(before, is_told=False)

    # Messages

    def left(self) -> Sequence[Waiting]:
        """Return the messages that waited when the store was opened, in their order."""
        return self._left

    def message(self, number: int) -> str | None:
        """Return the text of a message; None if it does not wait, or if every call is refused."""
        with self._lock:
            try:
                return None if self.refusal else self._messages.message(number)
            except KeyError:
                return None

    def delete_message(self, number: int) -> None:
        """Delete a message, because it was delivered or given up."""
        with self._lock:
            if self.refusal is None:
                self._messages.delete_message(number)

    def close(self) -> None:
        """Refuse every further call, and close the journal. In a forked process: do nothing."""
        if os.getpid() != self._process:
            return
        whole(self._close)

    def _close(self) -> None:
        with self._lock:
            self._refusal = "the store is closed"
            if self._journal is not None:
                self._journal.close()

    # Calls

    def _run(self, handler: _Handler, operation: str) -> Status:
        with self._lock:
            return self._run_alone(handler, operation)

    def _run_alone(self, handler: _Handler, operation: str) -> Status:
        if self.refusal is not None:
            return _failure(FAILED, "InternalServerError", self.refusal)
        touched = _TOUCHED.get(operation)
        if touched is None:
            if operation in READS:
                return handler.call_action()
            return _failure(400, "UnknownOperationException", f"no {operation} here")
        before = {place: self._find(place) for place in self._places(touched(handler.params))}
        try:
            answer = handler.call_action()
        except BaseException:
            self._put_back(before)
            raise
        if answer[0] >= 400:
            self._put_back(before)
            return answer
        return answer if self._record(before) else _failure(FAILED, "InternalServerError", self._refusal)

    def _places(self, keys: Iterator[Mapping[str, Any]]) -> Iterator[Place]:
        """Yield the places of items or keys. One without a valid key is the caller's error."""
        for key in keys:
            partition, sort = key.get(self._table.hash_key_attr), key.get(str(self._table.range_key_attr))
            if partition and sort:
                yield DynamoType(partition), DynamoType(sort)

    def _record(self, before: Mapping[Place, Item | None], *, is_told: bool = True) -> bool:
        """Write what differs from `before` to the journal. Return whether the store goes on.

        is_told: whether the outbox tells of it. What has expired is not told.

        Moto puts another object in the place of an item that changes.
        """
        now = {place: self._find(place) for place in before}
        changed = [(place, item) for place, item in now.items() if item is not before[place]]
        if not changed:
            return True
        messages = self._messages_of(before, changed) if is_told else []
        try:
            if self._journal is not None:
                numbers = self._journal.write([_change(place, item) for place, item in changed], messages)
            else:
                numbers = self._messages.add_messages(messages)
        except BaseException as error:
            self._put_back(before)
            reason = str(error) if isinstance(error, sqlite3.Error) else type(error).__name__
            self._refusal = f"what is stored could not be written: {reason}; open it again"
            _log.error("journal", extra={"reason": reason})  # SQLite's texts quote no content
            self._on_failure()
            if not isinstance(error, Exception):
                raise
            return False
        if self._outbox and numbers:
            waiting = zip(numbers, messages, strict=True)
            self._outbox.added([Waiting(number, one.receiver, one.tree) for number, one in waiting])
        return True

    def _messages_of(
        self, before: Mapping[Place, Item | None], changed: Sequence[tuple[Place, Item | None]]
    ) -> list[Message]:
        """Return the messages about the changes of one call. Nothing is told of a removal."""
        if self._outbox is None:
            return []
        return [
            Message(receiver, partition.value, record)
            for (partition, sort), item in changed
            if item is not None and self._outbox.is_told(partition.value, sort.value)
            for record in [to_record(before[partition, sort], item, at_s=time.time())]
            for receiver in self._outbox.receivers
        ]

    # Items

    @property
    def _table(self) -> Table:
        return self._backend.tables[self.name]

    def _items(self) -> Iterator[tuple[Place, Item]]:
        for partition, held in self._table.items.items():
            for sort, item in held.items():
                yield (partition, sort), item

    def _find(self, place: Place) -> Item | None:
        found: Item | None = self._table.items.get(place[0], {}).get(place[1])
        return found

    def _put(self, place: Place, item: Item | None) -> None:
        partition, sort = place
        items = self._table.items
        if item is not None:
            items[partition][sort] = item
        elif partition in items:
            items[partition].pop(sort, None)
            if not items[partition]:
                del items[partition]

    def _put_back(self, before: Mapping[Place, Item | None]) -> None:
        for place, item in before.items():
            self._put(place, item)

    def _load(self, text: str) -> None:
        table = self._table
        item = to_item(text, partition_key=table.hash_key_attr, sort_key=str(table.range_key_attr))
        table.items[item.hash_key][item.range_key] = item


def _table(name: str, definition: Mapping[str, Any]) -> _Table:
    table = _Table(  # type: ignore[abstract] # moto's own lacks the same methods
        name,
        account_id=DEFAULT_ACCOUNT_ID,
        region=REGION,
        schema=definition["KeySchema"],
        attr=definition["AttributeDefinitions"],
        billing_mode=definition.get("BillingMode"),
        indexes=definition.get("LocalSecondaryIndexes"),
        global_indexes=definition.get("GlobalSecondaryIndexes"),
    )
    if (table.hash_key_type, table.range_key_type) != ("S", "S"):
        raise ValueError("the embedded store needs a partition key and a sort key that are strings")
    return table


def _change(place: Place, item: Item | None) -> Change:
    partition, sort = place
    return Change(partition.value, sort.value, None if item is None else to_text(item))


def _is_over(item: Item, now_s: int) -> bool:
    ends = item.attrs.get(TTL)
    return ends is not None and ends.type == "N" and float(ends.value) <= now_s


def _failure(status: int, code: str, message: str | None) -> Status:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
    return status, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(body)


# Which items a call may change

Parameters = Mapping[str, Any]


def _of_batch(parameters: Parameters) -> Iterator[Mapping[str, Any]]:
    for requests in parameters.get("RequestItems", {}).values():
        for request in requests:
            for asked in request.values():
                yield asked.get("Item") or asked.get("Key") or {}


def _of_transaction(parameters: Parameters) -> Iterator[Mapping[str, Any]]:
    for part in parameters.get("TransactItems", ()):
        for asked in part.values():
            yield asked.get("Item") or asked.get("Key") or {}


_TOUCHED: Mapping[str, Callable[[Parameters], Iterator[Mapping[str, Any]]]] = {
    "PutItem": lambda parameters: iter([parameters.get("Item", {})]),
    "UpdateItem": lambda parameters: iter([parameters.get("Key", {})]),
    "DeleteItem": lambda parameters: iter([parameters.get("Key", {})]),
    "BatchWriteItem": _of_batch,
    "TransactWriteItems": _of_transaction,
}
"""The operations that write, and the keys or items that each names."""

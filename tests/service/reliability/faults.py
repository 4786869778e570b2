"""Faults of calls to DynamoDB, injected between botocore and the network."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from forklore_local.embedded.rows import item_in
from forklore_service.domain import ids, keys
from forklore_service.domain.ids import EntryId
from forklore_service.storage.table import Table
from tools.harness.wire import cancelled, failure

ENDPOINT = "https://dynamodb"
WRITE, PUT = "TransactWriteItems", "PutItem"
READS = {"BatchGetItem", "Query", "Scan"}
_BATCHES = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


class Killed(BaseException):
    """The process was killed in the middle of its work. Nothing of it runs any more."""


class Fault(StrEnum):
    """A way for one call to go wrong."""

    BEFORE = "before"
    """The call is lost before it arrives."""
    AFTER = "after"
    """The call is done, but its answer is lost."""
    THROTTLE = "throttle"
    """DynamoDB throttles the call."""
    CONFLICT = "conflict"
    """The call conflicts with another transaction."""
    PARTIAL = "partial"
    """Half of a batch is done, and the rest is returned as unprocessed."""
    EMPTY_PAGE = "empty page"
    """A Query answers an empty page, and says that there is more."""
    EXACT_END = "exact end"
    """A Query says that there is more, although there is nothing more."""
    KILL = "kill"
    """The process is killed before the call leaves."""
    KILL_AFTER = "kill after"
    """The process is killed after the call is done."""

    def concerns(self, call: "Call") -> bool:
        """Tell whether the fault can happen to the call."""
        match self:
            case Fault.CONFLICT:
                return call.operation == WRITE
            case Fault.PARTIAL:
                return call.operation in _BATCHES and len(_asked_of(call)) > 1
            case Fault.EMPTY_PAGE | Fault.EXACT_END:
                return call.operation == "Query"
            case _:
                return True

    @property
    def is_end(self) -> bool:
        """Tell whether the fault ends the process."""
        return self in (Fault.KILL, Fault.KILL_AFTER)

    @property
    def is_page(self) -> bool:
        """Tell whether the fault changes a page. Not every page can be changed."""
        return self in (Fault.EMPTY_PAGE, Fault.EXACT_END)


@dataclass(frozen=True)
class Call:
    """A call as it leaves the process. number: counted from 1."""

    number: int
    operation: str
    body: Mapping[str, Any]


Choose = Callable[[Call], Fault | None]
Rewrite = Callable[[Call], Mapping[str, Any]]


def at(number: int, fault: Fault) -> Choose:
    """Return a choice: the fault at the call with this number."""
    return lambda call: fault if call.number == number else None


def lasting(number: int, fault: Fault) -> Choose:
    """Return a choice: the fault at the call with this number and at its repetitions."""
    spoilt: list[tuple[str, Mapping[str, Any]]] = []

    def choose(call: Call) -> Fault | None:
        sent = (call.operation, call.body)
        if call.number == number:
            spoilt.append(sent)
        return fault if sent in spoilt else None

    return choose


def randomly(random: Random, rates: Mapping[Fault, float]) -> Choose:
    """Return a random choice. rates: how likely each fault is, for a call that it concerns."""

    def choose(call: Call) -> Fault | None:
        return next((fault for fault, rate in rates.items() if random.random() < rate), None)

    return choose


class Faults:
    """Faults between a process and DynamoDB.

    calls: the calls that were sent, in order. injected: their faults. choose: chooses the faults of
    the next calls. rewrite: changes the body of a call before it is sent.
    """

    def __init__(
        self, table: Table, choose: Choose = lambda _call: None, *, rewrite: Rewrite | None = None
    ) -> None:
        self.calls: list[Call] = []
        self.injected: list[tuple[Call, Fault]] = []
        self.choose = choose
        self._rewrite = rewrite
        self._is_dead = False
        self._lock = threading.Lock()
        events = table.connection.client.meta.events
        events.register("before-call.dynamodb", self._leaves)
        events.register("after-call.dynamodb", self._arrives)

    def begin(self, choose: Choose) -> None:
        """Start counting again, with another choice of faults."""
        self.calls.clear()
        self.injected.clear()
        self.choose = choose

    def _leaves(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        with self._lock:
            if self._is_dead:
                raise Killed
            call = Call(len(self.calls) + 1, model.name, json.loads(params["body"]))
            self.calls.append(call)
            fault = self.choose(call)
            if fault is not None and not fault.concerns(call):
                fault = None
            if fault is not None:
                self._is_dead = fault is Fault.KILL
                if not fault.is_page:
                    self.injected.append((call, fault))
        context["call"], context["fault"] = call, fault
        if self._rewrite is not None:
            params["body"] = json.dumps(self._rewrite(call)).encode()
        match fault:
            case Fault.KILL:
                raise Killed
            case Fault.BEFORE:
                raise ConnectionClosedError(endpoint_url=ENDPOINT)
            case Fault.THROTTLE:
                return _answered(failure("ThrottlingException"))
            case Fault.CONFLICT:
                others = ["None"] * (len(call.body["TransactItems"]) - 1)
                return _answered(cancelled(*others, "TransactionConflict"))
            case Fault.PARTIAL:
                body, context["left"] = _halved(call)
                params["body"] = json.dumps(body).encode()
        return None

    def _arrives(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if self._is_dead:
            raise Killed
        match context.get("fault"):
            case Fault.KILL_AFTER:
                self._is_dead = True
                raise Killed
            case Fault.AFTER:
                raise ReadTimeoutError(endpoint_url=ENDPOINT)
            case Fault.PARTIAL if "Error" not in parsed:
                parsed[_BATCHES[context["call"].operation]] = context["left"]
            case Fault.EMPTY_PAGE if "Error" not in parsed and _empty(context["call"], parsed):
                self.injected.append((context["call"], Fault.EMPTY_PAGE))
            case Fault.EXACT_END if "Error" not in parsed and _say_more(context["call"], parsed):
                self.injected.append((context["call"], Fault.EXACT_END))


def _answered(told: dict[str, Any]) -> tuple[AWSResponse, dict[str, Any]]:
    return AWSResponse("", told["ResponseMetadata"]["HTTPStatusCode"], HTTPHeaders(), None), told


def _asked_of(call: Call) -> Sequence[Any]:
    """Return the parts of a batch."""
    [asked] = call.body["RequestItems"].values()
    parts: Sequence[Any] = asked if call.operation == "BatchWriteItem" else asked["Keys"]
    return parts


def _halved(call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first half of a batch as a request, and the rest as unprocessed items."""
    [(table, asked)] = call.body["RequestItems"].items()
    parts = _asked_of(call)
    now, left = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    if call.operation == "BatchWriteItem":
        return {**call.body, "RequestItems": {table: now}}, {table: [_with_bytes(one) for one in left]}
    request = {**call.body, "RequestItems": {table: {**asked, "Keys": now}}}
    return request, {table: {**asked, "Keys": left}}


def _with_bytes(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request of a batch as it was before its bytes were base64."""
    put = request.get("PutRequest")
    return {"PutRequest": {"Item": item_in(json.dumps(put["Item"]))}} if put else request


_INDEX_KEYS = {None: ("PK", "SK"), "byConversation": ("PK", "L1"), "allTrees": ("G1", "G1S")}
"""The names of the partition key and the sort key of a Query."""


def _say_more(call: Call, parsed: dict[str, Any]) -> bool:
    """Let a page say that there is more after its last item.

    Returns False if the page has no item or already says so.
    """
    if not parsed["Items"] or "LastEvaluatedKey" in parsed:
        return False
    names = {"PK", "SK", *_INDEX_KEYS[call.body.get("IndexName")]}
    parsed["LastEvaluatedKey"] = {name: parsed["Items"][-1][name] for name in names}
    return True


def _empty(call: Call, parsed: dict[str, Any]) -> bool:
    """Remove all items from a page and let it end just before them.

    A page without items ends where it begins. Returns False if no key lies before the items.
    """
    partition, sort = _INDEX_KEYS[call.body.get("IndexName")]
    values, is_forward = call.body["ExpressionAttributeValues"], call.body.get("ScanIndexForward", True)
    bound = values[":first" if is_forward else ":last"]
    place = begin = call.body.get("ExclusiveStartKey", {}).get(sort, bound)["S"]
    if parsed["Items"]:
        first = parsed["Items"][0]
        beside = _just_before if is_forward else _just_after
        place = beside(first[sort]["S"], is_entry="L1" in first and _is_entry(first["L1"]["S"]))
        if place < begin if is_forward else place > begin:
            return False
    is_entry = sort == "L1" and _is_entry(place)
    own = keys.position(keys.entry_id_of(place)) if is_entry else "GROUP"
    key = {"PK": values[":p"], "SK": {"S": own}, partition: values[":p"], sort: {"S": place}}
    parsed["Items"], parsed["Count"], parsed["LastEvaluatedKey"] = [], 0, key
    return True


def _is_entry(l1: str) -> bool:
    """Tell whether a key of the local index is an entry's, not a fork's or a row's of a list."""
    return l1.split("#")[1:2] in (["H"], ["C"])


def _just_before(sort: str, *, is_entry: bool) -> str:
    """Return a sort key just below the given one: no item's key lies between the two."""
    if is_entry:
        return _moved(sort, ids.previous_id)
    return f"{sort[:-1]}{chr(ord(sort[-1]) - 1)}~"


def _just_after(sort: str, *, is_entry: bool) -> str:
    """Return a sort key just above the given one: no item's key lies between the two."""
    return _moved(sort, ids.next_id) if is_entry else f"{sort} "


def _moved(sort: str, move: Callable[[EntryId], EntryId]) -> str:
    """Return an entry's sort key, of the table or of its index, with its id changed by `move`."""
    entry_id = keys.entry_id_of(sort)
    return sort.removesuffix(keys.position(entry_id)) + keys.position(move(entry_id))

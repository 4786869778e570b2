"""What can go wrong with a call to DynamoDB, injected between botocore and the network."""

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

from forklore.domain import ids, keys
from forklore.domain.ids import EntryId
from forklore.storage.table import Table
from tools.harness.wire import cancelled, failure

ENDPOINT = "https://dynamodb"
WRITE = "TransactWriteItems"
READS = {"BatchGetItem", "Query"}
_BATCHES = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


class Killed(BaseException):
    """The process is gone, in the middle of whatever it did; nothing of it goes on."""


class Fault(StrEnum):
    """A way for one call to go wrong."""

    BEFORE = "before"
    """It is lost on its way there."""
    AFTER = "after"
    """It is done, and its answer is lost."""
    THROTTLE = "throttle"
    """DynamoDB asks to slow down."""
    CONFLICT = "conflict"
    """Another transaction has hold of one of the items."""
    PARTIAL = "partial"
    """Half of a batch is done, and the rest is handed back."""
    EMPTY_PAGE = "empty page"
    """A Query answers nothing, and says that there is more."""
    EXACT_END = "exact end"
    """A Query says that there is more, and there is not."""
    KILL = "kill"
    """The process is killed before the call leaves."""
    KILL_AFTER = "kill after"
    """The process is killed when the call was done."""

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
        """Tell whether nothing follows it."""
        return self in (Fault.KILL, Fault.KILL_AFTER)

    @property
    def is_page(self) -> bool:
        """Tell whether it changes a page, which may have no place for it."""
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
    """Return the choice of one fault at the call of that number."""
    return lambda call: fault if call.number == number else None


def lasting(number: int, fault: Fault) -> Choose:
    """Return the choice of one fault at the call of that number, and whenever the same is sent again."""
    spoilt: list[tuple[str, Mapping[str, Any]]] = []

    def choose(call: Call) -> Fault | None:
        sent = (call.operation, call.body)
        if call.number == number:
            spoilt.append(sent)
        return fault if sent in spoilt else None

    return choose


def randomly(random: Random, rates: Mapping[Fault, float]) -> Choose:
    """Return the choice of faults at random. rates: how likely each is, for a call that it concerns."""

    def choose(call: Call) -> Fault | None:
        return next((fault for fault, rate in rates.items() if random.random() < rate), None)

    return choose


class Faults:
    """Faults between a process and DynamoDB.

    calls: those that left, in order. injected: what befell them. choose: what is to befall the next ones.
    rewrite: makes of a call's body what is sent in its place.
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
        """Count from here on, with other faults."""
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
    """Return the first half of a batch as a request, and the rest of it as it is handed back."""
    [(table, asked)] = call.body["RequestItems"].items()
    parts = _asked_of(call)
    now, left = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    if call.operation == "BatchWriteItem":
        assert all("DeleteRequest" in request for request in left), "puts of bytes would need decoding"
        return {**call.body, "RequestItems": {table: now}}, {table: left}
    request = {**call.body, "RequestItems": {table: {**asked, "Keys": now}}}
    return request, {table: {**asked, "Keys": left}}


_INDEX_KEYS = {None: ("PK", "SK"), "byConversation": ("PK", "L1"), "allTrees": ("G1", "G1S")}
"""The partition key and the sort key by which a Query finds items."""


def _say_more(call: Call, parsed: dict[str, Any]) -> bool:
    """Let a page say that there is more after its last item; False where it has none, or says so already."""
    if not parsed["Items"] or "LastEvaluatedKey" in parsed:
        return False
    names = {"PK", "SK", *_INDEX_KEYS[call.body.get("IndexName")]}
    parsed["LastEvaluatedKey"] = {name: parsed["Items"][-1][name] for name in names}
    return True


def _empty(call: Call, parsed: dict[str, Any]) -> bool:
    """Take all items out of a page and let it end just before them; False where there is no place.

    A page that has none ends where it begins.
    """
    partition, sort = _INDEX_KEYS[call.body.get("IndexName")]
    values, is_forward = call.body["ExpressionAttributeValues"], call.body.get("ScanIndexForward", True)
    bound = values[":first" if is_forward else ":last"]
    place = begin = call.body.get("ExclusiveStartKey", {}).get(sort, bound)["S"]
    if parsed["Items"]:
        first = parsed["Items"][0]
        beside = _just_before if is_forward else _just_after
        place = beside(first[sort]["S"], is_entry="L1" in first)
        if place < begin if is_forward else place > begin:
            return False
    own = keys.position(keys.entry_id_of(place)) if sort == "L1" else "GROUP"
    key = {"PK": values[":p"], "SK": {"S": own}, partition: values[":p"], sort: {"S": place}}
    parsed["Items"], parsed["Count"], parsed["LastEvaluatedKey"] = [], 0, key
    return True


def _just_before(sort: str, *, is_entry: bool) -> str:
    """Return a sort key below the given one, with none of an item between the two."""
    if is_entry:
        return _moved(sort, ids.previous_id)
    return f"{sort[:-1]}{chr(ord(sort[-1]) - 1)}~"


def _just_after(sort: str, *, is_entry: bool) -> str:
    """Return a sort key above the given one, with none of an item between the two."""
    return _moved(sort, ids.next_id) if is_entry else f"{sort} "


def _moved(sort: str, move: Callable[[EntryId], EntryId]) -> str:
    """Return an entry's sort key, of the table or of its index, with another id."""
    entry_id = keys.entry_id_of(sort)
    return sort.removesuffix(keys.position(entry_id)) + keys.position(move(entry_id))

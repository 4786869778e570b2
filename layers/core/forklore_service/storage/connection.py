"""Calls to DynamoDB: the one retry layer, its budget, and what a failed call means.

The client is one of botocore (clients.py), or the engine of `embedded`, which answers as DynamoDB
does. This module is imported without botocore, which takes long to import. No error of botocore
leaves it. A call that may or may not have happened is repeated
exactly as it was, with the same client token. A transaction whose conditions do not hold raises
TransactionRefused.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, cast

from forklore_service.errors import GroupFullError, PayloadTooLargeError, UnavailableError
from forklore_service.storage.clock import Clock
from forklore_service.storage.consumption import Consumption

ATTEMPTS_MAX = 8
CONFLICTS_MAX = 64
"""Conflicts of one transaction with others. A request has no time for more, with the pauses."""
BACKOFF_FIRST_S, BACKOFF_MAX_S = 0.05, 1.0
BUDGET_MAX_S = 20.0

_RANDOM = secrets.SystemRandom()
"""It has no state: not one that a program seeds, nor one that two processes begin with."""
Item = dict[str, dict[str, Any]]
"""A DynamoDB item in its typed form, e.g. {"PK": {"S": "…"}}."""

_WRONG_CLOCK = {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed"}
"""How AWS refuses a signature whose time is too far from its own."""
_RETRIED = {
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
}
_ANSWERED = {
    "batch_get_item": "Responses",
    "batch_write_item": "UnprocessedItems",
    "query": "Items",
    "scan": "Items",
    "search_vectors": "SearchResults",
}
_NOT_READY = re.compile("backfilling|does not have the specified index")
"""How AWS refuses to search an index of vectors that is being made, also for some time after it is
ACTIVE. Source: what the makers of dynoxide captured."""
_RETRIED_REASONS = {"None", "TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"}


class CallRefused(Exception):
    """DynamoDB answered a call with an error. response: the answer as botocore returns it."""

    def __init__(self, response: Mapping[str, Any]) -> None:
        super().__init__(f"{response['Error']['Code']}: {response['Error']['Message']}")
        self.response = response


class TransactionRefused(Exception):
    """DynamoDB refused a write, because conditions did not hold. Nothing of it was written.

    failed: the positions of the requests that refused, each with the item as it stands; None
    where there is no such item. Of a put that is no transaction it is the first. `Table.commit`
    makes a ConditionFailed of it.
    """

    def __init__(self, failed: Mapping[int, Item | None]) -> None:
        super().__init__(", ".join(map(str, failed)))
        self.failed = failed


class Deadline(NamedTuple):
    """When a request must have its answer. at: seconds of the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float, *, most: float = BUDGET_MAX_S) -> "Deadline":
        """Return the deadline of a request that has so many seconds left.

        most: the seconds that a request may take at the most.
        """
        return cls(time.monotonic() + min(seconds, most))

    @property
    def seconds_left(self) -> float:
        return self.at - time.monotonic()

    def allows(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self.at


class Connection:
    """A DynamoDB client, its table's name, and the clock that its answers correct.

    usage: where its calls are counted.
    """

    def __init__(
        self,
        client: Any,
        table_name: str,
        clock: Clock,
        *,
        sleep: Callable[[float], None] = time.sleep,
        usage: Consumption | None = None,
    ) -> None:
        self.client = client
        self.table_name = table_name
        self.clock = clock
        self.usage = usage or Consumption()
        self._sleep = sleep

    def counted_in(self, usage: Consumption) -> "Connection":
        """Return the same connection, whose calls are counted in `usage`."""
        return Connection(self.client, self.table_name, self.clock, sleep=self._sleep, usage=usage)

    def call(
        self, operation: str, deadline: Deadline, *, attempts: int = ATTEMPTS_MAX, **parameters: Any
    ) -> dict[str, Any]:
        """Return the answer of the client's method `operation`.

        Raises UnavailableError when DynamoDB stays slow or silent, TransactionRefused when a
        transaction's conditions do not hold, GroupFullError and PayloadTooLargeError when an item
        collection or an item is full.
        There are at most so many attempts, with full jitter of at most 1 s, inside the deadline. A
        conflict with another transaction does not count as an attempt: it is tried again as long as
        the request has time.
        """
        troubles = conflicts = 0
        while troubles < attempts and conflicts < CONFLICTS_MAX:
            if not self.pause(troubles + conflicts, deadline):
                break
            sent_ms = self.clock.own_ms()
            self.usage.count_call(is_retry=troubles + conflicts > 0)
            try:
                answer: dict[str, Any] = getattr(self.client, operation)(
                    **parameters, ReturnConsumedCapacity="TOTAL" if self.usage.is_read else "NONE"
                )
            except Exception as error:  # noqa: BLE001 (what is no error of a client is raised)
                response = response_of(error)
                if response is not None:
                    self._learn(response, sent_ms)
                    self.usage.count_error(response)
                    _raise_unless_retried(error, response, parameters)
                    if _is_conflict(response):
                        conflicts += 1
                        continue
            else:
                self._learn(answer, sent_ms)
                self.usage.count_answer(operation, answer)
                if _ANSWERED.get(operation, "ResponseMetadata") in answer:
                    return answer  # botocore takes an answer that was cut short for an empty one
            troubles += 1
        raise UnavailableError("the store is busy; try again")

    def pause(self, attempt: int, deadline: Deadline) -> bool:
        """Sleep before the attempt, the first of which is 0; False when there is no time for it."""
        longest = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (attempt - 1))
        seconds = _RANDOM.uniform(0, longest) if attempt else 0.0
        if not deadline.allows(seconds):
            return False
        if seconds:
            self._sleep(seconds)
        return True

    def alone(self) -> AbstractContextManager[None]:
        """Keep others from writing in the block, where the client can do that: on one machine."""
        alone = getattr(self.client, "alone", nullcontext)
        return cast("AbstractContextManager[None]", alone())

    def wait(self, seconds: float, deadline: Deadline) -> bool:
        """Sleep. Return False, without sleeping, if there is no time left for that and a call."""
        if not deadline.allows(seconds):
            return False
        self._sleep(seconds)
        return True

    def transact(self, requests: Sequence[Mapping[str, Any]], deadline: Deadline) -> dict[str, Any]:
        """Write all or nothing; return DynamoDB's answer. Raises as `call` does."""
        return self.call(
            "transact_write_items",
            deadline,
            TransactItems=requests,
            ClientRequestToken=secrets.token_hex(16),
            ReturnItemCollectionMetrics="SIZE",
        )

    def _learn(self, answer: Mapping[str, Any], sent_ms: int) -> None:
        headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        self.clock.learn(headers.get("date"), sent_ms=sent_ms)
        self.usage.clock_offset_ms = self.clock.offset_ms


def response_of(error: Exception) -> Mapping[str, Any] | None:
    """Return DynamoDB's answer of an error; None for a call that may or may not have happened.

    Any other error is raised again.
    """
    if isinstance(error, CallRefused):
        return error.response
    from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError
    from botocore.exceptions import ConnectionError as BotoConnectionError
    from botocore.parsers import ResponseParserError

    if isinstance(error, ClientError):
        response: Mapping[str, Any] = error.response
        return response
    if isinstance(error, (HTTPClientError, BotoConnectionError, IncompleteReadError, ResponseParserError)):
        return None
    raise error


def _is_conflict(response: Mapping[str, Any]) -> bool:
    """Tell whether a transaction met others on its items, and nothing else."""
    reasons: list[Any] = response.get("CancellationReasons", [])
    return bool(reasons) and {reason["Code"] for reason in reasons} <= {"None", "TransactionConflict"}


def _raise_unless_retried(
    error: Exception, response: Mapping[str, Any], parameters: Mapping[str, Any]
) -> None:
    """Raise the error for the caller, or return if the call is worth repeating."""
    code = response["Error"]["Code"]
    if code == "TransactionCanceledException":
        reasons: list[Any] = response.get("CancellationReasons", [])
        codes = {reason["Code"] for reason in reasons}
        if "ItemCollectionSizeLimitExceeded" in codes:
            raise GroupFullError("this fork tree is full") from error
        if "ConditionalCheckFailed" in codes and not codes & {"ValidationError"}:
            raise TransactionRefused(
                {
                    at: reason.get("Item")
                    for at, reason in enumerate(reasons)
                    if reason["Code"] == "ConditionalCheckFailed"
                }
            ) from error
        if reasons and codes <= _RETRIED_REASONS:
            return
        raise error
    if code == "ConditionalCheckFailedException":
        raise TransactionRefused({0: response.get("Item")}) from error
    if code in _WRONG_CLOCK:
        raise UnavailableError("this server's clock or credentials are wrong") from error
    if code == "AccessDeniedException" and "explicit deny in a resource-based policy" in str(error):
        raise UnavailableError("nothing can be written while the data move; try again later") from error
    if code == "ItemCollectionSizeLimitExceededException":
        raise GroupFullError("this fork tree is full") from error
    if code == "ValidationException" and "TransactItems" in parameters and "size" in str(error).lower():
        raise PayloadTooLargeError("too much for one transaction") from error
    if code == "ValidationException" and "SearchVector" in parameters and _NOT_READY.search(str(error)):
        raise UnavailableError("the index of vectors is not ready yet; try again later") from error
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code not in _RETRIED and status < 500:
        raise error

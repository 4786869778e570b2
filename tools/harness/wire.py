"""A tap on the wire between a table and DynamoDB.

The tap counts requests. It can also answer a request in place of DynamoDB, or change the answer.
"""

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from forklore_service.storage.table import Table

_chain = threading.local()
"""How many requests the task of this thread had to wait for, one after another."""


def _rounds() -> int:
    behind: int = getattr(_chain, "rounds", 0)
    return behind


class Threads(ThreadPoolExecutor):
    """Runs reads in parallel, and counts how many requests each had to wait for."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        behind, reached = _rounds(), [0]

        def run() -> Any:
            _chain.rounds = behind
            try:
                return fn(*args, **kwargs)
            finally:
                reached.append(_rounds())

        future = super().submit(run)
        wait = future.result

        def result(timeout: float | None = None) -> Any:
            try:
                return wait(timeout)
            finally:
                _chain.rounds = max(_rounds(), *reached)

        future.result = result  # type: ignore[method-assign]
        return future


@dataclass
class Request:
    """One request on the wire.

    number: counted from 1. round: one more than the number of requests that it had to wait for.
    """

    number: int
    operation: str
    body: dict[str, Any]
    round: int
    scratch: dict[str, Any] = field(default_factory=dict)


Answer = Mapping[str, Any]


class Wire:
    """A tap on one table's client. It counts requests, and can answer or change any of them."""

    def __init__(self, client: Any) -> None:
        self.requests: list[Request] = []
        self._before: list[Callable[[Request], Answer | None]] = []
        self._after: list[Callable[[Request, dict[str, Any]], None]] = []
        self._lock = threading.Lock()
        _chain.rounds = 0
        client.meta.events.register("before-call.dynamodb", self._leaves)
        client.meta.events.register("after-call.dynamodb", self._arrives)

    @classmethod
    def of(cls, table: Table) -> "Wire":
        return cls(table.connection.client)

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.requests]

    @property
    def rounds(self) -> int:
        """The length of the longest chain of requests that had to wait for one another."""
        return max((request.round for request in self.requests), default=0)

    def clear(self) -> None:
        """Forget all requests so far."""
        self.requests.clear()
        _chain.rounds = 0

    def before(self, act: Callable[[Request], Answer | None]) -> None:
        """Call `act` with every request before it is sent.

        It may raise, or answer in place of DynamoDB.
        """
        self._before.append(act)

    def after(self, act: Callable[[Request, dict[str, Any]], None]) -> None:
        """Call `act` with every answer. It may raise, or change the answer."""
        self._after.append(act)

    def just_before(self, operation: str, act: Callable[[], object], *, nth: int = 1) -> None:
        """Call `act` once, right before the nth request of `operation` is sent."""
        seen = 0

        def run(request: Request) -> None:
            nonlocal seen
            seen += request.operation == operation
            if request.operation == operation and seen == nth:
                act()

        self.before(run)

    def _leaves(
        self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any
    ) -> tuple[AWSResponse, Answer] | None:
        with self._lock:
            _chain.rounds = _rounds() + 1
            request = Request(len(self.requests) + 1, model.name, json.loads(params["body"]), _rounds())
            self.requests.append(request)
        context["request"] = request
        for act in list(self._before):
            answer = act(request)
            if answer is not None:
                status = answer["ResponseMetadata"]["HTTPStatusCode"]
                return AWSResponse("", status, HTTPHeaders(), None), answer
        return None

    def _arrives(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        for act in list(self._after):
            act(context["request"], parsed)


def success(**members: Any) -> dict[str, Any]:
    """Return an answer in the form that botocore parses it into."""
    return {**members, "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}}}


def failure(code: str, *, status: int = 400, message: str = "", **members: Any) -> dict[str, Any]:
    """Return an error of DynamoDB in the form that botocore parses it into."""
    return {
        **members,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}},
    }


def cancelled(*reasons: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a cancelled transaction.

    reasons: one for each part; a text is a reason with only a code.
    """
    spelled = [{"Code": reason} if isinstance(reason, str) else dict(reason) for reason in reasons]
    return failure("TransactionCanceledException", CancellationReasons=spelled)

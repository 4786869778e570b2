"""Requests of many users at once, in threads of one process, as the local server runs them."""

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from forklore.api import operations, results
from forklore.api.operation import CheckedRequest, Operation
from forklore.aws import http
from forklore.local.deployment import Function
from forklore.local.invocation import LambdaContext
from tests.aws.world import CONVERSATIONS
from tools.harness.gateway import Gateway

THREADS = 16
WAIT_SECONDS = 10


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as threads:
        yield threads


class Meeting:
    """A barrier for all threads. Each thread waits there once; later calls do nothing."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(THREADS, timeout=WAIT_SECONDS)
        self._thread = threading.local()

    def wait(self) -> None:
        if not hasattr(self._thread, "has_met"):
            self._thread.has_met = True
            self._barrier.wait()


class RequestContext(dict[str, Any]):
    """The part of an event that a resolver reads first. Every request waits here for the others.

    By then, each resolver call has already taken in its event.
    """

    def __init__(self, held: Mapping[str, Any], entrance: Meeting) -> None:
        super().__init__(held)
        self._entrance = entrance

    def __getitem__(self, name: str) -> Any:
        self._entrance.wait()
        return super().__getitem__(name)


def ask_all(gateway: Gateway, pool: ThreadPoolExecutor) -> list[tuple[str, Any]]:
    """Send one request of each user to one resolver, all at the same time.

    Returns each request's id with its answer. The requests wait for each other at the entrance,
    and again in the operation, whose answer says which caller it saw.
    """
    entrance, inside = Meeting(), Meeting()

    def tell(request: CheckedRequest) -> Mapping[str, Any]:
        inside.wait()
        return {
            "caller": request.caller.user_id,
            "client": request.caller.client_id,
            "path": dict(request.path),
        }

    app = http.resolver_for([Operation("tell", "GET", CONVERSATIONS, tell, results.Health)])

    def ask(number: int) -> tuple[str, Any]:
        headers = [("Authorization", f"Bearer user-{number}"), ("X-Request-Id", f"user-{number}")]
        function, event = gateway.event("GET", CONVERSATIONS, headers=headers)
        event["requestContext"] = RequestContext(event["requestContext"], entrance)
        answer = app.resolve(event, LambdaContext(function))
        return answer["headers"]["X-Request-Id"], json.loads(answer["body"])

    return list(pool.map(ask, range(THREADS)))


EVERYBODY: list[tuple[str, Any]] = [
    (f"user-{number}", {"caller": f"user-{number}", "client": None, "path": {}}) for number in range(THREADS)
]


def test_requests_that_come_in_at_the_same_time_keep_their_own_callers(
    gateway: Gateway, pool: ThreadPoolExecutor
) -> None:
    assert ask_all(gateway, pool) == EVERYBODY


def test_powertools_own_resolver_mixes_callers_up(
    gateway: Gateway, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "Resolver", APIGatewayHttpResolver)

    assert len({body["caller"] for _, body in ask_all(gateway, pool)}) < THREADS


def test_many_users_at_one_handler_see_only_their_own(gateway: Gateway, pool: ThreadPoolExecutor) -> None:
    start = threading.Barrier(THREADS, timeout=WAIT_SECONDS)

    def live(number: int) -> tuple[set[str], list[str]]:
        user, agent = f"user-{number}", "planner" if number % 2 else None
        start.wait()
        made = [
            gateway.send("POST", CONVERSATIONS, body={"title": f"of {user}"}, user=user, agent=agent).json
            for _ in range(4)
        ]
        listed = gateway.send("GET", CONVERSATIONS, user=user).json["data"]
        assert [one["id"] for one in listed] == [one["id"] for one in made[::-1]]
        return {one["ownerUserId"] for one in made}, [one["title"] for one in listed]

    assert list(pool.map(live, range(THREADS))) == [
        ({f"user-{number}"}, [f"of user-{number}"] * 4) for number in range(THREADS)
    ]


@contextmanager
def two_at_once_in(step: str) -> Iterator[None]:
    """Hold a thread at the step that Powertools logs as `step`, until a second one is there."""
    log = logging.getLogger("aws_lambda_powertools.event_handler.api_gateway")
    barrier, level = threading.Barrier(2), log.level

    def meet(record: logging.LogRecord) -> bool:
        if record.getMessage().startswith(step):
            with suppress(threading.BrokenBarrierError):  # only one thread runs this step
                barrier.wait(0.5)
        return False

    log.addFilter(meet)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeFilter(meet)


def answers_of(app: Any, function: Function, event: dict[str, Any], pool: ThreadPoolExecutor) -> list[int]:
    answers = pool.map(lambda _: app.resolve(event, LambdaContext(function)), range(2))
    return [answer["statusCode"] for answer in answers]


def test_the_first_two_requests_of_a_route_may_come_at_the_same_time(
    gateway: Gateway, pool: ThreadPoolExecutor
) -> None:
    app = http.resolver_for(operations.ROUTES)
    function, event = gateway.event("GET", "/v1/health")
    with two_at_once_in("Building middleware stack"):
        first = answers_of(app, function, event, pool)

    assert first == [200, 200]
    assert answers_of(app, function, event, pool) == [200, 200]

"""Requests of many users at once, in threads of one process, as the local server runs them."""

import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from forklore_local.server.invocation import LambdaContext
from forklore_service.api import operations
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.aws import http
from tests.service.aws.world import CONVERSATIONS
from tools.harness.gateway import Gateway

THREADS = 16
WAIT_SECONDS = 60


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
    """A part of an event that each request reads. The requests meet there after they came in."""

    def __init__(self, held: Mapping[str, Any], entrance: Meeting) -> None:
        super().__init__(held)
        self._entrance = entrance

    def get(self, name: str, default: Any = None) -> Any:
        self._entrance.wait()
        return super().get(name, default)


def ask_all(gateway: Gateway, pool: ThreadPoolExecutor) -> list[tuple[str, Any]]:
    """Send requests of many users to one HttpApi at once. Return each user id with its answer.

    The requests meet when they have come in, and again in the operation, which returns its caller.
    """
    entrance, inside = Meeting(), Meeting()

    def tell(request: CheckedRequest) -> Mapping[str, Any]:
        inside.wait()
        return {
            "caller": request.caller.user_id,
            "client": request.caller.client_id,
            "path": dict(request.path),
        }

    api = http.HttpApi([Operation("tell", "GET", CONVERSATIONS, tell, "Health")])

    def ask(number: int) -> tuple[str, Any]:
        headers = [("Authorization", f"Bearer user-{number}"), ("X-Request-Id", f"user-{number}")]
        function, event = gateway.event("GET", CONVERSATIONS, headers=headers)
        event["requestContext"] = RequestContext(event["requestContext"], entrance)
        answer = api.handle(event, LambdaContext(function))
        return answer["headers"]["X-Request-Id"], json.loads(answer["body"])

    return list(pool.map(ask, range(THREADS)))


EVERYBODY: list[tuple[str, Any]] = [
    (f"user-{number}", {"caller": f"user-{number}", "client": None, "path": {}}) for number in range(THREADS)
]


def test_requests_that_come_in_at_the_same_time_keep_their_own_callers(
    gateway: Gateway, pool: ThreadPoolExecutor
) -> None:
    assert ask_all(gateway, pool) == EVERYBODY


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
        assert {one["id"] for one in listed} == {one["id"] for one in made}
        return {one["ownerUserId"] for one in made}, [one["title"] for one in listed]

    assert list(pool.map(live, range(THREADS))) == [
        ({f"user-{number}"}, [f"of user-{number}"] * 4) for number in range(THREADS)
    ]


def test_the_first_two_requests_of_a_route_may_come_at_the_same_time(
    gateway: Gateway, pool: ThreadPoolExecutor
) -> None:
    api = http.HttpApi(operations.ROUTES)
    function, event = gateway.event("GET", "/v1/health")
    start = threading.Barrier(2, timeout=WAIT_SECONDS)

    def ask(_: int) -> int:
        start.wait()
        status: int = api.handle(event, LambdaContext(function))["statusCode"]
        return status

    assert list(pool.map(ask, range(2))) == [200, 200]

"""Asynchronous requests without a key take effect once, however often they are delivered."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore_service.aws.direct import AgainError
from forklore_service.aws.wiring import open_table
from tests.service.aws.direct import Direct
from tests.service.aws.test_direct import BUS
from tests.service.aws.world import FRESH, PLAIN, ROOT, World
from tools.harness.gateway import Gateway, table_in_memory
from tools.harness.wire import Wire

WRITE = "TransactWriteItems"
ANN = {"userId": "ann"}


@pytest.fixture
def direct() -> Iterator[Direct]:
    with table_in_memory() as template:
        World(Gateway(template))
        yield Direct(template)


def request(operation: str = "appendEntry", **given: Any) -> dict[str, Any]:
    body = PLAIN if operation == "appendEntry" else {}
    return {"operation": operation, "caller": ANN, "input": {"conversationId": ROOT, **body, **given}}


def by_bus(event_id: object, request: dict[str, Any]) -> dict[str, Any]:
    return {**BUS, "id": event_id, "detail": request}


def later(request: dict[str, Any]) -> dict[str, Any]:
    return {**request, "async": True}


def shown(direct: Direct, conversation: str = ROOT) -> list[str]:
    answer = direct.ask("listEntries", {"conversationId": conversation, "limit": 1000})
    return [entry["id"] for entry in answer["body"]["data"]]


@contextmanager
def losing_answers() -> Iterator[None]:
    """Lose the answers to writes. The writes themselves succeed."""
    is_losing = True

    def lose(asked: Any, _answer: dict[str, Any]) -> None:
        if is_losing and asked.operation == WRITE:
            raise ReadTimeoutError(endpoint_url="http://dynamodb")

    Wire.of(open_table()).after(lose)
    yield
    is_losing = False


@pytest.mark.long
@pytest.mark.parametrize("wrap", [later, lambda asked: by_bus("e-1", asked)], ids=["async", "EventBridge"])
@pytest.mark.parametrize(
    ("to", "before"), [(ROOT, 2), (FRESH, 0)], ids=["an existing conversation", "a new conversation"]
)
def test_when_lambda_sends_again_after_a_503_of_unknown_effect_nothing_is_written_twice(
    direct: Direct, wrap: Callable[[Any], Any], to: str, before: int
) -> None:
    event = wrap(request(conversationId=to))
    with losing_answers(), pytest.raises(AgainError):
        direct.send(event, request_id="r-1")
    assert len(shown(direct, to)) == before + 1, "the write did not succeed"
    again = [direct.send(event, request_id="r-1") for _ in range(2)]

    assert [answer["status"] for answer in again] == [201, 201]
    assert again[0]["body"] == again[1]["body"]
    assert shown(direct, to)[before:] == [again[0]["body"]["id"]]


def test_an_event_that_eventbridge_delivers_twice_is_done_once(direct: Direct) -> None:
    """The two deliveries are two invocations, with different request ids."""
    first, second = (direct.send(by_bus("e-1", request()), request_id=each) for each in ("r-1", "r-2"))

    assert first == second
    assert direct.send(by_bus("e-2", request()))["body"]["id"] != first["body"]["id"]
    assert len(shown(direct)) == 4


@pytest.mark.parametrize("event_id", [None, "", 5, ["e"]])
def test_an_event_without_an_id_is_deduplicated_by_its_request_id(direct: Direct, event_id: Any) -> None:
    event = by_bus(event_id, request())
    first, again, other = (direct.send(event, request_id=each) for each in ("r-1", "r-1", "r-2"))

    assert first == again
    assert other["body"]["id"] != first["body"]["id"]


def test_a_synchronous_request_is_not_deduplicated(direct: Direct) -> None:
    for event in (request(), {**request(), "async": False}):
        first, again = (direct.send(event, request_id="r-1") for _ in range(2))
        assert first["body"]["id"] != again["body"]["id"]


def test_the_callers_key_replaces_the_id_of_the_delivery(direct: Direct) -> None:
    keyed = later(request(idempotencyKey="k"))
    first, second = (direct.send(keyed, request_id=each) for each in ("r-1", "r-2"))

    assert first == second
    assert direct.send(later(request(idempotencyKey="k2")), request_id="r-1")["status"] == 201
    assert len(shown(direct)) == 4


@pytest.mark.parametrize("key", ["r-1", "request r-1", '["request r-1"]', "event e-1"])
def test_no_idempotency_key_equals_the_key_of_a_delivery(direct: Direct, key: str) -> None:
    for event in (later(request()), by_bus("e-1", request())):
        unkeyed = direct.send(event, request_id="r-1")
        keyed = direct.send(request(idempotencyKey=key, content=["another"]))
        assert keyed["status"] == unkeyed["status"] == 201
        assert keyed["body"]["id"] != unkeyed["body"]["id"]


def test_a_delivery_is_deduplicated_per_operation_caller_and_conversation(direct: Direct) -> None:
    asked = [
        request(),
        {**request(), "caller": {"userId": "will"}},
        {**request(), "caller": {"userId": "ann", "clientId": "planner"}},
        request(conversationId=FRESH),
        request("forkConversation"),
    ]
    made = [direct.send(later(one), request_id="r-1") for one in asked]

    assert [answer["status"] for answer in made] == [201] * len(asked)
    assert len({answer["body"]["id"] for answer in made}) == len(asked)


def test_operations_that_take_no_key_are_run_each_time(direct: Direct) -> None:
    for name, given in (("getConversation", {}), ("updateConversation", {"title": "x"})):
        event = later({"operation": name, "caller": ANN, "input": {"conversationId": ROOT, **given}})
        assert [direct.send(event, request_id="r-1")["status"] for _ in range(2)] == [200, 200]

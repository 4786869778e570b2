"""Asynchronous requests without a key: however often one is delivered, its effect happens once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore.aws.direct import AgainError
from forklore.aws.wiring import open_table
from tests.aws.direct import Direct
from tests.aws.test_direct import BUS
from tests.aws.world import FRESH, PLAIN, ROOT, World
from tools.harness.gateway import Gateway, table_on_moto
from tools.harness.wire import Wire

WRITE = "TransactWriteItems"
ANN = {"userId": "ann"}


@pytest.fixture
def direct() -> Iterator[Direct]:
    with table_on_moto() as template:
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
    """Let writes be done and their answers be lost."""
    is_losing = True

    def lose(asked: Any, _answer: dict[str, Any]) -> None:
        if is_losing and asked.operation == WRITE:
            raise ReadTimeoutError(endpoint_url="http://dynamodb")

    Wire.of(open_table()).after(lose)
    yield
    is_losing = False


@pytest.mark.parametrize("wrap", [later, lambda asked: by_bus("e-1", asked)], ids=["async", "EventBridge"])
@pytest.mark.parametrize(("to", "before"), [(ROOT, 2), (FRESH, 0)], ids=["an old one", "a new one"])
def test_a_503_of_unknown_effect_doubles_nothing_when_lambda_sends_again(
    direct: Direct, wrap: Callable[[Any], Any], to: str, before: int
) -> None:
    event = wrap(request(conversationId=to))
    with losing_answers(), pytest.raises(AgainError):
        direct.send(event, request_id="r-1")
    assert len(shown(direct, to)) == before + 1, "it was done"
    again = [direct.send(event, request_id="r-1") for _ in range(2)]

    assert [answer["status"] for answer in again] == [201, 201]
    assert again[0]["body"] == again[1]["body"]
    assert shown(direct, to)[before:] == [again[0]["body"]["id"]]


def test_an_event_that_eventbridge_delivers_twice_is_done_once(direct: Direct) -> None:
    """Each delivery is an invocation of its own."""
    first, second = (direct.send(by_bus("e-1", request()), request_id=each) for each in ("r-1", "r-2"))

    assert first == second
    assert direct.send(by_bus("e-2", request()))["body"]["id"] != first["body"]["id"]
    assert len(shown(direct)) == 4


@pytest.mark.parametrize("event_id", [None, "", 5, ["e"]])
def test_an_event_without_an_id_counts_by_the_invocation(direct: Direct, event_id: Any) -> None:
    event = by_bus(event_id, request())
    first, again, other = (direct.send(event, request_id=each) for each in ("r-1", "r-1", "r-2"))

    assert first == again
    assert other["body"]["id"] != first["body"]["id"]


def test_a_request_that_somebody_waits_for_is_not_counted(direct: Direct) -> None:
    for event in (request(), {**request(), "async": False}):
        first, again = (direct.send(event, request_id="r-1") for _ in range(2))
        assert first["body"]["id"] != again["body"]["id"]


def test_a_key_of_the_caller_is_the_key(direct: Direct) -> None:
    keyed = later(request(idempotencyKey="k"))
    first, second = (direct.send(keyed, request_id=each) for each in ("r-1", "r-2"))

    assert first == second
    assert direct.send(later(request(idempotencyKey="k2")), request_id="r-1")["status"] == 201
    assert len(shown(direct)) == 4


@pytest.mark.parametrize("key", ["r-1", "request r-1", '["request r-1"]', "event e-1"])
def test_no_key_can_be_spelled_like_a_delivery(direct: Direct, key: str) -> None:
    for event in (later(request()), by_bus("e-1", request())):
        unkeyed = direct.send(event, request_id="r-1")
        keyed = direct.send(request(idempotencyKey=key, content=["another"]))
        assert keyed["status"] == unkeyed["status"] == 201
        assert keyed["body"]["id"] != unkeyed["body"]["id"]


def test_one_delivery_counts_for_its_own_operation_caller_and_conversation(direct: Direct) -> None:
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


def test_operations_that_take_no_key_go_on_without_one(direct: Direct) -> None:
    for name, given in (("getConversation", {}), ("updateConversation", {"title": "x"})):
        event = later({"operation": name, "caller": ANN, "input": {"conversationId": ROOT, **given}})
        assert [direct.send(event, request_id="r-1")["status"] for _ in range(2)] == [200, 200]

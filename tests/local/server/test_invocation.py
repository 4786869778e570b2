import time
from typing import Any

import pytest

from forklore_local.server.invocation import EventTooLargeError, HandlerError, LambdaContext, invoke
from forklore_local.server.routing import Function

FUNCTION = Function("F", "module", "handler", 2, 256, ())


def test_the_remaining_time_counts_down_from_the_timeout_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_024.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    context = LambdaContext(Function("F", "module", "handler", 1, 128, ()))
    readings = [context.get_remaining_time_in_millis()]
    for _ in range(3):
        now += 0.375
        readings.append(context.get_remaining_time_in_millis())

    assert readings == [1000, 625, 250, 0]


def test_every_invocation_has_its_own_context() -> None:
    contexts: list[Any] = []

    def handler(_: Any, context: Any) -> None:
        contexts.append(context)

    invoke(FUNCTION, handler, {})
    invoke(FUNCTION, handler, {})

    first, second = contexts
    assert first.aws_request_id != second.aws_request_id
    assert (first.function_name, first.memory_limit_in_mb) == ("F", "256")
    assert first.invoked_function_arn.endswith(":function:F")
    assert first.log_group_name == "/aws/lambda/F"


def test_event_and_answer_go_through_json() -> None:
    event = {"body": "é", "roles": ["a"]}

    def handler(received: dict[str, Any], _: Any) -> Any:
        received["roles"].append("admin")
        return {"tuple": (1, 2), 3: received["body"]}

    assert invoke(FUNCTION, handler, event) == {"tuple": [1, 2], "3": "é"}
    assert event == {"body": "é", "roles": ["a"]}


def test_an_event_over_lambdas_limit_does_not_reach_the_handler() -> None:
    calls: list[int] = []
    fits = {"body": "x" * (6_291_556 - len('{"body": ""}'))}

    invoke(FUNCTION, lambda *_: calls.append(1), fits)
    with pytest.raises(EventTooLargeError):
        invoke(FUNCTION, lambda *_: calls.append(1), {"body": fits["body"] + "x"})

    assert calls == [1]


@pytest.mark.parametrize(
    "answer",
    [object(), {1, 2}, b"bytes", float("nan"), "\ud800", "é" * 3_200_000],
    ids=["object", "set", "bytes", "nan", "surrogate", "over 6 MB in UTF-8"],
)
def test_an_answer_that_lambda_could_not_send_is_an_error(answer: Any) -> None:
    with pytest.raises(HandlerError):
        invoke(FUNCTION, lambda *_: answer, {})

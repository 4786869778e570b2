"""The transport that invokes a function: its payload, and what Lambda itself may answer."""

import io
import json
import threading
import time
from typing import Any

import anyio
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError
from botocore.response import StreamingBody

from forklore import (
    ApiError,
    AsyncForklore,
    Forklore,
    InvocationError,
    NoAnswerError,
    ServerError,
    TooLargeError,
)
from forklore.client.calls import Call, TransportError
from forklore.client.generated.operations import SHAPES
from forklore.client.transports.direct import Identity, input_text
from forklore.client.transports.on_lambda import LambdaTransport

ID = "00000000-0000-4000-8000-000000000001"
META = {"ResponseMetadata": {"RequestId": "of lambda"}}


class Answers:
    """Stands in for boto3's client: it answers as told, and keeps what was sent."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.payloads: list[dict[str, Any]] = []

    def invoke(self, **arguments: Any) -> dict[str, Any]:
        assert arguments["InvocationType"] == "RequestResponse"
        self.payloads.append(json.loads(arguments["Payload"]))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            return answer
        return {**META, "Payload": io.BytesIO(answer)}


def answered(status: int, body: Any = None) -> bytes:
    return json.dumps({"status": status, "bodyJson": None if body is None else json.dumps(body)}).encode()


def refusal(code: str, status: int) -> ClientError:
    meta = {"RequestId": "of lambda", "HTTPStatusCode": status}
    return ClientError({"Error": {"Code": code, "Message": "said"}, "ResponseMetadata": meta}, "Invoke")  # type: ignore[typeddict-item]


def client(*answers: Any, **more: Any) -> tuple[Forklore, Answers]:
    boto_client = Answers(*answers)
    made = Forklore.on_lambda("F", user="ann", boto_client=boto_client, **more)
    return made.with_options(retries=1, deadline=5.0), boto_client


def test_a_payload_names_the_operation_the_caller_and_the_input() -> None:
    made, boto = client(answered(200, {"status": "ok"}), client="planner", roles=("auditor",))
    given = {"conversationId": ID, "content": ["x"], "title": None}
    answer = made.call("appendEntry", given, idempotency_key="k", if_match=ID)

    assert boto.payloads == [
        {
            "operation": "appendEntry",
            "caller": {"userId": "ann", "clientId": "planner", "roles": ["auditor"]},
            "input": {
                "conversationId": ID,
                "title": None,
                "contentJson": '["x"]',
                "idempotencyKey": "k",
                "ifMatch": ID,
            },
            "bodyJson": True,
        }
    ]
    assert (answer.status, answer.request_id) == (200, "of lambda")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "ResourceNotFoundException"),
        (403, "AccessDeniedException"),
        (413, "RequestTooLargeException"),
        (409, "ResourceConflictException"),
    ],
)
def test_a_refusal_of_lambda_itself_is_no_answer_of_the_service(status: int, code: str) -> None:
    made, boto = client(refusal(code, status))
    with pytest.raises(InvocationError, match="said") as caught:
        made.api.check_health()

    assert (caught.value.code, caught.value.status, caught.value.request_id) == (code, None, "of lambda")
    assert len(boto.payloads) == 1


def limited(retry_after_s: Any) -> bytes:
    details = {"message": "more than 60 requests", "retryAfterSeconds": retry_after_s}
    return answered(429, {"code": "too_many_requests", "details": details})


@pytest.mark.parametrize(("left_s", "sent"), [(0, 2), (60, 1)])
def test_a_user_at_the_limit_waits_as_long_as_the_service_says(left_s: int, sent: int) -> None:
    made, boto = client(limited(left_s))
    with pytest.raises(ApiError) as caught:
        made.named("n").details()

    assert (caught.value.status, caught.value.code) == (429, "too_many_requests")
    assert caught.value.details["retryAfterSeconds"] == left_s
    assert len(boto.payloads) == sent


@pytest.mark.parametrize("body", [None, [], {"details": None}, {"details": {"retryAfterSeconds": "soon"}}])
def test_a_429_of_another_form_is_sent_again(body: Any) -> None:
    made, boto = client(answered(429, body))
    with pytest.raises(ApiError):
        made.named("n").details()
    assert len(boto.payloads) == 2


def test_missing_credentials_are_told_at_once() -> None:
    made, boto = client(NoCredentialsError())
    with pytest.raises(InvocationError, match="credentials"):
        made.api.check_health()
    assert len(boto.payloads) == 1


@pytest.mark.parametrize(
    "first",
    [
        refusal("TooManyRequestsException", 429),
        refusal("ServiceException", 500),
        refusal("EC2ThrottledException", 502),
        EndpointConnectionError(endpoint_url="https://lambda"),
        ReadTimeoutError(endpoint_url="https://lambda"),
        ConnectionResetError("reset"),
        {**META, "Payload": StreamingBody(io.BytesIO(b"cut"), content_length=9)},
        ValueError("an error that nobody knows"),
        {**META, "FunctionError": "Unhandled", "Payload": io.BytesIO(b'{"errorMessage":"a secret"}')},
        b"not json",
        b"[]",
        b'{"errorMessage":"x"}',
        b'{"status":200}',
        b'{"status":200,"bodyJson":{}}',
        b'{"status":"many","bodyJson":null}',
        b"\xff",
    ],
    ids=lambda one: one.__class__.__name__,
)
def test_what_may_be_gone_next_time_is_sent_again_with_the_same_key(first: Any) -> None:
    name = {
        "name": "n",
        "conversationId": ID,
        "data": None,
        "revision": 1,
        "createdAt": "t",
        "updatedAt": "t",
    }
    made, boto = client(first, answered(200, name))

    assert made.api.set_name(name="n", conversation_id=ID).revision == 1
    assert len(boto.payloads) == 2
    keys = {one["input"]["idempotencyKey"] for one in boto.payloads}
    assert len(keys) == 1


def test_an_error_of_the_function_is_told_without_its_text() -> None:
    failed = {**META, "FunctionError": "Unhandled"}
    made, _ = client(*({**failed, "Payload": io.BytesIO(b'{"errorMessage":"a secret"}')} for _ in range(2)))
    with pytest.raises(ServerError) as caught:
        made.api.check_health()

    assert caught.value.code == "function_error"
    assert "secret" not in str(caught.value)


def test_a_lost_connection_is_told_without_the_text_of_boto3() -> None:
    made, _ = client(ReadTimeoutError(endpoint_url="https://secret"))
    with pytest.raises(NoAnswerError) as caught:
        made.api.check_health()

    assert "ReadTimeoutError" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_repeated_delete_of_a_function_that_is_missing_has_not_succeeded() -> None:
    made, _ = client(refusal("ServiceException", 500), refusal("ResourceNotFoundException", 404))
    with pytest.raises(InvocationError):
        made.api.delete_conversation(ID)


def test_a_payload_that_lambda_does_not_take_is_refused_before_it_is_sent() -> None:
    made, boto = client(answered(201))
    with pytest.raises(TooLargeError, match=r"an invocation holds at most 6,291,456 bytes"):
        made.conversation(ID).append(["é" * 3_200_000], content_type="x")
    assert boto.payloads == []


def test_another_caller_uses_the_same_function() -> None:
    made, boto = client(answered(200, {"status": "ok"}))
    made.acting_as("bob", "coder", roles=("admin",)).api.check_health()
    made.api.check_health()

    callers = [one["caller"] for one in boto.payloads]
    assert callers == [{"userId": "bob", "clientId": "coder", "roles": ["admin"]}, {"userId": "ann"}]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_function_that_takes_too_long_is_given_up_when_it_is_awaited(backend: str) -> None:
    is_over = threading.Event()

    class Hangs:
        def invoke(self, **_: Any) -> None:
            is_over.wait(60)

    async def ask() -> None:
        made = AsyncForklore.on_lambda("F", user="ann", boto_client=Hangs())
        await made.with_options(timeout=0.1, retries=0).api.check_health()

    started = time.monotonic()
    try:
        with pytest.raises(NoAnswerError, match=r"no answer within"):
            anyio.run(ask, backend=backend)
        assert time.monotonic() - started < 30
    finally:
        is_over.set()


@pytest.mark.parametrize("answer", [b"not json", b"[" * 100_000])
def test_a_transport_error_has_its_cause(answer: bytes) -> None:
    transport = LambdaTransport("F", Identity("ann"), client=Answers(answer))
    with pytest.raises(TransportError, match="not forklore's") as caught:
        transport.send(Call.of(SHAPES["checkHealth"], {}), 1.0)

    assert isinstance(caught.value.__cause__, ValueError)


# The input that direct invocation and the service in this process take


def given_of(name: str, **given: Any) -> Any:
    return json.loads(input_text(Call.of(SHAPES[name], {"conversationId": ID, **given}, idempotency_key="k")))


def test_all_content_is_text_in_the_input() -> None:
    entries = [{"content": [1.5], "key": "a"}, {"key": "b"}]
    given = given_of("appendEntry", entries=entries, context={"contentType": "c", "content": [{"m": 1}]})

    assert given["entries"] == [{"key": "a", "contentJson": "[1.5]"}, {"key": "b"}]
    assert given["context"] == {"contentType": "c", "contentJson": '[{"m":1}]'}
    assert given_of("appendEntry", content=None)["contentJson"] == "null"


@pytest.mark.parametrize(
    "odd", [{"entries": "text"}, {"entries": [5, None]}, {"context": 5}, {"entries": None}]
)
def test_what_is_no_entry_goes_on_as_it_is_for_the_service_to_refuse(odd: dict[str, Any]) -> None:
    assert odd.items() <= given_of("appendEntry", **odd).items()


def test_an_input_has_the_bound_of_a_body() -> None:
    with pytest.raises(TooLargeError, match=r"at most 5,500,000 characters"):
        given_of("appendEntry", content=["x" * 5_500_000])

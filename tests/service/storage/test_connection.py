import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from forklore_service.domain.keys import Key
from forklore_service.errors import ForkloreError, GroupFullError, PayloadTooLargeError, UnavailableError
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import (
    ATTEMPTS_MAX,
    BACKOFF_FIRST_S,
    BACKOFF_MAX_S,
    CONFLICTS_MAX,
    Connection,
    Deadline,
    TransactionRefused,
)
from forklore_service.storage.items import text
from forklore_service.storage.table import Table
from tests.support.tables import Store
from tools.harness.tables import NAME
from tools.harness.wire import Answer, Request, Wire, cancelled, failure, success

SOON = 15.0
"""A deadline in seconds: more than any of these tests needs."""
AT = "https://dynamodb"

TROUBLE: dict[str, Callable[[], Answer | Exception]] = {
    "throttled": lambda: failure("ThrottlingException"),
    "over the provisioned throughput": lambda: failure("ProvisionedThroughputExceededException"),
    "over the account's limit": lambda: failure("RequestLimitExceeded"),
    "in progress": lambda: failure("TransactionInProgressException"),
    "conflict outside a transaction": lambda: failure("TransactionConflictException"),
    "conflict": lambda: cancelled("None", "TransactionConflict"),
    "conflict and throttled": lambda: cancelled("ThrottlingError", "TransactionConflict"),
    "throttled in part": lambda: cancelled("None", "ProvisionedThroughputExceeded"),
    "500": lambda: failure("InternalServerError", status=500),
    "503": lambda: failure("ServiceUnavailable", status=503),
    "a 502 that is not DynamoDB's": lambda: failure("", status=502),
    "no connection": lambda: EndpointConnectionError(endpoint_url=AT),
    "no connection in time": lambda: ConnectTimeoutError(endpoint_url=AT),
    "no answer in time": lambda: ReadTimeoutError(endpoint_url=AT),
    "connection closed": lambda: ConnectionClosedError(endpoint_url=AT),
    "no TLS": lambda: SSLError(endpoint_url=AT, error=OSError("reset")),
    "half an answer": lambda: IncompleteReadError(actual_bytes=1, expected_bytes=2),
    "no JSON": lambda: ResponseParserError("nonsense"),
}

REQUESTS: list[dict[str, Any]] = [
    {"Put": {"TableName": NAME, "Item": {"PK": text(name), "SK": text("s")}}} for name in ("first", "second")
]


class Line:
    """A connection whose answers are given in advance. Nothing leaves this process."""

    def __init__(self, *answers: Callable[[], Answer | Exception], rest: Answer | None = None) -> None:
        client = make_client(region="us-east-1")
        self.wire = Wire(client)
        self.slept: list[float] = []
        self.connection = Connection(client, NAME, Clock(), sleep=self.slept.append)
        script = iter(answers)

        def answer(_request: Request) -> Answer:
            given = next(script, lambda: rest or success())()
            if isinstance(given, Exception):
                raise given
            return given

        self.wire.before(answer)

    def transact(self, deadline: Deadline | None = None) -> dict[str, Any]:
        return self.connection.transact(REQUESTS, deadline or Deadline.after(SOON))

    @property
    def sent(self) -> list[dict[str, Any]]:
        return [request.body for request in self.wire.requests]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.failure("cancelled-transaction")
@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_failed_call_is_repeated_unchanged(trouble: str) -> None:
    """Transactions with conflicts, throttling, and errors without a response are tried again."""
    line = Line(TROUBLE[trouble], TROUBLE[trouble], rest=success(found=1))

    assert line.transact()["found"] == 1

    assert len(line.sent) == 3
    assert line.sent == [line.sent[0]] * 3
    assert line.sent[0]["ClientRequestToken"]
    assert len(line.slept) == 2


@pytest.mark.failure("busy-database")
@pytest.mark.parametrize("trouble", TROUBLE)
def test_after_eight_failed_attempts_the_service_is_unavailable(trouble: str) -> None:
    """At most 8 attempts, then 503. Transactions that only conflict may try more often."""
    line = Line(*[TROUBLE[trouble]] * 100)

    with pytest.raises(UnavailableError):
        line.transact()

    most = CONFLICTS_MAX if trouble == "conflict" else ATTEMPTS_MAX
    assert (ATTEMPTS_MAX, CONFLICTS_MAX) == (8, 64)
    assert line.sent == [line.sent[0]] * most


def test_conflicts_and_other_failures_are_counted_separately() -> None:
    mixed = [TROUBLE["conflict"], TROUBLE["throttled"]] * (ATTEMPTS_MAX - 1)
    line = Line(*mixed, rest=success(found=1))

    assert line.transact()["found"] == 1
    assert len(line.sent) == 2 * (ATTEMPTS_MAX - 1) + 1


def test_two_transactions_have_different_tokens() -> None:
    line = Line()
    line.transact()
    line.transact()

    first, second = line.sent
    assert first["ClientRequestToken"] != second["ClientRequestToken"]
    assert {**first, "ClientRequestToken": ""} == {**second, "ClientRequestToken": ""}


@pytest.mark.failure("busy-database")
def test_pauses_are_anything_up_to_a_bound_that_doubles_to_one_second() -> None:
    """Full jitter, at most 1 s."""
    line, runs = Line(*[TROUBLE["throttled"]] * 1_000), []
    for _ in range(60):
        line.slept.clear()
        with pytest.raises(UnavailableError):
            line.transact()
        runs.append(line.slept[: ATTEMPTS_MAX - 1])

    for attempt, pauses in enumerate(zip(*runs, strict=True)):
        bound = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2**attempt)
        assert 0 <= min(pauses) < bound / 5
        assert bound * 4 / 5 < max(pauses) <= bound <= 1


def test_there_is_no_pause_after_the_last_attempt() -> None:
    line = Line(*[TROUBLE["throttled"]] * ATTEMPTS_MAX)
    with pytest.raises(UnavailableError):
        line.transact()

    assert len(line.slept) == ATTEMPTS_MAX - 1


class Told(Deadline):
    """A deadline in 300 ms, on a clock that only moves by pauses."""

    now = 0.0

    def sleep(self, seconds: float) -> None:
        Told.now += seconds

    def allows(self, seconds: float) -> bool:
        return self.now + seconds < 0.3


@pytest.mark.failure("busy-database")
def test_no_pause_begins_that_would_end_after_the_deadline() -> None:
    """All attempts and pauses together stay within the request's time."""
    for _ in range(15):
        Told.now, deadline = 0.0, Told(0)
        line = Line(*[TROUBLE["throttled"]] * 100)
        connection = Connection(line.connection.client, NAME, Clock(), sleep=deadline.sleep)

        with pytest.raises(UnavailableError):
            connection.transact(REQUESTS, deadline)

        assert deadline.now < 0.3
        assert line.sent


def test_a_deadline_allows_what_ends_before_it() -> None:
    deadline = Deadline.after(10)

    assert deadline.allows(5)
    assert not deadline.allows(11)


@pytest.mark.failure("no-time-left")
def test_nothing_is_sent_once_the_deadline_has_passed() -> None:
    line = Line()

    with pytest.raises(UnavailableError):
        line.transact(Deadline.after(-1))

    assert line.sent == []


@pytest.mark.failure("busy-database")
def test_no_request_has_more_than_twenty_seconds() -> None:
    assert Deadline.after(900).at <= time.monotonic() + 20


@pytest.mark.failure("busy-database")
def test_the_sdk_itself_never_retries() -> None:
    """There is only one layer of retries."""
    client = make_client(region="us-east-1")
    wire = Wire(client)
    sends: list[object] = []

    def fail(request: object, **_: object) -> None:
        sends.append(request)
        raise ReadTimeoutError(endpoint_url=AT)

    client.meta.events.register_first("before-send.dynamodb", fail)
    with pytest.raises(ReadTimeoutError):
        client.list_tables()

    assert (len(sends), len(wire.requests)) == (1, 1)


OLD = {"PK": text("first"), "SK": text("s"), "nonce": text("n")}
FAILED = {"Code": "ConditionalCheckFailed"}


@pytest.mark.failure("cancelled-transaction")
@pytest.mark.parametrize(
    ("reasons", "failed"),
    [
        ([FAILED | {"Item": OLD}, "None"], {0: OLD}),
        (["None", FAILED], {1: None}),
        ([FAILED, FAILED | {"Item": OLD}], {0: None, 1: OLD}),
        (["TransactionConflict", FAILED | {"Item": OLD}], {1: OLD}),
        ([FAILED, "TransactionConflict"], {0: None}),
        ([FAILED, "ThrottlingError"], {0: None}),
    ],
    ids=["the first", "the second", "both", "beside a conflict", "before a conflict", "beside throttling"],
)
def test_conditions_that_fail_are_told_by_position_with_what_stands_there_and_never_retried(
    reasons: list[Any], failed: dict[int, Any]
) -> None:
    """A failed condition decides, even if there are conflicts or throttling, too."""
    line = Line(lambda: cancelled(*reasons))

    with pytest.raises(TransactionRefused) as refused:
        line.transact()

    assert refused.value.failed == failed
    assert list(refused.value.failed) == list(failed)
    assert len(line.sent) == 1


@pytest.mark.failure("cancelled-transaction")
@pytest.mark.parametrize(
    "answer",
    [
        failure("ValidationException", message="ExpressionAttributeValues must not be empty"),
        cancelled("None", {"Code": "ValidationError", "Message": "wrong type"}),
        cancelled("ConditionalCheckFailed", "ValidationError"),
        cancelled("TransactionConflict", "ValidationError"),
        cancelled(),
        failure("ResourceNotFoundException"),
        failure("AccessDeniedException"),
        failure("IdempotentParameterMismatchException"),
    ],
    ids=lambda answer: str(answer["Error"]["Code"]) + str(answer.get("CancellationReasons", "")),
)
def test_a_request_that_can_never_succeed_is_sent_once_and_is_a_bug(answer: Answer) -> None:
    """A ValidationError is never tried again, whatever else failed."""
    line = Line(lambda: answer)

    with pytest.raises(ClientError) as raised:
        line.transact()

    assert raised.value.response == answer
    assert (len(line.sent), line.slept) == (1, [])


@pytest.mark.failure("cancelled-transaction")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (cancelled("None", "ItemCollectionSizeLimitExceeded"), GroupFullError),
        (cancelled("ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded"), GroupFullError),
        (cancelled("TransactionConflict", "ItemCollectionSizeLimitExceeded"), GroupFullError),
        (failure("ItemCollectionSizeLimitExceededException"), GroupFullError),
        (
            failure("ValidationException", message="Item size has exceeded the maximum allowed size"),
            PayloadTooLargeError,
        ),
    ],
)
def test_a_request_that_is_too_large_is_never_retried(answer: Answer, error: type[ForkloreError]) -> None:
    line = Line(lambda: answer)

    with pytest.raises(error):
        line.transact()

    assert (len(line.sent), line.slept) == (1, [])


def test_a_table_that_takes_no_writes_is_unavailable_and_any_other_refusal_a_bug() -> None:
    """An upgrade ends the writes by a policy of the table."""
    said = "User: x is not authorized to perform: dynamodb:PutItem on resource: y with an explicit deny in a"
    frozen = failure("AccessDeniedException", message=f"{said} resource-based policy")
    refused = failure("AccessDeniedException", message=f"{said}n identity-based policy")

    with pytest.raises(UnavailableError, match="nothing can be written while the data move"):
        Line(lambda: frozen).transact()
    with pytest.raises(ClientError):
        Line(lambda: refused).transact()


@pytest.mark.parametrize("code", ["InvalidSignatureException", "RequestTimeTooSkewed"])
def test_a_clock_that_aws_refuses_is_unavailable_and_not_a_bug(code: str) -> None:
    line = Line(lambda: failure(code, message="Signature expired"))

    with pytest.raises(UnavailableError):
        line.transact()

    assert (len(line.sent), line.slept) == (1, [])


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Cannot search backfilling vector index: byMeaning", UnavailableError),
        ("The table does not have the specified index: byMeaning", UnavailableError),
        ("Input search vector dimension 1 does not match vector index dimension 256", ClientError),
    ],
)
def test_an_index_of_vectors_that_is_being_made_is_unavailable_and_asked_once(
    message: str, error: type[Exception]
) -> None:
    line = Line(lambda: failure("ValidationException", message=message))

    with pytest.raises(error):
        line.connection.call("search_vectors", Deadline.after(SOON), SearchVector=[{"N": "1"}], TopK=1)

    assert (len(line.sent), line.slept) == (1, [])


def test_a_failed_condition_shows_the_item_as_it_stands(store: Store) -> None:
    connection = store.process().connection
    new = {
        "Put": {
            **REQUESTS[0]["Put"],
            "ConditionExpression": "attribute_not_exists(PK)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
    connection.transact([new, REQUESTS[1]], Deadline.after(SOON))

    with store.unchanged(), pytest.raises(TransactionRefused) as refused:
        connection.transact([REQUESTS[1], new], Deadline.after(SOON))

    assert refused.value.failed == {1: {"PK": text("first"), "SK": text("s")}}


# A real server, because only a socket shows how botocore treats a broken connection

NOTHING_FOUND = b'{"Responses": {"forklore": []}, "UnprocessedKeys": {}}'


def answered(body: bytes, *, length: int) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % length + body


@contextmanager
def server(*answers: bytes | None) -> Iterator[str]:
    """Yield the address of a server that gives one of `answers` to each connection, in order.

    The last answer is repeated. None means that the server sends nothing.
    """
    held: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):  # The socket is closed at the end.
            for answer in itertools.chain(answers, itertools.repeat(answers[-1])):
                connection, _ = listening.accept()
                held.append(connection)
                with connection.makefile("rb") as request:
                    head = iter(request.readline, b"\r\n")
                    lengths = [int(line[15:]) for line in head if line.lower().startswith(b"content-length:")]
                    request.read(lengths[0])
                if answer is not None:
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def find_nothing(endpoint: str) -> bool:
    """Tell whether a read of a missing item at `endpoint` succeeds, through the retry layer."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=0.3, connect_timeout=10)
    client = boto3.client("dynamodb", endpoint_url=endpoint, config=config)
    table = Table(Connection(client, NAME, Clock(), sleep=lambda _: None))
    try:
        return table.items_at([Key("PTR#c", "PTR")]) == {}
    finally:
        client.close()


@pytest.mark.parametrize(
    "bad",
    [
        None,
        b"",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        answered(NOTHING_FOUND[:20], length=len(NOTHING_FOUND)),
    ],
    ids=["silence", "closed", "another's 502", "no HTTP", "cut in the head", "cut in the body"],
)
def test_a_broken_connection_is_tried_again(bad: bytes | None) -> None:
    with server(bad, bad, answered(NOTHING_FOUND, length=len(NOTHING_FOUND))) as endpoint:
        assert find_nothing(endpoint)


def test_the_service_is_unavailable_if_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]

    with pytest.raises(UnavailableError):
        find_nothing(f"http://127.0.0.1:{port}")


def test_credentials_can_come_from_an_assumed_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`forklore fsck` with AWS_PROFILE needs this: another service gives the credentials."""
    config = tmp_path / "config"
    config.write_text(
        "[profile auditor]\nrole_arn = arn:aws:iam::123456789012:role/auditor\nsource_profile = own\n"
        "[profile own]\naws_access_key_id = a\naws_secret_access_key = b\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "auditor")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    client = make_client("http://127.0.0.1:1", region="us-east-1")

    with pytest.raises(EndpointConnectionError, match=r"127\.0\.0\.1:1"):
        client.list_tables()


def test_a_boto3_without_searches_of_vectors_is_told_so() -> None:
    table = Table(Connection(object(), NAME, Clock()))

    with pytest.raises(UnavailableError, match=r"1\.43\.64"):
        table.nearest_vectors([1], 1, {"shelf": "s"})

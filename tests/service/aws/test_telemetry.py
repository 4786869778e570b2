"""The log line of each request: its fields, and the metrics that CloudWatch reads from it."""

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from forklore_local.server.invocation import LambdaContext
from forklore_service.aws import telemetry
from forklore_service.aws.direct import AgainError
from forklore_service.aws.telemetry import Metric, embedded, of_dynamodb, printable, rare
from forklore_service.aws.wiring import Consumption, open_table
from tests.service.aws.direct import Direct
from tests.service.aws.world import (
    CONVERSATIONS,
    FRESH,
    PLAIN,
    ROOT,
    Ask,
    World,
    append,
    create,
    entries,
    show,
)
from tests.support.lines import Lines, faults, metrics_of
from tools.harness.gateway import Gateway

FIELDS = {
    *("timestamp", "level", "logger", "message", "requestId", "_aws", "stack", "via", "operation"),
    *("status", "ms", "Requests", "DynamoDBCalls", "ReadUnits", "WriteUnits"),
}
BY_STACK, BY_STATUS = ("stack",), ("stack", "operation", "status")
REQUEST_LINE_BYTES_MAX = 520
ANN = {"userId": "ann"}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def only(lines: Lines) -> dict[str, Any]:
    """Return the one line of a request. It is the last line that the request writes."""
    [line] = lines.named("request")
    assert lines.all[-1] == line
    assert faults(line, now_ms=now_ms()) == []
    return line


def about(line: Mapping[str, Any]) -> tuple[str, str, str | None, str, str | None]:
    """Return how a request arrived, what it asked for, and its answer."""
    return line["via"], line["operation"], line.get("method"), line["status"], line.get("code")


def id_in(line: Mapping[str, Any]) -> str:
    """Return the answer's X-Request-Id: Lambda's own id if the line has no other."""
    found: str = line.get("xRequestId", line["requestId"])
    return found


def test_an_append_writes_one_line_with_its_cost_after_that_of_the_change(
    open_world: World, lines: Lines
) -> None:
    answer = open_world.send(append(PLAIN))
    line = only(lines)
    metrics = metrics_of(line)

    assert [one["message"] for one in lines.all] == ["change", "request"]
    assert line.keys() == FIELDS
    assert len(lines.texts[-1]) < REQUEST_LINE_BYTES_MAX
    assert about(line) == ("http", "appendEntry", None, "201", None)
    assert id_in(line) == answer.headers["x-request-id"]
    assert (line["level"], line["stack"]) == ("INFO", "forklore")
    assert 0 < line["ms"] < 60_000
    assert line["DynamoDBCalls"] == 1
    assert metrics == {"Requests": (1, {BY_STACK, BY_STATUS})}
    assert [group["Namespace"] for group in line["_aws"]["CloudWatchMetrics"]] == ["forklore"]


def test_a_page_reads_and_does_not_write(world: World, lines: Lines) -> None:
    assert world.send(entries()).status == 200
    line = only(lines)

    assert line["DynamoDBCalls"] >= 2
    assert line["ReadUnits"] > 0
    assert line["WriteUnits"] == 0


def test_the_units_that_dynamodb_names_are_summed(open_world: World, lines: Lines) -> None:
    table = open_table()
    real, asked = table.connection.client.transact_write_items, []

    def transact(**parameters: Any) -> Any:
        asked.append(parameters["ReturnConsumedCapacity"])
        answer = real(**parameters)
        answer["ConsumedCapacity"] = [{"CapacityUnits": 7.5, "WriteCapacityUnits": 5.5}]
        sizes = [{"ItemCollectionKey": {"PK": {"S": ROOT}}, "SizeEstimateRangeGB": [2.0, 3.0]}]
        answer["ItemCollectionMetrics"] = {table.connection.table_name: sizes}
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table.connection.client, "transact_write_items", transact)
        open_world.send(append(PLAIN))

    line = only(lines)
    assert asked == ["TOTAL"]
    assert line["WriteUnits"] == 5.5
    assert metrics_of(line)["LargestTree"] == (2 << 30, {BY_STACK})


REFUSED: list[tuple[Ask, tuple[Any, ...]]] = [
    (create({"title": 5}), ("http", "createConversation", None, "400", "validation_error")),
    (append(PLAIN, user=None), ("http", "appendEntry", None, "401", "unauthorized")),
    (append(PLAIN, user="eve"), ("http", "appendEntry", None, "403", "forbidden")),
    (
        show(FRESH),
        ("http", "getConversation", None, "404", "not_found"),
    ),
    (Ask("GET", "/nowhere"), ("http", "none", "GET", "404", "not_found")),
    (Ask("BREW", "/nowhere"), ("http", "none", "none", "404", "not_found")),
    (Ask("PUT", CONVERSATIONS), ("http", "none", "PUT", "405", "method_not_allowed")),
]


@pytest.mark.parametrize(("ask", "expected"), REFUSED)
def test_a_refused_request_also_writes_one_line(
    world: World, lines: Lines, ask: Ask, expected: tuple[Any, ...]
) -> None:
    answer = world.send(ask)
    line = only(lines)

    assert len(lines.texts) == 1
    assert about(line) == expected
    assert id_in(line) == answer.json["requestId"]
    assert line.keys() - {"method"} == FIELDS | {"code"}


def test_an_event_of_another_api_writes_a_line(gateway: Gateway, lines: Lines) -> None:
    function, _ = gateway.event("GET", CONVERSATIONS)
    answer = gateway.raw(function, {"version": "1.0"})
    line = only(lines)

    assert about(line) == ("http", "none", "none", "400", "validation_error")
    assert id_in(line) == answer["headers"]["X-Request-Id"]


def test_a_request_without_time_writes_a_line(gateway: Gateway, world: World, lines: Lines) -> None:
    function, event = gateway.event("POST", CONVERSATIONS, headers=[("Authorization", "Bearer ann")])
    gateway.invoke(replace(function, timeout_seconds=3), event)

    assert about(only(lines))[3:] == ("503", "unavailable")
    assert only(lines)["DynamoDBCalls"] == 0


def test_a_bug_writes_its_own_line_before_the_line_of_the_request(
    world: World, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(open_table()), "get", lambda *_: 1 / 0)
    answer = world.send(show(ROOT))
    bug, request = lines.all

    assert (bug["message"], bug["level"], bug["type"]) == ("bug", "ERROR", "ZeroDivisionError")
    assert bug.keys() == {"timestamp", "level", "logger", "message", "xRequestId", "type", "frames"}
    assert bug["xRequestId"] == id_in(request) == answer.json["requestId"]
    assert about(only(lines))[3:] == ("500", "internal_error")


def test_the_line_has_retries_conflicts_and_throttles_if_there_were_any(
    open_world: World, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = open_table().connection
    monkeypatch.setattr(connection, "_sleep", lambda _seconds: None)
    real = connection.client.transact_write_items
    error = connection.client.exceptions.ClientError
    reasons = [[{"Code": "TransactionConflict"}], [{"Code": "ThrottlingError"}, {"Code": "None"}]]

    def busy(**parameters: Any) -> Any:
        if reasons:
            answer = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": reasons.pop(),
            }
            raise error(answer, "TransactWriteItems")
        return real(**parameters)

    monkeypatch.setattr(connection.client, "transact_write_items", busy)
    assert open_world.send(append(PLAIN)).status == 201
    metrics = metrics_of(only(lines))
    found = {name: metrics[name][0] for name in metrics if name.startswith("DynamoDB")}

    assert found == {"DynamoDBRetries": 2, "DynamoDBConflicts": 1, "DynamoDBThrottles": 1}
    assert all(metrics[name][1] == {BY_STACK} for name in found)


def test_the_line_has_lambdas_own_id_if_the_caller_sends_none(
    gateway: Gateway, world: World, lines: Lines
) -> None:
    function, event = gateway.event("GET", "/v1/health")
    context = LambdaContext(function)
    context.aws_request_id = "of-lambda"
    answers = [gateway.handle(function, event, context)]
    event["headers"]["x-request-id"] = "of-the-caller"
    answers.append(gateway.handle(function, event, context))

    assert [answer.headers["x-request-id"] for answer in answers] == ["of-lambda", "of-the-caller"]
    ids = [(line["requestId"], line.get("xRequestId")) for line in lines.named("request")]
    assert ids == [("of-lambda", None), ("of-lambda", "of-the-caller")]


@pytest.mark.parametrize("odd", ["", "a b", "a\nb"])
def test_an_invalid_request_id_of_lambda_is_replaced(gateway: Gateway, lines: Lines, odd: Any) -> None:
    function, event = gateway.event("GET", "/v1/health")
    context = LambdaContext(function)
    context.aws_request_id = odd

    assert (
        gateway.handle(function, event, context).headers["x-request-id"] == only(lines)["xRequestId"] != odd
    )


def test_metrics_have_the_stacks_name(world: World, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKLORE_STACK", "staging")
    world.send(show(ROOT))

    assert only(lines)["stack"] == "staging"


@pytest.fixture
def direct(gateway: Gateway, open_world: World) -> Direct:
    return Direct(gateway.template)


def test_a_direct_invocation_of_an_unknown_operation_writes_a_line(direct: Direct, lines: Lines) -> None:
    answer = direct.send({"operation": "brew", "caller": ANN})
    line = only(lines)

    assert about(line) == ("direct", "none", "none", "400", "validation_error")
    assert id_in(line) == answer["body"]["requestId"]
    assert line["DynamoDBCalls"] == 0


def test_an_asynchronous_request_that_is_sent_again_writes_a_line_each_time(
    direct: Direct, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "forklore_local.server.invocation.LambdaContext.get_remaining_time_in_millis", lambda _: 2
    )
    for _ in range(2):
        with suppress(AgainError):
            direct.send({"operation": "checkHealth", "input": {"deep": True}, "async": True})

    assert [line["status"] for line in lines.named("request")] == ["503", "503"]


def test_requests_at_the_same_time_count_their_own_calls(gateway: Gateway, lines: Lines) -> None:
    """Each kind of request counts as many calls as it does when it runs alone."""
    made = gateway.send("POST", CONVERSATIONS, body={}, user="ann").json["id"]
    asks: list[tuple[str, str, Any]] = [
        ("POST", CONVERSATIONS, {}),
        ("GET", f"{CONVERSATIONS}/{made}/forks", None),
        ("GET", "/v1/health", None),
    ]
    for method, path, body in asks:
        gateway.send(method, path, body=body)
    alone = {line["operation"]: line["DynamoDBCalls"] for line in lines.named("request")[1:]}
    lines.texts.clear()
    start = threading.Barrier(9, timeout=60)

    def send(number: int) -> None:
        method, path, body = asks[number % 3]
        start.wait()
        for _ in range(5):
            gateway.send(method, path, body=body)

    with ThreadPoolExecutor(9) as threads:
        list(threads.map(send, range(9)))

    found = [(line["operation"], line["DynamoDBCalls"]) for line in lines.named("request")]
    assert len(set(alone.values())) == 3
    assert sorted(found) == sorted([*alone.items()] * 15)


def test_with_a_higher_log_level_no_line_is_built(
    world: World, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        telemetry, "embedded", lambda *_, **__: pytest.fail("a line was built that no one reads")
    )
    logging.getLogger("forklore").setLevel(logging.WARNING)
    try:
        assert world.send(show(ROOT)).status == 200
    finally:
        logging.getLogger("forklore").setLevel(logging.NOTSET)

    assert lines.texts == []


@pytest.mark.parametrize("ask", [show(ROOT), show(FRESH)], ids=["found", "refused"])
def test_a_request_that_asks_for_its_cost_is_told_what_the_log_says(
    world: World, lines: Lines, ask: Ask
) -> None:
    answer = world.send(replace(ask, headers=[("Forklore-Cost", "1")]))

    said = dict(one.split("=") for one in answer.headers["forklore-cost"].split(", "))
    logged = only(lines)
    assert {name: float(value) for name, value in said.items()} == {name: logged[name] for name in said}
    assert list(said) == ["DynamoDBCalls", "ReadUnits", "WriteUnits"]
    assert said["DynamoDBCalls"] != "0"
    assert "forklore-cost" not in world.send(ask).headers


# Plain values


def test_a_rare_event_is_a_metric_only_if_it_happened() -> None:
    usage = Consumption()
    assert of_dynamodb(usage) == {"DynamoDBCalls": 0, "ReadUnits": 0, "WriteUnits": 0}
    assert rare(usage) == []
    usage.clock_offset_ms, usage.largest_tree_bytes = -999, 0
    assert rare(usage) == []

    usage.retries, usage.conflicts, usage.throttles, usage.heads_ahead = 1, 2, 3, 1
    usage.clock_offset_ms, usage.largest_tree_bytes = -1_000, 1 << 30
    assert {metric.name: metric.value for metric in rare(usage)} == {
        "DynamoDBRetries": 1,
        "DynamoDBConflicts": 2,
        "DynamoDBThrottles": 3,
        "HeadsAhead": 1,
        "ClockOffset": -1_000,
        "LargestTree": 1 << 30,
    }


def test_a_group_without_metrics_is_not_described() -> None:
    made = embedded([((("stack",),), []), ((("stack",),), [Metric("A", "Count", 2)])], timestamp_ms=5)

    assert made == {
        "_aws": {
            "Timestamp": 5,
            "CloudWatchMetrics": [
                {
                    "Namespace": "forklore",
                    "Dimensions": [["stack"]],
                    "Metrics": [{"Name": "A"}],
                }
            ],
        },
        "A": 2,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"A": "2"},
        {"A": None},
        {"A": True},
        {"stack": 5},
        {"stack": ""},
        {"stack": None},
    ],
)
def test_a_line_that_cloudwatch_would_not_take_is_noticed(wrong: dict[str, Any]) -> None:
    made = embedded([((("stack",),), [Metric("A", "Count", 2)])], timestamp_ms=now_ms())

    assert faults({"stack": "s", **made}, now_ms=now_ms()) == []
    assert faults({"stack": "s", **made, **wrong}, now_ms=now_ms()) != []


@pytest.mark.failure("leaking-log")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 世界 🙂", "plain é 世界 🙂"),
        ("a\nb\r\t\x00\x1b[31m", "a\\u000ab\\u000d\\u0009\\u0000\\u001b[31m"),
        ("\x85\u2028\u2029\u202e\ufeff", "\\u0085\\u2028\\u2029\\u202e\\ufeff"),
        ("\ud800", "\\ud800"),
        ("", ""),
    ],
)
def test_characters_that_do_not_print_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()
    printable(text).encode()

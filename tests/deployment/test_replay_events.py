"""What is parked is published again by a command."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from forklore_local.server.invocation import invoke, load_handler
from tests.service.events.buses import Heard
from tools.deployment import replay_events
from tools.deployment.replay_events import Clients, replay
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, table_in_memory
from tools.harness.sample_events import sample_event

TEMPLATE = read_template(PROJECT / "template.yaml")
[PUBLISH] = [one for one in TEMPLATE.functions if one.name == "PublishFunction"]
PLACE = {
    "streamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/forklore/stream/2025-11-07T00:00:00.000",
    "shardId": "shardId-1",
    "startSequenceNumber": "1100000000017454423009",
    "endSequenceNumber": "1100000000017454423010",
    "batchSize": 2,
}


class Lambda:
    """Lambda, which runs the function in this process."""

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803 (AWS's names)
        assert FunctionName == "publish"
        return {
            "Payload": io.BytesIO(
                json.dumps(invoke(PUBLISH, load_handler(PUBLISH), json.loads(Payload))).encode()
            )
        }


class Trimmed:
    """DynamoDB Streams, a day later."""

    def get_shard_iterator(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": "TrimmedDataAccessException"}}, "GetShardIterator")


@pytest.fixture
def heard(moto: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    with table_in_memory():
        heard = Heard()
        monkeypatch.setenv("FORKLORE_EVENT_BUS", heard.name)
        monkeypatch.setenv("FORKLORE_PARKED_EVENTS", heard.parked_url)
        monkeypatch.setattr("forklore_service.aws.stream.make_events_client", lambda: heard)
        monkeypatch.setattr(replay_events, "WAIT_SECONDS", 0)
        yield heard


def lines_of(heard: Heard, *, dry_run: bool = False) -> list[str]:
    clients = Clients(boto3.client("sqs"), Lambda(), Trimmed())
    return list(replay(clients, heard.parked_url, "publish", dry_run=dry_run))


def park(heard: Heard, body: dict[str, Any]) -> None:
    heard.parking.park(json.dumps(body))


def test_a_parked_change_is_published_and_deleted(heard: Heard) -> None:
    park(heard, sample_event("publish"))

    told, end = lines_of(heard)

    assert told.endswith(": published")
    assert end == "1 published again, 0 left"
    assert len(heard.events()) == 1
    assert heard.parked() == []


def test_a_dry_run_names_what_is_parked_without_content_and_hides_nothing(heard: Heard) -> None:
    park(heard, sample_event("publish"))

    told, end = lines_of(heard, dry_run=True)

    assert "HEAD#019a5c1e" in told
    assert "hi" not in told
    assert end == "0 published again, 1 left"
    assert heard.events() == []
    assert lines_of(heard)[-1] == "1 published again, 0 left"


def untellable() -> dict[str, Any]:
    """The record of a change that cannot be told."""
    event = sample_event("publish")
    del event["Records"][1]["dynamodb"]["NewImage"]["changedAt"]
    record: dict[str, Any] = event["Records"][1]
    return record


def test_what_still_cannot_be_told_stays_and_is_not_tried_for_ever(heard: Heard) -> None:
    park(heard, {"Records": [untellable()]})

    told, end = lines_of(heard)

    assert told.endswith(": failed; see the log of the function")
    assert end == "0 published again, 1 left"
    assert heard.parked() == [{"Records": [untellable()]}]


def test_a_change_without_its_images_is_kept(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forklore_service.events.publishing.PARKED_BYTES_MAX", 400)
    invoke(PUBLISH, load_handler(PUBLISH), {"Records": [untellable()]})

    told, end = lines_of(heard)

    assert "HEAD#019a5c1e" in told
    assert told.endswith("too large for the queue and cannot be published again")
    assert end == "0 published again, 1 left"
    assert [parked["isCut"] for parked in heard.parked()] == [True]


def test_what_another_run_has_received_is_left(heard: Heard) -> None:
    park(heard, sample_event("publish"))
    boto3.client("sqs").receive_message(QueueUrl=heard.parked_url, VisibilityTimeout=300)

    told, end = lines_of(heard)

    assert told.startswith("1 were hidden")
    assert end == "0 published again, 1 left"


def test_a_message_that_is_not_understood_is_kept_and_the_others_are_published(heard: Heard) -> None:
    odd = ["no JSON", "[]", "{}", '{"DDBStreamBatchInfo": {}}', '{"Records": [{}, 1]}', '{"Records": 1}']
    for body in odd:
        heard.parking.park(body)
    park(heard, sample_event("publish"))

    lines = lines_of(heard)

    assert sum("not understood" in line for line in lines) == len(odd)
    assert lines[-1] == f"1 published again, {len(odd)} left"


def test_a_call_that_fails_concerns_its_message_only(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (sample_event("publish")["Records"][at] for at in (0, 1))
    park(heard, {"Records": [one]})
    park(heard, {"Records": [other]})
    answer = Lambda.invoke

    def refuse_one(self: Lambda, *, FunctionName: str, Payload: str) -> Any:  # noqa: N803
        if json.loads(Payload)["Records"] == [one]:
            raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        return answer(self, FunctionName=FunctionName, Payload=Payload)

    monkeypatch.setattr(Lambda, "invoke", refuse_one)

    lines = lines_of(heard)

    assert sum("TooManyRequestsException" in line for line in lines) == 1
    assert lines[-1] == "1 published again, 1 left"


def test_many_records_are_sent_in_calls_of_a_size_that_lambda_takes(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What of a batch cannot be told is parked by itself, and then stays."""
    monkeypatch.setattr(replay_events, "CALL_RECORDS_MAX", 2)
    good = sample_event("publish")["Records"]
    monkeypatch.setattr(replay_events, "records_at", lambda *_: [*good, untellable()])
    park(heard, {"DDBStreamBatchInfo": PLACE})

    lines = lines_of(heard)

    assert [line.rpartition(": ")[2] for line in lines] == [
        "published",
        "failed; see the log of the function",
        "1 published again, 1 left",
    ]
    assert len(heard.events()) == 1
    assert heard.parked() == [{"Records": [untellable()]}]


class Pages:
    """DynamoDB Streams that answers with these pages. A page: the numbers of its records."""

    def __init__(self, *pages: list[int], is_open: bool = True) -> None:
        self._pages = pages
        self._is_open = is_open

    def get_shard_iterator(self, **_: Any) -> Any:
        return {"ShardIterator": "0"}

    def get_records(self, *, ShardIterator: str) -> Any:  # noqa: N803
        at = int(ShardIterator)
        page = self._pages[at] if at < len(self._pages) else []
        more = {"NextShardIterator": str(at + 1)} if self._is_open or at + 1 < len(self._pages) else {}
        written = {"ApproximateCreationDateTime": datetime.now(UTC)}
        return {"Records": [{"dynamodb": {"SequenceNumber": str(one), **written}} for one in page], **more}


FROM_1_TO_9 = PLACE | {"startSequenceNumber": "1", "endSequenceNumber": "9", "batchSize": 2}


@pytest.mark.parametrize(
    "pages",
    [
        ([1, 2, 4, 7, 9, 10],),
        ([1], [], [], [2, 4], [], [7, 9]),
        ([], [1, 2, 4, 7], [], [9, 12]),
    ],
)
def test_all_records_of_a_place_are_read_also_behind_others_and_behind_empty_pages(
    pages: tuple[list[int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_events, "EMPTY_PAGE_PAUSE_S", 0)

    found = replay_events.records_at(Pages(*pages), FROM_1_TO_9)

    assert [one["dynamodb"]["SequenceNumber"] for one in found] == ["1", "2", "4", "7", "9"]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_place_whose_end_is_not_reached_is_kept(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    monkeypatch.setattr(replay_events, "EMPTY_PAGE_PAUSE_S", 0)
    park(heard, {"DDBStreamBatchInfo": FROM_1_TO_9})
    clients = Clients(boto3.client("sqs"), Lambda(), Pages([1, 2], [4], is_open=is_open))

    told, end = replay(clients, heard.parked_url, "publish")

    assert "the stream ends before" in told
    assert end == "0 published again, 1 left"


def test_a_place_that_the_stream_has_lost_is_kept(heard: Heard) -> None:
    park(heard, {"DDBStreamBatchInfo": PLACE})

    told, end = lines_of(heard)

    assert "too late" in told
    assert end == "0 published again, 1 left"

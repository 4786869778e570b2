import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ProfileNotFound

from forklore_service.storage.clients import make_queue_client
from forklore_service.storage.queue import DELAY_SECONDS_MAX, Queue
from tests.support.mailbox import Mailbox, Message

TREES = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(23)]


def test_without_a_queue_nothing_is_sent() -> None:
    Queue(None, None).announce(TREES)


def test_a_client_is_made_at_the_first_announcement_and_its_failure_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        raise ProfileNotFound(profile="nobody")

    monkeypatch.setattr("forklore_service.storage.clients.make_queue_client", make)
    queue = Queue(None, "https://sqs/queue")

    queue.announce([])
    assert made == []
    queue.announce(TREES)
    assert made == [1]


def test_trees_are_announced_ten_at_a_time() -> None:
    mailbox = Mailbox()

    mailbox.queue.announce(TREES, delay_s=3)

    assert mailbox.messages == [Message(tree, 3) for tree in TREES]
    assert mailbox.batches == [10, 10, 3]


@pytest.mark.parametrize(("asked", "sent"), [(-1, 0), (0, 0), (900, 900), (901, DELAY_SECONDS_MAX)])
def test_a_delay_is_limited_to_what_sqs_accepts(asked: int, sent: int) -> None:
    mailbox = Mailbox()

    mailbox.queue.announce(TREES[:1], delay_s=asked)

    assert mailbox.messages == [Message(TREES[0], sent)]


def test_no_batch_is_sent_after_the_deadline() -> None:
    mailbox = Mailbox()

    mailbox.queue.announce(TREES, within_s=0)

    assert mailbox.messages == []


@pytest.mark.parametrize(
    "error",
    [
        ConnectTimeoutError(endpoint_url="https://sqs"),
        ClientError({"Error": {"Code": "AWS.SimpleQueueService.NonExistentQueue"}}, "SendMessageBatch"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failing_queue_is_called_once_and_its_failure_is_ignored(
    error: BotoCoreError | ClientError,
) -> None:
    class Broken:
        calls = 0

        def send_message_batch(self, **_: Any) -> None:
            self.calls += 1
            raise error

    broken = Broken()

    Queue(broken, "https://sqs/jobs").announce(TREES)

    assert broken.calls == 1


def test_a_message_is_json_that_names_the_tree(moto: None) -> None:
    client = boto3.client("sqs", region_name="us-east-1")
    url = client.create_queue(QueueName="jobs")["QueueUrl"]

    Queue(make_queue_client(), url).announce(TREES[:2])

    received = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [json.loads(message["Body"]) for message in received] == [{"groupId": tree} for tree in TREES[:2]]

"""What calls functions without a request: queues and schedules. The queues are always in moto."""

import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from forklore.local.deployment import Deployment, Function, Polled, Queue
from forklore.local.embedded import ENDPOINT, start_moto
from forklore.local.invocation import EventTooLargeError, HandlerError, invoke, load_handler
from forklore.local.log import frames, log

POLL_SECONDS = 1.0
"""How long to wait after a queue was empty. Long polling would keep moto busy."""
STOP_SECONDS = 0.5
BATCH_SIZE_MAX = 10


def open_queues(deployment: Deployment) -> dict[str, str]:
    """Make the queues and set the variables that hold their URLs; return the URLs by name.

    Call `open_database` first. It starts moto if no endpoint is set. If an endpoint is set, this
    function starts moto.
    """
    if not deployment.queues:
        return {}
    if ENDPOINT in os.environ:
        start_moto()
    client: Any = boto3.client("sqs")
    urls: dict[str, str] = {}
    for queue in sorted(deployment.queues, key=lambda queue: queue.dead_letters is not None):
        attributes = {"VisibilityTimeout": str(queue.visible_after_seconds)} | _redrive(client, queue, urls)
        urls[queue.name] = client.create_queue(QueueName=queue.name, Attributes=attributes)["QueueUrl"]
    os.environ |= {variable: urls[name] for variable, name in deployment.environment.items()}
    return urls


def _redrive(client: Any, queue: Queue, urls: Mapping[str, str]) -> dict[str, str]:
    """Return the attribute that moves a message that keeps failing to the dead-letter queue.

    That queue exists already.
    """
    if queue.dead_letters is None:
        return {}
    asked = {"QueueUrl": urls[queue.dead_letters], "AttributeNames": ["QueueArn"]}
    arn = client.get_queue_attributes(**asked)["Attributes"]["QueueArn"]
    policy = f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{queue.receives_max}}}'
    return {"RedrivePolicy": policy}


class Background:
    """Polls the queues and runs the schedules of `functions`, each in a thread of its own.

    urls: of the queues, by name. A schedule's first call comes after its interval has passed once.
    """

    def __init__(
        self, functions: Sequence[Function], urls: Mapping[str, str], *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self._stopped = threading.Event()
        self._poll_seconds = poll_seconds
        self._threads = [
            *(
                self._thread(self._poll, function, polled, urls[polled.queue])
                for function in functions
                for polled in function.polls
            ),
            *(
                self._thread(self._keep, function, seconds)
                for function in functions
                for seconds in function.every_seconds
            ),
        ]

    def _thread(self, run: Callable[..., None], *arguments: Any) -> threading.Thread:
        return threading.Thread(target=run, args=arguments, name="background", daemon=True)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Start nothing more, and wait STOP_SECONDS for what runs. What still runs then is left."""
        self._stopped.set()
        give_up_at = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, give_up_at - time.monotonic()))

    def _poll(self, function: Function, polled: Polled, url: str) -> None:
        client, handler = boto3.client("sqs"), load_handler(function)
        while not self._stopped.is_set():
            try:
                self._poll_once(client, function, handler, polled, url)
            except (BotoCoreError, ClientError) as error:  # nothing would notice that this thread has ended
                log(f"{function.name}: its queue does not answer\n{frames(error)}")
                self._stopped.wait(self._poll_seconds)

    def _poll_once(
        self, client: Any, function: Function, handler: Callable[[Any, Any], Any], polled: Polled, url: str
    ) -> None:
        size = min(polled.batch_size, BATCH_SIZE_MAX)
        received = client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=size, MessageSystemAttributeNames=["All"]
        )
        messages: list[Any] = received.get("Messages", [])
        if not messages:
            self._stopped.wait(self._poll_seconds)
            return
        failed = _failed(_invoke(function, handler, _queue_event(messages, polled)), messages)
        if failed:
            log(f"{function.name}: {len(failed)} of {len(messages)} messages failed")
        for message in messages:
            if message["MessageId"] not in failed:
                client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def _keep(self, function: Function, seconds: int) -> None:
        handler = load_handler(function)
        while not self._stopped.wait(seconds):
            _invoke(function, handler, _schedule_event(function))


_NOTHING = object()


def _invoke(function: Function, handler: Callable[[Any, Any], Any], event: dict[str, Any]) -> Any:
    """Return the function's answer, or log that it failed and return _NOTHING."""
    try:
        return invoke(function, handler, event)
    except HandlerError as error:
        log(f"{function.name}: {error}\n{frames(error.__cause__)}")
    except EventTooLargeError:
        log(f"{function.name}: the event is too large")
    return _NOTHING


def _failed(answer: Any, messages: Sequence[Any]) -> set[str]:
    """Return the ids of the messages that will come again: all of them if the function failed.

    Source: Lambda developer guide, "Handling errors for an SQS event source in Lambda".
    """
    everything = {message["MessageId"] for message in messages}
    if answer is None or answer == {}:
        return set()
    failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
    if answer is _NOTHING or not isinstance(failures, list | None):
        return everything
    failed = {failure.get("itemIdentifier") for failure in failures or []}
    if not failed <= everything:
        return everything
    return failed


def _queue_event(messages: Sequence[Any], polled: Polled) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message.get("Attributes", {}),
                "messageAttributes": {},
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{polled.queue}",
                "awsRegion": "us-east-1",
            }
            for message in messages
        ]
    }


def _schedule_event(function: Function) -> dict[str, Any]:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "region": "us-east-1",
        "resources": [f"arn:aws:events:us-east-1:000000000000:rule/{function.name}"],
        "detail": {},
    }

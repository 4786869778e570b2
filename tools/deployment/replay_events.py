"""`python -m tools.deployment.replay_events`: publish again the changes that are parked.

A message of the queue `ParkedEvents` holds the record of a change, or, if the function itself
ended, the place of a batch in the table's stream. The records are sent to the function that
publishes. A message is deleted once all its records are published; the others stay in the queue.
"""

import argparse
import base64
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.limits import packs

HIDDEN_SECONDS = 300
"""For how long a message is hidden from others, if the command is killed meanwhile."""
WAIT_SECONDS = 1
"""For how long SQS looks for messages. So it asks all of its servers."""
CALL_RECORDS_MAX, CALL_BYTES_MAX = 100, 5_000_000
"""What the function gets at once: as many records as of the stream, and fewer bytes than 6 MB."""
EMPTY_PAGES_MAX, EMPTY_PAGE_PAUSE_S = 100, 0.25
"""How many pages without records are read in a row. Pages of a stream may be empty in between."""
CALL_SECONDS = 120
"""How long an answer of the function is waited for. The function ends before that."""
QUEUE, FUNCTION = "ParkedEventsAddress", "PublishFunctionName"


class UnreadableError(Exception):
    """The records of a message cannot be had. Its text says why."""


@dataclass(frozen=True)
class Clients:
    """The clients of the services that a replay needs."""

    sqs: Any
    functions: Any
    streams: Any


def replay(clients: Clients, queue: str, function: str, *, dry_run: bool = False) -> Iterator[str]:
    """Publish again what is parked; yield a line for each message and one at the end.

    Each message is tried once. What is left can be received again at once afterwards.
    dry_run: only say what is parked.
    """
    hidden = _count_hidden(clients, queue)
    tried, left, done = set[str](), dict[str, str](), 0
    try:
        while messages := _receive(clients, queue):
            for message in messages:
                name, handle, body = (message[key] for key in ("MessageId", "ReceiptHandle", "Body"))
                if name in left:
                    left[name] = handle
                    continue
                left[name] = handle
                if body in tried:  # the same record, parked twice
                    yield f"{name}: tried already in this run"
                    continue
                tried.add(body)
                told, is_done = _replay_one(clients, message, function, dry_run=dry_run)
                yield f"{name}: {told}"
                if is_done:
                    clients.sqs.delete_message(QueueUrl=queue, ReceiptHandle=left.pop(name))
                    done += 1
    finally:
        for handle in left.values():
            clients.sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
    if hidden:
        yield f"{hidden} were hidden: another run has them, or had them in the last five minutes"
    yield f"{done} published again, {len(left) + hidden} left"


def _count_hidden(clients: Clients, queue: str) -> int:
    """Return how many messages somebody else has received, as far as SQS knows."""
    name = "ApproximateNumberOfMessagesNotVisible"
    answer = clients.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[name])
    return int(answer["Attributes"][name])


def _receive(clients: Clients, queue: str) -> list[dict[str, Any]]:
    answer = clients.sqs.receive_message(
        QueueUrl=queue,
        MaxNumberOfMessages=10,
        VisibilityTimeout=HIDDEN_SECONDS,
        WaitTimeSeconds=WAIT_SECONDS,
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def _replay_one(
    clients: Clients, message: dict[str, Any], function: str, *, dry_run: bool
) -> tuple[str, bool]:
    """Return what has become of a message, and whether it can be deleted."""
    try:
        body = json.loads(message["Body"])
        is_place = "DDBStreamBatchInfo" in body
        records = records_at(clients.streams, body["DDBStreamBatchInfo"]) if is_place else body["Records"]
        told = ", ".join(_named(record) for record in records)
        if body.get("isCut"):
            return f"{told}: the change was too large for the queue and cannot be published again", False
        if dry_run:
            return told, False
        # What of a batch still cannot be told is parked by itself. A parked record just stays.
        most = CALL_RECORDS_MAX, CALL_BYTES_MAX
        calls = packs(records, most, lambda one: (1, len(json.dumps(one)) + 2))
        is_done = all(_publish(clients, function, some, is_replay=not is_place) for some in calls)
    except (UnreadableError, BotoCoreError, ClientError) as error:
        return f"failed: {error}", False
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"not understood: {type(error).__name__}", False
    return f"{told}: {'published' if is_done else 'failed; see the log of the function'}", is_done


def _publish(clients: Clients, function: str, records: Sequence[Any], *, is_replay: bool) -> bool:
    """Send records to the function. Return whether all of them are done."""
    event = {"Records": records, "isReplay": is_replay}
    answer = clients.functions.invoke(FunctionName=function, Payload=json.dumps(event))
    result = json.load(answer["Payload"])
    return "FunctionError" not in answer and result == {"batchItemFailures": []}


def records_at(streams: Any, place: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all records from the first to the last of a batch, as Lambda would send them.

    Those between them that the filter keeps from the function are there, too; they tell nothing.
    place: as Lambda names it (Lambda developer guide, "Retain discarded records for a DynamoDB
    event source"). Raises UnreadableError if not all of them can be had.
    """
    try:
        return [as_lambda_sends(one) for one in _between(streams, place)]
    except ClientError as error:
        if error.response["Error"]["Code"] in ("TrimmedDataAccessException", "ResourceNotFoundException"):
            raise UnreadableError("too late: the stream keeps changes for 24 hours") from error
        raise


def _between(streams: Any, place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    last = int(place["endSequenceNumber"])
    iterator = streams.get_shard_iterator(
        StreamArn=place["streamArn"],
        ShardId=place["shardId"],
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=place["startSequenceNumber"],
    )["ShardIterator"]
    empty = 0
    while iterator and empty < EMPTY_PAGES_MAX:
        if empty:
            time.sleep(EMPTY_PAGE_PAUSE_S)
        answer = streams.get_records(ShardIterator=iterator)
        for record in answer["Records"]:
            number = int(record["dynamodb"]["SequenceNumber"])
            if number <= last:
                yield record
            if number >= last:
                return
        empty = 0 if answer["Records"] else empty + 1
        iterator = answer.get("NextShardIterator")
    raise UnreadableError("the stream ends before the last change of the batch; try again")


def as_lambda_sends(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of the stream with times as numbers and bytes in base64."""
    at = record["dynamodb"]["ApproximateCreationDateTime"]
    held = record["dynamodb"] | {"ApproximateCreationDateTime": at.timestamp()}
    sent: dict[str, Any] = json.loads(
        json.dumps(record | {"dynamodb": held}, default=lambda value: base64.b64encode(value).decode())
    )
    return sent


def _named(record: dict[str, Any]) -> str:
    """Return an item's key, which is not its content."""
    key = record.get("dynamodb", {}).get("Keys", {})
    return " ".join(str(key.get(name, {}).get("S")) for name in ("PK", "SK"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the parked events of a stack. Return the exit code: 1 if some are left."""
    parser = argparse.ArgumentParser(prog="python -m tools.deployment.replay_events", description=__doc__)
    parser.add_argument("--stack-name", default="forklore", help="the stack (default: forklore)")
    parser.add_argument("--dry-run", action="store_true", help="only list what is parked")
    chosen = parser.parse_args(arguments)
    session = boto3.Session()
    try:
        [stack] = session.client("cloudformation").describe_stacks(StackName=chosen.stack_name)["Stacks"]
        outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
        if not {QUEUE, FUNCTION} <= outputs.keys():
            sys.stderr.write(f"The stack {chosen.stack_name} publishes no events: Events is off.\n")
            return 2
        once = Config(read_timeout=CALL_SECONDS, retries={"total_max_attempts": 1})
        functions = session.client("lambda", config=once)
        clients = Clients(session.client("sqs"), functions, session.client("dynamodbstreams"))
        last = ""
        for last in replay(clients, outputs[QUEUE], outputs[FUNCTION], dry_run=chosen.dry_run):
            sys.stdout.write(f"{last}\n")
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if last.endswith(" 0 left") else 1


if __name__ == "__main__":
    sys.exit(main())

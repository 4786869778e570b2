"""The table's stream: each batch of records becomes events on the deployment's bus."""

from typing import Any

from forklore_service.api.responses import log_failure
from forklore_service.aws.publisher import open_publisher
from forklore_service.aws.telemetry import Stopwatch, log_published
from forklore_service.aws.wiring import Consumption

SPARE_SECONDS = 10.0
"""The part of the function's time that is kept to end the last call."""


def publish(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Publish a batch. Return where Lambda must go on with it, if not all of it is done.

    The answer is a partial batch response (Lambda developer guide, "Configuring partial batch
    response with DynamoDB"). An event with `isReplay` comes from `tools.deployment.replay_events`:
    what cannot be told is not done, and not parked again. Raises RuntimeError for a wrong setting:
    the batch comes again.
    """
    watch, usage = Stopwatch(), Consumption()
    records = event["Records"]
    seconds = context.get_remaining_time_in_millis() / 1000 - SPARE_SECONDS
    is_replay = event.get("isReplay", False)
    publisher, until = open_publisher(seconds, usage, is_replay=is_replay, report=_report)
    done = publisher.publish(records, until)
    log_published(
        records=len(records),
        events=done.events,
        parked=done.parked,
        is_finished=done.unfinished is None,
        watch=watch,
        usage=usage,
    )
    if done.unfinished is None:
        return {"batchItemFailures": []}
    sequence = records[done.unfinished]["dynamodb"]["SequenceNumber"]
    return {"batchItemFailures": [{"itemIdentifier": sequence}]}


def _report(error: Exception) -> None:
    log_failure("parked", error)

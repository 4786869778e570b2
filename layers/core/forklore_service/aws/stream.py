"""The table's stream: each batch of records becomes events on the deployment's bus.

The publisher's settings are here and not in `wiring`, because no other function loads them.
"""

import os
from functools import cache
from typing import Any, NamedTuple

from forklore_service.api.responses import log_failure
from forklore_service.aws.telemetry import Stopwatch, log_published
from forklore_service.aws.wiring import Consumption, open_table
from forklore_service.events.event import SOURCE, Content
from forklore_service.events.publishing import ParkedAlready, Publisher
from forklore_service.storage.bus import Bus, Parking, make_events_client, make_parking_client
from forklore_service.storage.connection import Deadline

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
    settings, records = PublisherSettings.from_environment(), event["Records"]
    seconds = context.get_remaining_time_in_millis() / 1000 - SPARE_SECONDS
    publisher = Publisher(
        open_table().within(seconds, most=seconds, usage=usage),
        _open_bus(settings.bus),
        ParkedAlready() if event.get("isReplay", False) else _open_parking(settings.parked_url),
        settings.content,
        report=lambda error: log_failure("parked", error),
    )
    done = publisher.publish(records, Deadline.after(seconds, most=seconds))
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


class PublisherSettings(NamedTuple):
    """The settings of the publisher. content: what events hold of the entries' content."""

    bus: str
    parked_url: str
    content: Content

    @classmethod
    def from_environment(cls) -> "PublisherSettings":
        """Return the settings. Raises RuntimeError for a missing or wrong one."""
        bus, url = os.environ.get("FORKLORE_EVENT_BUS"), os.environ.get("FORKLORE_PARKED_EVENTS")
        if not bus or not url:
            raise RuntimeError("set FORKLORE_EVENT_BUS to a bus, and FORKLORE_PARKED_EVENTS to a queue's URL")
        content = os.environ.get("FORKLORE_EVENT_CONTENT") or Content.NONE
        if content not in list(Content):
            raise RuntimeError(f"set FORKLORE_EVENT_CONTENT to {' or '.join(Content)}")
        return cls(bus, url, Content(content))


@cache
def _open_bus(name: str) -> Bus:
    return Bus(make_events_client(), name, source=SOURCE)


@cache
def _open_parking(url: str) -> Parking:
    return Parking(make_parking_client(), url)

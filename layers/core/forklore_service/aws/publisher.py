"""The publisher's settings in the environment, and the publisher for one batch.

It is apart from `wiring`, because no other function loads it.
"""

import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from forklore_service.aws.wiring import open_table
from forklore_service.events.event import SOURCE, Content
from forklore_service.events.publishing import ParkedAlready, Publisher
from forklore_service.storage.bus import Bus, Parking, make_events_client, make_parking_client
from forklore_service.storage.connection import Deadline
from forklore_service.storage.consumption import Consumption


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


def open_publisher(
    seconds: float, usage: Consumption, *, is_replay: bool, report: Callable[[Exception], None]
) -> tuple[Publisher, Deadline]:
    """Return what publishes a batch, and when that must end.

    seconds: how long it may take. usage: counts its calls of DynamoDB. is_replay: what cannot be
    told is not parked again. report: as of a Publisher.
    """
    settings = PublisherSettings.from_environment()
    table = open_table().within(seconds, most=seconds, usage=usage)
    bus = _open_bus(settings.bus)
    parking = ParkedAlready() if is_replay else _open_parking(settings.parked_url)
    return Publisher(table, bus, parking, settings.content, report), Deadline.after(seconds, most=seconds)


@cache
def _open_bus(name: str) -> Bus:
    return Bus(make_events_client(), name, source=SOURCE)


@cache
def _open_parking(url: str) -> Parking:
    return Parking(make_parking_client(), url)

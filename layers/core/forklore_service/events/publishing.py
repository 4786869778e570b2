"""Publish the records of a table's stream: all events of a batch, in its order, at least once.

A record that cannot be told, because it or this code is wrong, is parked, and the others go on.
So is one that the table has contradicted for minutes.
When DynamoDB, the bus or the queue does not answer, the batch ends at that record and is
repeated from there. So nothing is lost, and no record holds up the others for ever.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from forklore_service.errors import UnavailableError
from forklore_service.events.around import Around, Incomplete
from forklore_service.events.changes import Change, change_of
from forklore_service.events.event import Content, Event
from forklore_service.events.from_changes import events_of
from forklore_service.storage.bus import Bus
from forklore_service.storage.connection import Deadline
from forklore_service.storage.table import Table

PARKED_BYTES_MAX = 250_000
"""What a parked record may have. A larger one is parked without its images (SQS: 256 KB)."""
INCOMPLETE_SECONDS = 300
"""After this time a change is parked if the table does not show all of its write."""
Record = Mapping[str, Any]
"""A record of the stream, as Lambda gets it: JSON, with binary values in base64."""


class Parking(Protocol):
    """Where records go that cannot be told."""

    def park(self, body: str) -> None: ...


class ParkedAlready:
    """The parking of a replay. It takes nothing: the record stays where it is, and comes again."""

    def park(self, body: str) -> None:
        del body
        raise UnavailableError("the record is parked already")


class Published(NamedTuple):
    """What was done with a batch.

    events: how many were sent. parked: how many records. unfinished: the position of the first
    record that must come again; None: all are done.
    """

    events: int
    parked: int
    unfinished: int | None


class Publisher(NamedTuple):
    """Publishes batches. report: is told of each error by which a record is parked."""

    table: Table
    bus: Bus
    parking: Parking
    content: Content
    report: Callable[[Exception], None]

    def publish(self, records: Sequence[Record], until: Deadline) -> Published:
        """Send the events of all records, or of those before one that must come again."""
        told, wrong, unfinished = self._tell(records)
        sent = self.bus.put([event for _, event in told], until)
        if sent.unsent is not None:
            unfinished = told[sent.unsent][0]
        for at in sent.refused:
            self.report(ValueError("the bus refuses an event"))
            wrong.add(told[at][0])
        parked = 0
        for at in sorted(wrong):
            if unfinished is not None and at >= unfinished:
                break
            try:
                self.parking.park(_parked(records[at]))
            except UnavailableError:
                unfinished = at
            else:
                parked += 1
        reached = len(told) if sent.unsent is None else sent.unsent
        return Published(reached - len(sent.refused), parked, unfinished)

    def _tell(self, records: Sequence[Record]) -> tuple[list[tuple[int, Event]], set[int], int | None]:
        """Return the events with the positions of their records, and the wrong records.

        Also return the position of the first record about which the table did not answer.
        """
        changes: dict[int, Change] = {}
        wrong = set[int]()
        for at, record in enumerate(records):
            try:
                changes[at] = change_of(record)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with it, the others go on)
                self.report(error)
                wrong.add(at)
        around = Around(self.table, changes.values())
        told: list[tuple[int, Event]] = []
        for at, change in changes.items():
            try:
                told += [(at, event) for event in events_of(change, around, content=self.content)]
            except UnavailableError as error:
                if not (isinstance(error, Incomplete) and self._is_old(change)):
                    return told, wrong, at
                self.report(error)
                wrong.add(at)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with it, the others go on)
                self.report(error)
                wrong.add(at)
        return told, wrong, None

    def _is_old(self, change: Change) -> bool:
        """Tell whether a change is so old that all of its write can surely be read."""
        age = self.table.now_s() - datetime.fromisoformat(change.at).timestamp()
        return age > INCOMPLETE_SECONDS


def _parked(record: Record) -> str:
    """Return a record as the event that publishes it again when the function is invoked with it."""
    body = json.dumps({"Records": [record]})
    if len(body) <= PARKED_BYTES_MAX:
        return body
    held = record.get("dynamodb")
    kept = (
        {name: held[name] for name in held if not name.endswith("Image")} if isinstance(held, Mapping) else {}
    )
    return json.dumps({"Records": [{"eventName": record.get("eventName"), "dynamodb": kept}], "isCut": True})

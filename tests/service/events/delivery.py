"""What Lambda and EventBridge do around the publisher: filter, batch, cut, repeat, take events."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ConnectTimeoutError

from forklore_service.events.event import SOURCE, Content
from forklore_service.events.publishing import Publisher
from forklore_service.storage.bus import Bus
from forklore_service.storage.connection import Deadline
from forklore_service.storage.table import Table
from tests.deployment.document import read_document
from tests.service.events.recording import Record
from tests.service.reliability.faults import Killed

BATCH_SECONDS = 5.0


def filters(name: str = "PublishFunction") -> list[Mapping[str, Any]]:
    """Return the patterns of a function of the template, one of which a record must fit."""
    function = read_document()["Resources"][name]["Properties"]
    found = function["Events"]["Changes"]["Properties"]["FilterCriteria"]["Filters"]
    return [json.loads(one["Pattern"]) for one in found]


def fits(pattern: Mapping[str, Any], held: Any) -> bool:
    """Tell whether a record fits a pattern, as far as our patterns go.

    Source: "Filter rule syntax" (Lambda developer guide).
    """
    for name, wanted in pattern.items():
        value = held.get(name) if isinstance(held, Mapping) else None
        if isinstance(wanted, Mapping):
            if not fits(wanted, value):
                return False
        elif not any(_is(one, value) for one in wanted):
            return False
    return True


def _is(wanted: str | Mapping[str, Any], value: Any) -> bool:
    match wanted:
        case {"prefix": prefix}:
            return isinstance(value, str) and value.startswith(prefix)
        case {"exists": wants_one}:
            return (value is not None) == wants_one
    return bool(wanted == value)


class EventBridge:
    """An EventBridge in memory. Calls go wrong as `choose` says.

    choose: gets the number of the call, from 1, and returns what happens: None, "kill", "kill
    after", "timeout" (the events are taken, and the answer is lost) or "partial" (the first event
    of the call fails).
    """

    def __init__(self, choose: Callable[[int], str | None] = lambda _number: None) -> None:
        self.choose = choose
        self.calls = 0
        self.taken: list[dict[str, Any]] = []

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 (AWS's name)
        self.calls += 1
        fault = self.choose(self.calls)
        if fault == "kill":
            raise Killed
        failed = 1 if fault == "partial" else 0
        for entry in Entries[failed:]:
            detail = json.loads(entry["Detail"])
            self.taken.append({"type": entry["DetailType"], "source": entry["Source"], **detail})
        if fault == "kill after":
            raise Killed
        if fault == "timeout":
            raise ConnectTimeoutError(endpoint_url="https://events")
        bad, good = {"ErrorCode": "ThrottlingException"}, {"EventId": "e"}
        results = [bad] * failed + [good] * (len(Entries) - failed)
        return {"FailedEntryCount": failed, "Entries": results}

    def once(self) -> dict[str, dict[str, Any]]:
        """Return each event once, by its id. All deliveries of an id must be of one event.

        They may differ in the entries that could still be read.
        """
        found: dict[str, dict[str, Any]] = {}
        for event in self.taken:
            assert event["source"] == SOURCE
            first = found.setdefault(event["eventId"], event)
            assert _key_of(first) == _key_of(event)
            if len(event.get("entries", ())) > len(first.get("entries", ())):
                found[event["eventId"]] = event
        return found


def _key_of(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("entries", "ownerUserId")}


class Lot:
    """The queue of what was parked, in memory."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def park(self, body: str) -> None:
        self.bodies.append(body)


@dataclass
class Delivery:
    """Delivers records to publishers as Lambda does, each time to a new process.

    open_table: the table of a new process. seconds: how long a process has for its batch.
    kills, repeats: how often a batch came again because of a kill, or of too little time.
    """

    open_table: Callable[[], Table]
    bus: EventBridge
    lot: Lot = field(default_factory=Lot)
    content: Content = Content.NONE
    seconds: Callable[[], float] = lambda: BATCH_SECONDS
    errors: list[Exception] = field(default_factory=list)
    kills: int = 0
    repeats: int = 0

    def deliver(self, batch: Sequence[Record]) -> None:
        """Deliver a batch until all of it is done. One that failed is cut in two."""
        waiting = [list(batch)]
        while waiting:
            now = waiting.pop(0)
            bus = Bus(self.bus, "bus", source=SOURCE)
            publisher = Publisher(self.open_table(), bus, self.lot, self.content, self.errors.append)
            try:
                done = publisher.publish(now, Deadline.after(self.seconds()))
            except Killed:
                self.kills += 1
                half = len(now) // 2
                waiting[:0] = [part for part in (now[:half], now[half:]) if part]
                continue
            if done.unfinished is not None:
                self.repeats += 1
                waiting.insert(0, now[done.unfinished :])

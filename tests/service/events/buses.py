"""A bus, and the queue for what cannot be told, on moto."""

import json
import uuid
from functools import cache
from typing import Any, NamedTuple

import boto3

from forklore_service.events.event import SOURCE
from forklore_service.storage.bus import Bus, Parking, make_events_client, make_parking_client


class _Clients(NamedTuple):
    sqs: Any
    events: Any
    of_bus: Any
    of_parking: Any


@cache
def _clients() -> _Clients:
    """Return the clients of all tests. To make them takes longer than most tests do."""
    session = boto3.Session(region_name="us-east-1")
    of_service = make_events_client(), make_parking_client()
    return _Clients(session.client("sqs"), session.client("events"), *of_service)


class Heard:
    """The bus and the queue. It is also the client of the bus, which keeps what the bus has taken.

    To a queue behind a rule moto sends nothing without a package that nothing else here needs.
    """

    def __init__(self) -> None:
        clients = _clients()
        self._sqs, self._client = clients.sqs, clients.of_bus
        self._taken: list[dict[str, Any]] = []
        self.name = f"bus-{uuid.uuid4()}"
        clients.events.create_event_bus(Name=self.name)
        self.parked_url = self._sqs.create_queue(QueueName=f"parked-{uuid.uuid4()}")["QueueUrl"]
        self.parking = Parking(clients.of_parking, self.parked_url)

    def bus(self, client: Any = None) -> Bus:
        return Bus(client or self, self.name, source=SOURCE)

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 (AWS's name)
        answer: dict[str, Any] = self._client.put_events(Entries=Entries)
        results = zip(Entries, answer["Entries"], strict=True)
        self._taken += [entry for entry, result in results if "EventId" in result]
        return answer

    def events(self) -> list[dict[str, Any]]:
        """Take everything that the bus has taken, as the targets of a rule get it."""
        taken, self._taken = self._taken, []
        assert all(entry["EventBusName"] == self.name for entry in taken)
        return [
            {
                "source": entry["Source"],
                "detail-type": entry["DetailType"],
                "time": entry["Time"].isoformat(),
                "detail": json.loads(entry["Detail"]),
            }
            for entry in taken
        ]

    def parked(self) -> list[dict[str, Any]]:
        """Take everything that was parked."""
        found: list[dict[str, Any]] = []
        url = self.parked_url
        while messages := self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def lose_parking(self) -> None:
        self._sqs.delete_queue(QueueUrl=self.parked_url)

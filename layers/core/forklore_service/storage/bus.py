"""The event bus of a deployment, and the queue for what could not be told.

No error of botocore leaves this module.
"""

import secrets
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple, Protocol

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.errors import UnavailableError
from forklore_service.limits import packs
from forklore_service.storage.clients import make_session
from forklore_service.storage.connection import Deadline

BATCH_EVENTS_MAX = 10
BATCH_BYTES_MAX = 256 * 1024
"""EventBridge's own limits for PutEvents."""
BACKOFF_FIRST_S, BACKOFF_MAX_S = 0.1, 2.0
_REFUSED = {"InvalidArgument", "MalformedDetail", "ValidationException"}
"""The codes of an event that would be refused again."""
_RANDOM = secrets.SystemRandom()


class BusEvent(Protocol):
    """What is sent. detail: JSON text. at: RFC 3339. size: as EventBridge counts it."""

    @property
    def detail_type(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def size(self) -> int: ...


class Sent(NamedTuple):
    """What has become of events, by their positions.

    refused: those that EventBridge will never take. unsent: the first that was not sent; None: all
    others were sent. Some after it may have been sent, too.
    """

    refused: list[int]
    unsent: int | None


def make_events_client() -> Any:
    """Return an EventBridge client that never retries."""
    return make_session().create_client("events", config=_settings())


def make_parking_client() -> Any:
    """Return an SQS client that never retries."""
    return make_session().create_client("sqs", config=_settings())


def _settings() -> Config:
    return Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=5)


class Bus:
    """An event bus. source: the source that its events name."""

    def __init__(self, client: Any, name: str, *, source: str) -> None:
        self._client = client
        self._name = name
        self._source = source

    def put(self, events: Sequence[BusEvent], until: Deadline) -> Sent:
        """Send events in their order, in batches.

        What failed of a batch is sent again, without the rest of it, as long as there is time.
        """
        refused: list[int] = []
        most = BATCH_EVENTS_MAX, BATCH_BYTES_MAX
        for batch in packs(range(len(events)), most, lambda at: (1, events[at].size)):
            left = batch
            for attempt in count():
                if not left or not _pause(attempt, until):
                    break
                codes = self._send([events[at] for at in left])
                refused += [at for at, code in zip(left, codes, strict=True) if code in _REFUSED]
                left = [at for at, code in zip(left, codes, strict=True) if code and code not in _REFUSED]
            if left:
                return Sent(refused, left[0])
        return Sent(refused, None)

    def _send(self, events: Sequence[BusEvent]) -> list[str]:
        """Return for each event the code of its failure; empty if EventBridge has it."""
        entries = [
            {
                "EventBusName": self._name,
                "Source": self._source,
                "DetailType": str(event.detail_type),
                "Detail": event.detail,
                "Time": datetime.fromisoformat(event.at),
            }
            for event in events
        ]
        try:
            answer = self._client.put_events(Entries=entries)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _REFUSED and len(events) > 1:  # it does not say which one is wrong
                return [code for event in events for code in self._send([event])]
            return [code] * len(events)
        except BotoCoreError:
            return ["unreachable"] * len(events)
        results = answer.get("Entries", [])
        return [one.get("ErrorCode", "") for one in results] + ["cut"] * (len(events) - len(results))


def _pause(attempt: int, until: Deadline) -> bool:
    """Sleep before an attempt, the first of which is 0; False if there is no time for it."""
    longest = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** min(attempt - 1, 8))
    seconds = _RANDOM.uniform(0, longest) if attempt else 0.0
    if not until.allows(seconds):
        return False
    time.sleep(seconds)
    return True


class Parking:
    """The queue for stream records that could not be told."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def park(self, body: str) -> None:
        """Put a message into the queue. Raises UnavailableError."""
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=body)
        except (BotoCoreError, ClientError) as error:
            raise UnavailableError("the queue does not answer; try again") from error

"""The events of the local server: what is told of changes, and to whom."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence

from forklore_local.in_process.opened import Opened
from forklore_local.in_process.outbox import Outbox, forget_receivers
from forklore_local.in_process.telling import Telling
from forklore_local.server.delivery import Delivery, Outgoing, Receiver
from forklore_local.server.receivers import open_receiver
from forklore_service.events.event import SOURCE, Content, Event

CONTENTS = [str(content) for content in Content]
_log = logging.getLogger("forklore")


class Events:
    """Opens the receivers, and delivers to them what a store tells.

    named: the values of `--on-event`. content: one of CONTENTS.
    """

    def __init__(self, named: Sequence[str], content: str) -> None:
        self._named = {_waiting_name(one): one for one in named}
        self._content = Content(content)
        self._receivers: dict[str, Receiver] = {}
        self._delivery: Delivery | None = None

    def open(self, environment: Mapping[str, str]) -> None:
        """Open the receivers. environment: of a function's process. Raises ValueError."""
        for waiting_name, named in self._named.items():
            self._receivers[waiting_name] = open_receiver(named, environment)

    def require(self, opened: Opened | None, name: str = "") -> None:
        """Deliver what is written, by this process or by others.

        Raises ValueError if there are receivers, and a DynamoDB keeps the data, or OSError if
        another process tells the events of the folder. name: of the DynamoDB, for people.
        """
        if not self._named:
            if opened is not None and opened.folder is not None:
                forget_receivers(opened.database, opened.folder)
            return
        if opened is None:
            raise ValueError(f"--on-event needs the embedded store, and not {name}")
        telling = Telling(opened.table, self._content)
        self._delivery = Delivery(
            Outbox(opened.database, opened.folder, list(self._named)),
            lambda record: [envelope(event) for event in telling.events_of(record)],
            self._receivers,
        )
        opened.database.committed = self._delivery.look

    def start(self) -> None:
        if self._delivery is not None:
            self._delivery.start()

    def stop(self) -> None:
        """Stop the delivery, and log how much was not delivered. A folder keeps it."""
        if self._delivery is not None and (waiting := self._delivery.stop()):
            _log.warning("waiting", extra={"waiting": waiting})

    def close(self) -> None:
        """Close the receivers, also after a start that failed."""
        for receiver in self._receivers.values():
            receiver.close()


def envelope(event: Event) -> Outgoing:
    """Return an event as a rule of EventBridge hands it over.

    EventBridge gives each event an id of its own. Here it is the event's own id.
    Source: EventBridge user guide, "AWS service event structure".
    """
    named = {
        "version": "0",
        "id": event.event_id,
        "detail-type": str(event.detail_type),
        "source": SOURCE,
        "account": "000000000000",
        "time": f"{event.at[:19]}Z",
        "region": "us-east-1",
        "resources": [],
    }
    text = json.dumps(named)[:-1]
    return Outgoing(event.event_id, f'{text}, "detail": {event.detail}}}')  # as exact as it was sent


def _waiting_name(named: str) -> str:
    """Return the name under which messages to a receiver wait: an address may hold a secret."""
    return hashlib.sha256(named.encode()).hexdigest()

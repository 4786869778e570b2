"""The events of what the store has changed, by the same code as those of a deployment."""

import json

from forklore.embedded.store import Store
from forklore.events.around import Around
from forklore.events.changes import change_of
from forklore.events.event import Content, Event
from forklore.events.telling import events_of
from forklore.storage.clock import Clock
from forklore.storage.connection import Connection
from forklore.storage.table import Table

READ_SECONDS = 5.0
"""How long the entries may be looked for that an event names."""
_KINDS = ("CONV#", "GONE#", "HEAD#")


def is_told(_partition: str, sort: str) -> bool:
    """Tell whether the change of an item may tell something. events/telling.py has the rules."""
    return sort == "GROUP" or sort.startswith(_KINDS)


class Telling:
    """Makes events of records. content: what they hold of the entries' content."""

    def __init__(self, store: Store, content: Content) -> None:
        self._table = Table(Connection(store.make_client(), store.name, Clock()))
        self._content = content

    def events_of(self, record: str) -> list[Event]:
        """Return the events of a record, which are the same each time as long as its entries exist.

        Raises UnavailableError if the store does not answer, and any other error for a bug.
        """
        change = change_of(json.loads(record))
        table = self._table.within(READ_SECONDS, most=READ_SECONDS)
        return events_of(change, Around(table, [change]), content=self._content)

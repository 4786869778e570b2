"""The events of what the store has changed, by the same code as those of a deployment."""

import json

from forklore_service.events.around import Around
from forklore_service.events.changes import change_of
from forklore_service.events.event import Content, Event
from forklore_service.events.from_changes import events_of
from forklore_service.storage.table import Table

READ_SECONDS = 5.0
"""How long the entries may be looked for that an event names."""


class Telling:
    """Makes events of records. content: what they hold of the entries' content."""

    def __init__(self, table: Table, content: Content) -> None:
        self._table = table
        self._content = content

    def events_of(self, record: str) -> list[Event]:
        """Return the events of a record, which are the same each time as long as its entries exist.

        Raises UnavailableError if the store does not answer, and any other error for a bug.
        """
        change = change_of(json.loads(record))
        table = self._table.within(READ_SECONDS, most=READ_SECONDS)
        return events_of(change, Around(table, [change]), content=self._content)

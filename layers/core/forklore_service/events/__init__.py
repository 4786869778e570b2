"""Events: what has changed in the table, told to whoever wants to know.

    changes.py       a Change: one item before and after a write, read from a stream record
    event.py         an Event: its type, its id, its detail as JSON
    from_changes.py  events_of(change, look): the events that one change makes, without any effect
    around.py        what `look` is: the other items that an event names, of a batch or of the table
    publishing.py    publish(changes, ...): the events of a batch, sent to a bus

For each thing that happens, one item alone tells it (docs/events.md). So a batch may be cut and
repeated anywhere, and each event comes out with the same id.
"""

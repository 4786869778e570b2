"""Where entries of Pydantic AI are in forklore, as far as this process knows."""

from collections import OrderedDict
from dataclasses import dataclass

PLACES_MAX = 20_000


@dataclass(frozen=True)
class Place:
    """A place in a line.

    line: the id of a conversation of forklore that shows the entry.
    entry_id: the entry's id in forklore; None: it is near the end of the line.
    """

    line: str
    entry_id: str | None


class Places:
    """The places of the entries that were named last, by their ids in Pydantic AI."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, Place] = OrderedDict()

    def get(self, entry_id: str) -> Place | None:
        """Return where an entry was seen last; None if it is not known."""
        return self._places.get(entry_id)

    def put(self, entry_id: str, place: Place) -> None:
        """Note where an entry was seen. The oldest note is forgotten if there are too many."""
        self._places[entry_id] = place
        self._places.move_to_end(entry_id)
        if len(self._places) > PLACES_MAX:
            self._places.popitem(last=False)

    def put_line(self, entry_id: str, line: str) -> None:
        """Note the line that shows an entry. A closer place in the same line stays."""
        known = self._places.get(entry_id)
        if known is None or known.line != line:
            self.put(entry_id, Place(line, None))

    def forget(self, entry_id: str) -> None:
        """Forget a place that was wrong."""
        self._places.pop(entry_id, None)

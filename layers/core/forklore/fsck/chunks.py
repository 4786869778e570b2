"""Large bodies, put together from their chunks and let go again as soon as they were read."""

import zlib
from collections import OrderedDict

from forklore.domain import jsontext
from forklore.domain.keys import Key
from forklore.errors import ValidationError
from forklore.storage import bodies

OPEN_MAX = 32
"""Bodies held at once: the chunks of one lie beside each other, whichever way a table is read."""


def is_content(body: bytes) -> bool:
    """Tell whether an entry's body reads as the JSON array that a content is."""
    try:
        return isinstance(jsontext.read_value(bodies.decode(body)), list)
    except (ValueError, ValidationError, RecursionError, zlib.error):
        return False


class Chunks:
    """The chunks of bodies. counts: of how many those are that were found, by partition."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.broken: set[str] = set()
        self._open: OrderedDict[str, dict[int, bytes]] = OrderedDict()

    def take(self, key: Key, data: bytes) -> None:
        """Note a chunk. Raises ValueError if its sort key is no number of a chunk."""
        number = int(key.sort)
        if key.sort != f"{number:04}":
            raise ValueError(key.sort)
        self._open.setdefault(key.partition, {})[number] = data
        self._open.move_to_end(key.partition)
        self.counts[key.partition] = self.counts.get(key.partition, 0) + 1
        if len(self._open) > OPEN_MAX:
            self._read(*self._open.popitem(last=False))

    def finish(self) -> None:
        """Read what is still held."""
        while self._open:
            self._read(*self._open.popitem())

    def _read(self, partition: str, held: dict[int, bytes]) -> None:
        whole = sorted(held) == list(range(self.counts[partition]))
        if not whole or not is_content(b"".join(held[at] for at in sorted(held))):
            self.broken.add(partition)

"""Large bodies. They are put together from their chunks, checked, and dropped from memory."""

import zlib
from collections import OrderedDict
from typing import Any

from forklore_service.domain import jsontext
from forklore_service.domain.keys import Key
from forklore_service.errors import ValidationError
from forklore_service.storage import bodies

OPEN_MAX = 32
"""How many bodies are held at once. Any read of a table returns a body's chunks together."""


def content_of(body: bytes) -> list[Any] | None:
    """Return the content of a body; None if it cannot be read as a JSON array, as every one is."""
    try:
        content = jsontext.read_value(bodies.decode(body))
    except (ValueError, ValidationError, RecursionError, zlib.error):
        return None
    return content if isinstance(content, list) else None


class Chunks:
    """The chunks of all bodies.

    counts: how many chunks were found, by partition. broken: partitions whose chunks are no body.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.broken: set[str] = set()
        self._open: OrderedDict[str, dict[int, bytes]] = OrderedDict()

    def take(self, key: Key, data: bytes) -> None:
        """Note a chunk. Raises ValueError if its sort key is not a chunk number."""
        number = int(key.sort)
        if key.sort != f"{number:04}":
            raise ValueError(key.sort)
        self._open.setdefault(key.partition, {})[number] = data
        self._open.move_to_end(key.partition)
        self.counts[key.partition] = self.counts.get(key.partition, 0) + 1
        if len(self._open) > OPEN_MAX:
            self._read(*self._open.popitem(last=False))

    def finish(self) -> None:
        """Check the bodies that are still held."""
        while self._open:
            self._read(*self._open.popitem())

    def _read(self, partition: str, held: dict[int, bytes]) -> None:
        whole = sorted(held) == list(range(self.counts[partition]))
        if not whole or content_of(b"".join(held[at] for at in sorted(held))) is None:
            self.broken.add(partition)

"""An agent's memory as it was read: a list that knows what it was read from."""

from collections.abc import Iterable
from typing import Any

from forklore.client.generated.results import Entry
from forklore.client.messages import id_of
from forklore.client.omitted import Omitted

NOTHING = "none"
"""What a memory is based on where there was none."""


class Memory(list[Any]):
    """The elements of a memory. Change the list and hand it over again.

    based_on: the last entry that it was read from, or that it was written to since; `none` if
    there was none.
    """

    def __init__(self, elements: Iterable[Any] = (), *, based_on: str = NOTHING) -> None:
        super().__init__(elements)
        self.based_on = based_on


Base = Memory | Entry | str | None | Omitted
"""What a memory goes on from: a memory, an entry or its id; None: whatever is stored."""


def base_of(memory: Any, given: Base, seen: str) -> str | None:
    """Return the id of the entry that a memory goes on from; None: whatever is stored.

    given: what the caller says. seen: the last entry that was read or written in this place, or
    NOTHING.
    """
    if given is None:
        return None
    if isinstance(given, Omitted):
        return memory.based_on if isinstance(memory, Memory) else seen
    return given.based_on if isinstance(given, Memory) else id_of(given)

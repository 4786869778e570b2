"""The changes that are told of, which wait until their receivers have them.

A change and its messages are one write of the journal. So nothing is told of a change that did not
happen, and each change is told at least once, also after the process was killed.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

HELD_BYTES_MAX = 64 * 1024 * 1024
"""How much may wait where no folder keeps it."""
_log = logging.getLogger("forklore")


class Message(NamedTuple):
    """A change that a receiver is told of. text: a record as a stream of DynamoDB has it, as JSON.

    tree: the partition key of the item. The changes of one tree are told in their order.
    """

    receiver: str
    tree: str
    text: str


class Waiting(NamedTuple):
    """A message without its text. Later messages have higher numbers."""

    number: int
    receiver: str
    tree: str


class Messages(Protocol):
    """Where messages wait."""

    def add_messages(self, messages: Sequence[Message]) -> list[int]:
        """Keep all messages and return their numbers, or keep none and return no number."""

    def waiting(self, receivers: Sequence[str]) -> list[Waiting]:
        """Return what waits, in its order. Messages to other receivers are deleted."""

    def message(self, number: int) -> str:
        """Return a text. Raises KeyError for a message that does not wait."""

    def delete_message(self, number: int) -> None:
        """Delete a message, if it is there."""


class HeldMessages:
    """Messages in memory. What goes beyond `bytes_max` is not kept, which is logged once."""

    def __init__(self, bytes_max: int = HELD_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._next = 1
        self._held: dict[int, Message] = {}
        self._dropped = 0

    def add_messages(self, messages: Sequence[Message]) -> list[int]:
        added = sum(_bytes(message) for message in messages)
        if self._bytes + added > self._bytes_max:
            if not self._dropped:
                _log.error("dropping", extra={"waiting": len(self._held)})
            self._dropped += len(messages)
            return []
        self._bytes += added
        numbers = list(range(self._next, self._next + len(messages)))
        self._next += len(messages)
        self._held.update(zip(numbers, messages, strict=True))
        return numbers

    def waiting(self, receivers: Sequence[str]) -> list[Waiting]:
        self._held = {number: one for number, one in self._held.items() if one.receiver in receivers}
        return [Waiting(number, one.receiver, one.tree) for number, one in self._held.items()]

    def message(self, number: int) -> str:
        return self._held[number].text

    def delete_message(self, number: int) -> None:
        held = self._held.pop(number, None)
        if held is not None:
            self._bytes -= _bytes(held)
            if self._dropped and self._bytes < self._bytes_max / 2:
                _log.error("dropped", extra={"dropped": self._dropped})
                self._dropped = 0


class Outbox:
    """What a store tells, and to whom.

    is_told: whether a change of the item with this partition key and sort key is told. receivers:
    each is told all of it. added: called, under the lock of the store, when messages begin to wait.
    """

    def __init__(self, is_told: Callable[[str, str], bool], receivers: Sequence[str]) -> None:
        self.is_told = is_told
        self.receivers = tuple(receivers)
        self.added: Callable[[Sequence[Waiting]], object] = lambda _: None


def _bytes(message: Message) -> int:
    return len(message.text) * 2 + 500

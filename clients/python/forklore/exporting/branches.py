"""The branches of a fork tree, as commands list them."""

from typing import TYPE_CHECKING, Any

from forklore.client.result_base import wire

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.conversation import Conversation

PAGE_ENTRIES = 1_000
Row = dict[str, Any]
"""A row of `listForks`, under the names of the API."""


def live_rows(conversation: "Conversation") -> list[Row]:
    """Return the branches that are there, the oldest first."""
    return [wire(fork) for fork in conversation.forks()]

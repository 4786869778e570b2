"""The history of a whole fork tree."""

from typing import NamedTuple

from forklore.client.generated.results import Fork, ListedEntry


class Tree(NamedTuple):
    """Each entry of the history once, and each branch, both the oldest first."""

    entries: list[ListedEntry]
    branches: list[Fork]

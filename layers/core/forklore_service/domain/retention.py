"""Which fork trees are deleted because nobody has used them for long."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.keys import TREE_SHARDS, ListKey
from forklore_service.domain.model import Conversation, Head
from forklore_service.domain.tree import Group

DAY_MS = 24 * 3600 * 1000
EXEMPT = ("retention", "keep")
"""The tag, and its value, that keep a tree, if one of its conversations has it."""
FIRST_PLACE = ListKey("0", "")
"""A place before every tree."""


class Round(NamedTuple):
    """One look through all old trees. places: how far each shard of the list was read; None: all.

    begun_at: when it began.
    """

    begun_at: str
    places: Sequence[ListKey | None] = (FIRST_PLACE,) * TREE_SHARDS

    @property
    def is_over(self) -> bool:
        return all(place is None for place in self.places)


class UnusedTree(NamedTuple):
    """A tree that nobody has used for long.

    heads: all its HEADs, as they were read after `group`.
    """

    group: Group
    heads: Mapping[str, Head]

    @property
    def used_at(self) -> str:
        """When it was last used."""
        return used_at(self.group, self.heads)

    def shown(self) -> dict[str, Any]:
        """Return what an operator sees of it."""
        return {
            "conversationId": self.group.group_id,
            "ownerUserId": self.group.owner,
            "conversations": len(self.heads),
            "createdAt": self.group.created_at,
            "usedAt": self.used_at,
        }


def used_at(group: Group, heads: Mapping[str, Head]) -> str:
    """Return when a tree was last used. heads: all its HEADs.

    That is when a conversation was made, appended to, changed, promoted, removed or restored.
    """
    of_tree = [group.used_at or group.created_at, group.restored_at or ""]
    return max([*of_tree, *(head.updated_at for head in heads.values())])


def unused_before(now_ms: int, days: int) -> str:
    """Return the time before which a tree must have been used last, to be deleted."""
    return ids.timestamp(now_ms - days * DAY_MS)


def is_exempt(conversation: Conversation) -> bool:
    """Tell whether a conversation keeps its tree."""
    name, value = EXEMPT
    return conversation.described.tags.get(name) == value


def days_in_trash(deleted_days: int, retention_days: int) -> int:
    """Return for how many days a deleted tree stays in the trash: never longer than the retention.

    >>> days_in_trash(30, 0), days_in_trash(30, 7)
    (30, 7)
    """
    return min(deleted_days, retention_days) if retention_days else deleted_days

"""An event: what subscribers get. docs/events.md describes each type."""

import uuid
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from forklore_service.domain.jsontext import to_json

SOURCE = "forklore"
"""The source of all events."""
BYTES_MAX = 256 * 1024
"""What an event may have. Source: "Calculating PutEvents event entry size" (EventBridge guide)."""
_TIME_BYTES = 14
"""What the time of an event counts there."""
_IDS = uuid.UUID("5a0b6f1c-6f0e-5b6e-9d0c-7f6f726b6c6f")


class DetailType(StrEnum):
    """What has happened."""

    CONVERSATION_CREATED = "ConversationCreated"
    CONVERSATION_CHANGED = "ConversationChanged"
    ENTRIES_APPENDED = "EntriesAppended"
    BRANCH_PROMOTED = "BranchPromoted"
    BRANCH_DELETED = "BranchDeleted"
    BRANCH_RESTORED = "BranchRestored"
    TREE_DELETED = "TreeDeleted"
    TREE_RESTORED = "TreeRestored"
    MEMBERSHIP_CHANGED = "MembershipChanged"
    OWNERSHIP_TRANSFERRED = "OwnershipTransferred"
    NOTE_ADDED = "NoteAdded"


class Content(StrEnum):
    """What events hold of the entries' content."""

    NONE = "none"
    HISTORY = "history"


class Event(NamedTuple):
    """Something that has happened in one tree. detail: JSON, with the id. at: when, RFC 3339."""

    detail_type: DetailType
    event_id: str
    detail: str
    at: str

    @property
    def size(self) -> int:
        """How many bytes the event has for EventBridge."""
        return size_of(self.detail_type, self.detail)


def size_of(detail_type: DetailType, detail: str) -> int:
    """Return how many bytes an event of this detail has for EventBridge."""
    return _TIME_BYTES + len(SOURCE) + len(detail_type) + len(detail.encode())


def event_id(detail_type: DetailType, *of: object) -> str:
    """Return the id of an event. of: what tells it from all others of its type, in every table.

    The id is a UUID, so that it also serves as an Idempotency-Key or as the id of a conversation.
    """
    return str(uuid.uuid5(_IDS, "#".join(map(str, (detail_type, *of)))))


def detail_of(event_id: str, tree_id: str, fields: Mapping[str, Any]) -> str:
    """Return a detail as JSON text. Fields that are None are left out."""
    present = {name: value for name, value in fields.items() if value is not None}
    return to_json({"eventId": event_id, "treeId": tree_id, **present})

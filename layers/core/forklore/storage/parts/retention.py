"""The part about the deletion of unused trees (item RETENTION)."""

from forklore.domain.retention import Round
from forklore.storage import items
from forklore.storage.parts import part
from forklore.storage.parts.part import Part, PartKind


def put(begun: Round) -> Part:
    """Store how far a round came."""
    return part.put(PartKind.RETENTION, items.retention_item(begun))

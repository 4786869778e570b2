"""The action about the deletion of unused trees (item RETENTION)."""

from forklore.domain.retention import Round
from forklore.storage import items
from forklore.storage.actions import action
from forklore.storage.actions.action import Action, ActionKind


def put(begun: Round) -> Action:
    """Store how far a round came."""
    return action.put(ActionKind.RETENTION, items.retention_item(begun))

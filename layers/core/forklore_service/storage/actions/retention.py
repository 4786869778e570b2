"""The action about the deletion of unused trees (item RETENTION)."""

from forklore_service.domain.retention import Round
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import Action, ActionKind


def put(begun: Round) -> Action:
    """Store how far a round came."""
    return action.put(ActionKind.RETENTION, items.retention_item(begun))

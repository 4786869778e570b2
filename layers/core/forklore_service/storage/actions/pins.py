"""The action about what a user has pinned (item PINS)."""

from collections.abc import Sequence

from forklore_service.domain import keys
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_NEW, Action, ActionKind


def replace(user_id: str, rows: Sequence[str], *, was: Sequence[str]) -> Action:
    """Replace a user's pins, if they are as they were read. The last one to go takes the item."""
    condition, values = IS_NEW, action.NO_VALUES
    if was:
        condition, values = "#rows = :was", {":was": items.pins_item(user_id, was)["rows"]}
    if not rows:
        return action.delete(ActionKind.PINS, keys.pins(user_id), condition=condition, values=values)
    return action.put(ActionKind.PINS, items.pins_item(user_id, rows), condition=condition, values=values)

"""The actions about links for readers (item LINK)."""

from forklore_service.domain import keys
from forklore_service.domain.links import ReaderLink
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_THERE, Action, ActionKind
from forklore_service.storage.items import number


def put(group_id: str, link: ReaderLink) -> Action:
    """Put a new link. Only an earlier attempt of the same request has put one of its id."""
    return action.put(ActionKind.LINK, items.link_item(group_id, link))


def delete(group_id: str, link_id: str) -> Action:
    """Delete a link, whether it is there or not."""
    return action.delete(ActionKind.LINK, keys.link(group_id, link_id), of=link_id)


def count(group_id: str, link_id: str) -> Action:
    """Count that a link was opened, if it is still there."""
    return action.update(
        ActionKind.LINK,
        keys.link(group_id, link_id),
        "ADD #opens :one",
        condition=IS_THERE,
        values={":one": number(1)},
    )

"""The actions about a user's names (item NAME)."""

from forklore_service.domain import keys
from forklore_service.domain.names import Name, NameRef
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import IS_NEW, Action, ActionKind
from forklore_service.storage.items import number, text


def move(name: Name, *, was: Name | None, data: str | None, holds_data: bool = False) -> Action:
    """Make a name or point it elsewhere, if nobody has moved it since it was read.

    was: the name as it was read; None: there was none. data: replaces the name's; None: it stays.
    holds_data: whether data that stay must be those that were read, because the answer shows them.
    """
    client_id = name.ref.owner.client_id
    sets = {
        "conversation": text(name.conversation_id),
        "revision": number(name.revision),
        "createdAt": text(name.created_at),
        "updatedAt": text(name.updated_at),
        "nonce": text(name.nonce),
        **({"clientId": text(client_id)} if client_id is not None else {}),
        **({"data": text(data)} if data is not None else {}),
        **({"previous": text(name.previous_id)} if name.previous_id is not None else {}),
    }
    change = f"SET {', '.join(f'#{attribute} = :{attribute}' for attribute in sets)}"
    values = {f":{attribute}": value for attribute, value in sets.items()}
    condition = IS_NEW
    if was is not None:
        condition = "#nonce = :made"
        values[":made"] = text(was.nonce)
        if holds_data and data is None:
            condition += " AND attribute_not_exists(#data)" if was.data is None else " AND #data = :held"
            values |= {} if was.data is None else {":held": text(was.data)}
    return action.update(ActionKind.NAME, keys.name(name.ref), change, condition=condition, values=values)


def hold(ref: NameRef, conversation_id: str, *, at: str, data: str | None) -> Action:
    """Note an append by a name, if the name still points to the conversation.

    at: the time of the append, also if another clock was ahead of it. An update cannot compare.
    data: replaces the name's; None: it stays.
    """
    change, values = "SET #updatedAt = :at", {":at": text(at), ":there": text(conversation_id)}
    if data is not None:
        change += ", #data = :data"
        values[":data"] = text(data)
    return action.update(
        ActionKind.NAME, keys.name(ref), change, condition="#conversation = :there", values=values
    )


def delete(name: Name) -> Action:
    """Delete a name, if nobody has moved it since it was read."""
    return action.delete(
        ActionKind.NAME, keys.name(name.ref), condition="#nonce = :made", values={":made": text(name.nonce)}
    )

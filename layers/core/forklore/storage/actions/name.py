"""The actions about a user's names (item NAME)."""

from forklore.domain import keys
from forklore.domain.names import Name, NameRef
from forklore.storage.actions import action
from forklore.storage.actions.action import Action, ActionKind, Names
from forklore.storage.items import number, text


def move(name: Name, *, was: Name | None, data: str | None, holds_data: bool = False) -> Action:
    """Make a name or point it elsewhere, if nobody has moved it since it was read.

    was: the name as it was read; None: there was none. data: replaces the name's; None: it stays.
    holds_data: whether data that stay must be those that were read, because the answer shows them.
    """
    n = Names()
    client_id = name.ref.owner.client_id
    sets = {
        "conversation": text(name.conversation_id),
        "revision": number(name.revision),
        "createdAt": text(name.created_at),
        "updatedAt": text(name.updated_at),
        "nonce": text(name.nonce),
        "clientId": text(client_id) if client_id is not None else None,
        "data": text(data) if data is not None else None,
    }
    changes = ", ".join(f"{n.name(a)} = {n.value(a, v)}" for a, v in sets.items() if v is not None)
    if was is None:
        conditions = ["attribute_not_exists(PK)"]
    else:
        conditions = [f"{n.name('nonce')} = {n.value('made', text(was.nonce))}"]
        if holds_data and data is None:
            held = n.name("data")
            none = f"attribute_not_exists({held})"
            conditions.append(none if was.data is None else f"{held} = {n.value('held', text(was.data))}")
    return action.update(
        ActionKind.NAME,
        keys.name(name.ref),
        UpdateExpression=f"SET {changes}",
        ConditionExpression=" AND ".join(conditions),
        **n.attributes(),
    )


def hold(ref: NameRef, conversation_id: str, *, at: str, data: str | None) -> Action:
    """Note an append by a name, if the name still points to the conversation.

    at: the time of the append, also if another clock was ahead of it. An update cannot compare.
    data: replaces the name's; None: it stays.
    """
    n = Names()
    changes = [f"{n.name('updatedAt')} = {n.value('at', text(at))}"]
    if data is not None:
        changes.append(f"{n.name('data')} = {n.value('data', text(data))}")
    there = n.value("there", text(conversation_id))
    return action.update(
        ActionKind.NAME,
        keys.name(ref),
        UpdateExpression=f"SET {', '.join(changes)}",
        ConditionExpression=f"{n.name('conversation')} = {there}",
        **n.attributes(),
    )


def delete(name: Name) -> Action:
    """Delete a name, if nobody has moved it since it was read."""
    return action.delete(
        ActionKind.NAME,
        keys.name(name.ref),
        ConditionExpression="#nonce = :made",
        ExpressionAttributeNames={"#nonce": "nonce"},
        ExpressionAttributeValues={":made": text(name.nonce)},
    )

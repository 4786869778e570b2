"""The actions about an answer that is being written (item PART, and what HEAD says of it)."""

from typing import Any

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Answering
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import Action, ActionKind
from forklore_service.storage.items import text


def put(group_id: str, answer_id: str, part: Part, *, now_s: int) -> Action:
    """Put a part of a log if its position is free.

    This one condition orders all that is written to the log. Whoever puts a part has seen the one
    before it, which never changes. So no position is left out, and nothing follows an end.
    """
    item = items.part_item(group_id, answer_id, part)
    return action.put_unless_current(ActionKind.PART, item, now_s=now_s, of=answer_id)


def begin(
    group_id: str,
    conversation_id: str,
    answer: Answering,
    *,
    seen: str | None,
    last: EntryId | None,
    owner: str | None,
) -> Action:
    """Name a new answer in HEAD, if there is none, or still the one that was seen.

    last, owner: if not None, what must still be the last own entry, or the floor, and the owner.
    """
    values = {f":{name}": held for name, held in items.answering(answer).items()}
    sets = ", ".join(f"#{name[1:]} = {name}" for name in values)
    condition = "attribute_not_exists(#answer)"
    if seen is not None:
        condition, values[":seen"] = "#answer = :seen", text(seen)
    condition = f"{action.IS_OPEN} AND {condition}"
    condition += _still(values, last=last, owner=owner)
    removes = " REMOVE #answerAfter" if answer.after is None else ""
    key = keys.head(group_id, conversation_id)
    return action.update(
        ActionKind.HEAD,
        key,
        f"SET {sets}{removes}",
        of=conversation_id,
        condition=condition,
        values=values,
    )


def end(
    group_id: str,
    conversation_id: str,
    answer_id: str,
    *,
    last: EntryId | None = None,
    owner: str | None = None,
) -> Action:
    """Remove an answer from the HEAD of the conversation in which it was begun.

    The same transaction puts the end of its log. last, owner: as of `begin`.
    """
    condition = f"#answer = :answer AND {action.IS_NOT_KEPT}"
    values = {":answer": text(answer_id)}
    condition += _still(values, last=last, owner=owner)
    return action.update(
        ActionKind.ANSWER_HEAD,
        keys.head(group_id, conversation_id),
        _FORGET,
        of=conversation_id,
        condition=condition,
        values=values,
    )


def _still(values: dict[str, Any], *, last: EntryId | None, owner: str | None) -> str:
    """Return what a condition also says, and add its values. last, owner: as of `begin`."""
    held = {"last": last, "owner": owner}
    also = {name: text(value) for name, value in held.items() if value is not None}
    values.update({f":{name}": value for name, value in also.items()})
    return "".join(f" AND #{name} = :{name}" for name in also)


_FORGET = f"REMOVE {', '.join(f'#{name}' for name in items.ANSWERING)}"


def forget(of: Key, user_id: str) -> Action:
    """Remove an answer from a HEAD, if the user writes it."""
    condition, values = "#answerBy = :user", {":user": text(user_id)}
    return action.update(
        ActionKind.HEAD, of, _FORGET, of=f"{of.sort} answer", condition=condition, values=values
    )


def keep(group_id: str, conversation_id: str, answer_id: str) -> Action:
    """Name an answer in CONV, as the same transaction deletes HEAD of a deleted tree.

    CONV is there until the worker removes the tree. It must not come back.
    """
    return action.update(
        ActionKind.CONVERSATION,
        keys.conversation(group_id, conversation_id),
        "SET #answer = :answer",
        of=conversation_id,
        condition=action.IS_THERE,
        values={":answer": text(answer_id)},
    )

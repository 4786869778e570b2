"""Pin a fork tree, and unpin it: for one of its members alone.

A user's pins are an ordered list of rows of the user's list of trees. What the user cannot see any
more is passed over by who reads them, and dropped when there is no room.
"""

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.errors import PinLimitError, UnavailableError, ValidationError, brief
from forklore_service.limits import PINS_MAX
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import LoadedConversation, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


def pin_conversation(table: Table, *, caller: Caller, conversation_id: str, after_id: str | None) -> None:
    """Pin the conversation's tree for the caller, or move the pin.

    after_id: a conversation of the pinned tree that it comes after; None: it comes first. Nothing
    is written if it stands there. Raises NotFoundError, ForbiddenError if the caller is not a
    member, ValidationError if `after_id` is of no other pinned tree, PinLimitError.
    """
    for _ in attempts(table, CHANGE):
        row, was = _read(table, caller, conversation_id)
        now = [one for one in was if one != row]
        place = 0
        if after_id is not None:
            before = _pinned(table, caller, after_id)
            if before is None or before not in now:
                raise ValidationError(
                    f"no other pinned tree has {brief(after_id)}", field="afterConversationId"
                )
            place = now.index(before) + 1
        now.insert(place, row)
        if len(now) > PINS_MAX:
            now = _held(table, caller, now)
        if len(now) > PINS_MAX:
            raise PinLimitError(f"a user has at most {PINS_MAX} pins", pinsMax=PINS_MAX)
        if _replace(table, caller, now, was):
            return
    raise UnavailableError("the pins keep changing; try again")


def unpin_conversation(table: Table, *, caller: Caller, conversation_id: str) -> None:
    """Unpin the conversation's tree for the caller. Nothing is written if it is not pinned.

    Raises NotFoundError, ForbiddenError if the caller is not a member.
    """
    for _ in attempts(table, CHANGE):
        row, was = _read(table, caller, conversation_id)
        if _replace(table, caller, [one for one in was if one != row], was):
            return
    raise UnavailableError("the pins keep changing; try again")


def _read(table: Table, caller: Caller, conversation_id: str) -> tuple[str, tuple[str, ...]]:
    """Return the row of the conversation's tree in the caller's list, and the caller's pins."""
    extra = [keys.pins(caller.user_id)]
    looked = look_up(table, conversation_id, caller=caller, extra_keys=extra, describes=False)
    loaded = looked.require(conversation_id, AccessLevel.READER)
    return _row(caller, loaded), looked.found.pins(caller.user_id)


def _pinned(table: Table, caller: Caller, conversation_id: str) -> str | None:
    """Return the row of the tree of a conversation that the caller sees; None if there is none."""
    if not ids.is_uuid(conversation_id):
        return None
    loaded = look_up(table, conversation_id, caller=caller, describes=False).loaded
    return None if loaded is None or loaded.level is None else _row(caller, loaded)


def _row(caller: Caller, loaded: LoadedConversation) -> str:
    group = loaded.group
    return keys.user_tree(caller.user_id, group.created_at, group.group_id, is_child=group.is_child).sort


def _held(table: Table, caller: Caller, rows: list[str]) -> list[str]:
    """Return those of the rows that are still in the caller's list."""
    partition = keys.pins(caller.user_id).partition
    found = table.get(Key(partition, row) for row in rows)
    return [row for row in rows if Key(partition, row) in found]


def _replace(table: Table, caller: Caller, now: list[str], was: tuple[str, ...]) -> bool:
    """Return whether the pins are replaced, or were so already."""
    if now == [*was]:
        return True
    return table.try_commit([actions.pins.replace(caller.user_id, now, was=was)]) is None

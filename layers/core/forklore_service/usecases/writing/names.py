"""Names of conversations: make, move, look up, list and delete them."""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.domain.names import Name, NameMove, NameOwner, NameRef, require_revision
from forklore_service.errors import NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import ActionKind
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import level_of, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class ShownName(NamedTuple):
    """A name, and whether the caller cannot see its conversation: deleted, or not shared."""

    name: Name
    is_deleted: bool


def set_name(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    move: NameMove,
    idempotency_key: IdempotencyKey | None = None,
) -> ShownName:
    """Make a name of the caller's, or point it to another conversation.

    Raises NotFoundError, ForbiddenError if the caller is not a member of the conversation,
    NameMovedError if the name is not at the revision that the caller expects, IdempotentReplay for
    a replay.
    """
    nonce, once = table.nonce(), Once(table, caller, idempotency_key)
    for _ in attempts(table, CHANGE):
        looked_up = look_up(
            table,
            conversation_id,
            caller=caller,
            extra_keys=[keys.name(move.ref), *once.keys],
        )
        once.raise_if_answered(looked_up.found)
        group_id = looked_up.require(conversation_id, AccessLevel.READER).group.group_id
        was = looked_up.found.name(move.ref)
        name = move.decide(
            was,
            conversation_id=conversation_id,
            now=table.now(),
            nonce=nonce,
            first_revision=table.first_revision(),
        )
        shown = ShownName(name, is_deleted=False)
        writes = [
            *once.record(group_id, conversation_id, shown),
            actions.name.move(name, was=was, data=move.data, holds_data=True),
            actions.conversation.check_head(group_id, conversation_id),
            actions.member.check(group_id, caller.user_id, AccessLevel.READER),
        ]
        refused = table.try_commit(writes)
        if refused is None or refused.has_nonce(ActionKind.NAME, nonce):
            table.cache.put_name(move.ref, conversation_id)
            return shown
        once.raise_if_recorded(refused)
    raise UnavailableError("the name is busy; try again")


def delete_name(table: Table, *, ref: NameRef, expect_revision: int | None = None) -> None:
    """Delete a name. It is free at once.

    Raises NotFoundError if there is none, NameMovedError if it is not at the revision that the
    caller expects.
    """
    for _ in attempts(table, CHANGE):
        name = _required(table, ref)
        require_revision(name, expect_revision)
        if table.try_commit([actions.name.delete(name)]) is None:
            table.cache.forget_name(ref)
            return
    raise UnavailableError("the name is busy; try again")


def get_name(table: Table, *, caller: Caller, ref: NameRef) -> ShownName:
    """Return a name. Raises NotFoundError if there is none."""
    name = _required(table, ref)
    return ShownName(name, is_deleted=is_hidden(table, caller, name))


def is_hidden(table: Table, caller: Caller, name: Name) -> bool:
    """Tell whether the caller cannot see the conversation of a name: deleted, or not shared."""
    loaded = look_up(table, name.conversation_id, caller=caller, existed=True).loaded
    return loaded is None or loaded.level is None


def conversation_named(table: Table, *, caller: Caller, name: str) -> str:
    """Return the conversation that a name of the caller's points to.

    Raises NotFoundError if there is no such name.
    """
    return _required(table, NameRef.of(caller, name)).conversation_id


def _required(table: Table, ref: NameRef) -> Name:
    name = table.get([keys.name(ref)]).name(ref)
    if name is None:
        client = ref.owner.client_id
        whose = "without a client" if client is None else f"of client {brief(client)}"
        raise NotFoundError(f"no name {brief(ref.name)} among the names {whose}")
    return name


def list_names(
    table: Table,
    *,
    caller: Caller,
    owner: NameOwner,
    prefix: str,
    after: NameRef | InvalidCursor | None,
    limit: int,
) -> PageOf[ShownName, NameRef]:
    """Return a page of an owner's names that begin with `prefix`, in the order of their bytes.

    Raises InvalidCursorError for an invalid `after`.
    """
    place = cursors.valid(after)
    names = table.read.names(
        owner, prefix=prefix, after=place.name if place is not None else None, limit=limit + 1
    )
    return _page(table, caller, list(names), limit)


def list_names_of_user(
    table: Table, *, caller: Caller, user_id: str, after: NameRef | InvalidCursor | None, limit: int
) -> PageOf[ShownName, NameRef]:
    """Return a page of all names of a user: those without a client, then client by client.

    Raises InvalidCursorError for an invalid `after`.
    """
    names = table.read.all_names(user_id, after=cursors.valid(after), limit=limit + 1)
    return _page(table, caller, list(names), limit)


def _page(table: Table, caller: Caller, names: Sequence[Name], limit: int) -> PageOf[ShownName, NameRef]:
    """Return the first `limit` names as a page. names: these, and the next one, if there is one."""
    page = names[:limit]
    return PageOf(_shown(table, caller, page), page[-1].ref if len(names) > limit else None)


def _shown(table: Table, caller: Caller, names: Sequence[Name]) -> list[ShownName]:
    visible = _visible(table, caller, [name.conversation_id for name in names])
    unclear = [conversation_id for conversation_id, is_visible in visible.items() if is_visible is None]
    if unclear:
        for conversation_id in unclear:
            table.cache.forget(conversation_id)
        table.pause(1)
        visible |= _visible(table, caller, unclear)
    return [ShownName(name, is_deleted=not visible[name.conversation_id]) for name in names]


def _visible(table: Table, caller: Caller, conversation_ids: Sequence[str]) -> dict[str, bool | None]:
    """Return for each conversation whether the caller can see it.

    None: it looks neither live nor deleted. It may be in the middle of its creation, as
    BatchGetItem is not a snapshot; or it is deleted, and its tree is known from the cache.
    """
    known = {one: cached.group_id for one in conversation_ids if (cached := table.cache.get(one))}
    unknown = [one for one in conversation_ids if one not in known]
    pointed = table.get(map(keys.pointer, unknown))
    pointers = {one: pointed.pointer(one, now_s=table.now_s()) for one in unknown}
    trees = known | {
        one: pointer.group_id for one, pointer in pointers.items() if pointer and pointer.group_id
    }
    found = table.get(
        key
        for one, group_id in trees.items()
        for key in (
            keys.group(group_id),
            keys.head(group_id, one),
            keys.member(group_id, caller.user_id),
        )
    )

    def is_visible(conversation_id: str) -> bool | None:
        group_id = trees.get(conversation_id)
        if group_id is None:
            return None if pointers[conversation_id] is None else False
        group, is_open = found.group(group_id), keys.head(group_id, conversation_id) in found
        if group is not None and not group.is_live:
            return False
        return level_of(found, group_id, caller) is not None if group and is_open else None

    return {one: is_visible(one) for one in conversation_ids}

"""Append to the conversation that a name points to."""

from forklore_service.domain import keys
from forklore_service.domain.model import Caller
from forklore_service.domain.names import Name, NameMove
from forklore_service.errors import ForkloreError, NameMovedError, UnavailableError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.appended import Appended, appended_again
from forklore_service.usecases.shared.idempotency import IdempotentReplay, Once
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_unless_done
from forklore_service.usecases.writing.names import is_hidden


def append_by_name(table: Table, *, caller: Caller, move: NameMove, request: Append) -> Appended:
    """Append to the conversation that a name of the caller's points to.

    If there is no such name, the conversation and the name are made with the entries; if the caller
    cannot see the conversation of the name any more, a new one takes the name. The name points
    there when the entries are written; if it moves meanwhile, the append follows it.
    move: the name, as it is made. request: what to append; its conversation id is not used.
    Raises as `append_turn`.
    """
    try:
        return _append(table, caller, move, request)
    except IdempotentReplay as before:
        return appended_again(table, before.record)


def _append(table: Table, caller: Caller, move: NameMove, request: Append) -> Appended:
    known = table.cache.named(move.ref)
    if known is None:
        name = _look_up(table, caller, move, request)
        known = name.conversation_id if name else None
    for _ in attempts(table, CHANGE):
        try:
            appended = append_unless_done(table, caller=caller, request=_to(table, known, move, request))
        except NameMovedError as moved:
            known = moved.conversation_id
            continue
        except UnavailableError:
            raise
        except (ForkloreError, IdempotentReplay) as error:
            # What there is to answer counts only if the name still points there. It may have moved.
            name = _look_up(table, caller, move, request)
            points_to = name.conversation_id if name else None
            if points_to != known:
                known = points_to
                continue
            if name is None or not is_hidden(table, caller, name):
                if isinstance(error, IdempotentReplay):
                    # It was sent by the conversation's id. Now it was sent by the name, too.
                    table.try_commit(Once(table, caller, request.idempotency_key).put(error.record))
                raise
            try:
                anew = move._replace(expect_revision=name.revision, left=name)
                return append_unless_done(table, caller=caller, request=_to(table, None, anew, request))
            except NameMovedError as moved:
                known = moved.conversation_id
                continue
        if known is not None:
            table.cache.put_name(move.ref, known)
        return appended
    raise UnavailableError("the name is busy; try again")


def _look_up(table: Table, caller: Caller, move: NameMove, request: Append) -> Name | None:
    """Return the name; None if there is none.

    Raises IdempotentReplay for a replay.
    """
    once = Once(table, caller, request.idempotency_key)
    found = table.get([keys.name(move.ref), *once.keys])
    once.raise_if_answered(found)
    name = found.name(move.ref)
    if name is None:
        table.cache.forget_name(move.ref)
    return name


def _to(table: Table, conversation_id: str | None, move: NameMove, request: Append) -> Append:
    """Return the append to a conversation; with None to a new one, which takes the name."""
    to, key = conversation_id or table.mint_conversation(), request.idempotency_key
    request = request._replace(conversation_id=to, idempotency_key=key.to(to) if key else None)
    return request._replace(name=move) if conversation_id is None else request._replace(held=move)

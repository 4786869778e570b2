"""Write an answer piece by piece: begin it, append to its log, stop it, drop it.

An append finishes it (`Finish`). Nothing runs between the requests. Who is first is decided by the
free position of the log that each of them wants.
"""

from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import (
    KEPT_SECONDS,
    NO_CONTENT,
    PART_BYTES_MAX,
    AnswerState,
    Part,
    PartKind,
)
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Answering, Caller, Json
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    PayloadTooLargeError,
    UnavailableError,
    brief,
)
from forklore_service.limits import escaped_size
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.table import Table
from forklore_service.usecases.answers.reading import Answer
from forklore_service.usecases.reading.entries import is_for
from forklore_service.usecases.reading.entry_lookup import find_entry
from forklore_service.usecases.shared.answer_logs import (
    AnswerRef,
    drop,
    last_part,
    no_answer,
    no_more,
    require_left,
)
from forklore_service.usecases.shared.drafts import require_match
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import LoadedConversation, LookUp, TreeExtras, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class Beginning(NamedTuple):
    """An answer to begin. answer_id None: an id is made.

    after, after_key: the entry that it follows, by its id or key; with neither the last one of the
    history. if_match: the last entry that the caller knows of. take_over: which answer is ended for
    this one, beside a silent one. None: one of the same user and client; True: any; False: none.
    """

    conversation_id: str
    answer_id: str | None = None
    after: EntryId | None = None
    after_key: str | None = None
    agent_id: str | None = None
    if_match: EntryId | None = None
    take_over: bool | None = None


def begin_answer(
    table: Table, *, caller: Caller, request: Beginning, idempotency_key: IdempotencyKey | None = None
) -> Answer:
    """Begin an answer, if the conversation has none.

    One that is silent, or whose user is no writer any more, is ended for it, and what the request
    takes over. Raises NotFoundError without the conversation or the entry, ForbiddenError below
    writer, ConflictError if somebody else writes an answer, if the id is in use, if `if_match` is
    not a last entry, or if the conversation has no room for what it becomes.
    """
    once, nonce = Once(table, caller, idempotency_key), table.nonce()
    answer_id = request.answer_id or table.mint_conversation()
    for _ in attempts(table, CHANGE):
        looked_up = look_up(
            table,
            request.conversation_id,
            caller=caller,
            extra_keys=once.keys,
            extras=TreeExtras(
                entries=(request.after,) if request.after is not None else (), entry_key=request.after_key
            ),
        )
        once.raise_if_answered(looked_up.found)
        loaded = looked_up.require(request.conversation_id, AccessLevel.WRITER)
        after = _after(table, caller, request, looked_up, loaded)
        try:
            require_match(request.if_match, loaded.head.lasts)
            sealed = _seal(table, caller, request, loaded, answer_id)
            table.refuse_beyond(loaded.head.metrics.entries + 1)
        except ConflictError:
            once.raise_if_answered(table.get(once.keys))  # HEAD may be newer than the record was
            raise
        group_id, at = loaded.group.group_id, table.now()
        standing = loaded.head.answer.answer_id if loaded.head.answer else None
        if sealed and standing == answer_id:
            raise _id_in_use(answer_id)
        part = Part(
            position=0,
            kind=PartKind.BEGIN,
            conversation_id=request.conversation_id,
            created_at=at,
            ttl=table.now_s() + KEPT_SECONDS,
            user_id=caller.user_id,
            client_id=caller.client_id,
            agent_id=request.agent_id,
            after=after,
            nonce=nonce,
        )
        begun = Answer(answer_id, part, part, AnswerState.OPEN)
        refused = table.try_commit(
            [
                *once.record(group_id, request.conversation_id, begun),
                actions.answer.put(group_id, answer_id, part, now_s=table.now_s()),
                actions.answer.begin(
                    group_id,
                    request.conversation_id,
                    Answering(answer_id, after, caller.user_id, at),
                    seen=standing,
                    last=None if request.if_match is None else loaded.head.last,
                    owner=_owner(caller, loaded),
                ),
                *sealed,
                *_check_member(caller, loaded),
            ]
        )
        if refused is None or refused.has_nonce(ActionKind.PART, nonce):
            return begun
        once.raise_if_recorded(refused)
        if refused.has(ActionKind.MEMBER):
            raise ForbiddenError("this needs the access level 'writer'")
        if refused.has(ActionKind.PART, answer_id):
            raise _id_in_use(answer_id)
    raise UnavailableError("the conversation is busy; try again")


def _id_in_use(answer_id: str) -> ConflictError:
    return ConflictError(f"the id {brief(answer_id)} is in use", reason="id_in_use")


def _after(
    table: Table, caller: Caller, request: Beginning, looked_up: LookUp, loaded: LoadedConversation
) -> EntryId | None:
    """Return the entry that an answer follows, which the conversation must show."""
    if request.after_key is not None:
        return find_entry(table, caller, loaded, looked_up.found, request.after_key).entry_id
    if request.after is None:
        return loaded.head.last_history
    stored = looked_up.found.entry(loaded.group.group_id, request.after)
    if stored is None or not is_for(caller, stored.entry, loaded):
        raise NotFoundError(f"no entry {brief(request.after)}")
    return stored.entry_id


def _seal(
    table: Table, caller: Caller, request: Beginning, loaded: LoadedConversation, next_id: str
) -> list[Action]:
    """Return the action that ends the answer which HEAD names, so that the next one may begin.

    None is needed if its log has ended since HEAD was read, or has expired. Raises ConflictError if
    somebody may still be at it.
    """
    answer = loaded.head.answer
    if answer is None:
        return []
    of = AnswerRef(loaded.group.group_id, answer.answer_id)
    last = last_part(table, of)
    if last is None or last.is_end:
        return []
    now_ms = table.now_ms()
    if not last.is_quiet(now_ms) and not request.take_over:
        own, instead = caller if request.take_over is None else None, "take it over"
        require_left(table, of, answer.user_id, last.state(now_ms), instead=instead, own=own)
    end = last.ended(at=ids.timestamp(now_ms), next_id=next_id)
    return [actions.answer.put(*of, end, now_s=table.now_s())]


def _owner(caller: Caller, loaded: LoadedConversation) -> str | None:
    """Return the owner that HEAD must still name, if the caller is the owner."""
    return caller.user_id if caller.user_id == loaded.head.owner else None


def _check_member(caller: Caller, loaded: LoadedConversation) -> list[Action]:
    """Return the check that a caller who is not the owner may still write."""
    if _owner(caller, loaded) is not None:
        return []
    return [actions.member.check(loaded.group.group_id, caller.user_id, AccessLevel.WRITER)]


def append_part(
    table: Table, *, caller: Caller, conversation_id: str, answer_id: str, after: int, content: Json
) -> int:
    """Append to the log of an answer. Return the position of the part.

    after: the position before it. It makes the request the same when it is repeated.
    Raises NotFoundError without the conversation or the answer, ForbiddenError below writer and for
    anybody but the user who has begun it, PayloadTooLargeError for too large a part, ConflictError
    if the answer was stopped, has ended, takes no more, or has other parts.
    """
    size = 0 if content == NO_CONTENT else escaped_size(content)
    if size > PART_BYTES_MAX:
        raise PayloadTooLargeError(f"a part's content is at most {PART_BYTES_MAX} bytes as escaped JSON")
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extras=TreeExtras(part=(answer_id, after)))
        loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
        of = AnswerRef(loaded.group.group_id, answer_id)
        before = looked_up.found.part(*of, after, now_s=table.now_s())
        if before is None:
            last = _last_of(table, of, conversation_id)
            if last.position >= after and last.kind in (PartKind.BEGIN, PartKind.DATA):
                continue  # the part before it has just been written
            raise _over(table, caller, last)
        if before.kind not in (PartKind.BEGIN, PartKind.DATA):
            raise _over(table, caller, _last_of(table, of, conversation_id))
        if before.conversation_id != conversation_id:
            raise no_answer(answer_id)
        if before.user_id != caller.user_id:
            raise ForbiddenError("an answer is written by the user who has begun it")
        part = before.with_data(content, size, at=table.now())
        there: Part | None = part
        if before.is_full(table.now_ms(), more_bytes=size):
            place = keys.part(*of, part.position)  # the same request, sent before, may have been in time
            there = table.get([place]).part(*of, part.position, now_s=table.now_s())
            if there is None:
                raise ConflictError("the answer takes no more; finish it", reason="answer_full")
        elif (refused := _put(table, of, part)) is not None:
            there = refused.part(now_s=table.now_s())
        if there is None or (there.kind, there.content) != (part.kind, part.content):
            raise _over(table, caller, _last_of(table, of, conversation_id))
        return part.position
    raise UnavailableError("the answer is busy; try again")


def _put(table: Table, of: AnswerRef, part: Part) -> ConditionFailed | None:
    """Put a part if its position is free. Return the refusal; None if it is written."""
    put = actions.answer.put(*of, part, now_s=table.now_s())
    return table.try_put(put, group_id=of.group_id)


def _last_of(table: Table, of: AnswerRef, conversation_id: str) -> Part:
    """Return the last part of an answer that was begun in the conversation."""
    last = last_part(table, of)
    if last is None or last.conversation_id != conversation_id:
        raise no_answer(of.answer_id)
    return last


def _over(table: Table, caller: Caller, last: Part) -> ConflictError:
    """Return the error for what does not follow the last part of a log.

    A deletion ends a log, too. Raises NotFoundError if its conversation is not there any more.
    """
    if last.is_end and last.entry is None:
        look_up(table, last.conversation_id, caller=caller).require(last.conversation_id, AccessLevel.WRITER)
    return no_more(last)


def stop_answer(table: Table, *, caller: Caller, conversation_id: str, answer_id: str) -> Answer:
    """Stop an answer: nothing more is written to its log, but for its end.

    If nobody seems to write it any more, it stays so: the stop is as old as the part before it.
    Raises NotFoundError without the conversation or the answer, ForbiddenError below writer,
    ConflictError if it has ended.
    """
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extras=TreeExtras(part=(answer_id, 0)))
        loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
        of = AnswerRef(loaded.group.group_id, answer_id)
        last = _last_of(table, of, conversation_id)
        begin = looked_up.found.part(*of, 0, now_s=table.now_s())
        if last.is_end:
            raise _over(table, caller, last)
        if begin is None:
            raise no_answer(answer_id)
        at = last.created_at if last.is_quiet(table.now_ms()) else table.now()
        stop = last if last.kind is PartKind.STOP else last.stopped(at=at)
        if stop is last or _put(table, of, stop) is None:
            return Answer(answer_id, begin, stop, AnswerState.STOPPED)
    raise UnavailableError("the answer is busy; try again")


def drop_answer(table: Table, *, caller: Caller, conversation_id: str, answer_id: str) -> None:
    """End an answer without an entry. Nothing is done if that was done before.

    Raises NotFoundError without the conversation or the answer, ForbiddenError below writer,
    ConflictError if it was finished.
    """
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller)
        loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
        of = AnswerRef(loaded.group.group_id, answer_id)
        last = _last_of(table, of, conversation_id)
        if last.is_end:
            over = _over(table, caller, last)
            if last.entry is not None:
                raise over
            return
        ended = drop(table, of, last, loaded.head, owner=_owner(caller, loaded))
        refused = table.try_commit([*ended, *_check_member(caller, loaded)])
        if refused is None:
            return
        if refused.has(ActionKind.MEMBER):
            raise ForbiddenError("this needs the access level 'writer'")
    raise UnavailableError("the answer is busy; try again")

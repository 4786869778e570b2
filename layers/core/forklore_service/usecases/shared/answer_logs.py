"""What the log of an answer says now, and how an append ends it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import SILENT_SECONDS, AnswerState, Part, PartKind, Standing
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller, Channel, Entry, EntryRef, Head
from forklore_service.errors import ConflictError, NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import LoadedConversation
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class AnswerRef(NamedTuple):
    """An answer of a fork tree."""

    group_id: str
    answer_id: str


def no_answer(answer_id: str) -> NotFoundError:
    """Return the error for an answer that there is not, or not any more."""
    return NotFoundError(f"no answer {brief(answer_id)}")


def last_part(table: Table, of: AnswerRef) -> Part | None:
    """Return the last part of a log; None if there is no log, or it has expired."""
    return next(table.read.parts(*of, now_s=table.now_s(), latest=1), None)


def require_left(
    table: Table, of: AnswerRef, user_id: str, state: AnswerState, *, instead: str, own: Caller | None = None
) -> None:
    """Raise ConflictError if somebody may still write or finish an answer that is not silent.

    Nobody may if the user is no writer of the tree any more. user_id: who has begun the answer.
    instead: what the caller can do, beside waiting. own: the caller, if that one's own are left.
    """
    found = table.get([keys.part(*of, 0), keys.member(of.group_id, user_id)])
    begin = found.part(*of, 0, now_s=table.now_s())
    member = found.member(of.group_id, user_id)
    if begin is None or member is None or not member.level.implies(AccessLevel.WRITER):
        return
    if own and (own.user_id, own.client_id) == (begin.user_id, begin.client_id):
        return
    by = f"{brief(begin.client_id)} for {brief(user_id)}" if begin.client_id else brief(user_id)
    raise ConflictError(
        f"an answer is being written since {begin.created_at}, by {by}: wait until it gets nothing for"
        f" {SILENT_SECONDS} seconds, or {instead}",
        reason="answer_in_progress",
        answerId=of.answer_id,
        state=state,
        userId=user_id,
        **({"clientId": begin.client_id} if begin.client_id else {}),
        since=begin.created_at,
    )


def no_more(last: Part) -> ConflictError:
    """Return the error for what does not follow the last part of a log."""
    match last.kind:
        case PartKind.END:
            told: dict[str, str | None] = {"nextAnswerId": last.next_id} if last.next_id else {}
            if last.entry:
                told = {"entryId": last.entry.entry_id, "conversationId": last.entry.conversation_id}
            return ConflictError("the answer has ended", reason="answer_over", **told)
        case PartKind.STOP:
            return ConflictError("the answer was stopped", reason="answer_stopped", position=last.position)
    return ConflictError(
        "another part stands there, or the one before it is missing", reason="stale", position=last.position
    )


def standing(table: Table, loaded: LoadedConversation) -> Standing | None:
    """Return the answer that is not ended in a conversation, as HEAD was read.

    Its log is read only if HEAD names one. If it has ended since, it is shown as it was before.
    """
    said = Standing.of(loaded.head.answer, now_s=table.now_s())
    if said is None:
        return None
    latest = table.read.parts(loaded.group.group_id, said.answer.answer_id, now_s=table.now_s(), latest=2)
    last = next((part for part in latest if not part.is_end), None)
    return said._replace(state=last.state(table.now_ms())) if last else None


def drop(
    table: Table, of: AnswerRef, last: Part, head: Head | None, *, owner: str | None = None
) -> list[Action]:
    """Return the actions that end an answer without an entry.

    head: of the conversation in which it was begun, if that is there. It may be older than `last`.
    owner: who must still be the owner; None: whoever is.
    """
    end = actions.answer.put(*of, last.ended(at=table.now()), now_s=table.now_s())
    if head is None:
        return [end]
    return [end, actions.answer.end(of.group_id, last.conversation_id, of.answer_id, owner=owner)]


def end_log(table: Table, of: AnswerRef, end: Callable[[Part], ConditionFailed | None]) -> list[Key]:
    """End the log of an answer. Return the keys of its parts but for the end, so that they can go.

    The end names nobody, and has no words. It keeps out a part that is still on its way.
    end: puts the end that follows a part, if nothing else does. Raises UnavailableError.
    """
    for _ in attempts(table, CHANGE):
        last = last_part(table, of)
        if last is None or last.is_end or end(last) is None:
            kept = last and keys.part(*of, last.position if last.is_end else last.position + 1)
            return [key for key in table.read.part_keys(*of) if key != kept]
    raise UnavailableError("the answer keeps changing; try again")


def delete_log(table: Table, of: AnswerRef) -> None:
    """Delete the log of an answer that nobody can read any more, but for its end."""
    table.delete(end_log(table, of, lambda last: table.try_commit(drop(table, of, last, None))))


class Finish:
    """The end of an answer, which an append writes in its own transaction.

    The answer may have been begun in another conversation of the tree than the append is for.
    """

    def __init__(self, table: Table, caller: Caller, of: AnswerRef) -> None:
        """Raise NotFoundError without such an answer, ConflictError if it has ended.

        Raise ConflictError, too, if somebody else still writes it.
        """
        self._table, self._caller, self._of = table, caller, of
        last = last_part(table, of) if ids.is_uuid(of.answer_id) else None
        if last is None:
            raise no_answer(of.answer_id)
        if last.is_end:
            raise no_more(last)
        state = last.state(table.now_ms())
        if state is AnswerState.OPEN and last.user_id not in (None, caller.user_id):
            require_left(table, of, last.user_id, state, instead="stop it first")
        self._last = last

    def actions(
        self, entries: Sequence[Entry], checks: Sequence[Action], *, to: str, last: EntryId | None = None
    ) -> list[Action]:
        """Return the actions that end the answer, with these checks of the append.

        to: the conversation that gets the entries. If the answer was begun there, the append itself
        changes HEAD. If not, the change of the other HEAD stands for a check of it, too. last: if
        not None, what must still be the last own entry there, or the floor.
        """
        of, begun_in = self._of, self._last.conversation_id
        became = next((one for one in reversed(entries) if one.channel is Channel.HISTORY), entries[-1])
        end = self._last.ended(at=self._table.now(), entry=EntryRef(to, became.entry_id))
        log = actions.answer.put(*of, end, now_s=self._table.now_s())
        if begun_in == to:
            return [*checks, log]
        head = actions.answer.end(of.group_id, begun_in, of.answer_id, last=last)
        return [*(check for check in checks if check.target != head.target), head, log]

    def is_in(self, conversation_id: str) -> bool:
        """Tell whether the answer was begun in this conversation."""
        return self._last.conversation_id == conversation_id

    def raise_if_lost(self, refused: ConditionFailed, *, to: str) -> None:
        """Raise the error of the append if HEAD does not name the answer any more.

        to: as of `actions`.
        """
        head = refused.head(ActionKind.HEAD if self.is_in(to) else ActionKind.ANSWER_HEAD)
        if head is not None and (head.answer is None or head.answer.answer_id != self._of.answer_id):
            Finish(self._table, self._caller, self._of)
            raise no_answer(self._of.answer_id)

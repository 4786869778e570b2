"""Show an answer that is being written, or was: its state, and what was written of it."""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.answer_logs import AnswerState, Part, PartKind, unbroken
from forklore_service.domain.model import Caller
from forklore_service.errors import ValidationError
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.answer_logs import AnswerRef, last_part, no_answer
from forklore_service.usecases.shared.loading import TreeExtras, look_up


class Answer(NamedTuple):
    """An answer. begin, last: the first and the last part of its log. parts: some of its data."""

    answer_id: str
    begin: Part
    last: Part
    state: AnswerState
    parts: Sequence[Part] = ()


def get_answer(
    table: Table, *, caller: Caller, conversation_id: str, answer_id: str, after: int = 0
) -> Answer:
    """Return an answer that was begun in the conversation, with all data after a position.

    There is no data of one that was replaced, or whose entry was deleted or erased: what is deleted
    stays in no second place.
    Raises NotFoundError without the conversation or the answer, ForbiddenError if the caller is not
    a member, ValidationError if the log does not reach the position.
    """
    looked_up = look_up(
        table, conversation_id, caller=caller, extras=TreeExtras(part=(answer_id, 0)), describes=False
    )
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    of = AnswerRef(loaded.group.group_id, answer_id)
    begin = looked_up.found.part(*of, 0, now_s=table.now_s())
    if begin is None or begin.conversation_id != conversation_id:
        raise no_answer(answer_id)
    log = unbroken(table.read.parts(*of, first=after, now_s=table.now_s()), first=after)
    if not log:
        last = last_part(table, of)
        if last is None or last.position >= after:
            raise no_answer(answer_id)  # it is being deleted
        raise ValidationError("the answer has no such position", field="after")
    last = log[-1]
    parts = [part for part in log if part.kind is PartKind.DATA and part.position > after]
    if parts and last.is_end and not _is_kept(table, of, last):
        parts = []
    return Answer(answer_id, begin, last, last.state(table.now_ms()), parts)


def _is_kept(table: Table, of: AnswerRef, end: Part) -> bool:
    """Tell whether the words of an ended answer may be read, as those of what it became may."""
    became = end.entry
    if became is None or became.entry_id is None:
        return end.next_id is None
    head = keys.head(of.group_id, became.conversation_id)
    found = table.get([head, keys.entry(of.group_id, became.entry_id)])
    stored = found.entry(of.group_id, became.entry_id)
    return head in found and stored is not None and not stored.entry.is_erased

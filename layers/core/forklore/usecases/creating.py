"""Creating a conversation of any kind: decide, write in one transaction, and judge what a refusal means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from forklore.domain.model import Caller
from forklore.errors import ForbiddenError, ForkLimitError, NotFoundError, UnavailableError
from forklore.storage.cache import CachedConversation
from forklore.storage.parts import ConditionFailed, Part, PartKind
from forklore.storage.parts.group import FORKS_MAX
from forklore.storage.table import Table
from forklore.usecases.idempotency import IdempotencyKey, keys_of, raise_if_answered, raise_if_recorded

ATTEMPTS_MAX = 8
"""Times that a creation is decided again when what it stands on changes under it."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PreparedCreation(Generic[T]):
    """A creation that was decided: what to write, and what to answer when it is written.

    conversation_id, facts: what this process then knows, so that the next request need not read it.
    """

    parts: Sequence[Part]
    answer: T
    conversation_id: str
    cached: CachedConversation


class TreeChanged(Exception):
    """What a creation stands on has changed while it was decided."""


class _Verdict(Enum):
    OURS = auto()
    TAKEN = auto()
    CHANGED = auto()


def create(
    table: Table,
    decide: Callable[[str], PreparedCreation[T] | None],
    *,
    caller: Caller,
    idempotency_key: IdempotencyKey | None,
) -> T | None:
    """Return the answer of the plan that was written; None when the id is somebody else's.

    decide: given the request's nonce, reads and decides; None when it finds the id in use. It is called again
    when the tree changes between its reading and the write; it may raise TreeChanged itself.
    Raises what `decide` raises, IdempotentReplay for a replay, ForbiddenError when a membership was taken
    away meanwhile, NotFoundError when the tree was deleted, ForkLimitError when it has no room for a fork.
    """
    nonce = table.nonce()
    for attempt in range(ATTEMPTS_MAX):
        table.pause(attempt)
        try:
            plan = decide(nonce)
        except TreeChanged:
            continue
        if plan is None:
            break
        try:
            table.commit(plan.parts)
        except ConditionFailed as refused:
            match _judge(table, refused, caller=caller, idempotency_key=idempotency_key, nonce=nonce):
                case _Verdict.OURS:
                    pass
                case _Verdict.TAKEN:
                    break
                case _Verdict.CHANGED:
                    continue
        table.cache.put(plan.conversation_id, plan.cached)
        return plan.answer
    else:
        raise UnavailableError("the conversations keep changing; try again")
    # The id may have been taken by this very request, sent before, after its record was looked for.
    raise_if_answered(table, idempotency_key, table.get(keys_of(idempotency_key)), caller=caller)
    return None


def _judge(
    table: Table,
    refused: ConditionFailed,
    *,
    caller: Caller,
    idempotency_key: IdempotencyKey | None,
    nonce: str,
) -> _Verdict:
    for kind in refused.kinds:
        match kind:
            case PartKind.IDEMPOTENCY:
                raise_if_recorded(table, idempotency_key, refused, caller=caller)
            case PartKind.POINTER:
                return _Verdict.OURS if refused.has_nonce(kind, nonce) else _Verdict.TAKEN
            case PartKind.MEMBER:
                raise ForbiddenError("the membership was taken away") from refused
            case PartKind.CREATING_GROUP:
                group = refused.group(kind)
                if group is not None and group.is_live:
                    return _Verdict.OURS if refused.has_nonce(kind, nonce) else _Verdict.TAKEN
            case PartKind.GROUP:
                group = refused.group()
                if group is not None and group.never_live:
                    raise UnavailableError("what was begun under this id is still being cleared; try again")
                if group is None or not group.is_live:
                    raise NotFoundError("the conversation is deleted") from refused
                if group.forks >= FORKS_MAX:
                    raise ForkLimitError(
                        f"a fork tree has at most {FORKS_MAX + 1} conversations"
                    ) from refused
            case PartKind.PARENT_GROUP:
                parent = refused.group(kind)
                if parent is None or not parent.is_live:
                    raise NotFoundError("the conversation is deleted") from refused
    return _Verdict.CHANGED

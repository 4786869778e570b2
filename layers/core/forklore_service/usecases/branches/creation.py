"""Creating a conversation of any kind: write it in one transaction, and judge a refusal."""

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Generic, NamedTuple, TypeVar

from forklore_service.domain import keys
from forklore_service.domain.model import Caller
from forklore_service.domain.names import Name, NameMove
from forklore_service.domain.tree import Pointer, State
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.optimistic import CREATION, RetryPolicy, attempts

T = TypeVar("T")


class PreparedCreation(NamedTuple, Generic[T]):
    """A creation that was decided: what to write, and what to answer when it is written.

    conversation_id, cached: what this process then knows, so that the next request need not read
    it. equal_ids: further conversations of which it then knows the same.
    """

    actions: Sequence[Action]
    answer: T
    conversation_id: str
    cached: CachedConversation
    equal_ids: Sequence[str] = ()


class Obstacle(Enum):
    """Why a creation could not be prepared or written.

    ID_IN_USE: another conversation has the id. ID_RETIRED: one had it that was deleted recently.
    CHANGED: what was read has changed, so the creation must be decided again.
    """

    ID_IN_USE = auto()
    ID_RETIRED = auto()
    CHANGED = auto()

    @classmethod
    def of(cls, pointer: Pointer) -> "Obstacle":
        """Return why an id with this pointer is not free."""
        return cls.ID_RETIRED if pointer.group_id is None else cls.ID_IN_USE


class Creation(Generic[T]):
    """One request that creates a conversation, in as many attempts as it takes.

        creation = Creation(table, caller, idempotency_key)
        for nonce in creation.attempts():
            creation.write(prepare(nonce))

    name: the name that the creation moves. once: the request, perhaps with a key. answer: of the
    conversation that was created; None when its id is not free.
    """

    def __init__(
        self,
        table: Table,
        caller: Caller,
        idempotency_key: IdempotencyKey | None,
        *,
        name: NameMove | None = None,
        policy: RetryPolicy = CREATION,
    ) -> None:
        self._table = table
        self.once = Once(table, caller, idempotency_key)
        self._name = name
        self._policy = policy
        self._nonce = table.nonce()
        self._is_over = False
        self._obstacle: Obstacle | None = None
        self.answer: T | None = None

    def attempts(self) -> Iterator[str]:
        """Yield the request's nonce for each attempt, until one is written or the id is not free.

        Raises UnavailableError when there are no attempts left.
        """
        for _ in attempts(self._table, self._policy):
            yield self._nonce
            if self._is_over:
                return
        raise UnavailableError("the conversations keep changing; try again")

    def write(self, prepared: PreparedCreation[T] | Obstacle) -> None:
        """Write what was prepared, and note what has become of it.

        Raises IdempotentReplay for a replay, ForbiddenError when a membership was taken away
        meanwhile, NotFoundError when the tree was deleted, NameMovedError when the name has another
        revision than the caller expects.
        """
        obstacle = prepared if isinstance(prepared, Obstacle) else self._commit(prepared)
        if obstacle is Obstacle.CHANGED:
            return
        self._is_over, self._obstacle = True, obstacle
        if obstacle is not None:
            # This very request, sent before, may have taken the id after its record was looked for.
            self.once.raise_if_answered(self._table.get(self.once.keys))

    def id_conflict(self, conversation_id: str | None) -> ConflictError:
        """Return the error for an id that is not free, which is why there is no answer."""
        named = brief(conversation_id)
        if self._obstacle is Obstacle.ID_RETIRED or self._is_being_deleted(conversation_id):
            return ConflictError(f"the id {named} was deleted recently", reason="deleted_recently")
        return ConflictError(f"the id {named} is in use", reason="id_in_use")

    def _is_being_deleted(self, conversation_id: str | None) -> bool:
        """Tell whether the tree that has the id is deleted, and a worker still has to close it."""
        if conversation_id is None:
            return False
        found = self._table.get([keys.pointer(conversation_id)])
        pointer = found.pointer(conversation_id, now_s=self._table.now_s())
        of = pointer.group_id if pointer else None
        group = self._table.get([keys.group(of)]).group(of) if of else None
        return group is not None and group.state is State.DELETING and not group.never_live

    def _commit(self, prepared: PreparedCreation[T]) -> Obstacle | None:
        refused = self._table.try_commit(prepared.actions)
        if refused is not None:
            obstacle = self._judge(refused)
            if obstacle is not None:
                return obstacle
        for conversation_id in (prepared.conversation_id, *prepared.equal_ids):
            self._table.cache.put(conversation_id, prepared.cached)
        if self._name is not None:
            self._table.cache.put_name(self._name.ref, prepared.conversation_id)
        self.answer = prepared.answer
        return None

    def _judge(self, refused: ConditionFailed) -> Obstacle | None:
        """Return the obstacle that refused the creation; None if it is written already.

        An earlier attempt of this request, whose answer was lost, may have written it.
        """
        for kind in refused.kinds:
            match kind:
                case ActionKind.IDEMPOTENCY:
                    self.once.raise_if_recorded(refused)
                case ActionKind.POINTER:
                    if refused.has_nonce(kind, self._nonce):
                        return None
                    pointer = refused.pointer(now_s=self._table.now_s())
                    return Obstacle.of(pointer) if pointer else Obstacle.CHANGED
                case ActionKind.NAMED_HEAD:
                    return Obstacle.CHANGED
                case ActionKind.MEMBER:
                    raise ForbiddenError("the membership was taken away") from refused
                case ActionKind.CREATING_GROUP:
                    group = refused.group(kind)
                    if group is not None and group.is_live:
                        return None if refused.has_nonce(kind, self._nonce) else Obstacle.ID_IN_USE
                case ActionKind.GROUP:
                    group = refused.group()
                    if group is not None and group.never_live:
                        raise still_cleared()
                    if group is None or not group.is_live:
                        raise NotFoundError("the conversation is deleted") from refused
                case ActionKind.ANSWER_HEAD if refused.is_absent(kind):
                    raise NotFoundError("the conversation of the answer is deleted") from refused
                case ActionKind.PARENT_GROUP:
                    parent = refused.group(kind)
                    if parent is None or not parent.is_live:
                        raise NotFoundError("the conversation is deleted") from refused
                case ActionKind.NAME if self._name is not None:
                    self._name.require(refused.name())
        return Obstacle.CHANGED


def still_cleared() -> UnavailableError:
    """Return the error for the id of a tree that was given up before it was live."""
    return UnavailableError("what was begun under this id is still being cleared; try again")


def name_actions(
    table: Table,
    move: NameMove | None,
    *,
    was: Name | None = None,
    conversation_id: str,
    nonce: str,
) -> list[Action]:
    """Return the action that points a name to a new conversation. Without a name: no action.

    was: the name as it was read; None: that of the move. Raises NameMovedError if it is not at the
    revision that the caller expects.
    """
    if move is None:
        return []
    was = was or move.left
    now = table.now()
    revision = table.first_revision()
    name = move.decide(was, conversation_id=conversation_id, now=now, nonce=nonce, first_revision=revision)
    return [actions.name.move(name, was=was, data=move.data)]

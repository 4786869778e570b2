"""Ask for the erasure of a user, and see how far it has come. The worker does it: `erasing`."""

from forklore_service.domain import ids, keys
from forklore_service.domain.erasures import PSEUDONYM_PREFIX, Erasure
from forklore_service.domain.model import Caller, JobKind
from forklore_service.errors import NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import NO_GROUP, IdempotencyKey, Once


def erase_user(
    table: Table,
    queue: Queue,
    *,
    caller: Caller,
    user_id: str,
    idempotency_key: IdempotencyKey | None = None,
) -> Erasure:
    """Begin to erase a user. The user need not exist: nobody keeps a list of users.

    Raises IdempotentReplay for a replay.
    """
    once = Once(table, caller, idempotency_key)
    once.raise_if_answered(table.get(once.keys))
    erasure_id = table.mint_conversation()
    at = table.now()
    pseudonym = f"{PSEUDONYM_PREFIX}{table.nonce()}{table.nonce()}"
    erasure = Erasure(erasure_id, pseudonym, created_at=at, user_id=user_id)
    record = once.record(NO_GROUP, erasure_id, erasure)
    refused = table.try_commit([*record, *actions.erasure.begin(erasure)])
    if refused is not None:
        once.raise_if_recorded(refused)
        raise UnavailableError("the same key is in use right now; try again")
    queue.announce([erasure_id], kind=JobKind.ERASURE)
    return erasure


def get_erasure(table: Table, *, erasure_id: str) -> Erasure:
    """Return an erasure. Raises NotFoundError."""
    found = table.get([keys.erasure(erasure_id)]) if ids.is_uuid(erasure_id) else None
    erasure = found.erasure(erasure_id) if found is not None else None
    if erasure is None:
        raise NotFoundError(f"no erasure {brief(erasure_id)}")
    return erasure

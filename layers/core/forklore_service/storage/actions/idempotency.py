"""The action that remembers an answer under its Idempotency-Key (item IDEM)."""

from forklore_service.domain.keys import Key
from forklore_service.domain.tree import IdempotencyRecord
from forklore_service.errors import PayloadTooLargeError
from forklore_service.storage import items
from forklore_service.storage.actions.action import Action, ActionKind, put_unless_current

IDEMPOTENCY_SECONDS = 24 * 3600
"""How long an answer is remembered."""
BODY_BYTES_MAX = 390_000
"""The longest answer that is remembered, as it is stored. An item has at most 400 KB."""


def put(key: Key, record: IdempotencyRecord, *, now_s: int) -> Action:
    """Remember the answer for 24 hours, unless one is remembered already.

    Raises PayloadTooLargeError if the answer does not fit into an item.
    """
    item = items.idempotency_record_item(key, record, ttl_s=now_s + IDEMPOTENCY_SECONDS)
    if len(item["body"]["B"]) > BODY_BYTES_MAX:
        raise PayloadTooLargeError("the answer is too large to be remembered under an Idempotency-Key")
    return put_unless_current(ActionKind.IDEMPOTENCY, item, now_s=now_s, of=key.partition)

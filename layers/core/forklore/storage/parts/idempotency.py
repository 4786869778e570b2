"""The part that remembers an answer under its Idempotency-Key (item IDEM)."""

from forklore.domain.keys import Key
from forklore.domain.tree import IdempotencyRecord
from forklore.storage import items
from forklore.storage.parts.part import Part, PartKind, put_unless_current

IDEMPOTENCY_SECONDS = 24 * 3600
"""How long an answer is remembered."""


def put(key: Key, record: IdempotencyRecord, *, now_s: int) -> Part:
    """Remember the answer for 24 hours, unless one is remembered already."""
    item = items.idempotency_record_item(key, record, ttl_s=now_s + IDEMPOTENCY_SECONDS)
    return put_unless_current(PartKind.IDEMPOTENCY, item, now_s=now_s)

"""The parts about work in progress on a tree (item JOB)."""

from forklore.domain import keys
from forklore.domain.keys import Key
from forklore.domain.model import JobKind
from forklore.storage import items
from forklore.storage.items import key_of, text
from forklore.storage.parts import part
from forklore.storage.parts.part import Part, PartKind


def put(kind: JobKind, group_id: str, *, at: str) -> Part:
    """Note work in progress on a tree since `at`, whether it is noted already or not."""
    item = items.job_item(kind, group_id, created_at=at)
    return part.put(PartKind.JOB, item, of=keys.job(kind, group_id).sort)


def delete(kind: JobKind, group_id: str) -> Part:
    """Note that work on a tree is done, whether it was noted or not."""
    key = keys.job(kind, group_id)
    return part.delete(PartKind.JOB, key, of=key.sort)


def lease(key: Key, *, was: str, until: str) -> Part:
    """Lease a job until `until`, if it is there and its lease still ends at `was`."""
    return part.conditional(
        PartKind.JOB,
        "Update",
        of=key.sort,
        Key=key_of(key),
        UpdateExpression="SET #leasedUntil = :until",
        ConditionExpression="#leasedUntil = :was",
        ExpressionAttributeNames={"#leasedUntil": "leasedUntil"},
        ExpressionAttributeValues={":until": text(until), ":was": text(was)},
    )

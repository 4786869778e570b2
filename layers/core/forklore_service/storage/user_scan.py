"""What names a user, anywhere in the table."""

from forklore_service.domain import keys
from forklore_service.domain.erasures import BEGIN, END, Mention
from forklore_service.domain.keys import Key
from forklore_service.storage import items
from forklore_service.storage.items import text
from forklore_service.storage.table import Table

_NAMES = (
    "userId",
    "owner",
    "titledBy",
    "previewBy",
    "answerBy",
    "rewriting",
    "from",
    "to",
    "memberChange.user",
)
"""The attributes that hold a user's id, and the one that holds it in a map."""


def find_mentions(
    table: Table, user_id: str, *, segment: int, segments: int, place: Key
) -> tuple[list[Mention], Key]:
    """Return items of a part of a segment that name a user, and the place in it after them.

    All idempotency records are among them, because only their text says whom they name. The records
    of erasures are not. place: BEGIN, or where the last read has ended.
    """
    if place == END:
        return [], END
    named = " OR ".join(f"#{name.replace('.', '.#')} = :user" for name in _NAMES)
    attributes = {attribute for name in _NAMES for attribute in name.split(".")}
    users = keys.user_range(user_id).partition
    found, end = table.scan(
        segment=segment,
        segments=segments,
        start=None if place == BEGIN else place,
        FilterExpression=f"NOT begins_with(PK, :erasures) AND "
        f"({named} OR PK = :users OR begins_with(PK, :records))",
        ExpressionAttributeNames={f"#{attribute}": attribute for attribute in attributes},
        ExpressionAttributeValues={
            ":user": text(user_id),
            ":users": text(users),
            ":records": text(keys.RECORDS),
            ":erasures": text(keys.ERASURES),
        },
    )
    return [items.mention(item) for item in found], END if end is None else end

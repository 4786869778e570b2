"""The parts of every transaction, each with the condition that makes it safe.

A function here writes nothing. It returns a part, or a list of parts, as plain values.
`Table.commit` writes all parts that it is given, or none of them:

    table.commit([*parts.entry.put(…), parts.conversation.move_head(…)])

There is a module for each aggregate. When conditions do not hold, `Table.commit` raises
ConditionFailed. It names the parts that refused by their PartKind and decodes what stands there.
"""

from forklore.storage.parts import (
    context,
    conversation,
    entry,
    erasure,
    group,
    idempotency,
    imported,
    job,
    member,
    name,
    remnant,
    retention,
    transfer,
)
from forklore.storage.parts.part import Part, PartId, PartKind
from forklore.storage.parts.refusal import ConditionFailed

__all__ = [
    "ConditionFailed",
    "Part",
    "PartId",
    "PartKind",
    "context",
    "conversation",
    "entry",
    "erasure",
    "group",
    "idempotency",
    "imported",
    "job",
    "member",
    "name",
    "remnant",
    "retention",
    "transfer",
]

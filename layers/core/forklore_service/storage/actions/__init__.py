"""The actions of every transaction, each with the condition that makes it safe.

A function here writes nothing. It returns an action, or a list of actions, as plain values.
`Table.commit` writes all actions that it is given, or none of them:

    table.commit([*actions.entry.put(…), actions.conversation.move_head(…)])

There is a module for each aggregate. When conditions do not hold, `Table.commit` raises
ConditionFailed. It names the actions that refused by their ActionKind, and decodes what stands
there.
"""

from forklore_service.storage.actions import (
    answer,
    attachment,
    context,
    conversation,
    entry,
    erasure,
    group,
    idempotency,
    job,
    link,
    member,
    name,
    note,
    pins,
    remnant,
    retention,
    transfer,
    vector,
)
from forklore_service.storage.actions.action import Action, ActionId, ActionKind
from forklore_service.storage.actions.refusal import ConditionFailed

__all__ = [
    "Action",
    "ActionId",
    "ActionKind",
    "ConditionFailed",
    "answer",
    "attachment",
    "context",
    "conversation",
    "entry",
    "erasure",
    "group",
    "idempotency",
    "job",
    "link",
    "member",
    "name",
    "note",
    "pins",
    "remnant",
    "retention",
    "transfer",
    "vector",
]

"""All operations: the routes of the HTTP API and what direct invocation can ask for."""

from forklore.edge.operation import Operation
from forklore.edge.operations import admin, conversations, entries, sharing

ALL: tuple[Operation, ...] = (
    *conversations.OPERATIONS,
    *entries.OPERATIONS,
    *sharing.OPERATIONS,
    *admin.OPERATIONS,
)

"""Memberships and ownership transfers."""

from typing import Any

from forklore.edge.http import resolver_for
from forklore.edge.operations.sharing import BY_PATH, OPERATIONS

app = resolver_for((*OPERATIONS, *BY_PATH))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)

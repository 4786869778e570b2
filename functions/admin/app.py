"""Administration: everybody's conversations, for auditors and admins."""

from typing import Any

from forklore.edge.http import resolver_for
from forklore.edge.operations.admin import OPERATIONS

app = resolver_for(OPERATIONS)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)

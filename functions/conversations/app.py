"""Create, fork, read, list, change and delete conversations; health; and whatever no route names."""

from typing import Any

from forklore.edge.http import resolver_for
from forklore.edge.operations.conversations import OPERATIONS

app = resolver_for(OPERATIONS)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)

"""Create, fork, read, list, change and delete conversations; health; requests without a route."""

from typing import Any

from forklore.api.operations.conversations import OPERATIONS
from forklore.aws.http import HttpApi

api = HttpApi(OPERATIONS)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return api.handle(event, context)

"""Memberships and ownership transfers."""

from typing import Any

from forklore.api.operations.sharing import BY_PATH, OPERATIONS
from forklore.aws.http import HttpApi

api = HttpApi((*OPERATIONS, *BY_PATH))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return api.handle(event, context)

"""Administration: everybody's conversations, for auditors and admins."""

from typing import Any

from forklore.api.operations.admin import OPERATIONS
from forklore.aws.http import HttpApi

api = HttpApi(OPERATIONS)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return api.handle(event, context)

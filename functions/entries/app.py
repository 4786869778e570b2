"""Append entries; sync an agent's context; page through what a conversation sees."""

from typing import Any

from forklore.api.operations.entries import OPERATIONS
from forklore.aws.http import HttpApi

api = HttpApi(OPERATIONS)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return api.handle(event, context)

"""Every operation by direct invocation, for agents that run on AWS."""

from typing import Any

from forklore.aws import direct


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return direct.handle(event, context)

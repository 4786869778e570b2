"""Find deletions and other work in progress that no message announced."""

from typing import Any

from forklore.aws import jobs


def handler(event: dict[str, Any], context: Any) -> None:  # noqa: ARG001 (the schedule has nothing to say)
    jobs.sweep(context)

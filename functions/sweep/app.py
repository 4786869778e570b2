"""Announce unfinished deletions and other jobs whose messages are missing."""

from typing import Any

from forklore.aws import jobs


def handler(event: dict[str, Any], context: Any) -> None:  # noqa: ARG001
    jobs.sweep(context)

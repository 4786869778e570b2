"""Announce unfinished deletions and other jobs whose messages are missing."""

from forklore_service.aws.handlers import sweep as handler

__all__ = ["handler"]

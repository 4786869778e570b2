"""Find deletions and other work in progress that no message announced."""

from forklore.aws.handlers import sweep as handler

__all__ = ["handler"]

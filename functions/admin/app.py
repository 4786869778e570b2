"""Administration: everybody's conversations, for auditors and admins."""

from forklore.aws.handlers import admin as handler

__all__ = ["handler"]

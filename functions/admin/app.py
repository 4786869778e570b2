"""Administration: everybody's conversations, for auditors and admins."""

from forklore_service.aws.handlers import admin as handler

__all__ = ["handler"]

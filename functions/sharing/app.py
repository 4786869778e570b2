"""Memberships and ownership transfers."""

from forklore_service.aws.handlers import sharing as handler

__all__ = ["handler"]

"""Memberships and ownership transfers."""

from forklore.aws.handlers import sharing as handler

__all__ = ["handler"]

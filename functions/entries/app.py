"""Append entries; sync an agent's context; page through what a conversation sees."""

from forklore_service.aws.handlers import entries as handler

__all__ = ["handler"]

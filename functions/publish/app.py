"""Publish the changes of the table as events. Each call gets a batch of the table's stream."""

from forklore_service.aws.handlers import publish as handler

__all__ = ["handler"]

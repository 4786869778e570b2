"""Make the vectors of new entries. Each call gets a batch of the table's stream."""

from forklore_service.aws.handlers import embed as handler

__all__ = ["handler"]

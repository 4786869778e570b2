"""Create, fork, read, list, change and delete conversations; health; requests without a route."""

from forklore_service.aws.handlers import conversations as handler

__all__ = ["handler"]

"""Create, fork, read, list, change and delete conversations; health; and whatever no route names."""

from forklore.aws.handlers import conversations as handler

__all__ = ["handler"]

"""Every operation by direct invocation, for agents that run on AWS."""

from forklore_service.aws.handlers import agent as handler

__all__ = ["handler"]

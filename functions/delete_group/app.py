"""Delete fork trees and rewrite their owners, a message at a time; each is as long a step as time allows."""

from forklore.aws.handlers import delete_group as handler

__all__ = ["handler"]

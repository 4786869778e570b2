"""Delete fork trees and rewrite their owners. Each message is worked on as long as time allows."""

from forklore_service.aws.handlers import delete_group as handler

__all__ = ["handler"]

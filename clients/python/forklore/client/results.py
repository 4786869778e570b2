"""What operations answer, for those who use the client. The classes are generated."""

from forklore.client.generated.results import *  # noqa: F403

"""What the local server serves, as plain values: functions, what calls them, queues and a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.storage import schema

ANY = "ANY"


@dataclass(frozen=True)
class Route:
    """One route of the HTTP API: a method and a path.

    The method is upper case, or `ANY`. The path may hold `{name}` and `{name+}`. The `$default`
    route has an empty path.
    """

    method: str
    path: str

    @property
    def key(self) -> str:
        """The route key as events show it: `GET /v1/health` or `$default`."""
        return f"{self.method} {self.path}" if self.path else "$default"


DEFAULT_ROUTE = Route(ANY, "")


@dataclass(frozen=True)
class Queue:
    """One SQS queue.

    visible_after_seconds: when a message that was received and not deleted is visible again.
    receives_max: how often a message is received before it goes to the queue `dead_letters`.
    """

    name: str
    visible_after_seconds: int = 30
    receives_max: int | None = None
    dead_letters: str | None = None


@dataclass(frozen=True)
class Polled:
    """A queue that a function takes messages from.

    queue: its name. batch_size: how many messages the function gets at once.
    """

    queue: str
    batch_size: int = 10


@dataclass(frozen=True)
class Function:
    """One Lambda function: its name, where its handler is imported from, its limits, what calls it.

    every_seconds: how often each of its schedules calls it.
    """

    name: str
    module: str
    attribute: str
    timeout_seconds: int
    memory_mb: int
    routes: tuple[Route, ...]
    polls: tuple[Polled, ...] = ()
    every_seconds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Deployment:
    """The functions, and what they use.

    table: the arguments of create_table, less TableName.
    environment: the variables that hold a queue's URL, each with the name of its queue.
    """

    functions: tuple[Function, ...]
    table: Mapping[str, Any] = field(default_factory=lambda: schema.TABLE)
    queues: tuple[Queue, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

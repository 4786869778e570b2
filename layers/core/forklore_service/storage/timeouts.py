"""Calls of a tool that has time. It goes on when DynamoDB is slow or throttles for minutes."""

import time
from collections.abc import Callable
from typing import Any

from forklore_service.errors import UnavailableError
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import BUDGET_MAX_S, Connection, Deadline
from forklore_service.storage.consumption import Consumption

TRIES_MAX = 6
"""How often all attempts of a call are made, each time with twice the pause."""
PAUSE_FIRST_S = 1.0


class PatientConnection(Connection):
    """A connection that goes on for about two minutes when a request would give up."""

    def __init__(
        self,
        client: Any,
        table_name: str,
        clock: Clock,
        *,
        sleep: Callable[[float], None] = time.sleep,
        usage: Consumption | None = None,
    ) -> None:
        super().__init__(client, table_name, clock, sleep=sleep, usage=usage)
        self._rest = sleep

    def counted_in(self, usage: Consumption) -> "PatientConnection":
        """Return the same connection, whose calls are counted in `usage`."""
        return PatientConnection(self.client, self.table_name, self.clock, sleep=self._rest, usage=usage)

    def call(self, operation: str, deadline: Deadline, **parameters: Any) -> dict[str, Any]:
        """Return the answer, as `Connection.call` does. A transaction keeps its token."""
        for attempt in range(TRIES_MAX - 1):
            try:
                return super().call(operation, deadline, **parameters)
            except UnavailableError:
                self._rest(PAUSE_FIRST_S * 2**attempt)
                deadline = Deadline.after(BUDGET_MAX_S)
        return super().call(operation, deadline, **parameters)

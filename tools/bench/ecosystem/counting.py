"""Counts the requests of other packages to DynamoDB, and their capacity units."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from botocore.session import Session

FORKLORE = "forklore"
"""The user agent of forklore's clients. `tools.bench.meter` counts them."""
METERED = (
    "GetItem", "BatchGetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem",
)  # fmt: skip
"""What the units are known of. DynamoDB Local counts transactions wrong, so they are refused."""


@dataclass
class Cost:
    """What a step costs."""

    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0


class Counter:
    """Counts what clients of DynamoDB send, by the figures of DynamoDB Local.

    Each client that is made within `counting` is counted, but for forklore's own.
    """

    def __init__(self) -> None:
        self._cost = Cost()

    def begin(self) -> None:
        """Start counting."""
        self._cost = Cost()

    def end(self) -> Cost:
        """Return the cost since `begin`."""
        return self._cost

    def watch(self, client: Any) -> None:
        """Count what a client sends from now on."""
        for operation in METERED:
            client.meta.events.register(f"before-parameter-build.dynamodb.{operation}", _ask)
        client.meta.events.register("after-call.dynamodb", self._arrives)

    def _arrives(self, model: Any, parsed: dict[str, Any], **_: Any) -> None:
        assert model.name in METERED or "Table" in model.name or "TimeToLive" in model.name, model.name
        self._cost.requests += 1
        used = parsed.get("ConsumedCapacity", [])
        for one in used if isinstance(used, list) else [used]:
            units = float(one["CapacityUnits"])
            if "Write" in model.name or model.name in ("PutItem", "UpdateItem", "DeleteItem"):
                self._cost.write_units += units
            else:
                self._cost.read_units += units


def _ask(params: dict[str, Any], **_: Any) -> None:
    params["ReturnConsumedCapacity"] = "TOTAL"


@contextmanager
def counting() -> Iterator[Counter]:
    """Yield a Counter of each client of DynamoDB that is made in the block."""
    counter, make = Counter(), Session.create_client

    def watched(self: Session, service_name: str, *given: Any, **named: Any) -> Any:
        client = make(self, service_name, *given, **named)
        if service_name == "dynamodb" and client.meta.config.user_agent != FORKLORE:
            counter.watch(client)
        return client

    with mock.patch.object(Session, "create_client", watched):
        yield counter

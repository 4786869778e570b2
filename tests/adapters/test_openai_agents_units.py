"""What the session of the OpenAI Agents SDK costs in capacity units of DynamoDB."""

import asyncio
import json
import uuid
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from moto import mock_aws

from forklore import Forklore
from forklore.adapters.openai_agents import ForkloreSession
from forklore.client.calls import Call, RawAnswer
from forklore.domain.model import Caller
from tools.bench.local import ENVIRONMENT
from tools.bench.meter import Meter
from tools.harness.service import Process
from tools.harness.tables import fresh_store

TEXT = "".join(str(uuid.uuid4()) for _ in range(14))
"""About 500 characters."""


class Metered:
    """A transport to a process of the service, on moto's DynamoDB, with a meter.

    other: a process without one, which is faster.
    """

    def __init__(self, process: Process, meter: Meter, other: Process) -> None:
        self._metered, self._other = process, other
        self._meter = meter
        self._process = other

    def send(self, call: Call, _timeout_s: float) -> RawAnswer:
        given = json.loads(json.dumps(call.given))
        keys = {"idempotency_key": call.idempotency_key, "if_match": call.if_match}
        answer = self._process.ask(call.shape.name, Caller("ann"), **keys, **given)
        return RawAnswer(answer.status, json.dumps(answer.body, default=float))

    def close(self) -> None:
        """Nothing is held."""

    def units(self, work: Coroutine[Any, Any, object]) -> tuple[float, float]:
        """Return the units that some work reads and writes."""
        self._process = self._metered
        self._meter.begin()
        asyncio.run(work)
        self._process = self._other
        cost = self._meter.end()
        return cost.read_units, cost.write_units


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metered]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with mock_aws(), fresh_store() as table:
        process = Process(table)
        process.ask("getConversation", Caller("nobody"), conversationId=str(uuid.uuid4()))
        yield Metered(process, Meter(table, process.table), Process(table))


def begun(metered: Metered, number: int) -> ForkloreSession:
    """Return a session of so many messages."""
    session = ForkloreSession(f"{uuid.uuid4()}", Forklore._over(metered, None))
    for at in range(0, number, 50):
        messages: list[Any] = [
            {"role": ("user", "assistant")[one % 2], "content": f"{one}"}
            for one in range(at, min(at + 50, number))
        ]
        asyncio.run(session.add_items(messages))
    return session


def test_a_fork_costs_the_same_units_at_10_and_at_3000_messages(metered: Metered) -> None:
    costs = [
        (metered.units(session.fork()), metered.units(session.fork(before_turn=3)))
        for session in (begun(metered, 10), begun(metered, 3000))
    ]
    print(costs)


def test_a_turn_costs_the_units_of_the_page(metered: Metered) -> None:
    session = begun(metered, 10)
    question: list[Any] = [{"role": "user", "content": TEXT}]
    answer: list[Any] = [{"role": "assistant", "content": TEXT}]

    async def turn() -> None:
        await session.get_items()
        await session.add_items(question)
        await session.add_items(answer)

    print(metered.units(session.get_items()), metered.units(session.add_items(question)))
    print(metered.units(turn()))
    print(metered.units(session.pop_item()), metered.units(session.clear_session()))
    print(metered.units(turn()))

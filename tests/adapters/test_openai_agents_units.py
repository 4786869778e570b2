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


def session_of(metered: Metered) -> ForkloreSession:
    return ForkloreSession(f"{uuid.uuid4()}", Forklore._over(metered, None))


def said(number: int) -> list[Any]:
    return [{"role": ("user", "assistant")[at % 2], "content": f"{at}"} for at in range(number)]


def test_a_fork_costs_the_same_written_units_at_10_and_at_3000_messages(metered: Metered) -> None:
    costs = []
    for more in (0, 2990):
        session = session_of(metered)
        asyncio.run(session.add_items(said(10)))
        for _ in range(more // 1495):
            # Many messages are packed into 50 entries: moto is slow with many entries.
            asyncio.run(session.add_items(said(1495)))
        costs.append([metered.units(session.fork(before_turn=turn))[1] for turn in (None, 3)])
    assert costs == [[20, 18]] * 2


def test_a_turn_costs_the_units_of_the_page(metered: Metered) -> None:
    session = session_of(metered)

    async def turn() -> None:
        await session.get_items()
        await session.add_items([{"role": "user", "content": TEXT}])
        await session.add_items([{"role": "assistant", "content": TEXT}])

    assert metered.units(turn()) == (3, 34)
    asyncio.run(session.add_items(said(8)))
    assert metered.units(session.get_items()) == (7, 0)
    assert metered.units(turn()) == (7, 20)
    assert metered.units(session.fork()) == (11, 20)
    assert metered.units(session.pop_item()) == (18, 20)
    assert metered.units(session.clear_session()) == (13, 26)

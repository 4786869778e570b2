"""What the Claude Agent SDK's store costs in capacity units of DynamoDB."""

import json
import uuid
from collections.abc import Awaitable, Iterator

import pytest
from moto import mock_aws

from forklore import AsyncForklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.client.calls import Call, RawAnswer
from forklore.domain.model import Caller
from tests.adapters.claude_agent_lines import new_key, said, turn
from tools.bench.local import ENVIRONMENT
from tools.bench.meter import Cost, Meter
from tools.harness.service import Process
from tools.harness.tables import fresh_store


class Metered:
    """A transport to a process of the service, on moto's DynamoDB, with a meter.

    other: a process without one, which is faster.
    """

    def __init__(self, process: Process, meter: Meter, other: Process) -> None:
        self._metered, self._other = process, other
        self._meter = meter
        self._process = other

    async def send(self, call: Call, _timeout_s: float) -> RawAnswer:
        given = json.loads(json.dumps(call.given))
        keys = {"idempotency_key": call.idempotency_key, "if_match": call.if_match}
        answer = self._process.ask(call.shape.name, Caller("ann"), **keys, **given)
        return RawAnswer(answer.status, json.dumps(answer.body, default=float))

    async def aclose(self) -> None:
        """Nothing is held."""

    async def cost(self, work: Awaitable[object]) -> Cost:
        """Return what some work of a store costs."""
        self._process = self._metered
        self._meter.begin()
        await work
        self._process = self._other
        return self._meter.end()


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metered]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with mock_aws(), fresh_store() as table:
        process = Process(table)
        process.ask("getConversation", Caller("nobody"), conversationId=str(uuid.uuid4()))
        yield Metered(process, Meter(table, process.table), Process(table))


def store_of(metered: Metered) -> ForkloreSessionStore:
    return ForkloreSessionStore(AsyncForklore._over(metered, None))


async def test_a_fork_costs_the_same_units_at_10_and_at_3000_messages(metered: Metered) -> None:
    costs = []
    for batches, answers in ((1, 9), (15, 199)):
        key, store = new_key(), store_of(metered)
        for _ in range(batches):
            # Many answers to a question are one entry: moto is slow with many entries.
            await store.append(key, [*turn(1), *(turn(1)[1] for _ in range(answers - 1))])
        cost = await metered.cost(store.fork(key, up_to=str(uuid.uuid4())))
        costs.append((cost.requests, cost.read_units, cost.write_units))
    assert costs == [(5, 15, 24)] * 2


async def test_a_turn_costs_the_units_of_the_page(metered: Metered) -> None:
    key, store = new_key(), store_of(metered)
    text = "".join(str(uuid.uuid4()) for _ in range(10))

    def one() -> Awaitable[None]:
        question = said("user", text)
        return store.append(key, [question, said("assistant", text, question)])

    first, second = await metered.cost(one()), await metered.cost(one())
    assert (first.read_units, first.write_units) == (3, 30)
    assert (second.read_units, second.write_units) == (0, 14)

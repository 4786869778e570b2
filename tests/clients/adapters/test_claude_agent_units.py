"""What the Claude Agent SDK's store costs in capacity units of DynamoDB."""

import uuid
from collections.abc import Awaitable

from forklore.adapters.claude_agent import ForkloreSessionStore
from tests.clients.adapters.claude_agent_lines import new_key, said, turn
from tests.clients.adapters.metered import Metered


def store_of(metered: Metered) -> ForkloreSessionStore:
    return ForkloreSessionStore(metered.async_client())


async def test_a_fork_costs_the_same_units_at_10_and_at_3000_messages(metered: Metered) -> None:
    costs = []
    for batches, answers in ((1, 9), (15, 199)):
        key, store = new_key(), store_of(metered)
        for _ in range(batches):
            # Many answers to a question are one entry: moto is slow with many entries.
            await store.append(key, [*turn(1), *(turn(1)[1] for _ in range(answers - 1))])
        cost = await metered.cost(store.fork(key, up_to=str(uuid.uuid4())))
        costs.append((cost.requests, cost.read_units, cost.write_units))
    assert costs == [(5, 16, 26)] * 2


async def test_a_turn_costs_the_units_of_the_page(metered: Metered) -> None:
    key, store = new_key(), store_of(metered)
    text = "".join(str(uuid.uuid4()) for _ in range(10))

    def one() -> Awaitable[None]:
        question = said("user", text)
        return store.append(key, [question, said("assistant", text, question)])

    first, second = await metered.cost(one()), await metered.cost(one())
    assert (first.read_units, first.write_units) == (3, 32)
    assert (second.read_units, second.write_units) == (0, 16)

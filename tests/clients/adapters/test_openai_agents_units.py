"""What the session of the OpenAI Agents SDK costs in capacity units of DynamoDB."""

import asyncio
import uuid
from collections.abc import Coroutine
from typing import Any

from forklore.adapters.openai_agents import ForkloreSession
from tests.clients.adapters.metered import Metered

TEXT = "".join(str(uuid.uuid4()) for _ in range(14))
"""About 500 characters."""


def session_of(metered: Metered) -> ForkloreSession:
    return ForkloreSession(f"{uuid.uuid4()}", metered.client())


def units(metered: Metered, work: Coroutine[Any, Any, object]) -> tuple[float, float]:
    """Return the units that some work reads and writes."""
    cost = asyncio.run(metered.cost(work))
    return cost.read_units, cost.write_units


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
        costs.append([units(metered, session.fork(before_turn=turn))[1] for turn in (None, 3)])
    assert costs == [[20, 20]] * 2


def test_a_turn_costs_the_units_of_the_page(metered: Metered) -> None:
    session = session_of(metered)

    async def turn() -> None:
        await session.get_items()
        await session.add_items([{"role": "user", "content": TEXT}])
        await session.add_items([{"role": "assistant", "content": TEXT}])

    assert units(metered, turn()) == (3, 38)
    asyncio.run(session.add_items(said(8)))
    assert units(metered, session.get_items()) == (5, 0)
    assert units(metered, turn()) == (5, 24)
    assert units(metered, session.fork()) == (11, 20)
    assert units(metered, session.pop_item()) == (16, 20)
    assert units(metered, session.clear_session()) == (13, 26)

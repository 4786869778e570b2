"""The services that the adapters are tested on keep what is said."""

import anyio
import pytest

from tests.clients.adapters.services import CHOSEN, DYNAMODB, KINDS, PROCESS, Service, chosen


def test_two_clients_of_a_user_see_the_same(service: Service, user: str) -> None:
    with service.client(user) as one:
        one.named("trip").say("user", "Lisbon?")

    async def read() -> list[str]:
        async with service.async_client(user) as other:
            return [entry.content[0]["text"] async for entry in other.named("trip").entries()]

    assert anyio.run(read) == ["Lisbon?"]


def test_all_services_are_tested_unless_some_are_named() -> None:
    assert chosen({}) == chosen({CHOSEN: ""}) == list(KINDS)
    assert chosen({CHOSEN: f"{DYNAMODB}, {PROCESS}"}) == [PROCESS, DYNAMODB]
    with pytest.raises(ValueError, match="'moon'"):
        chosen({CHOSEN: f"{PROCESS},moon"})

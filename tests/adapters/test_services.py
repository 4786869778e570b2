"""The services that the adapters are tested on keep what is said."""

import anyio

from tests.adapters.services import Service


def test_two_clients_of_a_user_see_the_same(service: Service, user: str) -> None:
    with service.client(user) as one:
        one.named("trip").say("user", "Lisbon?")

    async def read() -> list[str]:
        async with service.async_client(user) as other:
            return [entry.content[0]["text"] async for entry in other.named("trip").entries()]

    assert anyio.run(read) == ["Lisbon?"]

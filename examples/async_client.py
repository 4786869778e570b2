"""The same client with await, on asyncio or on trio."""

import sys
from os import environ

import anyio

from forklore import AsyncForklore, text_of


def connect() -> AsyncForklore:
    """Return a client of a server if there is one, and else of the service in this process."""
    if url := environ.get("FORKLORE_URL"):
        token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
        return AsyncForklore(url, token=token, client_key=key)
    return AsyncForklore.local(user="ann", client="planner")


async def main() -> None:
    """Give three answers side by side, and print them."""
    async with connect() as fl:
        chat = fl.conversation()
        asked = await chat.say("user", "Name a good first fish.")
        tries = await chat.fork(after=asked, count=3)

        async with anyio.create_task_group() as tasks:
            for answer, fork in zip(["A goldfish.", "A danio.", "A guppy."], tries, strict=True):
                tasks.start_soon(fork.say, "ai", answer)

        for fork in tries:
            async for entry in fork.entries(channel="history", own=True):
                print(text_of(entry))


anyio.run(main, backend=sys.argv[1] if sys.argv[1:] else "asyncio")

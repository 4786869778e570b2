"""A plugin of pytest: the Claude Agent SDK's own tests use forklore's store in place of theirs.

The variables of the environment say which service: FORKLORE_SUITE_URL of one over HTTP, or
FORKLORE_SUITE_DATA, the folder of one in this process. FORKLORE_SUITE_USED is the file that says at
the end how often each method was called.
"""

import asyncio
import json
import os
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import claude_agent_sdk
import pytest
from claude_agent_sdk import SessionKey, SessionStoreEntry

from forklore import AsyncForklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from tests.clients.adapters.services import AGENTS

URL, DATA, USED = "FORKLORE_SUITE_URL", "FORKLORE_SUITE_DATA", "FORKLORE_SUITE_USED"
METHODS = ("append", "load", "list_sessions", "list_session_summaries", "delete", "list_subkeys")
PRIVATE = "_mtimes["
"""What stands in a test that sets a private field of the SDK's store."""
ANSWER_S = 0.03
"""In this time a store sends its next request."""
SHORT_MS, LOAD_MS = 50, 2000
"""How long tests of timeouts wait for a store, and how long they wait here."""
used: Counter[str] = Counter()
under_way = set[object]()
"""The requests that a service has not answered yet."""
asleep = anyio.sleep
make_options = claude_agent_sdk.ClaudeAgentOptions.__init__


def client_of(user: str) -> AsyncForklore:
    """Return a client of the service that the environment names."""
    url = os.environ.get(URL)
    made = (
        AsyncForklore.local(user=user, client="planner", data=os.environ[DATA])
        if url is None
        else AsyncForklore(url, token=user, client_key=AGENTS["planner"])
    )
    send = made._transport.send

    async def noted(*given: Any) -> Any:
        request = object()
        under_way.add(request)
        try:
            return await send(*given)
        finally:
            under_way.discard(request)

    made._transport.send = noted  # type: ignore[assignment,method-assign]
    return made


class SuiteStore(ForkloreSessionStore):
    """The store, with the constructor and the helpers for tests that `InMemorySessionStore` has.

    Each has a user of its own, so it is empty at first.
    """

    def __init__(self) -> None:
        self._user = f"ann-{uuid.uuid4()}"
        super().__init__(client_of(self._user))

    def __getattribute__(self, name: str) -> Any:
        if name in METHODS:
            used[name] += 1
        return super().__getattribute__(name)

    def _ask(self, question: Callable[[ForkloreSessionStore], Coroutine[Any, Any, Any]]) -> Any:
        """Return what another client of the user finds, in a loop of its own."""
        found: list[Any] = []

        async def ask() -> None:
            async with client_of(self._user) as client:
                found.append(await question(ForkloreSessionStore(client)))

        thread = Thread(target=asyncio.run, args=(ask(),))
        thread.start()
        thread.join()
        return found[0]

    def get_entries(self, key: SessionKey) -> list[SessionStoreEntry]:
        """Return the lines of a transcript; none if there is no such transcript."""
        return self._ask(lambda store: store.load(key)) or []

    @property
    def size(self) -> int:
        """The number of sessions."""

        async def count(store: ForkloreSessionStore) -> int:
            names = await store._forklore.names("claude/").list()
            return sum(not one.deleted for one in names)

        return int(self._ask(count))

    def clear(self) -> None:
        """Go on as another user, who has no sessions."""
        SuiteStore.__init__(self)


async def patient_sleep(delay: float) -> None:
    """Sleep; where a test only yields to the store, as long as a service needs to answer.

    Some tests of the SDK yield 5, 10 or 50 times and then look at what the store has done.
    A store in memory is done by then.
    """
    await asleep(delay or ANSWER_S)
    while under_way and not delay:
        await asleep(ANSWER_S)


def make_patient_options(self: claude_agent_sdk.ClaudeAgentOptions, **options: Any) -> None:
    """Make options that give a service the time to answer before another call times out."""
    if options.get("load_timeout_ms") == SHORT_MS:
        options["load_timeout_ms"] = LOAD_MS
    make_options(self, **options)


def pytest_configure() -> None:
    """Put the store in the place of the SDK's before a test imports it."""
    anyio.sleep = patient_sleep
    claude_agent_sdk.ClaudeAgentOptions.__init__ = make_patient_options  # type: ignore[assignment,method-assign]
    from claude_agent_sdk._internal import session_store

    claude_agent_sdk.InMemorySessionStore = SuiteStore  # type: ignore[assignment,misc]
    session_store.InMemorySessionStore = SuiteStore  # type: ignore[assignment,misc]


@pytest.fixture(autouse=True, scope="session")
def open_folder() -> Iterator[None]:
    """Keep the service in this process open, so that each further client finds it open."""
    folder = os.environ.get(DATA)
    if folder is None:
        yield
        return
    from forklore import Forklore

    with Forklore.local(user="nobody", data=folder) as client:
        client.names().list()
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that set a private field of the SDK's store."""
    import inspect

    private = [item for item in items if PRIVATE in inspect.getsource(item.function)]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=private)
    items[:] = [item for item in items if item not in private]


def pytest_sessionfinish() -> None:
    """Write how often each method was called."""
    Path(os.environ[USED]).write_text(json.dumps(used))

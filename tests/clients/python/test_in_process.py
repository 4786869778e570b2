"""The client with the service in its process: numbers, cancelling, and when a folder is opened."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from forklore import AsyncForklore, Forklore, InputError, UnavailableError
from forklore.client.transports.in_process import InProcessTransport
from tests.clients.python.ways import opened

BACKENDS = ["asyncio", "trio"]


@pytest.mark.parametrize("transport", ["http", "process"])
@pytest.mark.parametrize("limit", [1.0, None, [1], "\ud800"])
def test_a_parameter_of_the_query_is_text_or_a_whole_number_or_a_truth(
    transport: str, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(transport, "sync", monkeypatch) as way:
        client: Forklore = way.client("ann")
        assert client.call("listConversations", {"limit": 1}).status == 200
        assert client.call("listConversations", {"limit": "1"}).status == 200
        assert client.call("listConversations", {"limit": True}).status == 400
        with pytest.raises(InputError) as caught:
            client.call("listConversations", {"limit": limit})

    assert caught.value.field == "limit"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cancelled_scope_closes_the_client(backend: str, tmp_path: Path) -> None:
    async def use() -> None:
        with anyio.CancelScope() as scope:
            async with AsyncForklore.local(user="ann", data=tmp_path) as client:
                await client.api.check_health()
                scope.cancel()
                await anyio.sleep(10)
        assert scope.cancelled_caught
        with pytest.raises(UnavailableError, match="closed"):
            await client.api.check_health()

    anyio.run(use, backend=backend)


@pytest.fixture
def opened_in(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads in which services are opened."""
    threads: list[threading.Thread] = []
    usual: Callable[..., InProcessTransport] = InProcessTransport.open

    def opening(*arguments: Any) -> InProcessTransport:
        threads.append(threading.current_thread())
        return usual(*arguments)

    monkeypatch.setattr(InProcessTransport, "open", opening)
    return threads


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_folder_is_opened_once_and_not_on_the_event_loop(
    backend: str, tmp_path: Path, opened_in: list[threading.Thread]
) -> None:
    async def use() -> None:
        client = AsyncForklore.local(user="ann", data=tmp_path)
        bob = client.acting_as("bob")
        assert opened_in == []
        async with anyio.create_task_group() as group:
            for one in (client, bob, client, bob):
                group.start_soon(one.api.check_health)
        await client.aclose()

    anyio.run(use, backend=backend)
    [thread] = opened_in
    assert thread is not threading.main_thread()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_folder_that_cannot_be_used_is_told_by_the_first_call(backend: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def use() -> None:
        with pytest.raises(InputError):
            AsyncForklore.local(user="")
        async with AsyncForklore.local(user="ann", data=tmp_path / "file" / "data") as client:
            for _ in range(2):
                with pytest.raises(InputError, match="cannot keep data"):
                    await client.api.check_health()

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_client_that_was_closed_before_its_first_call_opens_nothing(backend: str, tmp_path: Path) -> None:
    async def use() -> None:
        client = AsyncForklore.local(user="ann", data=tmp_path / "data")
        await client.aclose()
        with pytest.raises(UnavailableError, match="closed"):
            await client.api.check_health()

    anyio.run(use, backend=backend)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("transport", ["http", "process"])
def test_a_closed_client_says_so(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(transport, "sync", monkeypatch) as way:
        client: Forklore = way.client("ann")
        client.call("checkHealth")
        client.close()
        client.close()
        with pytest.raises(UnavailableError, match="closed"):
            client.call("checkHealth")


def test_an_empty_text_names_no_folder() -> None:
    with pytest.raises(InputError) as caught:
        Forklore.local(user="ann", data="")

    assert caught.value.field == "data"

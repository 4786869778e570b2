"""One client over HTTP in many event loops, threads and processes, and errors that nobody knows."""

import asyncio
import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import anyio
import httpx2
import pytest

from forklore import AsyncForklore, Forklore, InputError, NoAnswerError, text_of
from tests.clients.python.faulty import Proxy, proxy
from tests.clients.python.here import served
from tools.harness.gateway import table_in_memory

BACKENDS = ["asyncio", "trio"]
LOOPS = 4
HANGS_SECONDS = 60.0
Do = Callable[[], Coroutine[Any, Any, None]]


class Counting(Proxy):
    """Sends all on. opened, ended: connections. requests: how many came."""

    opened = ended = requests = 0

    def get_request(self) -> Any:
        """Return the next connection."""
        self.opened += 1
        return super().get_request()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that the client has closed."""
        self.ended += 1
        super().shutdown_request(request)

    def fault(self) -> str:
        """Plant none."""
        self.requests += 1
        return "no_fault"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with table_in_memory() as template, served(template) as url:
        yield url


@pytest.fixture
def counting(address: str) -> Iterator[Counting]:
    with proxy(address, 0, Counting) as running:
        assert isinstance(running, Counting)
        yield running


def said(address: str, chat_id: str) -> list[str | None]:
    with Forklore(address, token="ann") as client:
        return [text_of(entry) for entry in client.conversation(chat_id).entries(channel="history")]


def in_one_loop_after_another(do: Do, backend: str) -> None:
    for _ in range(LOOPS):
        anyio.run(do, backend=backend)


def in_loops_that_are_closed_by_hand(do: Do, backend: str) -> None:
    """Such loops do not end what was begun in them, as `asyncio.run` does."""
    assert backend == "asyncio"
    for _ in range(LOOPS):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(do())
        loop.close()


def in_several_threads(do: Do, backend: str) -> None:
    """All loops run at the same time, and all connections are idle when each goes on."""
    together = Barrier(LOOPS)

    async def work() -> None:
        await do()
        together.wait(HANGS_SECONDS)
        await do()

    with ThreadPoolExecutor(LOOPS) as threads:
        for done in [threads.submit(lambda: anyio.run(work, backend=backend)) for _ in range(LOOPS)]:
            done.result()


def talk_in(run: Callable[[Do, str], None], backend: str, address: str) -> tuple[str, int]:
    """Return the id of a conversation, and how many messages were said in it, each in a loop."""
    client, numbers = AsyncForklore(address, token="ann"), iter(range(100))
    chat = client.conversation()

    async def talk() -> None:
        await chat.say("user", f"m{next(numbers)}")

    run(talk, backend)
    return chat.id, next(numbers)


@pytest.mark.failure("other-place")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("run", "backend"),
    [
        (in_one_loop_after_another, "asyncio"),
        (in_one_loop_after_another, "trio"),
        (in_several_threads, "asyncio"),
        (in_loops_that_are_closed_by_hand, "asyncio"),
    ],
)
def test_a_client_serves_one_event_loop_after_another_and_several_at_once(
    address: str, run: Callable[[Do, str], None], backend: str
) -> None:
    chat_id, count = talk_in(run, backend, address)
    gc.collect()  # what loops that are closed by hand leave

    assert Counter(said(address, chat_id)) == Counter(f"m{n}" for n in range(count))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_has_one_connection_and_closes_it_at_its_end(counting: Counting, backend: str) -> None:
    client = AsyncForklore(counting.url, token="ann")
    chat = client.conversation()

    async def talk() -> None:
        await chat.say("user", "one")
        await chat.say("user", "two")

    in_one_loop_after_another(talk, backend)

    assert (counting.opened, counting.requests) == (LOOPS, 2 * LOOPS)
    give_up_at = time.monotonic() + HANGS_SECONDS
    while counting.ended < counting.opened and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert counting.ended == counting.opened
    assert client is not None


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_client_of_httpx2_that_was_given_stays_in_its_loop(counting: Counting, backend: str) -> None:
    async def use() -> None:
        await client.api.check_health()

    async def use_and_end() -> None:
        await use()
        await http.aclose()

    for other in BACKENDS:
        http = httpx2.AsyncClient()
        client = AsyncForklore(counting.url, token="ann", http=http)
        anyio.run(use_and_end, backend=backend)
        before = counting.requests
        with pytest.raises(InputError, match="the event loop that used it first"):
            anyio.run(use, backend=other)
        assert counting.requests == before


@pytest.mark.failure("other-place")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", [Forklore, AsyncForklore])
def test_a_forked_process_sends_over_a_connection_of_its_own(
    address: str, counting: Counting, kind: type[Forklore | AsyncForklore]
) -> None:
    client = kind(counting.url, token="ann")
    chat: Any = client.conversation()

    def say(text: str) -> None:
        if isinstance(client, Forklore):
            chat.say("user", text)
        else:
            anyio.run(chat.say, "user", text)

    say("before")
    child = os.fork()
    if child == 0:
        try:
            say("in the child")
        except BaseException:  # noqa: BLE001 # pytest must not go on in the copy
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    say("after")

    assert said(address, chat.id) == ["before", "in the child", "after"]
    assert counting.opened == (2 if kind is Forklore else 3)  # each `anyio.run` is a loop
    if isinstance(client, Forklore):
        client.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_client_of_httpx2_that_was_given_stays_in_its_process(counting: Counting) -> None:
    with httpx2.Client() as http:
        client = Forklore(counting.url, token="ann", http=http)
        client.api.check_health()
        child = os.fork()
        if child == 0:
            try:
                client.api.check_health()
            except InputError:
                os._exit(7)
            os._exit(8)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert counting.requests == 1


class Odd(httpx2.BaseTransport):
    """Sends, and then raises an error that is none of httpx2's, so many times."""

    def __init__(self, times: int) -> None:
        self._times, self._sends = times, httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, or lose it."""
        response = self._sends.handle_request(request)
        self._times -= 1
        if self._times >= 0:
            response.close()
            raise ValueError("odd")
        return response

    def close(self) -> None:
        """Close the connections."""
        self._sends.close()


@pytest.mark.failure("faulty-network", "lost-answer")
def test_an_error_that_nobody_knows_is_repeated_with_the_same_key(address: str) -> None:
    with httpx2.Client(transport=Odd(2)) as http, Forklore(address, token="ann", http=http) as client:
        chat = client.conversation()
        chat.say("user", "once")

    assert said(address, chat.id) == ["once"]


def test_what_ends_a_repeated_call_tells_its_key(address: str) -> None:
    tokens = ["ann"]  # a second one cannot be had
    with httpx2.Client(transport=Odd(1)) as http:
        client = Forklore(address, token=tokens.pop, http=http)
        chat = client.conversation()
        with pytest.raises(NoAnswerError) as caught:
            chat.say("user", "once")
    assert (caught.value.attempts, type(caught.value.__cause__)) == (1, IndexError)
    with pytest.raises(IndexError):  # nothing was sent
        client.api.check_health()

    with Forklore(address, token="ann") as again:
        again.conversation(chat.id).say("user", "once", idempotency_key=caught.value.idempotency_key)
    assert said(address, chat.id) == ["once"]

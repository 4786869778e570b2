"""Requests with `wait` are held by the real server until a commit changes their answer."""

import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call
from tests.local.server.test_server import Running, running

CHAT = "00000001-0000-4000-8000-000000000000"
ENTRIES = f"/v1/conversations/{CHAT}/entries"
SAID = {"contentType": "history", "content": [{"role": "USER", "text": "hello"}]}
HELD_SECONDS = 0.5
"""How long a test looks whether a request is held. It is less than any request asks to wait."""
AT_ONCE_SECONDS = 10
"""Less than requests ask to wait, and far more than an answer takes."""
WATCHERS = 200


class Watching:
    """A server with one conversation of Ann's, and what asks it."""

    def __init__(self, local: Running, threads: ThreadPoolExecutor) -> None:
        self.local = local
        self.threads = threads
        self.client = httpx.Client(base_url=local.url, timeout=60)
        assert self.ask("POST", "/v1/conversations", json={"id": CHAT}).status_code == 201

    def ask(
        self, method: str, path: str, *, user: str = "ann", tag: str | None = None, **more: object
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {user}"} | ({"If-None-Match": tag} if tag else {})
        return self.client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]

    def held(self, path: str = ENTRIES, *, user: str = "ann", wait: int = 20) -> "Future[httpx.Response]":
        """Ask for what is new, and return the answer that is to come when it is sure to be held."""
        first = self.ask("GET", path, user=user, params={"wait": wait})
        assert (first.status_code, first.headers["forklore-ask-again-ms"]) == (200, "0"), first.text
        tag = first.headers["etag"]
        asked = self.threads.submit(self.ask, "GET", path, user=user, tag=tag, params={"wait": wait})
        time.sleep(HELD_SECONDS)
        assert not asked.done()
        return asked

    def say(self) -> None:
        assert self.ask("POST", ENTRIES, json=SAID).status_code == 201


@contextmanager
def served(*arguments: str) -> Iterator[Watching]:
    with running("--port", "0", *arguments, last_line="Ctrl+C") as local, ThreadPoolExecutor(4) as threads:
        watching = Watching(local, threads)
        try:
            yield watching
        finally:
            local.process.kill()  # no request is held any more
            watching.client.close()


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    with served("--data", str(tmp_path)) as made:
        yield made


def new(asked: "Future[httpx.Response]") -> httpx.Response:
    """Return an answer that comes long before its time is over."""
    return asked.result(timeout=AT_ONCE_SECONDS)


@pytest.mark.parametrize("keeps", [True, False], ids=["a folder", "memory"])
def test_a_request_is_held_until_a_commit_changes_its_answer(tmp_path: Path, *, keeps: bool) -> None:
    with served(*(["--data", str(tmp_path)] if keeps else [])) as watching:
        entries, forks = watching.held(), watching.held(f"/v1/conversations/{CHAT}/forks")
        watching.ask("POST", "/v1/conversations", json={})
        time.sleep(HELD_SECONDS)
        assert not entries.done(), "the commit was about another conversation"
        watching.say()

        assert len(new(entries).json()["data"]) == 1
        assert new(entries).headers["forklore-ask-again-ms"] == "0"
        assert new(forks).status_code == 200


def test_it_is_held_for_no_longer_than_it_asks(watching: Watching) -> None:
    answer = watching.held(wait=1).result(timeout=60)

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["forklore-ask-again-ms"] == "0"


def test_a_request_that_names_no_tag_or_another_one_is_answered_at_once(watching: Watching) -> None:
    for tag in (None, '"another"'):
        assert watching.ask("GET", ENTRIES, tag=tag, params={"wait": 20}).status_code == 200
    assert watching.ask("GET", ENTRIES, params={"wait": 21}).status_code == 400


def test_access_is_judged_again_for_each_answer(watching: Watching) -> None:
    members = f"/v1/conversations/{CHAT}/memberships"
    before = watching.ask("GET", ENTRIES, user="bob", tag="*", params={"wait": 20})
    assert before.status_code == 403, "who may see nothing is not held"
    watching.ask("POST", members, json={"userId": "bob", "accessLevel": "reader"})
    asked = watching.held(user="bob")
    watching.ask("DELETE", members, params={"userId": "bob"})
    assert new(asked).status_code == 403

    asked = watching.held()
    watching.ask("DELETE", f"/v1/conversations/{CHAT}")
    assert new(asked).status_code == 404


def test_a_request_for_parts_is_held_until_there_is_one_after_those_that_are_known(
    watching: Watching,
) -> None:
    path = f"/v1/conversations/{CHAT}/answers"
    one = f"{path}/{watching.ask('POST', path).json()['id']}"

    def part(after: int) -> None:
        content = {"after": after, "content": ["a part"]}
        assert watching.ask("POST", f"{one}/parts", json=content).status_code == 201

    def parts(after: int, wait: int = 20) -> httpx.Response:
        return watching.ask("GET", one, params={"after": after, "wait": wait})

    def held(after: int) -> "Future[httpx.Response]":
        asked = watching.threads.submit(parts, after)
        time.sleep(HELD_SECONDS)
        assert not asked.done()
        return asked

    asked = held(0)
    part(0)
    assert [one["position"] for one in new(asked).json()["parts"]] == [1]
    assert new(asked).headers["forklore-ask-again-ms"] == "0"
    assert len(parts(0).json()["parts"]) == 1, "what is there is answered at once"
    assert (parts(1, wait=1).json()["position"], parts(1, wait=1).json()["parts"]) == (1, [])
    asked = held(1)
    watching.ask("POST", f"{one}/stop")
    assert (new(asked).json()["state"], new(asked).json()["parts"]) == ("stopped", [])
    asked = held(2)
    watching.ask("DELETE", one)
    assert new(asked).json()["state"] == "dropped"
    assert parts(3).json()["state"] == "dropped", "nothing more comes, so nobody waits"


def test_the_commit_of_another_process_counts(tmp_path: Path) -> None:
    with served("--data", str(tmp_path)) as watching, EmbeddedService.open(tmp_path) as other:
        asked = watching.held()
        appended = call(other, "appendEntry", {"conversationId": CHAT, **SAID}, Caller("ann"))
        assert appended.status == 201, appended.text

        assert len(new(asked).json()["data"]) == 1


def test_a_server_that_stops_ends_each_wait_at_once(watching: Watching) -> None:
    asked = watching.held()

    assert watching.local.stop(signal.SIGTERM) == (0, "")
    assert new(asked).status_code == 304


def test_a_restarted_server_goes_on_with_the_tags_of_the_one_before(tmp_path: Path) -> None:
    with served("--data", str(tmp_path)) as watching:
        watching.say()
        tag = watching.ask("GET", ENTRIES).headers["etag"]
    with running("--port", "0", "--data", str(tmp_path), last_line="Ctrl+C") as again:
        headers = {"Authorization": "Bearer ann", "If-None-Match": tag}
        assert httpx.get(f"{again.url}{ENTRIES}", headers=headers).status_code == 304


def test_many_who_wait_take_no_threads_and_hold_up_nobody(tmp_path: Path) -> None:
    with served("--data", str(tmp_path)) as watching:
        watching.say()
        tag = watching.ask("GET", ENTRIES).headers["etag"]
        host, port = watching.local.url.removeprefix("http://").split(":")
        request = (
            f"GET {ENTRIES}?wait=20 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer ann\r\n"
            f"If-None-Match: {tag}\r\n\r\n"
        )
        address = (host, int(port))

        def waiting() -> list[socket.socket]:
            connections = [
                opened.enter_context(socket.create_connection(address, timeout=60)) for _ in range(WATCHERS)
            ]
            for connection in connections:
                connection.sendall(request.encode())
            time.sleep(HELD_SECONDS)
            return connections

        with ExitStack() as opened:
            waiting()
            for _ in range(50):  # all of them are looked at again after each
                assert watching.ask("POST", "/v1/conversations", json={}).status_code == 201
            assert threads_of(watching.local.process.pid) < WATCHERS / 2
        with ExitStack() as opened:  # others: a slow machine may have ended the wait of the first
            connections = waiting()
            connections.pop().close()
            watching.say()
            assert {connection.recv(12) for connection in connections} == {b"HTTP/1.1 200"}
        assert watching.local.stop() == (0, "")


def threads_of(process: int) -> int:
    tasks = Path(f"/proc/{process}/task")
    if not tasks.exists():
        pytest.skip("this system does not tell the threads of a process")
    return len([*tasks.iterdir()])

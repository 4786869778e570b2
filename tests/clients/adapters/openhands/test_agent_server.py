"""The real agent server of OpenHands, with the module of forklore and without it.

Not in CI: `make test-agent-server` installs the server.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import pytest
from openhands.agent_server import conversation_service, event_service

from forklore import Forklore, NotFoundError
from tests.clients.adapters.openhands.conversations import agent
from tests.clients.adapters.openhands.model import speaking
from tests.clients.adapters.services import EMBEDDED, running

MODULE = "forklore.adapters.openhands.server"
KEY = "a-made-up-session-key"
CONVERSATIONS = "workspace/conversations"
START_S, RUN_S = 180, 30


class Server:
    """An agent server, whose files are in a folder. variables: for the module; None: without it."""

    def __init__(self, folder: Path, variables: dict[str, str] | None) -> None:
        self._folder = folder
        self._modules = [] if variables is None else ["--import-modules", MODULE]
        self._variables = variables or {}

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        named = {"SESSION_API_KEYS_0": KEY, "SECRET_KEY": "a-made-up-secret", "ENABLE_VSCODE": "false"}
        named |= {"PRELOAD_TOOLS": "false", "LEASE_TTL_SECONDS": "0"}
        variables = {f"OH_{name}": value for name, value in named.items()} | self._variables
        variables |= {"HOME": str(self._folder), "PATH": os.environ["PATH"], "OPENHANDS_SUPPRESS_BANNER": "1"}
        command = [sys.executable, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", str(port)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *self._modules],
                cwd=self._folder,
                env={**variables, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
                stdout=log,
                stderr=log,
            )
        try:
            until(self._is_up, START_S)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _is_up(self) -> bool:
        assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
        try:
            self("GET", "/server_info")
        except OSError:
            return False
        return True

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-Session-API-Key": KEY, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=RUN_S) as answer:
            return json.load(answer)

    def starts(self, model: str) -> str:
        """Start a conversation; return its id. model: the address of one."""
        given = json.loads(agent(model).model_dump_json(context={"expose_secrets": True}))
        workspace = {"kind": "LocalWorkspace", "working_dir": str(self._folder / "work")}
        made = self("POST", "/api/conversations", {"agent": given, "workspace": workspace})
        return str(UUID(made["id"]))

    def fork(self, conversation: str) -> str:
        return str(UUID(self("POST", f"/api/conversations/{conversation}/fork", {})["id"]))

    def ask(self, conversation: str, text: str) -> None:
        """Let the agent answer, or fail."""
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content, "run": True}
        before = len(self.events(conversation))
        self("POST", f"/api/conversations/{conversation}/events", message)

        def is_over() -> bool:
            new = self.events(conversation)[before:]
            ends = [
                one
                for one in new
                if one["kind"] == "ConversationErrorEvent"
                or (one["kind"] == "MessageEvent" and one["source"] == "agent")
            ]
            return bool(ends) and self.told(conversation)["execution_status"] != "running"

        until(is_over, RUN_S)

    def told(self, conversation: str) -> Any:
        return self("GET", f"/api/conversations/{conversation}")

    def events(self, conversation: str) -> list[Any]:
        return list(self("GET", f"/api/conversations/{conversation}/events/search?limit=100")["items"])

    def texts(self, conversation: str) -> list[str]:
        return [
            one["llm_message"]["content"][0]["text"]
            for one in self.events(conversation)
            if one["kind"] == "MessageEvent"
        ]

    def listed(self) -> set[str]:
        found = self("GET", "/api/conversations/search")["items"]
        return {str(UUID(one["id"])) for one in found}


def until(holds: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with speaking() as url:
        yield url


@contextmanager
def service(folder: Path) -> Iterator[tuple[dict[str, str], Forklore]]:
    """Yield what names a service to the module, and a client of it."""
    folder.mkdir()
    with running(EMBEDDED, folder) as made, made.client("ann") as client:
        assert made.url is not None
        named = {"URL": made.url, "TOKEN": "ann", "CLIENT_KEY": "planner-key"}
        yield {f"FORKLORE_{name}": value for name, value in named.items()}, client


def test_conversations_of_the_server_are_in_forklore(tmp_path: Path, model: str) -> None:
    with service(tmp_path / "service") as (variables, client):
        with Server(tmp_path, variables) as server:
            source = server.starts(model)
            server.ask(source, "When?")
            fork = server.fork(source)
            assert client.named(f"openhands/{fork}").details().metrics.entries == 1
            server.ask(fork, "Or Porto?")  # its key is there
            [*_, question, _] = [one for one in server.events(source) if one["kind"] == "MessageEvent"]
            server("POST", f"/api/conversations/{source}/navigate", {"event_id": question["parent_id"]})
            server.ask(source, "In May?")
            before = [server.events(one) for one in (source, fork)]
            assert server.texts(fork) == ["When?", "This is answer 1.", "Or Porto?", "This is answer 2."]
            assert server.texts(source) == ["When?", "This is answer 1.", "In May?", "This is answer 1."]
            _, branches = client.named(f"openhands/{source}").tree()
            assert len(branches) == 3
        with Server(tmp_path, variables) as server:  # the other one was killed
            assert server.listed() == {source, fork}
            assert [server.events(one) for one in (source, fork)] == before
            server.ask(fork, "By train?")
            again = server.fork(fork)
            server.ask(again, "Or by bus?")
            assert server.texts(again)[-3:] == ["This is answer 3.", "Or by bus?", "This is answer 4."]
            server("DELETE", f"/api/conversations/{source}")
            with pytest.raises(NotFoundError):
                client.named(f"openhands/{source}").details()
            assert server.listed() == {fork, again}
            assert server.texts(fork)[-1] == "This is answer 3."
    folders = {one.name for one in (tmp_path / CONVERSATIONS).iterdir()}
    assert folders == {UUID(one).hex for one in (fork, again)}
    assert not [*(tmp_path / CONVERSATIONS).glob("*/events")]


def test_conversations_from_before_stay_on_the_disk(tmp_path: Path, model: str) -> None:
    with Server(tmp_path, None) as server:
        old = server.starts(model)
        server.ask(old, "When?")
        fork = server.fork(old)
        server.ask(fork, "Or Porto?")
        # What the page says of the server without forklore: the key of the model is lost.
        [*_, error] = server.events(fork)
        assert (error["kind"], "Missing credentials" in error["detail"]) == ("ConversationErrorEvent", True)
        before = server.events(old)
    with Server(tmp_path, {}) as server:
        assert server.events(old) == before
        server.ask(old, "In May?")
        assert server.texts(old)[-1] == "This is answer 2."
        server("DELETE", f"/api/conversations/{fork}")
        new = server.starts(model)
        server.ask(new, "When?")
    conversations = tmp_path / CONVERSATIONS
    with Forklore.local(user="me", client="openhands", data=conversations / "forklore") as client:
        assert [one.name for one in client.api.list_names().data] == [f"openhands/{new}"]
    assert {one.parent.name for one in conversations.glob("*/events")} == {UUID(old).hex}


@pytest.mark.parametrize(
    ("room", "name"),
    [
        (event_service, "LocalConversation"),
        (event_service, "LocalFileStore"),
        (conversation_service, "safe_rmtree"),
    ],
)
def test_a_server_without_these_names_is_refused(
    room: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = vars(event_service).copy()
    monkeypatch.setattr(room, name, object())
    with pytest.raises(ImportError, match=rf"{room.__name__}\.{name} is missing or another one"):
        importlib.import_module(MODULE)
    monkeypatch.undo()
    assert vars(event_service) == known

"""Strands' own tests with our repository, and what they leave out."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from threading import Barrier, Thread
from typing import Any

import pytest
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from forklore import TooLargeError, role_of, text_of
from forklore.adapters.strands import ForkloreSessionRepository
from forklore.client.calls import Call
from tests.clients.adapters.published import source_of
from tests.clients.adapters.services import Service
from tests.clients.adapters.strands_plugin import SERVICE
from tests.clients.adapters.wires import Killed, Wire
from tools.harness.local_server import ROOT

SHA256 = "8732c87f9c1ceb6ef4c5c4bd6d96b4cdf1bbfde095f1537ec2ac6fddb8d5a066"
SUITE = "tests/strands/session/test_repository_session_manager.py"


def test_strands_own_tests_pass(service: Service) -> None:
    folder = source_of("strands-agents", sha256=SHA256)
    plugins = ROOT / "tests" / "clients" / "adapters"  # their tests are `tests`, too
    environment = {**os.environ, "PYTHONPATH": str(plugins), SERVICE: service.url or ""}
    options = ("-q", "-p", "strands_plugin", "-p", "no:cacheprovider", "-o", "addopts=")
    scope = ("-o", "asyncio_default_fixture_loop_scope=function", "-c", os.devnull, "--rootdir=.")
    command = (sys.executable, "-m", "pytest", *options, *scope, SUITE)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"^51 passed", done.stdout, re.MULTILINE), done.stdout[-1000:]
    made = re.search(r"^forklore repositories: (\d+)$", done.stdout, re.MULTILINE)
    assert made is not None
    assert int(made[1]) == 50  # the 51st test is about files


def session(name: str = "s") -> Session:
    return Session(session_id=name, session_type=SessionType.AGENT)


def agent(state: int = 0, name: str = "a") -> SessionAgent:
    return SessionAgent(agent_id=name, state={"n": state}, conversation_manager_state={})


def message(number: int, text: str, role: str = "user") -> SessionMessage:
    return SessionMessage.from_message({"role": role, "content": [{"text": text}]}, number)  # type: ignore[typeddict-item]


def texts(repository: ForkloreSessionRepository, name: str = "s", of: str = "a") -> list[str]:
    return [one.to_message()["content"][0]["text"] for one in repository.list_messages(name, of)]


def begun(repository: ForkloreSessionRepository, *said: str, name: str = "s") -> None:
    repository.create_session(session(name))
    repository.create_agent(name, agent())
    for number, text in enumerate(said):
        repository.create_message(name, "a", message(number, text, ("user", "assistant")[number % 2]))


def test_a_deleted_session_is_gone_and_its_name_is_free(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository, other = ForkloreSessionRepository(client), ForkloreSessionRepository(client)
        begun(repository, "a", "b")
        repository.delete_session("s")
        assert repository.read_session("s") is None
        assert repository.list_messages("s", "a") == []
        with pytest.raises(SessionException, match="does not exist"):
            repository.create_message("s", "a", message(2, "lost"))
        with pytest.raises(SessionException, match="does not exist"):
            repository.delete_session("s")
        begun(other, "c")
        assert texts(repository) == ["c"]
        repository.create_message("s", "a", message(1, "d"))
        assert texts(other) == ["c", "d"]


def test_a_fork_lives_on_without_its_source(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        begun(repository, "a", "b", "c", "d")
        repository.fork_session("s", "all")
        repository.fork_session("s", "some", agent_id="a", before_message=2)
        with pytest.raises(SessionException, match="already exists"):
            repository.fork_session("s", "some")
        with pytest.raises(SessionException, match="does not exist"):
            repository.fork_session("s", "none", agent_id="a", before_message=9)
        repository.create_message("some", "a", message(2, "other"))
        repository.delete_session("s")
        assert texts(repository, "all") == ["a", "b", "c", "d"]
        assert texts(repository, "some") == ["a", "b", "other"]
        found = repository.read_session("some")
        assert found is not None
        assert found.session_id == "some"
        assert repository.read_agent("some", "a") is not None


def test_a_redaction_hides_a_message(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        begun(repository, "secret", "b")
        changed = message(0, "secret")
        changed.redact_message = {"role": "user", "content": [{"text": "[redacted]"}]}
        repository.update_message("s", "a", changed)
        assert texts(repository) == ["[redacted]", "b"]
        found = repository.read_message("s", "a", 0)
        assert found is not None
        assert found.created_at == changed.created_at
        with pytest.raises(SessionException, match="message 7 of agent a does not exist"):
            repository.update_message("s", "a", message(7, "x"))


def test_of_two_writers_of_a_number_one_is_refused(service: Service, user: str) -> None:
    with service.client(user) as first, service.client(user) as second:
        begun(ForkloreSessionRepository(first))
        together, refused = Barrier(2), list[str]()

        def write(repository: ForkloreSessionRepository, letter: str) -> None:
            for number in range(10):
                together.wait()
                try:
                    repository.create_message("s", "a", message(number, f"{letter}{number}"))
                except SessionException:
                    refused.append(f"{letter}{number}")

        threads = [
            Thread(target=write, args=(ForkloreSessionRepository(client), letter))
            for client, letter in ((first, "x"), (second, "y"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = texts(ForkloreSessionRepository(first))
        assert [int(text[1:]) for text in kept] == list(range(10))
        assert sorted(kept + refused) == sorted(f"{letter}{n}" for letter in "xy" for n in range(10))


def test_a_message_of_2_4_mb_is_kept_and_a_larger_one_is_refused(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        begun(repository, "x" * 2_400_000)
        for characters in (2_600_000, 6_000_000):
            with pytest.raises(TooLargeError):
                repository.create_message("s", "a", message(1, "x" * characters))
        assert [len(text) for text in texts(repository)] == [2_400_000]


def tell(repository: ForkloreSessionRepository, name: str) -> None:
    """Do what is left of a story. Whoever was killed begins again."""
    if repository.read_session(name) is None:
        repository.create_session(session(name))
    if repository.read_agent(name, "a") is None:
        repository.create_agent(name, agent())
    for number in range(len(repository.list_messages(name, "a")), 4):
        repository.create_message(name, "a", message(number, f"{number}"))
    repository.update_agent(name, agent(7))
    if repository.read_session(f"{name}-fork") is None:
        repository.fork_session(name, f"{name}-fork", agent_id="a", before_message=3)


def end(repository: ForkloreSessionRepository, name: str) -> None:
    for each in (name, f"{name}-fork"):
        try:
            repository.delete_session(each)
        except SessionException:
            assert repository.read_session(each) is None


def test_a_killed_process_can_be_followed_by_another(service: Service, user: str) -> None:
    with service.client(user) as client:
        whole = ForkloreSessionRepository(client)
        for doing, requests_min in ((tell, 15), (end, 6)):
            lives, kills = 0, 0
            while kills == lives:
                name = f"s{lives}"
                if doing is end:
                    tell(whole, name)
                try:
                    doing(ForkloreSessionRepository(Wire(lives).wrapped(client)), name)
                except Killed:
                    kills += 1
                doing(ForkloreSessionRepository(client), name)
                if doing is tell:
                    assert texts(whole, name) == ["0", "1", "2", "3"]
                    assert texts(whole, f"{name}-fork") == ["0", "1", "2"]
                    end(whole, name)
                lives += 1
            assert lives > requests_min
        assert client.names().list() == []
        assert client.conversations(mode="all").list() == []


def test_a_crowd_of_arrays_comes_back(service: Service, user: str) -> None:
    crowd: dict[str, Any] = {"many": [[]] * 210_000}
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        repository.create_session(session())
        repository.create_agent("s", SessionAgent("a", state=crowd, conversation_manager_state={}))
        kept = repository.read_agent("s", "a")
        assert kept is not None
        assert kept.state == crowd


def test_what_python_holds_as_json_comes_back(service: Service, user: str) -> None:
    odd: dict[str, Any] = {
        "half": "half \ud83d",
        "half \ud83d": 1,
        "numbers": [float("inf"), 1e300, 2**70, -0.0],
        "deep": json.loads("[" * 70 + "]" * 70),
        "text": "\u00e9\U0001f600\x00",
    }
    used = {"toolUse": {"name": "pay", "input": odd, "toolUseId": "t"}}
    said = SessionMessage.from_message({"role": "user", "content": [{"text": "a \ud83d"}, used]}, 0)  # type: ignore[list-item]
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        repository.create_session(session())
        repository.create_agent("s", SessionAgent("a", state=odd, conversation_manager_state={}))
        repository.create_message("s", "a", said)
        [found] = repository.list_messages("s", "a")
        assert json.dumps(found.message) == json.dumps(said.message)
        kept = repository.read_agent("s", "a")
        assert kept is not None
        assert json.dumps(kept.state) == json.dumps(odd)
        repository.update_message("s", "a", found)
        [shown] = [text_of(entry) for entry in client.named("strands/s").entries() if role_of(entry)]
        assert (shown or "").startswith("a ?\n[calls pay ")


def test_a_session_whose_deletion_was_interrupted_does_not_exist(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        begun(repository, "a")
        client.named("strands/s").delete()  # the name stays
        for change in (
            lambda: repository.create_message("s", "a", message(1, "b")),
            lambda: repository.create_agent("s", agent(name="b")),
            lambda: repository.update_agent("s", agent(1)),
            lambda: repository.fork_session("s", "t"),
        ):
            with pytest.raises(SessionException, match="does not exist"):
                change()
        begun(repository, "c")
        assert texts(repository) == ["c"]


@dataclass
class Meanwhile(Wire):
    """Calls `work` before the first request."""

    work: Callable[[], object] = lambda: None

    def note(self, call: Call) -> None:
        super().note(call)
        if len(self.sent) == 1:
            self.work()


def test_of_two_that_make_a_session_anew_one_is_refused(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        repository.create_session(session())
        client.named("strands/s").delete()
        wire = Meanwhile(work=lambda: begun(repository, "a"))
        with pytest.raises(SessionException, match="Session s already exists"):
            ForkloreSessionRepository(wire.wrapped(client)).create_session(session())
        assert texts(repository) == ["a"]


@pytest.mark.parametrize("messages", [10, 3000])
def test_a_fork_takes_as_many_requests_however_long_the_session_is(
    service: Service, user: str, messages: int
) -> None:
    messages = min(messages, 3000 if service.url is None else 300)
    with service.client(user) as client:
        begun(ForkloreSessionRepository(client), *(f"{number}" for number in range(messages)))
        wire = Wire()
        ForkloreSessionRepository(wire.wrapped(client)).fork_session(
            "s", "t", agent_id="a", before_message=messages - 1
        )
        assert wire.sent == ["lookUpName", "lookUpEntry", "appendEntryByName"]
        assert len(ForkloreSessionRepository(client).list_messages("t", "a")) == messages - 1


def test_requests_of_a_message_and_of_a_state(service: Service, user: str) -> None:
    wire = Wire()
    with service.client(user) as client:
        repository = ForkloreSessionRepository(wire.wrapped(client))
        begun(repository, "a")
        wire.sent.clear()
        repository.create_message("s", "a", message(1, "b"))
        assert wire.sent == ["appendEntry"]
        wire.sent.clear()
        repository.update_agent("s", agent(1))
        assert wire.sent == ["lookUpEntry", "appendEntry"]
        wire.sent.clear()
        RepositorySessionManager("s", ForkloreSessionRepository(wire.wrapped(client)))
        assert wire.sent == ["lookUpName", "lookUpEntry"]


def test_a_session_is_shown_with_roles_and_texts(service: Service, user: str) -> None:
    with service.client(user) as client:
        repository = ForkloreSessionRepository(client)
        begun(repository, "Lisbon?", "In May.")
        returned = {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "paid"}]}}
        said = SessionMessage.from_message({"role": "user", "content": [returned]}, 2)  # type: ignore[list-item]
        repository.create_message("s", "a", said)
        entries = client.named("strands/s").entries().list()
        shown = [(role_of(entry), text_of(entry)) for entry in entries if role_of(entry)]
        assert shown == [("user", "Lisbon?"), ("ai", "In May."), ("system", "[returned paid]")]

"""A webhook and a function take events, or say in a word why they did not."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forklore_local.server import receivers
from forklore_local.server.delivery import NotTakenError, Receiver
from forklore_local.server.receivers import FunctionProcess, Webhook, open_receiver
from tests.local.server import receiving
from tests.local.server.receiving import wait_until

EVENT = '{"detail":{"text":"ünïcode \\" \\\\ \\u2028","n":1}}'
FUNCTIONS = """\
import asyncio, os, pathlib, signal, sys, threading, time

print("a line of the module")
if pathlib.Path(os.environ.get("NOTES", "") + "-slow").exists():
    time.sleep(600)
both = threading.Barrier(2, timeout=60)

def note(event):
    print("a line of the function")
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{os.environ.get('AWS_PROFILE')} {event['detail']['text']}\\n")

async def later(event):
    await asyncio.sleep(0.01)
    note(event)

def fail(event):
    raise KeyError(event["detail"]["text"])

def leave(event):
    sys.exit(0)

def die(event):
    os._exit(3)

def meet(event):
    both.wait()

def hang(event):
    pathlib.Path(os.environ["NOTES"] + "-hangs").touch()
    time.sleep(600)

def stop(event):
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)  # the signal may stop this thread a little later: it must not answer

class Agent:
    @staticmethod
    def take(event):
        note(event)

nothing = 1
"""


@pytest.fixture
def hook() -> Iterator[receiving.Webhook]:
    opened = receiving.Webhook()
    yield opened
    opened.close()


def test_a_webhook_gets_the_event_as_json(hook: receiving.Webhook) -> None:
    Webhook(f"http://127.0.0.1:{hook.port}/a/path?key=value").send(EVENT)

    assert hook.taken == [json.loads(EVENT)]
    [headers] = hook.headers
    assert (headers["path"], headers["Content-Type"]) == ("/a/path?key=value", "application/json")


@pytest.mark.parametrize("status", [199, 301, 307, 400, 404, 500, 503])
def test_only_2xx_takes_an_event_and_no_redirect_is_followed(status: int) -> None:
    hook = receiving.Webhook(lambda _: status)
    with pytest.raises(NotTakenError, match=f"status {status}" if status > 199 else "."):
        Webhook(hook.url).send(EVENT)
    assert len(hook.seen) == 1
    hook.close()


def test_a_webhook_that_is_not_there_or_hangs_has_not_taken_the_event(
    monkeypatch: pytest.MonkeyPatch, hook: receiving.Webhook
) -> None:
    monkeypatch.setattr(receivers, "WEBHOOK_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(NotTakenError, match="TimeoutError"),
    ):
        Webhook(f"http://127.0.0.1:{silent.getsockname()[1]}").send(EVENT)
    hook.close()
    with pytest.raises(NotTakenError, match="ConnectionRefusedError"):
        Webhook(hook.url).send(EVENT)


def test_the_name_of_a_webhook_shows_neither_its_path_nor_its_query() -> None:
    assert Webhook("https://hooks.example/T0/secret?token=secret").name == "https://hooks.example"


@pytest.mark.parametrize(
    "named",
    [
        "http://", "http:///path", "https://user:secret@host/", "http://host:port", "http://host:0",
        "http://host/a b", "http://host/#x", "ftp://host", "module", "module.py", ":function", "module:",
        "a:b:c", "a-b:c", "1:2", "", "http://a..b/", f"http://{'a' * 64}/",
    ],
)  # fmt: skip
def test_what_is_no_receiver_is_refused_in_a_line_without_secrets(named: str) -> None:
    with pytest.raises(ValueError, match="--on-event") as refused:
        open_receiver(named, {})
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent_functions.py").write_text(FUNCTIONS)
    (tmp_path / "broken_functions.py").write_text("raise RuntimeError('a reason')\n")
    return tmp_path


@pytest.fixture
def function(folder: Path) -> Iterator[Callable[[str], Receiver]]:
    """A function that opens the receiver for a function of the module."""
    opened: list[Receiver] = []

    def begin(attribute: str) -> Receiver:
        environment = {"PYTHONPATH": str(folder), "NOTES": str(folder / "notes"), "AWS_PROFILE": "mine"}
        opened.append(open_receiver(f"agent_functions:{attribute}", environment))
        return opened[-1]

    yield begin
    for receiver in opened:
        receiver.close()


@pytest.mark.parametrize("attribute", ["note", "later", "Agent.take"])
def test_a_function_is_called_with_the_event_in_the_users_environment(
    function: Callable[[str], Receiver], folder: Path, attribute: str
) -> None:
    function(attribute).send(EVENT)

    assert (folder / "notes").read_text() == 'mine ünïcode " \\ \u2028\n'


def test_a_function_that_raises_or_leaves_has_not_taken_the_event(
    function: Callable[[str], Receiver],
) -> None:
    for attribute, reason in ("fail", "KeyError"), ("leave", "SystemExit"):
        receiver = function(attribute)
        for _ in range(2):
            with pytest.raises(NotTakenError, match=f"^{reason}$"):
                receiver.send(EVENT)


def test_calls_overlap(function: Callable[[str], Receiver]) -> None:
    receiver = function("meet")
    other = threading.Thread(target=receiver.send, args=[EVENT])
    other.start()
    receiver.send(EVENT)
    other.join()


def test_a_process_that_ends_is_started_again(function: Callable[[str], Receiver], folder: Path) -> None:
    dying = function("die")
    for _ in range(2):
        with pytest.raises(NotTakenError, match="its process has ended"):
            dying.send(EVENT)
    noting = function("note")
    assert isinstance(noting, FunctionProcess)
    noting.send(EVENT)
    os.kill(noting._process._process.pid, signal.SIGKILL)
    wait_until(lambda: noting._process.has_ended)
    noting.send(EVENT)
    assert (folder / "notes").read_text().count("\n") == 2


def test_a_function_that_takes_too_long_is_ended(
    function: Callable[[str], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "CALL_SECONDS", 0.1)
    receiver = function("hang")
    begun = time.monotonic()
    with pytest.raises(NotTakenError, match="it ran for"):
        receiver.send(EVENT)
    assert time.monotonic() - begun < 60


def test_a_process_that_does_not_read_is_ended_with_all_that_is_sent_to_it(
    function: Callable[[str], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "CALL_SECONDS", 0.5)
    receiver = function("stop")
    large = json.dumps({"text": "x" * 200_000})  # more than a pipe holds
    failures: list[Exception] = []

    def send(event: str) -> None:
        try:
            receiver.send(event)
        except Exception as error:  # noqa: BLE001 (whatever it is)
            failures.append(error)

    others = [threading.Thread(target=send, args=[event]) for event in (EVENT, large, large)]
    for other in others:
        other.start()
        time.sleep(0.1)
    for other in others:
        other.join(60)
    assert [type(failure) for failure in failures] == [NotTakenError] * 3, failures


def sending(receiver: Receiver) -> tuple[threading.Thread, list[str]]:
    """Send an event in a thread: the thread, and what it is told if the event is not taken."""
    failures: list[str] = []

    def send() -> None:
        try:
            receiver.send(EVENT)
        except NotTakenError as error:
            failures.append(str(error))

    other = threading.Thread(target=send)
    other.start()
    return other, failures


def test_closing_does_not_wait_for_a_process_that_starts(
    function: Callable[[str], Receiver], folder: Path
) -> None:
    receiver = function("die")
    with pytest.raises(NotTakenError):
        receiver.send(EVENT)
    (folder / "notes-slow").touch()
    assert isinstance(receiver, FunctionProcess)
    ended = receiver._process
    other, failures = sending(receiver)
    wait_until(lambda: receiver._process is not ended)
    begun = time.monotonic()
    receiver.close()
    other.join(60)
    assert time.monotonic() - begun < 60
    assert failures == ["its process has ended"]


def test_closing_ends_a_process_in_the_middle_of_a_call(
    function: Callable[[str], Receiver], folder: Path
) -> None:
    receiver = function("hang")
    other, failures = sending(receiver)
    wait_until((folder / "notes-hangs").exists)
    receiver.close()
    other.join(60)
    assert failures == ["its process has ended"]
    with pytest.raises(NotTakenError, match="the server stops"):
        receiver.send(EVENT)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("agent_functions:nothing", "no function"),
        ("agent_functions:missing", "has no attribute 'missing'"),
        ("broken_functions:f", "RuntimeError: a reason"),
    ],
)
def test_a_function_that_cannot_be_imported_is_refused_with_the_reason(
    folder: Path, named: str, reason: str
) -> None:
    with pytest.raises(ValueError, match="--on-event") as refused:
        open_receiver(named, {"PYTHONPATH": str(folder)})
    assert reason in str(refused.value)

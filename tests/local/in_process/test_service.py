"""Operations in this process are answered as over HTTP."""

import gc
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore_local.in_process.service import EmbeddedService
from forklore_service.api.operations import ALL
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call
from tests.local.in_process.writer import entry

ANN, BOB = Caller("ann", "planner"), Caller("bob")


@pytest.fixture
def service() -> Iterator[EmbeddedService]:
    with EmbeddedService.open(None) as opened:
        yield opened


def ask(service: EmbeddedService, operation: str, caller: Caller = ANN, **given: Any) -> tuple[int, Any]:
    answer = call(service, operation, given, caller)
    return answer.status, json.loads(answer.text) if answer.text else None


OPENED = """
import sys
from pathlib import Path
from forklore_local.in_process.service import EmbeddedService
with EmbeddedService.open(Path(sys.argv[1])):
    print("pydantic" in sys.modules)
"""


def test_who_opens_a_folder_and_asks_nothing_loads_no_models(tmp_path: Path) -> None:
    assert subprocess.check_output([sys.executable, "-c", OPENED, tmp_path], text=True) == "False\n"


def test_requests_are_answered(service: EmbeddedService) -> None:
    status, made = ask(service, "createConversation", title="trip")
    assert status == 201
    chat = made["id"]
    status, first = ask(service, "appendEntry", conversationId=chat, idempotencyKey="k", **entry("one"))
    assert status == 201
    assert ask(service, "appendEntry", conversationId=chat, idempotencyKey="k", **entry("one")) == (
        201,
        first,
    )
    assert ask(service, "appendEntry", conversationId=chat, idempotencyKey="k", **entry("two"))[0] == 422
    _, page = ask(service, "listEntries", conversationId=chat)
    assert [shown["id"] for shown in page["data"]] == [first["id"]]
    assert ask(service, "getConversation", BOB, conversationId=chat)[0] == 403


def test_a_number_that_no_float_holds_is_answered_as_it_was_sent(service: EmbeddedService) -> None:
    _, made = ask(service, "createConversation")
    spelled = '[{"role":"USER","text":"x","exact":1.10,"large":123456789012345678901234567890.5,"far":1e308}]'
    path = {"conversationId": made["id"]}
    body = f'{{"channel": "history", "contentType": "history", "content": {spelled}}}'
    service.call("appendEntry", ANN, path=path, query={}, body=body)

    assert spelled in service.call("listEntries", ANN, path=path, query={}).text


def test_an_operation_that_does_not_exist_is_an_error(service: EmbeddedService) -> None:
    answer = service.call("nonsense", ANN, path={}, query={})
    body = json.loads(answer.text)

    assert answer.status == 400
    assert body["code"] == "validation_error"
    assert body["details"] == {"message": "there is no such operation", "field": "operation"}
    assert len(body["requestId"]) == 36


@pytest.mark.parametrize(
    "caller",
    [Caller(""), Caller("a\nb"), Caller("ann", ""), Caller("ann", None, frozenset({"king"}))],
)
def test_a_caller_that_cannot_be_is_refused(service: EmbeddedService, caller: Caller) -> None:
    assert ask(service, "createConversation", caller)[0] == 401


def test_administration_needs_its_role(service: EmbeddedService) -> None:
    auditor = Caller("eve", None, frozenset({"auditor"}))

    assert ask(service, "adminListConversations", ANN)[0] == 403
    assert ask(service, "adminListConversations", auditor)[0] == 200


def test_every_operation_answers(service: EmbeddedService) -> None:
    statuses = {operation.name: call(service, operation.name, {}, ANN).status for operation in ALL}

    assert set(statuses.values()) <= {200, 201, 400, 403, 404}, statuses


class Unreadable(Mapping[str, str]):
    """A path that fails while it is read."""

    def __getitem__(self, name: str) -> str:
        raise LookupError("a sec" + "ret")

    def __iter__(self) -> Iterator[str]:
        return iter(["conversationId"])

    def __len__(self) -> int:
        return 1


def test_a_bug_is_a_500_and_is_logged_without_content(
    service: EmbeddedService, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = service.call("getConversation", ANN, path=Unreadable(), query={})

    assert answer.status == 500
    [record] = caplog.records
    assert record.__dict__["type"] == "LookupError"
    assert any("operation.py" in frame for frame in record.__dict__["frames"])
    assert "secret" not in answer.text + str(record.__dict__ | {"exc_info": None})


def test_many_threads_append_to_one_conversation(service: EmbeddedService) -> None:
    chat = ask(service, "createConversation")[1]["id"]

    def append(number: int) -> int:
        return ask(service, "appendEntry", conversationId=chat, **entry(str(number)))[0]

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(append, range(40))) == {201}
    shown = ask(service, "listEntries", conversationId=chat)[1]["data"]
    assert sorted(int(one["content"][0]["text"]) for one in shown) == list(range(40))


def test_closing_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with EmbeddedService.open(None) as opened:
        chat = ask(opened, "createConversation")[1]["id"]
        ask(opened, "deleteConversation", conversationId=chat)
    left = [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
    for thread in left:
        thread.join(60)

    assert not [thread for thread in left if thread.is_alive()]


def test_a_service_that_nobody_refers_to_ends_its_threads_and_frees_its_folder(tmp_path: Path) -> None:
    before = threading.active_count()
    services = [EmbeddedService.open(tmp_path), *(EmbeddedService.open(None) for _ in range(7))]
    while services:
        forgotten = services.pop()
        chat = ask(forgotten, "createConversation")[1]["id"]
        ask(forgotten, "deleteConversation", conversationId=chat, forGood="true")
        assert forgotten._opened
        assert forgotten._opened.worker._thread
        del forgotten
    gc.collect()
    give_up_at = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < give_up_at:
        time.sleep(0.05)

    assert threading.active_count() <= before
    EmbeddedService.open(tmp_path).close()


LATE = """
import threading
import forklore
client = forklore.Forklore.local(user="ann", client="planner", data=sys.argv[1])
chat = client.conversation()
chat.say("user", "one")
fork = chat.fork()
def late():
    main.join()
    chat.say("user", "two")
    shown = [len(chat.entries().list()), len(fork.entries().list()), len(client.search("two").list())]
    print(*shown, len(client.conversations().list()), len(chat.compare(fork).branches))
    client.close()
main = threading.main_thread()
threading.Thread(target=late).start()
"""


def test_a_thread_may_read_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    layer = str(Path(forklore.__file__).parents[1])
    script = f"import sys\nsys.path.insert(0, {layer!r})\n{LATE}"
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr, done.returncode) == ("2 1 1 1 2\n", "", 0)

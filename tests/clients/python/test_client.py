"""The client object: options, raw calls, callers, closing, sharing among threads and tasks."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from forklore import (
    AsyncForklore,
    ForbiddenError,
    Forklore,
    InputError,
    NoAnswerError,
    UnavailableError,
    text_of,
)
from forklore.client.calls import Call, RawAnswer, TransportError
from tests.clients.python.test_on_lambda import Answers, answered
from tests.clients.python.ways import WAYS, opened

BACKENDS = ["asyncio", "trio"]
THREADS, SAYS = 8, 5


@pytest.fixture
def ann() -> Iterator[Forklore]:
    with Forklore.local(user="ann") as client:
        yield client


def test_options_hold_for_the_copy_alone() -> None:
    boto = Answers(answered(503, {"code": "unavailable", "details": {"message": "busy"}}))
    client = Forklore.on_lambda("F", user="ann", boto_client=boto)
    once, thrice = client.with_options(retries=0), client.with_options(retries=2, deadline=20.0)

    for copy, sent in ((once, 1), (thrice, 3), (thrice.with_options(retries=0), 1), (once.with_options(), 1)):
        boto.payloads.clear()
        with pytest.raises(UnavailableError) as caught:
            copy.api.check_health()
        assert (len(boto.payloads), caught.value.attempts) == (sent, sent)
    boto.payloads.clear()
    with pytest.raises(NoAnswerError):
        client.with_options(deadline=0.0).api.check_health()
    assert boto.payloads == []


def test_a_budget_is_that_of_all_calls_together(ann: Forklore) -> None:
    hurried = ann.with_options(budget=0.3)

    def ask_on() -> None:
        for _ in range(1_000_000):
            hurried.api.check_health()

    with pytest.raises(NoAnswerError, match="checkHealth was sent 0 times"):
        ask_on()
    ann.api.check_health()


def test_options_hold_for_conversations_of_the_copy(ann: Forklore) -> None:
    chat = ann.named("trip")
    chat.say("user", "Hello")

    with pytest.raises(NoAnswerError):
        ann.with_options(deadline=0.0).conversation(chat.id).say("user", "again")
    assert len(chat.entries().list()) == 1


def test_a_raw_call_returns_every_answer_as_it_came(ann: Forklore) -> None:
    made = ann.call("createConversation", {"title": "A"}, idempotency_key="k")
    again = ann.call("createConversation", {"title": "A"}, idempotency_key="k")
    missing = ann.call("getConversation", {"conversationId": "x"})

    assert (made.status, made.attempts, made.value()["title"]) == (201, 1, "A")
    assert again.text == made.text
    assert (missing.status, missing.value()["code"]) == (404, "not_found")
    assert ann.call("deleteConversation", {"conversationId": made.value()["id"]}).value() is None


@pytest.mark.parametrize("name", ["", "list_forks", "nothing", "__init__"])
def test_a_raw_call_of_no_operation_is_refused(ann: Forklore, name: str) -> None:
    with pytest.raises(InputError, match="there is no operation") as caught:
        ann.call(name)
    assert caught.value.field == "operation"


def test_other_callers_use_the_same_service(ann: Forklore) -> None:
    chat = ann.named("trip")
    chat.say("user", "Hello")
    bob, agent = ann.acting_as("bob"), ann.acting_as("ann", "planner")
    admin = bob.acting_as("ann").acting_as("eve", roles=("auditor",))

    with pytest.raises(ForbiddenError):
        bob.conversation(chat.id).details()
    chat.share("bob", "reader")
    assert bob.conversation(chat.id).details().id == chat.id
    assert agent.conversation(chat.id).context.sync(["memory"]).epoch == 1
    assert admin.api.admin_get_conversation(chat.id).owner_user_id == "ann"
    with pytest.raises(ForbiddenError):
        bob.api.admin_get_conversation(chat.id)
    assert bob.names().list() == []


def test_over_http_another_caller_needs_another_client() -> None:
    with (
        Forklore("http://127.0.0.1:9", token="ann") as client,
        pytest.raises(InputError, match="the token says"),
    ):
        client.acting_as("bob")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"user": ""}, "user"),
        ({"user": "a\nb"}, "user"),
        ({"user": None}, "user"),
        ({"user": "ann", "client": ""}, "client"),
        ({"user": "ann", "roles": ("king",)}, "roles"),
    ],
)
def test_a_caller_that_cannot_be_is_refused_before_anything_is_opened(
    more: dict[str, object], field: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        Forklore.local(data=tmp_path / "data", **more)  # type: ignore[arg-type]

    assert caught.value.field == field
    assert not (tmp_path / "data").exists()


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        Forklore.local(user="ann", data=tmp_path / "file")

    assert caught.value.field == "data"


def test_a_folder_keeps_everything_and_without_one_everything_is_forgotten(tmp_path: Path) -> None:
    for data, kept in (
        (tmp_path / "data", ["Hello"]),
        (str(tmp_path / "data"), ["Hello", "Hello"]),
        (None, ["Hello"]),
    ):
        with Forklore.local(user="ann", data=data) as client:
            chat = client.named("trip")
            chat.say("user", "Hello")
            assert [text_of(one) for one in chat.entries()] == kept


def test_closing_a_copy_leaves_the_service_open_and_closing_the_first_ends_it() -> None:
    client = Forklore.local(user="ann")
    client.acting_as("bob").close()
    assert client.api.check_health().status == "ok"
    client.close()
    client.close()

    with pytest.raises(UnavailableError, match="closed"):
        client.api.check_health()
    with pytest.raises(UnavailableError, match="closed"):
        client.acting_as("bob").api.check_health()


@pytest.mark.parametrize("backend", BACKENDS)
def test_closing_works_the_same_when_it_is_awaited(backend: str) -> None:
    async def use() -> None:
        async with AsyncForklore.local(user="ann") as client:
            await client.acting_as("bob").aclose()
            assert (await client.api.check_health()).status == "ok"
        with pytest.raises(UnavailableError, match="closed"):
            await client.api.check_health()

    anyio.run(use, backend=backend)


def test_threads_may_share_a_client_and_a_conversation(ann: Forklore) -> None:
    chat = ann.named("trip")
    chat.say("user", "begin")
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(SAYS):
                chat.say("user", f"{number} {n}")
        except BaseException as error:  # noqa: BLE001 (told below)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    expected = sorted(f"{number} {n}" for number in range(THREADS) for n in range(SAYS))
    assert sorted(text_of(one) or "" for one in chat.entries()) == sorted([*expected, "begin"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_tasks_may_share_a_client_and_a_name_that_none_has_asked_for(backend: str) -> None:
    async def talk() -> list[str]:
        async with AsyncForklore.local(user="ann") as client:
            chat = client.named("trip")

            async def work(number: int) -> None:
                for n in range(SAYS):
                    await chat.say("user", f"{number} {n}")

            async with anyio.create_task_group() as group:
                for number in range(THREADS):
                    group.start_soon(work, number)
            assert len(await client.conversations().list()) == 1
            return [text_of(one) or "" async for one in chat.entries()]

    said = anyio.run(talk, backend=backend)
    assert sorted(said) == sorted(f"{number} {n}" for number in range(THREADS) for n in range(SAYS))


def test_a_service_that_refuses_for_good_is_not_asked_again() -> None:
    client = Forklore.local(user="ann")
    client.close()

    with pytest.raises(UnavailableError, match="closed") as caught:
        client.named("trip").say("user", "Hello")
    assert caught.value.attempts == 1


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_a_change_whose_answer_is_lost_never_undoes_a_revocation_that_came_between(
    transport: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(transport, mode, monkeypatch) as way:
        ann = way.client()
        made = way.run(ann.api.create_conversation)
        way.run(lambda: ann.api.share_conversation(made.id, user_id="bob", access_level="reader"))

        def change(level: str) -> Any:
            return way.run(lambda: ann.api.update_membership(made.id, user_id="bob", access_level=level))

        send, sent = ann.api._transport.send, list[str]()

        def note(call: Call) -> None:
            if call.shape.method != "PATCH":
                return
            sent.append(call.given["accessLevel"])
            if len(sent) == 1:
                raise TransportError("the answer was lost")

        async def lose(call: Call, timeout_s: float) -> RawAnswer:
            answer: RawAnswer = await send(call, timeout_s)
            note(call)
            return answer

        def lose_now(call: Call, timeout_s: float) -> RawAnswer:
            answer: RawAnswer = send(call, timeout_s)
            note(call)
            return answer

        monkeypatch.setattr(ann.api._transport, "send", lose_now if mode == "sync" else lose)
        with pytest.raises(NoAnswerError):
            change("writer")
        change("reader")
        [_, bob] = way.run(lambda: ann.api.list_memberships(made.id)).data

    assert (bob.user_id, bob.access_level, sent) == ("bob", "reader", ["writer", "reader"])

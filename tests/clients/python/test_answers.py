"""What is written piece by piece can be read at once, and ends as a whole turn or as none."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import anyio
import pytest

from forklore import (
    AsyncForklore,
    ConflictError,
    ForbiddenError,
    Forklore,
    InputError,
    NoAnswerError,
    NotFoundError,
    text_of,
)
from forklore.client.pieces import PART_BYTES_MAX
from forklore_service.domain import answer_logs
from tests.clients.python.faulty import Proxy, proxy
from tests.clients.python.here import served
from tests.clients.python.ways import EACH_MODE, WAYS, Way, opened
from tools.harness.gateway import table_in_memory

SOON_SECONDS = 60
HELD_UP_SECONDS = 10.0
"""Less than one piece would take that waits for the service. They need 0.8 without it."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    pace(monkeypatch, PART_S=0.02)


def pace(monkeypatch: pytest.MonkeyPatch, **settings: float) -> None:
    """Change the pace of answers."""
    for kind in ("asynchronous", "generated.synchronous"):
        for name, seconds in settings.items():
            monkeypatch.setattr(f"forklore.client.{kind}.answers.{name}", seconds)


@pytest.fixture
def way(transport: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    with opened(transport, mode, monkeypatch) as way:
        yield way


@pytest.fixture(params=EACH_MODE)
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    """The service in this process, in each mode."""
    with opened("process", request.param, monkeypatch) as way:
        yield way


@contextmanager
def block(way: Way, answer: Any) -> Iterator[Any]:
    """The block of an answer, in each mode."""
    kind = "" if hasattr(answer, "__enter__") else "a"
    way.run(getattr(answer, f"__{kind}enter__"))
    try:
        yield answer
    except BaseException as error:
        way.run(getattr(answer, f"__{kind}exit__"), type(error), error, error.__traceback__)
        raise
    way.run(getattr(answer, f"__{kind}exit__"), None, None, None)


def write(way: Way, answer: Any, *texts: str, then: Callable[[], Any] = lambda: None) -> None:
    """Write in the block of an answer. then: is done before it ends."""
    with block(way, answer):
        for text in texts:
            way.run(answer.write, text)
        then()


def asked(way: Way) -> Any:
    """Return a conversation with a question."""
    chat = way.client(agent="planner").conversation()
    way.run(lambda: chat.say("user", "Where to?"))
    return chat


def log_of(way: Way, chat: Any, answer: Any) -> Any:
    api = way.client().api
    return way.run(lambda: api.get_answer(chat.id, answer.id))


def shown(log: Any) -> str:
    return "".join(text for part in log.parts for text in part.content)


def texts(way: Way, chat: Any) -> list[str | None]:
    return [text_of(one) for one in way.run(chat.entries(channel="history").list)]


def until(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + SOON_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def is_alone() -> bool:
    return not [one for one in threading.enumerate() if one.name == "forklore answer"]


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_it_is_read_while_it_is_written_and_becomes_a_turn(way: Way) -> None:
    chat = asked(way)
    with block(way, chat.answer()) as answer:
        for text in ("To ", "Porto", ", said 'é\"😀\\n'."):
            way.run(answer.write, text)
            until(lambda: shown(log_of(way, chat, answer)) == answer.text)
        assert texts(way, chat) == ["Where to?"]

    log = log_of(way, chat, answer)
    assert (log.state, log.entry_id) == ("finished", answer.entry.id)
    assert texts(way, chat) == ["Where to?", answer.text] == ["Where to?", "To Porto, said 'é\"😀\\n'."]
    assert is_alone()


def test_a_write_need_not_be_awaited(here: Way) -> None:
    chat = asked(here)
    with block(here, chat.answer()) as answer:
        answer.write("To Porto.")
        until(lambda: shown(log_of(here, chat, answer)) == "To Porto.")

    assert texts(here, chat) == ["Where to?", "To Porto."]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (("smile \ud83d", "\ude00 end"), "smile \U0001f600 end"),
        (("\ud83d", "", "\ude00\ud83d", "\ude01"), "\U0001f600\U0001f601"),
        (("cut \ud83d",), "cut \ufffd"),
        (("\ud83d", " not \ude00 whole\ud83d", "\ud83d"), "\ufffd not \ufffd whole\ufffd\ufffd"),
    ],
)
def test_halves_of_a_character_in_two_pieces_are_one(here: Way, pieces: tuple[str, ...], whole: str) -> None:
    chat = asked(here)
    answer = chat.answer()
    write(here, answer, *pieces, then=lambda: until(lambda: shown(log_of(here, chat, answer)) == answer.text))

    assert (texts(here, chat)[1], answer.text) == (whole, whole)


def test_half_a_character_before_parts_is_no_more_than_that(here: Way) -> None:
    chat, parts = asked(here), [{"type": "image", "url": "https://a.example/porto.jpg"}]
    with block(here, chat.answer()) as answer:
        for said in ("cut \ud83d", parts, "\ude00"):
            here.run(answer.write, said)

    text = [{"type": "text", "text": one} for one in ("cut \ufffd", "\ufffd")]
    assert answer.entry.content == [{"role": "AI", "content": [text[0], *parts, text[1]]}]


def test_it_has_all_that_a_turn_has(here: Way) -> None:
    chat = asked(here)
    parts = [{"type": "image", "url": "https://a.example/porto.jpg"}]
    with block(here, chat.answer(agent_id="guide")) as answer:
        for said in ("To ", "Porto.", parts):
            here.run(answer.write, said)
        entry = here.run(lambda: answer.finish(context=["m"], usage={"outputTokens": 3}, key="a-1"))

    assert entry.content == [{"role": "AI", "content": [{"type": "text", "text": "To Porto."}, *parts]}]
    assert (entry.key, entry.agent_id, entry.usage) == ("a-1", "guide", {"outputTokens": 3})
    assert here.run(chat.context.latest) == ["m"]
    with block(here, chat.answer()) as other:
        here.run(other.write, "draft")
        here.run(other.finish, "The other way.")
    assert texts(here, chat)[2:] == ["The other way."]
    with pytest.raises(InputError, match="before it is finished"):
        here.run(other.write, "more")


def test_a_second_answer_to_a_question_becomes_a_fork(here: Way) -> None:
    chat = asked(here)
    question = here.run(chat.last)
    here.run(lambda: chat.say("ai", "To Porto."))
    with block(here, chat.answer(after=question)) as answer:
        here.run(answer.write, "To Faro.")
        entry = here.run(lambda: answer.finish(fork=True, promote=True, title="Faro"))

    fork = here.client().conversation(entry.conversation_id)
    assert (texts(here, chat)[1], texts(here, fork)) == ("To Porto.", ["Where to?", "To Faro."])
    details = here.run(fork.details)
    assert (details.title, details.is_current) == ("Faro", True)
    assert log_of(here, chat, answer).entry_conversation_id == fork.id


@pytest.mark.parametrize("written", [[], ["To P"]], ids=["nothing", "a piece"])
def test_an_error_that_leaves_the_block_ends_it_and_what_was_written_can_be_read(
    here: Way, written: list[str]
) -> None:
    chat = asked(here)
    answer = chat.answer()
    with pytest.raises(ZeroDivisionError):
        write(here, answer, *written, then=lambda: 1 / 0)

    log = log_of(here, chat, answer)
    assert (log.state, shown(log), texts(here, chat)) == ("dropped", "".join(written), ["Where to?"])
    assert is_alone()
    here.run(answer.drop)
    with block(here, chat.answer(take_over=False)) as again:  # nothing is in its way
        here.run(again.write, "To Q")
        here.run(again.drop)
    assert (again.entry, texts(here, chat)) == (None, ["Where to?"])


def test_a_failed_finish_ends_it_and_may_be_repeated(here: Way) -> None:
    chat = asked(here)
    here.run(chat.context.sync, ["seen"])
    answer = here.client(agent="planner").conversation(chat.id).answer()
    with pytest.raises(ConflictError) as refused:
        write(here, answer, "To Porto.", then=lambda: here.run(lambda: answer.finish(context=["not seen"])))

    assert (refused.value.reason, log_of(here, chat, answer).state) == ("context_moved", "dropped")
    assert here.run(lambda: answer.finish(context=["anew"], based_on=None)) == answer.entry
    assert texts(here, chat) == ["Where to?", "To Porto."]


def test_a_failed_finish_that_is_caught_is_no_turn_without_its_memory(here: Way) -> None:
    chat = asked(here)
    here.run(chat.context.sync, ["seen"])
    with block(here, here.client(agent="planner").conversation(chat.id).answer()) as answer:
        here.run(answer.write, "To Porto.")
        with pytest.raises(ConflictError):
            here.run(lambda: answer.finish(context=["not seen"]))

    assert (log_of(here, chat, answer).state, texts(here, chat)) == ("dropped", ["Where to?"])


def test_an_answer_of_nothing_is_dropped(here: Way) -> None:
    chat = asked(here)
    with block(here, chat.answer()) as answer:
        here.run(answer.write, "")

    assert (log_of(here, chat, answer).state, texts(here, chat)) == ("dropped", ["Where to?"])


def test_two_answers_at_once_are_a_conflict(here: Way) -> None:
    chat = asked(here)
    other = here.client(agent="coder").conversation(chat.id)
    with block(here, chat.answer()) as answer:
        for second in (other.answer(), chat.answer(take_over=False)):
            with pytest.raises(ConflictError) as refused:
                write(here, second)
            told = refused.value.details
            assert (told["reason"], told["answerId"]) == ("answer_in_progress", answer.id)
            assert (told["userId"], told["clientId"]) == ("ann", "planner")

    with pytest.raises(NotFoundError):
        write(here, chat.answer(after="nothing"))
    with pytest.raises(InputError, match="begins with its block"):
        here.run(chat.answer().finish)


def test_who_writes_learns_of_a_stop_and_may_keep_what_there_is(here: Way) -> None:
    chat = asked(here)
    here.run(lambda: chat.share("bob", "writer"))
    bob = here.client("bob")

    def stopped(answer: Any) -> ConflictError:
        here.run(answer.write, "To Porto")
        here.run(lambda: bob.api.stop_answer(chat.id, answer.id))
        with pytest.raises(ConflictError) as refused:
            until(lambda: bool(here.run(answer.write, ".")))
        return refused.value

    with pytest.raises(ConflictError), block(here, chat.answer()) as left:
        raise stopped(left)
    assert (log_of(here, chat, left).state, texts(here, chat)) == ("dropped", ["Where to?"])

    with block(here, chat.answer()) as kept:
        assert stopped(kept).reason == "answer_stopped"
    assert texts(here, chat)[1:] == [kept.text]


def test_who_may_not_write_any_more_learns_it(here: Way) -> None:
    chat = asked(here)
    here.run(lambda: chat.share("bob", "writer"))
    of_bob = here.client("bob").conversation(chat.id)
    answer = of_bob.answer()

    def removed() -> None:
        here.run(lambda: chat.unshare("bob"))
        until(lambda: bool(here.run(answer.write, ".")))

    with pytest.raises(ForbiddenError):
        write(here, answer, then=removed)

    assert texts(here, chat) == ["Where to?"]


def test_a_silent_model_gives_signs_of_life(here: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    pace(monkeypatch, SIGN_S=0.01)
    chat = asked(here)
    with block(here, chat.answer()) as answer:
        signed = log_of(here, chat, answer).position
        until(lambda: log_of(here, chat, answer).position > signed + 1)
        here.run(answer.write, "At last.")
        until(lambda: shown(log_of(here, chat, answer)) == "At last.")


def test_what_one_part_cannot_hold_comes_in_several_and_a_large_element_at_the_end(here: Way) -> None:
    chat = asked(here)
    large = {"type": "file", "data": "x" * PART_BYTES_MAX}
    with block(here, chat.answer()) as answer:
        here.run(answer.write, "😀" * 20_000)
        here.run(answer.write, [large, {"type": "end"}])
        for said in ([{"text": "\ud800"}], [{"type": object()}], 7):
            with pytest.raises(InputError):
                here.run(answer.write, said)
        until(lambda: {"type": "end"} in [one for p in log_of(here, chat, answer).parts for one in p.content])

    [*several, end] = log_of(here, chat, answer).parts
    assert "".join(text for part in several for text in part.content) + end.content[0] == "😀" * 20_000
    assert end.content[1:] == [{"type": "end"}]
    assert answer.entry.content[0]["content"][1:] == [large, {"type": "end"}]


def test_a_full_log_gets_signs_of_life_and_does_not_end_the_answer(
    here: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_logs, "PARTS_MAX", 1)
    pace(monkeypatch, SIGN_S=0.05)
    chat = asked(here)
    with block(here, chat.answer()) as answer:
        here.run(answer.write, "To ")
        until(lambda: log_of(here, chat, answer).position >= 1)
        here.run(answer.write, "Porto")
        signed = log_of(here, chat, answer).position
        until(lambda: log_of(here, chat, answer).position > signed + 1)
        here.run(answer.write, ".")

    assert (shown(log_of(here, chat, answer)), texts(here, chat)[1:]) == ("To ", ["To Porto."])


def test_an_answer_that_another_one_has_replaced_is_stored_all_the_same(
    here: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, api = asked(here), here.client().api
    monkeypatch.setattr(answer_logs, "SILENT_SECONDS", 0)
    for fork in (False, True):
        with block(here, chat.answer()) as answer:
            here.run(answer.write, "To Porto.")
            other = here.run(lambda: api.begin_answer(chat.id))
            entry = here.run(lambda answer=answer, fork=fork: answer.finish(fork=fork))
        assert (text_of(entry), entry.conversation_id == chat.id) == ("To Porto.", not fork)
        assert here.run(lambda other=other: api.get_answer(chat.id, other.id)).state == "silent"
    assert texts(here, chat)[1:] == ["To Porto."]


def test_an_answer_that_was_ended_elsewhere_by_intent_is_no_turn(here: Way) -> None:
    chat, api = asked(here), here.client().api
    answer = chat.answer()
    with pytest.raises(ConflictError, match="has ended"):
        write(here, answer, "To P", then=lambda: here.run(lambda: api.delete_answer(chat.id, answer.id)))
    assert (answer.entry, texts(here, chat)) == (None, ["Where to?"])
    with block(here, chat.answer()) as answer:
        here.run(lambda: chat.turn("ai", "To Faro.", answer_id=answer.id))
        with pytest.raises(ConflictError, match="has ended"):
            here.run(answer.finish)
    assert texts(here, chat)[1:] == ["To Faro."]


class _Between(Proxy):
    """Plants these faults, one after the other, again and again."""

    faults: Iterator[str] = cycle(["no_fault"])

    def fault(self) -> str:
        return next(self.faults)


@pytest.fixture
def between() -> Iterator[_Between]:
    """A proxy between a client over HTTP and the service."""
    with table_in_memory() as template, served(template) as url, proxy(url, 0, _Between) as running:
        assert isinstance(running, _Between)
        yield running


@pytest.fixture
def ann(between: _Between) -> Iterator[Forklore]:
    with closing(Forklore(between.url, token="ann")) as ann:
        yield ann


def test_a_lost_answer_doubles_no_part(between: _Between, ann: Forklore) -> None:
    chat = ann.conversation()
    chat.say("user", "Where to?")
    with chat.answer() as answer:
        between.faults = cycle(["answer_lost", "no_fault"])
        for text in ("To ", "Porto", "."):
            answer.write(text)
            until(lambda: shown(ann.api.get_answer(chat.id, answer.id)) == answer.text)

    assert [text_of(one) for one in chat.entries()] == ["Where to?", "To Porto."]


def test_a_service_that_is_away_for_a_while_holds_nobody_up_and_gets_all_later(
    between: _Between, ann: Forklore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace(monkeypatch, SENDING_S=HELD_UP_SECONDS)
    chat = ann.conversation()
    chat.say("user", "Where to?")
    with chat.answer() as answer:
        between.faults = cycle(["closed_before"])
        begin = time.monotonic()
        for text in ("To ", "Por", "to", "."):
            answer.write(text)
            time.sleep(0.2)
        assert time.monotonic() - begin < HELD_UP_SECONDS
        between.faults = cycle(["no_fault"])
        until(lambda: shown(ann.api.get_answer(chat.id, answer.id)) == "To Porto.")

    assert [text_of(one) for one in chat.entries()] == ["Where to?", "To Porto."]


def test_a_service_that_is_away_at_the_end_is_an_error_and_the_finish_can_be_repeated(
    between: _Between, ann: Forklore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace(monkeypatch, SENDING_S=0.2)
    chat = ann.conversation()
    chat.say("user", "Where to?")
    answer = ann.with_options(retries=0).conversation(chat.id).answer()

    def away() -> None:
        between.faults = cycle(["closed_before"])

    with pytest.raises(NoAnswerError) as lost:
        write(Way(lambda _: ann, None), answer, "To Porto.", then=away)
    between.faults = cycle(["no_fault"])
    entry = answer.finish(idempotency_key=lost.value.idempotency_key)

    assert answer.text == text_of(entry) == "To Porto."
    assert answer.finish(idempotency_key=lost.value.idempotency_key) == entry


KILLED = """
import sys, time
from forklore import Forklore
with Forklore.local(user="ann", data=sys.argv[1]) as ann:
    with ann.conversation(sys.argv[2]).answer() as answer:
        answer.write("To P")
        print(answer.id, flush=True)
        time.sleep(600)
"""


def answered(answer: Any) -> None:
    with answer:
        answer.write("To P")


@pytest.mark.parametrize("heir", ["who finishes it", "who begins anew", "of another client"])
def test_what_a_killed_process_has_written_is_there_and_its_heir_goes_on_at_once(
    tmp_path: Path, heir: str
) -> None:
    with Forklore.local(user="ann", data=tmp_path) as ann:
        chat = ann.conversation()
        chat.say("user", "Where to?")
        command = [sys.executable, "-c", KILLED, str(tmp_path), chat.id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            answer_id = process.stdout.readline().strip()
            until(lambda: bool(ann.api.get_answer(chat.id, answer_id).parts))
            process.send_signal(signal.SIGKILL)
        log = ann.api.get_answer(chat.id, answer_id)
        assert (shown(log), log.state) == ("To P", "open")
        assert [text_of(one) for one in chat.entries()] == ["Where to?"]
        supervisor = ann.acting_as("ann", "supervisor").conversation(chat.id)
        with pytest.raises(ConflictError, match="answer is being written"):
            answered(supervisor.answer())
        match heir:
            case "who finishes it":
                chat.turn("ai", shown(log), answer_id=answer_id)
            case "who begins anew":
                answered(chat.answer())
            case "of another client":
                answered(supervisor.answer(take_over=True))
        assert [text_of(one) for one in chat.entries()] == ["Where to?", "To P"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_task_ends_its_answer(backend: str) -> None:
    async def use() -> None:
        async with AsyncForklore.local(user="ann") as ann:
            chat = ann.conversation()
            await chat.say("user", "Where to?")
            with anyio.move_on_after(0.2):
                async with chat.answer() as answer:
                    await answer.write("To P")
                    await anyio.sleep_forever()
            log = await ann.api.get_answer(chat.id, answer.id)
            assert (log.state, shown(log)) == ("dropped", "To P")

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("fault", ["answer_lost", "closed_before"])
def test_a_beginning_whose_answer_was_lost_is_in_nobodys_way(
    between: _Between, ann: Forklore, fault: str
) -> None:
    chat = ann.conversation()
    chat.say("user", "Where to?")
    between.faults = chain([fault], repeat("no_fault"))
    with pytest.raises(NoAnswerError), ann.with_options(retries=0).conversation(chat.id).answer():
        pytest.fail("it has begun")

    with chat.answer(take_over=False) as answer:
        answer.write("To Porto.")
    assert [text_of(one) for one in chat.entries()] == ["Where to?", "To Porto."]


def test_a_generator_that_its_page_has_forgotten_ends_its_answer() -> None:
    """As when a framework's response ends with its connection: nobody closes the generator."""

    async def use() -> None:
        async with AsyncForklore.local(user="ann") as ann:
            chat = ann.conversation()
            await chat.say("user", "Where to?")
            answers: list[Any] = []

            async def stream() -> Any:
                async with chat.answer() as answer:
                    answers.append(answer)
                    while True:
                        await answer.write("To P")
                        yield answer.text

            with suppress(StopAsyncIteration):
                await anext(stream())
            gc.collect()
            with anyio.fail_after(SOON_SECONDS):
                while (await ann.api.get_answer(chat.id, answers[0].id)).state != "dropped":  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    anyio.run(use)

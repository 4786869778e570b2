"""`watch` goes on for ever, and shows each new entry once, wherever the service is."""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from forklore import (
    AsyncForklore,
    ForbiddenError,
    Forklore,
    NoAnswerError,
    NotFoundError,
    ServerError,
    UnavailableError,
    text_of,
)
from forklore.client.calls import Call, RawAnswer
from forklore.client.generated.operations import SHAPES
from forklore.client.generated.results import AnswerLog, Entry, ListedEntry
from forklore.client.retrying import RETRIED, Options
from forklore_service.api import watching
from tests.clients.python.ways import WAYS, Way, opened
from tests.local.server.test_server import Running, running

SOON_SECONDS = 60
AT_ONCE_SECONDS = 10
"""Half of what a call waits, and far more than it takes."""
NEVER_MS = 600_000
"""A pace at which a watch sees nothing as long as the test runs."""
SAID_EVERY_SECONDS = 0.2
WRITERS, ENTRIES_OF_EACH = 3, 8


@pytest.fixture
def way(transport: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    """A service that names a quick pace. In process, where calls wait, the pace is not used."""
    for pace in ("FLOWS_MS", "QUIET_MS", "IDLE_MS"):
        monkeypatch.setattr(watching, pace, NEVER_MS if transport == "process" else 50)
    with opened(transport, mode, monkeypatch) as way:
        yield way


def step(way: Way, watch: Any) -> Any:
    return way.run(watch.__next__ if hasattr(watch, "__next__") else watch.__anext__)


@contextmanager
def meanwhile(function: Callable[..., Any], *arguments: Any) -> "Iterator[Future[Any]]":
    """Yield what a function returns that waits meanwhile."""
    with ThreadPoolExecutor(1) as threads:
        told = threads.submit(function, *arguments)
        time.sleep(SAID_EVERY_SECONDS)
        assert not told.done()
        yield told


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_each_entry_after_the_last_one_comes_once_and_in_order(way: Way) -> None:
    ann = way.client()
    chat = ann.conversation()
    way.run(lambda: chat.say("user", "before"))
    watch = chat.watch()
    said = []
    with meanwhile(step, way, watch) as first:
        for number in itertools.count():
            said.append(way.run(lambda: chat.say("user", f"new {number}")).id)  # noqa: B023 (called at once)
            time.sleep(SAID_EVERY_SECONDS)
            if first.done():
                break
    begins = said.index(first.result().id)

    assert [step(way, watch).id for _ in said[begins + 1 :]] == said[begins + 1 :]
    with meanwhile(step, way, watch) as another:
        last = way.run(lambda: chat.say("ai", "the last"))
        assert another.result(SOON_SECONDS).id == last.id


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_a_watch_begins_behind_an_entry_or_at_the_beginning_and_goes_over_any_number_of_pages(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("asynchronous", "generated.synchronous"):
        monkeypatch.setattr(f"forklore.client.{kind}.watching.PAGE_ENTRIES", 2)
    chat = way.client().conversation()
    said = [way.run(lambda n=n: chat.say("user", f"{n}")) for n in range(6)]
    behind, whole = chat.watch(after=said[0]), chat.watch(after=None, channel="history")

    assert [text_of(step(way, behind)) for _ in range(5)] == ["1", "2", "3", "4", "5"]
    assert [text_of(step(way, whole)) for _ in range(6)] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_an_answer_comes_part_by_part_and_then_as_an_entry(way: Way) -> None:
    api = way.client().api
    chat = way.client().conversation()
    watch = chat.watch(after=way.run(lambda: chat.say("user", "asked")))
    answer = way.run(lambda: api.begin_answer(chat.id))

    def write(after: int, *content: str) -> None:
        way.run(lambda: api.append_to_answer(chat.id, answer.id, after=after, content=content))

    def shown() -> tuple[str, list[Any]]:
        log = step(way, watch)
        assert isinstance(log, AnswerLog)
        assert log.id == answer.id
        return log.state, [element for part in log.parts for element in part.content]

    write(0, "One")
    write(1, ", two")
    assert shown() == ("open", ["One", ", two"])
    write(2)  # only says that somebody is at it
    write(3, ", three")
    said = way.run(lambda: chat.say("user", "meanwhile"))
    later = [step(way, watch) for _ in range(2)]
    assert {type(one) for one in later} == {AnswerLog, ListedEntry}
    assert {one.id for one in later} == {answer.id, said.id}
    entry = way.run(lambda: chat.say("ai", "One, two, three", answer_id=answer.id))
    assert (shown(), step(way, watch).id) == (("finished", []), entry.id)

    other = way.run(lambda: api.begin_answer(chat.id))
    log = step(way, watch)
    assert (log.id, log.state, log.parts) == (other.id, "open", ())


def test_an_answer_is_told_to_have_ended_also_if_its_entry_was_seen_before_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Forklore.local(user="ann") as fl:
        chat = fl.conversation()
        watch = chat.watch(after=chat.say("user", "asked"))
        answer = fl.api.begin_answer(chat.id)
        fl.api.append_to_answer(chat.id, answer.id, after=0, content=["One"])
        assert isinstance(next(watch), AnswerLog)
        send, ended = fl.api.send, list[ListedEntry | Entry]()

        def late(call: Call) -> RawAnswer:
            if call.shape is SHAPES["listEntries"] and not ended:
                ended.append(chat.say("ai", "One", answer_id=answer.id))
            return send(call)

        monkeypatch.setattr(fl.api, "send", late)
        told = [next(watch) for _ in range(2)]

    assert [one.id for one in told] == [ended[0].id, answer.id]
    assert isinstance(told[1], AnswerLog)
    assert told[1].state == "finished"


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_a_watch_ends_with_the_error_when_access_is_gone(way: Way) -> None:
    chat = way.client().conversation()
    first = way.run(lambda: chat.say("user", "hello"))
    of_bob = way.client("bob").conversation(chat.id).watch(after=first)
    with pytest.raises(ForbiddenError):
        step(way, of_bob)
    way.run(lambda: chat.share("bob", "reader"))
    with meanwhile(step, way, of_bob) as next_step:
        way.run(lambda: chat.unshare("bob"))
        with pytest.raises(ForbiddenError):
            next_step.result(SOON_SECONDS)
    with meanwhile(step, way, chat.watch(after=first)) as next_step:
        way.run(chat.delete_tree)
        with pytest.raises(NotFoundError):
            next_step.result(SOON_SECONDS)
    with pytest.raises(NotFoundError):
        step(way, way.client().named("nothing").watch())


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_nothing_is_told_before_a_grant_or_after_a_revocation(way: Way) -> None:
    api, chat = way.client().api, way.client().conversation()
    way.run(lambda: chat.say("user", "before"))
    answer = way.run(lambda: api.begin_answer(chat.id))

    def write(after: int, text: str) -> None:
        way.run(lambda: api.append_to_answer(chat.id, answer.id, after=after, content=[text]))

    write(0, "One")
    of_bob = way.client("bob").conversation(chat.id).watch(after=None)
    for _ in range(2):
        with pytest.raises(ForbiddenError):
            step(way, of_bob)

    way.run(lambda: chat.share("bob", "reader"))
    assert text_of(step(way, of_bob)) == "before"
    assert [part.content for part in step(way, of_bob).parts] == [["One"]]

    with meanwhile(step, way, of_bob) as next_step:
        way.run(lambda: chat.unshare("bob"))
        with pytest.raises(ForbiddenError):
            next_step.result(SOON_SECONDS)
    write(1, "a secret")
    way.run(lambda: chat.say("user", "another one"))
    with pytest.raises(ForbiddenError):
        step(way, of_bob)


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_nothing_is_missed_or_told_twice_while_several_write(way: Way) -> None:
    chat = way.client().conversation()
    watch = chat.watch(after=way.run(lambda: chat.say("user", "first")))

    def write(_: int) -> None:
        for number in range(ENTRIES_OF_EACH):
            way.run(lambda: chat.say("user", f"{number}"))  # noqa: B023 (called at once)

    with ThreadPoolExecutor(WRITERS) as threads:
        done = threads.map(write, range(WRITERS))
        told = [step(way, watch).id for _ in range(WRITERS * ENTRIES_OF_EACH)]
        assert list(done) == [None] * WRITERS
    assert told == [one.id for one in way.run(chat.entries(channel="history").list)][1:]


def served(folder: Path, port: str = "0") -> AbstractContextManager[Running]:
    return running("--port", port, "--data", str(folder), last_line="Ctrl+C")


def test_a_watch_outlives_a_server_that_is_killed_and_started_again(tmp_path: Path) -> None:
    with served(tmp_path) as local, closing(Forklore(local.url, token="ann", deadline=2)) as ann:
        chat = ann.conversation()
        with meanwhile(next, chat.watch(after=chat.say("user", "hello"))) as told:
            local.process.kill()
            with served(tmp_path, local.url.rpartition(":")[2]):
                again = chat.say("user", "again")
                assert told.result(SOON_SECONDS).id == again.id


def test_a_watch_outlives_each_status_after_which_a_call_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for kind in ("asynchronous", "generated.synchronous"):
        monkeypatch.setattr(f"forklore.client.{kind}.watching.LOST_S", 0.01)
    with Forklore.local(user="ann") as ann:
        chat = ann.conversation()
        watch = chat.watch(after=None)
        said = [chat.say("user", "first")]
        assert next(watch).id == said[0].id
        said.append(chat.say("user", "second"))
        failures, send = [*sorted(RETRIED), None, 507], ann.api.send

        def failing(call: Call) -> RawAnswer:
            status = failures.pop(0)
            return send(call) if status is None else RawAnswer(status, "")

        monkeypatch.setattr(type(ann.api), "send", lambda _, call: failing(call))
        assert next(watch).id == said[1].id
        with pytest.raises(ServerError):
            next(watch)


def test_a_service_that_was_never_there_is_an_error() -> None:
    with closing(Forklore("http://127.0.0.1:1", token="ann", retries=0)) as ann, pytest.raises(NoAnswerError):
        next(ann.conversation().watch())


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_a_watch_ends_with_the_budget_of_all_calls(way: Way) -> None:
    ann = way.client()
    chat = ann.conversation()
    way.run(lambda: chat.say("user", "before"))
    watch = ann.with_options(budget=1).conversation(chat.id).watch()

    with pytest.raises(NoAnswerError):
        step(way, watch)


def test_in_process_a_commit_of_another_process_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "IDLE_MS", NEVER_MS)
    with Forklore.local(user="ann", data=tmp_path) as ann, served(tmp_path) as local:
        chat = ann.conversation()
        first = chat.say("user", "hello")
        with (
            meanwhile(next, chat.watch(after=first)) as told,
            closing(Forklore(local.url, token="ann")) as other,
        ):
            said = other.conversation(chat.id).say("user", "new")
            assert told.result(SOON_SECONDS).id == said.id


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_who_leaves_a_watch_leaves_at_once_and_a_closed_client_ends_it(backend: str) -> None:
    async def use() -> None:
        async with AsyncForklore.local(user="ann") as client:
            chat = client.conversation()
            watch = chat.watch(after=await chat.say("user", "hello"))
            with anyio.fail_after(AT_ONCE_SECONDS), anyio.move_on_after(SAID_EVERY_SECONDS) as scope:
                await anext(watch)
            assert scope.cancelled_caught
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ends, watch)
                await anyio.sleep(SAID_EVERY_SECONDS)
                await client.aclose()

    async def ends(watch: Any) -> None:
        with pytest.raises(UnavailableError, match="closed"):
            await anext(watch)

    anyio.run(use, backend=backend)


def test_a_request_is_held_for_less_than_the_client_waits_for_its_answer() -> None:
    assert [Options(timeout_s=s).wait_s for s in (0.5, 5, 7, 24, 25, 30)] == [0, 0, 2, 19, 20, 20]
    assert Options(deadline_s=8).wait_s == 3

"""The session of the OpenAI Agents SDK beyond the SDK's own tests."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forklore import Forklore, TooLargeError, role_of, text_of
from forklore.adapters.files import Stored
from forklore.adapters.openai_agents import ForkloreSession, kept
from forklore.adapters.openai_agents.items import drafts_of, packs_of
from forklore.client.calls import Call
from forklore.client.generated.limits import APPEND_ENTRIES_MAX
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire

CALL = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"euros": 5}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "paid"}


def user_says(text: object) -> Any:
    return {"role": "user", "content": text}


def agent_says(text: str) -> Any:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def said(number: int) -> list[Any]:
    return [(user_says, agent_says)[at % 2](f"{at}") for at in range(number)]


async def texts(session: ForkloreSession) -> list[str]:
    items: list[Any] = await session.get_items()
    return [one["content"] if isinstance(one["content"], str) else one["content"][0]["text"] for one in items]


ODD: list[Any] = [
    user_says('Hello \u00e9\U0001f600 \u2028 \x00 "quoted" \\'),
    user_says(""),
    user_says("half \ud83d"),
    agent_says("Hi."),
    {"content": "the order of members", "role": "developer"},
    {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:,x", "detail": "auto"}]},
    {"role": "user", "content": []},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    CALL,
    RESULT,
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "x"}]},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "abc="},
    {"type": "item_reference", "id": "x"},
    {"numbers": [0.1, 1e300, 2**70, -0.0, True, None]},
    {"deep": json.loads("[" * 80 + "]" * 80)},
    {},
]


def test_every_item_comes_back_as_it_was(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", client)
        await session.add_items(ODD)
        for one in ODD:
            await session.add_items([one])
        found = await session.get_items()
        assert json.dumps(found) == json.dumps(ODD + ODD)  # the members in their order, too
        many = ForkloreSession("many", client)
        await many.add_items(ODD * 8)
        assert json.dumps(await many.get_items()) == json.dumps(ODD * 8)
        assert json.dumps(await many.get_items(5)) == json.dumps(ODD[-5:])

    with service.client(user) as client:
        asyncio.run(check())


def test_a_session_is_shown_as_a_conversation(service: Service, user: str) -> None:
    with service.client(user) as client:
        items = [user_says("Lisbon?"), CALL, RESULT, agent_says("In May.")]
        asyncio.run(ForkloreSession("s", client).add_items(items))
        entries = client.named("openai/s").entries().list()
        assert [(role_of(entry), text_of(entry)) for entry in entries] == [
            ("user", "Lisbon?"),
            ("ai", '[calls pay {"euros": 5}]'),
            ("system", "[returned paid]"),
            ("ai", "In May."),
        ]
        assert json.dumps(entries[3].content).count("In May.") == 1  # the text is stored once


def test_what_another_program_says_is_a_message(service: Service, user: str) -> None:
    with service.client(user) as client:
        named = client.named("openai/s")
        named.say("user", "From elsewhere.")
        named.say("tool", "An output without its call.")
        named.append([{"a": 1}], content_type="application/json")
        session = ForkloreSession("s", client)
        assert asyncio.run(session.get_items()) == [user_says("From elsewhere.")]
        assert asyncio.run(session.pop_item()) == user_says("From elsewhere.")
        assert asyncio.run(session.get_items()) == []


def test_many_entries_of_another_program_do_not_take_many_requests(service: Service, user: str) -> None:
    with service.client(user) as client:
        named = client.named("openai/s")
        named.say("user", "From elsewhere.")
        named.append_all([{"contentType": "application/json", "content": [{}]}] * 20)
        wire = Wire()
        found = asyncio.run(ForkloreSession("s", wire.wrapped(client)).get_items(1))
        assert found == [user_says("From elsewhere.")]
        assert wire.sent == ["listEntriesByName"] * 2


def test_a_cleared_session_begins_anew_and_its_fork_lives_on(service: Service, user: str) -> None:
    async def check() -> None:
        session, again = ForkloreSession("s", client), ForkloreSession("s", client)
        await session.clear_session()
        await session.add_items(said(4))
        fork = await session.fork("fork")
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()
        await again.add_items([user_says("new")])
        assert await texts(session) == ["new"]
        assert await texts(fork) == ["0", "1", "2", "3"]
        await ForkloreSession("fork2", client).add_items(said(1))
        client.named("openai/s").delete()  # for good, with the client of forklore
        assert await session.get_items() == []
        assert await session.pop_item() is None
        assert await texts(await session.fork()) == []
        with pytest.raises(ValueError, match="'fork2' exists already"):
            await session.fork("fork2")
        await session.add_items([user_says("newer")])
        assert await texts(again) == ["newer"]

    with service.client(user) as client:
        asyncio.run(check())


def test_a_fork_lives_without_its_source(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", client)
        await session.add_items(said(6))
        whole = await session.fork()
        second, third = await session.fork("second", before_turn=2), await session.fork(before_turn=-1)
        assert [await texts(one) for one in (whole, second, third)] == [
            ["0", "1", "2", "3", "4", "5"],
            ["0", "1"],
            ["0", "1", "2", "3"],
        ]
        assert await texts(await session.fork(before_turn=1)) == []
        await second.add_items([agent_says("other")])
        for turn in (0, 4, -4):
            with pytest.raises(ValueError, match=f"there is no turn {turn}"):
                await session.fork(before_turn=turn)
        with pytest.raises(ValueError, match="'second' exists already"):
            await session.fork("second")
        client.named("openai/s").delete()
        assert await texts(second) == ["0", "1", "other"]
        assert await texts(whole) == ["0", "1", "2", "3", "4", "5"]
        assert await session.get_items() == []
        client.named("openai/second").delete()
        assert await texts(await whole.fork("second")) == ["0", "1", "2", "3", "4", "5"]

    with service.client(user) as client:
        asyncio.run(check())


def test_more_than_50_items_are_added_at_once_and_taken_away_one_by_one(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", Wire().wrapped(client))
        await session.add_items(said(130))
        fork = await session.fork(before_turn=5)
        assert await texts(fork) == [f"{at}" for at in range(8)]
        assert await texts(await session.fork(before_turn=-2)) == [f"{at}" for at in range(126)]
        for at in range(129, 110, -1):
            popped: Any = await session.pop_item()
            assert popped in (user_says(f"{at}"), agent_says(f"{at}"))
        assert await texts(session) == [f"{at}" for at in range(111)]

    with service.client(user) as client:
        asyncio.run(check())


@pytest.mark.parametrize("sizes", [[1] * 51, [99_000] * 50, [419_999, 2] * 11 + [1] * 4000, [5_000] * 999])
def test_items_fit_into_the_entries_of_one_append(sizes: list[int]) -> None:
    packs = packs_of(sizes, [0] * len(sizes))
    assert len(packs) <= APPEND_ENTRIES_MAX
    assert [at for start, stop in packs for at in range(start, stop)] == list(range(len(sizes)))


def test_an_item_of_2_4_mb_is_kept_and_larger_ones_are_refused(service: Service, user: str) -> None:
    async def check() -> None:
        wire = Wire()
        session = ForkloreSession("s", wire.wrapped(client))
        large = [user_says("x" * 2_400_000), agent_says("y" * 2_400_000)]
        await session.add_items(large)
        assert await session.get_items() == large
        wire.sent.clear()
        for items in ([user_says("z" * 2_600_000)], [user_says("\u00e9" * 450_000)], [*large, *large]):
            with pytest.raises(TooLargeError, match="as escaped JSON"):
                await session.add_items([user_says("small"), *items])
        with pytest.raises(TypeError):
            await session.add_items([user_says("small"), user_says(object())])
        assert wire.sent == []
        assert await session.pop_item() == large[1]
        assert await session.get_items() == large[:1]

    with service.client(user) as client:
        asyncio.run(check())


def test_two_writers_lose_and_double_nothing(service: Service, user: str) -> None:
    async def work(client: Forklore, letter: str) -> list[Any]:
        session, popped = ForkloreSession("s", client), []
        for number in range(12):
            await session.add_items([user_says(f"{letter}{number}")])
            if number % 3 == 2:
                popped.append(await session.pop_item())
        return popped

    async def check() -> None:
        taken = await asyncio.gather(work(first, "x"), work(second, "y"))
        kept = await ForkloreSession("s", first).get_items()
        everything = [one["content"] for one in [*kept, *taken[0], *taken[1]]]
        assert sorted(everything) == sorted(f"{letter}{n}" for letter in "xy" for n in range(12))
        assert len(kept) == 16

    with service.client(user) as first, service.client(user) as second:
        asyncio.run(check())


def test_a_cancelled_task_finishes_its_change(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", client)
        steps: list[tuple[Callable[[], Awaitable[Any]], list[str]]] = [
            (lambda: session.add_items(said(3)), ["0", "1", "2"]),
            (session.pop_item, ["0", "1"]),
            (session.clear_session, []),
        ]
        for change, left in steps:
            task = asyncio.ensure_future(change())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await texts(session) == left

    with service.client(user) as client:
        asyncio.run(check())


async def tell(session: ForkloreSession) -> None:
    """Do what is left of a story. Whoever was killed begins again."""
    if not await session.get_items():
        await session.add_items(said(52))
    while len(await session.get_items()) > 50:
        await session.pop_item()
    if not await ForkloreSession("fork", session._client).get_items():
        await session.fork("fork", before_turn=-1)
    if (await session.get_items())[0] != user_says("summary"):
        snapshot = await session._get_compaction_snapshot(100)
        assert snapshot is not None
        assert snapshot.complete
        assert await snapshot.replace_suffix(0, [user_says("summary"), *said(2)])


def test_a_killed_process_can_be_followed_by_another(service: Service, user: str) -> None:
    with service.client(user) as client:
        lives, kills = 0, 0
        while kills == lives:
            try:
                asyncio.run(tell(ForkloreSession("s", Wire(lives).wrapped(client))))
            except Killed:
                kills += 1
            session = ForkloreSession("s", client)
            asyncio.run(tell(session))
            assert asyncio.run(texts(session)) == ["summary", "0", "1"]
            fork = ForkloreSession("fork", client)
            assert asyncio.run(texts(fork)) == [f"{at}" for at in range(48)]
            client.named("openai/s").delete_tree()
            lives += 1
        assert lives > 15


@pytest.mark.parametrize("number", [10, 3000])
def test_a_fork_takes_as_many_requests_however_long_the_session_is(
    service: Service, user: str, number: int
) -> None:
    async def check() -> None:
        wire = Wire()
        whole, session = ForkloreSession("s", client), ForkloreSession("s", wire.wrapped(client))
        for at in range(0, number, 50):
            await whole.add_items(said(number)[at : at + 50])
        wire.sent.clear()
        await session.fork("all")
        assert wire.sent == ["lookUpName", "forkConversation"]
        for turn, left in ((-1, number - 2), (3, 4)):
            wire.sent.clear()
            await session.fork(f"before {turn}", before_turn=turn)
            assert wire.sent == ["lookUpName", "listEntries", "forkConversation"]
            assert len(await ForkloreSession(f"before {turn}", client).get_items()) == left
        wire.sent.clear()
        await session.pop_item()
        assert wire.sent == ["lookUpName", "listEntries", "forkConversation"]

    with service.client(user) as client:
        asyncio.run(check())


def test_items_taken_away_in_a_row_do_not_deepen_the_ancestry(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", client)
        await session.add_items(said(30))
        for at in range(12):
            assert await session.pop_item() is not None
            assert await session.pop_item() is not None
            await session.add_items([user_says(f"again {at}")])
            await session.pop_item()
        assert len(client.named("openai/s").ancestors()) <= 2
        assert await texts(session) == [f"{at}" for at in range(6)]

    with service.client(user) as client:
        asyncio.run(check())


def test_a_snapshot_is_not_replaced_after_another_change(service: Service, user: str) -> None:
    async def check() -> None:
        session = ForkloreSession("s", client)
        await session.add_items(said(4))
        old = await session._get_compaction_snapshot(2)
        assert old is not None
        assert (len(old.items), old.complete) == (2, False)
        await session.add_items([user_says("late")])
        assert not await old.replace_suffix(0, [user_says("summary")])
        new = await session._get_compaction_snapshot(3)
        assert new is not None
        assert await new.replace_suffix(1, [user_says("summary")])
        assert not await new.replace_suffix(1, [user_says("summary")])
        assert await texts(session) == ["0", "1", "2", "summary"]
        assert await session._atomic_replace_items([user_says("all")])
        assert await texts(session) == ["all"]
        assert await session._atomic_replace_items([])
        assert await texts(session) == []

    with service.client(user) as client:
        asyncio.run(check())


def test_a_cleared_session_is_not_brought_back_by_a_change_that_was_begun_before(
    service: Service, user: str
) -> None:
    """A compaction waits for a model while another process clears the session and goes on."""

    async def clear_and_go_on() -> None:
        session = ForkloreSession("s", client)
        await session.clear_session()
        await session.add_items([user_says("new")])

    async def check() -> None:
        session = ForkloreSession("s", client)
        await session.add_items(said(2))
        old = await session._get_compaction_snapshot(2)
        assert old is not None
        await clear_and_go_on()
        assert not await old.replace_suffix(0, [user_says("summary")])
        assert await texts(session) == ["new"]

    with service.client(user) as client:
        asyncio.run(check())
        wire = Meanwhile(work=lambda: asyncio.run(clear_and_go_on()))
        popped = asyncio.run(ForkloreSession("s", wire.wrapped(client)).pop_item())
        assert popped == user_says("new")
        assert asyncio.run(ForkloreSession("s", client).get_items()) == []


def test_of_two_that_find_the_conversation_deleted_both_add(service: Service, user: str) -> None:
    with service.client(user) as client:
        session = ForkloreSession("s", client)
        asyncio.run(session.add_items(said(2)))
        client.named("openai/s").delete()
        wire = Meanwhile(work=lambda: asyncio.run(session.add_items([user_says("first")])), number=1)
        asyncio.run(ForkloreSession("s", wire.wrapped(client)).add_items([user_says("second")]))
        assert asyncio.run(texts(session)) == ["first", "second"]


def test_another_process_goes_on(service: Service, user: str) -> None:
    """Two processes in turn, over HTTP."""
    if service.url is None:
        pytest.skip("one process at a time opens the folder")
    program = """
import asyncio, sys
from forklore import Forklore
from forklore.adapters.openai_agents import ForkloreSession
with Forklore(sys.argv[1], token=sys.argv[2], client_key="planner-key") as client:
    for number in range(10):
        asyncio.run(ForkloreSession("s", client).add_items([{"role": "user", "content": f"{number}"}]))
"""
    command = (sys.executable, "-c", program, service.url, user)
    for process in [subprocess.Popen(command, env={}) for _ in range(2)]:
        assert process.wait(timeout=60) == 0
    with service.client(user) as client:
        found = asyncio.run(texts(ForkloreSession("s", client)))
    assert sorted(found) == sorted(f"{number}" for number in range(10) for _ in range(2))


@dataclass
class Meanwhile(Wire):
    """Calls `work` before a request. number: which one, from 1."""

    work: Callable[[], None] = lambda: None
    number: int = 2

    def note(self, call: Call) -> None:
        super().note(call)
        if len(self.sent) == self.number:
            self.work()


@pytest.mark.parametrize(("pops", "seen"), [(1, 6), (2, 4), (6, 0)])
def test_a_session_that_changes_between_two_pages_is_read_as_it_was_or_is(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch, pops: int, seen: int
) -> None:
    monkeypatch.setattr(kept, "PAGE_ENTRIES_MAX", 2)

    def pop() -> None:
        for _ in range(pops):
            asyncio.run(ForkloreSession("s", client).pop_item())

    with service.client(user) as client:
        asyncio.run(ForkloreSession("s", client).add_items(said(6)))
        session = ForkloreSession("s", Meanwhile(work=pop).wrapped(client))
        assert asyncio.run(texts(session)) == [f"{at}" for at in range(seen)]
        assert asyncio.run(texts(session)) == [f"{at}" for at in range(6 - pops)]


def test_the_error_without_the_sdk_names_the_extra() -> None:
    code = "import sys; sys.modules['agents'] = None; import forklore.adapters.openai_agents"
    done = subprocess.run((sys.executable, "-c", code), env={}, capture_output=True, text=True, check=False)
    told = "MissingExtraError: agents is not installed: pip install 'forklore[openai-agents]'"
    assert done.stderr.splitlines()[-1].endswith(told)


def test_an_entry_of_an_item_has_the_text_once() -> None:
    item = user_says("Hello")
    [draft] = drafts_of([item], [Stored.whole(item)])
    assert draft["content"] == [
        {"role": "USER", "text": "Hello", "events": [{"role": "user", "content": ""}], "textIn": ["content"]}
    ]

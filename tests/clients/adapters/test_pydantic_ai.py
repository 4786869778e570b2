"""The store of Pydantic AI under what its own tests leave out: kills, sizes, deletions, forks."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from forklore import AsyncForklore, TooLargeError, role_of, text_of
from forklore.adapters.pydantic_ai import ForkloreConversationStore
from forklore.client.calls import Call, RawAnswer
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire

pytestmark = pytest.mark.parametrize("backend", ["asyncio", "trio"])
Test = Callable[[AsyncForklore], Awaitable[None]]


def asked(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(content=text)])


def answered(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(content=text)])


def texts(conversation: Conversation | None) -> list[str] | None:
    if conversation is None:
        return None
    return [str(part.content) for message in conversation.messages for part in message.parts]  # type: ignore[union-attr]


def talk(*said: str, name: str = "trip") -> Conversation:
    messages = [(asked, answered)[number % 2](text) for number, text in enumerate(said)]
    return Conversation(conversation_id=name, messages=messages)


def run(service: Service, user: str, backend: str, test: Test) -> None:
    async def main() -> None:
        async with service.async_client(user) as client:
            await test(client)

    anyio.run(main, backend=backend)


def test_a_deleted_conversation_is_gone_and_its_name_is_free(
    service: Service, user: str, backend: str
) -> None:
    async def test(client: AsyncForklore) -> None:
        store = ForkloreConversationStore(client)
        await store.save(talk("a", "b"))
        await store.delete("trip")
        assert await store.load("trip") is None
        assert await client.names().list() == []
        assert await client.conversations(mode="all").list() == []
        await store.save(talk("c"))
        assert texts(await store.load("trip")) == ["c"]

    run(service, user, backend, test)


def test_a_fork_lives_on_without_its_source(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        store = ForkloreConversationStore(client)
        await store.save(talk("a", "b", "c", "d"))
        await store.fork("trip", at=3, new_conversation_id="other")
        await store.delete("trip")
        assert texts(await ForkloreConversationStore(client).load("other")) == ["a", "b", "c"]
        other = await store.load("other")
        assert other is not None
        other.messages.append(answered("e"))
        await store.save(other)
        assert texts(await ForkloreConversationStore(client).load("other", limit=2)) == ["c", "e"]

    run(service, user, backend, test)


def test_the_second_of_two_writers_is_refused(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        store, other = ForkloreConversationStore(client), ForkloreConversationStore(client)
        conflicts = 0
        await store.save(talk("0"))

        async def write(mine: ForkloreConversationStore, text: str) -> None:
            nonlocal conflicts
            while True:
                held = await mine.load("trip")
                assert held is not None
                held.messages.append(asked(text))
                try:
                    await mine.save(held)
                except ConversationConflict:
                    conflicts += 1
                else:
                    return

        async def write_all(mine: ForkloreConversationStore, letter: str) -> None:
            for number in range(8):
                await write(mine, f"{letter}{number}")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_all, store, "a")
            tasks.start_soon(write_all, other, "b")
        found = texts(await store.load("trip")) or []
        assert sorted(found) == sorted(["0", *(f"{letter}{n}" for letter in "ab" for n in range(8))])
        assert [one for one in found if one[0] == "a"] == [f"a{number}" for number in range(8)]
        assert conflicts > 0

    run(service, user, backend, test)


def test_what_was_saved_is_found_however_others_branch(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        saved: list[str] = []
        conflicts = 0

        async def change(letter: str, number: int) -> None:
            nonlocal conflicts
            store = ForkloreConversationStore(client)
            held = await store.load("trip")
            assert held is not None
            text = f"{letter}{number}"
            try:
                if letter == "a":
                    at = len(held.messages) // 2
                    held = await store.branch("trip", at=at, expected_revision=held.revision)
                elif letter == "b":
                    held.messages, held.new_message_index = held.messages[:1], None
                held.messages.append(asked(text))
                await store.save(held)
            except ConversationConflict:
                conflicts += 1
            else:
                saved.append(text)

        async def change_all(letter: str) -> None:
            for number in range(12):
                await change(letter, number)

        store = ForkloreConversationStore(client)
        await store.save(talk("0", "1"))
        async with anyio.create_task_group() as tasks:
            for letter in "abc":
                tasks.start_soon(change_all, letter)
        record = await store.read_record("trip")
        assert record is not None
        found: set[str] = set()
        for end in (record.head_id, *record.branches):
            line = await store.read_history(end)
            found |= set(texts(Conversation(messages=[entry.message for entry in line])) or [])
        assert found == {"0", "1", *saved}
        assert conflicts > 0
        assert len(saved) > 5

    run(service, user, backend, test)


def test_only_one_of_several_makes_a_conversation(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        made: list[str] = []

        async def make(text: str) -> None:
            try:
                await ForkloreConversationStore(client).save(talk(text))
            except ConversationConflict:
                return
            made.append(text)

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(make, f"{number}")
        assert len(made) == 1
        assert texts(await ForkloreConversationStore(client).load("trip")) == made

    run(service, user, backend, test)


@dataclass
class Meanwhile(Wire):
    """Calls `work` before the first request of an operation that `when` says yes to."""

    when: Callable[[list[str]], bool] = lambda sent: False
    work: Callable[[], Awaitable[None]] | None = None

    def wrapped_async(self, client: AsyncForklore) -> AsyncForklore:
        transport = client._transport

        class Transport:
            aclose = transport.aclose
            located = transport.located

            async def send(_, call: Call, timeout_s: float) -> RawAnswer:  # noqa: N805
                self.note(call)
                work = self.work
                if work is not None and self.when(self.sent):
                    self.work = None
                    await work()
                return await transport.send(call, timeout_s)

        return type(client)._over(Transport(), client._identity)


@pytest.mark.parametrize("second", ["save", "delete"])
@pytest.mark.parametrize("waiting", ["appendEntryByName", "deleteConversation"])
def test_a_conversation_that_is_made_by_two_is_the_one_that_was_saved(
    service: Service, user: str, backend: str, second: str, waiting: str
) -> None:
    """The first needs two appends. Between them the second one sees what is half made."""

    async def test(client: AsyncForklore) -> None:
        half, read, done = anyio.Event(), anyio.Event(), anyio.Event()
        saved: list[str] = []

        async def half_made() -> None:
            half.set()
            with anyio.move_on_after(5):
                await read.wait()

        async def wait_for_the_first() -> None:
            read.set()
            with anyio.move_on_after(5):
                await done.wait()

        async def make_first() -> None:
            wire = Meanwhile(when=lambda sent: sent.count("appendEntryByName") == 2, work=half_made)
            with suppress(ConversationConflict):
                await ForkloreConversationStore(wire.wrapped_async(client)).save(talk(*LONG))
                saved.append(LONG[0])
            done.set()

        async def come_second() -> None:
            await half.wait()
            wire = Meanwhile(
                when=lambda sent: sent[-1] == waiting and sent.count("listEntriesByName") > 3,
                work=wait_for_the_first,
            )
            store = ForkloreConversationStore(wire.wrapped_async(client))
            if second == "delete":
                await store.delete("trip")
            else:
                with suppress(ConversationConflict):
                    await store.save(talk("b"))
                    saved.append("b")
            read.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(make_first)
            tasks.start_soon(come_second)
        found = texts(await ForkloreConversationStore(client).load("trip"))
        assert len(saved) == 1
        assert found is not None
        assert found[0] == saved[0]

    run(service, user, backend, test)


def test_many_saves_without_messages_do_not_take_many_requests(
    service: Service, user: str, backend: str
) -> None:
    async def test(client: AsyncForklore) -> None:
        held = talk("a", "b")
        store = ForkloreConversationStore(client)
        for _ in range(12):
            await store.save(held)
        wire = Wire()
        found = await ForkloreConversationStore(wire.wrapped_async(client)).load("trip", limit=1)
        assert texts(found) == ["b"]
        assert wire.sent == ["listEntriesByName", "listEntries", "listEntries"]

    run(service, user, backend, test)


def test_what_python_holds_as_json_comes_back(service: Service, user: str, backend: str) -> None:
    odd: dict[str, Any] = {
        "half": "half \ud83d",
        "numbers": [1e300, 2**70, -0.0],
        "text": "\u00e9\U0001f600\x00",
    }
    deep = json.loads('{"a":' * 90 + "1" + "}" * 90)
    messages = [
        asked("a \ud83d"),
        ModelResponse(parts=[ToolCallPart("pay", odd), ToolCallPart("pay", deep)]),
        ModelRequest(parts=[ToolReturnPart("pay", odd, tool_call_id="t")], metadata=odd),
        ModelResponse(parts=[ToolCallPart("pay", deep)]),
    ]

    async def test(client: AsyncForklore) -> None:
        await ForkloreConversationStore(client).save(Conversation(conversation_id="s", messages=messages))
        held = await ForkloreConversationStore(client).load("s")
        assert held is not None
        assert held.messages == messages
        shown = [text_of(entry) async for entry in client.named("pydantic-ai/s").entries()]
        assert shown[0] == "a ?"

    run(service, user, backend, test)


def test_an_entry_of_2_4_mb_is_kept_and_a_larger_one_is_refused(
    service: Service, user: str, backend: str
) -> None:
    async def test(client: AsyncForklore) -> None:
        wire = Wire()
        store = ForkloreConversationStore(wire.wrapped_async(client))
        large = "x" * 2_400_000
        await store.save(talk(large, large, large))
        assert texts(await store.load("trip")) == [large, large, large]
        held = await store.load("trip")
        assert held is not None
        held.messages += [asked("small"), answered("x" * 2_600_000)]
        wire.sent.clear()
        with pytest.raises(TooLargeError, match="bytes as escaped JSON, and at most 2,500,000 fit"):
            await store.save(held)
        assert wire.sent == ["listEntriesByName"]
        assert len((await store.load_entries("trip")) or []) == 3

    run(service, user, backend, test)


LONG = [f"{number}" for number in range(51)]
Change = Callable[[ForkloreConversationStore, Conversation], Awaitable[object]]


def saying(*said: str, keep: int | None = None) -> Change:
    """Return a change that appends, and that keeps only the first messages if `keep` is given."""

    async def change(store: ForkloreConversationStore, held: Conversation) -> None:
        if keep is not None:
            held.messages, held.new_message_index = held.messages[:keep], None
        held.messages += [asked(text) for text in said]
        await store.save(held)

    return change


def going_back(at: int) -> Change:
    return lambda store, held: store.branch(held.conversation_id, at=at, expected_revision=held.revision)


# Which conversation, what it shows before and afterwards, and the change.
STORY: list[tuple[str, list[str] | None, list[str] | None, Change]] = [
    ("trip", None, ["a", "b"], saying("a", "b")),
    ("trip", ["a", "b"], ["a", "b", "c"], saying("c")),
    ("trip", ["a", "b", "c"], ["a", "b", "s"], saying("s", keep=2)),
    ("trip", ["a", "b", "s"], ["a"], going_back(1)),
    ("trip", ["a"], ["a", "e"], saying("e")),
    ("copy", None, ["a", "e"], lambda store, _: store.fork("trip", new_conversation_id="copy")),
    ("copy", ["a", "e"], ["a", "e", *LONG], saying(*LONG)),
    ("copy", ["a", "e", *LONG], ["a", "b", *LONG], saying("b", *LONG, keep=1)),
    ("trip", ["a", "e"], None, lambda store, _: store.delete("trip")),
    ("trip", None, ["z", *LONG], saying("z", *LONG)),
    ("copy", ["a", "b", *LONG], None, lambda store, _: store.delete("copy")),
]


async def tell(store: ForkloreConversationStore, told: list[int]) -> None:
    """Do what is left of the story, from the step in which somebody was killed."""
    for name, before, after, change in STORY[len(told) :]:
        held = await store.load(name)
        if texts(held) != after:
            middle = after[:1] if after and before and len(after) > 50 else before
            assert texts(held) in (before, middle)
            if texts(held) != before:
                held = Conversation(
                    conversation_id=name,
                    messages=[asked("a"), asked("?")],
                    revision=held.revision if held else None,
                )
            await change(store, held or Conversation(conversation_id=name))
        elif after is None:
            await store.delete(name)
        assert texts(await store.load(name)) == after
        told.append(len(told))


def test_a_killed_process_can_be_followed_by_another(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        # In process, the two backends together are killed between any two requests.
        begin, step = (int(backend == "trio"), 2) if service.url is None else (0, 13)
        lives, kills = begin, 0
        while kills == (lives - begin) // step:
            prefix, told = f"{lives}/", list[int]()
            wire = Wire(lives)
            try:
                await tell(ForkloreConversationStore(wire.wrapped_async(client), prefix=prefix), told)
            except Killed:
                kills += 1
            again = ForkloreConversationStore(client, prefix=prefix)
            await tell(again, told)
            assert texts(await again.load("trip")) == ["z", *LONG]
            assert [name.name async for name in client.names(prefix)] == [f"{prefix}trip"]
            await again.delete("trip")
            lives += step
        assert lives > 50
        assert await client.conversations(mode="all").list() == []

    run(service, user, backend, test)


@pytest.mark.parametrize("messages", [10, 3000])
def test_a_fork_writes_once_however_long_its_source_is(
    service: Service, user: str, backend: str, messages: int
) -> None:
    messages = min(messages, 3000 if service.url is None else 300)

    async def test(client: AsyncForklore) -> None:
        wire = Wire()
        store = ForkloreConversationStore(wire.wrapped_async(client))
        await store.save(talk(*(f"{number}" for number in range(messages))))
        wire.sent.clear()
        await store.fork("trip", at=messages - 1, new_conversation_id="other")
        reads = ["listEntries"] * (3 if messages == 3000 else 1)
        assert wire.sent == ["listEntriesByName", *reads, "appendEntryByName"]

    run(service, user, backend, test)


def test_requests_are_those_of_the_page(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        wire = Wire()
        store = ForkloreConversationStore(wire.wrapped_async(client))

        def counted() -> list[str]:
            sent = wire.sent[:]
            wire.sent.clear()
            return sent

        await store.save(talk("a", "b"))
        assert counted() == ["listEntriesByName", "appendEntryByName"]
        held = await store.load("trip")
        assert counted() == ["listEntriesByName", "listEntries"]
        assert held is not None
        held.messages += [asked("c"), answered("d")]
        await store.save(held)
        assert counted() == ["listEntriesByName", "appendEntryByName"]
        assert [record.conversation_id for record in await store.list_conversations()] == ["trip"]
        assert counted() == ["listNames"]
        held = await store.branch("trip", at=1, expected_revision=held.revision)
        assert counted() == ["listEntriesByName", "listEntries", "appendEntryByName"]
        held.messages.append(answered("e"))
        await store.save(held)
        assert counted() == ["listEntriesByName", "lookUpName", "appendEntry"]
        held.messages, held.new_message_index = [asked("a"), answered("f")], None
        await store.save(held)
        assert counted() == ["listEntriesByName", "listEntries", "lookUpName", "appendEntry"]
        await store.delete("trip")
        assert len(counted()) == 7 + 2

    run(service, user, backend, test)


def test_a_conversation_is_shown_with_roles_and_texts(service: Service, user: str, backend: str) -> None:
    async def test(client: AsyncForklore) -> None:
        await ForkloreConversationStore(client).save(talk("Lisbon?", "In May."))
        entries = await client.named("pydantic-ai/trip").entries().list()
        assert [(role_of(entry), text_of(entry)) for entry in entries] == [
            ("user", "Lisbon?"),
            ("ai", "In May."),
        ]

    run(service, user, backend, test)

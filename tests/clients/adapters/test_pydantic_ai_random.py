"""A thousand random steps of two writers: the store and the one in memory do the same."""

import random
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests

from forklore.adapters.pydantic_ai import ForkloreConversationStore
from tests.clients.adapters.services import Service

STEPS = 1000
NAMES = [f"c{number}" for number in range(6)]
SCOPES = [None, None, None, "ann", "bob"]


@dataclass
class Pair:
    """What a writer holds: the same conversation of both stores."""

    memory: Conversation
    forklore: Conversation

    def each(self) -> tuple[Conversation, Conversation]:
        return self.memory, self.forklore


@dataclass
class Counts:
    """What happened, so that the test can say that it tried everything."""

    done: dict[str, int] = field(default_factory=dict)

    def add(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


class Both:
    """Two stores that are asked the same. An id of the one stands for one id of the other."""

    def __init__(self, memory: ConversationStore, counts: Counts) -> None:
        self.memory, self.counts = memory, counts
        self.ids: dict[str | None, str | None] = {None: None}
        self.saved = 0

    async def ask(
        self, forklore: ConversationStore, what: str, first: dict[str, Any], second: dict[str, Any]
    ) -> Any:
        """Return what both answer; None if both refuse. Check that they do so alike."""
        answers: list[Any] = []
        errors: list[type[BaseException] | None] = []
        for store, given in ((self.memory, first), (forklore, second)):
            try:
                answers.append(await getattr(store, what)(**given))
                errors.append(None)
            except UserError as error:
                answers.append(None)
                errors.append(type(error))
        assert errors[0] == errors[1], (what, first, errors)
        self.counts.add(what if errors[0] is None else f"{what} {errors[0].__name__}")
        return None if errors[0] is not None else answers

    def pair(self, entries: list[ConversationEntry], others: list[ConversationEntry]) -> None:
        assert len(entries) == len(others)
        for entry, other in zip(entries, others, strict=True):
            assert self.ids.setdefault(entry.id, other.id) == other.id
            assert self.ids[entry.parent_id] == other.parent_id
            assert entry.message == other.message

    def same(self, record: ConversationRecord, other: ConversationRecord) -> None:
        assert record.conversation_id == other.conversation_id
        assert self.ids[record.head_id] == other.head_id
        assert self.ids[record.forked_at] == other.forked_at
        assert [self.ids[tip] for tip in record.branches] == other.branches
        for name in ("usage", "deferred_tool_requests", "scope", "forked_from", "format_version"):
            assert getattr(record, name) == getattr(other, name)


def message(rng: random.Random, number: int) -> ModelMessage:
    kinds: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(content=f'question {number} \u00e9\U0001f420 "quoted"')]),
        ModelResponse(parts=[TextPart(content=f"answer {number}")], model_name="scripted"),
        ModelResponse(parts=[ToolCallPart("weather", {"day": number}, tool_call_id=f"t{number}")]),
        ModelRequest(parts=[ToolReturnPart("weather", {"sun": [1.5, None]}, tool_call_id=f"t{number}")]),
    ]
    return rng.choice(kinds)


async def step(
    both: Both, store: ConversationStore, held: dict[str, Pair], rng: random.Random, number: int
) -> None:
    name = rng.choice(NAMES)
    pair = held.get(name)
    scope = rng.choice(SCOPES)
    chosen = rng.choice(
        ["load"] * 3 + ["save"] * 6 + ["new", "rewrite", "branch", "branch", "fork", "fork", "delete"]
    )
    by_name = {"conversation_id": name, "scope": scope}
    if chosen == "load":
        given = {**by_name, "limit": rng.choice([None, None, 0, 1, 3])}
        loaded = await both.ask(store, "load", given, given)
        if loaded[0] is None or loaded[1] is None:
            assert loaded == [None, None]
            held.pop(name, None)
        else:
            held[name] = Pair(*loaded)
    elif chosen == "new":
        held[name] = Pair(Conversation(conversation_id=name), Conversation(conversation_id=name))
    elif chosen in ("save", "rewrite") and pair is not None:
        added = [message(rng, number + each) for each in range(rng.choice([0, 1, 1, 2, 3]))]
        keep = rng.randint(0, len(pair.memory.messages))
        waits = rng.choice(
            [None, DeferredToolRequests(approvals=[ToolCallPart("pay", {"n": 1}, tool_call_id="p")])]
        )
        for one in pair.each():
            if chosen == "rewrite":
                one.messages = one.messages[:keep]
                one.new_message_index = None if number % 2 else one.new_message_index
            one.messages.extend(deepcopy(added))
            one.usage.requests += 1
            one.deferred_tool_requests = deepcopy(waits)
        first, second = ({"conversation": one, "scope": scope} for one in pair.each())
        saved = await both.ask(store, "save", first, second)
        if saved is not None:
            both.pair(*saved)
    elif chosen in ("branch", "fork"):
        await move(both, store, held, rng, chosen, name)
    elif chosen == "delete":
        await both.ask(store, "delete", by_name, by_name)


async def move(
    both: Both, store: ConversationStore, held: dict[str, Pair], rng: random.Random, what: str, name: str
) -> None:
    pair, record = held.get(name), await both.memory.read_record(name)
    entries = await both.memory.load_entries(name) or []
    known = [entry.id for entry in entries] + (record.branches if record else [])
    entry = rng.choice(known) if known and rng.random() < 0.5 else None
    at = (
        None
        if entry
        else rng.randint(-1, len(entries) + 1)
        if rng.random() < 0.2
        else rng.randint(0, len(entries))
    )
    first: dict[str, Any] = {"conversation_id": name, "at": at, "from_entry": entry}
    if what == "branch":
        first["expected_revision"] = pair.memory.revision if pair else None
        second = {**first, "expected_revision": pair.forklore.revision if pair else None}
    else:
        first["new_conversation_id"] = rng.choice(NAMES)
        second = dict(first)
    moved = await both.ask(store, what, first, {**second, "from_entry": both.ids[entry]})
    if moved is not None:
        held[first.get("new_conversation_id", name)] = Pair(*moved)


async def compare(both: Both, store: ConversationStore) -> None:
    scope = random.choice(SCOPES)
    listed = await both.memory.list_conversations(scope=scope)
    others = await store.list_conversations(scope=scope)
    assert [one.conversation_id for one in listed] == [one.conversation_id for one in others]
    for record, other in zip(listed, others, strict=True):
        both.same(record, other)
        entries = await both.memory.load_entries(record.conversation_id)
        found = await store.load_entries(record.conversation_id)
        assert entries is not None
        assert found is not None
        both.pair(entries, found)
        for tip, other_tip in zip(record.branches, other.branches, strict=True):
            both.pair(await both.memory.read_history(tip), await store.read_history(other_tip))


@pytest.mark.parametrize("seed", [1, 2])
def test_random_steps_of_two_writers_are_those_of_the_store_in_memory(
    service: Service, user: str, seed: int
) -> None:
    counts = Counts()

    async def main() -> None:
        rng = random.Random(seed)
        async with service.async_client(user) as one, service.async_client(user) as two:
            writers = [ForkloreConversationStore(client) for client in (one, two)]
            held: list[dict[str, Pair]] = [{}, {}]
            both = Both(InMemoryConversationStore(), counts)
            for number in range(STEPS if seed == 1 or service.url is None else STEPS // 4):
                writer = rng.randrange(2)
                await step(both, writers[writer], held[writer], rng, number)
                if number % 25 == 0:
                    await compare(both, writers[rng.randrange(2)])
            await compare(both, ForkloreConversationStore(one))

    anyio.run(main)
    assert {"load", "save", "branch", "fork", "delete", "save ConversationConflict"} <= counts.done.keys()
    assert counts.done["save ConversationConflict"] > 5
    assert {"branch ConversationConflict", "fork ConversationConflict"} <= counts.done.keys()
    assert ConversationConflict.__name__ in "".join(counts.done)

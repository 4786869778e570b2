"""The chat history of LangChain does what the one in memory does, and more."""

import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from forklore import Forklore
from forklore.adapters.langchain import ForkloreChatMessageHistory
from forklore.client.errors import TooLargeError
from tests.adapters.pages import run_page
from tests.adapters.services import Service
from tests.adapters.wires import Killed, Wire

STEPS = 60


@pytest.fixture
def client(service: Service, user: str) -> Iterator[Forklore]:
    with service.client(user) as client:
        yield client


def made(random_: random.Random) -> BaseMessage:
    text = f"ü {random_.random()}"
    call = {"name": "pay", "args": {"euros": 1.5}, "id": text}
    return random_.choice(
        [
            HumanMessage(text),
            HumanMessage(content=[{"type": "text", "text": text}], id=text),
            AIMessage(text, additional_kwargs={"a": [None, 1]}),
            AIMessage("", tool_calls=[call]),
            ToolMessage(text, tool_call_id=text),
            SystemMessage(""),
        ]
    )


@pytest.mark.parametrize("seed", range(3))
async def test_random_steps_end_as_in_memory(client: Forklore, seed: int) -> None:
    random_ = random.Random(seed)
    pairs = [(InMemoryChatMessageHistory(), ForkloreChatMessageHistory("0", client))]
    for step in range(1, STEPS):
        theirs, ours = random_.choice(pairs)
        batch = [made(random_) for _ in range(random_.randrange(4))]
        at = random_.randrange(len(theirs.messages)) if theirs.messages else None
        match random_.choice(["add", "add", "aadd", "clear", "fork", "before", "rewind"]):
            case "add":
                theirs.add_messages(batch)
                ours.add_messages(batch)
            case "aadd":
                await theirs.aadd_messages(batch)
                await ours.aadd_messages(batch)
            case "clear" if random_.random() < 0.3:
                await theirs.aclear()
                await ours.aclear()
            case "fork":
                other = InMemoryChatMessageHistory(messages=list(theirs.messages))
                pairs.append((other, ours.fork(str(step))))
            case "before" if at is not None:
                other = InMemoryChatMessageHistory(messages=theirs.messages[:at])
                pairs.append((other, ours.fork(str(step), before=at)))
            case "rewind" if at is not None:
                theirs.messages = theirs.messages[:at]
                ours.rewind(at)
        assert await ours.aget_messages() == theirs.messages
    assert [ours.messages for _, ours in pairs] == [theirs.messages for theirs, _ in pairs]


def test_what_is_too_large_is_refused_before_anything_is_written(client: Forklore) -> None:
    wire = Wire()
    history = ForkloreChatMessageHistory("large", wire.wrapped(client))
    for batch in (
        [HumanMessage("x" * 2_600_000)],
        [HumanMessage("x")] * 51,
        [HumanMessage("x" * 2_400_000)] * 3,
    ):
        with pytest.raises(TooLargeError):
            history.add_messages(batch)
    assert wire.sent == []
    history.add_messages([HumanMessage("x" * 2_400_000)])
    assert history.messages == [HumanMessage("x" * 2_400_000)]


def test_a_fork_sends_the_same_requests_at_10_and_at_3000_messages(client: Forklore) -> None:
    sent = []
    for batches in (1, 300):
        wire = Wire()
        history = ForkloreChatMessageHistory(f"{uuid.uuid4()}", client)
        for _ in range(batches):
            history.add_messages([HumanMessage("x")] * 10)
        ForkloreChatMessageHistory(history.session_id, wire.wrapped(client)).fork(f"{uuid.uuid4()}")
        sent.append(wire.sent)
    assert sent == [["lookUpName", "forkConversation"]] * 2


def test_a_session_is_deleted_and_used_again_and_its_fork_lives(client: Forklore) -> None:
    history = ForkloreChatMessageHistory("trip", client)
    history.add_messages([HumanMessage("Where to?")])
    fork = history.fork("idea")
    client.named("langchain/trip").delete(scope="branch")
    assert history.messages == []
    history.add_messages([HumanMessage("When?")])
    assert [message.content for message in history.messages] == ["When?"]
    assert [message.content for message in fork.messages] == ["Where to?"]
    with pytest.raises(ValueError, match="exists already"):
        history.fork("idea")


@pytest.mark.parametrize("lives", range(4))
def test_a_rewind_that_is_killed_is_made_whole_or_not_at_all(client: Forklore, lives: int) -> None:
    history = ForkloreChatMessageHistory("trip", client)
    history.add_messages([HumanMessage("1"), HumanMessage("2")])
    wire = Wire(lives)
    killed = ForkloreChatMessageHistory("trip", wire.wrapped(client))
    if lives < 3:
        with pytest.raises(Killed):
            killed.rewind(1)
        assert len(history.messages) == 2
        history.rewind(1)
    else:
        killed.rewind(1)
        assert wire.sent == ["lookUpName", "listEntriesByName", "forkConversation"]
    assert [message.content for message in history.messages] == ["1"]


def test_two_clients_lose_nothing(service: Service, user: str) -> None:
    with service.client(user) as one, service.client(user) as two:
        mine, theirs = (ForkloreChatMessageHistory("trip", client) for client in (one, two))
        mine.add_messages([HumanMessage("1")])
        theirs.add_messages([HumanMessage("2")])
        mine.add_messages([HumanMessage("3")])
        assert [message.content for message in theirs.messages] == ["1", "2", "3"]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKLORE_DATA", str(tmp_path))
    assert run_page("langchain") == 1

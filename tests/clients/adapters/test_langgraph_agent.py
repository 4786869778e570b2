"""Small agents of LangGraph on the savers, and the page."""

from typing import Any

import anyio
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from forklore import role_of, text_of
from forklore.adapters.langgraph import AsyncForkloreSaver, ForkloreSaver
from tests.clients.adapters.langgraph_agent import Agent, agent, counter, paid, texts, thread, with_subgraph
from tests.clients.adapters.pages import run_page
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire


def say(text: str) -> dict[str, list[HumanMessage]]:
    return {"messages": [HumanMessage(text)]}


def test_an_agent_with_a_tool_an_interruption_a_fork_and_a_summary(service: Service, user: str) -> None:
    with service.client(user) as client:
        assert texts(agent(ForkloreSaver(client)).invoke(say("hello"), thread("trip"))) == [
            "hello",
            "1 messages",
        ]

        # It waits for an approval, and goes on in another process.
        paid.clear()
        waiting = agent(ForkloreSaver(client)).invoke(say("pay 7"), thread("trip"))
        assert [one.value for one in waiting["__interrupt__"]] == ["7 euros?"]
        assert paid == []
        ForkloreSaver(client).copy_thread("trip", "idea")
        done = agent(ForkloreSaver(client)).invoke(Command(resume="yes"), thread("trip"))
        assert texts(done)[-2:] == ["paid 7", "paid 7"]
        assert paid == [7]

        # The fork is still waiting, and is told something else.
        ForkloreSaver(client).delete_thread("nowhere")
        refused = agent(ForkloreSaver(client)).invoke(Command(resume="no"), thread("idea"))
        assert texts(refused)[-1] == "refused"
        assert paid == [7]

        # A second answer: go on from an old checkpoint of the same thread.
        again = agent(ForkloreSaver(client))
        first = next(
            state
            for state in again.get_state_history(thread("trip"))
            if texts(state.values)[-1:] == ["1 messages"]
        )
        assert texts(again.invoke(say("other"), first.config)) == [
            "hello",
            "1 messages",
            "other",
            "3 messages",
        ]

        # A summary replaces messages. The old ones stay stored.
        small = agent(ForkloreSaver(client))
        small.invoke(say("0"), thread("trip"))
        state = small.invoke(say("1"), thread("trip"))
        assert texts(state) == ["7 messages", "7 messages before"]
        assert texts(agent(ForkloreSaver(client)).get_state(thread("trip")).values) == texts(state)
        shown = [(role_of(one), text_of(one)) for one in client.named("langgraph/trip").entries()]
        assert shown.count(("user", "hello")) == 1
        assert ("user", "pay 7") not in shown
        left = client.conversation(client.named("langgraph/trip").details().forked_at_conversation_id)
        before = [(role_of(one), text_of(one)) for one in left.entries()]
        assert ("user", "pay 7") in before
        assert ("ai", "[calls pay {'euros': 7}]") in before
        assert ("system", "[pay returned paid 7]") in before
        assert shown.count(("system", "7 messages before")) == 1


def test_the_last_checkpoint_of_a_turn_has_all_that_it_needs(service: Service, user: str) -> None:
    """What it does not have is read from an ancestor, with the whole state that this has."""
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda _state: {"messages": [AIMessage("hello")]})
    graph.add_edge(START, "answer")
    with service.client(user) as client:
        for text in ("one", "two"):
            made: Agent = graph.compile(checkpointer=ForkloreSaver(client))
            made.invoke(say(text), thread("t"))
        heads = [entry.content[0]["langgraph"] for entry in client.named("langgraph/t").entries()]
        assert [head for head in heads if head["kind"] == "checkpoint"][-1]["back"] == 0


async def test_the_same_with_the_async_saver(service: Service, user: str) -> None:
    async with service.async_client(user) as client:
        saver = AsyncForkloreSaver(client)
        await agent(saver).ainvoke(say("hello"), thread("trip"))
        waiting = await agent(saver).ainvoke(say("pay 8"), thread("trip"))
        assert waiting["__interrupt__"]
        await saver.acopy_thread("trip", "idea")
        async with service.async_client(user) as other:
            done = await agent(AsyncForkloreSaver(other)).ainvoke(Command(resume="yes"), thread("trip"))
        assert texts(done)[-1] == "paid 8"
        fork = await agent(saver).ainvoke(Command(resume="no"), thread("idea"))
        assert texts(fork)[-1] == "refused"
        states = [one async for one in agent(saver).aget_state_history(thread("trip"), limit=2)]
        assert texts(states[0].values)[-1] == "paid 8"
        assert len(states) == 2


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_ends_as_with_the_saver_in_memory(service: Service, user: str, durability: Any) -> None:
    with service.client(user) as client:
        savers = (ForkloreSaver(client), InMemorySaver())
        inputs: list[Any] = [say("a"), say("pay 3"), Command(resume="yes"), say("b"), say("c"), say("d")]
        seen = []
        for saver in savers:
            runs = [agent(saver).invoke(given, thread("t"), durability=durability) for given in inputs]
            states = list(agent(saver).get_state_history(thread("t")))
            seen.append(([texts(run) for run in runs], [(texts(one.values), one.next) for one in states]))
        assert seen[0] == seen[1]


def test_a_killed_run_goes_on_from_what_it_has_stored(service: Service, user: str) -> None:
    with service.client(user) as client:
        lives, killed = 0, True
        while killed:
            name, killed = f"t{lives}", False
            try:
                running = agent(ForkloreSaver(Wire(lives).wrapped(client)))
                running.invoke(say("hello"), thread(name), durability="sync")
            except Killed:
                killed = True
            again = agent(ForkloreSaver(client))
            stored = again.get_state(thread(name))
            done = again.invoke(None if stored.created_at else say("hello"), thread(name))
            assert texts(done) == ["hello", "1 messages"]
            lives += 1
        assert lives > 4


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_that_is_deleted_during_a_run_goes_on_whole(
    service: Service, user: str, durability: Any
) -> None:
    with service.client(user) as client:

        def slow(state: MessagesState) -> dict[str, list[AIMessage]]:
            if state["messages"][-1].text == "clear":
                ForkloreSaver(client).delete_thread("t")
            return {"messages": [AIMessage(f"{len(state['messages'])}")]}

        graph = StateGraph(MessagesState)
        graph.add_node("slow", slow)
        graph.add_edge(START, "slow")
        run: Agent = graph.compile(checkpointer=ForkloreSaver(client))
        run.invoke(say("hello"), thread("t"), durability=durability)
        assert texts(run.invoke(say("clear"), thread("t"), durability=durability))[-2:] == ["clear", "3"]
        again: Agent = graph.compile(checkpointer=ForkloreSaver(client))
        whole = ["hello", "1", "clear", "3"]
        assert texts(again.get_state(thread("t")).values) == whole
        assert texts(again.invoke(say("more"), thread("t"))) == [*whole, "more", "5"]


def test_a_delta_channel_is_rebuilt_also_after_a_prune(service: Service, user: str) -> None:
    with service.client(user) as client:
        for rounds in (1, 3, 9):
            name = f"t{rounds}"
            for number in range(rounds):
                counter(ForkloreSaver(client)).invoke({"log": [10 * number]}, thread(name))
            expected = [each for number in range(rounds) for each in (10 * number, 10 * number + 1)]
            assert counter(ForkloreSaver(client)).get_state(thread(name)).values["log"] == expected
            before = len(client.named(f"langgraph/{name}").entries().list())
            ForkloreSaver(client).prune([name])
            after = counter(ForkloreSaver(client))
            assert after.get_state(thread(name)).values == {"log": expected, "total": rounds}
            kept = len(client.named(f"langgraph/{name}").entries().list())
            assert kept < before or rounds < 9  # a short thread needs all
            assert after.invoke({"log": [0]}, thread(name))["log"] == [*expected, 0, 1]


def test_a_turn_of_an_agent_in_requests(service: Service, user: str) -> None:
    with service.client(user) as client:
        wire = Wire()
        talking = agent(ForkloreSaver(wire.wrapped(client)))
        talking.invoke(say("hello"), thread("t"))
        wire.sent.clear()
        talking.invoke(say("again"), thread("t"))
        assert sorted(wire.sent) == ["appendEntryByName"] * 5 + ["listEntriesByName"]
        wire.sent.clear()
        talking.invoke(say("again"), thread("t"), durability="exit")
        assert sorted(wire.sent) == ["appendEntryByName", "listEntriesByName"]


def test_a_new_subgraph_reads_as_little_in_a_long_thread(service: Service, user: str) -> None:
    with service.client(user) as client:
        graph = with_subgraph(ForkloreSaver(client))
        reads = []
        for number in range(36):
            graph.invoke({"n": number}, thread("t"))
        assert len(list(client.named("langgraph/t").entries())) > 16 + 64 + 256  # four pages
        for number in range(10):
            wire = Wire()
            again = with_subgraph(ForkloreSaver(wire.wrapped(client)))
            # "sync": a step waits for the put of its checkpoint. A late one is read about again.
            assert again.invoke({"n": number}, thread("t"), durability="sync")["n"] == number + 2
            reads.append(sum(name.startswith("list") for name in wire.sent))
        assert max(reads) <= 4  # two for each of the graph and its subgraph


def test_a_subgraph_waits_and_goes_on_elsewhere(service: Service, user: str) -> None:
    with service.client(user) as client:
        for durability in ("sync", "async", "exit"):
            stops: Any = with_subgraph(ForkloreSaver(client), waits=True)
            waiting = stops.invoke({"n": 7}, thread("t"), durability=durability)
            assert [one.value for one in waiting["__interrupt__"]] == ["go on from 8?"]
            goes_on: Any = with_subgraph(ForkloreSaver(client), waits=True)
            assert goes_on.invoke(Command(resume=40), thread("t"), durability=durability)["n"] == 48


def test_the_async_saver_works_with_trio(service: Service, user: str) -> None:
    async def main() -> None:
        async with service.async_client(user) as client:
            saver = AsyncForkloreSaver(client)
            config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
            await saver.aput_writes(config, [("a", 1)], "task")
            assert await saver.aget_tuple(config) is None
            await saver.adelete_thread("t")

    anyio.run(main, backend="trio")


def test_the_page_does_what_it_says() -> None:
    assert run_page("langgraph") == 4

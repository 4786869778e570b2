"""Rewinds of LangGraph are branches: each is a fork, and the thread is what it is in memory."""

import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from forklore import ConflictError, Forklore, role_of, text_of
from forklore.adapters.langgraph import ForkloreSaver
from tests.clients.adapters.langgraph_agent import Agent, agent, counter, texts, thread, with_subgraph
from tests.clients.adapters.langgraph_threads import after_each_kill, config_of, line, numbers, said, step
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire


def say(text: str) -> dict[str, list[HumanMessage]]:
    return {"messages": [HumanMessage(text, id=text)]}


def before_the_answer(graph: Agent, name: str = "t") -> Any:
    return next(state for state in graph.get_state_history(thread(name)) if state.next == ("model",))


def shown_in(client: Forklore, conversation_id: str) -> list[tuple[str | None, str]]:
    entries = client.conversation(conversation_id).entries()
    return [(role_of(entry), str(text_of(entry))) for entry in entries if role_of(entry)]


def branches(client: Forklore, name: str = "t") -> list[Any]:
    """Return the forks of a thread's tree, the oldest first."""
    found = client.api.list_forks(client.api.look_up_name(name=f"langgraph/{name}").conversation_id)
    return sorted(found.data, key=lambda one: one.created_at)


def test_a_run_on_a_machine_whose_clock_is_behind_is_the_latest(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LangGraph's ids are times of the machine, and its own savers take the highest one.
    with service.client(user) as client:
        mine, other = agent(ForkloreSaver(client)), agent(ForkloreSaver(client))
        mine.invoke(say("one"), thread("t"))
        with monkeypatch.context() as patched:
            patched.setattr(ids, "_last_v6_timestamp", None)
            clock = SimpleNamespace(time_ns=lambda: time.time_ns() - 60 * 10**9)
            patched.setattr(ids, "time", clock)
            behind = other.invoke(say("two"), thread("t"))
        assert texts(behind) == ["one", "1 messages", "two", "3 messages"]
        found = mine.invoke(say("three"), thread("t"))
        assert texts(found) == ["one", "1 messages", "two", "3 messages", "three", "5 messages"]
        summed_up = ["7 messages", "7 messages before"]
        assert texts(other.invoke(say("four"), thread("t"))) == summed_up
        assert texts(agent(ForkloreSaver(client)).get_state(thread("t")).values) == summed_up
        assert len(branches(client)) == 1


def test_a_second_answer_and_an_edited_question_are_forks(service: Service, user: str) -> None:
    with service.client(user) as client:
        talking = agent(ForkloreSaver(client))
        talking.invoke(say("hello"), thread("t"))
        asked = before_the_answer(talking)
        # Two rewinds from one checkpoint, one of them in another process, and an edit before it.
        agent(ForkloreSaver(client)).invoke(None, asked.config)
        talking.invoke(say("other"), asked.config)
        other = agent(ForkloreSaver(client))
        edit = {"messages": [HumanMessage("bye", id="hello")]}
        other.invoke(None, other.update_state(asked.config, edit))
        root, *forks = branches(client)
        assert [shown_in(client, one.conversation_id) for one in (root, *forks)] == [
            [("user", "hello"), ("ai", "1 messages")],
            [("user", "hello"), ("ai", "1 messages")],
            [("user", "hello"), ("user", "other"), ("ai", "2 messages")],
            [("user", "hello"), ("user", "bye"), ("ai", "1 messages")],
        ]
        assert {one.forked_at_conversation_id for one in forks} == {root.conversation_id}
        assert len({one.forked_at_entry_id for one in forks}) == 1
        # The thread is the branch that LangGraph is on, and all others are still its history.
        named = client.api.look_up_name(name="langgraph/t").conversation_id
        assert named == forks[-1].conversation_id
        again = agent(ForkloreSaver(client))
        assert texts(again.get_state(thread("t")).values) == ["bye", "1 messages"]
        ends = [texts(one.values) for one in again.get_state_history(thread("t")) if not one.next]
        assert ends == [
            ["bye", "1 messages"],
            ["hello", "other", "2 messages"],
            ["hello", "1 messages"],
            ["hello", "1 messages"],
        ]
        again.invoke(say("more"), thread("t"))
        assert len(branches(client)) == 4


def _walk(
    graphs: Callable[[BaseCheckpointSaver[str]], Agent], inputs: list[Any], saver: Any, seed: int
) -> Any:
    """Run a graph at random, with a new saver for each step; return all that was seen."""
    rng, seen = random.Random(seed), list[Any]()
    for number in range(8):
        graph = graphs(saver())
        history = list(graph.get_state_history(thread("t")))
        where = rng.choice(history).config if history and rng.random() < 0.6 else thread("t")
        durability: Any = rng.choice(["sync", "async", "exit"])
        act, given = rng.random(), rng.choice(inputs)(number)
        if act < 0.2 and not isinstance(given, Command):
            where, given = graph.update_state(where, given), None
        elif act < 0.4 and history:
            given = None
        try:
            graph.invoke(given, where, durability=durability)
        except (KeyError, IndexError) as error:  # of a node that goes on from the very beginning
            seen.append(type(error))
    states = list(graphs(saver()).get_state_history(thread("t")))
    ids = [state.config["configurable"]["checkpoint_id"] for state in states]
    for state in states:
        parent = state.parent_config and state.parent_config["configurable"]["checkpoint_id"]
        tasks = [(task.name, len(task.interrupts), task.result is None) for task in state.tasks]
        at = ids.index(parent) if parent else None
        held = texts(state.values) if "messages" in state.values else state.values
        metadata: Any = state.metadata
        seen.append((held, state.next, at, tasks, metadata["source"], metadata["step"]))
    for state in rng.sample(states, 3):
        alone = graphs(saver()).get_state(state.config)
        assert (alone.values, alone.next, alone.tasks) == (state.values, state.next, state.tasks)
    latest = graphs(saver()).get_state(thread("t"))
    assert latest.config["configurable"]["checkpoint_id"] == max(ids)
    return seen


GRAPHS: dict[str, tuple[Callable[[BaseCheckpointSaver[str]], Agent], list[Callable[[int], Any]]]] = {
    "agent": (agent, [lambda n: say(f"say {n}"), lambda n: say(f"pay {n}"), lambda _: Command(resume="yes")]),
    "delta": (counter, [lambda n: {"log": [10 * n]}]),
    "subgraph": (with_subgraph, [lambda n: {"n": n}]),
    "waiting": (
        lambda saver: with_subgraph(saver, waits=True),
        [lambda n: {"n": n}, lambda n: Command(resume=n)],
    ),
}


@pytest.mark.parametrize(("seed", "name"), list(enumerate(GRAPHS)))
def test_a_thread_with_branches_is_what_it_is_in_memory(
    service: Service, user: str, seed: int, name: str
) -> None:
    graphs, inputs = GRAPHS[name]
    memory = InMemorySaver()
    with service.client(user) as client:
        expected = _walk(graphs, inputs, lambda: memory, seed)
        assert _walk(graphs, inputs, lambda: ForkloreSaver(client), seed) == expected
        assert len(branches(client)) > 1


def rewound(client: Forklore, name: str = "t") -> None:
    """Make a thread with two branches of one checkpoint, and one of a branch."""
    saver = ForkloreSaver(client)
    second = line(saver, name, 4)[1]
    step(saver, second, 10)
    at = step(ForkloreSaver(client), second, 20)
    step(saver, at, 21)
    step(ForkloreSaver(client), at, 30)


REWOUND = [30, 21, 20, 10, 3, 2, 1, 0]
STORIES: dict[str, tuple[Callable[[ForkloreSaver], Any], dict[str, list[int]]]] = {
    "delete": (lambda saver: saver.delete_thread("t"), {"t": []}),
    "prune": (lambda saver: saver.prune(["t"]), {"t": [30]}),
    "copy": (lambda saver: saver.copy_thread("t", "u"), {"t": REWOUND, "u": REWOUND}),
}


@pytest.mark.parametrize("name", STORIES)
def test_branches_are_deleted_pruned_and_copied_with_their_thread(
    service: Service, user: str, name: str
) -> None:
    """After a kill between any two requests the same call finishes, and leaves nothing behind."""
    act, expected = STORIES[name]
    with service.client(user) as client:
        for _ in after_each_kill(client, rewound, act):
            found = {thread: numbers(ForkloreSaver(client), thread) for thread in expected}
            assert found == expected
            for thread_id in "tu":
                ForkloreSaver(client).delete_thread(thread_id)
                assert numbers(ForkloreSaver(client), thread_id) == []
            assert client.conversations(mode="all").list() == []


def test_a_copy_has_the_branches_when_its_source_is_gone(service: Service, user: str) -> None:
    with service.client(user) as client:
        rewound(client)
        saver = ForkloreSaver(client)
        saver.copy_thread("t", "u")
        saver.copy_thread("u", "v")
        saver.delete_thread("t")
        step(ForkloreSaver(client), next(iter(saver.list(config_of("u"), limit=1))).config, 40)
        saver.delete_thread("u")
        assert (numbers(saver, "t"), numbers(saver, "u")) == ([], [])
        assert numbers(ForkloreSaver(client), "v") == REWOUND
        saver.delete_thread("v")
        assert client.conversations(mode="all").list() == []


def test_requests_of_a_rewind(service: Service, user: str) -> None:
    with service.client(user) as client:
        made = line(ForkloreSaver(client), "t", 60)
        for expected in (["listEntriesByName", "lookUpName", "getConversation"], ["lookUpEntry"]):
            wire = Wire()
            saver = ForkloreSaver(wire.wrapped(client))
            assert saver.get_tuple(made[50]) is not None
            at = step(saver, made[50], 100)
            assert [one for one in wire.sent if one != "listEntries"][-len(expected) - 1 :] == [
                *expected,
                "appendEntry",
            ]
            wire.sent.clear()
            # It goes on as any other thread: also for who does not know it.
            line_of = ForkloreSaver(wire.wrapped(client))
            assert line_of.get_tuple(config_of("t")) is not None
            step(line_of, at, 101)
            assert wire.sent == ["listEntriesByName", "appendEntryByName"]


def test_where_no_fork_can_be_a_line_says_where_it_goes_on(service: Service, user: str) -> None:
    """So it is in a thread that has as many forks as can be, and was in earlier versions."""
    with service.client(user) as client:
        saver = ForkloreSaver(client)
        asked = said(saver, config_of("t"), HumanMessage("Lisbon?", id="1"))
        said(saver, asked, HumanMessage("Lisbon?", id="1"), AIMessage("In May.", id="2"))

        class Full(Wire):
            def note(self, call: Any) -> None:
                if call.shape.name == "appendEntry":
                    raise ConflictError("", details={"reason": "fork_too_deep"})
                super().note(call)

        full = ForkloreSaver(Full().wrapped(client))
        assert full.get_tuple(asked) is not None
        again = said(full, asked, HumanMessage("Lisbon?", id="1"), AIMessage("In June.", id="3"))
        assert len(branches(client)) == 1
        mark = f"[goes on from checkpoint {asked['configurable']['checkpoint_id']}]"
        whole = [("user", "Lisbon?"), ("ai", "In May."), ("system", mark), ("ai", "In June.")]
        assert shown_in(client, branches(client)[0].conversation_id) == whole
        # From there on it is a thread as any other.
        said(saver, again, HumanMessage("Lisbon?", id="1"), AIMessage("In June.", id="3"), AIMessage("!"))
        said(ForkloreSaver(client), asked, HumanMessage("Lisbon?", id="1"), AIMessage("Why?", id="4"))
        assert len(list(ForkloreSaver(client).list(config_of("t")))) == 5

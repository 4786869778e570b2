"""`forklore import` of the threads of LangGraph's own savers: the graph goes on where it was."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from forklore import Forklore
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.langgraph.databases import copied_thread

CONFIG: Any = {"configurable": {"thread_id": "trip"}}


def graph(saver: Any) -> Any:
    """Return a graph that answers, and then asks a person."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"{len(state['messages'])} so far")]}

    def ask(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [("user", interrupt("Go on?"))]}

    built: Any = StateGraph(MessagesState)
    built.add_node("answer", answer)
    built.add_node("ask", ask)
    for edge in ((START, "answer"), ("answer", "ask"), ("ask", END)):
        built.add_edge(*edge)
    return built.compile(checkpointer=saver)


@pytest.fixture
def client() -> Iterator[Forklore]:
    with Forklore.local(user="ann", client="planner") as made:
        yield made


def test_the_checkpoints_and_their_writes_are_copied_once_and_the_graph_goes_on(client: Forklore) -> None:
    source = InMemorySaver()
    graph(source).invoke({"messages": [("user", "Rain?")]}, CONFIG)

    target = ForkloreSaver(client)
    size = len(list(source.list(CONFIG)))
    assert copied_thread(source, None, "trip") == (size, 0)
    assert copied_thread(source, target, "trip") == (size, 0)
    assert copied_thread(source, target, "trip") == (size, size)

    mine, theirs = graph(target), graph(source)
    assert mine.get_state(CONFIG).next == theirs.get_state(CONFIG).next == ("ask",)
    told = [
        [(message.type, message.content) for message in one.invoke(Command(resume="Yes"), CONFIG)["messages"]]
        for one in (mine, theirs)
    ]
    assert told[0] == told[1] == [("human", "Rain?"), ("ai", "1 so far"), ("human", "Yes")]
    assert [one.checkpoint["id"] for one in list(target.list(CONFIG))[1:]] == [
        one.checkpoint["id"] for one in list(source.list(CONFIG))[1:]
    ]

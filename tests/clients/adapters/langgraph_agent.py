"""A small agent of LangGraph with a scripted model: it pays after an approval, and summarizes."""

import operator
import re
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from typing_extensions import TypedDict

SUMMARY_MESSAGES = 8
paid: list[int] = []


@tool
def pay(euros: int) -> str:
    """Pay so many euros."""
    if interrupt(f"{euros} euros?") != "yes":
        return "refused"
    paid.append(euros)
    return f"paid {euros}"


def model(state: MessagesState) -> dict[str, list[BaseMessage]]:
    """Call `pay` for `pay …`, then say what it returned; else say how much it sees."""
    messages = state["messages"]
    last = messages[-1]
    paying = re.match(r"pay (\d+)", str(last.text))
    if last.type == "human" and paying:
        calls = [{"name": "pay", "args": {"euros": int(paying[1])}, "id": f"call-{len(messages)}"}]
        return {"messages": [AIMessage("", tool_calls=calls)]}
    said = str(last.text) if last.type == "tool" else f"{len(messages)} messages"
    return {"messages": [AIMessage(said)]}


def after_model(state: MessagesState) -> str:
    """Return the node after the model."""
    last = state["messages"][-1]
    if isinstance(last, AIMessage) and last.tool_calls:
        return "tools"
    return "summarize" if len(state["messages"]) >= SUMMARY_MESSAGES else END


def summarize(state: MessagesState) -> dict[str, list[Any]]:
    """Replace all messages but the last by a summary."""
    gone = state["messages"][:-1]
    removed = [RemoveMessage(id=str(one.id)) for one in gone]
    return {"messages": [*removed, SystemMessage(f"{len(gone)} messages before")]}


Agent = CompiledStateGraph[Any, Any, Any, Any]


def agent(saver: BaseCheckpointSaver[str]) -> Agent:
    """Return the agent, which keeps its state in a saver."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([pay]))
    graph.add_node("summarize", summarize)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", after_model)
    graph.add_edge("tools", "model")
    graph.add_edge("summarize", END)
    return graph.compile(checkpointer=saver)


def thread(name: str) -> RunnableConfig:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": name}}


def texts(state: Any) -> list[str]:
    """Return the texts of a state's messages."""
    return [str(one.text) for one in state["messages"] if one.text]


def _joined(state: list[int], writes: Any) -> list[int]:
    return [*state, *(number for write in writes for number in write)]


class Counted(TypedDict):
    """A state with a delta channel, whose values are in the writes of the ancestors."""

    log: Annotated[list[int], DeltaChannel(_joined, snapshot_frequency=7)]
    total: Annotated[int, operator.add]


def counter(saver: BaseCheckpointSaver[str]) -> Agent:
    """Return a graph that logs each input, and the number after it."""
    graph = StateGraph(Counted)
    graph.add_node("next", lambda state: {"log": [state["log"][-1] + 1], "total": 1})
    graph.add_edge(START, "next")
    graph.add_edge("next", END)
    return graph.compile(checkpointer=saver)


class Number(TypedDict):
    """A number."""

    n: int


def with_subgraph(saver: BaseCheckpointSaver[str], *, waits: bool = False) -> Agent:
    """Return a graph whose only node is a graph, which adds 1 and then 1, or what it is told."""
    inner = StateGraph(Number)
    inner.add_node("first", lambda state: {"n": state["n"] + 1})
    inner.add_node(
        "second",
        lambda state: {"n": state["n"] + (interrupt(f"go on from {state['n']}?") if waits else 1)},
    )
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    outer = StateGraph(Number)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    return outer.compile(checkpointer=saver)

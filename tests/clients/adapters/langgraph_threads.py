"""Threads for the tests of LangGraph's savers: checkpoints as a graph makes them."""

from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, empty_checkpoint

from forklore import Forklore
from forklore.adapters.langgraph import ForkloreSaver
from tests.clients.adapters.wires import Killed, Wire


def config_of(thread: str, checkpoint_id: str | None = None, namespace: str = "") -> RunnableConfig:
    """Return the config of a thread, or of one of its checkpoints."""
    given: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": given if checkpoint_id is None else {**given, "checkpoint_id": checkpoint_id}}


def id_of(config: RunnableConfig) -> str:
    """Return the checkpoint's id in a config."""
    found: str = config["configurable"]["checkpoint_id"]
    return found


def checkpoint_of(values: dict[str, Any], versions: dict[str, Any]) -> Checkpoint:
    """Return a new checkpoint."""
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}


def step(
    saver: BaseCheckpointSaver[str], config: RunnableConfig, number: int, **metadata: Any
) -> RunnableConfig:
    """Put a checkpoint: `n` changes with each step, `base` never."""
    checkpoint = checkpoint_of({"base": "b" * 100, "n": number}, {"base": "1", "n": f"{number:05}"})
    new: dict[str, Any] = {"n": f"{number:05}"} | ({"base": "1"} if number == 0 else {})
    return saver.put(config, checkpoint, {"source": "loop", "parents": {}, **metadata}, new)  # type: ignore[typeddict-item]


def line(
    saver: ForkloreSaver, thread: str, count: int, first: int = 0, **metadata: Any
) -> list[RunnableConfig]:
    """Put so many checkpoints, each the child of the one before, each with one write."""
    at, made = config_of(thread), []
    for number in range(first, first + count):
        at = step(saver, at, number, **metadata)
        saver.put_writes(at, [("n", number)], f"task-{number}")
        made.append(at)
    return made


def said(saver: ForkloreSaver, config: RunnableConfig, *messages: BaseMessage) -> RunnableConfig:
    """Put a checkpoint with these messages."""
    version = f"{len(messages):05}"
    checkpoint = checkpoint_of({"messages": list(messages)}, {"messages": version})
    return saver.put(config, checkpoint, {"source": "loop", "step": len(messages)}, {"messages": version})


def numbers(saver: ForkloreSaver, thread: str) -> list[int]:
    """Return `n` of all checkpoints, the newest first; each must have `base`, too."""
    found = list(saver.list(config_of(thread)))
    assert all(one.checkpoint["channel_values"]["base"] == "b" * 100 for one in found)
    return [one.checkpoint["channel_values"]["n"] for one in found]


def after_each_kill(
    client: Forklore, make: Callable[[Forklore], object], act: Callable[[ForkloreSaver], object]
) -> Iterator[None]:
    """Make something and act on it, killed between two requests, and by another process once more.

    Yields when the second one has finished: for each pair of requests that follow one another, and
    at the end where nobody was killed.
    """
    lives, killed = 0, True
    while killed:
        make(client)
        try:
            act(ForkloreSaver(Wire(lives).wrapped(client)))
            killed = False
        except Killed:
            act(ForkloreSaver(client))
        yield
        lives += 1
    assert lives > 3

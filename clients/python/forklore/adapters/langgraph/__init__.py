"""Checkpoint savers of LangGraph that keep each thread in a conversation."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from typing import Any, Self, TypeVar

from forklore import AsyncForklore, Forklore
from forklore.adapters.files import Files
from forklore.adapters.langgraph.steps import StepsOfSaver
from forklore.adapters.running import Steps, arun, run
from forklore.client.kinds import as_async, as_sync, checked
from forklore.extras import needing

with needing("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )

__all__ = ["AsyncForkloreSaver", "ForkloreSaver"]

T = TypeVar("T")


class ForkloreSaver(StepsOfSaver):
    """A saver for graphs that run with `invoke` and `stream`, or with `ainvoke` and `astream`.

    client: of either kind, made and closed by the caller. prefix: of the names of the threads.
    show: whether the messages of the state are stored as readable text as well; None: unless
    `serde` encrypts.
    """

    def __init__(
        self,
        client: Forklore | AsyncForklore,
        *,
        prefix: str = "langgraph/",
        serde: Any = None,
        show: bool | None = None,
    ) -> None:
        super().__init__(Files.of(checked(client)), prefix=prefix, serde=serde, show=show)
        self._client = client

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **how: Any) -> Iterator[Self]:
        """Yield a saver with a client of its own, which is closed at the end.

        conn_string: a server's address, or a folder that keeps everything; `:memory:` keeps
        nothing. how: arguments of the client (`token` and `client_key`, or `user` and `client`)
        and of the saver.
        """
        opening, of_saver = _opening(conn_string, how)
        with opening(Forklore) as client:
            yield cls(client, **of_saver)

    def setup(self) -> None:
        """Do nothing. It is here for those who call it on other savers."""

    @cached_property
    def _sync(self) -> Forklore:
        return as_sync(self._client)

    @cached_property
    def _async(self) -> AsyncForklore:
        return as_async(self._client)

    def _run(self, steps: Steps[T]) -> T:
        return run(self._sync, steps)

    async def _arun(self, steps: Steps[T]) -> T:
        return await arun(self._async, steps)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with the channels that changed; return its config."""
        return self._run(self._put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task in one request."""
        self._run(self._put_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, without an id the latest one; None if there is none."""
        return self._run(self._get_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the newest first. With a limit no more is read than is needed."""
        yield from self._run(self._list(config, filter, before, limit))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread. Copies of it live on."""
        self._run(self._delete(str(thread_id)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Fork a thread. Nothing is copied. A target that exists is deleted first."""
        self._run(self._copy(str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace, or with `delete` nothing.

        Delta channels keep the ancestors that they need. Raises ConflictError if the thread is
        appended to all the time, TooLargeError if what stays is too large for one append.
        """
        self._run(self._prune(list(map(str, thread_ids)), strategy))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what the ancestors of a checkpoint wrote to delta channels."""
        return self._run(self._delta_history(config, channels))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with the channels that changed; return its config."""
        return await self._arun(self._put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task in one request."""
        await self._arun(self._put_writes(config, writes, task_id, task_path))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, without an id the latest one; None if there is none."""
        return await self._arun(self._get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the newest first. With a limit no more is read than is needed."""
        for one in await self._arun(self._list(config, filter, before, limit)):
            yield one

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread. Copies of it live on."""
        await self._arun(self._delete(str(thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Fork a thread. Nothing is copied. A target that exists is deleted first."""
        await self._arun(self._copy(str(source_thread_id), str(target_thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace, or with `delete` nothing.

        Delta channels keep the ancestors that they need. Raises ConflictError if the thread is
        appended to all the time, TooLargeError if what stays is too large for one append.
        """
        await self._arun(self._prune(list(map(str, thread_ids)), strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what the ancestors of a checkpoint wrote to delta channels."""
        return await self._arun(self._delta_history(config, channels))


class AsyncForkloreSaver(ForkloreSaver):
    """The same saver, under the name that users of `ainvoke` look for."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **how: Any) -> AsyncIterator[Self]:  # type: ignore[override]
        """Yield a saver with a client of its own, as that of `ForkloreSaver` does."""
        opening, of_saver = _opening(conn_string, how)
        async with opening(AsyncForklore) as client:
            yield cls(client, **of_saver)

    async def setup(self) -> None:  # type: ignore[override]
        """Do nothing. It is here for those who call it on other savers."""


def _opening(conn_string: str, how: dict[str, Any]) -> tuple[Callable[[Any], Any], dict[str, Any]]:
    """Return what makes a client of a kind, and the arguments of the saver."""
    named: tuple[str, ...] = ("prefix", "serde", "show")
    of_saver = {name: how.pop(name) for name in named if name in how}
    if "://" in conn_string:
        return lambda kind: kind(conn_string, **how), of_saver
    data = None if conn_string == ":memory:" else conn_string
    return lambda kind: kind.local(data=data, **how), of_saver

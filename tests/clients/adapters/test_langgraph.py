"""LangGraph's own conformance suite, on both savers."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from anyio import to_thread
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.conformance import checkpointer_test, validate

from forklore.adapters.langgraph import AsyncForkloreSaver, ForkloreSaver
from tests.clients.adapters.services import Service

REQUIRED = ("put", "put_writes", "get_tuple", "list", "delete_thread", "copy_thread", "prune")
TESTS = 74


class InThread(ForkloreSaver):
    """The saver for `invoke`, called as the suite calls: from a coroutine."""

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> RunnableConfig:
        return await to_thread.run_sync(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await to_thread.run_sync(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await to_thread.run_sync(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **chosen: Any) -> AsyncIterator[CheckpointTuple]:
        for one in await to_thread.run_sync(lambda: list(self.list(config, **chosen))):
            yield one

    async def adelete_thread(self, thread_id: str) -> None:
        await to_thread.run_sync(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await to_thread.run_sync(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await to_thread.run_sync(partial(self.prune, thread_ids, strategy=strategy))


async def check(name: str, factory: Any) -> None:
    """Run the suite. Raise AssertionError unless all of it ran and passed."""
    report = await validate(checkpointer_test(name=name)(factory))
    results = {each: report.results[each] for each in REQUIRED}
    assert {each: one.failures for each, one in results.items() if one.passed is not True} == {}
    assert sum(one.tests_passed for one in results.values()) == TESTS


async def test_the_conformance_suite(service: Service, user: str) -> None:
    made = iter(range(1000))

    async def factory() -> AsyncIterator[BaseCheckpointSaver[str]]:
        async with service.async_client(f"{user}-{next(made)}") as client:
            yield AsyncForkloreSaver(client)

    await check("AsyncForkloreSaver", factory)
    assert next(made) > 1


async def test_the_conformance_suite_with_the_sync_saver(service: Service, user: str) -> None:
    made = iter(range(1000))

    async def factory() -> AsyncIterator[BaseCheckpointSaver[str]]:
        with service.client(f"{user}-{next(made)}") as client:
            yield InThread(client)

    await check("ForkloreSaver", factory)
    assert next(made) > 1

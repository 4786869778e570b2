"""Checkpoint savers of LangGraph that keep each thread in a conversation.

The steps are generators, which yield each call and take its answer. So the saver and its async twin
share them.
"""

from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from typing import Any, TypeVar

from forklore import AsyncForklore, Forklore, NotFoundError
from forklore.adapters.langgraph.records import KEYFRAME_STEPS, Thread, entries_of, folded
from forklore.extras import needing

with needing("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )

T = TypeVar("T")
Call = tuple[str, dict[str, Any]]
Steps = Generator[Call, Any, T]
PAGE_ENTRIES = 100
WHOLE_PAGE_ENTRIES = 1000


class _Saver(BaseCheckpointSaver[str]):
    """What both savers do, as steps. prefix: of the names of the threads."""

    def __init__(self, *, prefix: str = "langgraph/", serde: Any = None) -> None:
        super().__init__(serde=serde)
        self.prefix = prefix

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a channel's next version; string order is the order of versions."""
        count = 0 if current is None else int(str(current).split(".")[0])
        return f"{count + 1:032}"

    def _config(self, thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
        place = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
        return {"configurable": place}

    def _append(self, thread: str, head: dict[str, Any], body: Any) -> Steps[None]:
        entries = entries_of(head, self.serde.dumps_typed(body))
        yield "append_entry_by_name", {"name": self.prefix + thread, "entries": entries}

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new: ChannelVersions
    ) -> Steps[RunnableConfig]:
        given = config["configurable"]
        thread, namespace = str(given["thread_id"]), given.get("checkpoint_ns", "")
        parent, step = given.get("checkpoint_id"), metadata.get("step")
        keyframe = parent is None or (isinstance(step, int) and step % KEYFRAME_STEPS == 0)
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        stored = {**new, **{each: versions[each] for each in versions if each in values}} if keyframe else new
        body = {
            "checkpoint": {name: value for name, value in checkpoint.items() if name != "channel_values"},
            "metadata": get_checkpoint_metadata(config, metadata),
            "values": [[each, stored[each], each in values, values.get(each)] for each in stored],
        }
        head = {"kind": "checkpoint", "ns": namespace, "id": checkpoint["id"], "parent": parent}
        yield from self._append(thread, {**head, "keyframe": keyframe}, body)
        return self._config(thread, namespace, checkpoint["id"])

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Steps[None]:
        given = config["configurable"]
        place = {"ns": given.get("checkpoint_ns", ""), "id": given["checkpoint_id"]}
        head = {"kind": "writes", **place, "task": task_id, "path": task_path}
        yield from self._append(str(given["thread_id"]), head, [list(write) for write in writes])

    def _read(self, thread: str, namespace: str = "", wanted: str | None = None, *, whole: bool) -> Steps[Thread]:
        """Read a thread from its end: all of it, or until a checkpoint is whole."""
        found, cursor = Thread(), None
        while True:
            begin = {"tail": True} if cursor is None else {"before_cursor": cursor}
            size = WHOLE_PAGE_ENTRIES if whole or cursor else PAGE_ENTRIES
            asked = {"name": self.prefix + thread, "channel": "history", "limit": size, **begin}
            try:
                page = yield "list_entries_by_name", asked
            except NotFoundError:
                return found
            found.take(page.data[::-1])
            cursor = page.before_cursor
            place = wanted or found.latest(namespace)
            if cursor is None or (not whole and place and found.is_whole((namespace, place))):
                return found

    def _tuple(self, thread: str, place: tuple[str, str], found: Thread) -> CheckpointTuple | None:
        values: dict[tuple[str, Any], tuple[bool, Any]] = {}
        own: dict[str, Any] | None = None
        for record in found.line(place):
            body = self.serde.loads_typed(record.body)
            own = own or body
            for channel, version, is_there, value in body["values"]:
                values.setdefault((channel, version), (is_there, value))
            wanted = own["checkpoint"]["channel_versions"].items()
            if record.head["keyframe"] or all(each in values for each in wanted):
                break
        if own is None:
            return None
        versions = own["checkpoint"]["channel_versions"].items()
        shown = {each[0]: values[each][1] for each in versions if each in values and values[each][0]}
        pending = [
            (one.head["task"], one.head["path"], self.serde.loads_typed(one.body))
            for one in found.writes.get(place, [])
        ]
        parent = found.checkpoints[place].head["parent"]
        return CheckpointTuple(
            config=self._config(thread, *place),
            checkpoint={**own["checkpoint"], "channel_values": shown},  # type: ignore[typeddict-item]
            metadata=own["metadata"],
            parent_config=None if parent is None else self._config(thread, place[0], parent),
            pending_writes=folded(pending),
        )

    def _get_tuple(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        given = config["configurable"]
        thread, namespace = str(given["thread_id"]), given.get("checkpoint_ns", "")
        found = yield from self._read(thread, namespace, get_checkpoint_id(config), whole=False)
        wanted = get_checkpoint_id(config) or found.latest(namespace)
        return None if wanted is None else self._tuple(thread, (namespace, wanted), found)

    def _list(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Steps[list[CheckpointTuple]]:
        chosen: list[CheckpointTuple] = []
        given = config["configurable"] if config else {}
        threads = [str(given["thread_id"])] if config else (yield from self._threads())
        wanted_ns, wanted_id = given.get("checkpoint_ns"), given.get("checkpoint_id")
        end = get_checkpoint_id(before) if before else None
        for thread in threads:
            found = yield from self._read(thread, whole=True)
            for place in sorted(found.checkpoints, key=lambda each: each[1], reverse=True):
                if limit is not None and len(chosen) >= limit:
                    return chosen
                if wanted_ns not in (None, place[0]) or (wanted_id and wanted_id != place[1]):
                    continue
                if end and place[1] >= end:
                    continue
                one = self._tuple(thread, place, found)
                assert one is not None
                if all(one.metadata.get(key) == value for key, value in (filter or {}).items()):
                    chosen.append(one)
        return chosen

    def _threads(self) -> Steps[list[str]]:
        names: list[str] = []
        cursor = None
        while True:
            page = yield "list_names", {"prefix": self.prefix, "after_cursor": cursor}
            names += [one.name.removeprefix(self.prefix) for one in page.data]
            cursor = page.after_cursor
            if cursor is None:
                return names

    def _delete(self, thread: str) -> Steps[None]:
        """Delete the branch, then the name: a run that stopped between the two is run again."""
        name = self.prefix + thread
        try:
            named = yield "look_up_name", {"name": name}
        except NotFoundError:
            return
        try:
            yield "delete_conversation", {"conversation_id": named.conversation_id, "scope": "branch"}
        except NotFoundError:
            pass
        try:
            yield "delete_name", {"name": name, "expect_revision": named.revision}
        except NotFoundError:
            pass

    def _copy(self, source: str, target: str) -> Steps[None]:
        try:
            named = yield "look_up_name", {"name": self.prefix + source}
        except NotFoundError:
            return
        asked = {"conversation_id": named.conversation_id, "name": {"name": self.prefix + target}}
        yield "fork_conversation", asked

    def _prune(self, threads: Sequence[str], strategy: str) -> Steps[None]:
        """Write what stays into a new conversation, move the name to it, delete the old branch."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"no strategy {strategy!r}")
        for thread in threads:
            if strategy == "delete":
                yield from self._delete(thread)
                continue
            try:
                named = yield "look_up_name", {"name": self.prefix + thread}
            except NotFoundError:
                continue
            found = yield from self._read(thread, whole=True)
            if not found.checkpoints:
                continue
            made = yield "create_conversation", {}
            for namespace in sorted({place[0] for place in found.checkpoints}):
                place = (namespace, found.latest(namespace) or "")
                one = self._tuple(thread, place, found)
                assert one is not None
                head = {**found.checkpoints[place].head, "keyframe": True, "parent": None}
                versions, values = one.checkpoint["channel_versions"], one.checkpoint["channel_values"]
                body = {
                    "checkpoint": {key: each for key, each in one.checkpoint.items() if key != "channel_values"},
                    "metadata": one.metadata,
                    "values": [[each, versions[each], True, values[each]] for each in values],
                }
                kept = [(head, self.serde.dumps_typed(body))]
                kept += [(dict(each.head), each.body) for each in found.writes.get(place, [])]
                for stored in kept:
                    yield "append_entry", {
                        "conversation_id": made.id,
                        "entries": entries_of(*stored),
                    }
            moved = {"name": self.prefix + thread, "conversation_id": made.id}
            yield "set_name", {**moved, "expect_revision": named.revision}
            yield "delete_conversation", {"conversation_id": named.conversation_id, "scope": "branch"}


class ForkloreSaver(_Saver):
    """A saver for graphs that run with `invoke` and `stream`.

    client: of forklore; it is not closed here. prefix: of the names of the threads.
    """

    def __init__(self, client: Forklore, *, prefix: str = "langgraph/", serde: Any = None) -> None:
        super().__init__(prefix=prefix, serde=serde)
        self._client = client

    def _run(self, steps: Steps[T]) -> T:
        try:
            operation, given = next(steps)
            while True:
                try:
                    answer = getattr(self._client.api, operation)(**given)
                except NotFoundError as error:
                    operation, given = steps.throw(error)
                else:
                    operation, given = steps.send(answer)
        except StopIteration as end:
            done: T = end.value
            return done

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
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the newest first. The whole thread is read."""
        yield from self._run(self._list(config, filter, before, limit))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread. Copies of it live on."""
        self._run(self._delete(thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Fork a thread. Nothing is copied."""
        self._run(self._copy(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace, or with `delete` nothing."""
        self._run(self._prune(thread_ids, strategy))


class AsyncForkloreSaver(_Saver):
    """A saver for graphs that run with `ainvoke` and `astream`.

    client: of forklore; it is not closed here. prefix: of the names of the threads.
    """

    def __init__(self, client: AsyncForklore, *, prefix: str = "langgraph/", serde: Any = None) -> None:
        super().__init__(prefix=prefix, serde=serde)
        self._client = client

    async def _run(self, steps: Steps[T]) -> T:
        try:
            operation, given = next(steps)
            while True:
                try:
                    answer = await getattr(self._client.api, operation)(**given)
                except NotFoundError as error:
                    operation, given = steps.throw(error)
                else:
                    operation, given = steps.send(answer)
        except StopIteration as end:
            done: T = end.value
            return done

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with the channels that changed; return its config."""
        return await self._run(self._put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task in one request."""
        await self._run(self._put_writes(config, writes, task_id, task_path))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, without an id the latest one; None if there is none."""
        return await self._run(self._get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the newest first. The whole thread is read."""
        for one in await self._run(self._list(config, filter, before, limit)):
            yield one

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread. Copies of it live on."""
        await self._run(self._delete(thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Fork a thread. Nothing is copied."""
        await self._run(self._copy(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace, or with `delete` nothing."""
        await self._run(self._prune(thread_ids, strategy))

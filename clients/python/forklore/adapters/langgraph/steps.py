"""What the savers do, as steps: generators that yield a call and take its answer or its error."""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from forklore import ConflictError, NotFoundError
from forklore.adapters.files import Files, zeroed
from forklore.adapters.langgraph.reading import (
    LONG_PAGE_ENTRIES,
    PAGE_ENTRIES,
    WHOLE_PAGE_ENTRIES,
    Reading,
    read_all,
)
from forklore.adapters.langgraph.records import (
    BACK_MAX,
    LEFT_KEY,
    Place,
    Record,
    Thread,
    entries_of,
    folded,
    has_all_channels,
    left_entry,
    left_in,
    message_entry,
    naming,
    packed,
)
from forklore.adapters.langgraph.shown import MESSAGES, Seen, goes_on_from, seen_of, shown
from forklore.adapters.running import PAUSE, Steps
from forklore.adapters.storable import checked_name
from forklore.client.generated.results import AttachedFile, Entries
from forklore.extras import needing

with needing("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
        PendingWrite,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

K = TypeVar("K")
V = TypeVar("V")
KNOWN_MAX = 1000
ATTEMPTS = 10
"""To prune a thread, or to begin a branch of it, while others append."""
FORK_LIMITS = frozenset({"fork_limit", "fork_too_deep"})


@dataclass(frozen=True)
class Known:
    """What a saver knows of a checkpoint that it has stored or read.

    back: how many checkpoints before it have the channel's value, for each channel. seen: the
    messages of the state. conversation, entry: where it stands. files: attachments that it, or
    checkpoints before it, refer to.
    """

    versions: Mapping[str, Any]
    back: Mapping[str, int]
    seen: Seen
    conversation: str
    entry: str = ""
    files: frozenset[str] = frozenset()


def back_of(parent: Known | None, versions: Mapping[str, Any]) -> dict[str, int]:
    """Return how many checkpoints back each channel is stored; 0: it must be stored now.

    parent: what is known of the checkpoint before; None: nothing. A channel that has changed is
    stored, and so is one whose value would be more than BACK_MAX checkpoints back.
    """
    back = dict.fromkeys(versions, 0)
    for name, version in versions.items():
        if parent is not None and name in parent.back and parent.versions.get(name) == version:
            back[name] = (parent.back[name] + 1) % (BACK_MAX + 1)
    return back


def channels_in(bodies: Sequence[Any]) -> dict[str, tuple[int, bool, Any]]:
    """Return the channels of a checkpoint that it or its ancestors hold.

    bodies: theirs, the newest first. Of a channel: how many checkpoints back it is stored, whether
    it has a value, and the value.
    """
    values: dict[tuple[str, Any], tuple[int, bool, Any]] = {}
    for count, body in enumerate(bodies):
        for channel, version, is_there, value in body["values"]:
            values.setdefault((channel, version), (count, is_there, value))
    versions = bodies[0]["checkpoint"]["channel_versions"].items()
    return {name: values[name, each] for name, each in versions if (name, each) in values}


def _has(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(held.get(key) == value for key, value in wanted.items())


def remember(held: dict[K, V], key: K, value: V) -> None:
    """Put a value last. Of more than KNOWN_MAX values the first one is forgotten."""
    held.pop(key, None)
    held[key] = value
    if len(held) > KNOWN_MAX:
        del held[next(iter(held))]


class StepsOfSaver(BaseCheckpointSaver[str]):
    """What both savers do, as steps.

    prefix: of the names of the threads. show: whether the messages of the state are stored as
    readable text as well. None: yes, unless the serializer encrypts.
    """

    def __init__(self, files: Files, *, prefix: str, serde: Any, show: bool | None) -> None:
        super().__init__(serde=serde)
        self._files = files
        self._prefix = prefix
        self._show = not isinstance(self.serde, EncryptedSerializer) if show is None else show
        self._known: dict[tuple[str, Place], Known] = {}
        self._newest: dict[tuple[str, str], str] = {}
        self._early: dict[tuple[str, Place], list[str]] = {}
        self._putting: set[tuple[str, Place]] = set()
        self._forking: set[str] = set()
        self._elsewhere: dict[str, AttachedFile | None] = {}
        """By the ids in records: attachments that an import has given others; None: there is none.
        """
        self._order = Lock()

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002 (LangGraph's)
        """Return a channel's next version; string order is the order of versions."""
        count = 0 if current is None else int(str(current).split(".")[0])
        return f"{count + 1:032}"

    def _name(self, thread: str) -> str:
        return checked_name("thread_id", self._prefix, thread)

    def _config(self, thread: str, place: Place) -> RunnableConfig:
        of = {"thread_id": thread, "checkpoint_ns": place[0], "checkpoint_id": place[1]}
        return {"configurable": of}

    # Writing

    def _record(self, head: Mapping[str, Any], body: Any, named: Collection[str]) -> Steps[Record]:
        """Return the record of a body, with references to the files in it, which are uploaded."""
        kind, data = self.serde.dumps_typed(body)
        [(text, ids)] = yield from self._files.cut([data.decode("latin-1")], named)
        return Record.of(head, (kind, text.encode("latin-1")), dict.fromkeys(ids))

    def _append(
        self,
        thread: str,
        record: Record,
        messages: Sequence[Mapping[str, str]] = (),
        named: Collection[str] = (),
        fork: Known | None = None,
    ) -> Steps[tuple[Any, bool]]:
        """Append a record to a thread; return its last entry, and whether it began a branch.

        named: attachments that the thread names already. fork: the checkpoint that a branch goes on
        from, which this record begins.
        A large record takes several appends, of which the last one has its head. If somebody
        replaces the thread between two of them, all are made again.
        """
        appends = entries_of(record, messages, named)
        while True:
            forked = None if fork is None else (yield from self._fork(thread, fork, appends[0]))
            if fork is not None and forked is None and self._show:
                appends[0].insert(0, message_entry(goes_on_from(record.head["parent"])))
            fork, made = None, [] if forked is None else [forked]
            for entries in appends[len(made) :]:
                made.append((yield from self._append_entries(thread, entries)))  # noqa: PERF401 (it yields)
            if len({one.conversation_id for one in made}) == 1:
                return made[-1], forked is not None

    def _fork(self, thread: str, at: Known, entries: list[dict[str, Any]]) -> Steps[Any]:
        """Begin a branch after a checkpoint, which the thread goes on in; return the last entry.

        None: the conversation of the checkpoint is gone, or can have no fork.
        """
        with self._order:
            self._forking.add(thread)
        try:
            for _ in range(ATTEMPTS):
                named = yield from self._look_up(thread)
                if named is None or named.deleted:
                    return None
                old = named.conversation_id
                left = [old, *(yield from self._left(old, of_source=True))]
                try:
                    made = yield (
                        "append_entry",
                        {
                            "conversation_id": str(uuid.uuid4()),
                            "forked_at_conversation_id": at.conversation,
                            "forked_at_entry_id": at.entry,
                            "forked_at_position": "after",
                            "name": {"name": named.name, "expectRevision": named.revision},
                            "entries": [left_entry(left), *entries],
                        },
                    )
                except NotFoundError:
                    return None
                except ConflictError as error:
                    if error.reason in FORK_LIMITS:
                        return None
                    if error.reason != "name_moved":
                        raise
                else:
                    return made.data[-1]
            return None
        finally:
            self._forking.discard(thread)

    def _append_entries(self, thread: str, entries: list[dict[str, Any]]) -> Steps[Any]:
        while thread in self._forking:
            yield PAUSE, {}
        asked = {"name": self._name(thread), "entries": entries}
        try:
            made = yield "append_entry_by_name", asked
        except NotFoundError:
            if not (yield from self._free(thread)):
                raise
            made = yield "append_entry_by_name", asked
        return made.data[-1] if isinstance(made, Entries) else made

    def _free(self, thread: str) -> Steps[bool]:
        """Delete a name whose conversation is deleted; return whether there was one."""
        named = yield from self._look_up(thread)
        if named is None or not named.deleted:
            return False
        yield from self._delete_name(named)
        return True

    def _delete_name(self, named: Any) -> Steps[None]:
        """Delete a name, unless somebody has deleted or moved it meanwhile."""
        with suppress(NotFoundError, ConflictError):
            yield "delete_name", {"name": named.name, "expect_revision": named.revision}

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Store a checkpoint with the channels that its parent does not have.

        Somebody may have deleted or replaced the thread since the parent was stored or read. The
        answer tells it. If the parent is gone, the checkpoint is stored again with all channels.
        One that goes on from another checkpoint than the newest begins a branch.
        """
        given = config["configurable"]
        thread, namespace = str(given["thread_id"]), given.get("checkpoint_ns", "")
        parent, place = given.get("checkpoint_id"), (namespace, checkpoint["id"])
        whole = get_checkpoint_metadata(config, metadata)
        head = {"kind": "checkpoint", "ns": namespace, "id": place[1], "parent": parent}
        head |= {"outer": dict(whole.get("parents") or {})}
        versions, values = checkpoint["channel_versions"], checkpoint["channel_values"]
        is_input = namespace == "" and whole.get("source") == "input"

        def append(
            known: Known | None, seen: Seen, messages: Sequence[Mapping[str, str]], fork: Known | None
        ) -> Steps[bool]:
            """Append it; return whether its parent stands in the same branch."""
            back = back_of(known, versions)
            # A channel without a value takes no room: so it is no reason to read an ancestor.
            stored = {name: each for name, each in versions.items() if not back[name] or name not in values}
            stored |= new
            back |= dict.fromkeys(stored, 0)
            body = {
                "checkpoint": {name: value for name, value in checkpoint.items() if name != "channel_values"},
                "metadata": whole,
                "values": [[each, stored[each], each in values, values.get(each)] for each in stored],
            }
            named = trusted = known.files if known else frozenset[str]()
            # What the user says is named again: the service refuses what an admin has removed.
            is_said = is_input and all(each in new for each in stored if each in values)
            again = frozenset() if is_said else named
            whole_head = head | {"back": max(back.values(), default=0)}
            made: Any = None
            is_fork = False
            for once in self._files.tries():
                with once:
                    record = yield from self._record(whole_head, body, trusted)
                    made, is_fork = yield from self._append(thread, record, messages, again, fork)
                    files = named.union(record.ids)
                    at = made.conversation_id, made.id
                    self._learn(thread, place, Known(dict(versions), back, seen, *at, files))
                trusted = again
            return known is None or is_fork or made.conversation_id == known.conversation

        with self._order:
            self._putting.add((thread, place))
            head["early"] = self._early.pop((thread, place), [])
        try:
            known = yield from self._what_is_known(thread, namespace, parent)
            seen, fresh = self._seen(known, versions, values)
            is_branch = known is not None and self._is_branch(thread, namespace, parent)
            fork = known if is_branch and namespace == "" else None
            mark = [goes_on_from(str(parent))] if is_branch and fork is None else []
            if not (yield from append(known, seen, mark + fresh if self._show else [], fork)):
                self._forget(thread)
                if (yield from self._what_is_known(thread, namespace, parent)) is None:
                    yield from append(None, seen, (), None)
        except BaseException:
            with self._order:
                if head["early"]:  # it is put again
                    self._early[thread, place] = head["early"]
            raise
        finally:
            self._putting.discard((thread, place))
        self._note_newest(thread, place)
        return self._config(thread, place)

    def _what_is_known(self, thread: str, namespace: str, checkpoint_id: str | None) -> Steps[Known | None]:
        """Return what is known of a checkpoint, which is read if need be; None if it is gone."""
        if checkpoint_id is None:
            return None
        place = (namespace, checkpoint_id)
        if (thread, place) not in self._known:
            with suppress(LookupError):
                yield from self._get_tuple(self._config(thread, place))
        return self._known.get((thread, place))

    def _seen(
        self, known: Known | None, versions: ChannelVersions, values: Mapping[str, Any]
    ) -> tuple[Seen, list[dict[str, str]]]:
        """Return what is known of the messages of a state, and those that are new, for people.

        known: of the checkpoint before. If its channel has the same version, nothing is new.
        """
        if known is not None and known.versions.get(MESSAGES) == versions.get(MESSAGES):
            return known.seen, []
        seen = seen_of(values)
        return seen, shown(values, seen, known.seen if known else None) if self._show else []

    def _is_branch(self, thread: str, namespace: str, parent: str | None) -> bool:
        """Return whether what goes on from a checkpoint begins a branch."""
        newest = self._newest.get((thread, namespace))
        return bool(parent and newest and parent != newest)

    def _learn(self, thread: str, place: Place, known: Known) -> None:
        with self._order:
            remember(self._known, (thread, place), known)

    def _note_newest(self, thread: str, place: Place) -> None:
        """Note the newest checkpoint of a namespace: one with another parent begins a branch."""
        with self._order:
            remember(self._newest, (thread, place[0]), place[1])

    def _forget(self, thread: str) -> None:
        with self._order:
            self._known = {of: known for of, known in self._known.items() if of[0] != thread}
            self._newest = {of: newest for of, newest in self._newest.items() if of[0] != thread}

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Steps[None]:
        """Append the writes of a task.

        LangGraph may store the writes of a checkpoint before the checkpoint, and even before its
        parent. So the checkpoint names the records that were sent before it, and those that come
        while it is on its way are sent after it.
        """
        given = config["configurable"]
        thread, place = str(given["thread_id"]), (given.get("checkpoint_ns", ""), given["checkpoint_id"])
        head = {"kind": "writes", "ns": place[0], "id": place[1], "task": task_id, "path": task_path}
        known = self._known.get((thread, place))
        named = known.files if known else ()
        for once in self._files.tries():
            with once:
                record = yield from self._record(head, [list(write) for write in writes], named)
                while not self._may_go(thread, place, record):
                    yield PAUSE, {}
                yield from self._append(thread, record, (), named)

    def _may_go(self, thread: str, place: Place, record: Record) -> bool:
        """Note writes whose checkpoint is not there; return False while it is on its way."""
        with self._order:
            if (thread, place) in self._putting:
                return False
            if (thread, place) not in self._known:
                early = self._early.get((thread, place), [])
                remember(self._early, (thread, place), [*early, record.head["record"]])
        return True

    # Reading

    def _body(self, thread: str, record: Record, found: Thread) -> Steps[Any]:
        """Return what a record holds, with the bytes of its attachments, and note which are there.

        An import has given them other ids. Then they are among all those that the thread names.
        """
        ids, body = record.stored
        if ids:
            text = body.decode("latin-1")
            attached = {one: found.files.get(one) or self._elsewhere.get(one) for one in ids}
            whole, there = yield from self._files.mended(text, attached)
            for one in ids:
                if one not in {*there, *found.files, *self._elsewhere}:
                    with suppress(NotFoundError):
                        yield "get_attachment", {"attachment_id": one}
                        remember(self._elsewhere, one, None)  # an admin has removed it
            lost = [one for one in ids if one not in {*there, *found.files, *self._elsewhere}]
            if lost:
                named = yield from self._files.named_here(text, (yield from self._all_files(thread, found)))
                for one in lost:
                    remember(self._elsewhere, one, named.get(one))
                whole, there = yield from self._files.mended(
                    text, attached | {one: named.get(one) for one in lost}
                )
            record.ids, body = list(there.values()), whole.encode("latin-1")
        return self.serde.loads_typed((record.head["type"], body))

    def _blank(self, record: Record) -> Any:
        """Return what a record holds, with zeros for the bytes of its attachments."""
        ids, body = record.stored
        if ids:
            body = zeroed(body.decode("latin-1"), ids).encode("latin-1")
        return self.serde.loads_typed((record.head["type"], body))

    def _all_files(self, thread: str, found: Thread) -> Steps[Mapping[str, AttachedFile]]:
        if not found.has_all_files:
            found.files = (yield from read_all(name=self._name(thread))).found.files
            found.has_all_files = True
        return found.files

    def _tuple(self, thread: str, place: Place, found: Thread) -> Steps[CheckpointTuple]:
        """Return a checkpoint of what was read. Raises LookupError if an ancestor is deleted."""
        line = found.needed(place)
        if not has_all_channels(line):
            raise LookupError(
                f"checkpoint {place[1]} goes on from {line[-1].head['parent']}, which is deleted"
            )
        bodies = []
        for record in line:
            bodies.append((yield from self._body(thread, record, found)))  # noqa: PERF401 (it yields)
        own, there = bodies[0], channels_in(bodies)
        versions = own["checkpoint"]["channel_versions"]
        held = {name: value for name, (_, is_there, value) in there.items() if is_there}
        back = {name: count for name, (count, _, _) in there.items()}
        files = frozenset(one for record in line for one in record.ids)
        at = line[0].conversation, line[0].entry
        self._learn(thread, place, Known(dict(versions), back, seen_of(held), *at, files))
        pending = []
        for one in found.writes.get(place, []):
            values = yield from self._body(thread, one, found)
            pending.append((one.head["task"], one.head["path"], values))
        parent = line[0].head["parent"]
        return CheckpointTuple(
            config=self._config(thread, place),
            checkpoint={**own["checkpoint"], "channel_values": held},  # type: ignore[typeddict-item]
            metadata=own["metadata"],
            parent_config=None if parent is None else self._config(thread, (place[0], parent)),
            pending_writes=folded(pending),
        )

    def _get_tuple(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        given = config["configurable"]
        thread, namespace = str(given["thread_id"]), given.get("checkpoint_ns", "")
        chosen, outer = get_checkpoint_id(config), given.get("checkpoint_map") or {}
        is_on_its_way = self._is_on_its_way(thread, outer)
        noted = self._newest.get((thread, namespace))
        reading = Reading(LONG_PAGE_ENTRIES if chosen else PAGE_ENTRIES, name=self._name(thread))
        while True:
            goes_on = yield from reading.page()
            found = reading.found
            wanted = chosen or found.latest(namespace)
            is_on_its_way = is_on_its_way or self._is_on_its_way(thread, outer)
            place = (namespace, wanted or "")
            is_new = wanted is None and found.began_after(namespace, outer, is_on_its_way=is_on_its_way)
            if not goes_on or is_new or found.is_whole(place):
                newest = found.latest(namespace)
                if newest and self._newest.get((thread, namespace)) == noted:  # none was stored meanwhile
                    self._note_newest(thread, (namespace, newest))
                if place not in found.checkpoints:
                    return None
                return (yield from self._tuple(thread, place, found))

    def _is_on_its_way(self, thread: str, outer: Mapping[str, str]) -> bool:
        """Return whether one of these checkpoints is stored now, or waits for one before it.

        LangGraph stores the checkpoints of a run one after the other. Their ids are in this order.
        """
        with self._order:
            return any(of == thread and place[1] <= outer.get(place[0], "") for of, place in self._putting)

    def _list(
        self,
        config: RunnableConfig | None,
        metadata: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Steps[list[CheckpointTuple]]:
        given = config["configurable"] if config else {}
        threads = [str(given["thread_id"])] if config else (yield from self._threads())
        namespace, wanted = given.get("checkpoint_ns"), get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None

        def chosen(place: Place) -> bool:
            fits = namespace in (None, place[0]) and wanted in (None, place[1])
            return fits and (end is None or place[1] < end)

        listed: list[CheckpointTuple] = []
        for thread in threads:
            newer_than = listed[-1].checkpoint["id"] if listed and len(listed) == limit else ""
            listed += yield from self._list_thread(thread, chosen, metadata or {}, limit, newer_than)
            listed = sorted(listed, key=lambda one: one.checkpoint["id"], reverse=True)[:limit]
        return listed

    def _list_thread(
        self,
        thread: str,
        chosen: Callable[[Place], bool],
        metadata: Mapping[str, Any],
        limit: int | None,
        newer_than: str,
    ) -> Steps[list[CheckpointTuple]]:
        """Return the chosen checkpoints of a thread that are newer than a checkpoint.

        With a limit it reads no further.
        """
        reading = Reading(LONG_PAGE_ENTRIES if limit else WHOLE_PAGE_ENTRIES, name=self._name(thread))
        while True:
            goes_on = yield from reading.page()
            found = reading.found
            if goes_on and limit is None:
                continue
            listed: list[CheckpointTuple] = []
            for place in sorted(filter(chosen, found.checkpoints), key=lambda each: each[1], reverse=True):
                if place[1] <= newer_than:
                    return listed
                if not found.is_whole(place):
                    break
                if not has_all_channels(found.needed(place)):
                    continue  # an ancestor is deleted
                if metadata and not _has(self._blank(found.checkpoints[place])["metadata"], metadata):
                    continue
                listed.append((yield from self._tuple(thread, place, found)))
                if len(listed) == limit:
                    return listed
            if not goes_on:
                return listed

    def _delta_history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Steps[Mapping[str, DeltaChannelHistory]]:
        """Return what the ancestors wrote, as the base class does, and read the thread once."""
        given = config["configurable"]
        thread, namespace = str(given["thread_id"]), given.get("checkpoint_ns", "")
        found = (yield from read_all(name=self._name(thread))).found
        place = (namespace, get_checkpoint_id(config) or found.latest(namespace) or "")
        writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        for record in list(found.line(place))[1:]:
            if len(seeds) == len(writes):
                break
            one = yield from self._tuple(thread, record.place, found)
            for channel in writes.keys() - seeds.keys():
                own = [write for write in one.pending_writes or () if write[1] == channel]
                writes[channel] = own + writes[channel]
                if channel in one.checkpoint["channel_values"]:
                    seeds[channel] = one.checkpoint["channel_values"][channel]
        return {
            channel: {"writes": writes[channel], "seed": seeds[channel]}
            if channel in seeds
            else {"writes": writes[channel]}
            for channel in channels
        }

    # Threads

    def _look_up(self, thread: str) -> Steps[Any]:
        try:
            return (yield "look_up_name", {"name": self._name(thread)})
        except NotFoundError:
            return None

    def _threads(self) -> Steps[list[str]]:
        names: list[str] = []
        cursor = None
        while True:
            page = yield "list_names", {"prefix": self._prefix, "after_cursor": cursor, "limit": 200}
            names += [one.name.removeprefix(self._prefix) for one in page.data]
            cursor = page.after_cursor
            if cursor is None:
                return names

    def _delete_branch(self, conversation_id: str) -> Steps[None]:
        with suppress(NotFoundError):
            yield "delete_conversation", {"conversation_id": conversation_id, "scope": "branch"}

    def _left(self, conversation_id: str, *, of_source: bool = False) -> Steps[list[str]]:
        """Return the conversations that a thread has left, the newest first.

        of_source: also those that the source of a fork by hand has left. Deletes what a prune has
        replaced, if it was killed before that: a prune makes a blank fork of what it replaces, and
        nothing else makes a blank fork.
        """
        try:
            made = yield "get_conversation", {"conversation_id": conversation_id}
            if not made.forked_at_conversation_id:
                return []
            if made.forked_at_position == "blank":
                yield from self._delete_branches(made.forked_at_conversation_id)
                return []
            found = yield "look_up_entry", {"conversation_id": conversation_id, "key": LEFT_KEY}
        except NotFoundError:
            return []
        is_own = of_source or found.conversation_id == conversation_id
        return left_in(found.content) if is_own else []

    def _delete_branches(self, conversation_id: str) -> Steps[None]:
        """Delete what a thread has left, then its conversation, which leads to the others."""
        for one in (yield from self._left(conversation_id))[::-1]:
            yield from self._delete_branch(one)
        yield from self._delete_branch(conversation_id)

    def _delete(self, thread: str) -> Steps[None]:
        """Delete the branch, then the name: a run that stopped between the two is run again."""
        self._forget(thread)
        named = yield from self._look_up(thread)
        if named is None:
            return
        yield from self._delete_branches(named.conversation_id)
        yield from self._delete_name(named)

    def _copy(self, source: str, target: str) -> Steps[None]:
        """Delete the target and fork the source, so that nothing is left of what the target was.

        What the source has left is forked as well: it is deleted with the source.
        """
        named = yield from self._look_up(source)
        if named is None or named.deleted or source == target:
            return
        yield from self._delete(target)
        name = {"name": self._name(target), "expectRevision": 0}
        left = yield from self._left(named.conversation_id, of_source=True)
        if not left:
            yield "fork_conversation", {"conversation_id": named.conversation_id, "name": name}
            return
        forks = {one: str(uuid.uuid4()) for one in left}
        asked = {
            "conversation_id": str(uuid.uuid4()),
            "forked_at_conversation_id": named.conversation_id,
            "forked_at_position": "head",
            "name": name,
            "entries": [left_entry(list(forks.values()), copied=True)],
        }
        yield "append_entry", asked
        for one, fork in forks.items():
            with suppress(NotFoundError):
                yield "fork_conversation", {"conversation_id": one, "id": fork}

    def _prune(self, threads: Sequence[str], strategy: str) -> Steps[None]:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"no strategy {strategy!r}")
        for thread in threads:
            yield from (self._delete(thread) if strategy == "delete" else self._keep_latest(thread))

    def _keep_latest(self, thread: str) -> Steps[None]:
        """Put what stays into a blank fork, which takes the name if nothing was appended."""
        for attempt in range(ATTEMPTS):
            named = yield from self._look_up(thread)
            if named is None or named.deleted:
                return
            old = named.conversation_id
            left = yield from self._left(old)
            try:
                for once in self._files.tries():
                    with once:
                        if not (yield from self._fork_latest(thread, named)):
                            return
            except ConflictError as error:
                if error.reason not in ("stale", "name_moved") or attempt == ATTEMPTS - 1:
                    raise
                continue
            self._forget(thread)
            for one in [*left[::-1], old]:
                yield from self._delete_branch(one)
            return

    def _fork_latest(self, thread: str, named: Any) -> Steps[bool]:
        """Make the blank fork with what stays of a thread; return False if all of it stays."""
        old = named.conversation_id
        reading = yield from read_all(conversation_id=old)
        found = reading.found
        kept = yield from self._kept(thread, found)
        if len(kept) == len(found.checkpoints) + sum(map(len, found.writes.values())):
            return False
        again = yield from self._shown_again(thread, found)
        for record in kept:
            if record.head.get("files") and not record.ids:
                yield from self._body(thread, record, found)
        files = naming(dict.fromkeys(one for record in kept for one in record.ids))
        asked = {
            "conversation_id": str(uuid.uuid4()),
            "forked_at_conversation_id": old,
            "name": {"name": named.name, "expectRevision": named.revision},
            "entries": [*files, *again, *packed(kept)],
            "if_match": reading.last,
        }
        yield "append_entry", asked
        return True

    def _shown_again(self, thread: str, found: Thread) -> Steps[list[dict[str, Any]]]:
        """Return entries with the messages of the latest checkpoint, for people."""
        place = ("", found.latest("") or "")
        if not self._show or place not in found.checkpoints:
            return []
        values = (yield from self._tuple(thread, place, found)).checkpoint["channel_values"]
        return [message_entry(one) for one in shown(values, seen_of(values), None)]

    def _kept(self, thread: str, found: Thread) -> Steps[list[Record]]:
        """Return what a prune keeps: the latest checkpoint of each namespace with its writes.

        Delta channels need ancestors with their writes, up to the one with the channel's value. A
        write whose checkpoint has not come yet stays, too.
        """
        kept: list[Record] = []
        for place, writes in found.writes.items():
            if place not in found.checkpoints:
                kept += writes
        for namespace in {place[0] for place in found.checkpoints}:
            line = list(found.line((namespace, found.latest(namespace) or "")))
            needed = self._needed(line, found)
            for record in line[needed - 1 :: -1]:
                is_oldest = record is line[needed - 1]
                kept.append((yield from self._filled(thread, record, found)) if is_oldest else record)
                kept += found.writes.get(record.place, [])
        return kept

    def _needed(self, line: Sequence[Record], found: Thread) -> int:
        """Return how many checkpoints of a line its first one needs."""
        open_channels: set[str] | None = None
        for count, record in enumerate(line, 1):
            bodies = [self._blank(one) for one in found.needed(record.place)]
            if open_channels is None:
                open_channels = set(bodies[0]["metadata"].get("counters_since_delta_snapshot") or ())
            open_channels -= {name for name, (_, is_there, _) in channels_in(bodies).items() if is_there}
            if not open_channels:
                return count
        return len(line)

    def _filled(self, thread: str, record: Record, found: Thread) -> Steps[Record]:
        """Return a checkpoint with all its channels, and without a parent."""
        if record.head["back"] == 0 and record.head["parent"] is None:
            return record
        one = yield from self._tuple(thread, record.place, found)
        versions, values = one.checkpoint["channel_versions"], one.checkpoint["channel_values"]
        body = {
            "checkpoint": {key: each for key, each in one.checkpoint.items() if key != "channel_values"},
            "metadata": one.metadata,
            "values": [[each, versions[each], True, values[each]] for each in values],
        }
        named = {each for one in found.line(record.place) for each in one.ids}
        return (yield from self._record({**record.head, "back": 0, "parent": None}, body, named))

"""What a thread's entries hold: checkpoints and writes, as values. Nothing is sent here."""

import base64
import json
import uuid
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from forklore.client.generated.limits import ATTACHMENTS_PER_ENTRY_MAX, ELEMENTS_MAX, packs
from forklore.client.generated.results import AttachedFile
from forklore.extras import needing

with needing("langgraph"):
    from langgraph.checkpoint.base import WRITES_IDX_MAP, writes_sort_key

CONTENT_TYPE = "application/vnd.forklore.langgraph+json"
HISTORY = "history"
MEMBER = "langgraph"
"""The member of an element that is the head of a record, or of a part of one."""
LEFT = "langgraphLeft"
"""The member of an element that names what a thread has left: conversations, the newest first."""
LEFT_KEY = "langgraph-left"
"""The key of the entry with it."""
PART_CHARACTERS = 2_140_000
HEAD_CHARACTERS = 2000
"""A head has fewer."""
APPEND_PARTS = 2
"""Of a record in one append. With three it may be larger than the service takes."""
BACK_MAX = 15
"""How many checkpoints before a checkpoint are needed at the most to have all its channels."""

Place = tuple[str, str]
"""The namespace and the id of a checkpoint."""


@dataclass
class Record:
    """A checkpoint or the writes of a task, as stored.

    parts: of the text, as far as they were read. In an entry they stand before the head.
    conversation, entry: where it was read. ids: of the attachments that the body refers to and that
    are there; of a record that was read they are known once its body was. is_shared: whether
    a branch that the thread has left may go on from it.
    """

    head: Mapping[str, Any]
    parts: list[str]
    conversation: str = ""
    entry: str = ""
    ids: Collection[str] = ()
    is_shared: bool = False

    @classmethod
    def of(cls, head: Mapping[str, Any], body: tuple[str, bytes], ids: Collection[str] = ()) -> "Record":
        """Return the record of a body, which the serializer has made."""
        kind, data = body
        if ids:
            data = json.dumps(list(ids)).encode() + b"\n" + data
        text = base64.b64encode(zlib.compress(data)).decode()
        parts = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)] or [""]
        of = {"record": uuid.uuid4().hex, "parts": len(parts), "type": kind, "base": 64}
        files = {"files": len(ids)} if ids or "files" in head else {}
        return cls({**head, **of, **files}, parts, ids=ids)

    @property
    def is_whole(self) -> bool:
        """Return whether all parts were read."""
        return bool(len(self.parts) == self.head["parts"])

    @property
    def stored(self) -> tuple[list[str], bytes]:
        """The attachments that the body refers to, and the body without their bytes.

        Records without a base are in base 85.
        """
        decode = base64.b64decode if self.head.get("base") == 64 else base64.b85decode
        data = zlib.decompress(decode("".join(self.parts)))
        if not self.head.get("files"):
            return [], data
        ids, _, body = data.partition(b"\n")
        return json.loads(ids), body

    @property
    def place(self) -> Place:
        """The checkpoint that this is, or belongs to."""
        return self.head["ns"], self.head["id"]

    def elements(self) -> list[dict[str, Any]]:
        """Return the elements of the record, for entries. The last one has the head.

        Their text is empty, so that nobody is shown the data, and no title is made of it.
        """
        part = {"part": self.head["record"]}
        heads = [part] * (len(self.parts) - 1) + [self.head]
        return [
            {MEMBER: head, "text": "", "data": data} for head, data in zip(heads, self.parts, strict=True)
        ]


def message_entry(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that shows a role and a text."""
    return {"channel": HISTORY, "contentType": HISTORY, "content": [dict(message)]}


def naming(ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return entries that only name attachments."""
    most = (ATTACHMENTS_PER_ENTRY_MAX,)
    groups = packs([{"id": one} for one in ids], most, lambda _: (1,))
    return [message_entry({"text": "", "attachments": some}) for some in groups]


def left_entry(conversations: Sequence[str], *, copied: bool = False) -> dict[str, Any]:
    """Return the entry that names the conversations that a thread has left, the newest first.

    copied: it begins a copy, and not a branch.
    """
    element = {"text": "", LEFT: list(conversations), "copied": copied}
    return {"contentType": CONTENT_TYPE, "content": [element], "key": LEFT_KEY}


def left_in(content: Sequence[Any]) -> list[str]:
    """Return the conversations that an entry names as left."""
    return [one for element in content for one in element[LEFT]]


def entries_of(
    record: Record, messages: Sequence[Mapping[str, str]] = (), named: Collection[str] = ()
) -> list[list[dict[str, Any]]]:
    """Return the entries of one record, for one append or several of them.

    messages: roles and texts that people see with it. The last one shares the record's last entry.
    named: attachments that the thread names already.
    """
    *parts, last = record.elements()
    before = [*naming(one for one in record.ids if one not in named), *map(message_entry, messages[:-1])]
    entries = [{"contentType": CONTENT_TYPE, "content": [part]} for part in parts]
    if messages:
        end = message_entry({**last, **messages[-1]})
    else:
        end = {"contentType": CONTENT_TYPE, "content": [last]}
    entries.append(end)
    *first, rest = [entries[at : at + APPEND_PARTS] for at in range(0, len(entries), APPEND_PARTS)]
    return [*first, before + rest]


def packed(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return entries that hold many records, for one append. Each is filled as far as possible."""
    elements = chain.from_iterable(record.elements() for record in records)
    most = ELEMENTS_MAX, PART_CHARACTERS + HEAD_CHARACTERS
    contents = packs(elements, most, lambda element: (1, len(element["data"]) + HEAD_CHARACTERS))
    return [{"contentType": CONTENT_TYPE, "content": content} for content in contents]


@dataclass
class Thread:
    """The records that were read so far, from the newest to older ones.

    checkpoints: that which was stored last first. files: the attachments that entries name, by id.
    is_all: whether the whole thread was read. has_all_files: whether these are all files of the
    thread. left: the conversations that the thread has left; None: none is known so far.
    """

    checkpoints: dict[Place, Record] = field(default_factory=dict)
    writes: dict[Place, list[Record]] = field(default_factory=dict)
    files: dict[str, AttachedFile] = field(default_factory=dict)
    is_all: bool = False
    has_all_files: bool = False
    left: list[str] | None = None
    _is_shared: bool = False
    _by_id: dict[str, Record] = field(default_factory=dict)

    def take(self, newest_first: Iterable[Any]) -> None:
        """Take a page of entries. An older entry of the same checkpoint does not replace it."""
        for entry in newest_first:
            self.files |= {one.id: one for one in entry.attachments}
            for element in reversed(entry.content):
                if isinstance(element, Mapping) and MEMBER in element:
                    self._take(element[MEMBER], element["data"], entry)
                elif isinstance(element, Mapping) and LEFT in element:
                    self.left = left_in([element]) if self.left is None else self.left
                    self._is_shared = self._is_shared or not element["copied"]

    def end(self) -> None:
        """Note that the whole thread was read. A record that is not whole lost its parts.

        Its saver stores it again, or was killed.
        """
        self.is_all = self.has_all_files = True
        self.checkpoints = {place: one for place, one in self.checkpoints.items() if one.is_whole}
        self.writes = {place: [one for one in all_ if one.is_whole] for place, all_ in self.writes.items()}

    def _take(self, head: Mapping[str, Any], text: str, entry: Any) -> None:
        if "part" in head:
            if head["part"] in self._by_id:  # else its saver is still at it, or was killed
                self._by_id[head["part"]].parts.insert(0, text)
            return
        record = Record(head, [text], entry.conversation_id, entry.id, is_shared=self._is_shared)
        self._by_id[head["record"]] = record
        if head["kind"] == "writes":
            self.writes.setdefault(record.place, []).insert(0, record)
        else:
            self.checkpoints.setdefault(record.place, record)

    def latest(self, namespace: str) -> str | None:
        """Return the checkpoint of a namespace that was stored last.

        Of a whole thread: one that has all its channels. One whose ancestors are
        deleted is about to be stored again, or its saver was killed. Ids tell nothing of this: the
        one of a run on a machine whose clock is behind is lower than those before it.
        """
        ids = (found for ns, found in self.checkpoints if ns == namespace)
        fits = (one for one in ids if not self.is_all or has_all_channels(self.needed((namespace, one))))
        return next(fits, None)

    def line(self, place: Place) -> Iterator[Record]:
        """Yield a checkpoint and its ancestors, the newest first, as far as they were read."""
        seen: set[str] = set()
        at: str | None = place[1]
        while at is not None and at not in seen and (place[0], at) in self.checkpoints:
            seen.add(at)
            record = self.checkpoints[place[0], at]
            yield record
            at = record.head["parent"]

    def needed(self, place: Place) -> list[Record]:
        """Return a checkpoint and the ancestors with its channels, as far as they were read."""
        line: list[Record] = []
        for record in self.line(place):
            line.append(record)
            if has_all_channels(line):
                break
        return line

    def is_whole(self, place: Place) -> bool:
        """Return whether all that a checkpoint needs was read: its channels, and all its writes.

        A branch that the thread has left may have writes of a checkpoint that the branches share.
        """
        if self.is_all:
            return True
        line = self.needed(place)
        return (
            has_all_channels(line)
            and not line[0].is_shared
            and all(record.is_whole for record in line + self.writes.get(place, []))
            and self._has_all_writes(place)
        )

    def _has_all_writes(self, place: Place) -> bool:
        """Return whether no write of a checkpoint can be older than what was read.

        A checkpoint names the writes that its saver has sent before it. Others, who know of it
        only later, have read its parent; or in a subgraph that of the outer checkpoint.
        """
        record = self.checkpoints.get(place)
        if record is None or not self._by_id.keys() >= set(record.head["early"]):
            return False
        parent = record.head["parent"]
        if parent is not None:
            return (place[0], parent) in self.checkpoints
        return self._has_parent_of_any(place[0], record.head["outer"])

    def began_after(self, namespace: str, outer: Mapping[str, str], *, is_on_its_way: bool) -> bool:
        """Return whether a subgraph can have nothing that is older than what was read.

        outer: the checkpoints that the subgraph runs in, by namespace. is_on_its_way: one of them
        is stored at this moment, so nobody else has known it. The namespace of a subgraph
        names the task of such a checkpoint, unless the subgraph goes on from run to run.
        """
        is_of_a_task = all(":" in part for part in namespace.split("|"))
        return is_of_a_task and (is_on_its_way or self._has_parent_of_any(namespace, outer))

    def _has_parent_of_any(self, namespace: str, outer: Mapping[str, str]) -> bool:
        """Return whether the checkpoint before one of these was read, in the branch of now."""
        parents = (list(self.line(each))[1:2] for each in outer.items() if each[0] != namespace)
        return any(not one.is_shared for parent in parents for one in parent)


def has_all_channels(line: Sequence[Record]) -> bool:
    """Return whether a checkpoint and some ancestors, the newest first, hold all its channels.

    `back` of a checkpoint says how many ancestors have channels that it does not have itself.
    """
    return bool(line) and (len(line) > line[0].head["back"] or line[-1].head["back"] == 0)


def folded(writes: Sequence[tuple[str, str, Sequence[tuple[str, Any]]]]) -> list[tuple[str, str, Any]]:
    """Return pending writes in their order. writes: task, path and values, the oldest first.

    A write of the same task and place does not replace an older one, but special ones do.
    """
    kept: dict[tuple[str, int], tuple[str, str, Any, str]] = {}
    for task, path, values in writes:
        for place, (channel, value) in enumerate(values):
            key = (task, WRITES_IDX_MAP.get(channel, place))
            if key[1] < 0 or key not in kept:
                kept[key] = (task, channel, value, path)
    ordered = sorted(kept, key=lambda key: writes_sort_key(kept[key][3], *key))
    return [kept[key][:3] for key in ordered]

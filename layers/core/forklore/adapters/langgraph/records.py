"""What a thread's entries hold: checkpoints and writes, as values. Nothing is sent here."""

import base64
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forklore.extras import needing

with needing("langgraph"):
    from langgraph.checkpoint.base import WRITES_IDX_MAP, writes_sort_key

CONTENT_TYPE = "application/vnd.forklore.langgraph+json"
PART_CHARACTERS = 2_000_000
KEYFRAME_STEPS = 16
"""Every so many steps a checkpoint is stored with all its channels, else with the changed ones."""


def entries_of(head: Mapping[str, Any], body: tuple[str, bytes]) -> list[dict[str, Any]]:
    """Return the entries of one record, for one append. The last one has the head."""
    kind, data = body
    text = base64.b85encode(zlib.compress(data)).decode()
    parts = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)] or [""]
    record = uuid.uuid4().hex
    contents: list[list[Any]] = [[{"part": record}, part] for part in parts[:-1]]
    contents.append([{**head, "record": record, "parts": len(parts) - 1, "type": kind}, parts[-1]])
    return [{"contentType": CONTENT_TYPE, "content": content} for content in contents]


@dataclass
class Record:
    """A checkpoint or the writes of a task, as stored."""

    head: Mapping[str, Any]
    text: str

    @property
    def body(self) -> tuple[str, bytes]:
        """What the serializer made, with its type."""
        return self.head["type"], zlib.decompress(base64.b85decode(self.text))

    @property
    def place(self) -> tuple[str, str]:
        """The namespace and id of the checkpoint that this is, or belongs to."""
        return self.head["ns"], self.head["id"]


@dataclass
class Thread:
    """The records that were read so far, from the newest to older ones."""

    checkpoints: dict[tuple[str, str], Record] = field(default_factory=dict)
    writes: dict[tuple[str, str], list[Record]] = field(default_factory=dict)
    _open: list[tuple[Record, list[str]]] = field(default_factory=list)

    def take(self, newest_first: Iterable[Any]) -> None:
        """Take a page of entries. An older entry of the same checkpoint does not replace it."""
        for entry in newest_first:
            if entry.content_type != CONTENT_TYPE:
                continue
            head, text = entry.content
            if "part" in head:
                for record, parts in self._open:
                    if record.head["record"] == head["part"]:
                        parts.insert(0, text)
                        if len(parts) == record.head["parts"] + 1:
                            record.text = "".join(parts)
                continue
            record = Record(head, text)
            if head["parts"]:
                self._open.append((record, [text]))
            if head["kind"] == "writes":
                self.writes.setdefault(record.place, []).insert(0, record)
            else:
                self.checkpoints.setdefault(record.place, record)

    def latest(self, namespace: str) -> str | None:
        """Return the highest id of a namespace that was read."""
        return max((found for ns, found in self.checkpoints if ns == namespace), default=None)

    def line(self, place: tuple[str, str]) -> Iterator[Record]:
        """Yield a checkpoint and its ancestors, the newest first, as far as they were read."""
        seen: set[str] = set()
        at: str | None = place[1]
        while at is not None and at not in seen and (place[0], at) in self.checkpoints:
            seen.add(at)
            record = self.checkpoints[place[0], at]
            yield record
            at = record.head["parent"]

    def is_whole(self, place: tuple[str, str]) -> bool:
        """Return whether all that a checkpoint needs was read.

        That is its line up to a keyframe, and its parent: no write is older than the parent.
        """
        line = list(self.line(place))
        if not line:
            return False
        parent = line[0].head["parent"]
        return (parent is None or len(line) > 1) and any(record.head["keyframe"] for record in line)


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

"""What is written for a program: the messages of a branch, and what no program can hold of them."""

import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of, said
from forklore.exporting.elsewhere import Turn

DATA_URL = re.compile(r"data:(?P<media_type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.+)", re.DOTALL)


@dataclass(slots=True)
class Talk:
    """A branch as a program is to have it.

    session: the id of forklore's conversation. folder: of the project, where the program starts.
    home: the program's own folder, whose settings a writer may look at.
    turns: the messages, the oldest first. left_out: gets what the program cannot hold, in words and
    how often.
    """

    session: str
    title: str | None
    folder: Path
    home: Path
    turns: Sequence[Turn]
    left_out: Counter[str] = field(default_factory=Counter)

    def since_summary(self) -> Sequence[Turn]:
        """Return what a model has: the last summary, what it kept from before, and what follows.

        For programs whose sessions cannot tell of a summary. The other messages are counted.
        """
        at = next((at for at, turn in reversed([*enumerate(self.turns)]) if turn.is_summary), None)
        if at is None:
            return self.turns
        summary = self.turns[at]
        before = [turn for turn in self.turns[:at] if turn.turn_id in summary.kept]
        self.left_out["messages that are summed up"] += at - len(before)
        return [summary, *before, *self.turns[at + 1 :]]


@dataclass(frozen=True, slots=True)
class Written:
    """A session as a program takes it.

    name: of its file, from the program's folder on, or from anywhere for one that is handed to a
    command. text: of the file. commands: what then starts the program, one after the other;
    `{file}` is the file, `{session}` the id that the command before has printed.
    """

    name: str
    text: str
    commands: Sequence[Sequence[str]]


def id_beside(entry_id: str, number: int) -> str:
    """Return the id of a further row of an entry. The first one has the entry's own id."""
    return str(uuid.uuid5(uuid.UUID(entry_id), str(number))) if number else entry_id


def lines(rows: Iterator[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(jsontext.write(row) + "\n" for row in rows)


def image_in(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the media type and the base64 of an image, in the shape of any provider; None for
    another part, and for an image that is not in it.

    >>> image_in({"type": "input_image", "image_url": "data:image/png;base64,AA=="})
    ('image/png', 'AA==')
    >>> image_in({"type": "text", "text": "A"})
    """
    source, url = part.get("source"), part.get("image_url") or part.get("url")
    url = url.get("url") if isinstance(url, Mapping) else url
    held = DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if held and held["media_type"].startswith("image/"):
        return held["media_type"], held["data"]
    inline = part.get("inlineData") if "inlineData" in part else source or part
    if not isinstance(inline, Mapping):
        return None
    named = (inline.get(name) for name in ("media_type", "mediaType", "mimeType", "mime_type"))
    media_type, data = next(filter(None, named), None), inline.get("data")
    if isinstance(media_type, str) and media_type.startswith("image/") and isinstance(data, str):
        return media_type, data
    return None


def thought_in(part: Part) -> str:
    """Return the words of a thought."""
    return str(part.get("thinking") or part.get("text") or "")


def result_in(part: Part) -> str:
    """Return what a tool has returned, as a text. Images are told by their words alone."""
    content = part.get("content", "")
    parts = content if isinstance(content, list) else [content]
    words = [one for one in parts if not (isinstance(one, Mapping) and image_in(one))]
    return said(words if isinstance(content, list) else content) if words else ""


def images_of(part: Part) -> list[tuple[str, str]]:
    """Return the images that a tool has returned."""
    content = part.get("content")
    found = (
        (image_in(one) for one in content if isinstance(one, Mapping)) if isinstance(content, list) else ()
    )
    return [image for image in found if image]


def words_of(turn: Turn) -> str:
    """Return the words of a message, and of its parts that no program knows."""
    known = ("thinking", "tool_use", "tool_result")
    parts = (part for part in turn.parts if part.get("type") not in known and not image_in(part))
    return "\n\n".join(line for line in map(line_of, parts) if line)


def images_in(turn: Turn) -> list[tuple[str, str]]:
    """Return the images that a message shows beside its words."""
    return [image for image in map(image_in, turn.parts) if image]


def milliseconds(stamp: str) -> int:
    """Return a time of RFC 3339 as milliseconds since 1970."""
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)

"""What is written for a program: the messages of a branch, and what no program can hold of them."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from forklore.client import jsontext
from forklore.client.parts import Part, line_of
from forklore.client.spoken import said
from forklore.exporting.bytes_within import Files, inline_of
from forklore.exporting.elsewhere import Turn


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
        begin = [*before, summary] if summary.is_kept_first else [summary, *before]
        return [*begin, *self.turns[at + 1 :]]

    def kept_from(self, summary: Turn, *roles: str) -> str | None:
        """Return the id of the first message that a summary keeps of those just before it.

        roles: of the messages that may be the first one. For programs that can tell no more than
        where that begins; what else a model has is counted.
        """
        kept, at = set(summary.kept), next(at for at, turn in enumerate(self.turns) if turn is summary)
        begin = at
        while begin and (self.turns[begin - 1].turn_id in kept or self.turns[begin - 1].role == "system"):
            begin -= 1  # what the system says between them is no message
        held = [turn for turn in self.turns[begin:at] if turn.turn_id in kept]
        while held and held[0].role not in roles:
            del held[0]
        if not any(turn.is_summary for turn in self.turns[at + 1 :]):
            self.left_out["messages that a summary has kept"] += len(kept) - len(held)
        return held[0].turn_id if held else None


class NoPlaceError(Exception):
    """The program has not made the database that a session is put into."""


@dataclass(frozen=True, slots=True)
class Written:
    """A session as a program takes it.

    name: of its file, from the program's folder on, or from anywhere for one that is handed to a
    command. text: of the file. commands: what then starts the program, one after the other;
    `{file}` is the file, `{session}` the id that the command before has printed. beside: the texts
    of further files, by their names from the file's folder on, which holds nothing else. put: puts
    the session into a database of this name, in place of a text; it gets the connection, in a
    transaction, and raises NoPlaceError where the program has not made its tables.
    """

    name: str
    text: str
    commands: Sequence[Sequence[str]]
    beside: Mapping[str, str] = field(default_factory=dict)
    put: Callable[[sqlite3.Connection], None] | None = None


def with_files(turns: Iterable[Turn], files: Files, left_out: Counter[str]) -> Iterator[Turn]:
    """Yield messages with the images that they name as parts of them. Other files are told by name.

    left_out: gets those that no program takes, or whose bytes are gone.
    """
    for turn in turns:
        parts = [*map(_as_taken, turn.parts)]
        left_out["files"] += sum(one is not held for one, held in zip(parts, turn.parts, strict=True))
        for file in turn.files:
            held = files.inlined(file) if file.content_type.startswith("image/") else None
            if held is None:
                left_out["files"] += 1
                parts.append({"type": "file", "name": file.name})
            else:
                source = {"type": "base64", "media_type": held.content_type, "data": held.data}
                parts.append({"type": "image", "source": source})
        left_out["files"] += len(turn.lost)
        yield replace(turn, parts=parts)


def _as_taken(part: Part) -> Part:
    """Return a part; for the bytes of a file that is no image, what names it."""
    found = inline_of(part)
    if found is None or found.content_type.startswith("image/"):
        return part
    return {"type": "file", "name": found.name or found.content_type}


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
    found = inline_of(part)
    is_image = found is not None and found.content_type.startswith("image/")
    return (found.content_type, found.data) if found is not None and is_image else None


def steps_of(turn: Turn) -> Iterator[Turn]:
    """Yield the steps of an entry: results of tools are one of their own.

    An answer may go on after its results. Of what a user sends the results come first: no model
    takes words between a call and its result.
    """
    parts = turn.parts
    if turn.role != "assistant":
        parts = sorted(parts, key=lambda part: not _is_result(part))
    for _, some in groupby(parts, _is_result):
        yield replace(turn, parts=[*some])


def _is_result(part: Part) -> bool:
    return part.get("type") == "tool_result"


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

"""Paths and the walk: which entries a conversation sees.

A path is what a fork sees of other conversations: a list of segments, oldest first. A segment is
one conversation's own entries up to a stop. A fork copies nothing but this list. Entries never
change and forks never move, so a path never changes. Every question about a view is answered by
walking its segments.

A stop is the first position that is not shown. "After an entry" means "before the next possible
id", so one kind of bound serves both sides of an anchor.
"""

import itertools
import uuid
from typing import NamedTuple

from forklore_service.domain.ids import FIRST, LAST, EntryId, is_entry_id, next_id
from forklore_service.errors import BrokenAncestryError, ForkTooDeepError

SEGMENTS_MAX = 1_000
SEGMENT_BYTES = 32


class Segment(NamedTuple):
    """The own entries of one conversation that come before `stop`."""

    conversation_id: str
    stop: EntryId


Path = tuple[Segment, ...]
"""What a fork shows of other conversations: segments with ascending stops. A path is stored."""


class View(NamedTuple):
    """What a conversation shows: the segments of its path, then its own entries.

    A view is never stored. It is made of a path, which is another type, so that neither can be
    taken for the other.
    """

    segments: Path = ()


NOTHING_SHOWN = View()


def view_of(conversation_id: str, path: Path) -> View:
    """Return all that a conversation shows: its path, then its own entries without end."""
    return View((*path, Segment(conversation_id, LAST)))


def inherited(path: Path) -> View:
    """Return what a fork shows of other conversations, without its own entries."""
    return View(path)


def bounds_of(view: View) -> dict[str, EntryId]:
    """Return the stop of each conversation that `view` shows something of."""
    return {segment.conversation_id: segment.stop for segment in view.segments}


def shows(view: View, *, conversation_id: str, entry_id: EntryId) -> bool:
    """Tell whether `view` shows the entry, which `conversation_id` owns."""
    stop = bounds_of(view).get(conversation_id)
    return stop is not None and entry_id < stop


def cut(view: View, *, conversation_id: str, stop: EntryId) -> Path:
    """Return what `view` shows before `stop`, a position in `conversation_id`.

    The segment that owns the position is cut, and the segments after it are left out. So a fork of
    a fork at an inherited entry is no special case, and stops never move later.
    Raises BrokenAncestryError if no segment is that conversation's: ask `shows` first.
    """
    for at, segment in enumerate(view.segments):
        if segment.conversation_id == conversation_id:
            return (*view.segments[:at], Segment(conversation_id, min(stop, segment.stop)))
    raise BrokenAncestryError(f"the view holds nothing of {conversation_id!r}")


def path_before(view: View, *, conversation_id: str, entry_id: EntryId, last: EntryId | None) -> Path:
    """Return the path of a fork that shows `view` up to the entry, without it.

    last: the last entry that the view shows before this one, of any channel; None: it shows none.
    If it is not the conversation's own, the fork shows nothing of that conversation. Then the path
    has no segment for it. So no segment of a path is empty, and editing a first message again and
    again does not deepen the path.
    """
    path = cut(view, conversation_id=conversation_id, stop=entry_id)
    before = path[:-1]
    return before if last is None or last < floor_of(before) else _bounded(path)


def path_after(view: View, *, conversation_id: str, entry_id: EntryId) -> Path:
    """Return the path of a fork that shows `view` up to the entry, with it."""
    return _bounded(cut(view, conversation_id=conversation_id, stop=next_id(entry_id)))


def path_at_head(view: View, *, last: EntryId, own_entries: int) -> Path:
    """Return the path of a fork that shows all that `view` shows now.

    last, own_entries: from the HEAD of the view's own conversation. A conversation without own
    entries adds no segment, so forking the head again and again does not deepen the path.
    """
    if own_entries == 0:
        return view.segments[:-1]
    return path_after(view, conversation_id=view.segments[-1].conversation_id, entry_id=last)


def floor_of(path: Path) -> EntryId:
    """Return the position that a fork's own entries come after: its largest stop."""
    return path[-1].stop if path else FIRST


def _bounded(path: Path) -> Path:
    if len(path) > SEGMENTS_MAX:
        raise ForkTooDeepError(f"a conversation sees at most {SEGMENTS_MAX} others along its path")
    return path


def pack(path: Path) -> bytes:
    """Return the path in 32 bytes a segment: conversation, stop."""
    return b"".join(uuid.UUID(part).bytes for s in path for part in (s.conversation_id, s.stop))


def unpack(packed: bytes) -> Path:
    """Return the path that `pack` packed. Raises BrokenAncestryError if the bytes are no path."""
    if len(packed) % SEGMENT_BYTES:
        raise BrokenAncestryError(f"a path of {len(packed)} bytes")
    parts = [str(uuid.UUID(bytes=packed[at : at + 16])) for at in range(0, len(packed), 16)]
    path = tuple(Segment(parts[i], EntryId(parts[i + 1])) for i in range(0, len(parts), 2))
    if not all(is_entry_id(segment.stop) for segment in path):
        raise BrokenAncestryError("a stop of a path is no position")
    if any(near.stop >= far.stop for near, far in itertools.pairwise(path)):
        raise BrokenAncestryError("the stops of a path do not ascend")
    if len(bounds_of(inherited(path))) < len(path):
        raise BrokenAncestryError("a path meets a conversation twice")
    return path

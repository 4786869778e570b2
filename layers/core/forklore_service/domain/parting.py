"""Where two views of one tree part.

Two conversations of a tree show the same entries up to one position, and from there on none in
common: a conversation's path is fixed, so whoever shows something of it shows the same before it.
"""

from forklore_service.domain.ancestry import Segment, View, floor_of
from forklore_service.domain.ids import EntryId


def shared(one: View, other: View) -> View:
    """Return what both views show. They are of one tree.

    >>> from forklore_service.domain.ids import LAST
    >>> trunk = View((Segment("root", LAST),))
    >>> fork = View((Segment("root", EntryId("e3")), Segment("fork", LAST)))
    >>> shared(trunk, fork)
    View(segments=(Segment(conversation_id='root', stop='e3'),))
    """
    segments: list[Segment] = []
    for mine, theirs in zip(one.segments, other.segments, strict=False):
        if mine.conversation_id != theirs.conversation_id:
            break
        segments.append(min(mine, theirs, key=lambda segment: segment.stop))
        if mine.stop != theirs.stop:
            break
    return View(tuple(segments))


def parting(one: View, other: View) -> EntryId:
    """Return the position from which on two views of one tree show nothing in common.

    FIRST if they share nothing. LAST for a view and itself.
    """
    return floor_of(shared(one, other).segments)

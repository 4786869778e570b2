"""Where two views of one fork tree part."""

from forklore.domain.ancestry import View
from forklore.domain.ids import FIRST, EntryId


def parting(one: View, other: View) -> EntryId:
    """Return the position where two views of one tree part.

    Both show the same entries before it, and from it on no entry is in both. LAST: they are the
    view of one conversation. FIRST: they show nothing in common.

    Two paths that name a conversation agree on all that comes before it, because each of them
    repeats that conversation's own path. So the views part at the first segments that differ.
    """
    at = FIRST
    for ours, theirs in zip(one.segments, other.segments, strict=False):
        if ours.conversation_id != theirs.conversation_id:
            break
        at = min(ours.stop, theirs.stop)
        if ours.stop != theirs.stop:
            break
    return at

"""The erasure of a user: what is known of it, and what an erased entry keeps."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Entry, StoredEntry
from forklore_service.domain.tree import IdempotencyRecord

PSEUDONYM_PREFIX = "erased-"
"""How the name begins that stands for an erased user. A random part follows."""
NO_CONTENT = "[]"
SEGMENTS = 4
"""The table is read in so many segments at the same time."""
BEGIN, END = Key("", ""), Key("\U0010ffff", "")
"""The place in a segment that is not begun, and in one that was read to its end."""


class Erasure(NamedTuple):
    """The erasure of a user, as its record says.

    user_id: None when it is done. pseudonym: stands for the user in entries that are kept.
    trees, memberships, entries: how many were deleted, ended, and erased. passes: how often the
    table was read, the present reading included.

    The rest is about a running one. changes: grows with each transaction of the erasure. The others
    are about the present pass.
    not_before: when it may begin. changes_before: `changes` when it began. waits: whether it found
    something that others have to end first. places: how far each segment was read. step: grows
    each time that these are stored, so that of two workers only one goes on.
    """

    erasure_id: str
    pseudonym: str
    created_at: str
    user_id: str | None = None
    finished_at: str | None = None
    trees: int = 0
    memberships: int = 0
    entries: int = 0
    passes: int = 1
    changes: int = 0
    not_before: str = ids.timestamp(0)
    changes_before: int = 0
    waits: bool = False
    places: Sequence[Key] = (BEGIN,) * SEGMENTS
    step: int = 0

    @property
    def is_done(self) -> bool:
        return self.finished_at is not None

    def next_pass(self, *, not_before: str) -> "Erasure":
        """Return the erasure at the beginning of one more pass."""
        return self._replace(
            not_before=not_before,
            passes=self.passes + 1,
            changes_before=self.changes,
            waits=False,
            places=(BEGIN,) * SEGMENTS,
        )


class Mention(NamedTuple):
    """An item that names a user, or an idempotency record, which may.

    entry, record: what the item is, if it is one of the two. words_of: whose words the title in a
    CONV, or the preview in a HEAD, is. answer: of a HEAD the tree and the id of the answer that is
    written, and of a part of its log; answer_by: who writes it.
    """

    key: Key
    entry: StoredEntry | None = None
    record: IdempotencyRecord | None = None
    words_of: str | None = None
    answer: tuple[str, str] | None = None
    answer_by: str | None = None


KEPT = (
    *("entry_id", "conversation_id", "channel", "content_type", "client_id", "agent_id", "epoch", "usage"),
    *("after", "turn", "merged_from", "copied_from"),
)
"""The fields of an entry that stay when its author is erased."""


def erased(entry: Entry, *, pseudonym: str) -> Entry:
    """Return an entry without what its author has said and without the author's id.

    Its position, channel, epoch, client, usage and the entries that it names stay. So every fork,
    cursor and epoch stays as it is. Its key goes, because callers choose keys.
    """
    kept = {name: getattr(entry, name) for name in KEPT}
    return Entry(**kept, user_id=pseudonym, content=NO_CONTENT, is_erased=True)


def names(body: str, user_id: str) -> bool:
    """Tell whether a value in a recorded answer is the user's id.

    >>> names('{"userId":"ann"}', "ann"), names('{"title":"to ann"}', "ann"), names("", "ann")
    (True, False, False)
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return False
    return user_id in _values(answer)


def _values(held: Any) -> list[Any]:
    match held:
        case Mapping():
            return [value for inner in held.values() for value in _values(inner)]
        case list():
            return [value for inner in held for value in _values(inner)]
        case _:
            return [held]

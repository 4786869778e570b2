"""What somebody has noted on an entry: it is no part of a history, and no context."""

from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId


class NoteRef(NamedTuple):
    """Where a note stands. conversation_id: whose own entry the entry is."""

    conversation_id: str
    entry_id: EntryId
    note_id: EntryId


class Note(NamedTuple):
    """A note on a history entry, as it is stored.

    user_id, client_id: who has written it. It has a text or a score, or both; or neither and it
    pins the entry.
    """

    ref: NoteRef
    user_id: str
    text: str | None = None
    score: int | float | None = None
    client_id: str | None = None
    pinned: bool = False

    @property
    def created_at(self) -> str:
        return ids.created_at(self.ref.note_id)

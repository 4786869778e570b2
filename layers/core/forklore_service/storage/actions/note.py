"""The actions about notes on entries (item NOTE)."""

from forklore_service.domain import keys
from forklore_service.domain.notes import Note, NoteRef
from forklore_service.storage import items
from forklore_service.storage.actions import action
from forklore_service.storage.actions.action import Action, ActionKind


def put(group_id: str, note: Note) -> Action:
    """Put a new note. Nobody else can have its id, which is random."""
    return action.put(ActionKind.NOTE, items.note_item(group_id, note))


def delete(group_id: str, ref: NoteRef) -> Action:
    """Delete a note, whether it is there or not."""
    return action.delete(ActionKind.NOTE, keys.note(group_id, ref))

"""Notes on entries."""

from forklore_service.api import answers, cursors, sharing_requests
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.usecases.people import notes


def add_note(request: CheckedRequest) -> answers.Note:
    """Write a note on a history entry that the conversation shows: a text, a score, or both.

    Or pin the entry; the answer of one that is pinned already is its pin. For writers. A note
    belongs to the entry, so every branch that shows the entry shows it. It is no part of a history,
    and no context; no search finds it, and no link shows it.
    """
    body: sharing_requests.AddNote = request.body
    note = notes.add_note(
        request.table,
        caller=request.caller,
        request=notes.NoteRequest(
            request.conversation_id,
            request.path["entryId"],
            body.text,
            body.score,
            request.idempotency_key(answers.note),
            pinned=body.pinned,
        ),
    )
    return answers.note(note)


def list_notes(request: CheckedRequest) -> answers.NotePage:
    """List the notes on what the conversation shows, in the order of its entries.

    For every member. With `entryId` those on this entry, oldest first. With `allForks` those on
    all that its fork tree shows, conversation by conversation.
    """
    query: sharing_requests.ListNotes = request.query
    resource = f"notes/{request.conversation_id}/{query.entry_id or ''}/{'*' * query.all_forks}"
    page = notes.list_notes(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        entry_id=query.entry_id,
        all_forks=query.all_forks,
        after=cursors.to_note(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.note(note) for note in page.rows],
        "afterCursor": cursors.of_note(resource, page.resume),
    }


def delete_note(request: CheckedRequest) -> None:
    """Delete a note.

    For who has written it, and for managers; a pin for every writer.
    """
    notes.delete_note(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        entry_id=request.path["entryId"],
        note_id=request.path["noteId"],
    )


_OF_ENTRY = "/v1/conversations/{conversationId}/entries/{entryId}/notes"

OPERATIONS = (
    Operation(
        "addNote",
        "POST",
        _OF_ENTRY,
        add_note,
        status=201,
        body=sharing_requests.AddNote,
        errors=(403, 404, 409),
    ),
    Operation(
        "listNotes",
        "GET",
        "/v1/conversations/{conversationId}/notes",
        list_notes,
        query=sharing_requests.ListNotes,
        errors=(403, 404),
    ),
    Operation("deleteNote", "DELETE", f"{_OF_ENTRY}/{{noteId}}", delete_note, status=204, errors=(403, 404)),
)

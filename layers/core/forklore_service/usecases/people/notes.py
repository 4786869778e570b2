"""Notes on entries: add one, list them, delete one.

A note is one item in the partition of its tree, beside the entries: no history, no context and no
search has it. Its key names the conversation that the entry was written in. So every branch that
shows the entry shows the note, a page reads nothing of other branches, and what is pruned of a
removed branch takes its notes along.
"""

from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Segment
from forklore_service.domain.ids import FIRST, LAST, EntryId, previous_id
from forklore_service.domain.model import Caller, Channel
from forklore_service.domain.notes import Note, NoteRef
from forklore_service.errors import (
    ConflictError,
    InvalidCursorError,
    NotFoundError,
    UnavailableError,
    brief,
)
from forklore_service.limits import NOTES_PER_ENTRY_MAX
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import LookUp, TreeExtras, look_up
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.visibility import Reachable

SEGMENTS_AT_ONCE = 8


class NoteRequest(NamedTuple):
    """A new note on an entry that a conversation shows. It has a text or a score, or both.

    pinned: it has neither, and pins the entry.
    """

    conversation_id: str
    entry_id: str
    text: str | None = None
    score: int | float | None = None
    idempotency_key: IdempotencyKey | None = None
    pinned: bool = False


def add_note(table: Table, *, caller: Caller, request: NoteRequest) -> Note:
    """Write a note on an entry, and return it; of an entry that is pinned already, its pin.

    Raises NotFoundError, also if the conversation shows no such history entry, ForbiddenError below
    writer, ConflictError if the entry has too many notes, IdempotentReplay for a replay.
    """
    once = Once(table, caller, request.idempotency_key)
    conversation_id, named = request.conversation_id, _position(request.entry_id)
    note_id: EntryId | None = None  # the same in each attempt: one may have been done unseen
    for _ in attempts(table, CHANGE):
        looked_up = look_up(
            table,
            conversation_id,
            caller=caller,
            extra_keys=once.keys,
            extras=TreeExtras(entries=(named,)),
            describes=False,
        )
        once.raise_if_answered(looked_up.found)
        group_id = looked_up.require(conversation_id, AccessLevel.WRITER).group.group_id
        owner = _owner_of(looked_up, conversation_id, request.entry_id)
        there = list(table.read.notes(group_id, owner, first=named, last=named, limit=NOTES_PER_ENTRY_MAX))
        pin = next((one for one in there if one.pinned), None) if request.pinned else None
        if pin is None and len(there) >= NOTES_PER_ENTRY_MAX:
            raise ConflictError(f"an entry has at most {NOTES_PER_ENTRY_MAX} notes", reason="too_many_notes")
        note_id = note_id or table.mint(there[-1].ref.note_id if there else FIRST)
        ref, said = NoteRef(owner, named, note_id), (request.text, request.score)
        note = pin or Note(ref, caller.user_id, *said, caller.client_id, request.pinned)
        writes = once.record(group_id, conversation_id, note)
        if pin is None:
            writes += [
                actions.note.put(group_id, note),
                actions.conversation.check_head(group_id, conversation_id),
                actions.member.check(group_id, caller.user_id, AccessLevel.WRITER),
            ]
        refused = table.try_commit(writes) if writes else None
        if refused is None:
            return note
        once.raise_if_recorded(refused)
    raise UnavailableError("the conversation keeps changing; try again")


def list_notes(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    entry_id: str | None,
    all_forks: bool,
    after: NoteRef | InvalidCursor | None,
    limit: int,
) -> PageOf[Note, NoteRef]:
    """Return a page of the notes on what the conversation shows, in the order of the entries.

    entry_id: only those on this entry. all_forks: those on all that the tree shows, in the order of
    the conversations that the entries were written in. Raises NotFoundError, also without such a
    history entry there, ForbiddenError if the caller is not a member, and then InvalidCursorError.
    """
    named = _position(entry_id)
    extras = TreeExtras(entries=(named,) if entry_id is not None else ())
    looked_up = look_up(table, conversation_id, caller=caller, extras=extras, describes=False)
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    group_id, found = loaded.group.group_id, list[Note]()
    first, segments = FIRST, loaded.view.segments
    if entry_id is not None:
        first = named
        owner = _owner_of(looked_up, conversation_id, entry_id, table if all_forks else None)
        segments = (Segment(owner, ids.next_id(named)),)
    place = cursors.valid(after)
    if all_forks and entry_id is None:
        reachable = Reachable(table, group_id)
        of_tree = table.read.all_notes(group_id, after=place, page=limit + 1)
        found += islice((one for one in of_tree if reachable.shows(one.ref)), limit + 1)
        reachable.finish()
        return _page(found, limit)
    if place is not None:
        numbers = {segment.conversation_id: at for at, segment in enumerate(segments)}
        at = numbers.get(place.conversation_id)
        if at is None or not first <= place.entry_id < segments[at].stop:
            raise InvalidCursorError
        segments = segments[at:]

    def read(segment: Segment) -> list[Note]:
        begins = place if place and place.conversation_id == segment.conversation_id else None
        last = previous_id(segment.stop)
        return list(
            table.read.notes(
                group_id, segment.conversation_id, first=first, last=last, after=begins, limit=limit + 1
            )
        )

    for start in range(0, len(segments), SEGMENTS_AT_ONCE):
        for notes in table.side_by_side(read, segments[start : start + SEGMENTS_AT_ONCE]):
            found += notes
        if len(found) > limit:
            break
    return _page(found, limit)


def _page(found: list[Note], limit: int) -> PageOf[Note, NoteRef]:
    """Return a page. found: what is on it, and perhaps what comes next."""
    return PageOf(found[:limit], found[limit - 1].ref if len(found) > limit else None)


def delete_note(table: Table, *, caller: Caller, conversation_id: str, entry_id: str, note_id: str) -> None:
    """Delete a note on an entry that the conversation shows.

    Raises NotFoundError, also if there is no such entry or note, and ForbiddenError unless the
    caller has written it or is a manager, or a writer who deletes a pin.
    """
    extras = TreeExtras(entries=(_position(entry_id),))
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extras=extras, describes=False)
        loaded = looked_up.require(conversation_id, AccessLevel.READER)
        group_id, owner = loaded.group.group_id, _owner_of(looked_up, conversation_id, entry_id)
        ref = NoteRef(owner, _position(entry_id), EntryId(note_id))
        note = table.get([keys.note(group_id, ref)]).note(group_id, ref) if ids.is_uuid(note_id) else None
        if note is None:
            raise NotFoundError(f"no note {brief(note_id)}")
        of_others = AccessLevel.WRITER if note.pinned else AccessLevel.MANAGER
        needed = AccessLevel.READER if note.user_id == caller.user_id else of_others
        looked_up.require(conversation_id, needed)
        writes = [actions.note.delete(group_id, ref)]
        if not caller.bypasses_membership:
            writes.append(actions.member.check(group_id, caller.user_id, needed))
        if table.try_commit(writes) is None:
            return
    raise UnavailableError("the conversation keeps changing; try again")


def _position(entry_id: str | None) -> EntryId:
    """Return the position of an entry; of what cannot be an entry's id, one that no entry has."""
    return EntryId(entry_id) if entry_id is not None and ids.is_entry_id(entry_id) else LAST


def _owner_of(looked_up: LookUp, conversation_id: str, entry_id: str, of_tree: Table | None = None) -> str:
    """Return whose own a history entry is. Raises NotFoundError if it is not shown.

    of_tree: where to read what its tree shows, if that counts, and not what the conversation does.
    """
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    stored = looked_up.found.entry(loaded.group.group_id, _position(entry_id))
    if stored is None or stored.entry.channel is not Channel.HISTORY:
        raise NotFoundError(f"no entry {brief(entry_id)}")
    owner = stored.entry.conversation_id
    if of_tree is not None:
        is_shown = Reachable(of_tree, loaded.group.group_id).shows(stored.entry)
    else:
        is_shown = ancestry.shows(loaded.view, conversation_id=owner, entry_id=stored.entry_id)
    if not is_shown:
        raise NotFoundError(f"no entry {brief(entry_id)}")
    return owner

"""The events that one change makes. Nothing here reads a clock or the table.

One item alone tells each thing that happens. All other changes tell nothing: those of other items,
every removal of an item, and what a worker does.

| item  | change                      | event                |
|-------|-----------------------------|----------------------|
| CONV  | put                         | ConversationCreated  |
| HEAD  | put with entries; `last`    | EntriesAppended      |
| HEAD  | `changedAt`                 | ConversationChanged  |
| HEAD  | `kept` is gone              | BranchRestored       |
| GROUP | the current branch          | BranchPromoted       |
| GROUP | `memberChange`              | MembershipChanged    |
| GROUP | `owner`                     | OwnershipTransferred |
| GROUP | the tombstone, if it is own | TreeDeleted          |
| GONE  | put                         | BranchDeleted        |
| NOTE  | put                         | NoteAdded            |

The id of an event is made of what the item says: of what never comes twice in it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from forklore_service.domain import ids, jsontext, keys
from forklore_service.domain.content import history_role
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import JsonText, to_json
from forklore_service.domain.model import Channel, Entry, EntryRef, Head
from forklore_service.domain.tree import Group, State
from forklore_service.events.changes import Change
from forklore_service.events.event import BYTES_MAX, Content, DetailType, Event, detail_of, event_id
from forklore_service.storage import items
from forklore_service.storage.connection import Item

ENTRIES_MAX = 100
"""An event names at most so many entries. An append has fewer; a copy may have more."""


class NewEntries(NamedTuple):
    """The own entries that one append has added to a conversation, or that it was made with.

    after: a position before them. last: the last of them. history, context: how many of each.
    """

    group_id: str
    conversation_id: str
    after: EntryId
    last: EntryId
    history: int
    context: int

    @property
    def entries(self) -> int:
        return self.history + self.context


class Look(Protocol):
    """Finds what an event names and the item of its change does not hold."""

    def head(self, group_id: str, conversation_id: str) -> Head | None:
        """Return the HEAD of a new conversation; None if the conversation is deleted already."""
        ...

    def entries(self, appended: NewEntries, *, limit: int) -> Sequence[Entry]:
        """Return the first `limit` of the entries in order, those of the history with content.

        Fewer only if the conversation is deleted already, or the entries are.
        """
        ...


def events_of(change: Change, look: Look, *, content: Content = Content.NONE) -> list[Event]:
    """Return the events that a change makes, mostly one or none.

    Raises LookupError, TypeError or ValueError if the items are not forklore's.
    """
    old, new = change.old, change.new
    if new is None or not ids.is_uuid(change.key.partition):
        return []
    if old is None and items.is_imported(new):
        return []  # it was said elsewhere, at another time
    match change.key.sort.partition("#")[0]:
        case "CONV" if old is None:
            return [_created(change, new, look)]
        case "HEAD" if items.KEPT not in {*new, *(old or ())}:
            return list(_of_head(change, old, new, look, content))
        case "HEAD" if old is not None and items.KEPT in old and items.KEPT not in new:
            return [_restored(change, old)]
        case "GROUP" if old is not None:
            return list(_of_group(change, items.group(old), items.group(new)))
        case "GONE" if old is None:
            return [_removed(change, new)]
        case "NOTE" if old is None:
            return [_noted(change, new, content)]
    return []


def _event(change: Change, detail_type: DetailType, *of: object, **fields: Any) -> Event:
    """Return an event. of: what tells it from the others of its type in this tree."""
    tree_id = change.key.partition
    id_ = event_id(detail_type, tree_id, *of)
    return Event(detail_type, id_, detail_of(id_, tree_id, fields), change.at)


def _created(change: Change, new: Item, look: Look) -> Event:
    """Tell of a root, a fork or a child. A tree in the making has no CONV, so it is not told."""
    made = items.conversation(new)
    fork, started = made.fork_point, made.started_by
    head = look.head(made.group_id, made.conversation_id)
    return _event(
        change,
        DetailType.CONVERSATION_CREATED,
        made.conversation_id,
        made.created_at,
        conversationId=made.conversation_id,
        kind="fork" if fork else "child" if started else "root",
        ownerUserId=head.owner if head else None,
        agentId=made.agent_id,
        clientId=made.client_id,
        createdAt=made.created_at,
        forkedAtConversationId=fork.conversation_id if fork else None,
        forkedAtEntryId=fork.entry_id if fork else None,
        forkedAtPosition=fork.position if fork else None,
        startedByConversationId=started.conversation_id if started else None,
        startedByEntryId=started.entry_id if started else None,
    )


def _of_head(change: Change, old: Item | None, new: Item, look: Look, content: Content) -> Iterable[Event]:
    """Tell of an append or of a PATCH. A new conversation may begin with entries."""
    group_id, conversation_id = change.key.partition, keys.in_head(change.key.sort)
    now, was = items.head(new), items.head(old) if old is not None else None
    appended = NewEntries(
        group_id,
        conversation_id,
        was.last if was else now.floor,
        now.last,
        now.history - (was.history if was else 0),
        now.context - (was.context if was else 0),
    )
    if appended.entries:
        yield _appended(
            change, appended, now, is_first=was is None or not was.own_entries, look=look, content=content
        )
    if was is not None and was.changed_at != now.changed_at:
        yield _event(
            change,
            DetailType.CONVERSATION_CHANGED,
            conversation_id,
            now.changed_at,
            conversationId=conversation_id,
            ownerUserId=now.owner,
            updatedAt=now.updated_at,
        )


def _appended(
    change: Change, appended: NewEntries, head: Head, *, is_first: bool, look: Look, content: Content
) -> Event:
    """Tell of an append with as many of its entries, and of their content, as an event holds."""
    what = (DetailType.ENTRIES_APPENDED, appended.conversation_id, appended.last)
    fields: dict[str, Any] = {
        "conversationId": appended.conversation_id,
        "ownerUserId": head.owner,
        "afterEntryId": None if is_first else appended.after,
        "lastEntryId": appended.last,
        "entryCount": appended.entries,
        "entries": list[dict[str, Any]](),
    }
    bare = _event(change, *what, **fields)
    entries = look.entries(appended, limit=ENTRIES_MAX)
    told = [_entry(entry) for entry in entries]
    room = BYTES_MAX - bare.size
    kept = 0
    for one in told:
        room -= _bytes(one) + len(',"contentOmitted":true')
        if room < 0:
            break
        kept += 1
    fields["entries"] = told[:kept]
    if content is Content.HISTORY:
        _add_content(told[:kept], entries, room=max(room, 0))
    return _event(change, *what, **fields)


def _add_content(told: Sequence[dict[str, Any]], entries: Sequence[Entry], *, room: int) -> None:
    """Give each entry of the history its content while there is room, the others a mark.

    room: bytes, beside those of the marks.
    """
    for fields, entry in zip(told, entries, strict=False):
        if entry.channel is not Channel.HISTORY or entry.is_erased:
            continue
        size = len(f',"content":{entry.content}'.encode())
        if entry.content and size <= room:
            room -= size
            fields["content"] = JsonText(entry.content, None)
        else:
            fields["contentOmitted"] = True


def _entry(entry: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "entryId": entry.entry_id,
        "channel": entry.channel,
        "role": _role(entry),
        "contentType": entry.content_type,
        "userId": entry.user_id,
        "clientId": entry.client_id,
        "agentId": entry.agent_id,
        "epoch": entry.epoch,
        **_ref(entry.merged_from, "mergedFromConversationId", "mergedUpToEntryId"),
        **_ref(entry.copied_from, "copiedFromConversationId", "copiedFromEntryId"),
        "createdAt": ids.created_at(entry.entry_id),
        "erased": entry.is_erased or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _ref(ref: EntryRef | None, conversation: str, entry: str) -> dict[str, str | None]:
    return {} if ref is None else {conversation: ref.conversation_id, entry: ref.entry_id}


def _role(entry: Entry) -> str | None:
    """Return the role of a message, in capitals; None if it has none."""
    if entry.channel is not Channel.HISTORY or not entry.content:
        return None
    return history_role(jsontext.read_value(entry.content))


def _bytes(fields: dict[str, Any]) -> int:
    """Return how many bytes one element of a list has, with its comma."""
    return len(to_json(fields).encode()) + 1


def _of_group(change: Change, was: Group, now: Group) -> Iterable[Event]:
    """Tell what has happened to a live tree, or that it is live again."""
    if was.state is State.RESTORING and now.is_live and not was.cascaded:
        yield _event(
            change,
            DetailType.TREE_RESTORED,
            now.restored_at,
            ownerUserId=now.owner,
            restoredAt=now.restored_at,
        )
    if not was.is_live:
        return
    if not now.is_live:
        at = now.trashed_at or now.deleted_at
        if not now.cascaded:
            yield _event(change, DetailType.TREE_DELETED, at, ownerUserId=now.owner, deletedAt=at)
        return
    if now.current != was.current:
        yield _event(
            change,
            DetailType.BRANCH_PROMOTED,
            now.created_at,
            now.version,
            now.promotions,
            now.current,
            conversationId=now.current,
            previousConversationId=was.current,
        )
    if now.owner != was.owner:
        yield _event(
            change,
            DetailType.OWNERSHIP_TRANSFERRED,
            now.nonce,
            fromUserId=was.owner,
            toUserId=now.owner,
        )
    last, before = now.member_change, was.member_change
    is_new = last is not None and (before is None or last.nonce != before.nonce)
    if last is not None and is_new and last.was != last.level:
        yield _event(
            change,
            DetailType.MEMBERSHIP_CHANGED,
            last.nonce,
            userId=last.user_id,
            accessLevel=last.level,
            previousAccessLevel=last.was,
        )


def _removed(change: Change, new: Item) -> Event:
    remnant = items.remnant(new)
    return _event(
        change,
        DetailType.BRANCH_DELETED,
        remnant.conversation_id,
        remnant.removed_at,
        conversationId=remnant.conversation_id,
        removedAt=remnant.removed_at,
    )


def _restored(change: Change, old: Item) -> Event:
    conversation_id = keys.in_head(change.key.sort)
    at = items.text_in(old, items.KEPT)
    return _event(
        change,
        DetailType.BRANCH_RESTORED,
        conversation_id,
        at,
        conversationId=conversation_id,
        removedAt=at,
    )


def _noted(change: Change, new: Item, content: Content) -> Event:
    note = items.note(new)
    return _event(
        change,
        DetailType.NOTE_ADDED,
        *note.ref,
        conversationId=note.ref.conversation_id,
        entryId=note.ref.entry_id,
        noteId=note.ref.note_id,
        userId=note.user_id,
        clientId=note.client_id,
        score=note.score,
        pinned=note.pinned or None,
        text=note.text if content is Content.HISTORY else None,
        createdAt=note.created_at,
    )

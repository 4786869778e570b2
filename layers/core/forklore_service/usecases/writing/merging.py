"""Merge: append copies of what another branch of the tree shows."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import access, ancestry, ids, jsontext
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import NOTHING_SHOWN, View
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import Caller, Channel, Entry, EntryRef, StoredEntry
from forklore_service.domain.paging import Window
from forklore_service.domain.parting import parting
from forklore_service.errors import PayloadTooLargeError, UnavailableError, ValidationError, brief
from forklore_service.limits import APPEND_ENTRIES_MAX, ELEMENTS_MAX, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.appended import Appended, appended_again, record_appended
from forklore_service.usecases.shared.copied_entries import Originals, copy_of, entry_ids, pages, shown_entry
from forklore_service.usecases.shared.drafts import Draft, require_match
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay, Once
from forklore_service.usecases.shared.loading import (
    LoadedConversation,
    LookUp,
    OtherConversation,
    TreeExtras,
    look_up,
)
from forklore_service.usecases.shared.optimistic import CHANGE, attempts
from forklore_service.usecases.shared.requests import Append, Original, OriginalMoved
from forklore_service.usecases.writing.append import append_turn


class Merge(NamedTuple):
    """What to copy to a conversation, and from where.

    after: the last entry of the other branch that is left out; None: the last one that both show.
    up_to: the last entry to copy; None: to the end of the other branch.
    again: whether to copy also what the conversation has already. with_context: whether the
    caller's context becomes that of the other branch.
    if_match: the last entry of the conversation that the caller knows of.
    """

    conversation_id: str
    from_id: str
    after: str | None = None
    up_to: str | None = None
    again: bool = False
    with_context: bool = False
    if_match: EntryId | None = None


def merge_branch(
    table: Table, *, caller: Caller, request: Merge, idempotency_key: IdempotencyKey | None = None
) -> Appended:
    """Append copies of the other branch's history, all or none, and perhaps its context.

    Nothing is copied if that branch shows nothing more.
    Raises NotFoundError, ForbiddenError below writer and for a caller whose context is asked for
    and who has none here, ValidationError if the other branch is no
    conversation of the same tree or does not show a named entry, ConflictError if `if_match` is not
    a last entry, PayloadTooLargeError for more than APPEND_ENTRIES_MAX entries or more than a
    transaction holds.
    """
    once = Once(table, caller, idempotency_key)
    try:
        for _ in attempts(table, CHANGE):
            with contextlib.suppress(OriginalMoved):
                return _merge(table, caller, request, once)
    except IdempotentReplay as before:
        return appended_again(table, before.record)
    except PayloadTooLargeError as error:
        raise PayloadTooLargeError(
            f"one merge copies at most {APPEND_ENTRIES_MAX} entries, and what one request can append;"
            " merge in parts, with upToEntryId and then afterEntryId"
        ) from error
    raise UnavailableError("one of the two branches is busy; try again")


def _merge(table: Table, caller: Caller, request: Merge, once: Once) -> Appended:
    """Read and append the copies. Raises OriginalMoved if a branch has changed meanwhile.

    Without `up_to`, the last entry of the other branch must be the one that was read. Otherwise two
    branches that are merged into one another at the same time would each miss what the other one
    gets. Without `again`, so must that of the conversation: two merges at the same time would copy
    the same.
    """
    into, copies, context, last = _read(table, caller, request, once)
    if not copies and context is None:
        _record_nothing(table, into, once)
        return Appended([])
    return append_turn(
        table,
        caller=caller,
        request=Append(
            request.conversation_id,
            copies,
            context=context,
            copied_out_of=Original(
                request.from_id,
                last=None if request.up_to else last,
                onto=None if request.again else into.head.last,
            ),
            if_match=request.if_match,
            idempotency_key=once.key,
        ),
    )


def _read(
    table: Table, caller: Caller, request: Merge, once: Once
) -> tuple[LoadedConversation, Sequence[Draft], Draft | None, EntryId]:
    """Return the conversation, the copies and the context that it gets, and the last entry of the
    other branch.
    """
    other_id = request.from_id if ids.is_uuid(request.from_id) else None
    looked_up = look_up(
        table,
        request.conversation_id,
        caller=caller,
        extra_keys=once.keys,
        extras=TreeExtras(entries=entry_ids(request.after, request.up_to), other=other_id),
    )
    once.raise_if_answered(looked_up.found)
    into = looked_up.require(request.conversation_id, AccessLevel.WRITER)
    if request.with_context:
        access.require_context(caller, bound_to=into.conversation.client_id)
    other = looked_up.other(request.from_id)
    if other is None:
        raise ValidationError(
            f"this fork tree has no conversation {brief(request.from_id)}", field="fromConversationId"
        )
    originals = _originals(caller, request, looked_up, into, other)
    require_match(request.if_match, into.head.lasts)
    group_id = into.group.group_id
    had = NOTHING_HAD if request.again else _had(table, into, other, request.from_id)
    found: list[StoredEntry] = []
    limit = min(APPEND_ENTRIES_MAX + 1 + len(had.copied), PAGE_ENTRIES_MAX)
    for page in pages(table, group_id, originals, limit=limit):
        found += [stored for stored in page if not had.has(stored.entry)]
        if len(found) > APPEND_ENTRIES_MAX or sum(stored.escaped_bytes for stored in found) > PAGE_BYTES_MAX:
            raise PayloadTooLargeError("too much for one merge")
    copies = [copy_of(entry) for entry in table.with_bodies(group_id, found, linked=False)]
    context = _context(table, caller, group_id, originals) if request.with_context else None
    return into, copies, context, other.head.last


def _originals(
    caller: Caller, request: Merge, looked_up: LookUp, into: LoadedConversation, other: OtherConversation
) -> Originals:
    found, group_id = looked_up.found, into.group.group_id
    originals = Originals.of(other.view, other.head)
    if request.after is None:
        originals = originals.since(parting(into.view, other.view))
    else:
        after = shown_entry(found, caller, group_id, other.view, request.after, field="afterEntryId")
        originals = originals.after(after)
    if request.up_to is not None:
        up_to = shown_entry(found, caller, group_id, other.view, request.up_to, field="upToEntryId")
        originals = originals.up_to(up_to)
    return originals


class Had(NamedTuple):
    """What a conversation has of other branches.

    view: what it shows. copied: of what entries it shows copies. summed_up: the last entry of the
    other branch up to which it has a summary.
    """

    view: View
    copied: frozenset[EntryId] = frozenset()
    summed_up: EntryId = FIRST

    def has(self, entry: Entry) -> bool:
        """Tell whether it has an entry of the other branch, or the one that this is a copy of."""
        own = EntryRef(entry.conversation_id, entry.entry_id)
        return entry.entry_id <= self.summed_up or self._has(own) or self._has(entry.copied_from)

    def _has(self, of: EntryRef | None) -> bool:
        if of is None or of.entry_id is None:
            return False
        is_shown = ancestry.shows(self.view, conversation_id=of.conversation_id, entry_id=of.entry_id)
        return is_shown or of.entry_id in self.copied


NOTHING_HAD = Had(NOTHING_SHOWN)


def _had(table: Table, into: LoadedConversation, other: OtherConversation, other_id: str) -> Had:
    """Return what the conversation has of the other branch and of others.

    A copy comes after its original, so what both show is not read.
    """
    copied: set[EntryId | None] = set()
    summed_up, start = FIRST, parting(into.view, other.view)
    if (into.head.last_history or FIRST) < start:
        return Had(into.view)
    shown = Originals.of(into.view, into.head).since(start)
    for page in pages(table, into.group.group_id, shown, limit=PAGE_ENTRIES_MAX):
        for stored in page:
            of, sums = stored.entry.copied_from, stored.entry.merged_from
            copied.add(of and of.entry_id)
            if sums is not None and sums.conversation_id == other_id:
                summed_up = max(summed_up, sums.entry_id or FIRST)
    return Had(into.view, frozenset(filter(None, copied)), summed_up)


def _context(table: Table, caller: Caller, group_id: str, of: Originals) -> Draft | None:
    """Return the caller's context as the other branch shows it at the end of `of`; None: there is
    none.

    Raises PayloadTooLargeError for more elements than one entry holds.
    """
    assert caller.client_id is not None, "it has a context"
    stored = view_pages.latest_context(
        table, group_id, of.view, caller.client_id, Window(stop=of.window.stop), [of.lasts.context]
    )
    if not stored:
        return None
    entries = table.with_bodies(group_id, stored)
    value = [element for entry in entries for element in jsontext.read_value(entry.content)]
    if len(value) > ELEMENTS_MAX:
        raise PayloadTooLargeError("the context is too large for one entry")
    inner = [text for entry in entries if (text := entry.content.strip()[1:-1].strip())]
    content = JsonText(f"[{','.join(inner)}]", value)
    last = entries[-1]
    return Draft.of(Channel.CONTEXT, last.content_type, content, agent_id=last.agent_id)


def _record_nothing(table: Table, into: LoadedConversation, once: Once) -> None:
    """Record under the key that there was nothing to copy, so that it is answered again."""
    where = {"group_id": into.group.group_id, "conversation_id": into.conversation.conversation_id}
    record = record_appended(once, Appended([]), **where)
    refused = table.try_commit(record) if record else None
    if refused is not None:
        once.raise_if_recorded(refused)
        raise UnavailableError("the same key is in use right now; try again")

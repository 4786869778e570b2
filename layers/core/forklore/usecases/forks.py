"""Make a fork, and list those of a tree. A fork copies nothing but the path."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from forklore.domain import ancestry, content, ids, keys
from forklore.domain.access import AccessLevel
from forklore.domain.ancestry import Path
from forklore.domain.ids import EntryId
from forklore.domain.keys import ListKey
from forklore.domain.model import (
    NOTHING,
    Caller,
    Channel,
    Conversation,
    Entry,
    ForkPoint,
    ForkPosition,
    Head,
    LastEntries,
    Metrics,
    StoredEntry,
)
from forklore.domain.paging import RangeAnswer, RangeRead, Window
from forklore.errors import ConflictError, InvalidCursorError, NotFoundError, ValidationError, brief
from forklore.storage import parts
from forklore.storage.cache import CachedConversation
from forklore.storage.table import Table
from forklore.usecases import cursors, views
from forklore.usecases.creating import Creation, Obstacle, PreparedCreation
from forklore.usecases.cursors import InvalidCursor
from forklore.usecases.drafts import (
    Draft,
    batch_parts,
    context_parts,
    epoch_after,
    first_epoch,
    has_context,
    head_over,
    mint_batch,
    require_match,
)
from forklore.usecases.idempotency import (
    IdempotencyKey,
    keys_of,
    raise_if_answered,
    record_answer,
    record_entries,
)
from forklore.usecases.loading import (
    ConversationDetails,
    LoadedConversation,
    TreeExtras,
    load_conversation,
    look_up,
)


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What to fork and how.

    anchor: the entry that the fork is before or after. None with BLANK. None with AFTER: the fork
    shows all that the source shows now.
    fork_id None: an id is made. agent_id None: the source's. drafts: the fork's first entries.
    title None: that of the first own text, or the source's if there are no drafts.
    if_match: the last history entry that the caller expects to inherit.
    """

    source_id: str
    fork_id: str | None
    anchor: EntryId | None
    position: ForkPosition
    title: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: str = "{}"
    agent_id: str | None = None
    reset_metrics: bool = True
    drafts: Sequence[Draft] = ()
    if_match: EntryId | None = None


def fork_conversation(
    table: Table, *, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None = None
) -> ConversationDetails:
    """Make a fork without entries.

    Raises NotFoundError if the source or the anchor does not exist, ForbiddenError below writer,
    ValidationError if the anchor is no history entry that the source shows, ConflictError if the id
    is in use, ForkTooDeepError if the path would be too long, IdempotentReplay for a replay.
    """
    made = _fork(table, caller, request, idempotency_key)
    if made is None:
        raise ConflictError(f"the id {brief(request.fork_id)} is in use")
    return made.details


def fork_with_entries(
    table: Table, *, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None = None
) -> list[Entry] | None:
    """Make a fork by appending its first entries; None if a conversation of that id exists already.

    Raises as `fork_conversation`, and ConflictError if `if_match` is not the last history entry
    inherited.
    """
    made = _fork(table, caller, request, idempotency_key)
    return None if made is None else made.entries


@dataclass(frozen=True, slots=True)
class _Fork:
    """A fork that was made, and its first entries."""

    details: ConversationDetails
    entries: list[Entry]


def _fork(
    table: Table, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None
) -> _Fork | None:
    """Make a fork; None if its id is in use."""
    creation = Creation[_Fork](table, caller, idempotency_key)
    for nonce in creation.attempts():
        creation.write(_prepare(table, caller, request, idempotency_key, nonce))
    return creation.answer


@dataclass(frozen=True, slots=True)
class _Source:
    """The source as it was read. anchor: the entry that the request names.

    history_before: the source's own history entry before the anchor, if it was found.
    """

    loaded: LoadedConversation
    anchor: StoredEntry | None
    history_before: StoredEntry | None


@dataclass(frozen=True, slots=True)
class _Inheritance:
    """What the fork shows of other conversations, and where it was made."""

    path: Path
    point: ForkPoint


def _prepare(
    table: Table, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None, nonce: str
) -> PreparedCreation[_Fork] | Obstacle:
    source = _read_source(table, caller, request, idempotency_key)
    if source is None:
        return Obstacle.ID_IN_USE
    loaded, group_id = source.loaded, source.loaded.group.group_id
    table.refuse_if_full(group_id)
    inherited = _inherit(source, request)
    path = inherited.path
    fork_id = request.fork_id or table.mint_conversation()
    epoch = first_epoch(table, caller, request.drafts, group_id=group_id, path=path)
    floor = ancestry.floor_of(path)
    lasts = _lasts(source, inherited.point)
    require_match(request.if_match, lasts.history)
    preview = _preview(table, source, request, inherited, lasts)
    created_at = _not_before(loaded.conversation.created_at, ids.timestamp(table.now_ms()))
    head = Head(
        owner=loaded.group.owner,
        changed_at=created_at,
        floor=floor,
        last=floor,
        lasts=lasts,
        metrics=Metrics() if request.reset_metrics else loaded.head.metrics,
        preview=preview,
    )
    batch = mint_batch(
        table, request.drafts, conversation_id=fork_id, caller=caller, after=head.tip, epoch=epoch
    )
    default = batch.title if request.drafts else loaded.conversation.title
    title = default if request.title is None else request.title
    head = head_over(replace(head, untitled=title is None), batch)
    fork = Conversation(
        conversation_id=fork_id,
        group_id=group_id,
        created_at=created_at,
        title=title,
        tags=request.tags,
        metadata=request.metadata,
        agent_id=request.agent_id or loaded.conversation.agent_id,
        client_id=caller.client_id,
        fork_point=inherited.point,
    )
    details = replace(loaded.details, conversation=fork, head=head)
    record = (
        record_entries(
            table, idempotency_key, group_id=group_id, conversation_id=fork_id, entries=batch.entries
        )
        if request.drafts
        else record_answer(table, idempotency_key, group_id=group_id, conversation_id=fork_id, answer=details)
    )
    is_owner = caller.user_id == head.owner
    member = [] if is_owner else [parts.member.check(group_id, caller.user_id, AccessLevel.WRITER)]
    writes = [
        *record,
        *parts.group.put_fork(loaded.group, fork, head, path, nonce=nonce, now_s=table.now_s()),
        *member,
        *batch_parts(batch, group_id=group_id, nonce=nonce),
        *context_parts(batch, group_id=group_id, conversation_id=fork_id, caller=caller, epoch=epoch),
    ]
    client, is_known = caller.client_id, has_context(request.drafts) or lasts.context is None
    epochs = ((client, epoch_after(batch, epoch)),) if client and is_known else ()
    cached = CachedConversation.of(fork, head, epochs)
    return PreparedCreation(writes, _Fork(details, batch.entries), fork_id, cached)


def _read_source(
    table: Table, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None
) -> _Source | None:
    """Return the source and the anchor; None when the fork's id is in use."""
    anchor = request.anchor
    is_id = anchor is not None and ids.is_entry_id(anchor)
    before = _start_history_before(table, request) if anchor and is_id else None
    fork = keys.pointer(request.fork_id) if request.fork_id else None
    looked_up = look_up(
        table,
        request.source_id,
        caller=caller,
        extra_keys=[*([fork] if fork else []), *keys_of(idempotency_key)],
        extras=TreeExtras(entries=(anchor,) if anchor and is_id else ()),
    )
    history_before = before.result().entries if before else ()
    raise_if_answered(table, idempotency_key, looked_up.found, caller=caller)
    fork_id = request.fork_id
    is_taken = fork_id is not None and looked_up.found.pointer(fork_id, now_s=table.now_s()) is not None
    if is_taken and request.drafts:
        return None
    loaded = looked_up.require(request.source_id, AccessLevel.WRITER)
    if is_taken:
        return None
    if anchor is None:
        return _Source(loaded, None, None)
    stored = looked_up.found.entry(loaded.group.group_id, anchor) if is_id else None
    if stored is None:
        raise NotFoundError(f"no entry {brief(anchor)}")
    return _Source(loaded, stored, history_before[0] if history_before else None)


def _has_text(request: ForkRequest) -> bool:
    return any(draft.text for draft in request.drafts)


def _start_history_before(table: Table, request: ForkRequest) -> Future[RangeAnswer] | None:
    """Start to read the source's own history entry before the anchor; None if nobody needs it.

    It is read beside the source, which saves a round. The tree is cached, or guessed to be the
    source's own. What is found counts only if the anchor names it.
    """
    assert request.anchor is not None
    window = Window(stop=request.anchor)
    if request.position is not ForkPosition.BEFORE or _has_text(request) or window.is_empty:
        return None
    cached = table.cache.get(request.source_id)
    group_id = cached.group_id if cached else request.source_id
    read = RangeRead(window, 1, request.source_id, Channel.HISTORY)
    return table.start_range(group_id, read, backward=True)


def _inherit(source: _Source, request: ForkRequest) -> _Inheritance:
    """Decide what the fork shows.

    Raises ValidationError if the anchor is no history entry that the source shows.
    """
    view, anchor, position = source.loaded.view, source.anchor, request.position
    field_name = "forkedAtEntryId" if request.drafts else "atEntryId"
    if anchor is not None:
        owner, entry_id = anchor.entry.conversation_id, anchor.entry_id
        if not ancestry.shows(view, conversation_id=owner, entry_id=entry_id):
            raise ValidationError("the source does not show the entry to fork at", field=field_name)
        if anchor.entry.channel is not Channel.HISTORY:
            raise ValidationError("a fork is made at a history entry", field=field_name)
        if position is ForkPosition.AFTER:
            path = ancestry.path_after(view, conversation_id=owner, entry_id=anchor.entry.ends)
        else:
            last = anchor.entry.lasts_before.last
            begins = anchor.entry.begins
            path = ancestry.path_before(view, conversation_id=owner, entry_id=begins, last=last)
        return _Inheritance(path, ForkPoint(request.source_id, entry_id, position))
    head = source.loaded.head
    path = ()
    if position is ForkPosition.AFTER and head.lasts != NOTHING:
        path = ancestry.path_at_head(view, last=head.last, own_entries=head.own_entries)
    if not path:
        return _Inheritance((), ForkPoint(request.source_id, None, ForkPosition.BLANK))
    return _Inheritance(path, ForkPoint(request.source_id, head.last_history, position))


def _lasts(source: _Source, point: ForkPoint) -> LastEntries:
    """Return what the fork shows last. The anchor says it, or else the source's HEAD."""
    if point.position is ForkPosition.BLANK:
        return NOTHING
    if source.anchor is None:
        return source.loaded.head.lasts
    anchor = source.anchor.entry
    if point.position is ForkPosition.BEFORE:
        return anchor.lasts_before
    return anchor.lasts_after


def _preview(
    table: Table, source: _Source, request: ForkRequest, inherited: _Inheritance, lasts: LastEntries
) -> str | None:
    """Return the preview of the last text that the fork inherits; None if it has own text."""
    if lasts.history is None or _has_text(request):
        return None
    head = source.loaded.head
    if source.anchor is None and head.preview is not None:
        return head.preview
    known = [s for s in (source.anchor, source.history_before) if s and s.entry_id == lasts.history]
    group_id = source.loaded.group.group_id
    if not known:  # the anchor names the entry, so it needs no search
        stored = table.get([keys.entry(group_id, lasts.history)]).entry(group_id, lasts.history)
        known = [stored] if stored else []
    view = ancestry.inherited(inherited.path)
    text = views.last_text(table, group_id, view, nearest=known[0] if known else None)
    return text[: content.PREVIEW_CHARACTERS] if text else None


def _not_before(source_created_at: str, now: str) -> str:
    """Return the fork's `createdAt`. It is later than the source's, whatever the clocks say."""
    return max(now, ids.timestamp(ids.milliseconds(source_created_at) + 1))


@dataclass(frozen=True, slots=True)
class ForkPage:
    """Conversations of a tree, oldest first. resume: to continue after; None at the end."""

    conversations: list[Conversation]
    resume: ListKey | None


def list_forks(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    after: ListKey | str | InvalidCursor | None,
    limit: int,
) -> ForkPage:
    """Return a page of all conversations of the tree that `conversation_id` is in.

    after: the `resume` of the page before, or the id of a conversation of the tree.
    Raises NotFoundError, ForbiddenError if the caller is not a member, and then InvalidCursorError
    for an invalid `after` or the id of another conversation.
    """
    loaded = load_conversation(table, conversation_id, caller=caller)
    group_id = loaded.group.group_id
    place = cursors.valid(after)
    if isinstance(place, str):
        place = _place_of(table, group_id, place)
    places = list(table.read.conversations(group_id, after=place, limit=limit + 1))
    page = table.conversations(group_id, [place.conversation_id for place in places[:limit]])
    return ForkPage(page, places[limit - 1] if len(places) > limit else None)


def _place_of(table: Table, group_id: str, conversation_id: str) -> ListKey:
    """Return the place of a conversation in the tree's list.

    Raises InvalidCursorError if it has none.
    """
    found = table.get([keys.conversation(group_id, conversation_id)])
    conversation = found.conversation(group_id, conversation_id)
    if conversation is None:
        raise InvalidCursorError
    return ListKey(conversation.created_at, conversation_id)

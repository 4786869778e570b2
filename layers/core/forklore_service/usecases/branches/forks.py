"""Make a fork. A fork copies nothing but the path."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from forklore_service.domain import access, ancestry, content, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import (
    NO_DESCRIPTION,
    NOTHING,
    Caller,
    Channel,
    Conversation,
    Description,
    Entry,
    ForkPoint,
    ForkPosition,
    Head,
    LastEntries,
    Metrics,
    StoredEntry,
    Words,
)
from forklore_service.domain.names import Name, NameMove
from forklore_service.domain.paging import RangeAnswer, RangeRead, Window
from forklore_service.errors import ConflictError, ForkLimitError, NotFoundError, ValidationError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.actions.group import CONVERSATIONS_MAX
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.creation import Creation, Obstacle, PreparedCreation, name_actions
from forklore_service.usecases.reading.entry_lookup import find_entry
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.answer_logs import AnswerRef, Finish
from forklore_service.usecases.shared.appended import Appended, record_appended
from forklore_service.usecases.shared.attachments import with_attachments
from forklore_service.usecases.shared.drafts import (
    Draft,
    batch_actions,
    context_actions,
    first_epoch,
    has_context,
    head_over,
    mint_batch,
    require_match,
    require_own_context,
)
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import (
    ConversationDetails,
    LoadedConversation,
    TreeExtras,
    look_up,
)
from forklore_service.usecases.shared.optimistic import CREATION, CREATION_AT_HEAD
from forklore_service.usecases.shared.references import check_named
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.shared.syncing import Decision, decide_on_inherited
from forklore_service.usecases.shared.use import note_use_of


class ForkRequest(NamedTuple):
    """What to fork and how.

    fork_id None: an id is made. described: without a title it gets that of the first own text, or
    the source's if there are no drafts. name: the name that points to it from then on.
    promotes: whether it becomes the tree's current branch. agent_id None: the source's.
    drafts: the fork's first entries. context: the agent's present context, which follows them.
    if_match: the last entry of the source that the caller knows of.
    finishes: the answer of the tree that becomes the drafts.
    times: how many equal forks to make; more than one have generated ids and no entries.
    """

    fork: Fork
    fork_id: str | None = None
    described: Description = NO_DESCRIPTION
    name: NameMove | None = None
    promotes: bool = False
    agent_id: str | None = None
    reset_metrics: bool = True
    drafts: Sequence[Draft] = ()
    context: Draft | None = None
    if_match: EntryId | None = None
    finishes: str | None = None
    times: int = 1

    @property
    def holds_source(self) -> bool:
        """Whether the source must still end where it did when the fork is made.

        With an `if_match` the caller says so. If a fork at the head takes a name, an append by that
        name is inherited by the fork, or goes to the fork.
        """
        return self.if_match is not None or (self.name is not None and self.fork.is_at_head)


def fork_conversation(
    table: Table, *, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None = None
) -> list[ConversationDetails]:
    """Make `count` forks without entries, all or none.

    Raises NotFoundError if the source or the anchor does not exist, ForbiddenError below writer,
    ValidationError if the anchor is no entry that the source shows to the caller, ConflictError if
    the id is not free or `if_match` is not a last entry of the source, ForkTooDeepError if the path
    would be too long, ForkLimitError if the tree has no room, IdempotentReplay for a replay.
    """
    creation = _fork(table, caller, request, idempotency_key)
    if creation.answer is None:
        raise creation.id_conflict(request.fork_id)
    return creation.answer.made


def fork_with_entries(table: Table, *, caller: Caller, request: Append, fork: Fork) -> Appended | None:
    """Make a fork by appending its first entries; None if a conversation of that id exists already.

    Raises as `fork_conversation`, and ConflictError if `if_match` is neither the last entry of the
    source nor the last one of its history.
    """
    what = ForkRequest(
        fork=fork,
        fork_id=request.conversation_id,
        described=request.described,
        name=request.name,
        promotes=request.promotes,
        agent_id=request.drafts[0].entry.agent_id,
        drafts=request.drafts,
        context=request.context,
        if_match=request.if_match,
        finishes=request.finishes,
    )
    made = _fork(table, caller, what, request.idempotency_key).answer
    return None if made is None else made.appended


class _Forked(NamedTuple):
    """The forks that were made, what was appended to a single one, and the source."""

    made: list[ConversationDetails]
    appended: Appended
    source: LoadedConversation


def _fork(
    table: Table, caller: Caller, request: ForkRequest, idempotency_key: IdempotencyKey | None
) -> Creation[_Forked]:
    """Make the forks. There is no answer if the id is not free."""
    policy = CREATION_AT_HEAD if request.holds_source else CREATION
    creation = Creation[_Forked](table, caller, idempotency_key, name=request.name, policy=policy)
    for nonce in creation.attempts():
        try:
            prepared = _prepare(table, caller, request, creation.once, nonce)
        except ConflictError:
            # It may be this very request, sent before, whose writes were read after its record.
            creation.once.raise_if_answered(table.get(creation.once.keys))
            raise
        creation.write(prepared)
    if creation.answer is not None:
        source, fork = creation.answer.source, creation.answer.made[0]
        note_use_of(table, source, at=fork.last_used_at)
    return creation


class _Source(NamedTuple):
    """The source as it was read. anchor: the entry that the request names.

    taken: why the fork's id is not free. name: the name that moves to the fork, as it was read.
    history_before: the source's own history entry before the anchor, if it was found.
    """

    loaded: LoadedConversation
    anchor: StoredEntry | None
    taken: Obstacle | None
    name: Name | None
    history_before: StoredEntry | None = None


class _Inheritance(NamedTuple):
    """What the fork shows of other conversations, and where it was made.

    lasts: what it shows last of them.
    """

    path: Path
    point: ForkPoint
    lasts: LastEntries


class _Own(NamedTuple):
    """What the fork appends. epoch: the client's latest one that it inherits.

    decision: what its present context adds to the drafts, which end with that.
    """

    drafts: list[Draft]
    epoch: Epoch
    decision: Decision | None = None


def _prepare(
    table: Table, caller: Caller, request: ForkRequest, once: Once, nonce: str
) -> PreparedCreation[_Forked] | Obstacle:
    source = _read_source(table, caller, request, once)
    if isinstance(source, Obstacle):
        return source
    loaded, group_id = source.loaded, source.loaded.group.group_id
    inherited = _inherit(source, request, caller)
    if source.taken is not None:
        return source.taken
    fork_id, *equal_ids = _fork_ids(table, request)
    _require_allowed(table, caller, request, loaded, fork_id)
    own = _own_entries(table, caller, request, group_id, inherited)
    if own is None:
        return Obstacle.CHANGED
    drafts, path, lasts = own.drafts, inherited.path, inherited.lasts
    floor = ancestry.floor_of(path)
    preview = _preview(table, source, request, inherited)
    # A fork is later than its source, whatever the clocks say.
    earliest = ids.timestamp(ids.milliseconds(loaded.conversation.created_at) + 1)
    created_at = max(table.now(), earliest)
    head = Head(
        owner=loaded.group.owner,
        changed_at=created_at,
        floor=floor,
        last=floor,
        lasts=lasts,
        metrics=Metrics() if request.reset_metrics else loaded.head.metrics,
        preview=preview,
        promoted_at=created_at if request.promotes else None,
    )
    batch = mint_batch(table, drafts, conversation_id=fork_id, caller=caller, after=head.tip, epoch=own.epoch)
    appended = Appended.of(batch, own.decision)
    fork = Conversation(
        conversation_id=fork_id,
        group_id=group_id,
        created_at=created_at,
        described=request.described,
        agent_id=request.agent_id or loaded.conversation.agent_id,
        client_id=caller.client_id,
        fork_point=inherited.point,
    ).titled(batch.title if drafts else loaded.conversation.title)
    head = head_over(head._replace(untitled=fork.described.title is None), batch)
    forks = [fork, *(fork._replace(conversation_id=equal_id) for equal_id in equal_ids)]
    details = loaded.details(now_s=table.now_s())._replace(
        head=head, is_current=request.promotes, answering=None
    )
    made = [details._replace(conversation=one) for one in forks]
    record = (
        record_appended(once, appended, group_id=group_id, conversation_id=fork_id)
        if drafts
        else once.record(group_id, fork_id, made)
    )
    is_owner = caller.user_id == head.owner
    member = [] if is_owner else [actions.member.check(group_id, caller.user_id, AccessLevel.WRITER)]
    writes = [
        *record,
        *actions.group.put_forks(
            loaded.group,
            forks,
            head,
            path,
            promoted=fork_id if request.promotes else None,
            nonce=nonce,
            now_s=table.now_s(),
        ),
        *member,
        *name_actions(table, request.name, was=source.name, conversation_id=fork_id, nonce=nonce),
        *_end_answer(table, caller, request, loaded, appended),
        *batch_actions(batch, group_id=group_id, nonce=nonce),
        *context_actions(batch, group_id=group_id, conversation_id=fork_id, caller=caller),
    ]
    client, is_known = caller.client_id, has_context(drafts) or lasts.context is None
    epochs = ((client, batch.epoch),) if client and is_known else ()
    cached = CachedConversation.of(fork, head, epochs, tree_created_at=loaded.group.created_at)
    return PreparedCreation(writes, _Forked(made, appended, loaded), fork_id, cached, equal_ids)


def _read_source(table: Table, caller: Caller, request: ForkRequest, once: Once) -> _Source | Obstacle:
    """Return the source and the anchor; an Obstacle if the conversation to append to exists."""
    anchor = request.fork.entry_id
    is_id = anchor is not None and ids.is_entry_id(anchor)
    before = _start_history_before(table, request) if anchor and is_id else None
    fork = keys.pointer(request.fork_id) if request.fork_id else None
    looked_up = look_up(
        table,
        request.fork.source_id,
        caller=caller,
        extra_keys=[
            *([fork] if fork else []),
            *([keys.name(request.name.ref)] if request.name else []),
            *once.keys,
        ],
        extras=TreeExtras(entries=(anchor,) if anchor and is_id else (), entry_key=request.fork.key),
    )
    history_before = before.result().entries if before else ()
    once.raise_if_answered(looked_up.found)
    fork_id = request.fork_id
    pointer = looked_up.found.pointer(fork_id, now_s=table.now_s()) if fork_id is not None else None
    taken = Obstacle.of(pointer) if pointer is not None else None
    if taken is not None and request.drafts:
        return taken
    loaded = looked_up.require(request.fork.source_id, AccessLevel.WRITER)
    require_own_context(caller, request.drafts, request.context)
    name = looked_up.found.name(request.name.ref) if request.name else None
    if request.fork.key is not None:
        keyed = find_entry(table, caller, loaded, looked_up.found, request.fork.key)
        return _Source(loaded, keyed, taken, name)
    if anchor is None:
        return _Source(loaded, None, taken, name)
    stored = looked_up.found.entry(loaded.group.group_id, anchor) if is_id else None
    if stored is None:
        raise NotFoundError(f"no entry {brief(anchor)}")
    return _Source(loaded, stored, taken, name, history_before[0] if history_before else None)


def _require_allowed(
    table: Table, caller: Caller, request: ForkRequest, source: LoadedConversation, fork_id: str
) -> None:
    """Raise the error of a request that cannot be done with the source as it is."""
    table.refuse_if_full(source.group.group_id)
    # The fork holds the version of the tree, so it needs no checks of what the entries name.
    check_named(
        table,
        caller,
        request.drafts,
        group_id=source.group.group_id,
        conversation_id=fork_id,
        require_tree=lambda: look_up(table, request.fork.source_id, caller=caller).require(
            request.fork.source_id, AccessLevel.WRITER
        ),
    )
    require_match(request.if_match, source.head.lasts)
    if source.group.conversations + request.times > CONVERSATIONS_MAX:
        raise ForkLimitError(f"a fork tree has at most {CONVERSATIONS_MAX} conversations")


def _own_entries(
    table: Table, caller: Caller, request: ForkRequest, group_id: str, inherited: _Inheritance
) -> _Own | None:
    """Decide what the fork appends. None: not all of the inherited context can be read yet."""
    path = inherited.path
    if request.context is None:
        drafts = with_attachments(table, caller, request.drafts, group_id=group_id)
        epoch = first_epoch(table, caller, drafts, group_id=group_id, path=path)
        return _Own(drafts, epoch)
    decision = decide_on_inherited(
        table, caller, request.context, group_id=group_id, path=path, shown_last=inherited.lasts.context
    )
    if decision is None:
        return None
    drafts = with_attachments(table, caller, request.drafts, group_id=group_id)
    return _Own([*drafts, *decision.drafts], decision.epoch, decision)


def _check_source(loaded: LoadedConversation, request: ForkRequest) -> Action:
    """Return the check that the source was not removed, and where needed, ends where it did.

    The version of the tree does not tell: GROUP may have been read after a removal of the source,
    and its HEAD before.
    """
    source = loaded.conversation
    if not request.holds_source:
        return actions.conversation.check_not_removed(source)
    return actions.conversation.check_head(source.group_id, source.conversation_id, last=loaded.head.last)


def _end_answer(
    table: Table, caller: Caller, request: ForkRequest, loaded: LoadedConversation, appended: Appended
) -> list[Action]:
    """Return the check of the source, with the actions that end the answer, if there is one."""
    check, group_id = _check_source(loaded, request), loaded.group.group_id
    if request.finishes is None or request.fork_id is None:
        return [check]
    finish = Finish(table, caller, AnswerRef(group_id, request.finishes))
    is_source = finish.is_in(loaded.conversation.conversation_id)
    last = loaded.head.last if is_source and request.holds_source else None
    return finish.actions(appended.entries, [check], to=request.fork_id, last=last)


def _fork_ids(table: Table, request: ForkRequest) -> list[str]:
    """Return the ids of the forks, in the order of the tree's list."""
    if request.fork_id is not None:
        return [request.fork_id]
    return sorted(table.mint_conversation() for _ in range(request.times))


def _has_preview(request: ForkRequest) -> bool:
    return any(draft.preview for draft in request.drafts)


def _start_history_before(table: Table, request: ForkRequest) -> Future[RangeAnswer] | None:
    """Start to read the source's own history entry before the anchor; None if nobody needs it.

    It is read beside the source, which saves a round. The tree is cached, or guessed to be the
    source's own. What is found counts only if the anchor names it.
    """
    assert request.fork.entry_id is not None
    window = Window(stop=request.fork.entry_id)
    if request.fork.position is not ForkPosition.BEFORE or _has_preview(request) or window.is_empty:
        return None
    cached = table.cache.get(request.fork.source_id)
    group_id = cached.group_id if cached else request.fork.source_id
    read = RangeRead(window, 1, request.fork.source_id, Channel.HISTORY)
    return table.start_range(group_id, read, backward=True)


def _inherit(source: _Source, request: ForkRequest, caller: Caller) -> _Inheritance:
    """Decide what the fork shows. An anchor stands for its whole turn."""
    view, anchor, position = source.loaded.view, source.anchor, request.fork.position
    field_name = "forkedAtEntryId" if request.drafts else "atEntryId"
    if anchor is not None:
        owner, entry_id = anchor.entry.conversation_id, anchor.entry_id
        if not ancestry.shows(view, conversation_id=owner, entry_id=entry_id):
            raise ValidationError("the source does not show the entry to fork at", field=field_name)
        if not _may_name(caller, anchor.entry, source.loaded.conversation):
            raise ValidationError(
                "a fork is made at an entry of the history, or by an agent at one of its own context",
                field=field_name,
            )
        if position is ForkPosition.AFTER:
            lasts = anchor.entry.lasts_after
            path = ancestry.path_after(view, conversation_id=owner, entry_id=anchor.entry.ends)
        else:
            lasts, begins = anchor.entry.lasts_before, anchor.entry.begins
            path = ancestry.path_before(view, conversation_id=owner, entry_id=begins, last=lasts.last)
        return _Inheritance(path, ForkPoint(request.fork.source_id, entry_id, position), lasts)
    head = source.loaded.head
    path = ()
    if position is ForkPosition.AFTER and head.lasts != NOTHING:
        path = ancestry.path_at_head(view, last=head.last, own_entries=head.own_entries)
    if not path:
        return _Inheritance((), ForkPoint(request.fork.source_id, None, ForkPosition.BLANK), NOTHING)
    return _Inheritance(path, ForkPoint(request.fork.source_id, head.last_history, position), head.lasts)


def _may_name(caller: Caller, anchor: Entry, source: Conversation) -> bool:
    """Tell whether the caller may fork at the entry: the source's history, or their own context."""
    if anchor.channel is Channel.HISTORY:
        return True
    return anchor.client_id == caller.client_id and access.may_use_context(caller, bound_to=source.client_id)


def _preview(table: Table, source: _Source, request: ForkRequest, inherited: _Inheritance) -> Words | None:
    """Return the preview of what the fork inherits; None if it has one of its own."""
    lasts = inherited.lasts
    if lasts.history is None or _has_preview(request):
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
    text = view_pages.last_preview(table, group_id, view, nearest=known[0] if known else None)
    return text.beginning(content.PREVIEW_CHARACTERS) if text else None

"""Append entries to a conversation, or sync a context with it.

A conversation that does not exist is created by that.
"""

from collections.abc import Sequence
from typing import NamedTuple

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.epochs import NO_EPOCH, Epoch
from forklore_service.domain.model import Caller, Conversation, Entry, Head
from forklore_service.domain.names import name_moved
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from forklore_service.storage import actions
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.cache import CachedConversation
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.answer_logs import AnswerRef, Finish
from forklore_service.usecases.shared.appended import Appended, appended_again, record_appended
from forklore_service.usecases.shared.attachments import with_attachments
from forklore_service.usecases.shared.drafts import (
    Batch,
    Draft,
    batch_actions,
    check_fits,
    context_actions,
    has_context,
    matches,
    mint_batch,
    require_match,
    require_room,
)
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay, Once
from forklore_service.usecases.shared.loading import (
    NO_EXTRAS,
    LoadedConversation,
    LookUp,
    TreeExtras,
    look_up,
)
from forklore_service.usecases.shared.optimistic import APPEND, attempts
from forklore_service.usecases.shared.references import check_named
from forklore_service.usecases.shared.requests import Append, Original, OriginalMoved
from forklore_service.usecases.shared.syncing import Decision, Synced, decide
from forklore_service.usecases.shared.use import note_use
from forklore_service.usecases.writing.first_append import create_branch, create_tree


def append_entries(table: Table, *, caller: Caller, request: Append) -> list[Entry]:
    """Append as `append_turn`, and return the entries without what became of the context."""
    return append_turn(table, caller=caller, request=request).entries


def append_turn(table: Table, *, caller: Caller, request: Append) -> Appended:
    """Append the entries, and sync the present context in the same transaction.

    A conversation that does not exist is created.
    Raises NotFoundError if the conversation is deleted or there is no answer that it could finish,
    ForbiddenError below writer or for another client's context, ConflictError if `if_match` is not
    a last entry, an epoch is over, the answer is, the conversation is full, or it is not the fork
    or child that the request names, PayloadTooLargeError, GroupFullError.
    """
    try:
        return append_unless_done(table, caller=caller, request=request)
    except IdempotentReplay as before:
        return appended_again(table, before.record)


def sync_context(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    draft: Draft,
    idempotency_key: IdempotencyKey | None = None,
) -> Synced:
    """Make `draft`, the agent's whole present context, the latest epoch of its client in the view.

    A sync is an append of no entries that carries the present context. A conversation that does not
    exist is created. Of two syncs that race one wins, and the other is decided again. Raises
    NotFoundError if the conversation is deleted, ForbiddenError below writer and for a caller who
    has no context here, PayloadTooLargeError.
    """
    request = Append(conversation_id, (), context=draft, idempotency_key=idempotency_key)
    synced = append_turn(table, caller=caller, request=request).synced
    assert synced is not None, "a present context is always synced"
    return synced


class _Asked(NamedTuple):
    """One append, as it stays in all its attempts. nonce: marks the entries that it puts."""

    table: Table
    caller: Caller
    request: Append
    once: Once
    nonce: str


class _Checked(NamedTuple):
    """What is known of the request. None: it must be found out, or found out again.

    decision: what the present context writes. named: the actions that check what the drafts name.
    drafts: those of the request, with what their attachments are. is_of_lineage: whether the
    conversation can be no other than the fork or child that the request names.
    """

    is_of_lineage: bool
    decision: Decision | None = None
    named: Sequence[Action] | None = None
    drafts: Sequence[Draft] | None = None


class _Written(NamedTuple):
    """What was appended, and the conversation as it is cached from then on."""

    appended: Appended
    cached: CachedConversation


def append_unless_done(table: Table, *, caller: Caller, request: Append) -> Appended:
    """Append as `append_turn`, but raise IdempotentReplay for a replay.

    The first attempt is made on what this process has cached. A refusal tells what the next one is
    made on.
    """
    check_fits([*request.drafts, *([request.context] if request.context else [])])
    once, conversation_id = Once(table, caller, request.idempotency_key), request.conversation_id
    asked = _Asked(table, caller, request, once, table.nonce())
    checked = _Checked(is_of_lineage=not request.names_origin)
    cached = _from_cache(asked, checked)
    for _ in attempts(table, APPEND):
        if cached is None:
            loaded = _create_or_load(asked, checked)
            if isinstance(loaded, Appended):
                return loaded
            checked, cached = loaded, _from_cache(asked, loaded)
            continue
        try:
            if checked.named is None:  # a 400 comes before any 409
                checked = checked._replace(named=_checks_of_named(asked, cached.group_id))
            with table.turn(conversation_id):
                cached = _matching(asked, cached)
                if checked.drafts is None:
                    drafts = with_attachments(table, caller, request.drafts, group_id=cached.group_id)
                    checked = checked._replace(drafts=drafts)
                batch = _decide(asked, cached, checked)
                written = _write(asked, cached, checked, batch)
        except (ConflictError, NotFoundError, ValidationError) as error:
            known, cached = cached, _with_stored_epoch(asked, cached, error)
            if cached == known:
                raise
            continue
        if isinstance(written, ConditionFailed):
            checked, cached = _learn(asked, cached, checked, written)
            continue
        # Others of this process append already.
        was, at = cached.used_at, written.cached.used_at
        note_use(table, cached.group_id, tree_created_at=cached.tree_created_at, was=was, at=at)
        return written.appended
    raise UnavailableError("the conversation is busy; try again")


# Load: the conversation as this process or the table has it, or as it is created


def _from_cache(asked: _Asked, checked: _Checked) -> CachedConversation | None:
    """Return what the append can be tried on without a read; None if a read is needed."""
    request, client = asked.request, asked.caller.client_id
    if not checked.is_of_lineage or (request.context is not None and checked.decision is None):
        return None
    cached = asked.table.cache.get(request.conversation_id)
    if cached is None or not has_context(request.drafts):
        return cached
    return cached if client is not None and cached.epoch_of(client) is not None else None


def _create_or_load(asked: _Asked, checked: _Checked) -> Appended | _Checked:
    """Return what has created the conversation.

    If it exists, cache what an append is tried on, and return what is known of the request then:
    its present context is decided on. Raises NotFoundError if it is deleted, ForbiddenError,
    ValidationError, and ConflictError if it is not the fork or child that the request names.
    """
    table, caller, request = asked.table, asked.caller, asked.request
    if request.held is None:
        if request.name is not None and not request.names_origin:
            # Its id was made for it, so nobody has it. If somebody has, it is looked up again.
            return create_tree(table, caller=caller, request=request) or checked
        if not checked.is_of_lineage:
            made = create_branch(table, caller=caller, request=request)
            if made is not None:
                return made
    looked_up = _look_up(asked, TreeExtras(context_of=caller.client_id))
    if not looked_up.exists and request.held is None:
        return create_tree(table, caller=caller, request=request) or checked
    loaded = looked_up.require(request.conversation_id, AccessLevel.WRITER)
    group_id, present = loaded.group.group_id, request.context
    uses_context = present is not None or has_context(request.drafts)
    if uses_context:
        access.require_context(caller, bound_to=loaded.conversation.client_id)
    if checked.named is None:
        checked = checked._replace(named=_checks_of_named(asked, group_id))
    request.require_lineage(loaded.conversation, key=_key_of_anchor(asked, loaded.conversation))
    checked = checked._replace(is_of_lineage=True)
    if not uses_context:
        return checked
    client = caller.client_id
    assert client is not None
    context = looked_up.found.context(group_id, request.conversation_id, client)
    if present is None:
        _cache_epoch(asked, loaded, context.epoch if context else None)
        return checked
    require_match(request.if_match, loaded.head.lasts)
    return checked._replace(decision=decide(table, caller, loaded, context, present))


def _look_up(asked: _Asked, extras: TreeExtras = NO_EXTRAS) -> LookUp:
    """Return what was found of the conversation. Raises IdempotentReplay for a replay."""
    looked_up = look_up(
        asked.table,
        asked.request.conversation_id,
        caller=asked.caller,
        extra_keys=asked.once.keys,
        extras=extras,
        existed=asked.request.held is not None,
    )
    asked.once.raise_if_answered(looked_up.found)
    return looked_up


def _load(asked: _Asked) -> LoadedConversation:
    """Return the conversation as it is now.

    Raises IdempotentReplay, NotFoundError or ForbiddenError: they come before any 409.
    """
    return _look_up(asked).require(asked.request.conversation_id, AccessLevel.WRITER)


def _key_of_anchor(asked: _Asked, conversation: Conversation) -> str | None:
    """Return the key of the entry at which a fork was made, if the request names a key.

    The source may show another entry under the key by now, or be deleted. Then the entry says
    what it was, as long as anybody shows it.
    """
    fork, point = asked.request.fork, conversation.fork_point
    if fork is None or fork.key is None or point is None or point.entry_id is None:
        return None
    group_id = conversation.group_id
    anchor = asked.table.get([keys.entry(group_id, point.entry_id)]).entry(group_id, point.entry_id)
    return anchor.entry.key if anchor else None


def _cache_epoch(asked: _Asked, loaded: LoadedConversation, epoch: Epoch | None) -> None:
    """Cache the client's latest epoch in the view.

    epoch: that of its CTX in the conversation; None: the latest one that is inherited.
    """
    cache, client = asked.table.cache, asked.caller.client_id
    assert client is not None
    latest = (
        epoch or view_pages.latest_epoch(asked.table, loaded.group.group_id, loaded.inherited, client).epoch
    )
    cached = cache.get(asked.request.conversation_id)
    if cached is not None:
        cache.put(asked.request.conversation_id, cached.with_epoch(client, latest))


# Check: what the request names, and its If-Match


def _checks_of_named(asked: _Asked, group_id: str) -> Sequence[Action]:
    """Return the actions that check what the drafts name."""
    return check_named(
        asked.table,
        asked.caller,
        asked.request.drafts,
        group_id=group_id,
        conversation_id=asked.request.conversation_id,
        require_tree=lambda: _load(asked),
    )


def _matching(asked: _Asked, cached: CachedConversation) -> CachedConversation:
    """Return the conversation with the caller's If-Match as a last entry of what is shown.

    It has what another thread of this process has appended meanwhile. The write requires its last
    entry, so nothing more is checked for If-Match. Raises ConflictError if the last entries are
    others.
    """
    now = asked.table.cache.get(asked.request.conversation_id)
    if now is not None and now.tip.last > cached.tip.last:
        cached = cached._replace(tip=now.tip, titled=now.titled)
    if matches(asked.request.if_match, cached.tip.lasts):
        return cached
    head = _load(asked).head
    require_match(asked.request.if_match, head.lasts)
    return cached._replace(tip=head.tip)


def _checks_of_original(
    original: Original, cached: CachedConversation, conversation_id: str
) -> Sequence[Action]:
    """Return the actions that check what entries were copied from. Raises OriginalMoved."""
    of, last, tip = original.conversation_id, original.last, cached.tip.last
    if original.onto not in (None, tip):
        raise OriginalMoved
    if of != conversation_id:
        return [actions.conversation.check_exists(cached.group_id, of, last=last)]
    if last not in (None, tip):
        raise OriginalMoved
    return []


# Decide: which entries there will be


def _decide(asked: _Asked, cached: CachedConversation, checked: _Checked) -> Batch:
    """Return the entries. Raises ConflictError if an epoch is over, GroupFullError."""
    decision, client = checked.decision, asked.caller.client_id
    drafts = [*(checked.drafts or ()), *(decision.drafts if decision else ())]
    if drafts:
        asked.table.refuse_if_full(cached.group_id)
    known = cached.epoch_of(client) if client else None
    return mint_batch(
        asked.table,
        drafts,
        conversation_id=asked.request.conversation_id,
        caller=asked.caller,
        after=cached.tip,
        epoch=decision.epoch if decision else known or NO_EPOCH,
    )


# Write, and learn from a refusal


def _write(
    asked: _Asked, cached: CachedConversation, checked: _Checked, batch: Batch
) -> _Written | ConditionFailed:
    """Append in one transaction. Return the refusal if what is known is outdated."""
    table, caller, request, once, nonce = asked
    conversation_id, decision, held, at = request.conversation_id, checked.decision, request.held, table.now()
    where = {"group_id": cached.group_id, "conversation_id": conversation_id}
    appended = Appended.of(batch, decision)
    record = record_appended(once, appended, **where)
    holds = [actions.name.hold(held.ref, conversation_id, at=at, data=held.data)] if held else []
    around = [*record, *holds]
    if not batch.entries:
        return (table.try_commit(around) if around else None) or _Written(appended, cached)
    answer = AnswerRef(cached.group_id, request.finishes) if request.finishes is not None else None
    finish = Finish(table, caller, answer) if answer else None
    original = request.copied_out_of
    named = checked.named or ()
    if original is not None:
        named = _checks_of_original(original, cached, conversation_id)
    is_owner = caller.user_id == cached.owner
    title = None if cached.titled else batch.title
    if decision is not None:
        context = [decision.action(batch, caller=caller, **where)]
    else:
        context = context_actions(batch, caller=caller, **where)
    writes = [
        *around,
        *batch_actions(batch, group_id=cached.group_id, nonce=nonce),
        actions.conversation.move_head(
            after=batch.after.last,
            first=batch.first,
            tip=batch.tip,
            history=batch.history,
            context=batch.context,
            added=batch.metrics,
            preview=batch.preview,
            owner=caller.user_id if is_owner else None,
            titles=title is not None,
            promoted_at=at if request.promotes else None,
            finishes=request.finishes if finish and finish.is_in(conversation_id) else None,
            entries_max=0 if request.finishes else table.entries_max,
            **where,
        ),
        *([] if is_owner else [actions.member.check(cached.group_id, caller.user_id, AccessLevel.WRITER)]),
        *([actions.group.promote(**where, owner=None, at=at, by=batch.tip.last)] if request.promotes else []),
        *(finish.actions(appended.entries, named, to=conversation_id) if finish else named),
        *context,
        *([actions.conversation.set_title(title=title, **where)] if title else []),
    ]
    require_room(writes)
    refused = table.try_commit(writes)
    # With this nonce the entries exist because this very transaction was sent twice.
    if refused is not None and not refused.has_nonce(ActionKind.ENTRY, nonce):
        if finish is not None:
            finish.raise_if_lost(refused, to=conversation_id)
        return refused
    cached = cached._replace(tip=batch.tip, titled=cached.titled or batch.title is not None)
    if caller.client_id and batch.context:
        cached = cached.with_epoch(caller.client_id, batch.epoch)
    table.cache.put(conversation_id, cached)
    return _Written(appended, cached)


def _with_stored_epoch(asked: _Asked, cached: CachedConversation, error: ForkloreError) -> CachedConversation:
    """Return the conversation with the epoch that the context entries of the request join now.

    So a 409 names the epoch that is the latest now. error: what was found with the cached one.
    Raises what is told before that error: as `_load`, and, unless the request is wrong in itself,
    ConflictError if If-Match does not hold now.
    """
    request = asked.request
    client = asked.caller.client_id if has_context(request.drafts) else None
    looked_up = _look_up(asked, TreeExtras(context_of=client))
    loaded = looked_up.require(request.conversation_id, AccessLevel.WRITER)
    if not isinstance(error, ValidationError):
        require_match(request.if_match, loaded.head.lasts)
    if client is None:
        return cached
    own = looked_up.found.context(loaded.group.group_id, request.conversation_id, client)
    if own is None:
        return cached  # what is inherited does not change
    _cache_epoch(asked, loaded, own.epoch)
    return cached.with_epoch(client, own.epoch)


def _refuse_if_full(asked: _Asked, checked: _Checked, head: Head) -> None:
    """Raise ConflictError if the conversation has no room, and what comes before that."""
    decided = checked.decision.drafts if checked.decision else ()
    entries = head.metrics.entries + len(asked.request.drafts) + len(decided)
    if 0 < asked.table.entries_max < entries and not asked.request.finishes:
        _load(asked)
        asked.table.refuse_beyond(entries)


def _learn(
    asked: _Asked, cached: CachedConversation, checked: _Checked, refused: ConditionFailed
) -> tuple[_Checked, CachedConversation | None]:
    """Return what the next attempt is made on; no conversation if that must be read.

    Raises the error of the request where the refusal is final.
    """
    for kind in refused.kinds:
        match kind:
            case ActionKind.IDEMPOTENCY:
                asked.once.raise_if_recorded(refused)
            case ActionKind.NAME:
                raise name_moved(refused.name()) from refused
            case ActionKind.ENTRY:
                return checked, cached
            case ActionKind.ENTRY_KEY if set(refused.kinds) == {kind}:  # other conflicts come first
                _load(asked)
                raise ConflictError(
                    "another entry of the conversation has the key",
                    reason="key_in_use",
                    entryId=refused.keyed_entry(),
                ) from refused
            case ActionKind.HEAD:
                head = refused.head()
                if head is None:
                    asked.table.cache.forget(asked.request.conversation_id)
                    return checked, None
                if head.tip == cached.tip:  # what other appends have changed is told first
                    _refuse_if_full(asked, checked, head)
                cached = cached._replace(owner=head.owner, tip=head.tip, titled=not head.untitled)
            case ActionKind.MEMBER:
                raise ForbiddenError("this needs the access level 'writer'") from refused
            case ActionKind.ANSWER_HEAD if refused.is_absent(kind):
                raise NotFoundError("the conversation of the answer is deleted") from refused
            case ActionKind.NAMED_HEAD | ActionKind.FILE if asked.request.copied_out_of is not None:
                raise OriginalMoved from refused
            case ActionKind.FILE:
                checked = checked._replace(drafts=None)
            case ActionKind.NAMED_HEAD:
                checked = checked._replace(named=None)
            case ActionKind.CONTEXT if checked.decision is not None:
                return checked._replace(decision=None), None
            case ActionKind.CONTEXT:
                epoch = refused.epoch()
                if epoch is not None and asked.caller.client_id:
                    cached = cached.with_epoch(asked.caller.client_id, epoch)
    return checked, cached

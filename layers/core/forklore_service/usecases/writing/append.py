"""Append entries to a conversation, or sync a context with it.

A conversation that does not exist is created by that.
"""

from collections.abc import Sequence

from forklore_service.domain import access, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.epochs import NO_EPOCH, Epoch
from forklore_service.domain.model import Caller, Conversation, Entry
from forklore_service.domain.names import name_moved
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
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
from forklore_service.usecases.shared.loading import LoadedConversation, LookUp, TreeExtras, look_up
from forklore_service.usecases.shared.optimistic import APPEND, attempts
from forklore_service.usecases.shared.references import check_named
from forklore_service.usecases.shared.requests import Append, OriginalMoved
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
    a last entry, an epoch is over, the answer is, or the conversation is not the fork or child that
    the request names, PayloadTooLargeError, GroupFullError.
    """
    try:
        return append_unless_done(table, caller=caller, request=request)
    except IdempotentReplay as before:
        return appended_again(table, before.record)


def append_unless_done(table: Table, *, caller: Caller, request: Append) -> Appended:
    """Append as `append_turn`, but raise IdempotentReplay for a replay."""
    check_fits([*request.drafts, *([request.context] if request.context else [])])
    return _Appending(table, caller, request).run()


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


class _Appending:
    """One append.

    The first attempt is made on what this process has cached. A refusal tells what the next one is
    made on.
    """

    def __init__(self, table: Table, caller: Caller, request: Append) -> None:
        self._table = table
        self._caller = caller
        self._request = request
        self._once = Once(table, caller, request.idempotency_key)
        self._id = request.conversation_id
        self._nonce = table.nonce()
        self._has_lineage = not request.names_origin
        self._decision: Decision | None = None
        self._named: list[Action] | None = None
        self._drafts: Sequence[Draft] | None = None
        self._uses: tuple[CachedConversation, str] | None = None

    def run(self) -> Appended:
        cached = self._cached()
        for _ in attempts(self._table, APPEND):
            if cached is None:
                made = self._create()
                if made is not None:
                    return made
                cached = self._cached()
                continue
            try:
                self._require_named(cached.group_id)  # a 400 comes before any 409
                with self._table.turn(self._id):
                    written = self._append(self._matching(self._newest(cached)))
            except (ConflictError, ValidationError) as error:
                now = self._with_stored_epoch(cached, error)
                if now == cached:
                    raise
                cached = now
                continue
            if not isinstance(written, ConditionFailed):
                self._note_use()
                return written
            cached = self._learn(cached, written)
        raise UnavailableError("the conversation is busy; try again")

    def _cached(self) -> CachedConversation | None:
        """Return what the append can be tried on without a read; None if a read is needed."""
        if self._request.context is not None and self._decision is None:
            return None
        cached = self._table.cache.get(self._id) if self._has_lineage else None
        if cached is None or not has_context(self._request.drafts):
            return cached
        client = self._caller.client_id
        return cached if client is not None and cached.epoch_of(client) is not None else None

    # The conversation does not exist, or this process does not know it

    def _create(self) -> Appended | None:
        """Return what has created the conversation; None if it exists. It is cached then."""
        request, by = self._request, self._caller
        if request.held is None:
            if request.name is not None and not request.names_origin:
                # Its id was made for it, so nobody has it.
                return create_tree(self._table, caller=by, request=request)
            if not self._has_lineage:
                made = create_branch(self._table, caller=by, request=request)
                if made is not None:
                    return made
        looked_up = self._look_up(TreeExtras(context_of=by.client_id))
        if looked_up.exists or request.held is not None:
            self._cache_existing(looked_up)
            return None
        return create_tree(self._table, caller=by, request=request)

    def _cache_existing(self, looked_up: LookUp) -> None:
        """Cache what an append to the conversation is tried on, and decide on the present context.

        Raises NotFoundError if it is deleted, ForbiddenError, ValidationError, and ConflictError if
        it is not the fork or child that the request names.
        """
        loaded = looked_up.require(self._id, AccessLevel.WRITER)
        present = self._request.context
        uses_context = present is not None or has_context(self._request.drafts)
        if uses_context:
            access.require_context(self._caller, bound_to=loaded.conversation.client_id)
        self._require_named(loaded.group.group_id)
        self._request.require_lineage(loaded.conversation, key=self._key_of_anchor(loaded.conversation))
        self._has_lineage = True
        if not uses_context:
            return
        client = self._caller.client_id
        assert client is not None
        context = looked_up.found.context(loaded.group.group_id, self._id, client)
        if present is not None:
            require_match(self._request.if_match, loaded.head.lasts)
            self._decision = decide(self._table, self._caller, loaded, context, present)
        else:
            self._cache_epoch(loaded, client, context.epoch if context else None)

    def _key_of_anchor(self, conversation: Conversation) -> str | None:
        """Return the key of the entry at which a fork was made, if the request names a key.

        The source may show another entry under the key by now, or be deleted. Then the entry says
        what it was, as long as anybody shows it.
        """
        fork, point = self._request.fork, conversation.fork_point
        if fork is None or fork.key is None or point is None or point.entry_id is None:
            return None
        group_id = conversation.group_id
        anchor = self._table.get([keys.entry(group_id, point.entry_id)]).entry(group_id, point.entry_id)
        return anchor.entry.key if anchor else None

    def _cache_epoch(self, loaded: LoadedConversation, client: str, epoch: Epoch | None) -> None:
        """Cache the client's latest epoch in the view.

        epoch: that of its CTX in the conversation; None: the latest one that is inherited.
        """
        group_id = loaded.group.group_id
        latest = epoch or view_pages.latest_epoch(self._table, group_id, loaded.inherited, client).epoch
        cached = self._table.cache.get(self._id)
        if cached is not None:
            self._table.cache.put(self._id, cached.with_epoch(client, latest))

    # The conversation exists

    def _newest(self, cached: CachedConversation) -> CachedConversation:
        """Return the same with what another thread of this process has appended meanwhile."""
        now = self._table.cache.get(self._id)
        if now is None or now.tip.last <= cached.tip.last:
            return cached
        return cached._replace(tip=now.tip, titled=now.titled)

    def _matching(self, cached: CachedConversation) -> CachedConversation:
        """Return the same with the caller's If-Match as a last entry of what is shown.

        The write requires the last entry of what is returned, so nothing more is checked for
        If-Match. Raises ConflictError if the last entries are others.
        """
        if matches(self._request.if_match, cached.tip.lasts):
            return cached
        head = self._load().head
        require_match(self._request.if_match, head.lasts)
        return cached._replace(tip=head.tip)

    def _with_stored_epoch(
        self, cached: CachedConversation, error: ConflictError | ValidationError
    ) -> CachedConversation:
        """Return the same with the epoch that the context entries of the request join now.

        So a 409 names the epoch that is the latest now. error: what was found with the cached one.
        Raises as `_load`, and ConflictError if If-Match does not hold now, which is told before any
        other conflict.
        """
        client = self._caller.client_id if has_context(self._request.drafts) else None
        looked_up = self._look_up(TreeExtras(context_of=client))
        loaded = looked_up.require(self._id, AccessLevel.WRITER)
        if isinstance(error, ConflictError):
            require_match(self._request.if_match, loaded.head.lasts)
        own = looked_up.found.context(loaded.group.group_id, self._id, client) if client else None
        if client is None or own is None:
            return cached  # what is inherited does not change
        self._cache_epoch(loaded, client, own.epoch)
        return cached.with_epoch(client, own.epoch)

    def _load(self) -> LoadedConversation:
        """Return the conversation as it is now.

        Raises IdempotentReplay, NotFoundError or ForbiddenError: they come before any 409.
        """
        return self._look_up(TreeExtras()).require(self._id, AccessLevel.WRITER)

    def _require_now(self) -> None:
        """Raises what comes before another refusal: as `_load`, and ConflictError for If-Match."""
        require_match(self._request.if_match, self._load().head.lasts)

    def _look_up(self, extras: TreeExtras) -> LookUp:
        """Return what was found of the conversation. Raises IdempotentReplay for a replay."""
        looked_up = look_up(
            self._table,
            self._id,
            caller=self._caller,
            extra_keys=self._once.keys,
            extras=extras,
            existed=self._request.held is not None,
        )
        self._once.raise_if_answered(looked_up.found)
        return looked_up

    def _append(self, cached: CachedConversation) -> Appended | ConditionFailed:
        """Append in one transaction. Return the refusal if `cached` or the decision is outdated."""
        table, caller, request, decision = self._table, self._caller, self._request, self._decision
        where = {"group_id": cached.group_id, "conversation_id": self._id}
        client = caller.client_id
        drafts = [*self._attached(cached.group_id), *(decision.drafts if decision else ())]
        known = cached.epoch_of(client) if client else None
        epoch = decision.epoch if decision else known or NO_EPOCH
        if drafts:
            table.refuse_if_full(cached.group_id)
        batch = mint_batch(
            table, drafts, conversation_id=self._id, caller=caller, after=cached.tip, epoch=epoch
        )
        appended = Appended.of(batch, decision)
        record = record_appended(self._once, appended, **where)
        held, at = request.held, table.now()
        around = [*record, *([actions.name.hold(held.ref, self._id, at=at, data=held.data)] if held else [])]
        if not drafts:
            return (table.try_commit(around) if around else None) or appended
        finish = self._finish(cached.group_id)
        is_owner = caller.user_id == cached.owner
        member = (
            [] if is_owner else [actions.member.check(cached.group_id, caller.user_id, AccessLevel.WRITER)]
        )
        title = None if cached.titled else batch.title
        named = self._checks_of_named(cached)
        if decision is not None:
            context = [decision.action(batch, caller=caller, **where)]
        else:
            context = context_actions(batch, caller=caller, **where)
        writes = [
            *around,
            *batch_actions(batch, group_id=cached.group_id, nonce=self._nonce),
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
                finishes=request.finishes if finish and finish.is_in(self._id) else None,
                **where,
            ),
            *member,
            *(
                [actions.group.promote(**where, owner=None, at=at, by=batch.tip.last)]
                if request.promotes
                else []
            ),
            *(finish.actions(appended.entries, named, to=self._id) if finish else named),
            *context,
            *([actions.conversation.set_title(title=title, **where)] if title else []),
        ]
        require_room(writes)
        refused = table.try_commit(writes)
        # With this nonce the entries exist because this very transaction was sent twice.
        if refused is not None and not refused.has_nonce(ActionKind.ENTRY, self._nonce):
            if finish is not None:
                finish.raise_if_lost(refused, to=self._id)
            return refused
        now_cached = cached._replace(tip=batch.tip, titled=cached.titled or batch.title is not None)
        if client and batch.context:
            now_cached = now_cached.with_epoch(client, batch.epoch)
        table.cache.put(self._id, now_cached)
        self._uses = cached, now_cached.used_at
        return appended

    def _note_use(self) -> None:
        """Note the use, if entries were written, while others of this process append already."""
        if self._uses is not None:
            was, at = self._uses
            note_use(self._table, was.group_id, tree_created_at=was.tree_created_at, was=was.used_at, at=at)

    def _attached(self, group_id: str) -> Sequence[Draft]:
        """Return the drafts of the request with what their attachments are."""
        if self._drafts is None:
            try:
                drafts = self._request.drafts
                self._drafts = with_attachments(self._table, self._caller, drafts, group_id=group_id)
            except (NotFoundError, ConflictError):
                self._require_now()
                raise
        return self._drafts

    def _finish(self, group_id: str) -> Finish | None:
        """Return the end of the answer that the append finishes, as its log is now."""
        if self._request.finishes is None:
            return None
        try:
            return Finish(self._table, self._caller, AnswerRef(group_id, self._request.finishes))
        except NotFoundError:
            self._require_now()
            raise

    def _checks_of_named(self, cached: CachedConversation) -> list[Action]:
        """Return the actions that check the conversations which the request names."""
        group_id, original = cached.group_id, self._request.copied_out_of
        if original is not None:
            of, last = original.conversation_id, original.last
            if original.onto not in (None, cached.tip.last):
                raise OriginalMoved
            if of != self._id:
                return [actions.conversation.check_exists(group_id, of, last=last)]
            if last not in (None, cached.tip.last):
                raise OriginalMoved
            return []
        return self._require_named(group_id)

    def _require_named(self, group_id: str) -> list[Action]:
        """Return the actions that check what the drafts name."""
        if self._named is None:
            self._named = check_named(
                self._table,
                self._caller,
                self._request.drafts,
                group_id=group_id,
                conversation_id=self._id,
                require_tree=self._load,
            )
        return self._named

    def _learn(self, cached: CachedConversation, refused: ConditionFailed) -> CachedConversation | None:
        """Return what the next attempt is tried on; None if it must read the conversation.

        Raises the error of the request where the refusal is final.
        """
        for kind in refused.kinds:
            match kind:
                case ActionKind.IDEMPOTENCY:
                    self._once.raise_if_recorded(refused)
                case ActionKind.NAME:
                    raise name_moved(refused.name()) from refused
                case ActionKind.ENTRY:
                    return cached
                case ActionKind.ENTRY_KEY if set(refused.kinds) == {kind}:  # other conflicts come first
                    self._load()
                    raise ConflictError(
                        "another entry of the conversation has the key",
                        reason="key_in_use",
                        entryId=refused.keyed_entry(),
                    ) from refused
                case ActionKind.HEAD:
                    head = refused.head()
                    if head is None:
                        self._table.cache.forget(self._id)
                        return None
                    cached = cached._replace(owner=head.owner, tip=head.tip, titled=not head.untitled)
                case ActionKind.MEMBER:
                    raise ForbiddenError("this needs the access level 'writer'") from refused
                case ActionKind.ANSWER_HEAD if refused.is_absent(kind):
                    raise NotFoundError("the conversation of the answer is deleted") from refused
                case ActionKind.NAMED_HEAD | ActionKind.FILE if self._request.copied_out_of is not None:
                    raise OriginalMoved from refused
                case ActionKind.FILE:
                    self._drafts = None
                case ActionKind.NAMED_HEAD:
                    self._named = None
                case ActionKind.CONTEXT if self._decision is not None:
                    self._decision = None
                    return None
                case ActionKind.CONTEXT:
                    epoch = refused.epoch()
                    if epoch is not None and self._caller.client_id:
                        cached = cached.with_epoch(self._caller.client_id, epoch)
        return cached

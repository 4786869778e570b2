"""Append entries, and page through what a conversation shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from forklore.domain import access, ancestry, ids
from forklore.domain.access import AccessLevel
from forklore.domain.epochs import NO_EPOCH, Epoch
from forklore.domain.ids import LAST, EntryId
from forklore.domain.model import (
    Caller,
    Channel,
    Conversation,
    Entry,
    ForkPoint,
    ForkPosition,
    Lasts,
    StartedBy,
)
from forklore.domain.paging import Window
from forklore.domain.tree import ClientContext
from forklore.errors import (
    ConflictError,
    ForbiddenError,
    InvalidCursorError,
    NotFoundError,
    UnavailableError,
)
from forklore.storage import parts
from forklore.storage.cache import CachedConversation
from forklore.storage.items import StoredEntry
from forklore.storage.parts import ConditionFailed, PartKind
from forklore.storage.table import Table
from forklore.usecases import views
from forklore.usecases.children import ChildRequest, start_child
from forklore.usecases.creating import Creation, PreparedCreation
from forklore.usecases.drafts import (
    Draft,
    batch_parts,
    check_fits,
    context_parts,
    epoch_after,
    has_context,
    head_move,
    is_own_first_attempt,
    mint_batch,
    require_match,
)
from forklore.usecases.forks import ForkRequest, fork_with_entries
from forklore.usecases.idempotency import (
    IdempotencyKey,
    IdempotentReplay,
    entries_again,
    keys_of,
    raise_if_answered,
    raise_if_recorded,
    record_entries,
)
from forklore.usecases.loading import LoadedConversation, TreeExtras, look_up
from forklore.usecases.optimistic import APPEND, attempts
from forklore.usecases.roots import plan_root, root_parts
from forklore.usecases.views import Filter, Latest

_IS_NOT = (
    "the conversation exists and is not that {}: "
    "append to a new id to make it, or leave out {} to append here"
)
"""What is told of an append that would make a fork or child, and of its fields."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a conversation that is new forks from. entry_id: the first entry not inherited; None: blank."""

    source_id: str
    entry_id: EntryId | None


@dataclass(frozen=True, slots=True)
class Start:
    """What starts a conversation that is new, as its child. entry_id: what of the parent it was."""

    parent_id: str
    entry_id: str | None


@dataclass(frozen=True, slots=True)
class Append:
    """Entries for a conversation, all or none, in order.

    fork, start: what the conversation is a fork or a child of; it is made so if it does not exist. if_match:
    the last history entry that the caller knows of. once: with an Idempotency-Key.
    """

    conversation_id: str
    drafts: Sequence[Draft]
    fork: Fork | None = None
    start: Start | None = None
    if_match: EntryId | None = None
    idempotency_key: IdempotencyKey | None = None


def append_entries(table: Table, *, caller: Caller, request: Append) -> list[Entry]:
    """Append; a conversation that does not exist is created: as a root, a fork or a child.

    Raises NotFoundError if the conversation is deleted, ForbiddenError below writer or for another client's
    context, ConflictError if `if_match` is not the last history entry, an epoch is over or the conversation
    is no such fork or child, PayloadTooLargeError, GroupFullError.
    """
    check_fits(request.drafts)
    try:
        return _Appending(table, caller, request).run()
    except IdempotentReplay as before:
        return entries_again(table, before.record)


class _Appending:
    """One append: tried on what is known, decided again on what a refusal tells."""

    def __init__(self, table: Table, caller: Caller, request: Append) -> None:
        self._table = table
        self._caller = caller
        self._request = request
        self._id = request.conversation_id
        self._nonce = table.nonce()
        self._is_what_it_says = request.fork is None and request.start is None

    def run(self) -> list[Entry]:
        cached = self._known()
        for _ in attempts(self._table, APPEND):
            if cached is None:
                entries = self._create_if_new()
                if entries is not None:
                    return entries
                cached = self._known()
                continue
            try:
                with self._table.turn(self._id):
                    return self._append(self._matching(self._newest(cached)))
            except ConditionFailed as refused:
                cached = self._decide_again(cached, refused)
            except ConflictError:
                self._open()
                raise
        raise UnavailableError("the conversation is busy; try again")

    def _newest(self, cached: CachedConversation) -> CachedConversation:
        """Return the facts with what another thread of this process has appended meanwhile."""
        known = self._table.cache.get(self._id)
        if known is None or known.tip.last <= cached.tip.last:
            return cached
        return replace(cached, tip=known.tip, titled=known.titled)

    def _matching(self, cached: CachedConversation) -> CachedConversation:
        """Return facts whose last history entry is that of the caller's If-Match.

        HEAD holds the append to the last entry of the facts, so nothing more is asked of it.
        Raises ConflictError if it is another.
        """
        if self._request.if_match in (None, cached.tip.shown.history):
            return cached
        head = self._open().head
        require_match(self._request.if_match, head.last_history)
        return replace(cached, tip=head.tip)

    def _open(self) -> LoadedConversation:
        """Return the conversation as it is now.

        Raises IdempotentReplay, NotFoundError or ForbiddenError where they are due, before any 409.
        """
        idempotency_key = self._request.idempotency_key
        found = look_up(self._table, self._id, caller=self._caller, extra_keys=keys_of(idempotency_key))
        raise_if_answered(self._table, idempotency_key, found.found, caller=self._caller)
        return found.require(self._id, AccessLevel.WRITER)

    def _known(self) -> CachedConversation | None:
        """Return the facts that the append can be tried on without reading."""
        cached = self._table.cache.get(self._id) if self._is_what_it_says else None
        if cached is None or not has_context(self._request.drafts):
            return cached
        client = self._caller.client_id
        return cached if client is not None and cached.epoch_of(client) is not None else None

    def _create_if_new(self) -> list[Entry] | None:
        """Return the entries of a conversation created by them; None when there is one, now known."""
        table, caller, request = self._table, self._caller, self._request
        if request.fork is not None and ids.is_uuid(request.fork.source_id):
            position = ForkPosition.BEFORE if request.fork.entry_id else ForkPosition.BLANK
            fork = ForkRequest(
                source_id=request.fork.source_id,
                fork_id=self._id,
                anchor=request.fork.entry_id,
                position=position,
                agent_id=request.drafts[0].agent_id,
                drafts=request.drafts,
                if_match=request.if_match,
            )
            made = fork_with_entries(
                table, caller=caller, request=fork, idempotency_key=request.idempotency_key
            )
            if made is not None:
                return made
        if request.start is not None and ids.is_uuid(request.start.parent_id):
            child = ChildRequest(
                parent_id=request.start.parent_id,
                child_id=self._id,
                entry_id=request.start.entry_id,
                drafts=request.drafts,
                if_match=request.if_match,
            )
            made = start_child(table, caller=caller, request=child, idempotency_key=request.idempotency_key)
            if made is not None:
                return made
        client = caller.client_id
        found = look_up(
            table,
            self._id,
            caller=caller,
            extra_keys=keys_of(request.idempotency_key),
            extras=TreeExtras(context_of=client),
        )
        raise_if_answered(table, request.idempotency_key, found.found, caller=caller)
        if not found.exists and request.fork is not None:
            raise NotFoundError("no such conversation to fork")
        if not found.exists and request.start is not None:
            raise NotFoundError("no such conversation to be started by")
        if not found.exists:
            return self._create_root()
        loaded = found.require(self._id, AccessLevel.WRITER)
        self._require_lineage(loaded.conversation)
        if has_context(request.drafts):
            access.require_context(caller, bound_to=loaded.conversation.client_id)
            assert client is not None
            own = found.found.context(loaded.group.group_id, self._id, client)
            self._learn_epoch(loaded, client, own.epoch if own else None)
        return None

    def _require_lineage(self, found: Conversation) -> None:
        """Raise ConflictError unless the conversation is the fork or child that the request would make."""
        fork, start = self._request.fork, self._request.start
        if fork is not None:
            position = ForkPosition.BEFORE if fork.entry_id else ForkPosition.BLANK
            if found.fork_point != ForkPoint(fork.source_id, fork.entry_id, position):
                raise ConflictError(_IS_NOT.format("fork", "forkedAt…"))
        if start is not None and found.started_by != StartedBy(
            start.parent_id, EntryId(start.entry_id) if start.entry_id else None
        ):
            raise ConflictError(_IS_NOT.format("child", "startedBy…"))
        self._is_what_it_says = True

    def _learn_epoch(self, loaded: LoadedConversation, client: str, own: Epoch | None) -> None:
        """Note the client's latest epoch in the view: that of its CTX, or else what the path shows."""
        group_id = loaded.group.group_id
        epoch = own or views.latest_epoch(self._table, group_id, loaded.path, client).epoch
        cached = self._table.cache.get(self._id)
        if cached is not None:
            self._table.cache.put(self._id, cached.with_epoch(client, epoch))

    def _create_root(self) -> list[Entry] | None:
        """Create a tree whose first conversation begins with the entries; None if its id is in use."""
        creation = Creation[list[Entry]](self._table, self._caller, self._request.idempotency_key)
        for nonce in creation.attempts():
            creation.write(self._prepare_root(nonce))
        return creation.answer

    def _prepare_root(self, nonce: str) -> PreparedCreation[list[Entry]]:
        """Prepare a new tree whose first conversation begins with the entries."""
        request = self._request
        require_match(request.if_match, None)
        root = plan_root(
            self._table, self._caller, conversation_id=self._id, drafts=request.drafts, nonce=nonce
        )
        entries = root.batch.entries
        record = record_entries(
            self._table, request.idempotency_key, group_id=self._id, conversation_id=self._id, entries=entries
        )
        return PreparedCreation(
            [*record, *root_parts(self._table, root, nonce=nonce)], entries, self._id, root.cached
        )

    def _append(self, cached: CachedConversation) -> list[Entry]:
        """Append in one transaction. Raises ConditionFailed when what was cached is out of date."""
        table, caller, request = self._table, self._caller, self._request
        table.refuse_if_full(cached.group_id)
        client = caller.client_id
        epoch = (cached.epoch_of(client) if client else None) or NO_EPOCH
        batch = mint_batch(
            table, request.drafts, conversation_id=self._id, caller=caller, after=cached.tip, epoch=epoch
        )
        where = {"group_id": cached.group_id, "conversation_id": self._id}
        is_owner = caller.user_id == cached.owner
        move = head_move(
            batch,
            owner=caller.user_id if is_owner else None,
            titled=cached.titled,
            **where,
        )
        minimum = AccessLevel.WRITER
        title = batch.title if move.titles else None
        writes = [
            *record_entries(table, request.idempotency_key, entries=batch.entries, **where),
            *batch_parts(batch, group_id=cached.group_id, nonce=self._nonce),
            parts.conversation.move_head(move),
            *([] if is_owner else [parts.member.check(cached.group_id, caller.user_id, minimum)]),
            *context_parts(batch, caller=caller, epoch=epoch, **where),
            *([parts.conversation.set_title(title=title, **where)] if title else []),
        ]
        try:
            table.commit(writes)
        except ConditionFailed as refused:
            if not is_own_first_attempt(refused, self._nonce):
                raise
        now_cached = replace(cached, tip=batch.tip, titled=cached.titled or batch.title is not None)
        if client and batch.context:
            now_cached = now_cached.with_epoch(client, epoch_after(batch, epoch))
        table.cache.put(self._id, now_cached)
        return batch.entries

    def _decide_again(
        self, cached: CachedConversation, refused: ConditionFailed
    ) -> CachedConversation | None:
        """Return better facts for the next attempt; None to look the conversation up.

        Raises what the caller is told when the refusal is final.
        """
        table, request = self._table, self._request
        for kind in refused.kinds:
            match kind:
                case PartKind.IDEMPOTENCY:
                    raise_if_recorded(table, request.idempotency_key, refused, caller=self._caller)
                case PartKind.ENTRY:
                    return cached
                case PartKind.HEAD:
                    head = refused.head()
                    if head is None:
                        table.cache.forget(self._id)
                        return None
                    return replace(cached, owner=head.owner, tip=head.tip, titled=not head.untitled)
                case PartKind.MEMBER:
                    raise ForbiddenError("this needs the access level 'writer'") from refused
                case PartKind.CONTEXT:
                    epoch = refused.epoch()
                    if epoch is not None and self._caller.client_id:
                        return cached.with_epoch(self._caller.client_id, epoch)
        return cached


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins: after or before an entry, or at the end of the view. At most one is given."""

    after: EntryId | None = None
    before: EntryId | None = None
    tail: bool = False

    @property
    def backward(self) -> bool:
        return self.tail or self.before is not None

    @property
    def entry_ids(self) -> list[EntryId]:
        return [entry_id for entry_id in (self.after, self.before) if entry_id is not None]


@dataclass(frozen=True, slots=True)
class ListEntriesRequest:
    """What to list.

    channel None: all that the caller may see. up_to: the view as it ended with that entry.

    epoch: with Channel.CONTEXT only: one, every one, or the latest that is shown.
    """

    conversation_id: str
    cut: PageStart
    limit: int
    channel: Channel | None = None
    epoch: int | Literal["latest", "all"] = "latest"
    up_to: EntryId | None = None
    all_forks: bool = False


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries, oldest first, and the positions to go on from; None where the list ends."""

    entries: list[Entry]
    after: EntryId | None
    before: EntryId | None


def list_entries(table: Table, *, caller: Caller, request: ListEntriesRequest) -> EntryPage:
    """Return a page of what the conversation shows, or with `all_forks` of its whole tree.

    Raises NotFoundError, ForbiddenError if the caller is not a member or asks for context that is not theirs,
    InvalidCursorError if a position is not of an entry of the unfiltered view.
    """
    cut, client = request.cut, caller.client_id
    wants_context = request.channel is Channel.CONTEXT
    named = [*cut.entry_ids, *([request.up_to] if request.up_to else [])]
    found = look_up(
        table,
        request.conversation_id,
        caller=caller,
        extras=TreeExtras(entries=tuple(named), context_of=client if wants_context else None),
    )
    loaded = found.require(request.conversation_id, AccessLevel.READER)
    show = _filter(caller, request, loaded)
    group_id = loaded.group.group_id
    # The view as it was when HEAD was read: what is appended while ranges are read side by side may be in one
    # of them and not in another.
    end = request.up_to or (LAST if request.all_forks else loaded.head.last)
    window = Window(stop=LAST if end == LAST else ids.next_id(end))
    lasts = loaded.head.lasts
    for entry_id in named:
        stored = found.found.entry(group_id, entry_id)
        if stored is None or not _is_position(stored, loaded, window, request.all_forks):
            raise InvalidCursorError
        entry = stored.entry
        if entry_id == cut.before:
            lasts = entry.after
        elif entry_id == request.up_to and not cut.before:
            lasts = entry.after.moved(entry.channel, entry_id)
    own = found.found.context(group_id, request.conversation_id, client) if client else None
    show, window, latest = _current(table, request, loaded, show, window, lasts, own)
    last = [*(lasts.of(channel) for channel in show.channels), latest.last]
    if cut.after:
        window = window.clipped(ids.next_id(cut.after), ids.LAST)
    if cut.before:
        window = window.clipped(ids.FIRST, cut.before)
    if request.all_forks:
        page = views.read_tree(
            table,
            group_id,
            show=show,
            limit=request.limit,
            window=window,
            backward=cut.backward,
            last=last,
            may_be_cut=True,
        )
    else:
        view = latest.shown
        page = views.read_view(
            table,
            group_id,
            view,
            show=show,
            limit=request.limit,
            window=window.clipped(ids.FIRST, ancestry.floor_of(view)),
            backward=cut.backward,
            own_entries=_own_entries(loaded, show) if not named and view == loaded.view else None,
            last=last,
            may_be_cut=True,
        )
    return _in_order(table, group_id, page, cut)


def _filter(caller: Caller, request: ListEntriesRequest, loaded: LoadedConversation) -> Filter:
    """Return what the caller is shown. Raises ForbiddenError for context that is not theirs."""
    if caller.bypasses_membership:
        return Filter((request.channel,) if request.channel else tuple(Channel), any_client=True)
    bound_to = loaded.conversation.client_id
    if request.channel is Channel.CONTEXT:
        access.require_context(caller, bound_to=bound_to)
        return Filter((Channel.CONTEXT,), caller.client_id)
    if request.channel is None and access.may_use_context(caller, bound_to=bound_to):
        return Filter((Channel.HISTORY, Channel.CONTEXT), caller.client_id)
    return Filter((Channel.HISTORY,))


def _current(
    table: Table,
    request: ListEntriesRequest,
    loaded: LoadedConversation,
    show: Filter,
    window: Window,
    lasts: Lasts,
    own: ClientContext | None,
) -> tuple[Filter, Window, Latest]:
    """Return the filter, the window, and the part of the view narrowed to what may hold what is asked for.

    lasts: what is shown last. own: the client's CTX in the conversation, which says where the latest epoch
    begins, so that older ones cost nothing. Without it the conversation itself has no context of the client,
    so that the context of others costs nothing. For the view as it once was, what the CTX items along it say
    is compared with it. A list of both channels goes by what is shown alone: a CTX that shows late would let
    it pass an entry.
    """
    client, group_id, whole = show.client_id, loaded.group.group_id, Latest(shown=loaded.view)
    if client is None:
        return show, window, whole
    if request.channel is not Channel.CONTEXT:
        has_none = lasts.context is None and not request.all_forks
        return (replace(show, channels=(Channel.HISTORY,)) if has_none else show), window, whole
    if request.all_forks:
        if request.epoch != "latest":
            return replace(show, epoch=None if request.epoch == "all" else request.epoch), window, whole
        number = views.latest_epoch_of_tree(table, group_id, client, window)
        return replace(show, epoch=number), window if number else Window(stop=ids.FIRST), whole
    if own is None:
        latest = views.latest_epoch(table, group_id, loaded.path, client, window)
    elif request.epoch != "latest" or (request.up_to is None and own.last <= loaded.head.last):
        latest = replace(whole, epoch=own.epoch)
    else:
        latest = views.latest_epoch(table, group_id, loaded.view, client, window)
    if request.epoch != "latest":
        return replace(show, epoch=None if request.epoch == "all" else request.epoch), window, latest
    epoch = latest.epoch
    return replace(show, epoch=epoch.number), window.clipped(epoch.first or ids.FIRST, ids.LAST), latest


def _own_entries(loaded: LoadedConversation, show: Filter) -> int:
    head = loaded.head
    counts = {Channel.HISTORY: head.history, Channel.CONTEXT: head.context}
    return sum(counts[channel] for channel in show.channels)


def _is_position(stored: StoredEntry, loaded: LoadedConversation, window: Window, all_forks: bool) -> bool:
    """Tell whether the entry is in the unfiltered view, or in the tree, and not after the window."""
    entry = stored.entry
    if entry.entry_id >= window.stop:
        return False
    return all_forks or ancestry.shows(
        loaded.view, conversation_id=entry.conversation_id, entry_id=entry.entry_id
    )


def _in_order(table: Table, group_id: str, page: views.Page, cut: PageStart) -> EntryPage:
    """Return the page oldest first, with the position on either side of it.

    Raises UnavailableError where it is cut off before its first entry, and no cursor says where to go on.
    """
    resume = page.resume
    if page.is_cut and resume is None:
        resume = cut.before or cut.after
        if resume is None:
            raise UnavailableError("something that was written cannot be read yet; try again")
    stored = page.entries[::-1] if cut.backward else page.entries
    entries = table.with_bodies(group_id, stored)
    if cut.backward:
        newest = entries[-1].entry_id if entries else cut.before
        return EntryPage(entries, after=newest if cut.before else None, before=resume)
    oldest = entries[0].entry_id if entries else cut.after
    return EntryPage(entries, after=resume, before=oldest if cut.after else None)

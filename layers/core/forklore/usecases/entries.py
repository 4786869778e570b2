"""Append entries, and page through what a conversation shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from forklore.domain import access, ancestry, ids, keys
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
from forklore.errors import (
    ConflictError,
    ForbiddenError,
    InvalidCursorError,
    NotFoundError,
    UnavailableError,
)
from forklore.storage import items
from forklore.storage.connection import Item, Refused
from forklore.storage.items import StoredEntry
from forklore.storage.known import Facts
from forklore.storage.table import Table
from forklore.storage.writes import CONTEXT, HEAD, IDEMPOTENCY, MEMBER, is_entry
from forklore.usecases import views
from forklore.usecases.children import ChildRequest, start_child
from forklore.usecases.creating import Plan, create
from forklore.usecases.drafts import (
    Draft,
    check_fits,
    epoch_after,
    has_context,
    head_move,
    is_own_first_attempt,
    mint_batch,
    require_match,
    write_batch,
    write_context,
)
from forklore.usecases.forks import ForkRequest, fork_with_entries
from forklore.usecases.idempotency import (
    AnsweredBefore,
    Once,
    entries_again,
    keys_of,
    raise_if_answered,
    raise_if_recorded,
    record_entries,
)
from forklore.usecases.opening import Opened, find
from forklore.usecases.roots import plan_root, write_root
from forklore.usecases.views import Filter, Latest

ATTEMPTS_MAX = 64
"""Times that an append is decided again on what others have written meanwhile."""
PAUSES_MAX = 4
"""Pauses between these get longer up to this one, so that many writers take turns soon."""
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
    once: Once | None = None


def append_entries(table: Table, *, caller: Caller, request: Append) -> list[Entry]:
    """Append; a conversation that does not exist is created: as a root, a fork or a child.

    Raises NotFoundError if the conversation is deleted, ForbiddenError below writer or for another client's
    context, ConflictError if `if_match` is not the last history entry, an epoch is over or the conversation
    is no such fork or child, PayloadTooLargeError, GroupFullError.
    """
    check_fits(request.drafts)
    try:
        return _Appending(table, caller, request).run()
    except AnsweredBefore as before:
        return entries_again(table, before.replay)


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
        facts = self._known()
        for attempt in range(ATTEMPTS_MAX):
            # What this process knew may just have been old: the second attempt follows at once.
            self._table.pause(min(max(attempt - 1, 0), PAUSES_MAX))
            if facts is None:
                entries = self._create_if_new()
                if entries is not None:
                    return entries
                facts = self._known()
                continue
            try:
                with self._table.turn(self._id):
                    return self._append(self._matching(self._newest(facts)))
            except Refused as refused:
                facts = self._decide_again(facts, refused)
            except ConflictError:
                self._open()
                raise
        raise UnavailableError("the conversation is busy; try again")

    def _newest(self, facts: Facts) -> Facts:
        """Return the facts with what another thread of this process has appended meanwhile."""
        known = self._table.known.get(self._id)
        if known is None or known.tip.last <= facts.tip.last:
            return facts
        return replace(facts, tip=known.tip, titled=known.titled)

    def _matching(self, facts: Facts) -> Facts:
        """Return facts whose last history entry is that of the caller's If-Match.

        HEAD holds the append to the last entry of the facts, so nothing more is asked of it.
        Raises ConflictError if it is another.
        """
        if self._request.if_match in (None, facts.tip.shown.history):
            return facts
        head = self._open().head
        require_match(self._request.if_match, head.last_history)
        return replace(facts, tip=head.tip)

    def _open(self) -> Opened:
        """Return the conversation as it is now.

        Raises AnsweredBefore, NotFoundError or ForbiddenError where they are due, before any 409.
        """
        once = self._request.once
        found = find(self._table, self._id, caller=self._caller, beside=keys_of(once))
        raise_if_answered(self._table, once, found.beside, caller=self._caller)
        return found.require(self._id, AccessLevel.WRITER)

    def _known(self) -> Facts | None:
        """Return the facts that the append can be tried on without reading."""
        facts = self._table.known.get(self._id) if self._is_what_it_says else None
        if facts is None or not has_context(self._request.drafts):
            return facts
        client = self._caller.client_id
        return facts if client is not None and facts.epoch_of(client) is not None else None

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
            made = fork_with_entries(table, caller=caller, request=fork, once=request.once)
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
            made = start_child(table, caller=caller, request=child, once=request.once)
            if made is not None:
                return made
        client = caller.client_id
        found = find(
            table,
            self._id,
            caller=caller,
            beside=keys_of(request.once),
            in_group=lambda group_id: [keys.context(group_id, self._id, client)] if client else [],
        )
        raise_if_answered(table, request.once, found.beside, caller=caller)
        if not found.exists and request.fork is not None:
            raise NotFoundError("no such conversation to fork")
        if not found.exists and request.start is not None:
            raise NotFoundError("no such conversation to be started by")
        if not found.exists:
            return create(table, self._plan_root, caller=caller, once=request.once)
        opened = found.require(self._id, AccessLevel.WRITER)
        self._require_lineage(opened.conversation)
        if has_context(request.drafts):
            access.require_context(caller, bound_to=opened.conversation.client_id)
            assert client is not None
            item = found.beside.get(keys.context(opened.group.group_id, self._id, client))
            self._learn_epoch(opened, client, items.epoch(item) if item else None)
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

    def _learn_epoch(self, opened: Opened, client: str, own: Epoch | None) -> None:
        """Note the client's latest epoch in the view: that of its CTX, or else what the path shows."""
        group_id = opened.group.group_id
        epoch = own or views.latest_epoch(self._table, group_id, opened.path, client).epoch
        facts = self._table.known.get(self._id)
        if facts is not None:
            self._table.known.put(self._id, facts.with_epoch(client, epoch))

    def _plan_root(self, nonce: str) -> Plan[list[Entry]]:
        """Plan a new tree whose first conversation begins with the entries."""
        request = self._request
        require_match(request.if_match, None)
        root = plan_root(
            self._table, self._caller, conversation_id=self._id, drafts=request.drafts, nonce=nonce
        )
        entries = root.batch.entries
        record = record_entries(
            self._table, request.once, group_id=self._id, conversation_id=self._id, entries=entries
        )
        return Plan([*record, *write_root(self._table, root, nonce=nonce)], entries, self._id, root.facts)

    def _append(self, facts: Facts) -> list[Entry]:
        """Append in one transaction. Raises Refused when the facts are out of date or do not allow it."""
        table, caller, request = self._table, self._caller, self._request
        table.refuse_if_full(facts.group_id)
        client = caller.client_id
        epoch = (facts.epoch_of(client) if client else None) or NO_EPOCH
        batch = mint_batch(
            table, request.drafts, conversation_id=self._id, caller=caller, after=facts.tip, epoch=epoch
        )
        where = {"group_id": facts.group_id, "conversation_id": self._id}
        is_owner = caller.user_id == facts.owner
        move = head_move(
            batch,
            owner=caller.user_id if is_owner else None,
            titled=facts.titled,
            **where,
        )
        least = AccessLevel.WRITER
        writes = [
            *record_entries(table, request.once, entries=batch.entries, **where),
            *write_batch(table, batch, group_id=facts.group_id, nonce=self._nonce),
            table.write.move_head(move),
            *([] if is_owner else [table.write.check_member(facts.group_id, caller.user_id, least)]),
            *write_context(table, batch, caller=caller, epoch=epoch, **where),
            *([table.write.set_title(title=batch.title, **where)] if move.titles and batch.title else []),
        ]
        try:
            table.commit(writes)
        except Refused as refused:
            if not is_own_first_attempt(refused, self._nonce):
                raise
        now_known = replace(facts, tip=batch.tip, titled=facts.titled or batch.title is not None)
        if client and batch.context:
            now_known = now_known.with_epoch(client, epoch_after(batch, epoch))
        table.known.put(self._id, now_known)
        return batch.entries

    def _decide_again(self, facts: Facts, refused: Refused) -> Facts | None:
        """Return better facts for the next attempt; None to look the conversation up.

        Raises what the caller is told when the refusal is final.
        """
        table, request = self._table, self._request
        for name, item in refused.failed.items():
            if name == IDEMPOTENCY:
                raise_if_recorded(table, request.once, refused, caller=self._caller)
            elif is_entry(name):
                return facts
            elif name == HEAD:
                if item is None:
                    table.known.forget(self._id)
                    return None
                head = items.head(item)
                return replace(facts, owner=head.owner, tip=head.tip, titled=not head.untitled)
            elif name == MEMBER:
                raise ForbiddenError("this needs the access level 'writer'") from refused
            elif name == CONTEXT and item is not None and self._caller.client_id:
                return facts.with_epoch(self._caller.client_id, items.epoch(item))
        return facts


@dataclass(frozen=True, slots=True)
class Cut:
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
class Listing:
    """What to list.

    channel None: all that the caller may see. up_to: the view as it ended with that entry.

    epoch: with Channel.CONTEXT only: one, every one, or the latest that is shown.
    """

    conversation_id: str
    cut: Cut
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


def list_entries(table: Table, *, caller: Caller, request: Listing) -> EntryPage:
    """Return a page of what the conversation shows, or with `all_forks` of its whole tree.

    Raises NotFoundError, ForbiddenError if the caller is not a member or asks for context that is not theirs,
    InvalidCursorError if a position is not of an entry of the unfiltered view.
    """
    cut, client = request.cut, caller.client_id
    wants_context = request.channel is Channel.CONTEXT
    named = [*cut.entry_ids, *([request.up_to] if request.up_to else [])]
    found = find(
        table,
        request.conversation_id,
        caller=caller,
        in_group=lambda group_id: [
            *(keys.entry(group_id, entry_id) for entry_id in named),
            *([keys.context(group_id, request.conversation_id, client)] if client and wants_context else []),
        ],
    )
    opened = found.require(request.conversation_id, AccessLevel.READER)
    show = _filter(caller, request, opened)
    group_id = opened.group.group_id
    # The view as it was when HEAD was read: what is appended while ranges are read side by side may be in one
    # of them and not in another.
    end = request.up_to or (LAST if request.all_forks else opened.head.last)
    window = Window(stop=LAST if end == LAST else ids.next_id(end))
    lasts = opened.head.lasts
    for entry_id in named:
        item = found.beside.get(keys.entry(group_id, entry_id))
        if item is None or not _is_position(items.stored_entry(item), opened, window, request.all_forks):
            raise InvalidCursorError
        entry = items.stored_entry(item).entry
        if entry_id == cut.before:
            lasts = entry.after
        elif entry_id == request.up_to and not cut.before:
            lasts = entry.after.moved(entry.channel, entry_id)
    own = found.beside.get(keys.context(group_id, request.conversation_id, client)) if client else None
    show, window, latest = _current(table, request, opened, show, window, lasts, own)
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
            own_entries=_own_entries(opened, show) if not named and view == opened.view else None,
            last=last,
            may_be_cut=True,
        )
    return _in_order(table, group_id, page, cut)


def _filter(caller: Caller, request: Listing, opened: Opened) -> Filter:
    """Return what the caller is shown. Raises ForbiddenError for context that is not theirs."""
    if caller.sees_all:
        return Filter((request.channel,) if request.channel else tuple(Channel), any_client=True)
    bound_to = opened.conversation.client_id
    if request.channel is Channel.CONTEXT:
        access.require_context(caller, bound_to=bound_to)
        return Filter((Channel.CONTEXT,), caller.client_id)
    if request.channel is None and access.may_use_context(caller, bound_to=bound_to):
        return Filter((Channel.HISTORY, Channel.CONTEXT), caller.client_id)
    return Filter((Channel.HISTORY,))


def _current(
    table: Table,
    request: Listing,
    opened: Opened,
    show: Filter,
    window: Window,
    lasts: Lasts,
    own: Item | None,
) -> tuple[Filter, Window, Latest]:
    """Return the filter, the window, and the part of the view narrowed to what may hold what is asked for.

    lasts: what is shown last. own: the client's CTX in the conversation, which says where the latest epoch
    begins, so that older ones cost nothing. Without it the conversation itself has no context of the client,
    so that the context of others costs nothing. For the view as it once was, what the CTX items along it say
    is compared with it. A list of both channels goes by what is shown alone: a CTX that shows late would let
    it pass an entry.
    """
    client, group_id, whole = show.client_id, opened.group.group_id, Latest(shown=opened.view)
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
        latest = views.latest_epoch(table, group_id, opened.path, client, window)
    elif request.epoch != "latest" or (request.up_to is None and items.last_context(own) <= opened.head.last):
        latest = replace(whole, epoch=items.epoch(own))
    else:
        latest = views.latest_epoch(table, group_id, opened.view, client, window)
    if request.epoch != "latest":
        return replace(show, epoch=None if request.epoch == "all" else request.epoch), window, latest
    epoch = latest.epoch
    return replace(show, epoch=epoch.number), window.clipped(epoch.first or ids.FIRST, ids.LAST), latest


def _own_entries(opened: Opened, show: Filter) -> int:
    head = opened.head
    counts = {Channel.HISTORY: head.history, Channel.CONTEXT: head.context}
    return sum(counts[channel] for channel in show.channels)


def _is_position(stored: StoredEntry, opened: Opened, window: Window, all_forks: bool) -> bool:
    """Tell whether the entry is in the unfiltered view, or in the tree, and not after the window."""
    entry = stored.entry
    if entry.entry_id >= window.stop:
        return False
    return all_forks or ancestry.shows(
        opened.view, conversation_id=entry.conversation_id, entry_id=entry.entry_id
    )


def _in_order(table: Table, group_id: str, page: views.Page, cut: Cut) -> EntryPage:
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

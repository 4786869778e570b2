"""What an agent's present context writes: nothing, what is new in it, or a new epoch.

A sync writes it alone. An append that carries it writes it after its entries, in one transaction.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from forklore_service.domain import jsontext
from forklore_service.domain.ancestry import Path, inherited
from forklore_service.domain.epochs import NO_EPOCH, Epoch, decide_sync, digest_of
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Entry
from forklore_service.domain.tree import ClientContext
from forklore_service.errors import ConflictError
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.drafts import Batch, Draft
from forklore_service.usecases.shared.loading import LoadedConversation
from forklore_service.usecases.shared.view_pages import LatestEpoch


class Synced(NamedTuple):
    """What a sync did.

    epoch: the latest now; None without context. entry: None for a no-op. last: the last entry of
    the epoch now; None without context.
    """

    epoch: int | None
    entry: Entry | None
    epoch_incremented: bool
    last: EntryId | None

    @property
    def no_op(self) -> bool:
        return self.entry is None


class Decision(NamedTuple):
    """What a present context writes.

    epoch: the client's latest in the view, before that. draft: the entry to append; None: the
    context is known already. increments: whether the entry begins a new epoch.
    shown_last: the last entry of that epoch in the view; None: there was none.
    last: where the client's CTX ended when it was read; None: there was none.
    """

    epoch: Epoch
    draft: Draft | None
    increments: bool = False
    shown_last: EntryId | None = None
    last: EntryId | None = None

    @property
    def drafts(self) -> list[Draft]:
        return [self.draft] if self.draft else []

    def outcome(self, batch: Batch) -> Synced:
        """Return what was done. batch: what is appended; it ends with the decision's draft."""
        if self.draft is None:
            return Synced(self.epoch.number or None, None, epoch_incremented=False, last=self.shown_last)
        entry = batch.entries[-1]
        return Synced(self.draft.entry.epoch, entry, epoch_incremented=self.increments, last=entry.entry_id)

    def action(self, batch: Batch, *, group_id: str, conversation_id: str, caller: Caller) -> Action:
        """Return the action that moves CTX, or checks it if nothing is written to the context.

        Either way it holds only if CTX still ends where it ended when it was decided on. So the
        decision stays right, whatever else is appended meanwhile.
        """
        assert caller.client_id is not None
        where = (group_id, conversation_id, caller.client_id)
        if self.draft is None:
            return actions.context.check(*where, decided_on=self.last)
        return actions.context.sync(
            *where,
            known=batch.known,
            then=batch.epoch,
            last=batch.entries[-1].entry_id,
            decided_on=self.last,
        )


def decide(
    table: Table, caller: Caller, loaded: LoadedConversation, own: ClientContext | None, present: Draft
) -> Decision | None:
    """Decide what the present context writes to a conversation that exists.

    own: the client's CTX there. None: not all of the context can be read yet. Raises ConflictError
    when a new epoch is needed and none is left, or the present context is based on another one.
    """
    assert caller.client_id is not None
    group_id = loaded.group.group_id
    if own is not None:
        latest = LatestEpoch(own.epoch, loaded.view, own.last)
    else:
        latest = view_pages.latest_epoch(
            table, group_id, loaded.inherited, caller.client_id, shown_last=loaded.head.lasts.context
        )
    return _decide(table, caller, group_id, loaded.conversation.conversation_id, latest, own, present)


def decide_on_nothing(present: Draft) -> Decision:
    """Decide what the present context writes to a new conversation that inherits none of it."""
    draft = present.in_epoch(1) if present.value else None
    return Decision(NO_EPOCH, draft, increments=draft is not None)


def decide_on_inherited(
    table: Table, caller: Caller, present: Draft, *, group_id: str, path: Path, shown_last: EntryId | None
) -> Decision | None:
    """Decide what the present context writes to a new fork.

    path: the fork's. shown_last: the last context entry that it inherits. None: not all of the
    context can be read yet. Raises ConflictError as `decide`.
    """
    assert caller.client_id is not None, "a plain user has no context"
    latest = view_pages.latest_epoch(
        table, group_id, inherited(path), caller.client_id, shown_last=shown_last
    )
    if latest.epoch == NO_EPOCH:
        return decide_on_nothing(present)
    return _decide(table, caller, group_id, None, latest, None, present)


def _decide(
    table: Table,
    caller: Caller,
    group_id: str,
    conversation_id: str | None,
    latest: LatestEpoch,
    own: ClientContext | None,
    present: Draft,
) -> Decision | None:
    """Decide on an epoch. conversation_id: whose own entries `own` counts; None: a new one.

    Nothing of the context is read if its digest is known.
    """
    epoch = latest.epoch
    if epoch.digest is None:
        assert caller.client_id is not None
        entries = view_pages.entries_of_epoch(table, group_id, latest, caller.client_id)
        known = _KnownEntries(conversation_id, entries)
        try:
            epoch = epoch._replace(digest=digest_of(known.elements()))
        except view_pages.NotReadableYetError:
            return None
        # A transaction becomes visible item by item. A sync must decide on the whole context.
        if not known.are_those_of(own):
            return None
    assert epoch.digest is not None
    sync = decide_sync(epoch.digest, present.value, epoch=epoch.number)
    last = own.last if own else None
    if sync is None:
        return Decision(epoch, None, shown_last=latest.last, last=last)
    if sync.increments and present.based_on not in (None, latest.last):
        raise ConflictError(
            "the stored context is not the one that this context goes on from: read it again",
            reason="context_moved",
            latestEpoch=epoch.number,
        )
    rest = jsontext.elements_of(present.content, sync.start)
    return Decision(epoch, present.in_epoch(sync.epoch, rest), sync.increments, latest.last, last)


class _KnownEntries:
    """An epoch's entries while they are read. Their elements are handed on and not kept."""

    def __init__(self, conversation_id: str | None, entries: Iterable[Entry]) -> None:
        self._conversation_id = conversation_id
        self._entries = entries
        self._own = 0
        self._last: EntryId | None = None

    def elements(self) -> Iterator[Any]:
        """Yield the elements of all entries. One entry at a time is in memory."""
        for entry in self._entries:
            if entry.conversation_id == self._conversation_id:
                self._own += 1
                self._last = entry.entry_id
            yield from jsontext.read_value(entry.content)

    def are_those_of(self, context: ClientContext | None) -> bool:
        """Tell whether all own entries were read that the client's CTX counts.

        None: it counts none.
        """
        if context is None:
            return self._own == 0
        return (self._own, self._last) == (context.entries, context.last)

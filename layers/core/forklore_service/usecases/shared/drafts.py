"""Drafts become entries with ids, and the actions that add them to HEAD and CTX."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from forklore_service.domain import access, content
from forklore_service.domain.ancestry import Path, inherited
from forklore_service.domain.attachments import NamedFile
from forklore_service.domain.epochs import NO_ELEMENTS, NO_EPOCH, Epoch, digest_of
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import (
    Caller,
    Channel,
    Entry,
    Head,
    LastEntries,
    Metrics,
    Tip,
    TokenUsage,
    Words,
)
from forklore_service.domain.spelling import json_fields
from forklore_service.domain.turns import with_turns
from forklore_service.errors import ConflictError, PayloadTooLargeError
from forklore_service.limits import ENTRY_BYTES_MAX, ESCAPED_BYTES_MAX, PAGE_BYTES_MAX, escaped_size
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages

ENVELOPE_BYTES = 400
"""About how many bytes an entry's other members take: ids, time, names."""
ATTACHED_BYTES = 4_000
"""At most about so many bytes of an answer show an attachment, most of them for its link."""
_NOT_COUNTED = {"conversation_id", "key", "indexed_content"}
"""Texts of an entry that are in those bytes, and the one that no answer shows."""
_TEXTS = [
    name
    for name, held in Entry.__annotations__.items()
    if held in (str, str | None) and name not in _NOT_COUNTED
]
_JSON_TEXTS = json_fields(Entry)
TRANSACTION_BYTES_MAX = 3_900_000
"""Less than the 4 MB of a transaction, so that the small items fit in, too."""
TRANSACTION_WRITES_MAX = 100
OTHER_WRITES_MAX = 12
"""At most so many actions of a transaction do not put entries. A staged child has all of them."""


class Draft(NamedTuple):
    """An entry to append.

    entry: without its ids. Without a user it is the caller's. epoch None: a context entry joins its
    client's latest epoch. value: its content. used: what it adds to the metrics.
    based_on: of a present context, the last context entry that it goes on from, if its author says.
    files: the attachments that its content names, as its author says.
    """

    entry: Entry
    value: Any
    used: TokenUsage = TokenUsage()
    based_on: str | None = None
    files: Sequence[NamedFile] = ()

    @classmethod
    def of(
        cls,
        channel: Channel,
        content_type: str,
        content: JsonText,
        *,
        used: TokenUsage | None = None,
        based_on: str | None = None,
        files: Sequence[NamedFile] = (),
        **more: Any,
    ) -> "Draft":
        """Return the draft. more: other fields of the entry."""
        entry = Entry(FIRST, "", more.pop("user_id", ""), channel, content_type, content.text, **more)
        return cls(entry, content.value, used or TokenUsage(), based_on, files)

    @property
    def content(self) -> JsonText:
        return JsonText(self.entry.content, self.value)

    @property
    def text(self) -> str | None:
        return content.history_text(self.value) if self.entry.channel is Channel.HISTORY else None

    @property
    def preview(self) -> str | None:
        """What a preview shows. The names of uploads are known behind `with_attachments`."""
        is_history = self.entry.channel is Channel.HISTORY
        return content.preview_text(self.value, self.entry.attachments) if is_history else None

    def in_epoch(self, epoch: int, content: JsonText | None = None) -> "Draft":
        """Return the draft for that epoch, with other content if it is given."""
        text, value = content or self.content
        return self._replace(entry=self.entry._replace(epoch=epoch, content=text), value=value)


def has_context(drafts: Sequence[Draft]) -> bool:
    return any(draft.entry.channel is Channel.CONTEXT for draft in drafts)


def require_own_context(caller: Caller, drafts: Sequence[Draft], present: Draft | None) -> None:
    """Raise ForbiddenError if a plain user gives a new conversation any context.

    An agent may: what it makes is bound to its client. present: its present context.
    """
    if present is not None or has_context(drafts):
        access.require_context(caller, bound_to=None)


def check_fits(drafts: Sequence[Draft]) -> None:
    """Raise PayloadTooLargeError for an entry or a batch that no answer could hold."""
    characters = sum(len(draft.entry.content) + len(draft.entry.metadata or "") for draft in drafts)
    if characters * ESCAPED_BYTES_MAX <= ENTRY_BYTES_MAX:
        return
    sizes = [escaped_size(draft.entry.content) for draft in drafts]
    beside = [escaped_size(draft.entry.metadata or "") for draft in drafts]
    if max(sizes) > ENTRY_BYTES_MAX:
        raise PayloadTooLargeError(f"an entry's content is at most {ENTRY_BYTES_MAX} bytes as escaped JSON")
    if sum(sizes) + sum(beside) > PAGE_BYTES_MAX:
        raise PayloadTooLargeError(
            f"a batch's content and metadata are at most {PAGE_BYTES_MAX} bytes as escaped JSON"
        )


class Batch(NamedTuple):
    """Entries with ids, in order, and the drafts that they were made of. It may be empty.

    after, known: the tip that they follow, and the client's latest epoch before them.
    tip, epoch: the same after them.
    """

    drafts: Sequence[Draft]
    entries: list[Entry]
    after: Tip
    known: Epoch
    tip: Tip
    epoch: Epoch

    @property
    def first(self) -> EntryId:
        return self.entries[0].entry_id

    @property
    def title(self) -> Words | None:
        """The title that these entries give an untitled conversation; None if they hold no text."""
        said = zip((draft.text for draft in self.drafts), self.entries, strict=True)
        return _first_words(said, content.TITLE_CHARACTERS)

    @property
    def preview(self) -> Words | None:
        backward = (draft.preview for draft in reversed(self.drafts))
        return _first_words(zip(backward, reversed(self.entries), strict=True), content.PREVIEW_CHARACTERS)

    @property
    def metrics(self) -> Metrics:
        return Metrics(len(self.entries), TokenUsage.total(draft.used for draft in self.drafts))

    @property
    def history(self) -> int:
        return sum(entry.channel is Channel.HISTORY for entry in self.entries)

    @property
    def context(self) -> int:
        return len(self.entries) - self.history


def _first_words(said: Iterable[tuple[str | None, Entry]], characters: int) -> Words | None:
    """Return how the first text begins; None if there is none."""
    return next((Words(text, entry.user_id).beginning(characters) for text, entry in said if text), None)


def mint_batch(
    table: Table,
    drafts: Sequence[Draft],
    *,
    conversation_id: str,
    caller: Caller,
    after: Tip,
    epoch: Epoch,
    linked: bool = True,
) -> Batch:
    """Return the drafts as entries that follow `after`, each with what is shown last before it.

    epoch: the client's latest in the view. linked: whether they are answered, with links.
    Raises ConflictError for a lower epoch.
    """
    entries = []
    latest, tip = epoch.number, after
    for draft in drafts:
        entry, entry_id = draft.entry, table.mint(tip.last)
        own_epoch = None
        if entry.channel is Channel.CONTEXT:
            own_epoch = max(latest, 1) if entry.epoch is None else entry.epoch
            if own_epoch < latest:
                raise ConflictError(
                    f"epoch {own_epoch} is over; the latest is {latest}",
                    reason="epoch_over",
                    latestEpoch=latest,
                )
            latest = own_epoch
        entries.append(
            entry._replace(
                entry_id=entry_id,
                conversation_id=conversation_id,
                user_id=entry.user_id or caller.user_id,
                client_id=entry.client_id if entry.user_id else caller.client_id,
                epoch=own_epoch,
                after=tip.lasts,
                attachments=table.linked(entry.attachments) if linked else entry.attachments,
            )
        )
        tip = Tip(entry_id, tip.lasts.moved(entry.channel, entry_id))
    return Batch(drafts, with_turns(entries), after, epoch, tip, _epoch_after(drafts, entries, epoch))


def _epoch_after(drafts: Sequence[Draft], entries: Sequence[Entry], epoch: Epoch) -> Epoch:
    """Return the client's latest epoch after the entries. epoch: the latest before them."""
    own = [entry for entry in entries if entry.channel is Channel.CONTEXT]
    if not own:
        return epoch
    latest = own[-1].epoch or 0
    begins = next(entry.entry_id for entry in own if entry.epoch == latest)
    contents = [
        draft.value
        for draft, entry in zip(drafts, entries, strict=True)
        if entry.channel is Channel.CONTEXT and entry.epoch == latest
    ]
    starts = latest > epoch.number
    known = NO_ELEMENTS if starts else epoch.digest
    digest = None if known is None else digest_of(chain.from_iterable(contents), after=known)
    return Epoch(latest, begins if starts else epoch.first or begins, digest)


def head_over(head: Head, batch: Batch) -> Head:
    """Return a new conversation's HEAD with the batch already appended."""
    if not batch.entries:
        return head
    preview = batch.preview
    return head._replace(
        first=batch.first,
        last=batch.tip.last,
        lasts=batch.tip.lasts,
        history=batch.history,
        context=batch.context,
        metrics=Metrics(
            head.metrics.entries + batch.metrics.entries,
            TokenUsage.total([head.metrics.usage, batch.metrics.usage]),
        ),
        preview=head.preview if preview is None else preview,
    )


def matches(if_match: EntryId | None, lasts: LastEntries) -> bool:
    """Tell whether the caller named no entry, or the last one that is shown.

    The last one of the history will do, too.
    """
    return if_match is None or if_match in (lasts.history, lasts.last)


def require_match(if_match: EntryId | None, lasts: LastEntries) -> None:
    """Raise ConflictError if the caller named an entry, and neither last one."""
    if not matches(if_match, lasts):
        raise ConflictError("the conversation has moved on", reason="stale", lastEntryId=lasts.history)


def first_epoch(table: Table, caller: Caller, drafts: Sequence[Draft], *, group_id: str, path: Path) -> Epoch:
    """Return the client's latest epoch in what a new conversation inherits."""
    if not has_context(drafts):
        return NO_EPOCH
    assert caller.client_id is not None, "a plain user has no context"
    return view_pages.latest_epoch(table, group_id, inherited(path), caller.client_id).epoch


def batch_actions(batch: Batch, *, group_id: str, nonce: str) -> list[Action]:
    """Return the actions that put the entries, their chunks and keys, and what they name.

    Raises PayloadTooLargeError when they do not fit into one transaction.
    """
    puts: list[Action] = []
    for entry in batch.entries:
        puts += actions.entry.put(group_id, entry, nonce=nonce, escaped_bytes=answer_bytes(entry))
        if entry.key is not None:
            puts.append(actions.entry.claim_key(group_id, entry, entry.key))
    puts += actions.attachment.name(group_id, batch.entries)
    size = actions.entry.body_bytes(puts)
    if size > TRANSACTION_BYTES_MAX or len(puts) > TRANSACTION_WRITES_MAX - OTHER_WRITES_MAX:
        raise PayloadTooLargeError("too much for one request; append it in parts")
    return puts


def require_room(writes: Sequence[Action]) -> None:
    """Raise PayloadTooLargeError for more actions than one transaction holds."""
    if len(writes) > TRANSACTION_WRITES_MAX:
        raise PayloadTooLargeError("too much for one request; append it in parts")


def answer_bytes(entry: Entry) -> int:
    """Return about how many bytes of an answer the entry takes, as escaped."""
    own = [getattr(entry, name) for name in _TEXTS]
    texts = [getattr(entry, name) or "" for name in _JSON_TEXTS]
    attached = ATTACHED_BYTES * len(entry.attachments)
    return ENVELOPE_BYTES + attached + sum(map(escaped_size, [*texts, json.dumps(own)]))


def context_actions(batch: Batch, *, group_id: str, conversation_id: str, caller: Caller) -> list[Action]:
    """Return the action that moves the client's CTX over the context entries; nothing without any.

    If the entries join an inherited epoch, CTX begins where that epoch does.
    """
    own = [entry for entry in batch.entries if entry.channel is Channel.CONTEXT]
    if not own or caller.client_id is None:
        return []
    epochs = [entry.epoch or 0 for entry in own]
    return [
        actions.context.append(
            group_id,
            conversation_id,
            caller.client_id,
            known=batch.known,
            then=batch.epoch,
            lowest=epochs[0],
            last=own[-1].entry_id,
            added=epochs.count(batch.epoch.number),
        )
    ]

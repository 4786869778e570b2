"""What DynamoDB answers when the conditions of a transaction do not hold, as values."""

from collections.abc import Mapping

from forklore.domain.epochs import Epoch
from forklore.domain.ids import EntryId
from forklore.domain.model import Head, Transfer
from forklore.domain.names import Name
from forklore.domain.tree import Group, IdempotencyRecord, Pointer
from forklore.storage import items
from forklore.storage.connection import Item
from forklore.storage.parts.part import PartId, PartKind


class ConditionFailed(Exception):
    """The conditions of a transaction did not hold. Nothing of it was written.

    failed: the parts that refused, in the order of the transaction, each with the item as it
    stands; None where there is no such item. The methods decode these items.
    """

    def __init__(self, failed: Mapping[PartId, Item | None]) -> None:
        super().__init__(", ".join(f"{kind.name} {of}".rstrip() for kind, of in failed))
        self.failed = failed

    @property
    def kinds(self) -> list[PartKind]:
        """The kinds of the parts that refused, in the order of the transaction."""
        return [part.kind for part in self.failed]

    def has(self, kind: PartKind, of: str | None = None) -> bool:
        """Tell whether a part of the kind refused; with `of`, whether that very part did."""
        return any(part.kind is kind and of in (None, part.of) for part in self.failed)

    def is_absent(self, kind: PartKind) -> bool:
        """Tell whether a part of the kind refused because there is no such item."""
        return self.has(kind) and self._item(kind) is None

    def has_nonce(self, kind: PartKind, nonce: str) -> bool:
        """Tell whether an item of the kind bears this nonce.

        If it does, an earlier attempt of the same request has written it.
        """
        stand = [item for part, item in self.failed.items() if part.kind is kind]
        return any(item is not None and items.nonce(item) == nonce for item in stand)

    def group(self, kind: PartKind = PartKind.GROUP) -> Group | None:
        """Return the tree that refused; None if there is none. kind: GROUP or one like it."""
        item = self._item(kind)
        return items.group(item) if item else None

    def head(self) -> Head | None:
        """Return the HEAD that refused; None if there is none."""
        item = self._item(PartKind.HEAD)
        return items.head(item) if item else None

    def epoch(self) -> Epoch | None:
        """Return the epoch of the client's CTX that refused; None if there is none."""
        item = self._item(PartKind.CONTEXT)
        return items.context(item).epoch if item else None

    def transfer(self) -> Transfer | None:
        """Return the tree's pending transfer that refused; None if there is none."""
        item = self._item(PartKind.TRANSFER)
        return items.transfer(item) if item else None

    def name(self) -> Name | None:
        """Return the name that refused; None if there is none."""
        item = self._item(PartKind.NAME)
        return items.name(item) if item else None

    def keyed_entry(self) -> EntryId | None:
        """Return the entry that has the key that refused."""
        item = self._item(PartKind.ENTRY_KEY)
        return items.keyed_entry(item) if item else None

    def pointer(self, *, now_s: int) -> Pointer | None:
        """Return where the conversation is whose id was refused; None if the id is free by now."""
        item = self._item(PartKind.POINTER)
        return items.pointer(item, now_s=now_s) if item else None

    def lease_holder(self) -> str | None:
        """Return the nonce of the worker that holds the JOB which refused; None without one."""
        item = self._item(PartKind.JOB)
        return items.job(item).holder if item else None

    def idempotency_record(self, *, now_s: int) -> IdempotencyRecord | None:
        """Return the record of an Idempotency-Key that refused; None if there is none any more."""
        item = self._item(PartKind.IDEMPOTENCY)
        return items.idempotency_record(item, now_s=now_s) if item else None

    def _item(self, kind: PartKind) -> Item | None:
        """Return what stands at the first part of the kind that refused."""
        return next((item for part, item in self.failed.items() if part.kind is kind), None)

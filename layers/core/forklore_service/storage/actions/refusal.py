"""What DynamoDB answers when the conditions of a transaction do not hold, as values."""

from collections.abc import Mapping

from forklore_service.domain.answer_logs import Part
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Head, Transfer
from forklore_service.domain.names import Name
from forklore_service.domain.tree import Group, IdempotencyRecord, Pointer
from forklore_service.storage import items
from forklore_service.storage.actions.action import ActionId, ActionKind
from forklore_service.storage.connection import Item


class ConditionFailed(Exception):
    """The conditions of a transaction did not hold. Nothing of it was written.

    failed: the actions that refused, in the order of the transaction, each with the item as it
    stands; None where there is no such item. The methods decode these items.
    """

    def __init__(self, failed: Mapping[ActionId, Item | None]) -> None:
        super().__init__(", ".join(f"{kind.name} {of}".rstrip() for kind, of in failed))
        self.failed = failed

    @property
    def kinds(self) -> list[ActionKind]:
        """The kinds of the actions that refused, in the order of the transaction."""
        return [action.kind for action in self.failed]

    def has(self, kind: ActionKind, of: str | None = None) -> bool:
        """Tell whether an action of the kind refused; with `of`, whether that very action did."""
        return any(action.kind is kind and of in (None, action.of) for action in self.failed)

    def is_absent(self, kind: ActionKind) -> bool:
        """Tell whether an action of the kind refused because there is no such item."""
        return self.has(kind) and self._item(kind) is None

    def has_nonce(self, kind: ActionKind, nonce: str) -> bool:
        """Tell whether an item of the kind bears this nonce.

        If it does, an earlier attempt of the same request has written it.
        """
        stand = [item for action, item in self.failed.items() if action.kind is kind]
        return any(item is not None and items.nonce(item) == nonce for item in stand)

    def group(self, kind: ActionKind = ActionKind.GROUP) -> Group | None:
        """Return the tree that refused; None if there is none. kind: GROUP or one like it."""
        item = self._item(kind)
        return items.group(item) if item else None

    def head(self, kind: ActionKind = ActionKind.HEAD) -> Head | None:
        """Return the HEAD that refused; None if there is none, or it is shut.

        kind: HEAD or one like it.
        """
        item = self._item(kind)
        return items.head(item) if item and items.SHUT not in item else None

    def epoch(self) -> Epoch | None:
        """Return the epoch of the client's CTX that refused; None if there is none."""
        item = self._item(ActionKind.CONTEXT)
        return items.context(item).epoch if item else None

    def transfer(self) -> Transfer | None:
        """Return the tree's pending transfer that refused; None if there is none."""
        item = self._item(ActionKind.TRANSFER)
        return items.transfer(item) if item else None

    def name(self) -> Name | None:
        """Return the name that refused; None if there is none."""
        item = self._item(ActionKind.NAME)
        return items.name(item) if item else None

    def keyed_entry(self) -> EntryId | None:
        """Return the entry that has the key that refused."""
        item = self._item(ActionKind.ENTRY_KEY)
        return items.keyed_entry(item) if item else None

    def pointer(self, *, now_s: int) -> Pointer | None:
        """Return where the conversation is whose id was refused; None if the id is free by now."""
        item = self._item(ActionKind.POINTER)
        return items.pointer(item, now_s=now_s) if item else None

    def lease_holder(self) -> str | None:
        """Return the nonce of the worker that holds the JOB which refused; None without one."""
        item = self._item(ActionKind.JOB)
        return items.job(item).holder if item else None

    def idempotency_record(self, *, now_s: int) -> IdempotencyRecord | None:
        """Return the record of an Idempotency-Key that refused; None if there is none any more."""
        item = self._item(ActionKind.IDEMPOTENCY)
        return items.idempotency_record(item, now_s=now_s) if item else None

    def part(self, *, now_s: int) -> Part | None:
        """Return the part of a log that stands where another one was to be put."""
        item = self._item(ActionKind.PART)
        return items.part(item, now_s=now_s) if item else None

    def _item(self, kind: ActionKind) -> Item | None:
        """Return what stands at the first action of the kind that refused.

        That of a branch in the trash is none.
        """
        item = next((item for action, item in self.failed.items() if action.kind is kind), None)
        return None if item and items.KEPT in item else item

"""What earlier imports have left in the service: so what has not changed since is told at once."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forklore.cli.importing.carrying_out import Carried
from forklore.cli.importing.plan import SOURCE_TAG, Plan
from forklore.client.errors import ConflictError, ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from forklore.client.synchronous.client import Forklore

PAGE_ROWS = 200


@dataclass(frozen=True, slots=True)
class _Row:
    """An imported conversation. entries: how many were appended to it."""

    entries: int
    metadata: Mapping[str, Any]


class EarlierImports:
    """The imported conversations of a user, read once for each format.

    The root of an imported tree tells the digest of the tree, each conversation how many entries it
    got. So a tree is as it was imported if the digest is that of its plan, and nothing is missing.
    """

    def __init__(self, client: "Forklore") -> None:
        self._client = client
        self._rows: dict[str, dict[str, _Row]] = {}

    def has_all_of(self, plan: Plan) -> bool:
        """Tell whether a tree was imported as it is planned, and nothing of it is missing."""
        rows = self._of(plan.kind)
        held = [rows.get(conversation.conversation_id) for conversation in plan.conversations]
        root = held[0]
        return (
            root is not None
            and _source_in(root.metadata).get("digest") == _planned_source(plan, 0).get("digest")
            and all(
                row is not None and row.entries >= len(conversation.entries)
                for row, conversation in zip(held, plan.conversations, strict=True)
            )
        )

    def bring_up_to_date(self, carried: Carried) -> None:
        """Let the conversations that were there before tell of their source as it is now."""
        plan, rows = carried.plan, self._of(carried.plan.kind)
        for number, conversation in enumerate(plan.conversations):
            row, source = rows.get(conversation.conversation_id), _planned_source(plan, number)
            is_there = row and carried.loading.conversation_id(number) == conversation.conversation_id
            if row and is_there and _source_in(row.metadata) != source:
                metadata = {**row.metadata, "source": dict(source)}
                with suppress(ConflictError, ForbiddenError, NotFoundError):
                    self._client.api.update_conversation(conversation.conversation_id, metadata=metadata)

    def _of(self, kind: str) -> Mapping[str, _Row]:
        """Return the imported conversations of a format by id; of forklore's own none is known."""
        if kind and kind not in self._rows:
            listed = self._client.conversations(
                mode="all",
                order="created",
                ancestry="all",
                archived="include",
                tag=f"{SOURCE_TAG}:{kind}",
                page_rows=PAGE_ROWS,
            )
            self._rows[kind] = {one.id: _Row(one.metrics.entries, one.metadata) for one in listed}
        return self._rows.get(kind, {})


def _source_in(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    source = metadata.get("source")
    return source if isinstance(source, Mapping) else {}


def _planned_source(plan: Plan, number: int) -> Mapping[str, Any]:
    return _source_in(plan.conversations[number].settings.get("metadata", {}))

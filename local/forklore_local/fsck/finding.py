"""What the checker reports about an item that is not as it must be."""

from dataclasses import dataclass

from forklore_service.domain.keys import Key


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not agree.

    key: the key of the item, or of the item that is missing.
    kind: a word that stays the same from version to version.
    detail: for people; it never holds content, a title or a token.
    invariant: the number of the broken rule in docs/architecture.md, "What always holds".
        None if no rule there covers it.
    group_id: the tree, if it is known.
    """

    key: Key
    kind: str
    detail: str
    invariant: int | None = None
    group_id: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.key.partition} / {self.key.sort}: {self.detail}"

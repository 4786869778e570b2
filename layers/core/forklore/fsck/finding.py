"""What the checker says of an item that is not as it must be."""

from dataclasses import dataclass

from forklore.domain.keys import Key


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not agree.

    kind: one word that stays the same from version to version. invariant: the number of the broken rule in
    docs/architecture.md, "What always holds"; None if no rule there names it. key: of the item, or of one
    that should be there. group_id: the tree that it concerns, if it is known. detail: never content, a title
    or a token.
    """

    key: Key
    kind: str
    detail: str
    invariant: int | None = None
    group_id: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.key.partition} / {self.key.sort}: {self.detail}"

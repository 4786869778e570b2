"""The actions about the vectors of entries (items VEC, SHELF)."""

from collections.abc import Iterable

from forklore_service.domain import keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.meaning import PIECES_MAX
from forklore_service.domain.tree import Group
from forklore_service.domain.vectors import Vector
from forklore_service.storage import items
from forklore_service.storage.actions import action, group
from forklore_service.storage.actions.action import Action, ActionKind


def put(tree: Group, vectors: Iterable[Vector]) -> list[Action]:
    """Put vectors of entries of a tree, which is live and has the version that was read.

    The version was read before the entries. It moves with each removed branch and with each
    erasure. So no vector is put of what was erased, or of what nobody shows any more. Whoever puts
    one puts the same.
    """
    puts = (
        action.put(ActionKind.VECTOR, items.vector_item(tree.group_id, one), of=f"{one.entry_id} {one.piece}")
        for one in vectors
    )
    return [group.note_vectors(tree), *puts]


def shelve(tree: Group, shelf: str, *, is_new: bool) -> list[Action]:
    """Put a tree, as it was read, on the shelf of its owner.

    is_new: whether the owner had none when it was looked for. Otherwise it must be there still: an
    erasure removes it.
    """
    key = keys.shelf(tree.owner)
    of_owner = (
        action.put_new(ActionKind.SHELF, items.shelf_item(tree.owner, shelf))
        if is_new
        else action.check(ActionKind.SHELF, key, "#shelf = :shelf", values={":shelf": items.text(shelf)})
    )
    return [of_owner, group.put_on_shelf(tree, shelf)]


def delete(group_id: str, conversation_id: str, entry_id: EntryId) -> list[Action]:
    """Delete all vectors that an entry may have."""
    return [
        action.delete(
            ActionKind.VECTOR,
            keys.vector(group_id, conversation_id, entry_id, piece),
            of=f"{entry_id} {piece}",
        )
        for piece in range(PIECES_MAX)
    ]

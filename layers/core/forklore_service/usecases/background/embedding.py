"""The vectors of what is new in a tree, without a search.

What is told to be new is only a hint: a tree says itself what it lacks. So a hint may come twice,
late, or for what is gone, and one that is lost is made up for by the next one of its conversation.
"""

from collections.abc import Collection

from forklore_service.domain import keys
from forklore_service.domain.meaning import Nearness
from forklore_service.errors import UnavailableError
from forklore_service.storage.table import LOOKS_MAX, Table
from forklore_service.usecases.shared.over_all import embed_tree


def embed(table: Table, nearness: Nearness, group_id: str, conversation_ids: Collection[str] | None) -> None:
    """Put the vectors that entries of these conversations of a tree lack, from the first one on.

    conversation_ids: None for all. Raises UnavailableError if the model does not answer, or if
    there is no time left to embed all.
    """
    for look in range(LOOKS_MAX):
        if conversation_ids is None:
            ends = list(table.read.last_entries(group_id))
        else:
            found = table.get(keys.head(group_id, one) for one in conversation_ids)
            heads = {one: found.head(group_id, one) for one in conversation_ids}
            ends = [(one, head.last) for one, head in heads.items() if head is not None]
        if embed_tree(table, nearness, group_id, ends, look):
            return
    raise UnavailableError("the tree keeps changing; try again")

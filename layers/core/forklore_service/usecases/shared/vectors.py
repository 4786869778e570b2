"""The vectors of all that a conversation shows. The first recall makes those that are missing.

Nothing of a sibling is read, and no append waits for a model. All is read after the tree's version,
and put only if that has not moved.
"""

from collections.abc import Sequence
from itertools import chain, islice

from forklore_service.domain import ids, keys, vectors
from forklore_service.domain.ancestry import Segment
from forklore_service.domain.ids import FIRST, EntryId
from forklore_service.domain.meaning import Nearness, pieces_of
from forklore_service.domain.model import Caller
from forklore_service.domain.tree import Group
from forklore_service.domain.vectors import Known, Near, Vector
from forklore_service.errors import UnavailableError
from forklore_service.limits import packs
from forklore_service.storage import actions
from forklore_service.storage.schema import DIMENSIONS
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import LoadedConversation, load_conversation
from forklore_service.usecases.shared.searched import texts_of

ENTRIES_AT_ONCE = 50
PUTS_MAX = 99
"""DynamoDB allows 100 actions in a transaction. One is about GROUP."""
PACKED_BYTES = 2 * DIMENSIONS
"""How long a vector is that the index can hold."""
SPARE_SECONDS = 5.0
"""A request that has less time left embeds nothing more."""
LOOKS_MAX = 8
"""How often the conversation is read again because its tree has changed meanwhile."""


def nearest(
    table: Table, nearness: Nearness, conversation_id: str, *, caller: Caller, question: str
) -> tuple[LoadedConversation, list[Near]]:
    """Return a conversation, and how near to the question each entry is that it shows.

    Entries without text are left out. Raises NotFoundError or ForbiddenError for the conversation;
    UnavailableError if the model does not answer, or if there is no time left to embed all.
    """
    for attempt in range(LOOKS_MAX):
        table.pause(attempt)
        loaded = load_conversation(table, conversation_id, caller=caller)
        known = _of_view(table, nearness, loaded)
        if known is not None:
            entry_ids = (entry_id for one in known for entry_id in one.entry_ids)
            near = nearness.compare(question, [one.packed for one in known])
            return loaded, vectors.nearest_first(entry_ids, near)
    raise UnavailableError("the tree keeps changing; try again")


def _of_view(table: Table, nearness: Nearness, loaded: LoadedConversation) -> list[Known] | None:
    """Return the vectors of each segment of a view. None: the tree has changed meanwhile."""
    *inherited, own = loaded.view.segments
    last = loaded.head.last_history
    segments = [*inherited, own._replace(stop=FIRST if last is None else ids.next_id(last))]
    found = []
    for segment in segments:
        known = _of_segment(table, nearness, loaded.group, segment)
        if known is None:
            return None
        found.append(known)
    return found


def _of_segment(table: Table, nearness: Nearness, tree: Group, segment: Segment) -> Known | None:
    """Return the vectors of a segment. None: the tree has changed meanwhile.

    No entry comes later before the stop of a segment, or before the last one that HEAD names.
    """
    of = (tree.group_id, segment.conversation_id, nearness.model)
    known = table.vectors.get(of)
    if known.stop < segment.stop:
        stored = _stored(table, nearness, tree.group_id, segment, known.stop)
        wanted = table.read.history_ids(
            tree.group_id, segment.conversation_id, first=known.stop, last=ids.previous_id(segment.stop)
        )
        lacking = [entry_id for entry_id in wanted if entry_id not in stored]
        made = embed(table, nearness, tree, segment.conversation_id, lacking)
        if made is None:
            return None
        known = known.and_then(segment.stop, chain(*stored.values(), made))
        table.vectors.put(of, known)
    return known.before(segment.stop)


def _stored(
    table: Table, nearness: Nearness, group_id: str, segment: Segment, first: EntryId
) -> dict[EntryId, list[Vector]]:
    """Return the vectors of this model that a segment has from a position on, by entry.

    Those that the index should hold, and does not, count as missing. So they are made again from
    the first one on, and those with a shelf never have gaps.
    """
    last = ids.previous_id(segment.stop)
    stored: dict[EntryId, list[Vector]] = {}
    for one in table.read.vectors(group_id, segment.conversation_id, first=first, last=last):
        if one.model == nearness.model and (not table.by_meaning or is_placed(one)):
            stored.setdefault(one.entry_id, []).append(one)
    return stored


def is_placed(one: Vector) -> bool:
    """Return whether a vector is in the index, or the index cannot hold it."""
    return one.shelf is not None or len(one.packed) != PACKED_BYTES


def embed(
    table: Table, nearness: Nearness, tree: Group, conversation_id: str, entry_ids: Sequence[EntryId]
) -> list[Vector] | None:
    """Put the vectors of own history entries of a conversation, and return them.

    tree: as it was read, before the entries. All vectors of an entry come with one transaction.
    None: the tree is not live any more, or has changed in what the vectors depend on. Raises
    UnavailableError if the model does not answer, or if there is no time left to embed all.
    """
    made: list[Vector] = []
    if table.by_meaning and entry_ids:
        on_shelf = shelved(table, tree)
        if on_shelf is None:
            return None
        tree = on_shelf
    for at in range(0, len(entry_ids), ENTRIES_AT_ONCE):
        if not table.has_time(SPARE_SECONDS):
            raise UnavailableError("not all of the conversation is embedded yet; try again")
        some = table.entries(tree.group_id, entry_ids[at : at + ENTRIES_AT_ONCE])
        pieces = [(one, pieces_of(texts_of(one, one.content), one.indexed_content)) for one in some]
        packed = iter(nearness.vectors([piece for _, those in pieces for piece in those]))
        of_entries = [
            [
                Vector(
                    conversation_id,
                    one.entry_id,
                    number,
                    nearness.model,
                    vector,
                    tree.shelf if table.by_meaning and len(vector) == PACKED_BYTES else None,
                )
                for number, vector in enumerate(islice(packed, len(those)))
            ]
            for one, those in pieces
        ]
        for some_of in packs(filter(None, of_entries), (PUTS_MAX,), lambda one: (len(one),)):
            vectors_of = list(chain(*some_of))
            if table.try_commit(actions.vector.put(tree, vectors_of)) is not None:
                return None
            made += vectors_of
            table.connection.usage.refused_texts += sum(not one.packed for one in vectors_of)
    return made


def shelved(table: Table, tree: Group) -> Group | None:
    """Return the tree, on the shelf of its owner if it was on none. None: the tree has changed."""
    if tree.shelf is not None:
        return tree
    known = table.get([keys.shelf(tree.owner)]).shelf(tree.owner)
    shelf = known or table.nonce()
    refused = table.try_commit(actions.vector.shelve(tree, shelf, is_new=known is None))
    return None if refused is not None else tree._replace(shelf=shelf)

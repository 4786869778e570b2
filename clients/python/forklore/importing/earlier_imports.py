"""What earlier imports have left in the service: so what has not changed since is told at once."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forklore.client.errors import BadRequestError, ConflictError, ForbiddenError, NotFoundError
from forklore.client.generated.results import ConversationDetails
from forklore.importing.carrying_out import Carried, Unchanged
from forklore.importing.plan import SOURCE_TAG, Plan

if TYPE_CHECKING:
    from forklore.client.generated.synchronous.client import Forklore

PAGE_ROWS = 200
Rows = Mapping[str, ConversationDetails]
"""Imported conversations by their ids."""


class EarlierImports:
    """The imported conversations of a user, read once for each format when they are first needed.

    client: returns the one that is asked, when it is first needed.

    The root of an imported tree tells the digest of its source and how many conversations it has,
    each conversation how many entries it got. So a tree is as it was imported if its root tells
    that digest, and no conversation is missing: where one is made in pieces, the digest comes last.
    """

    def __init__(self, client: "Callable[[], Forklore]") -> None:
        self._client = client
        self._rows: dict[str, Rows] = {}
        self._whole: dict[str, dict[str, Unchanged]] = {}

    def unchanged(self, kind: str, digest: str) -> Unchanged | None:
        """Return the tree of this format that was made of a source with this digest.

        None if there is none, or a part of it is missing.
        """
        if kind not in self._whole:
            self._whole[kind] = _whole_trees(self._of(kind))
        return self._whole[kind].get(digest)

    def of_plan(self, plan: Plan) -> Unchanged | None:
        """Return the tree of a plan, if all of it is there as it is planned."""
        there = self.unchanged(plan.kind, plan.digest)
        return there and replace(there, title=plan.title)

    def is_renamed(self, plan: Plan) -> bool:
        """Tell whether a tree that was there before has another title than its source."""
        root = plan.conversations[0]
        row, title = self._of(plan.kind).get(root.conversation_id), root.settings.get("title")
        return row is not None and title is not None and row.title != title

    def bring_up_to_date(self, carried: Carried, *, is_same: bool) -> None:
        """Let the conversations of a tree that is all there tell of their source as it is now.

        is_same: nothing in it differs from the source. The root comes last: its digest says so.
        What somebody changes meanwhile stays, also where the metadata has no room left for this;
        then the next import tries again.
        """
        plan, rows, api = carried.plan, self._of(carried.plan.kind), self._client().api
        loading = carried.loading
        sizes, additions = loading.sizes, loading.additions
        with suppress(BadRequestError, ConflictError, ForbiddenError, NotFoundError):
            for number, conversation in reversed(list(enumerate(plan.conversations))):
                one = conversation.conversation_id
                told = rows[one].metadata if one in rows else loading.settings(number)["metadata"]
                source = dict(_source_in(plan.settings_of(number, is_whole=is_same)["metadata"]))
                source["entries"] = _given(rows.get(one), sizes[number], additions[number])
                if loading.conversation_id(number) == one and _source_in(told) != source:
                    held = api.get_conversation(one)
                    metadata = {**held.metadata, "source": source}
                    api.update_conversation(one, metadata=metadata, if_match=held.updated_at)

    def _of(self, kind: str) -> Rows:
        """Return the imported conversations of a format; of forklore's own none is known."""
        if kind and kind not in self._rows:
            listed = self._client().conversations(
                mode="all",
                order="created",
                ancestry="all",
                archived="include",
                tag=f"{SOURCE_TAG}:{kind}",
                page_rows=PAGE_ROWS,
            )
            self._rows[kind] = {one.id: one for one in listed}
        return self._rows.get(kind, {})


def _whole_trees(rows: Rows) -> dict[str, Unchanged]:
    """Return the trees of which nothing is missing, by the digests of their sources."""
    trees: dict[str, list[ConversationDetails]] = {}
    for row in rows.values():
        trees.setdefault(_root_of(row, rows), []).append(row)
    found = ((_source_in(rows[root].metadata), rows[root], tree) for root, tree in trees.items())
    return {
        source["digest"]: there
        for source, root, tree in found
        if isinstance(source.get("digest"), str) and (there := _whole(source, root, tree, rows)) is not None
    }


def _root_of(row: ConversationDetails, rows: Rows, *, within_tree: bool = False) -> str:
    """Return the first conversation of what was imported together, from which this one comes.

    within_tree: of its fork tree, which another conversation may have started.
    """
    for _ in rows:
        above = row.forked_at_conversation_id or (None if within_tree else row.started_by_conversation_id)
        if above is None or above not in rows:
            break
        row = rows[above]
    return row.id


def _whole(
    source: Mapping[str, Any], root: ConversationDetails, tree: Iterable[ConversationDetails], rows: Rows
) -> Unchanged | None:
    counts = [(row, _source_in(row.metadata).get("entries")) for row in tree]
    whole = [(row, said) for row, said in counts if isinstance(said, int) and row.metrics.entries >= said]
    wanted = source.get("conversations")
    if not isinstance(wanted, int) or len(whole) < wanted:
        return None
    tree_id = str(source.get("id"))
    branches = (row for row, _ in whole if _root_of(row, rows, within_tree=True) == root.id)
    current = next((row.id for row in branches if row.is_current), root.id)
    return Unchanged(tree_id, root.title or tree_id, current, len(whole), sum(said for _, said in whole))


def _given(before: ConversationDetails | None, size: int, added: int) -> int:
    """Return how many entries imports have given a conversation, as far as nobody has gone on.

    before: how it was. size, added: how many of its entries this import knows, and has appended.
    """
    entries = _source_in(before.metadata).get("entries") if before else None
    goes_on = before is not None and isinstance(entries, int) and before.metrics.entries <= entries
    return before.metrics.entries + added if before and goes_on else size


def _source_in(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    source = metadata.get("source")
    return source if isinstance(source, Mapping) else {}

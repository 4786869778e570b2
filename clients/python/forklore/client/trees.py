"""The history of a whole fork tree, and the ways on from one place of it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from forklore.client.errors import NotFoundError
from forklore.client.generated.results import Fork, ListedEntry
from forklore.client.result_base import Value, result
from forklore.client.retrying import NOT_FOUND


class Tree(NamedTuple):
    """Each entry of the history once, and each branch, both the oldest first."""

    entries: list[ListedEntry]
    branches: list[Fork]


@result
class Way(Value):
    """How a branch goes on from a place, and what that took.

    conversation_id: the branch that began it; if that is deleted, the oldest that shows it.
    first_entry_id: where it begins; None without entries. title: the branch's. first, last: the
    first 100 characters of its first and its last entry with a text. entries, failures: how many it
    has, and in how many of these a tool has failed. Tokens and cost_usd are sums of the entries'
    `usage`. seconds: from its first to its last entry. score: the number `score` in the branch's
    metadata.
    """

    conversation_id: str
    first_entry_id: str | None
    title: str | None
    first: str
    last: str
    entries: int
    failures: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cost_usd: float
    seconds: float
    score: float | None
    is_current: bool
    tags: dict[str, str]
    metadata: dict[str, Any]


def ways_beside(tree: Tree, entry_id: str) -> list[Way]:
    """Return the ways on from the place just before an entry: its own, and all others.

    tree: entries with the view `line`. Each entry that follows the place begins a way. A fork that
    was made there, and has no entries yet, is a way, too.
    Raises NotFoundError if no branch shows the entry.
    """
    by_id = {one.id: one for one in tree.entries}
    if entry_id not in by_id:
        raise NotFoundError(f"no branch of the tree shows the entry {entry_id!r}", code=NOT_FOUND)
    place = by_id[entry_id].parent_id
    begun: dict[str, Way] = {}
    ended = []
    for branch in tree.branches:
        shown = list(_shown(by_id, branch.last_entry_id, place))[::-1]
        if shown and shown[0].parent_id == place:
            first = shown[0]
            if first.conversation_id == branch.conversation_id or first.id not in begun:
                begun[first.id] = _way(branch, shown)
        elif not shown and branch.last_entry_id == place and _is_bare(branch, by_id):
            ended.append(_way(branch, ()))
    return [begun[first_id] for first_id in sorted(begun)] + ended


def _is_bare(branch: Fork, by_id: Mapping[str, ListedEntry]) -> bool:
    """Return whether a fork has no entries of its own."""
    last = branch.last_entry_id
    is_fork = branch.forked_at_conversation_id is not None
    return is_fork and (last is None or by_id[last].conversation_id != branch.conversation_id)


def _shown(by_id: Mapping[str, ListedEntry], last: str | None, place: str | None) -> Iterator[ListedEntry]:
    """Yield what a branch shows after a place, the newest first; without the place, all."""
    while last is not None and last != place and last in by_id:
        yield by_id[last]
        last = by_id[last].parent_id


def _way(branch: Fork, shown: Sequence[ListedEntry]) -> Way:
    lines = [one.line for one in shown if one.line is not None]
    texts = [one.text for one in lines if one.text and one.tool is None]
    texts = texts or [one.text for one in lines if one.text]
    times = [datetime.fromisoformat(one.created_at) for one in shown]
    score = branch.metadata.get("score")
    is_number = isinstance(score, int | float) and not isinstance(score, bool)

    def total(name: str) -> float:
        used = [(one.usage or {}).get(name) for one in shown]
        return sum(one for one in used if isinstance(one, int | float))

    return Way(
        conversation_id=branch.conversation_id,
        first_entry_id=shown[0].id if shown else None,
        title=branch.title,
        first=texts[0] if texts else "",
        last=texts[-1] if texts else "",
        entries=len(shown),
        failures=sum(one.failed is True for one in lines),
        input_tokens=int(total("inputTokens")),
        output_tokens=int(total("outputTokens")),
        cached_input_tokens=int(total("cachedInputTokens")),
        cost_usd=round(total("costUsd"), 9),  # sums of floats end in …0004
        seconds=(max(times) - min(times)).total_seconds() if times else 0.0,
        score=float(score) if is_number and score is not None else None,
        is_current=branch.is_current,
        tags=branch.tags,
        metadata=branch.metadata,
    )

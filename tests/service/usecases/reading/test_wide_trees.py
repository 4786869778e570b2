"""Very wide trees: what the worker keeps of each conversation must fit into its memory.

A simulated Query makes its pages on demand. The tests measure the memory that the worker uses.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Conversation, Head, Words
from forklore_service.domain.tree import Group, State
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion import closing_trees, counted_items
from forklore_service.usecases.people import transfers
from tests.service.usecases.builders import ROOT, conversation
from tests.support.tables import Store

CONVERSATIONS = 4_000
PAGE = 500
BYTES_MAX = 400
"""The bound for each conversation: a tree of 200,000 takes 80 MB of the function's 1 GB."""
AT = "2026-03-01T09:15:00.000Z"


class Wide:
    """A simulated table with one tree of CONVERSATIONS conversations or children."""

    def __init__(self, table: Table, monkeypatch: pytest.MonkeyPatch, *, state: State) -> None:
        self.writes = 0
        group = items.group_item(Group(ROOT, "bob", AT, state)) | {
            "conversations": items.number(CONVERSATIONS),
            "children": items.number(CONVERSATIONS),
            "rewriting": items.text("ann"),
        }
        monkeypatch.setattr(table, "items_at", lambda _wanted, **_: {keys.group(ROOT): group})
        monkeypatch.setattr(table, "try_commit", self._commit)
        monkeypatch.setattr(table, "_query", self._query)

    def _commit(self, writes: list[object]) -> None:
        self.writes += len(writes)

    def _query(self, **asked: Any) -> dict[str, Any]:
        first = int(asked.get("ExclusiveStartKey", {"at": 0})["at"])
        kind = asked["ExpressionAttributeValues"][":first"]["S"]
        if kind.startswith("LINK#"):
            return {"Items": []}
        make = _child if kind.startswith("CHILD#") else _head
        wanted = set(asked.get("ExpressionAttributeNames", {}).values())
        page = [
            {name: value for name, value in make(number).items() if not wanted or name in wanted}
            for number in range(first, first + PAGE)
        ]
        following = first + PAGE
        return {"Items": page} | (
            {"LastEvaluatedKey": {"at": following}} if following < CONVERSATIONS else {}
        )


def _head(number: int) -> Item:
    one = Conversation(conversation(number), ROOT, AT)
    return items.head_item(
        one, Head(owner="ann", changed_at=AT, preview=Words("as long as a preview is " * 4, "ann"))
    )


def _child(number: int) -> Item:
    return items.key_of(keys.child(ROOT, ROOT, ListKey(AT, conversation(number))))


def peak(act: Callable[[], object]) -> int:
    """Return the peak of the memory in use while `act` runs."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_rewriting_keeps_only_ids_in_memory(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Wide(table, monkeypatch, state=State.LIVE)

    used = peak(lambda: transfers.finish_rewriting(table, ROOT))

    assert wide.writes > CONVERSATIONS
    assert used / CONVERSATIONS < BYTES_MAX


def _found(table: Table) -> list[Any]:
    looking = table.heads_of([ROOT])
    return list(closing_trees._heads(table, looking, closing_trees._groups(table, [ROOT])))


def test_a_deletion_keeps_only_the_ids_of_conversations_in_memory(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    Wide(table, monkeypatch, state=State.DELETING)
    found: list[object] = []

    used = peak(lambda: found.append(_found(table)))

    assert len(found[0]) == CONVERSATIONS  # type: ignore[arg-type]
    assert used / CONVERSATIONS < BYTES_MAX


def test_a_deletion_keeps_only_the_keys_of_children_in_memory(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    Wide(table, monkeypatch, state=State.DELETING)

    used = peak(lambda: counted_items.all_child_keys(table, closing_trees._groups(table, [ROOT])[ROOT]))

    assert used / CONVERSATIONS < BYTES_MAX


def test_every_head_is_seen_once_also_if_heads_are_closed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look finds a HEAD that was shown late. Others may be closed by then."""
    table, shown = store.process(), iter([[1, 2], [2, 3], [4]])
    store.put(items.group_item(Group(ROOT, "ann", AT, State.DELETING)))
    store.change(keys.group(ROOT), conversations=items.number(4))
    group = table.get([keys.group(ROOT)]).group(ROOT)
    assert group is not None
    monkeypatch.setattr(table, "query", lambda *_, **__: map(_head, next(shown)))

    seen = [head.conversation_id for head in counted_items.all_heads(table, group)]

    assert seen == list(map(conversation, (1, 2, 3, 4)))


@pytest.mark.parametrize("then", [State.LIVE, State.TRASHED])
def test_every_head_of_a_live_tree_is_seen_also_if_a_branch_is_removed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch, then: State
) -> None:
    """A HEAD that was removed does not stand for one that is shown late."""
    table, shown = store.process(), iter([[1, 2], [2, 3], [2, 3, 4]])
    store.put(items.group_item(Group(ROOT, "ann", AT)))
    store.change(keys.group(ROOT), conversations=items.number(4))
    group = table.get([keys.group(ROOT)]).group(ROOT)
    assert group is not None

    def look(*_: object, **__: object) -> Iterator[Item]:
        store.change(keys.group(ROOT), conversations=items.number(3), state=items.text(then))
        return map(_head, next(shown))

    monkeypatch.setattr(table, "query", look)

    seen = [head.conversation_id for head in counted_items.all_heads(table, group)]

    assert seen == list(map(conversation, (1, 2, 3, 4)))

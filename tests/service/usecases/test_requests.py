"""How many requests each operation sends to DynamoDB, and in how many rounds.

The requests of a round are sent at the same time. The numbers do not depend on the tree's width.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.listing import Mode
from forklore_service.domain.model import Conversation, Entry, ForkPoint, Head
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import ancestors, comparing, conversation_lists, entries, fork_lists
from forklore_service.usecases.writing import conversations
from tests.service.usecases.branches.test_children import start
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BOB,
    CODER,
    PLANNER,
    H,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    page,
    say,
    show,
    thought,
    turn,
)
from tests.service.usecases.writing.test_context import sync
from tests.support.samples import drawn
from tests.support.tables import Store, fresh_store
from tools.harness.wire import Wire

ENTRIES = 60
WIDTHS = (1, 500)


@dataclass(frozen=True)
class Tree:
    """A root with ENTRIES entries, and forks of it with one own entry each."""

    root: str
    anchors: tuple[EntryId, ...]
    fork: str


def planted_fork(root: Conversation, number: int, anchor: EntryId) -> list[Item]:
    """Return the items of a fork before `anchor` with one own entry, as `put_forks` writes them."""
    fork_id = conversation(int(root.group_id[:8], 16) + 1 + number)
    path = ancestry.path_before(
        ancestry.view_of(root.group_id, ()),
        conversation_id=root.group_id,
        entry_id=anchor,
        last=ids.previous_id(anchor),
    )
    floor = ancestry.floor_of(path)
    own = Entry(ids.next_id(floor, 1 + number), fork_id, "ann", H, "history", "[]")
    made = Conversation(
        fork_id,
        root.group_id,
        ids.created_at(own.entry_id),
        fork_point=ForkPoint(root.group_id, anchor, BEFORE),
    )
    head = Head("ann", made.created_at, floor, own.entry_id, own.entry_id, history=1)
    entry, _ = items.entry_items(root.group_id, own, nonce="n", escaped_bytes=2)
    return [
        items.pointer_item(made, "n"),
        items.conversation_item(made),
        items.head_item(made, head),
        items.tree_item(made, path),
        items.path_item(made, path),
        entry,
    ]


def grow(store: Store, root_id: str, width: int) -> Tree:
    table = store.process()
    root = create(table, root_id).conversation
    anchors: list[EntryId] = []
    for _ in range(ENTRIES // 20):
        anchors += say(table, root_id, *["text"] * 20)
    rows = [row for n in range(width) for row in planted_fork(root, n, anchors[20 + n % 40])]
    store.put(*rows)
    store.change(keys.group(root_id), conversations=items.number(1 + width))
    store.add_member(root_id, "bob")
    return Tree(root_id, tuple(anchors), conversation(int(root_id[:8], 16) + 1))


@pytest.fixture(scope="module")
def planted() -> Iterator[tuple[Store, dict[int, Tree]]]:
    """A narrow and a wide tree in one table."""
    with fresh_store() as store:
        yield store, {width: grow(store, conversation(width << 16), width) for width in WIDTHS}


@dataclass(frozen=True)
class Asked:
    """An operation on a tree. new_id: an unused id."""

    table: Table
    tree: Tree
    new_id: str

    def list(self, mode: Mode) -> None:
        conversation_lists.list_conversations(
            self.table, caller=BOB, request=conversation_lists.ListRequest(mode)
        )


Operation = Callable[[Asked], object]


@dataclass(frozen=True)
class Figure:
    """The number of requests and rounds of an operation.

    requests: None if the number depends on the number of listed trees.
    warm: what this process did before; None for a new process.
    saved: how many less of both the narrow tree takes, which one request reads whole.
    """

    run: Operation
    requests: int | None
    rounds: int
    warm: Operation | None = None
    saved: int = 0


def knows_root(asked: Asked) -> object:
    return show(asked.table, asked.tree.root)


def starts_a_child(asked: Asked) -> object:
    return start(asked.table, "x", child_key=asked.new_id, of=asked.tree.root)


def knows_fork(asked: Asked) -> object:
    return show(asked.table, asked.tree.fork)


def has_new_forks(asked: Asked) -> None:
    """Fork the trees, so that no root is the latest of its tree and was read with it."""
    for width in WIDTHS:
        fork(asked.table, conversation(width << 16), None)


def knows_context(asked: Asked) -> object:
    return append(asked.table, asked.tree.root, thought("known"), by=PLANNER)


FIGURES = {
    # targets: append, warm, owner: 1; other member: 1; cold: 2
    "append, warm, owner": Figure(lambda a: say(a.table, a.tree.root, "x"), 1, 1, knows_root),
    "append, warm, other member": Figure(lambda a: say(a.table, a.tree.root, "x", by=BOB), 1, 1, knows_root),
    "append, warm, to a fork": Figure(lambda a: say(a.table, a.tree.fork, "x"), 1, 1, knows_fork),
    "append, warm, several": Figure(lambda a: say(a.table, a.tree.root, *["x"] * 20), 1, 1, knows_root),
    "append, warm, with a key": Figure(
        lambda a: append(a.table, a.tree.root, "x", idempotency_key=idempotency_key(a.new_id)),
        1,
        1,
        knows_root,
    ),
    "append, cold": Figure(lambda a: say(a.table, a.tree.root, "x"), 2, 2),
    "append, cold, with a key": Figure(
        lambda a: append(a.table, a.tree.root, "x", idempotency_key=idempotency_key(a.new_id)), 2, 2
    ),
    # The first request reads a fork's pointer, which names the tree.
    "append, cold, to a fork": Figure(lambda a: say(a.table, a.tree.fork, "x"), 3, 3),
    "append, warm, context": Figure(
        lambda a: append(a.table, a.tree.root, thought("x"), by=PLANNER), 1, 1, knows_context
    ),
    # A process does not read what it has just written.
    "append, after creating": Figure(
        lambda a: say(a.table, a.new_id, "x"), 1, 1, lambda a: create(a.table, a.new_id)
    ),
    "append, after creating by appending": Figure(
        lambda a: say(a.table, a.new_id, "x"), 1, 1, lambda a: say(a.table, a.new_id, "x")
    ),
    "append, after forking": Figure(
        lambda a: say(a.table, a.new_id, "x"), 1, 1, lambda a: fork(a.table, a.tree.root, a.new_id)
    ),
    "append, after forking by appending": Figure(
        lambda a: say(a.table, a.new_id, "x"),
        1,
        1,
        lambda a: append(a.table, a.new_id, "x", fork=(a.tree.root, a.tree.anchors[7])),
    ),
    "append, after starting a child": Figure(lambda a: say(a.table, a.new_id, "x"), 1, 1, starts_a_child),
    "append, context, after creating": Figure(
        lambda a: append(a.table, a.new_id, thought("x"), by=PLANNER),
        1,
        1,
        lambda a: create(a.table, a.new_id, by=PLANNER),
    ),
    "append, context, after a first sync": Figure(
        lambda a: append(a.table, a.new_id, thought("x"), by=PLANNER),
        1,
        1,
        lambda a: sync(a.table, "x", to=a.new_id, by=PLANNER),
    ),
    # target: append with context: 2, as a sync
    "append with context": Figure(
        lambda a: turn(a.table, a.tree.root, "x", context=["y"]), 2, 2, knows_context
    ),
    "append with the same context": Figure(
        lambda a: turn(a.table, a.new_id, "x", context=["y"]),
        2,
        2,
        lambda a: turn(a.table, a.new_id, "x", context=["y"]),
    ),
    "append with context, cold": Figure(lambda a: turn(a.table, a.tree.root, "x", context=["y"]), 2, 2),
    "create by appending with context": Figure(lambda a: turn(a.table, a.new_id, "x", context=["y"]), 2, 2),
    "first page, after forking": Figure(
        lambda a: page(a.table, a.new_id, limit=50),
        2,
        2,
        lambda a: fork(a.table, a.tree.root, a.new_id, a.tree.anchors[7]),
    ),
    # The first context write of a client reads the latest epoch once.
    "append, cold, context": Figure(lambda a: append(a.table, a.tree.root, thought("x"), by=PLANNER), 2, 2),
    # target: create root, fork: 2
    "create": Figure(lambda a: create(a.table, a.new_id), 2, 2),
    "create, with a key": Figure(
        lambda a: create(a.table, a.new_id, idempotency_key=idempotency_key(a.new_id)), 2, 2
    ),
    "create by appending": Figure(lambda a: say(a.table, a.new_id, "x"), 2, 2),
    "fork before an entry": Figure(lambda a: fork(a.table, a.tree.root, a.new_id, a.tree.anchors[7]), 3, 2),
    "fork after an entry": Figure(lambda a: fork(a.table, a.tree.root, None, a.tree.anchors[7], AFTER), 2, 2),
    "fork at the head": Figure(lambda a: fork(a.table, a.tree.root, a.new_id), 2, 2),
    "fork by another member": Figure(lambda a: fork(a.table, a.tree.root, a.new_id, by=BOB), 2, 2),
    "fork by appending": Figure(
        lambda a: append(a.table, a.new_id, "x", fork=(a.tree.root, a.tree.anchors[7])), 2, 2
    ),
    "fork by appending, blank": Figure(
        lambda a: append(a.table, a.new_id, "x", fork=(a.tree.root, None)), 2, 2
    ),
    "fork a fork, cold": Figure(lambda a: fork(a.table, a.tree.fork, a.new_id), 3, 3),
    "fork a fork, warm": Figure(lambda a: fork(a.table, a.tree.fork, a.new_id), 2, 2, knows_fork),
    # target: newest page of 50: 2, and 3 for a cold fork
    "newest page, cold": Figure(lambda a: page(a.table, a.tree.root, limit=50, tail=True), 2, 2),
    "newest page, warm": Figure(lambda a: page(a.table, a.tree.root, limit=50, tail=True), 2, 2, knows_root),
    "newest page, cold, fork": Figure(lambda a: page(a.table, a.tree.fork, limit=50, tail=True), 4, 3),
    "newest page, warm, fork": Figure(
        lambda a: page(a.table, a.tree.fork, limit=50, tail=True), 3, 2, knows_fork
    ),
    "newest page, an agent's": Figure(
        lambda a: page(a.table, a.tree.root, limit=50, tail=True, by=PLANNER), 3, 2, knows_context
    ),
    "newest page, of an agent without context": Figure(
        lambda a: page(a.table, a.tree.root, limit=50, tail=True, by=CODER), 3, 2, knows_context
    ),
    "first page": Figure(lambda a: page(a.table, a.tree.root, limit=50), 2, 2),
    "page after a cursor": Figure(
        lambda a: page(a.table, a.tree.root, limit=20, after=a.tree.anchors[7]), 2, 2
    ),
    "page before a cursor": Figure(
        lambda a: page(a.table, a.tree.root, limit=20, before=a.tree.anchors[40]), 2, 2
    ),
    "page with alternatives": Figure(lambda a: page(a.table, a.tree.root, limit=20, alternatives=True), 3, 2),
    # target: compare, 50 a side: 3
    "compare": Figure(
        lambda a: comparing.compare(
            a.table, caller=ANN, conversation_id=a.tree.fork, other_id=a.tree.root, limit=50
        ),
        4,
        3,
    ),
    "ancestors": Figure(
        lambda a: ancestors.list_ancestors(a.table, caller=ANN, conversation_id=a.tree.fork), 4, 3
    ),
    "show an entry": Figure(
        lambda a: entries.get_entry(
            a.table, caller=ANN, conversation_id=a.tree.root, entry_id=a.tree.anchors[7]
        ),
        1,
        1,
    ),
    "page of the whole tree": Figure(lambda a: page(a.table, a.tree.root, limit=50, all_forks=True), 3, 2),
    # target: forks page of 20: 3
    "page of forks": Figure(
        lambda a: fork_lists.list_forks(
            a.table, caller=ANN, conversation_id=a.tree.root, after=None, limit=20
        ),
        3,
        3,
        saved=1,
    ),
    # target: list page: 3
    "list, roots": Figure(lambda a: a.list(Mode.ROOTS), 2, 2),
    "list, latest forks": Figure(lambda a: a.list(Mode.LATEST_FORK), None, 5, has_new_forks),
    "list, all": Figure(lambda a: a.list(Mode.ALL), None, 4),
    "show": Figure(lambda a: show(a.table, a.tree.root), 1, 1),
    "change": Figure(
        lambda a: conversations.update_conversation(
            a.table,
            caller=ANN,
            conversation_id=a.tree.root,
            change=conversations.Patch({"tags": {"a": "b"}}),
        ),
        2,
        2,
    ),
}
"""The numbers of each operation.

Lists of trees with forks take 4 rounds and not 3: HEADs or TREE are read after GROUP, and they say
which CONV is shown. In a wide tree TREE also says which HEADs are read: a fifth round.
"""


@pytest.fixture(params=WIDTHS)
def tree(planted: tuple[Store, dict[int, Tree]], request: pytest.FixtureRequest) -> Tree:
    width: int = request.param
    return planted[1][width]


@pytest.mark.failure("deep-or-wide-tree", "no-time-left")
@pytest.mark.parametrize("name", drawn(list(FIGURES), 20))
def test_the_number_of_requests_does_not_depend_on_the_width_of_the_tree(
    planted: tuple[Store, dict[int, Tree]], tree: Tree, name: str
) -> None:
    """No request does unbounded work."""
    figure = FIGURES[name]
    unused = int(tree.root[:8], 16) + 0x1000 + list(FIGURES).index(name)
    asked = Asked(planted[0].process(), tree, conversation(unused))
    if figure.warm:
        figure.warm(asked)
    wire = Wire.of(asked.table)

    figure.run(asked)

    saved = figure.saved if tree == planted[1][min(WIDTHS)] else 0
    assert wire.rounds == figure.rounds - saved, wire.operations
    assert figure.requests in (None, len(wire.requests) + saved), wire.operations
    assert all(
        request.body.get("ConsistentRead", True) for request in wire.requests if request.operation == "Query"
    )

"""Epochs of contexts along views, and syncs."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import JsonText, read_value, text_of
from forklore_service.domain.model import Caller, Channel, Entry
from forklore_service.errors import ConflictError, ForbiddenError, PayloadTooLargeError
from forklore_service.storage import actions, items
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.syncing import Synced
from forklore_service.usecases.writing.append import sync_context
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BOB,
    CODER,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    page,
    read,
    say,
    show,
    thought,
)
from tests.support.tables import Store, fresh_store
from tools.harness.wire import Request, Wire

WRITE = "TransactWriteItems"
BOBS_PLANNER = Caller("bob", "planner")


def sync(
    table: Table,
    *content: Any,
    to: str = ROOT,
    by: Caller = PLANNER,
    text: JsonText | None = None,
    based_on: str | None = None,
    idempotency_key: IdempotencyKey | None = None,
) -> Synced:
    """Sync a context to these elements, or to the JSON text."""
    draft = Draft.of(C, "application/json", text or text_of(list(content)), based_on=based_on)
    return sync_context(table, caller=by, conversation_id=to, draft=draft, idempotency_key=idempotency_key)


def known(table: Table, conversation_id: str = ROOT, *, by: Caller = PLANNER, **what: Any) -> list[Any]:
    """Return the elements of the client's latest context."""
    found = page(table, conversation_id, by=by, channel=C, **what).entries
    return [element for entry in found for element in json.loads(entry.content)]


def told(synced: Synced) -> tuple[int | None, str | None]:
    """Return the epoch and the content written."""
    return synced.epoch, synced.entry.content if synced.entry else None


def note(table: Table, conversation_id: str, text: str, epoch: int | None = None, *, by: Caller) -> EntryId:
    [entry] = append(table, conversation_id, thought(text, epoch), by=by)
    return entry.entry_id


# Epochs along views


def lettered(table: Table, *, creator: Caller = ANN) -> dict[str, EntryId]:
    """Make a root with the history A, C, D and the context B, E, F of epoch 1."""
    create(table, by=creator)
    made = {}
    for letter in "ABCDEF":
        if letter in "BEF":
            made[letter] = note(table, ROOT, letter, 1, by=PLANNER)
        else:
            [made[letter]] = say(table, ROOT, letter)
    return made


@pytest.mark.parametrize("creator", [ANN, PLANNER], ids=["a user's", "the client's"])
def test_epoch_one_of_a_fork_continues_the_one_inherited_up_to_the_fork_point(
    table: Table, creator: Caller
) -> None:
    made = lettered(table, creator=creator)
    fork(table, anchor=made["C"], by=creator)
    note(table, FORK, "I", 1, by=PLANNER)

    assert known(table) == ["B", "E", "F"]
    assert known(table, FORK) == ["B", "I"]


def test_a_higher_epoch_in_a_fork_drops_inherited_context_only_in_the_fork(table: Table) -> None:
    made = lettered(table)
    fork(table, anchor=made["C"])
    fork(table, ROOT, TWIG, made["C"])
    note(table, FORK, "I", 1, by=PLANNER)
    note(table, FORK, "J", 2, by=PLANNER)
    fork(table, FORK, OTHER)

    assert known(table) == ["B", "E", "F"]
    assert known(table, FORK) == ["J"]
    assert known(table, TWIG) == ["B"]
    assert known(table, OTHER) == ["J"]
    assert known(table, FORK, epoch="all") == ["B", "I", "J"]
    assert known(table, FORK, epoch=1) == ["B", "I"]


# The effects of a sync


def test_a_sync_writes_the_rest_nothing_or_a_new_epoch(store: Store, table: Table) -> None:
    create(table)
    assert told(sync(table, "a")) == (1, '["a"]')
    assert told(sync(table, "a", "b", {"c": [1, None]})) == (1, '["b",{"c":[1,null]}]')
    with store.unchanged():
        again = sync(table, "a", "b", {"c": [1.0, None]})
    assert (again.epoch, again.entry, again.no_op, again.epoch_incremented) == (1, None, True, False)
    anew = sync(table, "a", "x")
    assert (told(anew), anew.no_op, anew.epoch_incremented) == ((2, '["a","x"]'), False, True)
    assert told(sync(table)) == (3, "[]")
    with store.unchanged():
        assert told(sync(table)) == (3, None)
    assert told(sync(table, "y")) == (3, '["y"]')
    assert known(table) == ["y"]
    assert known(table, epoch="all") == ["a", "b", {"c": [1, None]}, "a", "x", "y"]


def test_a_sync_moves_head_and_metrics_as_an_append_does(table: Table) -> None:
    create(table)
    done = sync(table, "a")

    head = show(table).head
    assert done.entry is not None
    assert (head.last, head.last_history, head.history, head.context) == (done.entry.entry_id, None, 0, 1)
    assert head.metrics.entries == 1
    assert head.updated_at == ids.created_at(done.entry.entry_id)
    assert show(table).conversation.described.title is None
    say(table, ROOT, "first text")
    assert show(table).conversation.described.title == "first text"


def test_synced_content_keeps_its_spelling(table: Table) -> None:
    create(table)
    sync(table, text=JsonText('[ 1.0 , {"b":1e0, "a": 0.10} ]', read_value('[1.0,{"b":1e0,"a":0.10}]')))
    more = ' [1, {"a":1e-1,"b":1 } ,  -0.0 , "\\u00e9" ]'
    done = sync(table, text=JsonText(more, read_value(more.strip())))

    assert done.entry is not None
    assert json.loads(done.entry.content, parse_float=str) == ["-0.0", "é"]
    assert page(table, by=PLANNER, channel=C).entries[-1] == done.entry
    assert done.entry.content == '[-0.0,"\\u00e9"]'


def test_a_repeated_sync_of_python_values_with_fractions_is_a_no_op(table: Table) -> None:
    sync(table, 0.1, {"a": 1e300})

    assert sync(table, 0.1, {"a": 1e300}).no_op
    assert told(sync(table, 0.1, {"a": 1e300}, 2.5)) == (1, "[2.5]")


def test_a_sync_extends_what_was_appended_in_parts(table: Table) -> None:
    create(table)
    append(table, ROOT, thought("a", 5), "said", thought("b"), thought("c"), by=PLANNER)

    assert told(sync(table, "a", "b", "c", "d")) == (5, '["d"]')
    assert sync(table, "a", "b", "c", "d").no_op
    assert told(sync(table, "a", "b")) == (6, '["a","b"]')
    assert note(table, ROOT, "e", by=PLANNER)
    assert known(table) == ["a", "b", "e"]


def test_a_sync_in_a_fork_writes_only_what_it_does_not_inherit(table: Table) -> None:
    create(table)
    sync(table, "a", "b")
    [anchor] = say(table, ROOT, "x")
    sync(table, "a", "b", "later")
    fork(table, anchor=anchor)
    fork(table, ROOT, TWIG, anchor)

    assert sync(table, "a", "b", to=FORK).no_op
    assert told(sync(table, "a", "b", "own", to=FORK)) == (1, '["own"]')
    assert told(sync(table, "else", to=TWIG)) == (2, '["else"]')
    assert told(sync(table, "else", "more", to=TWIG)) == (2, '["more"]')
    assert known(table, FORK) == ["a", "b", "own"]
    assert known(table, TWIG) == ["else", "more"]
    assert known(table) == ["a", "b", "later"]
    assert told(sync(table, to=FORK)) == (2, "[]")
    assert known(table, FORK) == []
    assert sync(table, to=FORK).no_op


def test_each_client_syncs_its_own_context_in_a_conversation_of_a_plain_user(table: Table) -> None:
    create(table)

    assert told(sync(table, "p")) == (1, '["p"]')
    assert told(sync(table, "c", by=CODER)) == (1, '["c"]')
    assert told(sync(table, "p", "q")) == (1, '["q"]')
    assert (known(table), known(table, by=CODER)) == (["p", "q"], ["c"])


def test_the_clients_context_is_one_for_all_its_users(store: Store, table: Table) -> None:
    create(table)
    sync(table, "a")
    store.add_member(ROOT, "bob")

    assert told(sync(table, "a", "b", by=BOBS_PLANNER)) == (1, '["b"]')
    assert sync(table, "a", "b").no_op


# A conversation that does not exist


def test_a_sync_to_an_unknown_id_creates_the_conversation(store: Store, table: Table) -> None:
    done = sync(table, "a", "b")

    assert (told(done), done.epoch_incremented) == ((1, '["a","b"]'), True)
    shown = show(table)
    assert (shown.level, shown.conversation.client_id, shown.conversation.described.title) == (
        "owner",
        "planner",
        None,
    )
    assert known(table) == ["a", "b"]
    assert len([key for key in store.contents() if key.sort.startswith("CTX#")]) == 1


def test_an_empty_sync_to_an_unknown_id_creates_nothing(store: Store, table: Table) -> None:
    with store.unchanged():
        done = sync(table)
    assert (done.epoch, done.entry, done.no_op, done.epoch_incremented) == (None, None, True, False)
    assert sync(table, idempotency_key=idempotency_key(by=PLANNER)) == done
    assert [key.partition[:5] for key in store.contents()] == ["IDEM#"]
    create(table)
    with store.unchanged():
        assert told(sync(table)) == (None, None)
    with store.refuses(ForbiddenError):
        sync(table, to=OTHER, by=ANN)


@pytest.mark.parametrize("of", [ROOT, FORK])
def test_only_the_sync_that_creates_the_conversation_starts_an_epoch_where_nothing_was_known(
    table: Table, of: str
) -> None:
    say(table, ROOT, "hello")
    fork(table)

    done = sync(table, "a", to=of, idempotency_key=idempotency_key(by=PLANNER))

    assert (told(done), done.epoch_incremented) == ((1, '["a"]'), False)
    assert sync(table, "a", to=of, idempotency_key=idempotency_key(by=PLANNER)) == done
    assert sync(table, "b", to=of).epoch_incremented


# Access to a sync


@pytest.mark.parametrize("content", [["a"], ["a", "b"], []], ids=["the same", "more", "nothing"])
@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
def test_a_caller_without_context_in_the_conversation_may_not_sync(
    store: Store, table: Table, content: list[str], knows: bool
) -> None:
    create(table, by=PLANNER)
    sync(table, "a")
    store.add_member(ROOT, "bob", AccessLevel.READER)
    process = table if knows else store.process()

    for caller in (ANN, CODER, BOB, BOBS_PLANNER, Caller("eve", "planner")):
        with store.refuses(ForbiddenError):
            sync(process, *content, by=caller)


def test_a_sync_of_nothing_new_is_kept_under_its_key(store: Store, table: Table) -> None:
    sync(table, "a")
    assert sync(table, "a", idempotency_key=idempotency_key(by=PLANNER)).no_op

    sync(table, "b")
    again = sync(store.process(), "a", idempotency_key=idempotency_key(by=PLANNER))
    assert (again.no_op, known(table)) == (True, ["b"])


def test_a_sync_that_is_too_large_changes_nothing(store: Store, table: Table) -> None:
    sync(table, "a")

    with store.refuses(PayloadTooLargeError):
        sync(table, "a", "x" * 2_600_000)


# Replays


def test_a_large_sync_is_replayed_and_remembered_in_a_small_record(store: Store, table: Table) -> None:
    large = "".join(chr(0x4E00 + at % 20_000) for at in range(330_000))
    key = idempotency_key(by=PLANNER)
    first = sync(table, "a", large, idempotency_key=key)

    assert sync(store.process(), "a", large, idempotency_key=key) == first
    assert first.entry is not None
    assert known(store.process()) == ["a", large]
    assert sync(store.process(), "a", large).no_op
    assert sum(len(str(value)) for value in store.item(key.key).values()) < 1_000


def test_a_replay_of_an_empty_sync_changes_nothing_later(store: Store, table: Table) -> None:
    key = idempotency_key(by=PLANNER)
    first = sync(table, idempotency_key=key)
    sync(table, "a")

    with store.unchanged():
        assert sync(table, idempotency_key=key) == first


def test_a_replay_of_an_empty_sync_shows_nothing_of_a_conversation_made_later(
    store: Store, table: Table
) -> None:
    key = idempotency_key(by=PLANNER)
    sync(table, idempotency_key=key)
    create(table, by=Caller("eve"))

    with store.refuses(ForbiddenError):
        sync(table, idempotency_key=key)


# Races


@pytest.mark.failure("two-creators")
def test_a_sync_that_loses_many_races_decides_again_each_time(store: Store, table: Table) -> None:
    create(table)
    sync(table, "a")
    wire = Wire.of(table)
    for nth in range(1, 6):
        wire.just_before(WRITE, lambda nth=nth: sync(store.process(), "a", str(nth)), nth=nth)  # type: ignore[misc]

    done = sync(table, "mine")

    assert told(done) == (6, '["mine"]')
    assert known(table) == ["mine"]


# Reads of the latest epoch


def torn(table: Table, store: Store, key: keys.Key, write: Callable[[], object]) -> None:
    """Let the next look-up see the item of `key` after `write`, and all other items before it."""
    done: list[int] = []

    def tear(request: Request, answer: dict[str, Any]) -> None:
        if request.operation != "BatchGetItem" or done:
            return
        done.append(1)
        write()
        found = answer["Responses"][store.name]
        rest = [one for one in found if (one["PK"]["S"], one["SK"]["S"]) != key]
        answer["Responses"][store.name] = [*rest, store.item(key)]

    Wire.of(table).after(tear)


@pytest.mark.parametrize("newer", [keys.head(ROOT, ROOT), keys.context(ROOT, ROOT, "planner")])
@pytest.mark.parametrize("text", [["a", "b"], ["x", "y"]], ids=["same epoch", "next epoch"])
def test_a_look_up_that_mixes_two_states_shows_one_of_them(
    store: Store, table: Table, newer: keys.Key, text: list[str]
) -> None:
    create(table)
    sync(table, "a")
    torn(table, store, newer, lambda: sync(store.process(), *text))

    assert known(table) in (["a"], text)
    assert known(table) == text


def test_a_sync_whose_look_up_mixes_two_states_is_decided_on_the_later_one(
    store: Store, table: Table
) -> None:
    create(table)
    sync(table, "a")
    for at, newer in enumerate((keys.head(ROOT, ROOT), keys.context(ROOT, ROOT, "planner"))):
        process = store.process()
        torn(process, store, newer, lambda at=at: sync(store.process(), "a", *range(at + 1)))  # type: ignore[misc]
        assert told(sync(process, "a", *range(at + 1), "mine"))[1] == '["mine"]'
        assert sync(process, "a", *range(at + 1), "mine").no_op
        sync(process, "a")


@pytest.fixture
def long_history(store: Store, table: Table) -> Table:
    """Three epochs of 300 entries, each after 300 history entries, and then one of three."""
    create(table)
    for epoch in range(1, 4):
        for _ in range(6):
            append(table, ROOT, *[thought("old", epoch)] * 25, *["said"] * 25, by=PLANNER)
        for _ in range(3):
            append(table, ROOT, *[thought("old", epoch)] * 50, by=PLANNER)
    append(table, ROOT, thought("new", 4), thought("er"), thought("est"), by=PLANNER)
    return table


def read_items(wire: Wire) -> list[int]:
    """Return a list that collects how many items each Query returns."""
    counts: list[int] = []
    wire.after(lambda r, a: counts.append(len(a["Items"])) if r.operation == "Query" else None)
    return counts


def test_the_cost_of_the_latest_epoch_does_not_depend_on_the_history(
    store: Store, long_history: Table
) -> None:
    fork(long_history)
    expected = ["new", "er", "est"]
    for of, most in ((ROOT, 60), (FORK, 60)):
        for knows in (True, False):
            table = long_history if knows else store.process()
            wire = Wire.of(table)
            counts = read_items(wire)
            assert known(table, of) == expected
            assert len(wire.requests) <= 5, wire.operations
            assert sum(counts) <= 2 * most, counts
            wire.clear()
            counts.clear()
            assert sync(table, *expected, to=of).no_op
            assert len(wire.requests) <= 5, wire.operations
            assert sum(counts) <= most, counts
    wire = Wire.of(long_history)
    counts = read_items(wire)
    assert known(long_history) == expected
    assert counts == [3]


def test_a_view_up_to_an_entry_has_the_latest_epoch_before_that_entry(table: Table) -> None:
    create(table)
    steps = [("a", 1), ("b", 1), ("c", 2), (None, 0), ("d", 2), ("e", 5)]
    made = [
        note(table, ROOT, text, epoch, by=PLANNER) if text else say(table, ROOT, "said")[0]
        for text, epoch in steps
    ]
    fork(table, anchor=made[3], position=AFTER)
    note(table, FORK, "f", 3, by=PLANNER)

    then = [known(table, up_to=entry_id) for entry_id in made]
    assert then == [["a"], ["a", "b"], ["c"], ["c"], ["c", "d"], ["e"]]
    assert [known(table, FORK, up_to=entry_id) for entry_id in made[:4]] == then[:4]
    assert (
        page(table, by=PLANNER, channel=C, up_to=made[4], limit=1, tail=True).entries[0].entry_id == made[4]
    )
    assert read(table, FORK, by=PLANNER, channel=Channel.CONTEXT) == ["f"]


# Context of several clients


FOREIGN = 3_000


def plant_foreign_context(store: Store, table: Table, count: int) -> None:
    """Put `count` context entries of the coder into the root, between two messages."""
    say(table, ROOT, "before")
    entry_id = note(table, ROOT, "foreign", by=CODER)
    planted = []
    for _ in range(count - 2):
        entry_id = ids.next_id(entry_id)
        entry = Entry(entry_id, ROOT, "ann", C, "x", '["foreign"]', client_id="coder", epoch=1)
        planted.append(items.entry_items(ROOT, entry, nonce="n", escaped_bytes=500)[0])
    store.put(*planted)
    note(table, ROOT, "foreign", by=CODER)
    say(table, ROOT, "after")


def reads_of(store: Store, act: Callable[[Table], object]) -> tuple[list[str], int]:
    """Return the requests of a new process, and how many items they read or ask for."""
    process = store.process()
    wire = Wire.of(process)
    found = read_items(wire)
    act(process)
    asked = [len(r.body["RequestItems"]["forklore"]["Keys"]) for r in wire.requests if "Get" in r.operation]
    return wire.operations, sum([*found, *asked])


AS_A_STRANGER: dict[str, Callable[[Table], object]] = {
    "latest": lambda table: known(table, ROOT),
    "latest, of a fork": lambda table: known(table, FORK),
    "latest, as it once was": lambda table: known(
        table, FORK, up_to=page(table, FORK, channel=Channel.HISTORY).entries[-1].entry_id
    ),
    "latest, of all forks": lambda table: known(table, FORK, all_forks=True),
    "of all epochs": lambda table: known(table, ROOT, epoch="all"),
    "of one epoch": lambda table: known(table, ROOT, epoch=1),
    "first sync of nothing": lambda table: sync(table, to=FORK),
    "first sync, to a fork": lambda table: sync(table, "mine", to=FORK),
    "first context, of a fork": lambda table: note(table, TWIG, "mine", by=PLANNER),
    "first sync": lambda table: sync(table, "mine"),
}


def test_a_client_without_context_does_not_pay_for_the_context_of_others() -> None:
    """A range of the index has the context of all clients, so nothing is read without a CTX."""

    def costs(count: int) -> dict[str, tuple[list[str], int]]:
        with fresh_store("forklore") as store:
            plant_foreign_context(store, store.process(), count)
            for fork_id in (FORK, TWIG):
                fork(store.process(), ROOT, fork_id)
            return {what: reads_of(store, act) for what, act in AS_A_STRANGER.items()}

    beside_two = costs(2)
    assert costs(FOREIGN) == beside_two
    assert {what: cost for what, cost in beside_two.items() if len(cost[0]) > 5 or cost[1] > 20} == {}


def test_inherited_context_is_found_across_conversations_without_any(
    table: Table,
) -> None:
    note(table, ROOT, "a", by=PLANNER)
    note(table, ROOT, "b", 2, by=PLANNER)
    say(table, ROOT, "hello")
    for number in range(100, 100 + 3 * view_pages.CONTEXTS_AT_FIRST):
        source = ROOT if number == 100 else conversation(number - 1)
        fork(table, source, conversation(number))
        note(table, conversation(number), "foreign", by=CODER)
    last = conversation(number)

    assert known(table, last) == ["b"]
    assert told(sync(table, "b", "c", to=last)) == (2, '["c"]')
    assert known(table, last) == ["b", "c"]


def test_a_sync_holds_only_one_entry_and_the_sent_content_in_memory(table: Table) -> None:
    """20 entries of empty arrays compress to almost nothing, but are 14 MB of lists when read."""
    for _ in range(20):
        note_lists = text_of([[[]] * 10_000])
        append(table, ROOT, Draft.of(C, "x", note_lists, epoch=1), by=PLANNER)
    forget_digest(table)
    sent = [f"element {at}" for at in range(25)]
    tracemalloc.start()
    try:
        done = sync(table, *sent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (done.epoch, done.epoch_incremented) == (2, True)
    assert peak < 4_000_000


# Digests


def forget_digest(table: Table, conversation_id: str = ROOT) -> None:
    """Leave the planner's CTX without a digest, as an older version stored it."""
    table.commit([actions.context.forget_digest(keys.context(ROOT, conversation_id, "planner"))])


@pytest.mark.parametrize("sent", [["more"], [], None], ids=["more", "the same", "something else"])
def test_a_sync_reads_nothing_of_a_context_whose_digest_is_known(
    table: Table, sent: list[str] | None
) -> None:
    before = [str(at) for at in range(250)]
    for at in range(0, 250, 50):
        append(table, ROOT, *[thought(one, 1) for one in before[at : at + 50]], by=PLANNER)
    wire = Wire.of(table)
    first = len(wire.operations)

    done = sync(table, *before, *sent) if sent is not None else sync(table, *before[1:])

    assert set(wire.operations[first:]) <= {"BatchGetItem", WRITE}
    assert (done.no_op, done.epoch_incremented) == (sent == [], sent is None)


def test_a_fork_that_inherits_all_of_a_context_takes_its_digest_over(table: Table) -> None:
    create(table)
    sync(table, *"abc")
    fork(table)
    wire = Wire.of(table)
    first = len(wire.operations)

    assert told(sync(table, *"abcd", to=FORK)) == (1, '["d"]')

    assert "Query" not in wire.operations[first:]


def test_a_fork_that_inherits_a_part_of_a_context_reads_it_once(table: Table) -> None:
    create(table)
    sync(table, *"ab")
    [later] = say(table, ROOT, "x")
    sync(table, *"abc")
    fork(table, ROOT, FORK, later)
    wire = Wire.of(table)

    assert told(sync(table, *"abd", to=FORK)) == (1, '["d"]')
    first = len(wire.operations)
    assert told(sync(table, *"abde", to=FORK)) == (1, '["e"]')

    assert "Query" not in wire.operations[first:]
    assert known(table, FORK) == [*"abde"]


def test_a_context_without_a_digest_is_read_and_the_next_sync_reads_nothing(table: Table) -> None:
    sync(table, *"ab")
    forget_digest(table)
    wire = Wire.of(table)

    assert sync(table, *"ab").no_op
    assert told(sync(table, *"abc")) == (1, '["c"]')
    first = len(wire.operations)
    assert told(sync(table, *"abcd")) == (1, '["d"]')

    assert "Query" not in wire.operations[first:]


def test_an_append_joins_a_context_without_a_digest_and_leaves_it_without(store: Store, table: Table) -> None:
    sync(table, "a")
    forget_digest(table)

    note(store.process(), ROOT, "b", by=PLANNER)

    assert "digest" not in store.item(keys.context(ROOT, ROOT, "planner"))
    assert sync(table, *"ab").no_op


def test_an_append_by_a_process_that_knows_an_older_digest_is_decided_again(
    store: Store, table: Table
) -> None:
    """The other process learns of the new tip by an append of history, but not of the context."""
    sync(table, "a")
    old = store.process()
    note(old, ROOT, "b", by=PLANNER)
    sync(table, *"abc")
    say(old, ROOT, "x")

    note(old, ROOT, "d", by=PLANNER)

    assert sync(store.process(), *"abcd").no_op


# What a context is based on


def test_a_context_that_replaces_another_than_the_one_it_is_based_on_is_409(
    store: Store, table: Table
) -> None:
    first = sync(table, "a").entry
    assert first is not None
    second = sync(table, "a", "mine", based_on=first.entry_id).entry
    assert second is not None

    with store.unchanged(), store.refuses(ConflictError) as refused:
        sync(table, "a", "yours", based_on=first.entry_id)
    assert (refused.value.details["reason"], refused.value.details["latestEpoch"]) == ("context_moved", 1)
    with store.unchanged(), store.refuses(ConflictError):
        sync(table, "a", "yours", based_on="none")

    assert sync(table, "a", "yours", based_on=second.entry_id).epoch_incremented


def test_a_context_that_goes_on_from_all_that_is_stored_loses_nothing_whatever_it_is_based_on(
    table: Table,
) -> None:
    assert told(sync(table, "a", based_on="an entry that is not here")) == (1, '["a"]')
    assert sync(table, "a", based_on="none").no_op
    assert told(sync(table, "a", "b", based_on="none")) == (1, '["b"]')


def test_what_a_fork_inherits_is_what_its_first_context_is_based_on(table: Table) -> None:
    create(table)
    first, second = sync(table, "a").entry, sync(table, "a", "b").entry
    assert first is not None
    assert second is not None
    fork(table)

    with pytest.raises(ConflictError):
        sync(table, "c", to=FORK, based_on=first.entry_id)

    same = sync(table, "a", "b", to=FORK)
    assert (same.no_op, same.last) == (True, second.entry_id)
    assert sync(table, "c", to=FORK, based_on=second.entry_id).epoch_incremented

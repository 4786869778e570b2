"""Keys of entries: unique in a conversation, and found along its path."""

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, ForkPosition, Words
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.reading import entry_lookup
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    conversation,
    fork,
    page,
    read,
    said,
    say,
    texts,
    thought,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tools.harness.wire import Wire


def marked(text: str, key: str) -> Draft:
    return said(text, key=key)


def found(table: Table, key: str, conversation_id: str = ROOT, *, by: Caller = ANN) -> str:
    """Return the text of the entry under a key."""
    entry = entry_lookup.look_entry_up(table, caller=by, conversation_id=conversation_id, key=key)
    assert entry.key == key
    return texts([entry])[0]


def test_an_entry_is_found_by_its_key(table: Table) -> None:
    append(table, ROOT, marked("a", "1"), "b", marked("c", "3 #/~"))

    assert found(table, "1") == "a"
    assert found(table, "3 #/~") == "c"
    with pytest.raises(NotFoundError):
        found(table, "2")


def test_a_key_is_for_one_entry_of_a_conversation(table: Table, store: Store) -> None:
    [first] = append(table, ROOT, marked("a", "k"))

    for process in (table, store.process()):
        with pytest.raises(ConflictError) as in_use:
            append(process, ROOT, "x", marked("b", "k"))
        assert in_use.value.details["reason"] == "key_in_use"
        assert in_use.value.details["entryId"] == first.entry_id
    assert read(table) == ["a"]
    append(table, OTHER, marked("other", "k"))
    assert found(table, "k", OTHER) == "other"


def test_a_caller_without_access_is_not_told_that_a_key_is_in_use(table: Table, store: Store) -> None:
    append(table, ROOT, marked("a", "k"))
    store.add_member(ROOT, "bob", AccessLevel.READER)

    for stranger in (BOB, EVE):
        with pytest.raises(ForbiddenError):
            append(table, ROOT, marked("b", "k"), by=stranger)


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("reason", ["epoch_over", "stale", "key_in_use"])
def test_of_several_conflicts_a_key_in_use_is_told_last(
    table: Table, store: Store, knows: bool, reason: str
) -> None:
    """Also by a process that has not seen what has ended the epoch and made the If-Match stale."""
    append(table, ROOT, thought("a"), by=PLANNER)
    append(table, ROOT, thought("b"), by=PLANNER)
    [last] = say(table, ROOT, "c")
    append(store.process(), ROOT, marked("d", "k"), thought("e", 6), by=PLANNER)
    draft = thought("mine", 2 if reason == "epoch_over" else 6, key="k")
    process = table if knows else store.process()

    with store.refuses(ConflictError) as refused:
        append(
            process,
            ROOT,
            draft,
            by=PLANNER,
            if_match=last if reason == "stale" else None,
        )
    assert refused.value.details["reason"] == reason


def test_the_nearest_entry_that_is_shown_is_found(table: Table) -> None:
    _, b, _ = say(table, ROOT, marked("a", "1"), marked("b", "2"), marked("c", "3"))
    fork(table, ROOT, FORK, b, AFTER)
    [d] = say(table, FORK, marked("d", "1"))
    fork(table, FORK, TWIG, d)
    append(table, TWIG, marked("e", "3"))

    assert [found(table, key, FORK) for key in "12"] == ["d", "b"]
    assert [found(table, key, TWIG) for key in "123"] == ["a", "b", "e"]
    assert [found(table, key, ROOT) for key in "123"] == ["a", "b", "c"]
    with pytest.raises(NotFoundError):
        found(table, "3", FORK)


def test_a_key_is_found_far_along_a_path(table: Table) -> None:
    depth = 120
    say(table, conversation(1000), marked("a", "k"))
    for number in range(1000, 1000 + depth):
        fork(table, conversation(number), conversation(number + 1))
        say(table, conversation(number + 1), "more")

    assert found(table, "k", conversation(1000 + depth)) == "a"


def test_context_is_found_by_its_own_client_only(table: Table) -> None:
    append(table, ROOT, "a")
    append(table, ROOT, thought("mine", key="k"), by=PLANNER)
    fork(table)
    append(table, FORK, thought("coder's", key="k"), by=CODER)

    assert found(table, "k", by=PLANNER) == "mine"
    for other in (ANN, CODER):
        with pytest.raises(NotFoundError):
            found(table, "k", by=other)
    assert found(table, "k", FORK, by=PLANNER) == "mine"
    assert found(table, "k", FORK, by=CODER) == "coder's"
    auditor = Caller("rita", bypasses_membership=True)
    assert found(table, "k", FORK, by=auditor) == "coder's"


def test_a_fork_is_made_at_a_key(table: Table) -> None:
    append(table, ROOT, marked("a", "1"), marked("b", "2"), marked("c", "3"))

    fork(table, ROOT, FORK, position=AFTER, anchor_key="2")
    made = fork(table, FORK, TWIG, position=BEFORE, anchor_key="2")

    assert read(table, FORK) == ["a", "b"]
    assert read(table, TWIG) == ["a"]
    point = made.conversation.fork_point
    assert point is not None
    assert point.entry_id == page(table).entries[1].entry_id
    assert made.head.preview == Words("a", "ann")
    with pytest.raises(NotFoundError):
        fork(table, FORK, OTHER, position=AFTER, anchor_key="3")


def edited(table: Table, into: str, key: str, of: str = ROOT, position: ForkPosition = BEFORE) -> None:
    """Append to a fork that the request says to be at a key."""
    request = Append(into, [said("edit", key=key)], fork=Fork(of, None, position, key))
    append_entries(table, caller=ANN, request=request)


def test_an_append_forks_at_a_key_and_goes_on_when_it_is_sent_with_every_message(
    table: Table, store: Store
) -> None:
    append(table, ROOT, marked("a", "1"), marked("b", "2"), marked("c", "3"))

    for into, position, shown in ((FORK, BEFORE, ["a"]), (TWIG, AFTER, ["a", "b"])):
        edited(table, into, "2", position=position)
        request = Append(into, [said("more")], fork=Fork(ROOT, None, position, "2"))
        append_entries(store.process(), caller=ANN, request=request)
        assert read(table, into) == [*shown, "edit", "more"]


def test_an_append_forks_at_the_key_of_an_inherited_entry(table: Table) -> None:
    append(table, ROOT, marked("a", "1"), marked("b", "2"))
    fork(table)

    edited(table, TWIG, "2", of=FORK)

    assert read(table, TWIG) == ["a", "edit"]


def test_an_append_to_a_fork_at_another_key_or_place_is_refused(table: Table, store: Store) -> None:
    append(table, ROOT, marked("a", "1"), marked("b", "2"))
    edited(table, FORK, "2")
    fork(table, ROOT, TWIG)

    for into, of, key, position in (
        (FORK, ROOT, "1", BEFORE),
        (FORK, ROOT, "none", BEFORE),
        (FORK, ROOT, "2", AFTER),
        (FORK, TWIG, "2", BEFORE),
        (TWIG, ROOT, "1", AFTER),
        (ROOT, ROOT, "2", BEFORE),
    ):
        with store.refuses(ConflictError):
            edited(store.process(), into, key, of, position)
    with store.refuses(NotFoundError):
        edited(store.process(), OTHER, "none")


def test_a_fork_stays_at_its_key_when_its_source_shows_another_entry_under_it(
    table: Table, store: Store
) -> None:
    append(table, ROOT, marked("a", "1"))
    fork(table)
    edited(table, TWIG, "1", of=FORK, position=AFTER)
    append(table, FORK, marked("nearer", "1"))

    request = Append(TWIG, [said("more")], fork=Fork(FORK, None, AFTER, "1"))
    append_entries(store.process(), caller=ANN, request=request)
    assert read(table, TWIG) == ["a", "edit", "more"]

    remove_branch(table, Mailbox().queue, caller=ANN, conversation_id=FORK, wait_s=0)
    append_entries(store.process(), caller=ANN, request=request)
    assert read(table, TWIG) == ["a", "edit", "more", "more"]


def test_a_key_costs_a_read_more(table: Table, store: Store) -> None:
    append(table, ROOT, marked("a", "1"))
    process = store.process()
    wire = Wire.of(process)

    edited(process, FORK, "1")
    assert wire.operations == ["BatchGetItem"] * 2 + ["TransactWriteItems"]

    wire.requests.clear()
    request = Append(FORK, [said("more")], fork=Fork(ROOT, None, BEFORE, "1"))
    append_entries(process, caller=ANN, request=request)
    assert wire.operations == ["BatchGetItem"] * 3 + ["TransactWriteItems"]


def test_the_keys_of_a_tree_lie_in_its_partition(table: Table, store: Store) -> None:
    [entry] = append(table, ROOT, marked("a", "k/1"))

    item = store.item(keys.entry_key(ROOT, ROOT, "k/1"))

    assert EntryId(item["entry"]["S"]) == entry.entry_id

"""A private copy of a whole tree: its branches, what they show, and what stays behind."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Channel, Entry, EntryRef, TokenUsage
from forklore_service.errors import ConflictError, ForbiddenError, NotFoundError, PayloadTooLargeError
from forklore_service.storage.table import Table
from forklore_service.usecases.background import sweeper
from forklore_service.usecases.background.sweeper import CREATION_SECONDS_MAX, sweep
from forklore_service.usecases.branches import copying_trees
from forklore_service.usecases.branches.copying import Copy, copy_conversation
from forklore_service.usecases.branches.copying_trees import BRANCHES_MAX, copy_tree
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.reading.fork_lists import list_forks
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.loading import ConversationDetails
from tests.service.usecases.attachments.files import in_two_days, left, name, settle, upload
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BLANK,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    answer,
    append,
    begin,
    conversation,
    fork,
    idempotency_key,
    large,
    page,
    promote,
    read,
    said,
    say,
    show,
    thought,
)
from tests.service.usecases.members import READER, Killed, meanwhile, members, remove, share
from tests.support.mailbox import Mailbox
from tests.support.tables import Store, WrongClock
from tools.harness.service import Process
from tools.harness.wire import Request, Wire

COPY, GONE, EMPTY, LATER = (conversation(88 + number) for number in range(4))

OTHERS = [conversation(400 + number) for number in range(100)]


def copy(
    table: Table,
    of: str = ROOT,
    to: str | None = COPY,
    *,
    by: Caller = EVE,
    idempotency_key: IdempotencyKey | None = None,
) -> ConversationDetails:
    return copy_tree(table, caller=by, conversation_id=of, copy_id=to, idempotency_key=idempotency_key)


def branches(table: Table, of: str, *, by: Caller = ANN) -> list[str]:
    listed = list_forks(table, caller=by, conversation_id=of, after=None, limit=200)
    return [one.conversation_id for one, _ in listed.conversations]


def views(table: Table, of: str, *, by: Caller = ANN) -> list[list[str]]:
    return [read(table, one, by=by) for one in branches(table, of, by=by)]


def memories(table: Table, of: str, *, by: Caller) -> list[list[Entry]]:
    """Return what each branch shows of an agent's context."""
    mine = Caller(by.user_id, PLANNER.client_id)
    return [page(table, one, by=mine, channel=Channel.CONTEXT).entries for one in branches(table, of, by=by)]


def cut(table: Table, of: str, *, by: Caller = ANN) -> None:
    remove_branch(table, Mailbox().queue, caller=by, conversation_id=of, wait_s=0)


def settle_all(store: Store) -> None:
    """Let the sweep and the worker do all that is left."""
    mailbox, table = Mailbox(), store.process()
    for _ in range(50):
        swept = sweep(table, mailbox.queue)
        settle(store, mailbox)
        if not swept.jobs:
            return
    raise AssertionError("the jobs do not come to an end")


def assert_intact(store: Store) -> None:
    assert check(store.contents().values(), now_s=store.process().now_s()) == []


@pytest.fixture
def tree(store: Store) -> Table:
    """A tree with a fork of a fork, a removed branch that others show, one of which nothing stays,
    a blank fork, context, keys, a large body and a turn. Eve is a reader.
    """
    table = store.process()
    _, b, _ = say(table, ROOT, "a", "b", "c")
    append(table, ROOT, said("keyed", key="k"), thought("t1"), by=PLANNER)
    fork(table, ROOT, FORK, b, AFTER)
    append(table, FORK, said("x"), thought("t2"), large(400_000), by=PLANNER)
    (y,) = say(table, FORK, "y")
    fork(table, FORK, TWIG, y, AFTER)
    say(table, TWIG, "z")
    append(table, ROOT, thought("t3", epoch=4), by=PLANNER)
    fork(table, ROOT, OTHER, None, BLANK)
    append(table, OTHER, said("o", key="k"))
    fork(table, ROOT, GONE, b)
    (g,) = say(table, GONE, "g")
    fork(table, GONE, EMPTY, g)
    promote(table, TWIG)
    share(table, "eve", READER)
    cut(table, FORK)
    cut(table, GONE)
    settle_all(store)
    return table


def test_a_reader_gets_a_tree_of_their_own_with_all_branches(store: Store, tree: Table) -> None:
    was = views(tree, ROOT)
    made = copy(tree, TWIG)

    assert (made.owner, made.level, made.is_current) == ("eve", AccessLevel.OWNER, True)
    assert made == show(store.process(), made.conversation.conversation_id, by=EVE)
    assert views(store.process(), COPY, by=EVE) == was
    assert views(tree, ROOT) == was
    assert members(tree, COPY, by=EVE) == {"eve": "owner"}
    assert not set(branches(tree, COPY, by=EVE)) & set(branches(tree, ROOT))
    with pytest.raises(ForbiddenError):
        show(tree, COPY, by=ANN)
    assert_intact(store)


def test_the_branch_of_a_copy_that_is_named_is_answered(tree: Table) -> None:
    for at, of in enumerate(branches(tree, ROOT)):
        made = copy(tree, of, None)
        copied = made.conversation.conversation_id
        assert branches(tree, copied, by=EVE)[at] == copied
        assert made.is_current == (of == TWIG)


def test_a_copy_has_the_context_of_each_client_and_goes_on_with_it(store: Store, tree: Table) -> None:
    was = [[one.content for one in entries] for entries in memories(tree, ROOT, by=ANN)]
    copy(tree)
    copied = memories(tree, COPY, by=EVE)

    assert [[one.content for one in entries] for entries in copied] == was
    append(tree, COPY, thought("t4", epoch=4), by=Caller("eve", "planner"))
    assert len(memories(tree, COPY, by=EVE)[0]) == len(was[0]) + 1
    assert_intact(store)


def test_a_copy_keeps_authors_times_and_keys_but_no_usage(store: Store) -> None:
    table = store.process()
    append(
        table,
        ROOT,
        said("a", key="k", used=TokenUsage(3, 4), usage='{"inputTokens":3,"outputTokens":4}'),
        by=PLANNER,
    )
    fork(table, ROOT, FORK, None, reset_metrics=False)
    made = copy(table, FORK, by=ANN)

    [original], [copied] = page(table, ROOT).entries, page(table, COPY).entries
    assert (copied.user_id, copied.client_id, copied.key) == ("ann", "planner", "k")
    assert copied.copied_from == EntryRef(ROOT, original.entry_id)
    assert copied.usage is None
    assert (
        0
        <= int(copied.entry_id[:13].replace("-", ""), 16) - int(original.entry_id[:13].replace("-", ""), 16)
        <= 1
    )
    assert made.head.metrics.usage == TokenUsage()
    assert store.contents()[keys.entry_key(COPY, COPY, "k")]["entry"]["S"] == copied.entry_id
    assert_intact(store)


def test_a_tree_whose_root_was_removed_is_copied_as_well(store: Store, tree: Table) -> None:
    cut(tree, ROOT)
    was = views(tree, TWIG)
    made = copy(tree, TWIG, None)
    assert views(tree, made.conversation.conversation_id, by=EVE) == was
    with pytest.raises(NotFoundError):
        show(tree, made.conversation.group_id, by=EVE)
    assert_intact(store)


def test_a_tree_of_whose_root_nothing_is_left_is_copied_as_well(store: Store, tree: Table) -> None:
    promote(tree, OTHER)
    for of in (ROOT, TWIG, EMPTY):
        cut(tree, of)
    settle_all(store)
    made = copy(tree, OTHER, None)
    assert views(tree, made.conversation.conversation_id, by=EVE) == [["o"]]
    assert_intact(store)


def test_a_copy_is_independent_of_its_source(store: Store, tree: Table) -> None:
    was = views(tree, ROOT)
    copy(tree)
    delete_conversation(tree, Mailbox().queue, caller=ANN, conversation_id=ROOT)
    settle_all(store)
    assert views(tree, COPY, by=EVE) == was

    cut(tree, branches(tree, COPY, by=EVE)[1], by=EVE)
    settle_all(store)
    assert views(tree, COPY, by=EVE) == [was[0], *was[2:]]
    delete_conversation(tree, Mailbox().queue, caller=EVE, conversation_id=COPY)
    settle_all(store)
    assert_intact(store)
    assert not [key for key in store.contents() if key.partition == COPY]


def test_attachments_stay_as_long_as_the_copy_names_them(store: Store) -> None:
    service, mailbox = Process(store), Mailbox()
    photo = upload(service)
    name(service, photo)
    copy(service.table, by=ANN)
    for tree in (ROOT, COPY):
        assert left(store) == {photo}
        delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=tree)
        settle(store, mailbox)
        assert_intact(store)
    assert left(store) == set()


def test_a_killed_copy_keeps_no_attachment(store: Store) -> None:
    service, mailbox = Process(store), Mailbox()
    photo = upload(service)
    name(service, photo)
    for at in range(1, 4):
        for to in (conversation(200 + at), conversation(300 + at)):
            process = store.process()
            dies_at_write(process, at, before=False)
            with suppress(Killed):
                copy(process, to=to, by=ANN)
            assert_intact(store)
        copy(service.table, to=conversation(200 + at), by=ANN)
        delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=conversation(200 + at))
        settle(store, mailbox)
    later = in_two_days(store)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT)
    for _ in range(3):
        sweep(later, mailbox.queue)
        while mailbox.messages:
            for message in mailbox.take():
                message.work(later, mailbox.queue, lease_s=100, wait_s=0)
    assert left(store) == set()


def test_an_answer_in_progress_is_not_copied(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    begin(table)
    made = copy(table, by=ANN)
    assert (made.answering, made.head.answer) == (None, None)
    assert read(table, COPY) == ["a"]
    assert_intact(store)


def test_an_id_in_use_is_409(store: Store, tree: Table) -> None:
    for to in (TWIG, ROOT, FORK, GONE):
        with store.unchanged(), pytest.raises(ConflictError):
            copy(tree, to=to)


def test_a_tree_of_too_many_branches_is_413(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    for at in range(BRANCHES_MAX - 1):
        fork(table, ROOT, conversation(100 + at), None)
    copy(table, by=ANN, idempotency_key=idempotency_key())
    assert len(branches(table, COPY)) == BRANCHES_MAX
    fork(table, ROOT, conversation(100 + BRANCHES_MAX), None)
    with store.unchanged(), pytest.raises(PayloadTooLargeError, match="30 branches"):
        copy(table, to=LATER, by=ANN)
    cut(table, conversation(100))
    copy(table, to=LATER, by=ANN)
    assert_intact(store)


@pytest.mark.parametrize("bound", ["COPIED_MAX", "COPIED_BYTES_MAX"])
def test_a_tree_of_too_many_entries_or_bytes_is_413(
    store: Store, tree: Table, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(copying_trees, bound, 11)
    with store.unchanged(), pytest.raises(PayloadTooLargeError, match="a copy of a tree holds"):
        copy(tree)


def test_the_same_key_gets_the_same_copy(store: Store, tree: Table) -> None:
    def sent() -> str:
        return answer(lambda: copy(tree, to=None, idempotency_key=idempotency_key(by=EVE)))

    first = sent()
    with store.unchanged():
        assert sent() == first


# Faults


def writes_of(store: Store, tree: Table) -> int:
    wire = Wire.of(tree)
    copy(tree, to=None)
    return wire.operations.count("TransactWriteItems")


def dies_at_write(table: Table, number: int, *, before: bool) -> None:
    wire, seen = Wire.of(table), []

    def kill(request: Request, _answer: object = None) -> None:
        if request.operation == "TransactWriteItems":
            seen.append(request)
            if len(seen) == number:
                raise Killed

    wire.before(kill) if before else wire.after(kill)


@pytest.mark.failure("killed-tree-copy")
def test_a_copy_that_was_killed_at_any_write_is_invisible_and_is_made_by_the_same_request(
    store: Store, tree: Table
) -> None:
    was = views(tree, ROOT)
    for at in range(1, writes_of(store, tree)):
        copy_id = conversation(200 + at)
        process = store.process()
        dies_at_write(process, at, before=False)
        with pytest.raises(Killed):
            copy(process, to=copy_id)
        assert_intact(store)
        with pytest.raises(NotFoundError):
            show(tree, copy_id, by=EVE)
        say(tree, TWIG, "more")
        was = views(tree, ROOT)
        copy(tree, to=copy_id)
        assert views(tree, copy_id, by=EVE) == was
        assert_intact(store)


def test_a_copy_that_goes_on_may_be_killed_at_any_write(store: Store, tree: Table) -> None:
    for at in range(1, 20):
        copy_id = conversation(300 + at)
        process = store.process()
        dies_at_write(process, 3, before=False)
        with pytest.raises(Killed):
            copy(process, to=copy_id)
        process = store.process()
        dies_at_write(process, at, before=False)
        try:
            copy(process, to=copy_id)
        except Killed:
            assert_intact(store)
            continue
        assert at > 4
        return
    raise AssertionError("it writes without end")


def test_the_sweep_gives_up_a_copy_and_all_of_it_goes(store: Store, tree: Table) -> None:
    for at in range(1, writes_of(store, tree)):
        copy_id = conversation(200 + at)
        process = store.process()
        dies_at_write(process, at, before=False)
        with pytest.raises(Killed):
            copy(process, to=copy_id)
        later = store.process(clock=WrongClock((CREATION_SECONDS_MAX + 1) * 1000))
        mailbox = Mailbox()
        sweeper.sweep(later, mailbox.queue)
        assert_intact(store)
        while mailbox.messages:
            for message in mailbox.take():
                message.work(later, mailbox.queue, lease_s=100, wait_s=0)
        assert_intact(store)
        assert not [key for key in store.contents() if copy_id in key.partition]


def test_a_copy_of_one_conversation_does_not_go_on_with_that_of_a_tree(store: Store, tree: Table) -> None:
    process = store.process()
    dies_at_write(process, 3, before=False)
    with pytest.raises(Killed):
        copy(process)
    with store.unchanged(), pytest.raises(ConflictError):
        copy_conversation(tree, caller=EVE, request=Copy(ROOT, COPY))
    copy(tree)

    for at in range(100):
        say(tree, TWIG, str(at))
    process = store.process()
    dies_at_write(process, 2, before=False)
    with pytest.raises(Killed):
        copy_conversation(process, caller=EVE, request=Copy(TWIG, LATER))
    with store.unchanged(), pytest.raises(ConflictError):
        copy(tree, to=LATER)


def _seen(table: Table, of: str, *, by: Caller = ANN) -> tuple[list[list[str]], list[bool]]:
    """Return what each branch shows, and which is the current one."""
    there = branches(table, of, by=by)
    return views(table, of, by=by), [show(table, one, by=by).is_current for one in there]


@pytest.mark.parametrize(
    "act",
    [
        lambda table, _: say(table, OTHER, "late"),
        lambda table, other: fork(table, TWIG, other, None),
        lambda table, other: [say(table, OTHER, "late"), fork(table, OTHER, other, None)],
        lambda table, _: cut(table, branches(table, ROOT)[-1]),
        lambda table, _: promote(table, OTHER),
    ],
    ids=["append", "fork", "append and fork", "removal", "promotion"],
)
def test_a_copy_is_the_tree_of_one_moment(
    store: Store, tree: Table, act: Callable[[Table, str], object]
) -> None:
    """Whatever happens before any of its calls."""
    wire = Wire.of(tree)
    copy(tree, to=None)
    calls = len(wire.operations)
    found = set[bool]()
    for at in range(1, calls + 1):
        promote(tree, TWIG)
        fork(tree, OTHER, conversation(600 + at), None)
        before = _seen(tree, ROOT)
        changed = meanwhile(process := store.process(), at, partial(act, store.process(), OTHERS[at]))
        made = copy(process, TWIG, None)
        assert changed
        seen = _seen(tree, made.conversation.conversation_id, by=EVE)
        after = _seen(tree, ROOT)
        assert seen in (before, after)
        found.add(seen == after)
        assert_intact(store)
        for one in {conversation(600 + at), OTHERS[at]} & {*branches(tree, ROOT)}:
            cut(tree, one)
        settle_all(store)
    assert found == {True, False}


def test_who_is_removed_meanwhile_gets_no_copy(store: Store, tree: Table) -> None:
    wire = Wire.of(tree)
    copy(tree, to=None)
    last = len(wire.operations)
    process = store.process()
    meanwhile(process, last, lambda: remove(store.process(), "eve"))
    with pytest.raises(ForbiddenError):
        copy(process)
    with pytest.raises(NotFoundError):
        show(tree, COPY, by=EVE)
    assert_intact(store)
